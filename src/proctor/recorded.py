"""Answers of one subject from a cassette, and how a call that has none differs from what it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.canonical import canonical_json
from proctor.cassettes import Cassette, JudgeKeys, answer_keys, build_keys, shortened
from proctor.errors import CassetteError
from proctor.protocols import Heard, Question
from proctor.records import Answered, AnySubject, Call, CallKind, Json, JsonObject, Recording

MAX_TAKES_SHOWN = 8


class Replay:
    """Answers the calls of one subject from a cassette, and from nothing else.

    Args:
        cassette: The recordings.
        subject: Who is asked.
        command: The command that would record what is missing.
    """

    def __init__(self, cassette: Cassette, subject: AnySubject, command: str) -> None:
        self._cassette = cassette
        self._subject = subject
        self._command = command
        self._keys = answer_keys(subject)
        self._build_keys = build_keys(subject)
        self._judge_keys = JudgeKeys()

    def built(self, call: Call) -> Answered | None:
        """What was recorded of the build that a row needs, None when nothing was."""
        return self._cassette.find(self._build_keys.key(call.inputs_sha256, call.take))

    def no_build(self, call: Call) -> CassetteError:
        """P6402: there is no recording of a build, and how the nearest one differs."""
        why = explain_miss(self._cassette, self._subject, call, kind=CallKind.BUILD)
        return CassetteError(
            f"no recording of the build: {why}", code="P6402", hint=f"`{self._command}` records it"
        )

    def answer(self, call: Call) -> Answered:
        """The recorded answer to one row.

        Raises:
            CassetteError: P6402 when there is none, saying how the nearest recording differs.
        """
        found = self._cassette.find(self._keys.key(call.inputs_sha256, call.take))
        if found is None:
            why = explain_miss(self._cassette, self._subject, call)
            raise CassetteError(
                f"no recording: {why}", code="P6402", hint=f"`{self._command}` records it"
            )
        return found

    def judged(self, question: Question) -> Heard:
        """The recorded reply of a judge.

        Raises:
            CassetteError: P6402 when there is none, saying how the nearest recording differs.
        """
        found = self._cassette.find(self._judge_keys.key(question))
        if found is None:
            call = Call(question.case, question.inputs_sha256, question.take)
            why = explain_miss(
                self._cassette,
                question.subject,
                call,
                kind=question.kind,
                assertion=question.assertion,
            )
            raise CassetteError(
                f"no recording of the judge `{question.subject.model.ref}` for "
                f"`{question.assertion}`: {why}",
                code="P6402",
                hint=f"`{self._command}` records it",
            )
        return Heard(found, asked=False)


def explain_miss(
    cassette: Cassette,
    subject: AnySubject,
    call: Call,
    *,
    kind: CallKind = CallKind.ANSWER,
    assertion: str | None = None,
) -> str:
    """Why a call has no recording: what differs from the nearest one of the same case.

    Args:
        cassette: The recordings.
        subject: Who was to be asked.
        call: What was to be asked.
        kind: What it was to be asked for.
        assertion: For which assertion, when one asks a judge.
    """
    if cassette.is_missing:
        return f"no cassette at {cassette.shown}"
    candidates = [
        one
        for one in cassette.of_case(kind, call.case)
        if assertion is None or one.assertion == assertion
    ]
    if not candidates:
        is_judge = kind not in (CallKind.ANSWER, CallKind.BUILD)
        what = "its verdicts on this case are" if is_judge else "this case is"
        return f"{what} not in {cassette.shown}"
    if kind is CallKind.ANSWER:
        candidates = [one for one in candidates if one.scenario == call.scenario]
        if not candidates:
            which = "without a scenario" if call.scenario is None else f"in `{call.scenario}`"
            return f"this case {which} is not in {cassette.shown}"
    differences = [_differences(one, subject, call) for one in candidates]
    nearest = min(differences, key=len)
    if nearest:
        return ", ".join(nearest)
    takes = [one.take for one, differs in zip(candidates, differences, strict=True) if not differs]
    return f"recorded {_spell_takes(takes)}, asked for {call.take}"


def _differences(recording: Recording, subject: AnySubject, call: Call) -> list[str]:
    parts, is_judge = recording.parts, recording.call not in (CallKind.ANSWER, CallKind.BUILD)
    differences: list[str] = []
    if parts.prompt != subject.bundle_sha256:
        differences.append("rubric changed" if is_judge else "prompt changed")
    if parts.inputs != call.inputs_sha256:
        differences.append("what is judged changed" if is_judge else "inputs changed")
    if recording.model != subject.model.ref:
        differences.append(f"model {shortened(recording.model)} -> {subject.model.ref}")
    return differences + list(_changed_params(parts.params, subject.model.params))


def _changed_params(recorded: JsonObject, asked: JsonObject) -> Iterator[str]:
    for name in sorted({*recorded, *asked}):
        before, now = _spell(recorded, name), _spell(asked, name)
        if before != now:
            yield f"{shortened(name)} {shortened(before)} -> {shortened(now)}"


def _spell(params: JsonObject, name: str) -> str:
    if name not in params:
        return "not set"
    value: Json = params[name]
    return canonical_json(value).decode("utf-8")


def _spell_takes(takes: Iterable[int]) -> str:
    ordered = sorted(takes)
    first, last, more = ordered[0], ordered[-1], len(ordered) - MAX_TAKES_SHOWN
    if first == last:
        return f"take {first}"
    if last - first == len(ordered) - 1:
        return f"takes {first}-{last}"
    shown = ", ".join(map(str, ordered[:MAX_TAKES_SHOWN]))
    return f"takes {shown} and {more} more" if more > 0 else f"takes {shown}"
