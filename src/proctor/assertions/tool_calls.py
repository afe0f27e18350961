"""The kind `tool-calls`: the calls that the answer asks for are the expected ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

from proctor.assertions.answers import NO_ANSWER, AnswerView, Failure
from proctor.assertions.base import Expectation, MatchingAssertion, invalid
from proctor.assertions.matching import (
    Difference,
    first_difference,
    join_places,
    json_equal,
    spell_place,
)
from proctor.pointers import MISSING
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json, JsonObject, ToolCall
from proctor.strict_json import JsonProblem, parse_json, typed

MAX_CALLS: Final = 100

_PLACE: Final = "tool_calls"


class ExpectedCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that is expected.

    Args:
        name: The tool.
        args: Its arguments, as an object or as a string of JSON. Without them, any will do.
    """

    name: str
    args: JsonObject | str | UnsetType = UNSET


class ToolCallsSpec(AssertionSpec, frozen=True, kw_only=True):
    """The fields of `tool-calls`.

    Args:
        calls: The calls. Without them, the case's `expected`, a list of such calls.
        expected: The part of the case's `expected` that is the list.
        order: `any` takes the calls in any order.
        args: `subset` lets objects have more members than expected.
    """

    calls: list[ExpectedCall] | UnsetType = UNSET
    expected: str | UnsetType = UNSET
    order: Literal["exact", "any"] = "exact"
    args: Literal["exact", "subset"] = "exact"


class _Call(Struct, frozen=True, gc=False):
    """A call, with its arguments as an object; `MISSING` for arguments that do not matter."""

    name: str
    args: Json

    def shown(self) -> JsonObject:
        return {"name": self.name} if self.args is MISSING else msgspec.structs.asdict(self)


class Compared(Struct, frozen=True, gc=False):
    """What is wrong with the calls, where, and the evidence of it; true when nothing is."""

    fault: str | None = None
    place: str = ""
    expected: Json = MISSING
    got: Json = MISSING

    def __bool__(self) -> bool:
        return self.fault is None


class ToolCalls(MatchingAssertion[Compared]):
    """The answer makes the expected calls and no others; text beside them does not matter.

    Without `calls`, the expected value of the case is the list of them. Arguments that are not
    JSON fail also when negated, and so does an answer without text and calls.
    """

    Spec: ClassVar[type[AssertionSpec]] = ToolCallsSpec

    def __init__(self, spec: ToolCallsSpec) -> None:
        super().__init__(spec)
        self._expectation = Expectation(spec.calls, spec.expected, key="calls")
        self._in_order = spec.order == "exact"
        self._whole = spec.args == "exact"
        self._given: list[_Call] | None = None
        if not isinstance(spec.calls, UnsetType):
            self._given = [_expected(call) for call in spec.calls]

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> ToolCalls:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when arguments are not an object, or there are more than 100 calls.
        """
        spec = cast("ToolCallsSpec", spec)
        if not isinstance(spec.calls, UnsetType):
            fault = _unfit(spec.calls)
            if fault is not None:
                raise invalid(f"`calls` {fault}")
        return ToolCalls(spec)

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        return self._expectation.unfit(case, _no_calls)

    def select(self, view: AnswerView, case: Case) -> Json | Failure:
        """The calls of the answer."""
        answer = view.answer
        return NO_ANSWER if answer.text is None and not answer.tool_calls else answer.tool_calls

    def match(self, value: Json, case: Case) -> Compared | Failure:
        """Whether the calls are the expected ones."""
        wanted = self._wanted(case)
        made = _made(value, read_args=any(call.args is not MISSING for call in wanted))
        if isinstance(made, Failure):
            return made
        if len(made) != len(wanted):
            return Compared("number_of_calls", _PLACE, _names(wanted), _names(made))
        if self._in_order:
            pairs = zip(wanted, made, strict=True)
            faults = (self._compare(*pair, at) for at, pair in enumerate(pairs))
            return next((fault for fault in faults if not fault), Compared())
        missing = unmatched([[self._fits(one, other) for other in made] for one in wanted])
        if missing is None:
            return Compared()
        got = [call.shown() for call in made]
        return Compared("call_missing", _PLACE, wanted[missing].shown(), got)

    def explain(self, value: Json, case: Case, result: Compared) -> Failure:
        """The first difference, or that there is none."""
        if result:
            got = [call.shown() for call in self._wanted(case)]
            return Failure("calls_match", evidence={"got": got})
        evidence = {"path": result.place}
        sides = {"expected": result.expected, "got": result.got}
        evidence |= {side: shown for side, shown in sides.items() if shown is not MISSING}
        return Failure(result.fault or "", result.place, evidence)

    def _wanted(self, case: Case) -> list[_Call]:
        if self._given is not None:
            return self._given
        calls = typed(self._expectation.of(case), list[ExpectedCall])
        return [_expected(call) for call in calls]

    def _fits(self, wanted: _Call, made: _Call) -> bool:
        return bool(self._compare(wanted, made, 0))

    def _compare(self, wanted: _Call, made: _Call, at: int) -> Compared:
        place = f"{_PLACE}[{at}]"
        if wanted.name != made.name:
            return Compared("other_call", f"{place}.name", wanted.name, made.name)
        if wanted.args is MISSING:
            return Compared()
        compare = first_difference if self._whole else first_lacking
        difference = compare(wanted.args, made.args)
        if difference is None:
            return Compared()
        place = join_places(f"{place}.args", difference.place)
        return Compared("other_arguments", place, difference.expected, difference.got)


def first_lacking(expected: JsonObject, got: JsonObject) -> Difference | None:
    """Where an object first lacks something of another one, or None when it has all of it.

    Objects may have more members at any depth; everything else is equal or it is not.

    Example:
        >>> first_lacking({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": []})
        >>> first_lacking({"a": {"b": 1}}, {"a": {"c": 2}})
        Difference(place='a.b', expected=1, got=MISSING)
    """
    open_pairs: list[tuple[str, Json, Json]] = [("", expected, got)]
    while open_pairs:
        place, one, other = open_pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            members = [
                (join_places(place, spell_place((name,))), member, other.get(name, MISSING))
                for name, member in one.items()
            ]
            open_pairs.extend(reversed(members))
        elif other is MISSING or not json_equal(one, other):
            return Difference(place, one, other)
    return None


def unmatched(fits: Sequence[Sequence[bool]]) -> int | None:
    """Pair each row with a column of its own that fits it; the first row for which that fails.

    Source: augmenting paths (Kuhn 1955), over rows in order.

    Example:
        >>> unmatched([[True, True], [True, False]]), unmatched([[True, False], [True, False]])
        (None, 1)
    """
    taken: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, does_fit in enumerate(fits[row]):
            if does_fit and column not in tried:
                tried.add(column)
                if column not in taken or place(taken[column], tried):
                    taken[column] = row
                    return True
        return False

    return next((row for row in range(len(fits)) if not place(row, set())), None)


def _expected(call: ExpectedCall) -> _Call:
    args: Json = MISSING if isinstance(call.args, UnsetType) else call.args
    return _Call(call.name, parse_json(args) if isinstance(args, str) else args)


def _unfit(calls: Sequence[ExpectedCall]) -> str | None:
    """Why these calls cannot be expected, or None."""
    if len(calls) > MAX_CALLS:
        return f"has {len(calls)} calls, which is more than {MAX_CALLS}"
    for at, call in enumerate(calls):
        if isinstance(call.args, str) and _object(call.args) is None:
            return f"has arguments that are not a JSON object, at `[{at}].args`"
    return None


def _made(calls: Sequence[ToolCall], *, read_args: bool) -> list[_Call] | Failure:
    made: list[_Call] = []
    for at, call in enumerate(calls):
        args: Json = call.args if read_args else MISSING
        if isinstance(args, str):
            parsed = _object(args)
            if parsed is None:
                place = f"{_PLACE}[{at}].args"
                return Failure("arguments_not_json", place, {"path": place, "got": args})
            args = parsed
        made.append(_Call(call.name, args))
    return made


def _object(text: str) -> JsonObject | None:
    try:
        value = parse_json(text)
    except JsonProblem:
        return None
    return value if isinstance(value, dict) else None


def _names(calls: Sequence[_Call]) -> list[str]:
    return [call.name for call in calls]


def _no_calls(value: Json) -> str | None:
    try:
        calls = typed(value, list[ExpectedCall])
    except msgspec.ValidationError:
        return "its expected value is not a list of calls with `name` and `args`"
    fault = _unfit(calls)
    return None if fault is None else f"its expected value {fault}"
