"""The seams: what a part must offer to be plugged in.

Built-in parts fit these the way somebody else's would. They are small on purpose: everything a
part needs comes in through the arguments.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from proctor.errors import ProctorError
from proctor.records import (
    Answered,
    AssertionSpec,
    Call,
    CallKind,
    Case,
    Check,
    ExpectationResult,
    JsonObject,
    JudgeSetup,
    ModelChoice,
    Outcome,
    Part,
    Prompt,
    Reply,
    Request,
    RowResult,
    Scenario,
    Subject,
    Usage,
    Warn,
)

Shape = tuple[str, ...]
"""The scenarios of a case by their names, or `BUILD_ONLY` alone."""


class CaseSource(Protocol):
    """A dataset as an index: its cases are read one at a time, never all held."""

    path: str
    sha256: str
    shapes: Mapping[int, Shape]
    """The rows of those cases that have not just one, by the 0-based place of the case."""

    def __len__(self) -> int:
        """How many cases there are."""
        ...

    def case(self, index: int) -> Case:
        """Read one case again, by its 0-based place."""
        ...


class Provider(Protocol):
    """Somebody who answers requests over a network."""

    kind: str
    host: str | None
    """Where requests go, None when they go nowhere."""

    async def complete(self, request: Request, call: Call) -> Reply:
        """Ask once. Retries, limits and money are the caller's business.

        Raises:
            ProviderError: When no answer came that could be kept.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open, on the event loop that asked."""
        ...


class Target(Protocol):
    """What is under test: it turns a case into an answer."""

    def inputs_sha256(self, row: PlannedRow) -> str:
        """What identifies the inputs of a row in a recording's key."""
        ...


class AnswerSource(Protocol):
    """Where the answers of one subject come from: the cassette, or something live."""

    def answer(self, call: Call) -> Answered:
        """The answer to one row.

        Raises:
            ProctorError: When there is none; its code and message go into the row.
        """
        ...


class LiveJudges(Protocol):
    """Judges that can be asked now."""

    async def judged(self, question: Question) -> Heard:
        """The reply of a judge.

        Raises:
            ProctorError: When there was none; its code and message go into the row.
        """
        ...


class LiveSource(LiveJudges, Protocol):
    """Who is asked for the answers of one subject, and judges them."""

    async def ask(self, call: Call, row: PlannedRow) -> Answered:
        """The answer to one row.

        Raises:
            ProctorError: When there was none; its code and message go into the row.
        """
        ...


class Progress(Protocol):
    """Who is told how a live run goes while it goes."""

    def row_done(self, outcome: Outcome) -> None:
        """A row has finished."""
        ...

    def money(self, spent_usd: float, remaining_usd: float | None) -> None:
        """What has been spent, and what is left of the budget; None when there is none."""
        ...

    def waiting(self, provider: str, wait_s: float, attempt: int, reason: str) -> None:
        """A call to a provider now waits this long before it is asked for the n-th time."""
        ...

    def note(self, text: str) -> None:
        """One line for the reader."""
        ...


class Question(Protocol):
    """One run of a judge on one answer, or on what was built."""

    kind: CallKind
    """What the judge is asked for."""

    subject: Subject
    """The rubric, on the model that judges."""
    case: str
    """The case that was answered; a label."""
    assertion: str
    """The assertion that asks; a label."""
    inputs_sha256: str
    """What identifies the rubric's inputs in the key."""
    take: int
    """The number of the run, of a panel that among the runs of the same model."""

    def request(self) -> Request:
        """What would be sent."""
        ...


class Heard(NamedTuple):
    """The reply of a judge, and whether it was asked for now."""

    reply: Answered
    asked: bool


class JudgeSource(Protocol):
    """Where the replies of judges come from when they are there already."""

    def judged(self, question: Question) -> Heard:
        """The reply to one question.

        Raises:
            ProctorError: When there is none; its code and message go into the row.
        """
        ...


class Scope(Protocol):
    """What an assertion may ask for while it is being compiled."""

    root: Path
    """The project's folder."""
    allow_code: bool
    """Whether code of the project may run."""
    output_schema: JsonObject | None
    """The output contract of the prompt as a JSON Schema, None for free text."""
    regex_timeout_s: float

    judge: JudgeSetup
    """Who judges, as far as the suite says."""
    model: ModelChoice | None
    """The model under test, None when none is."""

    def rubric(self, reference: str) -> tuple[Prompt, Sequence[list[Part]]]:
        """The prompt that a rubric is, and the parsed templates of its messages.

        Raises:
            ProctorError: P6203 when there is none of this name, or what is wrong with it.
        """
        ...

    def read_schema(self, path: str) -> object:
        """Read a JSON Schema file of the project, by a path relative to the suite."""
        ...


class Assertion(Protocol):
    """A compiled assertion: made once per suite and subject, asked once per row."""

    spec: AssertionSpec

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        ...

    def check(self, answered: Answered, case: Case) -> Check:
        """Judge one answer. A wrong answer is a failed check, never an exception."""
        ...


@runtime_checkable
class JudgedAssertion(Protocol):
    """A compiled assertion that asks judges: it has questions first, and then makes a check."""

    spec: AssertionSpec
    warnings: Sequence[Warn]
    """What is to be known of its rubric."""
    judges: Sequence[Subject]
    """The rubric on each model that judges, one for each run."""
    skips_after_failure: bool
    """Whether it is not asked about an answer whose row has failed already."""

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        ...

    def response(self, answered: Answered) -> str | None:
        """The text that is judged; None when the answer does not have it."""
        ...

    def questions(self, answered: Answered, case: Case) -> Sequence[Question] | Check:
        """What the judges are asked about one answer; a check when nobody has to be asked."""
        ...

    def reversed(self) -> JudgedAssertion | None:
        """The same, asking with what is judged in reverse order; None where there is no order."""
        ...

    def outline(self, case: Case) -> tuple[Request, int]:
        """What a judge would be sent about an empty answer, and how often the answer is in it."""
        ...

    def judge(
        self, replies: Sequence[Answered | ProctorError], answered: Answered, case: Case
    ) -> Check:
        """What the judges decide together.

        Args:
            replies: One per question, in their order, or why there is none; then the check is
                errored, whatever the others say.
            answered: What was judged.
            case: What it answers.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """A compiled assertion that has something to do before the first row is run."""

    def prepare(self) -> Iterator[ProctorError]:
        """Get ready, and yield what stands in the way. Called once, and never by `lint`."""
        ...


class Checks(Protocol):
    """The compiled assertions of one subject."""

    judged: Sequence[JudgedAssertion]
    """Those that ask judges, in the order of the suite."""

    def run(self, answered: Answered, case: Case, timed_out: Container[str]) -> list[Check]:
        """One check per assertion that asks no judge, in the order of the suite.

        Those whose id is in `timed_out` fail without being run.
        """
        ...

    def in_order(self, checks: list[Check]) -> list[Check]:
        """Checks of both sorts in the order of the suite."""
        ...


class PreparedChecks(Checks, Protocol):
    """Assertions that may have something to do before the first row."""

    def needs(self, case: Case) -> Iterator[tuple[str, str]]:
        """The id of each assertion that cannot be asked about a case, and a sentence why."""
        ...

    def prepare(self) -> Iterator[tuple[str, ProctorError]]:
        """Get ready; the id of each assertion that cannot, and why."""
        ...


class AssertionKind(Protocol):
    """A kind of assertion as the registry holds it."""

    Spec: ClassVar[type[AssertionSpec]]

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Assertion | JudgedAssertion:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when the spec cannot work, P6202 when it could never fail.
        """
        ...


class PlannedRow(NamedTuple):
    """One row that is to be run.

    Args:
        place: The 0-based place of its case.
        case: The case, as its scenario has it.
        repeat: From 1.
        scenario: Which scenario of the case, or `BUILD_ONLY`; None when it has none.
        whole: The case as it stands in the dataset; None when that is `case`.
    """

    place: int
    case: Case
    repeat: int
    scenario: Scenario | None = None
    whole: Case | None = None

    @property
    def key(self) -> RowKey:
        """What tells it from the other rows of its subject."""
        return self.place, None if self.scenario is None else self.scenario.name, self.repeat


RowKey = tuple[int, str | None, int]
"""The place of the case, the name of the scenario and the repeat of a row."""


class RowsRunner(Protocol):
    """Runs rows and never raises for what is wrong with a row itself."""

    def __call__(self, rows: Sequence[PlannedRow]) -> list[RowResult]:
        """Answer and check some rows; one result each, in their order."""
        ...


class JudgeCall(NamedTuple):
    """A call of a judge that a row needed.

    Args:
        cost_usd: What it cost, None when that is not known.
        asked: Whether it was made now and not replayed.
        recording: The SHA-256 of its raw cassette line, None when it was not recorded.
        replied: Whether there was a reply.
        question: What was asked.
        worst_cost_usd: What it may have cost at most, for when its cost is not known; None when
            there is no price.
    """

    cost_usd: float | None
    asked: bool
    recording: str | None
    replied: bool = True
    question: Question | None = None
    worst_cost_usd: float | None = None


class BuildCall(NamedTuple):
    """The call that built something for a case: what it took, and whether it was made now.

    `worst_cost_usd` is what it may have cost at most, for when its cost is not known.
    """

    usage: Usage | None
    cost_usd: float | None
    asked: bool
    recording: str | None
    worst_cost_usd: float | None = None


class BuildPart(NamedTuple):
    """What a row brings of the build that it is the first row of.

    Args:
        call: The build itself; None when there was none.
        expectations: What judges found of it.
        judge_calls: The calls of judges that took, in the order of their votes.
    """

    call: BuildCall | None
    expectations: Sequence[ExpectationResult] = ()
    judge_calls: Sequence[JudgeCall] = ()


class RanRow(NamedTuple):
    """A row that was run; `asked` when its answer was asked for now and not replayed.

    `judge_calls` are the calls of judges it needed, in the order of their votes. `build` is there
    on the first row of a build. `worst_cost_usd` is what the answer may have cost at most, for when
    that is not known and counts; None when it is, or has no price.
    """

    planned: PlannedRow
    result: RowResult
    asked: bool
    judge_calls: Sequence[JudgeCall] = ()
    build: BuildPart | None = None
    worst_cost_usd: float | None = None


class Executor(Protocol):
    """Runs the rows of a plan, in whatever order, and yields them in plan order."""

    def run(
        self, rows: Iterable[PlannedRow], run_rows: RowsRunner
    ) -> Iterator[list[tuple[PlannedRow, RowResult]]]:
        """Yield the rows with their results a few at a time, in the order of `rows`."""
        ...
