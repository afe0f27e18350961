from typing import ClassVar

import pytest

from proctor.errors import ManyProblems, UsageError, raise_all
from proctor.loading import assertions
from proctor.loading.prompts import Prompts
from proctor.loading.suites import (
    duplicate_names,
    find_suites,
    load_suite,
    suite_name,
)
from proctor.records import AssertionSpec, AtKLimit, JudgeSetup, Severity, Thresholds
from proctor.registry import Registry

PROMPT = "model: {ref: local/tiny, maxTokens: 16, params: {temperature: 0}}\nuser: Hi\n"
SUITE = """\
prompt: reply
dataset: datasets/cases.jsonl
assertions:
  - {id: right, kind: same, field: label}
"""


class SameSpec(AssertionSpec, frozen=True, kw_only=True):
    field: str | None = None
    pattern_file: str | None = None


class Same:
    Spec: ClassVar = SameSpec


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    """Two kinds of assertion, so that these tests need none of the real ones."""
    entries = {"same": f"{__name__}:Same", "similar": f"{__name__}:Same"}
    monkeypatch.setattr(assertions, "assertion_kinds", Registry("assertion kind", entries))


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def load(tmp_path):
    """Write one suite beside the prompt `reply` and load it."""
    write(tmp_path, "prompts/reply.prompt.yaml", PROMPT)
    write(tmp_path, "prompts/brief.prompt.yaml", "user: Hi, in short\n")

    def load_text(text, path="evals/quiz.eval.yaml"):
        write(tmp_path, path, text)
        prompts = Prompts(tmp_path, "prompts", "acme")
        definition, problems = load_suite(tmp_path, path, prompts)
        return definition, [*prompts.problems, *problems]

    return load_text


@pytest.fixture
def good(load):
    """Load a suite that must have no problems."""

    def load_good(text, path="evals/quiz.eval.yaml"):
        definition, problems = load(text, path)
        assert [problem.message for problem in problems] == []
        return definition

    return load_good


@pytest.fixture
def bad(load):
    """`line: code: message` of each problem of a suite."""

    def load_bad(text, path="evals/quiz.eval.yaml"):
        _, problems = load(text, path)
        return [
            f"{one.where.removeprefix(path).removeprefix(':')}: {one.code}: {one.message}"
            for one in problems
        ]

    return load_bad


def hints(problems):
    return [problem.hint for problem in problems]


# What a suite holds


def test_a_suite_as_it_is_read(good):
    suite = good(
        "$schema: .schema/suite.json\ndescription: A quiz\n"
        + SUITE
        + "  - {id: kind, kind: similar, severity: warn, negate: true, patternFile: x.txt}\n"
        "thresholds: {passRate: 0.9, maxErrorRate: 0.1, minMeasured: 0.5, maxCostUsd: 0}\n"
        "tiers: [smoke, full]\n"
    )
    assert (suite.name, suite.path, suite.folder) == ("quiz", "evals/quiz.eval.yaml", "evals")
    assert (suite.dataset.path, suite.dataset_where) == (
        "evals/datasets/cases.jsonl",
        "evals/quiz.eval.yaml:4",
    )
    assert suite.tiers == ("smoke", "full")
    assert suite.thresholds == Thresholds(
        pass_rate=0.9, max_error_rate=0.1, min_measured=0.5, max_cost_usd=0
    )
    assert [(one.spec, one.where) for one in suite.assertions] == [
        (SameSpec(id="right", kind="same", field="label"), "evals/quiz.eval.yaml:6"),
        (
            SameSpec(
                id="kind",
                kind="similar",
                severity=Severity.WARN,
                negate=True,
                pattern_file="x.txt",
            ),
            "evals/quiz.eval.yaml:7",
        ),
    ]
    assert [one.subject.id for one in suite.subjects] == ["reply@local/tiny"]


def test_a_suite_says_little_and_the_rest_has_defaults(good):
    suite = good(SUITE)
    assert suite.tiers == ("full",)
    assert suite.thresholds == Thresholds(pass_rate=1, max_error_rate=0, min_measured=1)
    assert suite.thresholds.max_cost_usd is None
    assert suite.subjects[0].subject.model.params == {"maxTokens": 16, "temperature": 0}


@pytest.mark.parametrize("ending", [".eval.yaml", ".eval.yml", ".eval.json"])
def test_the_name_of_a_suite_is_that_of_its_file(good, ending):
    text = SUITE
    if ending == ".eval.json":
        text = (
            '{"prompt": "reply", "dataset": "datasets/cases.jsonl",\n'
            ' "assertions": [{"id": "right", "kind": "same", "field": "label"}]}'
        )
    suite = good(text, f"evals/below/quiz-2{ending}")
    assert (suite.name, suite.dataset.path) == ("quiz-2", "evals/below/datasets/cases.jsonl")
    assert suite.assertions[0].spec == SameSpec(id="right", kind="same", field="label")


@pytest.mark.parametrize("name", ["quiz", "9", "2-quizzes", "a--b-"])
def test_a_suite_name_may_start_with_a_letter_or_digit(good, name):
    assert good(SUITE, f"evals/{name}.eval.yaml").name == name


@pytest.mark.parametrize("name", ["Quiz", "my_quiz", "-quiz", "quiz.v2", "prüfung", "quiz 2"])
def test_a_suite_name_is_lower_case_letters_digits_and_dashes(bad, name):
    assert bad(SUITE, f"evals/{name}.eval.yaml") == [f"1: P6201: `{name}` is not a suite name"]


# Keys


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        (SUITE + "treshold: {}\n", 5, "unknown key `treshold`", "did you mean `thresholds`?"),
        (
            SUITE + "judge: {run: 5}\n",
            5,
            "unknown key `run` in `judge`",
            "did you mean `runs`?",
        ),
        (SUITE + "repeat: 3\n", 5, "unknown key `repeat`", "did you mean `repeats`?"),
        (
            SUITE + "thresholds:\n  pass_rate: 1\n",
            6,
            "unknown key `pass_rate` in `thresholds`",
            "did you mean `passRate`?",
        ),
        (
            SUITE + "  - id: other\n    kind: same\n    feild: label\n",
            7,
            "unknown key `feild` in `assertions[1]`",
            "did you mean `field`?",
        ),
        (
            SUITE + "models:\n  - ref: local/other\n    parms: {}\n",
            7,
            "unknown key `parms` in `models[0]`",
            "did you mean `params`?",
        ),
        (
            SUITE.replace("dataset: ", "dataset:\n  file: "),
            3,
            "unknown key `file` in `dataset`",
            "known keys: allow, allowPii, delimiter, options, path, source",
        ),
    ],
)
def test_an_unknown_key_is_told_with_its_line_and_the_likely_one(load, text, line, message, hint):
    problem = load(text)[1][0]
    assert (problem.code, problem.message) == ("P6201", message)
    assert problem.where == f"evals/quiz.eval.yaml:{line}"
    if hint is not None:
        assert problem.hint == hint
    else:
        assert problem.hint.startswith("known keys: $schema, assertions, dataset, ")


def test_assertions_indented_under_another_key_are_told_where_they_belong(load):
    text = """\
prompt: reply
dataset:
  path: datasets/cases.jsonl
  assertions:
    - {id: right, kind: same}
"""
    definition, problems = load(text)
    assert definition is None
    assert [(one.where, one.message, one.hint) for one in problems] == [
        (
            "evals/quiz.eval.yaml:4",
            "unknown key `assertions` in `dataset`",
            "`assertions` belongs at the top of the file",
        ),
        ("evals/quiz.eval.yaml:1", "the key `assertions` is missing", None),
    ]


@pytest.mark.parametrize("key", ["dataset", "assertions"])
def test_a_suite_needs_a_dataset_and_assertions(bad, key):
    lines = [line for line in SUITE.splitlines(keepends=True) if not line.startswith(key)]
    if key == "assertions":
        lines.pop()
    assert bad("".join(lines)) == [f"1: P6201: the key `{key}` is missing"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (SUITE + "tiers: full\n", "tiers"),
        (SUITE + "tiers: []\n", "tiers"),
        (SUITE + "tiers: [1]\n", "tiers[0]"),
        (SUITE + "description: [a]\n", "description"),
        (SUITE + "thresholds: 1\n", "thresholds"),
        (SUITE + "thresholds: {passRate: '1'}\n", "thresholds.passRate"),
        (SUITE + "thresholds: {passRate: true}\n", "thresholds.passRate"),
        (SUITE + "thresholds: {passRate: 1" + "0" * 400 + "}\n", "thresholds.passRate"),
        (SUITE + "thresholds: {passRate: }\n", "thresholds.passRate"),
        (SUITE + "repeats: 0\n", "repeats"),
        (SUITE + "repeats: 1001\n", "repeats"),
        (SUITE + "repeats: 2.5\n", "repeats"),
        (SUITE + "repeats: true\n", "repeats"),
        (SUITE + "repeats: '3'\n", "repeats"),
        (SUITE + "repeats:\n", "repeats"),
        (SUITE + "thresholds: {passAtK: 1}\n", "thresholds.passAtK"),
        (SUITE + "thresholds: {passAtK: {k: 0, min: 1}}\n", "thresholds.passAtK.k"),
        (SUITE + "thresholds: {passHatK: {k: 1.5, min: 1}}\n", "thresholds.passHatK.k"),
        (SUITE + "thresholds: {passHatK: {k: 1, min: '1'}}\n", "thresholds.passHatK.min"),
        (SUITE + "thresholds: {passHatK: {k: 1}}\n", "thresholds.passHatK"),
        (SUITE + "models: local/tiny\n", "models"),
        (SUITE + "models: []\n", "models"),
        (SUITE + "models: [7]\n", "models[0]"),
        (SUITE + "models: [{params: {}}]\n", "models[0]"),
        (SUITE + "models: [{ref: a/b, params: []}]\n", "models[0].params"),
        (SUITE.replace("datasets/cases.jsonl", "[a.jsonl]"), "dataset"),
        (SUITE.replace("datasets/cases.jsonl", "{}"), "dataset"),
        (SUITE.replace("datasets/cases.jsonl", "{path: 7}"), "dataset.path"),
        (SUITE.replace("prompt: reply", "prompt: [reply]"), "prompt"),
        (SUITE.replace("prompt: reply", "prompts: reply"), "prompts"),
        (SUITE.replace("prompt: reply", "prompts: []"), "prompts"),
        (SUITE.replace("prompt: reply", "prompts: [7]"), "prompts[0]"),
        (SUITE.replace("id: right", "id: 7"), "assertions[0].id"),
        (SUITE.replace("id: right", "id: ''"), "assertions[0].id"),
        (SUITE.replace("id: right", "id: a b"), "assertions[0].id"),
        (SUITE.replace("field: label", "severity: error"), "assertions[0].severity"),
        (SUITE.replace("field: label", "negate: 'no'"), "assertions[0].negate"),
        (SUITE.replace("field: label", "field: [a]"), "assertions[0].field"),
        (SUITE.replace("id: right, ", ""), "assertions[0]"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_its_path(bad, text, path):
    (problem,) = bad(text)
    assert ": P6201: " in problem
    assert f"`{path}`" in problem


@pytest.mark.parametrize("assertions", ["{id: a, kind: same}", "same", "null", "7"])
def test_assertions_that_are_no_list_are_refused(bad, assertions):
    (problem,) = bad(f"prompt: reply\ndataset: a.jsonl\nassertions: {assertions}\n")
    assert problem.startswith("3: P6201: `assertions`")


# Assertions


@pytest.mark.parametrize(
    ("assertion", "message", "hint"),
    [
        ("{id: a, kind: smae}", "there is no assertion kind `smae`", "did you mean `same`?"),
        ("{id: a, kind: zzz}", "there is no assertion kind `zzz`", "kinds: same, similar"),
        ("{id: a}", "an assertion needs a `kind`", "kinds: same, similar"),
        ("{id: a, kind: [same]}", "an assertion needs a `kind`", "kinds: same, similar"),
        (
            "same",
            "an assertion must be a mapping with `id` and `kind`, not a string",
            None,
        ),
        ("null", "an assertion must be a mapping with `id` and `kind`, not null", None),
    ],
)
def test_an_assertion_that_cannot_be_read(load, assertion, message, hint):
    (problem,) = load(f"{SUITE}  - {assertion}\n")[1]
    assert (problem.where, problem.code) == ("evals/quiz.eval.yaml:5", "P6201")
    assert (problem.message, problem.hint) == (message, hint)


def test_a_suite_without_assertions_can_never_fail(bad):
    assert bad("prompt: reply\ndataset: a.jsonl\nassertions: []\n") == [
        "3: P6202: a suite without assertions can never fail"
    ]


def test_a_suite_of_warnings_only_can_never_fail(bad):
    text = SUITE.replace("id: right", "severity: warn, id: right")
    assert bad(text + "  - {id: b, kind: similar, severity: warn}\n") == [
        "3: P6202: every assertion is `severity: warn`, so the suite can never fail"
    ]


def test_a_broken_assertion_is_not_taken_for_one_that_is_not_there(bad):
    text = SUITE + "  - {id: b, kind: similar, severity: warn}\n"
    assert bad(text.replace("kind: same", "kind: sane")) == [
        "4: P6201: there is no assertion kind `sane`"
    ]


def test_twenty_assertions_are_enough(good, bad):
    def suite(count):
        more = "".join(f"  - {{id: a{n}, kind: same}}\n" for n in range(count - 1))
        return SUITE + more

    assert len(good(suite(20)).assertions) == 20
    assert bad(suite(21)) == ["3: P6201: 21 assertions are more than 20"]


def test_an_assertion_id_is_used_once(bad):
    text = SUITE + "  - {id: other, kind: same}\n  - {id: right, kind: similar}\n"
    assert bad(text) == ["6: P6201: two assertions have the id `right`"]


# Prompts and models


def test_every_prompt_meets_every_model(good):
    suite = good(
        SUITE.replace("prompt: reply", "prompts: [brief, acme/reply]")
        + "models: [local/other, {ref: openai/gpt-4o, params: {temperature: 1, seed: 3}}]\n"
    )
    assert [one.subject.id for one in suite.subjects] == [
        "brief@local/other",
        "brief@openai/gpt-4o",
        "reply@local/other",
        "reply@openai/gpt-4o",
    ]
    assert [one.subject.model.params for one in suite.subjects] == [
        {},
        {"temperature": 1, "seed": 3},
        {"maxTokens": 16, "temperature": 0},
        {"maxTokens": 16, "temperature": 1, "seed": 3},
    ]
    assert suite.subjects[2].prompt.prompt is suite.subjects[2].subject.prompt


def test_params_of_a_suite_may_override_the_length_of_answers(good):
    suite = good(SUITE + "models: [{ref: local/tiny, params: {maxTokens: 400}}]\n")
    assert suite.subjects[0].subject.model.params == {"maxTokens": 400, "temperature": 0}


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "true", "'400'", "null", "[400]"])
def test_a_length_of_answers_is_a_whole_number(bad, limit):
    text = f"{SUITE}models:\n  - ref: local/tiny\n    params:\n      maxTokens: {limit}\n"
    assert bad(text) == ["8: P6201: `maxTokens` must be a whole number of 1 or more"]


@pytest.mark.parametrize(
    ("replaced", "line"),
    [
        ("", 1),
        ("prompt: reply\nprompts: [brief]\n", 2),
        ("prompt: reply\ntarget: {python: 'agents:Agent'}\n", 2),
        ("target: {python: 'agents:Agent'}\noutputs: {a: [suites.txt]}\n", 2),
    ],
)
def test_a_suite_has_one_that_sits_the_exam(bad, replaced, line):
    text = SUITE.replace("prompt: reply\n", replaced)
    said = "a suite needs exactly one of `prompt`, `prompts`, `target` and `outputs`"
    assert bad(text)[0] == f"{line}: P6201: {said}"


def test_eight_prompts_are_enough(bad):
    text = SUITE.replace("prompt: reply", f"prompts: [{', '.join('abcdefghi')}]")
    problems = bad(text)
    assert sum("P6201: `prompts`" in problem for problem in problems) == 1
    assert sum("P6203" in problem for problem in problems) == 9


def test_eight_models_are_enough(good, bad):
    def suite(count):
        return f"{SUITE}models: [{', '.join(f'local/m{n}' for n in range(count))}]\n"

    assert len(good(suite(8)).subjects) == 8
    assert len(bad(suite(9))) == 1


@pytest.mark.parametrize("prompts", ["[reply, brief, reply]", "[reply, brief, acme/reply]"])
def test_a_prompt_is_named_once(bad, prompts):
    text = SUITE.replace("prompt: reply", f"prompts: {prompts}") + "models: [local/tiny]\n"
    assert bad(text) == ["1: P6201: the prompt `reply` is named twice"]


def test_a_model_is_named_once(bad):
    text = f"{SUITE}models:\n  - local/tiny\n  - local/other\n  - ref: local/tiny\n"
    assert bad(text) == ["8: P6201: the model `local/tiny` is named twice"]


@pytest.mark.parametrize(
    "model", ["gpt-4o", "{ref: gpt-4o}", "Local/tiny", "local/", "'local/a b'"]
)
def test_a_model_is_named_by_provider_and_name(bad, model):
    (problem,) = bad(f"{SUITE}models: [{model}]\n")
    assert problem.startswith("5: P6201: `")
    assert problem.endswith("` is not a model reference")


def test_a_prompt_without_a_model_needs_one_from_the_suite(good, bad):
    text = SUITE.replace("prompt: reply", "prompts:\n  - reply\n  - brief")
    assert bad(text) == ["3: P6201: the prompt `brief` has no model, and the suite names none"]
    assert len(good(text + "models: [local/tiny]\n").subjects) == 2


def test_an_unknown_prompt_is_told_with_its_line(bad):
    text = SUITE.replace("prompt: reply", "prompts:\n  - reply\n  - replies\n  - other/reply")
    assert bad(text) == [
        "3: P6203: there is no prompt `replies` in project `acme`",
        "4: P6203: there is no prompt `other/reply` in project `acme`",
    ]


# Thresholds


@pytest.mark.parametrize(
    ("name", "fitting", "outside"),
    [
        ("passRate", ["1", "0.001", "0.5"], ["0", "1.001", "-1", "2", "100"]),
        ("minMeasured", ["1", "0.001"], ["0", "1.1", "-0.5"]),
        ("maxErrorRate", ["0", "0.999"], ["1", "-0.1", "2"]),
        ("maxCostUsd", ["0", "0.1", "1000000"], ["-0.01", "-1"]),
    ],
)
def test_a_threshold_has_a_range(good, bad, name, fitting, outside):
    for value in fitting:
        good(f"{SUITE}thresholds: {{{name}: {value}}}\n")
    for value in outside:
        (problem,) = bad(f"{SUITE}thresholds:\n  {name}: {value}\n")
        assert problem.startswith(f"6: P6202: the threshold `{name}` must be ")


@pytest.mark.parametrize("value", [".nan", ".inf", "1e999"])
def test_a_threshold_is_a_finite_number(bad, value):
    (problem,) = bad(f"{SUITE}thresholds: {{maxCostUsd: {value}}}\n")
    assert problem.startswith("5: P6201: `evals/quiz.eval.yaml` has ")


# Repeats


@pytest.mark.parametrize("repeats", [1, 2, 1_000])
def test_rows_are_repeated_as_often_as_the_suite_says(good, repeats):
    assert good(SUITE).repeats == 1
    assert good(f"{SUITE}repeats: {repeats}\n").repeats == repeats


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_threshold_at_k_has_a_k_of_at_most_the_repeats(good, k):
    suite = good(
        f"{SUITE}repeats: 3\nthresholds:\n"
        f"  passAtK: {{k: {k}, min: 1}}\n  passHatK: {{k: {k}, min: 0.001}}\n"
    )
    assert suite.thresholds.pass_at_k == AtKLimit(k=k, min=1)
    assert suite.thresholds.pass_hat_k == AtKLimit(k=k, min=0.001)


def test_a_k_of_1_needs_no_repeats(good):
    suite = good(f"{SUITE}thresholds: {{passAtK: {{k: 1, min: 0.5}}}}\n")
    assert suite.thresholds.pass_at_k == AtKLimit(k=1, min=0.5)
    assert suite.thresholds.pass_hat_k is None


@pytest.mark.parametrize("name", ["passAtK", "passHatK"])
def test_a_larger_k_than_there_are_repeats_is_refused(load, name):
    _, (problem,) = load(f"{SUITE}repeats: 3\nthresholds:\n  {name}:\n    min: 1\n    k: 4\n")
    assert (problem.where, problem.code) == ("evals/quiz.eval.yaml:9", "P6201")
    assert problem.message == f"the threshold `{name}` asks for k = 4, but `repeats` is 3"
    assert problem.hint == "write `repeats: 4` into the suite, or a smaller `k`"


@pytest.mark.parametrize("least", ["0", "1.001", "-1"])
@pytest.mark.parametrize("name", ["passAtK", "passHatK"])
def test_a_threshold_at_k_has_a_range(bad, name, least):
    (problem,) = bad(f"{SUITE}thresholds:\n  {name}: {{k: 1, min: {least}}}\n")
    assert problem == f"6: P6202: the threshold `{name}.min` must be above 0, at most 1"


def test_the_command_line_decides_over_the_suite(tmp_path, good):
    good(f"{SUITE}repeats: 3\nthresholds: {{passHatK: {{k: 3, min: 0.5}}}}\n")
    prompts = Prompts(tmp_path, "prompts", "acme")
    for repeats, problems in ((3, 0), (5, 0), (2, 1)):
        suite, found = load_suite(tmp_path, "evals/quiz.eval.yaml", prompts, repeats=repeats)
        assert (suite.repeats, len(found)) == (repeats, problems)
    (problem,) = found
    assert (problem.where, problem.code) == ("evals/quiz.eval.yaml:6", "P6201")
    assert problem.message == "the threshold `passHatK` asks for k = 3, but `--repeats` is 2"
    assert problem.hint == "ask for 3 repeats or more"


def test_the_command_line_does_not_mend_a_suite(tmp_path, bad):
    text = f"{SUITE}thresholds: {{passAtK: {{k: 2, min: 1}}}}\n"
    said = bad(text)
    prompts = Prompts(tmp_path, "prompts", "acme")
    _, (problem,) = load_suite(tmp_path, "evals/quiz.eval.yaml", prompts, repeats=9)
    assert said == [f"5: P6201: {problem.message}"]


# The dataset


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("datasets/cases.jsonl", "evals/datasets/cases.jsonl"),
        ("./cases.jsonl", "evals/cases.jsonl"),
        ("../shared/cases.jsonl", "shared/cases.jsonl"),
        ("{path: datasets/cases.jsonl}", "evals/datasets/cases.jsonl"),
    ],
)
def test_a_dataset_is_named_relative_to_the_suite(good, written, path):
    assert good(SUITE.replace("datasets/cases.jsonl", written)).dataset.path == path


@pytest.mark.parametrize(
    "written",
    [
        "/etc/passwd",
        "../../etc/passwd",
        "datasets/../../../x.jsonl",
        "file:///etc/passwd",
        "file://../../x",
        "C:/x.jsonl",
        "'\\\\server\\x.jsonl'",
        "'..\\..\\x.jsonl'",
        '"a\\0b.jsonl"',
        "''",
        "..",
    ],
)
def test_a_dataset_outside_the_project_is_refused(load, written):
    definition, (problem,) = load(SUITE.replace("datasets/cases.jsonl", written))
    assert (problem.code, problem.where) == ("P6805", "evals/quiz.eval.yaml:2")
    assert definition.dataset.path == ""


# Files


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", "P6201", "`evals/quiz.eval.yaml` is empty"),
        (b"\n# nothing\n", "P6201", "`evals/quiz.eval.yaml` is empty"),
        (b"prompt: [\n", "P6201", "`evals/quiz.eval.yaml` is not YAML"),
        (b"prompt: a\nprompt: b\n", "P6201", "`evals/quiz.eval.yaml` has the key `prompt` twice"),
        (b"- prompt: a\n", "P6201", "the file must be a mapping, not a list"),
        (b"just text\n", "P6201", "the file must be a mapping, not a string"),
        (SUITE.encode("utf-16"), "P6201", "`evals/quiz.eval.yaml` is UTF-16"),
        (b"# \xe9\n", "P6201", "`evals/quiz.eval.yaml` is not UTF-8"),
        (b"# " + b"x" * 2**20, "P6805", "`evals/quiz.eval.yaml` is larger than"),
    ],
)
def test_a_file_that_is_no_suite_is_a_problem_and_no_crash(load, content, code, message):
    definition, (problem,) = load(content)
    assert definition is None
    assert problem.code == code
    assert problem.message.startswith(message)


def test_half_a_character_in_a_json_suite_is_refused_where_it_names_something(bad):
    half = "\\ud800"
    text = (
        f'{{"prompt": "{half}",\n"dataset": "{half}.jsonl",\n"models": ["local/{half}"],\n'
        f'"assertions": [{{"id": "{half}", "kind": "same"}}]}}'
    )
    assert [problem[:8] for problem in bad(text, "evals/quiz.eval.json")] == [
        "1: P6203",
        "4: P6201",
        "2: P6805",
        "3: P6201",
    ]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}\n{}", b'{"prompt": 1, "prompt": 2}'])
def test_a_json_file_that_is_no_suite_is_a_problem_and_no_crash(load, content):
    definition, problems = load(content, "evals/quiz.eval.json")
    assert definition is None
    assert {problem.code for problem in problems} == {"P6201"}


def test_a_suite_with_a_byte_order_mark_and_dos_line_ends_is_read(good):
    text = "\ufeff" + SUITE.replace("\n", "\r\n")
    assert good(text).assertions[0].where == "evals/quiz.eval.yaml:4"


def test_a_folder_or_link_in_place_of_a_suite_is_refused(tmp_path):
    (tmp_path / "evals/folder.eval.yaml").mkdir(parents=True)
    write(tmp_path, "elsewhere.yaml", SUITE)
    (tmp_path / "evals/link.eval.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    paths = find_suites(tmp_path, "evals", [])
    assert paths == ["evals/folder.eval.yaml", "evals/link.eval.yaml"]
    for path in paths:
        definition, (problem,) = load_suite(tmp_path, path, Prompts(tmp_path, "prompts", "acme"))
        assert definition is None
        assert (problem.code, problem.where or path) == ("P6805", path)


def test_every_problem_of_every_file_is_told_at_once(tmp_path):
    write(tmp_path, "prompts/broken.prompt.yaml", "user: '{{x}}'\nusr: Hi\n")
    write(tmp_path, "prompts/half.prompt.yaml", "user: '{{x}}'\n")
    write(
        tmp_path,
        "evals/a.eval.yaml",
        "prompt: broken\ndataset: /x.jsonl\nassertions: []\nthresholds: {passRate: 0}\n",
    )
    write(
        tmp_path,
        "evals/b.eval.yaml",
        "prompts: [half, gone]\ndatset: x.jsonl\nassertions:\n  - {id: a, kind: sane}\n",
    )
    write(tmp_path, "evals/c.eval.json", "{")
    prompts = Prompts(tmp_path, "prompts", "acme")
    problems = []
    for path in find_suites(tmp_path, "evals", []):
        problems += load_suite(tmp_path, path, prompts)[1]
    told = [(one.where, one.code) for one in [*prompts.problems, *problems]]
    assert told == [
        ("prompts/broken.prompt.yaml:2", "P6204"),
        ("prompts/half.prompt.yaml:1", "P6205"),
        ("evals/b.eval.yaml:1", "P6203"),
        ("evals/a.eval.yaml:3", "P6202"),
        ("evals/a.eval.yaml:2", "P6805"),
        ("evals/a.eval.yaml:4", "P6202"),
        ("evals/b.eval.yaml:2", "P6201"),
        ("evals/b.eval.yaml:1", "P6201"),
        ("evals/b.eval.yaml:4", "P6201"),
        ("evals/c.eval.json:1", "P6201"),
    ]
    with pytest.raises(ManyProblems) as caught:
        raise_all(problems)
    assert list(caught.value.problems()) == problems


# Judges


@pytest.mark.parametrize(
    ("written", "setup"),
    [
        ("", JudgeSetup(model=None, panel=(), runs=3, params={}, skip_after_failure=False)),
        ("judge: {}\n", JudgeSetup()),
        ("judge: {model: local/judge}\n", JudgeSetup(model="local/judge")),
        ("judge: {runs: 1}\n", JudgeSetup(runs=1)),
        ("judge: {runs: 5}\n", JudgeSetup(runs=5)),
        ("judge: {panel: [a/a]}\n", JudgeSetup(panel=("a/a",))),
        ("judge: {panel: [a/a, b/b, a/a]}\n", JudgeSetup(panel=("a/a", "b/b", "a/a"))),
        (
            "judge: {params: {maxTokens: 9, seed: 1}, skipAfterFailure: true}\n",
            JudgeSetup(params={"maxTokens": 9, "seed": 1}, skip_after_failure=True),
        ),
    ],
)
def test_a_suite_says_who_judges_and_how_often(good, written, setup):
    assert good(SUITE + written).judge == setup


@pytest.mark.parametrize(
    ("judge", "messages"),
    [
        ("{runs: 2}", ["`judge.runs`: `2` is not one of 1, 3, 5"]),
        ("{runs: '3'}", ["`judge.runs`: expected `int | null`, got `str`"]),
        ("{runs: true}", ["`judge.runs`: expected `int | null`, got `bool`"]),
        ("{panel: []}", ["a panel has 1, 3 or 5 models, not 0"]),
        ("{panel: [a/a, b/b]}", ["a panel has 1, 3 or 5 models, not 2"]),
        (
            "{panel: [a/a], runs: 3, model: a/a}",
            [
                "`panel` and `model` exclude each other: each model of a panel is asked once",
                "`panel` and `runs` exclude each other: each model of a panel is asked once",
            ],
        ),
        ("{model: judge}", ["`judge` is not a model reference"]),
        ("{panel: [a/a, judge, b/b]}", ["`judge` is not a model reference"]),
        ("{params: {maxTokens: 0}}", ["`maxTokens` must be a whole number of 1 or more"]),
    ],
)
def test_who_judges_must_make_sense(bad, judge, messages):
    found = bad(f"{SUITE}judge: {judge}\n")
    assert found == [f"5: P6201: {message}" for message in messages]


def test_labels_stand_beside_the_suite(good):
    suite = good(SUITE + "labels: labels/quiz.jsonl\n")
    assert (suite.labels, suite.labels_where) == (
        "evals/labels/quiz.jsonl",
        "evals/quiz.eval.yaml:5",
    )
    assert good(SUITE).labels is None


@pytest.mark.parametrize("path", ["../../x.jsonl", "/etc/passwd", "file:///x.jsonl"])
def test_labels_outside_of_the_project_are_refused(load, path):
    (problem,) = load(f"{SUITE}labels: {path}\n")[1]
    assert (problem.code, problem.where) == ("P6805", "evals/quiz.eval.yaml:5")


# Finding suites


@pytest.fixture
def project(tmp_path):
    for name in (
        "b.eval.yaml",
        "a.eval.yml",
        "below/c.eval.json",
        "below/notes.yaml",
        ".d.eval.yaml",
    ):
        write(tmp_path, f"evals/{name}", SUITE)
    write(tmp_path, "evals/.hidden/e.eval.yaml", SUITE)
    write(tmp_path, "f.eval.yaml", SUITE)
    return tmp_path


def test_suites_are_found_in_path_order_and_hidden_ones_are_not(project):
    assert find_suites(project, "evals", []) == [
        "evals/a.eval.yml",
        "evals/b.eval.yaml",
        "evals/below/c.eval.json",
    ]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["b"], ["evals/b.eval.yaml"]),
        (["c", "a"], ["evals/a.eval.yml", "evals/below/c.eval.json"]),
        (["evals/b.eval.yaml"], ["evals/b.eval.yaml"]),
        (["./evals//b.eval.yaml"], ["evals/b.eval.yaml"]),
        (["b", "evals/b.eval.yaml", "b"], ["evals/b.eval.yaml"]),
    ],
)
def test_suites_are_picked_by_name_or_file(project, wanted, found):
    assert find_suites(project, "evals", wanted) == found


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("below/c", "suites: a, b, c"),
        ("B", "suites: a, b, c"),
        ("b.eval.yaml", "suites: a, b, c"),
        ("cc", "did you mean `c`?"),
    ],
)
def test_a_wanted_suite_that_is_not_there_stops_the_run(project, wanted, hint):
    with pytest.raises(UsageError) as caught:
        find_suites(project, "evals", ["a", wanted])
    assert caught.value.code == "P6001"
    assert caught.value.message == f"0 of 3 suites are called `{wanted}`"
    assert caught.value.hint == hint


@pytest.mark.parametrize("folder", ["evals", "nowhere"])
def test_a_project_without_suites_has_nothing_to_run(tmp_path, folder):
    write(tmp_path, "evals/notes.yaml", SUITE)
    with pytest.raises(UsageError) as caught:
        find_suites(tmp_path, folder, [])
    assert caught.value.code == "P6001"
    assert caught.value.message.startswith("0 suites")


def test_a_suite_name_is_used_once_in_a_project():
    paths = ["evals/a.eval.json", "evals/a.eval.yaml", "evals/b.eval.yaml", "evals/x/a.eval.yml"]
    problems = list(duplicate_names(paths))
    assert [(one.code, one.where, one.message) for one in problems] == [
        ("P6201", path, "the suite name `a` is taken by `evals/a.eval.json`")
        for path in ("evals/a.eval.yaml", "evals/x/a.eval.yml")
    ]


@pytest.mark.parametrize(
    ("path", "name"),
    [("evals/x/quiz.eval.yaml", "quiz"), ("a.b.eval.json", "a.b"), ("eval.eval.yml", "eval")],
)
def test_suite_name_is_the_file_without_its_ending(path, name):
    assert suite_name(path) == name
