"""An answer as the assertions of one row share it: what one of them has read, the others have."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import UNSET, Struct

from proctor.assertions.extracting import NotExtracted, Source, extract_json
from proctor.records import Answered, Finish, Json, JsonObject, Outcome
from proctor.strict_json import JsonProblem, parse_json


class Failure(Struct, frozen=True, gc=False):
    """What is wrong with an answer: a short code, the place if there is one, and evidence.

    Where a kind returns one instead of a value or a verdict, there is nothing to judge, and the
    check fails even when it is negated.
    """

    outcome: ClassVar[Outcome] = Outcome.FAILED

    code: str
    place: str = ""
    evidence: JsonObject | None = None


class NoVerdict(Failure, frozen=True, gc=False):
    """Why nothing can be said about an answer: the check is unmeasured, also when negated."""

    outcome: ClassVar[Outcome] = Outcome.UNMEASURED


class NotRun(Failure, frozen=True, gc=False):
    """Why the check could not be made: it is errored, also when negated."""

    outcome: ClassVar[Outcome] = Outcome.ERRORED


NO_TEXT = Failure("no_text")
NO_ANSWER = Failure("no_answer")


class _Read:
    """What has been read so far."""

    __slots__ = ("document", "extracted", "source")

    def __init__(self) -> None:
        self.document: Any = UNSET
        self.extracted: Any = UNSET
        self.source: Source | None = None


class AnswerView(Answered, frozen=True, gc=False):
    """An `Answered` that parses its text once, however many assertions ask for it.

    It stands wherever an `Answered` does; an assertion that is handed one shares what is read.
    """

    notes: JsonObject | None
    """What belongs into the evidence of every check on this answer, or None."""
    read: _Read

    @staticmethod
    def of(answered: Answered) -> AnswerView:
        """A view of this answer; the answer itself when it is one already."""
        if answered.__class__ is AnswerView:
            return answered
        answer = answered.answer
        return AnswerView(
            answer,
            answered.recording,
            answered.usage,
            answered.cost_usd,
            answered.latency_ms,
            None if answer.finish is Finish.STOP and answer.text else _notes(answered),
            _Read(),
        )

    def text(self) -> str | Failure:
        """The whole text."""
        text = self.answer.text
        return NO_TEXT if text is None else text

    def document(self) -> Json | Failure:
        """The whole text as strict JSON."""
        value = self.read.document
        if value is UNSET:
            value = self.read.document = _parse(self.answer.text)
        return value

    def extracted(self) -> Json | Failure:
        """The only JSON value in the text. Where it was is in `source` from then on."""
        value = self.read.extracted
        if value is UNSET:
            value = self.read.extracted = self._extract()
        return value

    @property
    def source(self) -> Source | None:
        """Where `extracted` found its value, None when it did not."""
        return self.read.source

    def _extract(self) -> Json | Failure:
        text, document = self.answer.text, self.document()
        if text is None:
            return NO_TEXT
        if not isinstance(document, Failure):
            self.read.source = Source.TEXT
            return document
        result = extract_json(text)
        self.read.source = result.source
        if isinstance(result, NotExtracted):
            evidence = None if result.detail is None else {"problem": result.detail}
            return Failure(result.fault.value, evidence=evidence)
        return result.value


def _parse(text: str | None) -> Json | Failure:
    if text is None:
        return NO_TEXT
    try:
        return parse_json(text)
    except JsonProblem as problem:
        return Failure("not_json", evidence={"problem": problem.detail})


def _notes(answered: Answered) -> JsonObject | None:
    notes: JsonObject = {}
    if answered.answer.finish not in (Finish.STOP, Finish.TOOL_CALLS):
        notes["finish"] = answered.answer.finish.value
    if answered.answer.text == "":
        notes["empty_text"] = True
    return notes or None
