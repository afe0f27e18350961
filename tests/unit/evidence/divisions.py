"""Divisions of rows between two reports, as people write them and as hypothesis draws them."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st

from proctor.evidence.tables import Counted


def counted(now, base):
    """`now` and `base` as people write them: `0/3`."""
    (now_passed, now_rows), (base_passed, base_rows) = (
        map(int, side.split("/")) for side in (now, base)
    )
    return Counted(base_passed, base_rows, now_passed, now_rows)


def family(*units):
    """Units as `"4/5->2/5"`, baseline first, or as `(3, "4/5->2/5")` for three of them."""
    found = Counter()
    for unit in units:
        count, text = (1, unit) if isinstance(unit, str) else unit
        base, now = text.split("->")
        found[counted(now, base)] += count
    return found


@st.composite
def any_counted(draw, least=0, most=12):
    base, now = draw(st.integers(least, most)), draw(st.integers(least, most))
    return Counted(draw(st.integers(0, base)), base, draw(st.integers(0, now)), now)


families = st.lists(any_counted(least=1, most=5), min_size=1, max_size=5).map(Counter)
