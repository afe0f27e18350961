"""Assertions compiled from what a suite says, and answers to ask them about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import ProctorError
from proctor.loading.bundles import LoadedPrompt
from proctor.protocols import Assertion
from proctor.records import (
    Answer,
    Answered,
    Case,
    Check,
    Finish,
    JsonObject,
    JudgeSetup,
    LoadedAssertion,
    ModelChoice,
    Outcome,
    Part,
    Prompt,
    ToolCall,
    Usage,
)
from proctor.registry import assertion_kinds

CONTRACT = {
    "type": "object",
    "properties": {
        "decision": {"enum": ["approve", "deny"]},
        "reply": {"type": "string"},
    },
    "required": ["decision", "reply"],
    "additionalProperties": False,
}


class FakeScope:
    """A scope without files: `files` are the schemas there are, `rubrics` the prompts."""

    def __init__(
        self,
        *,
        contract: JsonObject | None = CONTRACT,
        files: dict[str, Any] | None = None,
        regex_timeout_s: float = 5.0,
        root: Path = Path("/nowhere"),
        allow_code: bool = True,
        judge: JudgeSetup | None = None,
        model: ModelChoice | None = None,
        rubrics: dict[str, LoadedPrompt] | None = None,
    ) -> None:
        self.output_schema = contract
        self.root = root
        self.allow_code = allow_code
        self.regex_timeout_s = regex_timeout_s
        self.judge = judge or JudgeSetup()
        self.model = model
        self._files = files or {}
        self._rubrics = rubrics or {}

    def read_schema(self, path: str) -> object:
        return self._files[path]

    def rubric(self, reference: str) -> tuple[Prompt, Sequence[list[Part]]]:
        return self._rubrics[reference].prompt, self._rubrics[reference].templates


def assertion(kind: str, *, scope: FakeScope | None = None, **fields: Any) -> Assertion:
    """An assertion with the id `it`; fields have the names a suite has for them."""
    spec = loaded({"id": "it", "kind": kind, **fields}).spec
    return assertion_kinds.get(kind).compile(spec, scope or FakeScope())


def refusal(kind: str, *, scope: FakeScope | None = None, **fields: Any) -> str:
    """The code and message with which a spec is refused."""
    try:
        assertion(kind, scope=scope, **fields)
    except ProctorError as error:
        return f"{error.code} {error.message}"
    raise AssertionError("the spec was accepted")


def answered(
    text: str | None,
    finish: Finish = Finish.STOP,
    *,
    calls: Sequence[ToolCall] = (),
    usage: Usage | None = None,
    cost_usd: float | None = None,
    latency_ms: float | None = None,
) -> Answered:
    answer = Answer(text, list(calls), finish, None, None, None, None, None, None)
    return Answered(answer, None, usage, cost_usd, latency_ms)


def case(*expected: Any) -> Case:
    """A case, with an expected value if one is given."""
    return Case("one", {}, *expected)


def check(kind: str, text: str | None, *expected: Any, **fields: Any) -> Check:
    """The check of one assertion on an answer with this text."""
    return assertion(kind, **fields).check(answered(text), case(*expected))


def verdict(kind: str, text: str | None, *expected: Any, **fields: Any) -> str | None:
    """`passed`, or the reason of the failed check."""
    result = check(kind, text, *expected, **fields)
    return "passed" if result.outcome is Outcome.PASSED else result.reason


def group(kind: str, *parts: JsonObject, **fields: Any) -> JsonObject:
    """A part of a group that is a group itself; its parts get ids like those of a suite."""
    return {"kind": kind, "of": list(parts), **fields}


def loaded(written: JsonObject, where: str = "suite.yaml:1") -> LoadedAssertion:
    """An assertion as loading hands it on; those within groups stand a line further down each."""
    implementation = assertion_kinds.get(written["kind"])
    if "of" in written:
        file, _, line = where.rpartition(":")
        of = [
            loaded({"id": f"{written['id']}.{place}", **part}, f"{file}:{int(line) + place}")
            for place, part in enumerate(written["of"], 1)
        ]
        written = {**written, "of": of}
    return LoadedAssertion(msgspec.convert(written, implementation.Spec), where)
