"""A comparison in words, the same in every format; data in them is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.evidence.differences import FEWEST_CHANGES
from proctor.records.comparison import (
    ComparedSubject,
    Comparison,
    ComparisonVerdict,
    Detection,
    Drift,
    GateKind,
    GateResult,
    Label,
    Mode,
    SubjectComparison,
    SubjectMatch,
    UnitComparison,
    UnitRows,
)
from proctor.rendering.escaping import terminal_text
from proctor.rendering.wording import number_text, shortened

NAME_LENGTH = 200
SHOWN_NAMES = 10

CLAIM = (
    "A report is a claim about one run, not a proof: replay it (`proctor run --verify REPORT`) at "
    "the commit you gate."
)

VERDICTS = {
    ComparisonVerdict.CLEAN: "CLEAN",
    ComparisonVerdict.REGRESSED: "REGRESSED",
    ComparisonVerdict.CANNOT_TELL: "CANNOT TELL",
}

_ENOUGH_FOR_ONE = 4
"""How many rows a side a unit takes to be flagged by itself."""


def verdict_text(comparison: Comparison) -> str:
    """Why the verdict is what it is, in a sentence."""
    if comparison.verdict is ComparisonVerdict.REGRESSED:
        return "; ".join(_red_text(comparison, gate) for gate in comparison.gates if gate.red)
    if comparison.verdict is ComparisonVerdict.CANNOT_TELL:
        return "nothing is red, and that does not say that nothing is worse"
    if is_same_report(comparison):
        return "both reports have the same bytes"
    if comparison.mode is Mode.STRICT:
        return "every case that passed in the baseline passes now"
    return "nothing got worse beyond what chance explains"


def is_same_report(comparison: Comparison) -> bool:
    """Whether a report is compared with itself, subject by subject."""
    is_same = comparison.baseline.report_sha256 == comparison.candidate.report_sha256
    return is_same and all(one.match.baseline == one.match.candidate for one in comparison.subjects)


def _red_text(comparison: Comparison, gate: GateResult) -> str:
    count = _gate_count(comparison, gate)
    if gate.kind is GateKind.AGGREGATE:
        return f"fewer rows pass than chance explains (p {_p_text(gate.p)})"
    if gate.kind is GateKind.CASES:
        do = "does" if count == 1 else "do"
        return f"{counted(count, 'case')} passed in the baseline and {do} not now"
    if gate.kind is GateKind.RATE:
        more = f" by more than {number_text(comparison.tolerance)}" if comparison.tolerance else ""
        return f"the pass rate of {counted(count, 'subject')} fell{more}"
    if gate.kind is GateKind.UNIT:
        return f"{counted(count, 'unit')} fell further than chance explains"
    return f"{counted(count, 'case')} of the baseline {'is' if count == 1 else 'are'} missing"


def _gate_count(comparison: Comparison, gate: GateResult) -> int:
    """How many cases, subjects or units a gate found."""
    subjects = comparison.subjects
    if gate.kind is GateKind.CASES:
        return sum(len(one.regressed) for one in subjects)
    if gate.kind is GateKind.RATE:
        return sum(one.fell for one in subjects)
    if gate.kind is GateKind.MISSING:
        return sum(len(one.removed) for one in subjects)
    return sum(unit.flagged for one in subjects for unit in one.units)


def counted(count: int, noun: str) -> str:
    """A number of things: `1 case`, `2 cases`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _p_text(p: float | None) -> str:
    return number_text(1.0 if p is None else p, digits=3)


def gate_text(comparison: Comparison, gate: GateResult) -> str:
    """What a gate looked at and what it found."""
    count = _gate_count(comparison, gate)
    if gate.kind is GateKind.CASES:
        return f"cases that passed and do not now: {count}"
    if gate.kind is GateKind.RATE:
        limit = number_text(comparison.tolerance)
        return f"subjects whose pass rate fell by more than {limit}: {count}"
    if gate.kind is GateKind.MISSING:
        return f"missing from the candidate: {count}"
    limit = f"red up to {_p_text(gate.alpha)}"
    if gate.kind is GateKind.AGGREGATE:
        return f"all units together: p {_p_text(gate.p)}, {limit}"
    if gate.p is None:
        return "each unit by itself: none fell by 30 points from 70% or more"
    return f"each unit by itself: least p {_p_text(gate.p)}, {limit}"


def subject_text(match: SubjectMatch) -> str:
    """The subject of both reports, with an arrow where its names changed; escaped."""
    old, new = match.baseline, match.candidate
    if old is None or new is None or old == new:
        return _name(new or old)
    if old.suite == new.suite:
        return terminal_text(f"{new.suite}: {old.id} -> {new.id}")
    return f"{_name(old)} -> {_name(new)}"


def _name(subject: ComparedSubject | None) -> str:
    return "" if subject is None else terminal_text(f"{subject.suite}: {subject.id}")


def presence_text(match: SubjectMatch) -> str | None:
    """That a subject is in one report only, or None."""
    if match.candidate is None:
        return "only in the baseline"
    return "only in the candidate" if match.baseline is None else None


def rates_text(subject: SubjectComparison) -> str:
    """The pass rates of a subject, and how much its units changed."""
    before, now = subject.rates.baseline, subject.rates.now
    sides = " -> ".join(
        f"{rate.passed}/{rate.measured}" for rate in (before, now) if rate is not None
    )
    text = f"passed {sides}"
    if subject.delta is None or before is None or now is None:
        return text
    text += f", mean change {signed(subject.delta)}"
    if subject.interval is not None:
        low, high = (signed(bound) for bound in subject.interval)
        text += f" [{low}, {high}]"
    return text


def single_text(subject: SubjectComparison) -> str | None:
    """What changes of single rows can tell; None with repeats, and when nothing changed."""
    single = subject.single
    if single is None or not single.worse + single.better:
        return None
    text = f"{single.worse} worse and {single.better} better of {single.units}"
    if single.worse + single.better < FEWEST_CHANGES:
        return f"{text}: fewer than {FEWEST_CHANGES} changes tell nothing at 5%"
    return f"{text}, p {number_text(single.p, digits=3)} that they fell so unevenly by chance"


def signed(value: float) -> str:
    """A change with its sign and at most four digits."""
    text = number_text(round(value, 4), digits=4)
    return f"+{text}" if value > 0 and text != "0" else text


def unit_name(unit: UnitComparison) -> str:
    """A unit as people name it; escaped."""
    parts = filter(None, (unit.id, unit.scenario, unit.expectation))
    return shortened(" / ".join(parts), NAME_LENGTH)


def side_text(rows: UnitRows) -> str:
    """The rows of a unit in one report."""
    text = f"{rows.passed}/{rows.measured}"
    return text if rows.measured >= rows.planned else f"{text} of {rows.planned}"


def change_points(unit: UnitComparison) -> str:
    """How far the rate of a unit changed, in points."""
    before, now = unit.baseline, unit.now
    if not before.measured or not now.measured:
        return "n/a"
    change = now.passed / now.measured - before.passed / before.measured
    return f"{round(100 * change):+d}" if round(100 * change) else "0"


def chance_text(unit: UnitComparison) -> str:
    """The chance of such a fall; nothing beside what rose or stayed, where it would mislead."""
    before, now = unit.baseline, unit.now
    has_fallen = now.passed * before.measured < before.passed * now.measured
    return number_text(unit.p, digits=3) if has_fallen else ""


def label_text(label: Label) -> str:
    """A label in words."""
    return label.value.replace("_", " ")


def names_text(names: Sequence[str], *, limit: int | None = SHOWN_NAMES) -> str:
    """Names in a row, escaped, with how many are left out."""
    shown = names if limit is None else names[:limit]
    text = ", ".join(shortened(name, NAME_LENGTH) for name in shown)
    more = len(names) - len(shown)
    return f"{text} and {more} more" if more else text


def drift_text(drift: Drift) -> str:
    """How often a failure category occurs in both reports; escaped."""
    before, now = drift.baseline, drift.now
    category = shortened(drift.category, NAME_LENGTH)
    return f"{category}: {before.count}/{before.rows} -> {now.count}/{now.rows}"


def flipped_cases(comparison: Comparison) -> list[str]:
    """The cases that passed every time and do not now, where that decides nothing; not escaped."""
    if comparison.mode is Mode.STRICT:
        return []
    return [change.id for one in comparison.subjects for change in one.regressed]


def flips_text(comparison: Comparison) -> str | None:
    """What those cases mean, to be followed by their names; None when there are none."""
    count = len(flipped_cases(comparison))
    if not count:
        return None
    do = "does" if count == 1 else "do"
    return (
        f"{counted(count, 'case')} passed every time and {do} not now. Repeats of one prompt do "
        "that too, so it counts only with `--strict`:"
    )


def limits_text(comparison: Comparison) -> Iterator[str]:
    """What the comparison can tell and what it cannot, a sentence or two each."""
    if comparison.mode is Mode.NOISE_AWARE:
        yield from _noise_text(comparison)
    yield from _detection_text(comparison.detection)
    if comparison.exit_code == 0 and comparison.verdict is not ComparisonVerdict.CLEAN:
        code = 1 if comparison.verdict is ComparisonVerdict.REGRESSED else 3
        yield f"The exit code is 0; with `--fail-on-regression` it is {code}."


def _noise_text(comparison: Comparison) -> Iterator[str]:
    if comparison.one_answer:
        give = "gives" if comparison.one_answer == 1 else "give"
        yield (
            f"{counted(comparison.one_answer, 'unit')} {give} one and the same answer every time "
            "in both reports, so repeats count as one row; `--strict` makes every change count."
        )
    listed = [unit for one in comparison.subjects for unit in one.units]
    most = max((min(one.baseline.measured, one.now.measured) for one in listed), default=None)
    if most is not None and most < _ENOUGH_FOR_ONE:
        yield (
            f"With fewer than {_ENOUGH_FOR_ONE} rows a side no case can be found to be worse by "
            "itself."
        )


def _detection_text(detection: Detection) -> Iterator[str]:
    if detection.rate is None:
        return
    rows = counted(detection.rows, "row")
    rate = number_text(detection.rate, digits=3)
    if detection.smallest is None:
        yield f"{rows} a side at a pass rate of {rate} find no drop reliably."
        return
    drop = number_text(detection.smallest, digits=2)
    yield (
        f"{rows} a side at a pass rate of {rate} find a drop of {drop} over all of them four times "
        "in five. Smaller drops go unnoticed more often, and so do those of a few cases only."
    )
