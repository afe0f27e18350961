"""What a case is, whatever the format of its dataset, and what is asked of it as it is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from proctor.documents import Document, Path, StructReader
from proctor.errors import DatasetError, ProctorError
from proctor.protocols import Shape
from proctor.records import BUILD_ONLY, Case, Json, JsonObject, Scenario
from proctor.safe_io import MEBIBYTE
from proctor.strict_json import typed

MAX_CASE = MEBIBYTE
MAX_ID = 128
SHOWN_PROBLEMS = 20

_CASE_ID = re.compile(rf"[^\x00-\x1f\x7f-\x9f]{{1,{MAX_ID}}}\Z")
_WANTED = f"1 to {MAX_ID} characters, none of them a control character"
_AS_UTF8 = "save the file as UTF-8"


def is_case_id(text: str) -> bool:
    """Whether a case can have this id."""
    return _CASE_ID.match(text) is not None


class CaseFile(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A case as it stands in a dataset.

    Args:
        id: Unique in the dataset, 1 to 128 characters.
        inputs: Values for the inputs of the prompts; nothing undeclared.
        expected: What assertions compare with; any JSON.
        tags: Words for selection and reports.
        tiers: Tiers of this case, instead of the suite's.
        metadata: Kept with the case, sent nowhere.
        context: What a judge is told beside the inputs; any JSON.
        dos: What an answer should do, for rubrics that judge by rules.
        donts: What it should not do.
        scenarios: What is tried with what was built for the case, one row each.
        expectations: What must be true of what was built for the case, in words, for a judge.
        complexity: `complex` gives a target half as much time again.
        conversation: What was said before, passed on to a target as it is.
    """

    id: str
    inputs: JsonObject
    expected: Json | UnsetType = UNSET
    tags: list[str] = []
    tiers: list[str] = []
    metadata: JsonObject | None = None
    context: Json = None
    dos: list[str] = []
    donts: list[str] = []
    scenarios: list[Scenario] = []
    expectations: list[str] = []
    complexity: Literal["simple", "complex"] = "simple"
    conversation: list[JsonObject] = []


class CellTypes(Struct, frozen=True):
    """What the cells of a table are, by what they are for; what is not named is text.

    Args:
        inputs: The type of each input, None when any name will do.
        expected: The JSON type of each part of an answer.
        answers_are_objects: Whether an expected value may be a whole JSON object.
        rest_is_inputs: Whether a column that is for nothing else is an input.
    """

    inputs: Mapping[str, str] | None
    expected: Mapping[str, str]
    answers_are_objects: bool
    rest_is_inputs: bool = False


class CaseRules(Protocol):
    """What cases must fit, beside the shape of a case."""

    def faults(self, case: Case) -> Iterator[tuple[str, str]]:
        """Code and sentence of everything wrong with one case; quotes no value of it."""
        ...

    def cell_types(self) -> CellTypes:
        """What cells of a table are to become."""
        ...


class CaseScan(Protocol):
    """Looks at the text of cases for what should not be in a dataset."""

    def stops(self, case: Case, line: int, raw: bytes | None) -> Iterable[ProctorError]:
        """What in one case stops the run; quotes no value of it.

        Args:
            case: The case.
            line: Where it starts.
            raw: Everything that was read of it, in UTF-8, where a dataset is read line by line.
        """
        ...


def shape_of(case: Case) -> Shape:
    """The rows of a case that has not just one."""
    return tuple(one.name for one in case.scenarios) or (BUILD_ONLY,)


def scenario_faults(case: Case) -> Iterator[str]:
    """What is wrong with the scenarios and expectations of a case, as sentences."""
    seen: set[str] = set()
    for number, scenario in enumerate(case.scenarios, 1):
        if not is_case_id(scenario.name) or scenario.name == BUILD_ONLY:
            yield f"the name of scenario {number} cannot be used: {_WANTED}"
        elif scenario.name in seen:
            yield f"the scenario `{scenario.name}` is there twice"
        seen.add(scenario.name)
        if scenario.assertions == []:
            yield f"the scenario `{scenario.name}` names no assertion, so it can never fail"
        if not all(map(is_case_id, scenario.resources)):
            yield f"a resource of the scenario `{scenario.name}` has no usable name: {_WANTED}"
    if any(not text.strip() for text in case.expectations):
        yield "an expectation is empty"
    if len({*case.expectations}) < len(case.expectations):
        yield "an expectation is there twice"


class CaseChecks:
    """Everything that is asked of the cases of one dataset, and what is wrong with them.

    Of the problems only those that are shown are kept.

    Args:
        path: The dataset, relative to the project root.
        rules: What the cases must fit.
        scan: What looks at their text, if anything does.
    """

    def __init__(self, path: str, rules: CaseRules, scan: CaseScan | None) -> None:
        self.path = path
        self.rules = rules
        self.count = 0
        self.shapes: dict[int, Shape] = {}
        """Of the cases that are taken, those that have not just one row."""
        self._taken = 0
        self._scan = scan
        self._line_of_id: dict[str, int] = {}
        self._problems: list[ProctorError] = []
        self._more = 0
        self._code_of_more = ""

    def problems(self) -> list[ProctorError]:
        """The first problems, and a count of the others."""
        if not self._more:
            return self._problems
        message = f"and {self._more} more problem{'' if self._more == 1 else 's'}"
        more = DatasetError(message, code=self._code_of_more, where=self.path)
        return [*self._problems, more]

    def take(self, case: Case, line: int, raw: bytes | None = None) -> None:
        """Ask everything of a case that has the shape of one."""
        if not is_case_id(case.id):
            self.note("P6101", f"the case id must have {_WANTED}", line)
            return
        if case.id in self._line_of_id:
            first = self._line_of_id[case.id]
            self.note("P6103", f"the case id `{case.id}` is taken by line {first}", line)
        else:
            self._line_of_id[case.id] = line
        for position, (code, fault) in enumerate(self.rules.faults(case)):
            if position == SHOWN_PROBLEMS:
                self.note(code, f"case `{case.id}` has more problems than these", line)
                break
            self.note(code, f"case `{case.id}`: {fault}", line)
        if case.scenarios or case.expectations:
            self.shapes[self._taken] = shape_of(case)
            for fault in scenario_faults(case):
                self.note("P6101", f"case `{case.id}`: {fault}", line)
        self._taken += 1
        if self._scan is not None:
            for problem in self._scan.stops(case, line, raw):
                self.keep(problem)

    def case_of(self, value: JsonObject, lines: Mapping[Path, int]) -> Case | None:
        """The case an object is, or None after noting what is wrong with it.

        Args:
            value: The object.
            lines: The line of each part of it that has one of its own, and of the whole.
        """
        try:
            read = typed(value, CaseFile)
        except msgspec.ValidationError:
            document = Document(self.path, value, lines)
            reader = StructReader(document, error=DatasetError, code="P6101")
            reader.read(CaseFile, value)
            for problem in reader.problems:
                self.keep(problem)
            return None
        return Case(
            read.id,
            read.inputs,
            read.expected,
            read.tags,
            read.tiers,
            read.metadata,
            read.context,
            read.dos,
            read.donts,
            read.scenarios,
            read.expectations,
            read.complexity,
            read.conversation,
        )

    def note(self, code: str, message: str, line: int | None, hint: str | None = None) -> None:
        """Note a problem at a line."""
        where = self.path if line is None else f"{self.path}:{line}"
        self.keep(DatasetError(message, code=code, hint=hint, where=where))

    def note_encoding(self, detail: str, line: int, *, whole: bool = False) -> None:
        """Note that a line, or the whole file, is not UTF-8; `detail` says what it is."""
        what = "file" if whole else "line"
        if detail == "is not UTF-8":
            detail = "is not UTF-8, but perhaps Latin-1 or Windows-1252"
        self.note("P6101", f"the {what} {detail}", line, _AS_UTF8)

    def keep(self, problem: ProctorError) -> None:
        """Note a problem."""
        if len(self._problems) < SHOWN_PROBLEMS:
            self._problems.append(problem)
            return
        self._more += 1
        self._code_of_more = self._code_of_more or problem.code
