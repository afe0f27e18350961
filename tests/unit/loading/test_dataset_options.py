import pytest

from proctor.errors import DatasetError
from proctor.loading.dataset_options import DatasetFile
from proctor.loading.prompts import Prompts
from proctor.loading.suites import load_suite
from proctor.records import AllowedPii, AllowedRule

EQUALS = "{id: right, kind: equals, field: label}"
LATENCY = "{id: quick, kind: latency, max: 9}"


@pytest.fixture
def load(tmp_path):
    """Load a suite with these lines under `dataset` and these assertions."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "evals").mkdir()
    (tmp_path / "prompts/reply.prompt.yaml").write_text("model: {ref: a/b}\nuser: Hi\n")

    def load_text(dataset, *assertions):
        lines = "".join(f"  - {one}\n" for one in assertions or (EQUALS,))
        text = f"prompt: reply\nassertions:\n{lines}dataset:\n  path: d/c.csv\n{dataset}"
        (tmp_path / "evals/quiz.eval.yaml").write_text(text)
        prompts = Prompts(tmp_path, "prompts", "acme")
        return load_suite(tmp_path, "evals/quiz.eval.yaml", prompts)

    return load_text


def test_everything_that_can_be_said_of_a_dataset(load):
    definition, problems = load(
        '  delimiter: "\\t"\n'
        "  allow:\n  - {rule: S005, reason: known attacks}\n  - {rule: S012, reason: logs}\n"
        "  allowPii: {reason: made up by us}\n"
    )
    assert problems == []
    assert definition.dataset == DatasetFile(
        path="evals/d/c.csv",
        delimiter="\t",
        allow=[
            AllowedRule(rule="S005", reason="known attacks"),
            AllowedRule(rule="S012", reason="logs"),
        ],
        allow_pii=AllowedPii(reason="made up by us"),
    )


@pytest.mark.parametrize(
    ("dataset", "line", "problem"),
    [
        ("  delimiter: ''\n", 6, "`delimiter` must be one character"),
        ("  delimiter: ', '\n", 6, "`delimiter` must be one character"),
        ("  delimiter: '\"'\n", 6, "`delimiter` must be one character"),
        ('  delimiter: "\\n"\n', 6, "`delimiter` must be one character"),
        ("  delimiter: 7\n", 6, "`dataset.delimiter`: expected `str | null`, got `int`"),
        ("  allow: [{rule: S005}]\n", 6, "the key `reason` is missing in `dataset.allow[0]`"),
        (
            "  allow:\n  - {rule: S006, reason: x}\n",
            7,
            "`dataset.allow[0].rule`: `S006` is not one of S005, S010, S011, S012, S014",
        ),
        (
            "  allow:\n  - {rule: email, reason: x}\n",
            7,
            "`dataset.allow[0].rule`: `email` is not one of S005, S010, S011, S012, S014",
        ),
        ("  allow: S005\n", 6, "`dataset.allow`: expected `array`, got `str`"),
        ("  allow:\n  - {rule: S005, reason: ' '}\n", 7, "`reason` must say why S005 is let"),
        (
            "  allow:\n  - {rule: S005, reason: x}\n  - {rule: S005, reason: y}\n",
            8,
            "the rule `S005` is let through twice",
        ),
        ("  allowPii: {}\n", 6, "the key `reason` is missing in `dataset.allowPii`"),
        ("  allowPii: true\n", 6, "`dataset.allowPii` must be a mapping, not a boolean"),
        ("  allowPii: {reason: ''}\n", 6, "`reason` must say why personal data is let through"),
    ],
)
def test_what_cannot_be_said_is_told_with_its_line(load, dataset, line, problem):
    _, (told,) = load(dataset)
    assert told.message.startswith(problem)
    assert told.where == f"evals/quiz.eval.yaml:{line}"
    assert told.code == "P6201"


def test_only_a_table_has_a_delimiter(load, tmp_path):
    load("")
    suite = tmp_path / "evals/quiz.eval.yaml"
    suite.write_text(f"{suite.read_text()}  delimiter: ';'\n".replace("c.csv", "c.jsonl"))
    _, (told,) = load_suite(tmp_path, "evals/quiz.eval.yaml", Prompts(tmp_path, "prompts", "acme"))
    assert told.message == "`delimiter` goes with a dataset in `.csv` only"


ALLOW = "  allow: [{rule: S005, reason: known attacks}]\n"


@pytest.mark.parametrize(
    "assertions",
    [
        (LATENCY,),
        ("{id: cheap, kind: cost, max: 9}",),
        ("{id: short, kind: length, unit: tokens, max: 9}",),
        (LATENCY, EQUALS.replace("}", ", severity: warn}")),
        ("{id: both, kind: all-of, of: [{kind: latency, max: 9}, {kind: cost, max: 9}]}",),
        ("{id: one, kind: any-of, of: [{kind: latency, max: 9}, {kind: contains, value: x}]}",),
        ("{id: in, kind: any-of, of: [{kind: any-of, of: [{kind: cost, max: 1}]}]}",),
    ],
)
def test_a_rule_is_let_through_only_where_something_tells_whether_it_mattered(load, assertions):
    _, (told,) = load(ALLOW, *assertions)
    assert (told.code, told.where) == (
        "P6213",
        f"evals/quiz.eval.yaml:{5 + len(assertions)}",
    )
    assert not isinstance(told, DatasetError)


@pytest.mark.parametrize(
    "assertions",
    [
        (LATENCY, EQUALS),
        ("{id: short, kind: length, max: 9}",),
        ("{id: calls, kind: tool-calls, calls: []}",),
        ("{id: own, kind: python, function: 'checks:f'}",),
        ("{id: all, kind: all-of, of: [{kind: contains, value: x}, {kind: regex, pattern: y}]}",),
        ("{id: not, kind: any-of, negate: true, of: [{kind: contains, value: x}]}",),
    ],
)
def test_an_assertion_on_the_answer_is_enough(load, assertions):
    assert load(ALLOW, *assertions)[1] == []


def test_personal_data_needs_no_such_assertion(load):
    assert load("  allowPii: {reason: made up}\n", LATENCY)[1] == []
