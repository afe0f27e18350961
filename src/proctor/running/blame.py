"""Whose the fault is that a row does not pass."""

from __future__ import annotations

from typing import NamedTuple

from proctor.records import Outcome


class Blame(NamedTuple):
    """What becomes of a row, which category its fault has, and whose it is."""

    category: str | None
    attribution: str | None
    outcome: Outcome


def answered_blame(outcome: Outcome, *, expectations: bool = False, judged: bool = True) -> Blame:
    """Who is to blame for a row whose target did what was asked of it.

    | outcome | category | attribution |
    |---|---|---|
    | passed | none | none |
    | failed | `builder_issue`, of a row of expectations `expectations_failed` | `target` |
    | errored: a judge could not be asked | `verification_failure` | `judge` |
    | unmeasured: judges gave no verdict | `verification_failure` | `judge` |
    | unmeasured: nobody could judge | `verification_gap` | `suite` |

    Args:
        outcome: What the checks make of the row.
        expectations: Whether it stands for the expectations of a build.
        judged: Whether a judge was asked about it.
    """
    if outcome is Outcome.PASSED:
        return Blame(None, None, outcome)
    if outcome is Outcome.FAILED:
        return Blame("expectations_failed" if expectations else "builder_issue", "target", outcome)
    if outcome is Outcome.UNMEASURED and not judged:
        return Blame("verification_gap", "suite", outcome)
    return Blame("verification_failure", "judge", outcome)
