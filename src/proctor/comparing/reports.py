"""Two reports, subject by subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from proctor.comparing.findings import SubjectFindings
from proctor.comparing.indexing import Cases, FactsReader, ReportIndex
from proctor.comparing.matching import NamePair, Pairing, Place, pair_subjects, subject_at
from proctor.evidence.flags import Family
from proctor.evidence.labels import Pair
from proctor.evidence.tables import Counted
from proctor.records import PassRate, ReportHead, SubjectReport, Verdict, Warn
from proctor.records.comparison import Drift, Rates, Share, SubjectMatch

OTHER_DATA = "P6904"
_SHOWN_NAMES = 3


class ReportCases(Struct, frozen=True):
    """A report to be compared: its head, and all its cases, which are read once."""

    head: ReportHead
    cases: Cases


class Compared(Struct, frozen=True):
    """What became of each case of two reports, before anything is decided.

    `one_answer` counts units whose repeats are one and the same answer on both sides.
    """

    baseline: ReportHead
    candidate: ReportHead
    subjects: list[SubjectFindings]
    family: Family
    pairs: Mapping[Pair, int]
    one_answer: int
    drift: list[Drift]
    warnings: list[Warn]


def compare_reports(
    baseline: ReportCases,
    candidate: ReportCases,
    *,
    matches: Sequence[NamePair] = (),
    is_selection: bool = False,
) -> Compared:
    """Compare two reports case by case; both are read to their end, the baseline first.

    Of the baseline counts of each case are held, of the candidate one case at a time.

    Args:
        baseline: The report of before.
        candidate: The report of now.
        matches: Names that changed between the two.
        is_selection: Whether the candidate ran a selection only: then what it does not have is left
            out of the baseline as well, also of its pass rates.

    Raises:
        UsageError: P6002 when a match names nothing.
    """
    before, now = baseline.head, candidate.head
    pairing = pair_subjects(before, now, matches)
    wanted = [place for place, _ in pairing.pairs] + pairing.only_baseline
    index = ReportIndex(before, baseline.cases, wanted)
    findings = _findings(pairing, before, now, index)
    reader = FactsReader(now)
    for suite, subject, case in candidate.cases:
        found = findings.get(Place(suite, subject))
        if found is not None:
            found.add(case.id, reader.facts(suite, case))
    for place, found in findings.items():
        if is_selection:
            found.leave_out_rest()
        elif now.partial or _subject(now, place).counts.not_run:
            found.add_not_run()
        else:
            found.add_removed()
    removed = () if is_selection else _removed(pairing, before, index)
    subjects = [*findings.values(), *removed]
    family, pairs, one_answer = _totals(subjects)
    return Compared(
        baseline=before,
        candidate=now,
        subjects=subjects,
        family=family,
        pairs=pairs,
        one_answer=one_answer,
        # The head counts categories over all cases of the baseline.
        drift=[]
        if is_selection
        else [each for pair in pairing.pairs for each in _drift(before, now, *pair)],
        warnings=[
            *_other_data(before, now, pairing, subjects),
            *_caveats(before, lacks_answers=index.lacks_answers or reader.lacks_answers),
        ],
    )


def _subject(head: ReportHead, place: Place) -> SubjectReport:
    return head.suites[place.suite].subjects[place.subject]


def _rate(head: ReportHead, place: Place | None) -> PassRate | None:
    return None if place is None else _subject(head, place).pass_rate


def _match(
    before: ReportHead, now: ReportHead, old: Place | None, new: Place | None
) -> SubjectMatch:
    return SubjectMatch(
        baseline=None if old is None else subject_at(before, old),
        candidate=None if new is None else subject_at(now, new),
    )


def _findings(
    pairing: Pairing, before: ReportHead, now: ReportHead, index: ReportIndex
) -> dict[Place, SubjectFindings]:
    """One for each subject of the candidate that takes part, in its order."""
    olds: dict[Place, Place | None] = {new: old for old, new in pairing.pairs}
    olds |= dict.fromkeys(pairing.only_candidate)
    return {
        new: SubjectFindings(
            _match(before, now, old, new),
            Rates(baseline=_rate(before, old), now=_rate(now, new)),
            {} if old is None else index.subjects[old],
        )
        for new, old in sorted(olds.items(), key=lambda item: item[0])
    }


def _removed(pairing: Pairing, before: ReportHead, index: ReportIndex) -> Iterator[SubjectFindings]:
    for old in pairing.only_baseline:
        match = SubjectMatch(baseline=subject_at(before, old), candidate=None)
        rates = Rates(baseline=_rate(before, old), now=None)
        found = SubjectFindings(match, rates, index.subjects[old])
        found.add_removed()
        yield found


def _totals(subjects: Sequence[SubjectFindings]) -> tuple[Family, Mapping[Pair, int], int]:
    """All units by what gates count of them, all by what labels go by, and the fixed answers."""
    family: dict[Counted, int] = {}
    pairs: dict[Pair, int] = {}
    one_answer = 0
    for found in subjects:
        for kind, units in found.kinds.items():
            pairs[kind.pair] = pairs.get(kind.pair, 0) + units
            evidence = kind.evidence
            if evidence is not None:
                family[evidence] = family.get(evidence, 0) + units
                one_answer += units if kind.is_one_answer else 0
    return family, pairs, one_answer


def _drift(before: ReportHead, now: ReportHead, old: Place, new: Place) -> Iterator[Drift]:
    """How often each failure category occurs; none when a side was not measured."""
    base, other = _subject(before, old), _subject(now, new)
    base_rows, now_rows = base.pass_rate.measured, other.pass_rate.measured
    if not base_rows or not now_rows:
        return
    for category in sorted({*base.categories, *other.categories}):
        base_count = base.categories.get(category, 0)
        now_count = other.categories.get(category, 0)
        apart = abs(now_count * base_rows - base_count * now_rows)
        yield Drift(
            match=_match(before, now, old, new),
            category=category,
            baseline=Share(base_count, base_rows),
            now=Share(now_count, now_rows),
            # Rates 5 points apart, and 3 rows more or fewer than the baseline's rate gives.
            notable=20 * apart >= base_rows * now_rows and apart >= 3 * base_rows,
        )


def _other_data(
    before: ReportHead, now: ReportHead, pairing: Pairing, subjects: Sequence[SubjectFindings]
) -> Iterator[Warn]:
    """What differs between the two reports besides the answers."""
    if before.project != now.project:
        yield _other(f"the reports are of two projects, `{before.project}` and `{now.project}`")
    suites = dict.fromkeys((old.suite, new.suite) for old, new in pairing.pairs)
    for old_suite, new_suite in suites:
        one, other = before.suites[old_suite], now.suites[new_suite]
        if one.dataset.sha256 != other.dataset.sha256:
            sizes = f"cases: {one.dataset.cases} then, {other.dataset.cases} now"
            yield _other(f"`{other.suite}` has another dataset ({sizes})")
    for old, new in pairing.pairs:
        params, others = _subject(before, old).params, _subject(now, new).params
        names = [
            name
            for name in sorted({*params, *others})
            if name not in params or name not in others or params[name] != others[name]
        ]
        if names:
            said = ", ".join(f"`{name}`" for name in names)
            subject = subject_at(now, new)
            yield _other(f"`{subject.suite}`: `{subject.id}` has other params: {said}")
    for found in subjects:
        if found.changed and found.match.candidate is not None:
            count = len(found.changed)
            cases = "1 case expects" if count == 1 else f"{count} cases expect"
            suite = found.match.candidate.suite
            yield _other(
                f"`{suite}`: {cases} something else now and "
                f"{'is' if count == 1 else 'are'} not compared: {some_names(found.changed)}"
            )


def _other(message: str) -> Warn:
    return Warn(code=OTHER_DATA, message=message, where=None)


def _caveats(before: ReportHead, *, lacks_answers: bool) -> Iterator[Warn]:
    """What makes the comparison say less than it could."""
    if before.partial or before.verdict is Verdict.INTERRUPTED:
        message = "the baseline is not of a whole run; what it lacks is compared with nothing"
        yield Warn(code=None, message=message, where=None)
    if lacks_answers:
        message = (
            "a report holds no answers, so repeats that gave one and the same answer count as rows "
            "of their own"
        )
        yield Warn(code=None, message=message, where=None)


def some_names(names: Sequence[str]) -> str:
    """The first few names of a list, and how many more there are."""
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    more = len(names) - _SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
