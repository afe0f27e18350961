"""What a failed item says: what the report says of the case, and where its answers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.errors import ProctorError
from proctor.pytest_plugin.evaluating import SuiteResult
from proctor.python_api.wording import problem_lines
from proctor.records import CaseResult, Outcome
from proctor.rendering.escaping import terminal_line, terminal_text
from proctor.rendering.threshold_wording import threshold_text
from proctor.rendering.wording import (
    case_findings,
    finding_lines,
    headline,
    passed_text,
)

_MAX_LINES = 60
_MAX_PLACES = 5


def problem_text(problem: ProctorError) -> str:
    """Each problem with its place, its code and its hint."""
    return "\n".join(map(terminal_line, problem_lines(problem)))


def case_text(case: CaseResult, places: Mapping[str, str]) -> str:
    """What is wrong with the answers to a case, and where they are recorded."""
    return "\n".join(map(terminal_line, _case_lines(case, places)))


def _case_lines(case: CaseResult, places: Mapping[str, str]) -> Iterator[str]:
    findings = finding_lines(case_findings(case)) or [case.outcome.value]
    yield findings[0]
    passed = passed_text(case)
    if passed is not None:
        yield f"{case.outcome.value}: {passed}"
    yield from findings[1:_MAX_LINES]
    if len(findings) > _MAX_LINES:
        yield f"... and {len(findings) - _MAX_LINES} more"
    wrong = [row.recording for row in case.rows if row.outcome is not Outcome.PASSED]
    known = [
        places[recording] for recording in wrong if recording is not None and recording in places
    ]
    for place in known[:_MAX_PLACES]:
        yield f"answer: {terminal_text(place)}"
    if len(known) > _MAX_PLACES:
        yield f"... and {len(known) - _MAX_PLACES} more answers"


def forgiven_text(case: CaseResult) -> str:
    """Why a case that did not pass does not fail its suite, in one line."""
    first = next(iter(finding_lines(case_findings(case))), case.outcome.value)
    return terminal_line(f"{case.outcome.value}, and the thresholds of the suite hold: {first}")


def thresholds_text(result: SuiteResult) -> str:
    """The verdict of a suite, and each threshold that is not met."""
    counts = headline(one.counts for suite in result.reports for one in suite.subjects)
    lines = [f"{result.verdict.value}: {counts}"]
    for suite in result.reports:
        several = len(suite.subjects) > 1
        said = (threshold_text(one, name_subject=several) for one in suite.thresholds)
        lines += [one for one in said if one is not None]
    return "\n".join(map(terminal_line, lines))
