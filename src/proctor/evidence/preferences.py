"""What pairs of answers prove about who is preferred."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from proctor.evidence.differences import mcnemar_p
from proctor.evidence.tables import at_most
from proctor.records import PassRate
from proctor.statistics import effective_rows, wilson_interval

FEWEST_DECIDED = 6
"""With fewer cases that are decided, the p of a sign test is above 5% however they fell."""

ALPHA = 0.05

Wins = Mapping[tuple[int, int], int]
"""How many cases have so many pairs won by A and so many by B: `{(a, b): cases}`."""


class PreferenceFigures(Struct, frozen=True, kw_only=True):
    """What pairs say of the preference for A.

    Args:
        win_rate: Pairs that A wins of those that somebody wins; ties are in neither. Repeats of
            one case resemble each other, and its interval knows that.
        a_cases: Cases of which A wins more pairs than B.
        b_cases: Those of which B does.
        even_cases: All others with a measured pair.
        p: The sign test over cases, two-sided: how likely such a lead is if neither is better.
    """

    win_rate: PassRate
    a_cases: int
    b_cases: int
    even_cases: int
    p: float

    @property
    def is_settled(self) -> bool:
        """Whether chance does not explain the lead, at 5%."""
        return at_most(self.p, ALPHA)


def preference_figures(wins: Wins) -> PreferenceFigures:
    """The win rate of A and the sign test.

    The test counts cases and not pairs: answering one case again proves nothing about others.

    Args:
        wins: The cases with at least one measured pair.

    Source:
        W. J. Dixon and A. M. Mood, The Statistical Sign Test (1946).

    Example:
        >>> figures = preference_figures({(1, 0): 7, (0, 1): 1, (0, 0): 4})
        >>> figures.win_rate.rate, figures.p
        (0.875, 0.0703125)
    """
    a = sum(cases for (won, lost), cases in wins.items() if won > lost)
    b = sum(cases for (won, lost), cases in wins.items() if won < lost)
    decided: dict[tuple[int, int], int] = {}
    for (won, lost), cases in wins.items():
        unit = (won, won + lost)
        decided[unit] = decided.get(unit, 0) + cases
    won = sum(each * cases for (each, _), cases in decided.items())
    measured = sum(each * cases for (_, each), cases in decided.items())
    return PreferenceFigures(
        win_rate=PassRate(
            passed=won,
            measured=measured,
            rate=won / measured if measured else None,
            interval=wilson_interval(won, measured, rows=effective_rows(decided)),
        ),
        a_cases=a,
        b_cases=b,
        even_cases=sum(wins.values()) - a - b,
        p=mcnemar_p(b, a),
    )
