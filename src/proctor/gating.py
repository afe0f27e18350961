"""What a comparison says: which gate decides, whether it is red, and what cannot be told."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from proctor.comparing.reports import Compared, some_names
from proctor.errors import ExitCode
from proctor.evidence.flags import ALPHA_EACH, Family, aggregate, flagged, unit_limit
from proctor.evidence.labels import is_hard, label_of, labels_by_chance, left_p
from proctor.evidence.power import cases_needed, rows_to_find, smallest_drop
from proctor.records import ReportHead
from proctor.records.comparison import (
    COMPARISON_SCHEMA,
    ComparedReport,
    Comparison,
    ComparisonVerdict,
    Detection,
    GateKind,
    GateResult,
    Label,
    Mode,
)


class GateOptions(Struct, frozen=True, kw_only=True):
    """What is asked of a comparison.

    Args:
        mode: What makes it red; None leaves it to the reports.
        tolerance: By how much a pass rate may fall, as a share of 1.
        detect: The drop that must not go unnoticed, None when none is named.
        fail_on_regression: Whether a regression, or not being able to tell, is an exit code.
        fail_on_missing: Whether what is in the baseline only is a regression.
    """

    mode: Mode | None = None
    tolerance: Fraction = Fraction(0)
    detect: Fraction | None = None
    fail_on_regression: bool = False
    fail_on_missing: bool = False


def decide(
    compared: Compared, options: GateOptions, *, baseline_sha256: str, candidate_sha256: str
) -> Comparison:
    """What two reports that were compared say.

    Args:
        compared: What became of their cases.
        options: What is asked.
        baseline_sha256: The digest of the baseline's bytes.
        candidate_sha256: The digest of the candidate's bytes.
    """
    mode = options.mode or default_mode(compared.baseline, compared.candidate)
    flags = flagged(compared.family)
    gates = list(_gates(compared, options, mode, is_flagged=bool(flags)))
    detection = _detection(compared.family, options.detect)
    doubts = list(_doubts(compared, detection))
    is_red = any(gate.red for gate in gates)
    verdict = ComparisonVerdict.CANNOT_TELL if doubts else ComparisonVerdict.CLEAN
    if is_red:
        verdict = ComparisonVerdict.REGRESSED
    labels = dict.fromkeys(Label, 0)
    for pair, units in compared.pairs.items():
        labels[label_of(pair)[0]] += units
    return Comparison(
        schema=COMPARISON_SCHEMA,
        baseline=ComparedReport(baseline_sha256, compared.baseline.project),
        candidate=ComparedReport(candidate_sha256, compared.candidate.project),
        verdict=verdict,
        exit_code=int(_exit_code(verdict, gates, options)),
        mode=mode,
        tolerance=float(options.tolerance),
        gates=gates,
        detection=detection,
        subjects=[found.record(flags, options.tolerance) for found in compared.subjects],
        drift=compared.drift,
        labels=labels,
        by_chance=labels_by_chance(compared.pairs),
        one_answer=compared.one_answer,
        doubts=doubts,
        warnings=compared.warnings,
    )


def default_mode(*reports: ReportHead) -> Mode:
    """What decides unless somebody says: rows that may come out otherwise call for statistics."""
    suites = [suite for report in reports for suite in report.suites]
    is_noisy = any(suite.repeats > 1 or suite.cache.live for suite in suites)
    return Mode.NOISE_AWARE if is_noisy else Mode.STRICT


def _gates(
    compared: Compared, options: GateOptions, mode: Mode, *, is_flagged: bool
) -> Iterator[GateResult]:
    if mode is Mode.STRICT:
        regressed = any(found.regressed for found in compared.subjects)
        fell = any(found.fell_by_more_than(options.tolerance) for found in compared.subjects)
        yield GateResult(GateKind.CASES, p=None, alpha=None, red=regressed)
        yield GateResult(GateKind.RATE, p=None, alpha=None, red=fell)
    together = aggregate(compared.family)
    yield GateResult(
        GateKind.AGGREGATE, together.p, ALPHA_EACH, red=together.is_red(options.tolerance)
    )
    fallen = [left_p(counted) for counted in compared.family if is_hard(counted)]
    yield GateResult(
        GateKind.UNIT,
        p=min(fallen, default=None),
        alpha=unit_limit(compared.family),
        red=is_flagged,
    )
    if options.fail_on_missing:
        missing = any(found.removed for found in compared.subjects)
        yield GateResult(GateKind.MISSING, p=None, alpha=None, red=missing)


def _detection(family: Family, drop: Fraction | None) -> Detection:
    """Which drops there are rows enough to find, and whether the one that is asked for is."""
    passed, before, now = (
        sum(counted[part] * units for counted, units in family.items()) for part in (0, 1, 3)
    )
    rows = min(before, now)
    rate = Fraction(passed, before) if before else None
    needed = None
    if rate is not None and drop is not None and rate >= drop:
        needed = cases_needed(rows_to_find(float(rate), float(drop)), 1)
    return Detection(
        rate=None if rate is None else float(rate),
        rows=rows,
        smallest=None if rate is None else smallest_drop(float(rate), rows),
        drop=None if drop is None else float(drop),
        rows_needed=needed,
    )


def _doubts(compared: Compared, detection: Detection) -> Iterator[str]:
    """Why nothing being red does not say that nothing is worse."""
    candidate = compared.candidate
    if candidate.partial:
        yield "the candidate is partial: a shard is missing"
    subjects = [subject for suite in candidate.suites for subject in suite.subjects]
    not_run = sum(subject.counts.not_run for subject in subjects)
    if not_run:
        rows = "1 row" if not_run == 1 else f"{not_run} rows"
        yield f"{rows} of the candidate {'was' if not_run == 1 else 'were'} not run"
    lost = [name for found in compared.subjects for name in found.lost()]
    if lost:
        units = "1 unit was" if len(lost) == 1 else f"{len(lost)} units were"
        yield (
            f"{units} measured in the baseline, and too few of the rows are now: {some_names(lost)}"
        )
    if not compared.family:
        yield "nothing was measured in both reports"
    elif detection.drop is not None and detection.rows_needed is None:
        yield f"a pass rate of {detection.rate:.4g} cannot fall by {detection.drop:g}"
    elif detection.rows_needed is not None and detection.rows_needed > detection.rows:
        yield (
            f"finding a drop of {detection.drop:g} takes {detection.rows_needed} rows a side, and "
            f"there are {detection.rows}"
        )


def _exit_code(
    verdict: ComparisonVerdict, gates: list[GateResult], options: GateOptions
) -> ExitCode:
    if verdict is ComparisonVerdict.REGRESSED:
        # Whoever asks that nothing goes missing need not ask for the rest as well.
        is_missing = any(gate.red for gate in gates if gate.kind is GateKind.MISSING)
        return ExitCode.FAILED if options.fail_on_regression or is_missing else ExitCode.OK
    if verdict is ComparisonVerdict.CANNOT_TELL and options.fail_on_regression:
        return ExitCode.UNMEASURED
    return ExitCode.OK
