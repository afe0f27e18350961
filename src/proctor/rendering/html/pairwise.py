"""Answers compared by judges as HTML: both side by side, and what each judge says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from proctor.records import RenderOptions, encode_json
from proctor.records.pairwise import PairAnswers, Pairwise
from proctor.rendering.html.page import asset, policy, script_json
from proctor.rendering.pairwise_wording import (
    VERDICTS,
    cost_text,
    inconsistency_text,
    judges_text,
    missing_text,
    pair_text,
    rate_text,
    sign_text,
    unpaired_texts,
    won_text,
)


def render_html_pairwise(
    found: Pairwise, answers: Iterable[PairAnswers], options: RenderOptions
) -> Iterator[bytes]:
    """One page that holds everything and asks for nothing; `options` change nothing.

    Data stands in one block of JSON that the script puts into the page as text.
    """
    before, after = _shell()
    yield before
    yield b'{"facts":%b,"pairwise":%b,"answers":[' % (
        script_json(encode_json(_facts(found))),
        script_json(encode_json(found)),
    )
    separator = b""
    for one in answers:
        yield separator + script_json(encode_json(one))
        separator = b","
    yield b"]}" + after


def _facts(found: Pairwise) -> dict[str, object]:
    """What the page says in words, the same words as in every format."""
    missing = missing_text(found)
    said = [judges_text(found), rate_text(found.win_rate), sign_text(found)]
    said += [inconsistency_text(found), cost_text(found)]
    return {
        "verdict": VERDICTS[found.verdict],
        "headline": won_text(found) if missing is None else f"{won_text(found)}; {missing}",
        "said": said,
        "unpaired": [
            {"said": said, "cases": names} for said, names in unpaired_texts(found.unpaired)
        ],
        "pairs": [pair_text(pair) for pair in found.pairs],
    }


@cache
def _shell() -> tuple[bytes, bytes]:
    style = asset("style.css") + asset("pairwise.css")
    script = f'"use strict";\n{asset("text.js")}\n{asset("pairwise.js")}'
    text = asset("pairwise.html")
    for name, content in (
        ("policy", policy(style, script)),
        ("style", style),
        ("script", script),
    ):
        text = text.replace(f"[[{name}]]", content)
    before, _, after = text.partition("[[data]]")
    return before.encode("utf-8"), after.encode("utf-8")
