"""Answers compared by judges as text for people: who wins, what that proves, and pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.records import RenderOptions
from proctor.records.pairwise import (
    PairAnswers,
    PairOutcome,
    PairResult,
    Pairwise,
    PairwiseVerdict,
)
from proctor.rendering.comparison_wording import SHOWN_NAMES, names_text
from proctor.rendering.escaping import terminal_line, terminal_text
from proctor.rendering.pairwise_wording import (
    VERDICTS,
    cost_text,
    inconsistency_text,
    is_repeated,
    judges_text,
    missing_text,
    pair_name,
    pair_text,
    rate_text,
    side_text,
    sign_text,
    unpaired_texts,
    vote_lines,
    won_text,
)
from proctor.rendering.text import SHOWN_CASES
from proctor.rendering.wording import MESSAGE_LENGTH, shortened

_GREEN, _YELLOW, _PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[0m"
_COLOURS = {
    PairwiseVerdict.A: _GREEN,
    PairwiseVerdict.B: _GREEN,
    PairwiseVerdict.UNDECIDED: _PLAIN,
    PairwiseVerdict.UNMEASURED: _YELLOW,
    PairwiseVerdict.INTERRUPTED: _YELLOW,
}
_ORDER = (
    PairOutcome.ERRORED,
    PairOutcome.UNMEASURED,
    PairOutcome.A,
    PairOutcome.B,
    PairOutcome.TIE,
)
"""In which order pairs are shown: first what is wrong, last what says least."""


def render_pairwise_text(
    found: Pairwise, answers: Iterable[PairAnswers], options: RenderOptions
) -> Iterator[bytes]:
    """The comparison for a terminal or a log, in UTF-8, without the answers; data is escaped."""
    word = VERDICTS[found.verdict]
    if options.colour:
        word = f"{_COLOURS[found.verdict]}{word}{_PLAIN}"
    yield f"{word}  {won_text(found)}\n".encode()
    for line in _lines(found, options):
        yield f"{terminal_line(line)}\n".encode()


def _lines(found: Pairwise, options: RenderOptions) -> Iterator[str]:
    missing = missing_text(found)
    if missing is not None:
        yield f"  {missing}"
    yield ""
    yield terminal_text(found.suite)
    yield f"  A  {side_text(found.a)}"
    yield f"  B  {side_text(found.b)}"
    yield f"  {judges_text(found)}"
    yield f"  {rate_text(found.win_rate)}"
    yield f"  {sign_text(found)}"
    yield f"  {inconsistency_text(found)}"
    yield f"  {cost_text(found)}"
    for said, names in unpaired_texts(found.unpaired):
        limit = None if options.all_cases else SHOWN_NAMES
        listed = f": {names_text(names, limit=limit)}" if names else ""
        yield f"  {said}{listed}"
    yield from _pairs(found, options)
    for warning in found.warnings:
        code = "" if warning.code is None else f" {terminal_text(warning.code)}"
        yield f"warning:{code} {shortened(warning.message, MESSAGE_LENGTH)}"


def _pairs(found: Pairwise, options: RenderOptions) -> Iterator[str]:
    shown = sorted(found.pairs, key=lambda pair: _ORDER.index(pair.outcome))
    left_out = 0 if options.all_cases else max(0, len(shown) - SHOWN_CASES)
    repeated = is_repeated(found)
    for pair in shown[: len(shown) - left_out]:
        yield from _pair(pair, repeated=repeated)
    if left_out:
        yield f"  ... and {left_out} more (--all shows them)"


def _pair(pair: PairResult, *, repeated: bool) -> Iterator[str]:
    yield f"  {pair_name(pair, is_repeated=repeated)}: {pair_text(pair)}"
    for line in vote_lines(pair):
        yield f"    {line}"
