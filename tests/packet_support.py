"""A packet suite in a temporary folder, its packet, and responses to it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from proctor.errors import ProctorError
from proctor.packets.build import build_packet, render_packet
from proctor.packets.check import CheckRequest, check_response
from proctor.packets.reading import BINDING, binding_of
from proctor.packets.suites import load_suite_file

SALT = "0" * 32

SKILL = """\
# Skill

Answer from the page.

## Rules

Cite what you use.

### Order

```text
## Rules
```

## History

None.
"""

SUITE = {
    "id": "quiz",
    "title": "A quiz",
    "salt": SALT,
    "sources": [
        {"id": "skill", "path": "skill.md"},
        {"id": "rules", "path": "skill.md", "section": "## Rules"},
    ],
    "cases": [
        {
            "id": "hours",
            "task": "When does it open?",
            "evidence": {"page": "It opens at 09:30."},
            "response": {
                "opens_at": {"type": "string", "maxLength": 5},
                "citations": {"type": "list", "items": {"type": "string"}, "maxItems": 4},
            },
            "checks": [
                {"id": "time", "kind": "equals", "field": "opens_at", "value": "09:30"},
                {"id": "cited", "kind": "set-equals", "field": "citations", "values": ["page"]},
            ],
        },
        {
            "id": "phone",
            "task": "What is the number?",
            "response": {"number": {"type": "string", "nullable": True}},
            "checks": [{"id": "none", "kind": "is-null", "field": "number"}],
        },
    ],
}

RESULTS = {
    "hours": {"opens_at": "09:30", "citations": ["page"]},
    "phone": {"number": None},
}


class Sealed:
    """A suite that can be changed, and what follows from it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.suite = copy.deepcopy(SUITE)
        self.suite_file = root / "quiz.packet.json"
        self.packet_file = root / "packet.json"
        self.response_file = root / "response.json"
        self.source_file = root / "skill.md"
        self.source_file.write_text(SKILL, encoding="utf-8")

    @property
    def case(self) -> dict:
        """The first case of the suite."""
        return self.suite["cases"][0]

    def write_suite(self) -> None:
        self.suite_file.write_text(json.dumps(self.suite), encoding="utf-8")

    def load(self):
        self.write_suite()
        return load_suite_file(self.suite_file)

    def problems(self) -> list[str]:
        """What is wrong with the suite: the code and the message of each problem."""
        try:
            self.load()
        except ProctorError as error:
            return [f"{problem.code} {problem.message}" for problem in error.problems()]
        return []

    def build(self) -> dict:
        """The packet of the suite, which is written too."""
        packet = build_packet(self.load())
        self.packet_file.write_bytes(render_packet(packet))
        return packet

    def write_packet(self, packet: dict, *, bound: bool = True) -> dict:
        """Write a packet that somebody made, with a binding that holds unless told otherwise."""
        if bound:
            packet = {**packet, BINDING: binding_of(packet)}
        self.packet_file.write_text(json.dumps(packet), encoding="utf-8")
        return packet

    def respond(self, packet: dict, **changes) -> dict:
        """Write a response to a packet, the right one unless something is changed."""
        response = {
            "schema": "proctor.packet-response.v1",
            "binding_sha256": packet["binding_sha256"],
            "results": copy.deepcopy(RESULTS),
            **changes,
        }
        self.response_file.write_text(json.dumps(response), encoding="utf-8")
        return response

    def check(self, *, with_sources: bool = True):
        """The report on the response."""
        return check_response(
            CheckRequest(
                packet=self.packet_file,
                response=self.response_file,
                find_suite=lambda _: load_suite_file(self.suite_file),
                with_sources=with_sources,
            )
        )

    def refusal(self, **options) -> ProctorError:
        """The problem that stops the check."""
        try:
            self.check(**options)
        except ProctorError as error:
            return error
        raise AssertionError("the response was checked")
