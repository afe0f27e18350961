"""A comparison as text for people: the verdict, what changed, and what can be told from it."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from proctor.records import RenderOptions
from proctor.records.comparison import (
    Comparison,
    ComparisonVerdict,
    Label,
    SubjectComparison,
    UnitComparison,
)
from proctor.rendering.comparison_wording import (
    CLAIM,
    SHOWN_NAMES,
    VERDICTS,
    chance_text,
    drift_text,
    flipped_cases,
    flips_text,
    gate_text,
    is_same_report,
    label_text,
    limits_text,
    names_text,
    presence_text,
    rates_text,
    side_text,
    single_text,
    subject_text,
    unit_name,
    verdict_text,
)
from proctor.rendering.escaping import terminal_line, terminal_text
from proctor.rendering.text import SHOWN_CASES
from proctor.rendering.wording import MESSAGE_LENGTH, shortened

_WIDTH = 100
_RED, _GREEN, _YELLOW, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_VERDICT_COLOURS = {
    ComparisonVerdict.CLEAN: _GREEN,
    ComparisonVerdict.REGRESSED: _RED,
    ComparisonVerdict.CANNOT_TELL: _YELLOW,
}
_LABEL_COLOURS = {
    Label.HARD_REGRESSION: _RED,
    Label.SOFT_REGRESSION: _YELLOW,
    Label.IMPROVEMENT: _GREEN,
    Label.WATCH: _YELLOW,
    Label.UNRELIABLE_BASELINE: _YELLOW,
    Label.STABLE: _PLAIN,
    Label.INSUFFICIENT_DATA: _YELLOW,
}


def render_comparison_text(comparison: Comparison, options: RenderOptions) -> Iterator[bytes]:
    """The comparison for a terminal or a log, in UTF-8; data in it is escaped."""
    for line in _TextComparison(comparison, options).lines():
        yield f"{line}\n".encode()


class _TextComparison:
    """Writes one comparison; counts down how many cases and units may still be shown."""

    def __init__(self, comparison: Comparison, options: RenderOptions) -> None:
        self._comparison = comparison
        self._colour = options.colour
        self._all = options.all_cases
        self._left = SHOWN_CASES

    def lines(self) -> Iterator[str]:
        comparison = self._comparison
        word = self._coloured(VERDICTS[comparison.verdict], _VERDICT_COLOURS[comparison.verdict])
        yield f"{word}  {verdict_text(comparison)}"
        for doubt in comparison.doubts:
            yield terminal_line(f"  {shortened(doubt, MESSAGE_LENGTH)}")
        yield ""
        if not is_same_report(comparison):
            yield from self._body()
        yield from _wrapped(CLAIM)

    def _body(self) -> Iterator[str]:
        comparison = self._comparison
        for subject in comparison.subjects:
            yield from self._subject(subject)
            yield ""
        drifted = [drift for drift in comparison.drift if drift.notable]
        if drifted:
            yield "failure categories that changed"
            for drift in drifted:
                yield terminal_line(f"  {drift_text(drift)}")
            yield ""
        yield from self._labels()
        yield f"gates ({comparison.mode.value})"
        for gate in comparison.gates:
            mark = self._coloured("red", _RED) if gate.red else "ok "
            yield f"  {mark}  {gate_text(comparison, gate)}"
        for warning in comparison.warnings:
            word = self._coloured("warning", _YELLOW)
            code = "" if warning.code is None else f" {terminal_text(warning.code)}"
            yield f"{word}:{code} {shortened(warning.message, MESSAGE_LENGTH)}"
        yield ""
        flips = flips_text(comparison)
        if flips is not None:
            names = names_text(flipped_cases(comparison), limit=None if self._all else SHOWN_NAMES)
            yield from _wrapped(f"{flips} {names}")
        for said in limits_text(comparison):
            yield from _wrapped(said)

    def _subject(self, subject: SubjectComparison) -> Iterator[str]:
        yield terminal_line(subject_text(subject.match))
        presence = presence_text(subject.match)
        yield f"  {rates_text(subject)}{'' if presence is None else f', {presence}'}"
        said = single_text(subject)
        if said is not None:
            yield f"  {said}"
        hidden = 0
        for line in self._entries(subject):
            if self._left == 0 and not self._all:
                hidden += 1
                continue
            self._left -= 1
            yield line
        if hidden:
            yield f"  ... and {hidden} more (--all shows them)"
        for what, names in (
            ("removed", subject.removed),
            ("added", subject.added),
            ("changed", subject.changed),
        ):
            if names:
                shown = names_text(names, limit=None if self._all else SHOWN_NAMES)
                yield terminal_line(f"  {what} {len(names)}: {shown}")

    def _entries(self, subject: SubjectComparison) -> Iterator[str]:
        """What became of cases and units, a line each."""
        if subject.single is not None:
            for word, colour, changes in (
                ("regressed", _RED, subject.regressed),
                ("recovered", _GREEN, subject.recovered),
            ):
                for change in changes:
                    name = shortened(change.id, MESSAGE_LENGTH)
                    became = f"{change.baseline.value} -> {change.now.value}"
                    yield f"  {self._coloured(word, colour)}  {name}  {became}"
        for unit in subject.units:
            # What became of single rows has just been said.
            if subject.single is None or unit.label is not Label.WATCH:
                yield self._unit(unit)

    def _unit(self, unit: UnitComparison) -> str:
        word = self._coloured(label_text(unit.label), _LABEL_COLOURS[unit.label])
        sides = f"{side_text(unit.baseline)} -> {side_text(unit.now)}"
        chance = chance_text(unit)
        p = f", p {chance}" if chance else ""
        flagged = ", more than chance explains" if unit.flagged else ""
        return terminal_line(f"  {word}  {unit_name(unit)}  {sides}{p}{flagged}")

    def _labels(self) -> Iterator[str]:
        """How many units have each label, and how many would by chance; not for single rows."""
        comparison = self._comparison
        compared = [one for one in comparison.subjects if one.delta is not None]
        if all(one.single is not None for one in compared):
            return
        rows = [
            (label_text(label), str(comparison.labels[label]), f"{comparison.by_chance[label]:.2f}")
            for label in Label
        ]
        yield f"{'units':<20}{'found':>6}{'by chance':>11}"
        for label, found, chance in rows:
            yield f"{label:<20}{found:>6}{chance:>11}"
        yield ""

    def _coloured(self, word: str, colour: str) -> str:
        return f"{colour}{word}{_PLAIN}" if self._colour else word


def _wrapped(text: str) -> Iterator[str]:
    for line in wrap(text, _WIDTH, break_on_hyphens=False, break_long_words=False):
        yield terminal_line(line)
