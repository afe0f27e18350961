"""A packet as a page of Markdown to paste into a chat. It is written only, and never read again.

All that comes from the packet stands in fences that are longer than any run of backticks in it.
None is labelled `json`, so that the only JSON block of the transcript is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from proctor.packets.formats import Packet
from proctor.records import Json, JsonObject
from proctor.rendering.escaping import terminal_line
from proctor.rendering.report_json import indented

_BACKTICKS: Final = re.compile("`+")

INTRODUCTION: Final = """\
This page asks {cases}. Answer with one JSON object in one fenced block that is labelled `json`,
and write no other such block. The last section shows the object with blanks: put a value in place
of each `{{}}` or `[]` that stands for one, of the type that the contract asks for, and leave
nothing out. `null` is a value only where the contract says `nullable`. A `grammar` with `wordsFrom`
asks for 1 to 8 words of the letters A to Z, all of them words of the evidence it names, parted by
single spaces, 80 characters at most. The object may also have
`"responder": {{"kind": "human" | "model" | "unknown", "label": "..."}}` at its top.
"""


def render_page(packet: Packet, value: JsonObject) -> str:
    """The page of a packet.

    What cannot be seen, or would act on a terminal, is spelled out; the packet has the exact text.

    Args:
        packet: The packet.
        value: The value of its file.
    """
    return "".join(_parts(packet, value))


def filled_template(value: JsonObject) -> JsonObject:
    """The blank response of a packet, with the packet it belongs to filled in."""
    template: JsonObject = {**value["response_template"]}
    template["binding_sha256"] = value["binding_sha256"]
    return template


def _parts(packet: Packet, value: JsonObject) -> Iterator[str]:
    count = len(packet.cases)
    cases = "one case" if count == 1 else f"{count} cases"
    yield f"# Packet {packet.suite.id}\n\n{_fenced(packet.suite.title)}\n"
    yield f"{INTRODUCTION.format(cases=cases)}\nThe binding of this packet is\n\n"
    yield f"{_fenced(packet.binding_sha256)}\n"
    for source, member in zip(packet.sources, value["sources"], strict=True):
        about = {key: member[key] for key in ("path", "bytes", "sha256")}
        about |= {key: member["excerpt"][key] for key in ("kind", "selector")}
        yield f"## Source {source.id}\n\n{_fenced_json(about)}\n{_fenced(source.excerpt.text)}\n"
    for case in packet.cases:
        yield f"## Case {case.id}\n\nTask:\n\n{_fenced(case.task)}\n"
        for name, text in case.evidence.items():
            yield f"Evidence {name}:\n\n{_fenced(text)}\n"
        yield f"Contract:\n\n{_fenced_json(value['response_contract'][case.id])}\n"
    yield f"## Response\n\n{_fenced_json(filled_template(value))}"


def _fenced_json(value: Json) -> str:
    return _fenced(indented(value).decode("utf-8"))


def _fenced(text: str) -> str:
    """Data as a fenced block that nothing in it can end."""
    fence = "`" * max(3, *(len(run) + 1 for run in _BACKTICKS.findall(text)), 3)
    lines = re.split(r"\r?\n", text)
    if lines[-1] == "":
        lines.pop()
    shown = ["\t".join(map(terminal_line, line.split("\t"))) for line in lines]
    return "\n".join([f"{fence}text", *shown, fence, ""])
