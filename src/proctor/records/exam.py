"""The exam: prompts, subjects, cases, assertions as written, and what is asked."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from proctor.records.words import Identifier, Json, JsonObject, Severity, Sha256

MAX_REPEATS = 1_000
"""How often a row may be run."""

BUILD_ONLY = "__build_only__"
"""The scenario of the row that stands for a build; it is no unit."""
EXPECTATIONS = "expectations"
"""What stands among the ids of checks for all that is expected of builds."""


class FieldSpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One field of an input or output contract, as written in a prompt.

    Args:
        description: For people; not sent.
        options: The values of an enum.
        default: What an absent input is.
        optional: Whether it may be absent.
        items: What a list holds.
        fields: What an object holds; without them, anything.
        max_length: Characters of a string, items of a list.
    """

    type: Literal["string", "number", "integer", "boolean", "enum", "list", "object"]
    description: str | None = None
    options: Annotated[list[str], Meta(min_length=1)] | None = None
    default: Json | UnsetType = UNSET
    optional: bool = False
    items: FieldSpec | None = None
    fields: dict[str, FieldSpec] | None = None
    max_length: Annotated[int, Meta(ge=1)] | None = None


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class Placeholder(Struct, frozen=True):
    """A place in a template where a value goes. `path` starts with the name of an input."""

    path: tuple[str, ...]


Part = str | Placeholder
"""A piece of a template: literal text, or a place where a value goes."""


class ToolSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool a prompt offers to the model. Calls of it are returned, never made.

    Args:
        name: What the model calls it.
        description: What the model is told about it.
        parameters: A JSON Schema of an object.
    """

    name: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{1,64}\Z")]
    description: str | None = None
    parameters: JsonObject


class ModelChoice(Struct, frozen=True, kw_only=True):
    """A model and everything sent to it beside the messages.

    `ref` is `<provider>/<name>`; `params` holds `maxTokens` and the provider's parameters.
    """

    ref: str
    params: JsonObject


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt of the project, read and valid.

    Args:
        id: Its name in suites and reports.
        path: Its file, relative to the project root.
        messages: The raw templates; empty for a function.
        inputs: The input contract; empty for a function, which takes any inputs.
        output: The output contract, None for free text.
        model: The model to ask when the suite names none.
        bundle_sha256: Over everything that decides what is sent, but the model.
        tools: What the model may ask to be called.
        output_schema: The output contract as a JSON Schema, where the file has that instead.
        function: `package.module:function` when the messages are made by Python.
        hashed: `inputs`, `output` and `tools` the way they count for the bundle hash.
    """

    id: str
    path: str
    messages: tuple[Message, ...]
    inputs: dict[str, FieldSpec]
    output: dict[str, FieldSpec] | None
    model: ModelChoice | None
    bundle_sha256: str
    tools: tuple[ToolSpec, ...] = ()
    output_schema: JsonObject | None = None
    function: str | None = None
    hashed: JsonObject = {}


class Subject(Struct, frozen=True, kw_only=True):
    """What sits the exam: a prompt on a model."""

    prompt: Prompt
    model: ModelChoice

    @property
    def id(self) -> str:
        """The subject's name in thresholds and messages: `<prompt id>@<model ref>`."""
        return f"{self.prompt.id}@{self.model.ref}"

    @property
    def prompt_id(self) -> str:
        """The name of the prompt."""
        return self.prompt.id

    @property
    def bundle_sha256(self) -> str:
        """What identifies the prompt in keys."""
        return self.prompt.bundle_sha256


class TargetSubject(Struct, frozen=True, kw_only=True):
    """What sits the exam: a target, which is no prompt.

    Args:
        kind: `python`, `http`, `command` or `outputs`.
        name: What reports call it.
        bundle_sha256: What identifies it in keys.
    """

    kind: str
    name: str
    bundle_sha256: str

    @property
    def id(self) -> str:
        """The subject's name everywhere: `target:<kind>:<name>`."""
        return f"target:{self.kind}:{self.name}"

    @property
    def prompt_id(self) -> None:
        """A target has no prompt."""
        return

    @property
    def model(self) -> ModelChoice:
        """What stands for a model in recordings and reports."""
        return ModelChoice(ref=self.id, params={})


AnySubject = Subject | TargetSubject


class AssertionSpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The fields every assertion has. Each kind extends it with its own.

    Args:
        id: Unique in the suite.
        kind: What is checked.
        severity: Whether a failed check fails its row.
        negate: Pass when it would fail, and the other way round.
    """

    id: Identifier
    kind: str
    severity: Severity = Severity.FAIL
    negate: bool = False


class LoadedAssertion(Struct, frozen=True):
    """An assertion as written, typed by its kind, and where it stands."""

    spec: AssertionSpec
    where: str


class GroupSpec(AssertionSpec, frozen=True, kw_only=True):
    """The fields of an assertion that is made of others.

    Args:
        of: The assertions, 1 to 20. They may do without `id`, and have no `severity`. Once the
            suite is loaded, each is a `LoadedAssertion`.
    """

    of: list[Json]


RuleName = Literal["S005", "S010", "S011", "S012", "S014"]
"""A pattern rule of the safety scan of datasets."""


class AllowedRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of the safety scan that is let through.

    Args:
        rule: Its name.
        reason: Why; shown in the report.
    """

    rule: RuleName
    reason: str


class AllowedPii(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Personal data that is let through.

    Args:
        reason: Why; shown in the report.
    """

    reason: str


class Scenario(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """One of several things that are tried with what was built for a case.

    Args:
        name: Unique in the case.
        inputs: Over those of the case, name by name.
        expected: What assertions compare with, instead of what the case says.
        assertions: Ids of the suite's assertions that are checked; all when it names none.
        resources: What it uses alone: rows that name the same never run at the same time.
    """

    name: str
    inputs: JsonObject = {}
    expected: Json | UnsetType = UNSET
    assertions: list[str] | None = None
    resources: list[str] = []


class Case(Struct, frozen=True, gc=False):
    """One row of a dataset, its inputs typed and its defaults not yet filled in.

    `checked` holds the ids of the assertions that a scenario names, None for all of them.
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
    checked: list[str] | None = None

    def in_scenario(self, scenario: Scenario) -> Case:
        """The case as one of its scenarios has it."""
        return replace(
            self,
            inputs={**self.inputs, **scenario.inputs},
            expected=self.expected if scenario.expected is UNSET else scenario.expected,
            checked=scenario.assertions,
            scenarios=[],
            expectations=[],
        )

    def stating(self, text: str) -> Case:
        """The case for who judges one statement, which is told it as what is expected."""
        return replace(self, expected=text, expectations=[], checked=None)


class Label(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One line of a labels file: what somebody says of one answer.

    Args:
        case: The case that was answered.
        subject: Who answered; may be left out when the suite has one subject.
        repeat: Which repeat of the row.
        assertion: The judged assertion that is labelled.
        verdict: What the judge ought to say.
        answer_sha256: Over the UTF-8 text that was judged.
        by: Whose label it is.
        note: For people.
    """

    case: str
    subject: str | None = None
    repeat: Annotated[int, Meta(ge=1)] = 1
    assertion: str
    verdict: Literal["pass", "fail"]
    answer_sha256: Sha256
    by: str | None = None
    note: str | None = None


class JudgeSetup(Struct, frozen=True, kw_only=True):
    """Who judges the answers of a suite, as far as the suite says.

    Args:
        model: The model that judges; None for that of each rubric.
        panel: Several models, one run of each, instead of `model` and `runs`.
        runs: How often one model judges each answer.
        params: Sent to the judges, over those of the rubric.
        skip_after_failure: Whether an answer whose row has failed already is not judged.
    """

    model: str | None = None
    panel: tuple[str, ...] = ()
    runs: int = 3
    params: JsonObject = {}
    skip_after_failure: bool = False


class ExpectationSetup(Struct, frozen=True):
    """Who judges what is expected of builds: the rubric, how often, and the place that says so."""

    rubric: str
    runs: int | None
    where: str


class AtKLimit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a pass@k or pass^k must reach: at least `min`, a share of 1, for this `k`."""

    k: Annotated[int, Meta(ge=1)]
    min: float


class AgreementLimit(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What the agreement of judges with people must reach, as the lower bounds of 95% intervals.

    Args:
        min: The share of answers on which both say the same.
        min_tpr: Of the answers that people pass, the share that the judges pass.
        min_tnr: Of the answers that people fail, the share that the judges fail.
    """

    min: float | None = None
    min_tpr: float | None = None
    min_tnr: float | None = None

    @property
    def given(self) -> dict[str, float]:
        """Those limits that there are, by the names they have in a suite."""
        limits = {"min": self.min, "minTpr": self.min_tpr, "minTnr": self.min_tnr}
        return {name: limit for name, limit in limits.items() if limit is not None}


class Thresholds(Struct, frozen=True, kw_only=True):
    """What a run must reach. Rates are shares of 1, the cost is in USD."""

    pass_rate: float = 1.0
    max_error_rate: float = 0.0
    min_measured: float = 1.0
    max_cost_usd: float | None = None
    pass_at_k: AtKLimit | None = None
    pass_hat_k: AtKLimit | None = None
    judge_agreement: AgreementLimit | None = None


class Request(Struct, frozen=True, kw_only=True):
    """One call to a model, ready to be sent: the messages are rendered, nothing is a template."""

    model: ModelChoice
    messages: tuple[Message, ...]
    output_schema: JsonObject | None
    tools: tuple[ToolSpec, ...] = ()


class Call(Struct, frozen=True, gc=False):
    """What a row asks for: its inputs by their digest, and the take; the rest are labels."""

    case: str
    inputs_sha256: str
    take: int
    scenario: str | None = None
