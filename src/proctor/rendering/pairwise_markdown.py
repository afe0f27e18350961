"""Answers compared by judges as Markdown, for the comment of a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.records import RenderOptions
from proctor.records.pairwise import PairAnswers, PairOutcome, Pairwise, PairwiseVerdict
from proctor.rendering.markdown_parts import MAX_LENGTH, Section, code, code_name, joined
from proctor.rendering.pairwise_wording import (
    OUTCOMES,
    VERDICTS,
    inconsistency_text,
    is_repeated,
    missing_text,
    pair_name,
    rate_text,
    sign_text,
    unpaired_texts,
    won_text,
)

_FOR_NAMES, _FOR_WARNINGS = 6_000, 5_000
"""What these sections may take at most. The table of pairs has all the rest."""

_ALERTS = {
    PairwiseVerdict.A: "NOTE",
    PairwiseVerdict.B: "NOTE",
    PairwiseVerdict.UNDECIDED: "NOTE",
    PairwiseVerdict.UNMEASURED: "WARNING",
    PairwiseVerdict.INTERRUPTED: "WARNING",
}
_ORDER = list(PairOutcome)


def render_pairwise_markdown(
    found: Pairwise, answers: Iterable[PairAnswers], options: RenderOptions
) -> Iterator[bytes]:
    """The comparison as GitHub-flavoured Markdown in UTF-8, without the answers.

    Its first line is not that of the comment on a run, which stays where it is. `options` change
    nothing: how much is shown depends on the room there is.
    """
    missing = missing_text(found)
    head = joined(
        [
            f"### Proctor pairwise: {code_name(found.project)}, {code_name(found.suite)}",
            "",
            f"> [!{_ALERTS[found.verdict]}]",
            f"> **{VERDICTS[found.verdict]}**: {won_text(found)}.",
            *([] if missing is None else [f"> {missing}."]),
            "",
            f"- A: {code_name(found.a.id)}",
            f"- B: {code_name(found.b.id)}",
            f"- {rate_text(found.win_rate)}",
            f"- {sign_text(found)}",
            f"- {inconsistency_text(found)}",
            "",
        ]
    )
    after = _not_compared(found) + _warnings(found)
    pairs = _pairs(found, MAX_LENGTH - len(head) - len(after))
    yield f"{head}{pairs}{after}".rstrip("\n").encode() + b"\n"


def _pairs(found: Pairwise, room: int) -> str:
    section = Section(room, "| pair | outcome | why |", "|---|---|---|")
    repeated = is_repeated(found)
    for pair in sorted(found.pairs, key=lambda pair: -_ORDER.index(pair.outcome)):
        name = code(pair_name(pair, is_repeated=repeated))
        reasons = [vote.a_first.reason for vote in pair.votes[:1]]
        why = pair.error.message if pair.error is not None else " ".join(reasons)
        section.add(f"| {name} | {OUTCOMES[pair.outcome]} | {code(why) if why else ''} |")
    return section.text("pairs", len(found.pairs))


def _not_compared(found: Pairwise) -> str:
    section, lines = Section(_FOR_NAMES), 0
    for said, names in unpaired_texts(found.unpaired):
        listed = f": {', '.join(map(code_name, names))}" if names else ""
        section.add(f"- {said}{listed}")
        lines += 1
    return section.text("notes", lines)


def _warnings(found: Pairwise) -> str:
    section = Section(_FOR_WARNINGS)
    for warning in found.warnings:
        name = "" if warning.code is None else f"{code_name(warning.code)} "
        section.add(f"- warning: {name}{code(warning.message)}")
    return section.text("warnings", len(found.warnings))
