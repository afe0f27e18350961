"""`target` of a suite: what it may say, and what identifies it."""

from hashlib import sha256

import jsonschema_rs
import pytest

from proctor.errors import ManyProblems, UsageError
from proctor.loading.http_targets import url_fault
from proctor.loading.prompts import Prompts
from proctor.loading.rules import SuiteRules
from proctor.loading.suites import load_suite
from proctor.loading.targets import parse_lanes
from proctor.loading.yaml import parse_yaml
from proctor.records import Case, Placeholder, Scenario
from proctor.records.targets import CommandCall, HeaderSpec, HttpCall, PythonCall
from proctor.schemas import make_schema

REST = "dataset: cases.jsonl\nassertions: [{id: a, kind: equals, value: x}]\n"
PATH = "evals/quiz.eval.yaml"

PYTHON = "python: agents.workflow:WorkflowTarget"
HTTP = "http: {url: https://agent.example/v1/answer}"
COMMAND = "command: [./agent.sh, --fast]"


@pytest.fixture
def load(tmp_path):
    def load_text(text):
        file = tmp_path / PATH
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return load_suite(tmp_path, PATH, Prompts(tmp_path, "prompts", "acme"))

    return load_text


@pytest.fixture
def target(load):
    """The target of a suite, by the lines under `target:`; there must be no problems."""

    def load_target(*lines):
        definition, problems = load(f"target:\n{indented(lines)}{REST}")
        assert [one.message for one in problems] == []
        return definition.target

    return load_target


@pytest.fixture
def refused(load):
    """`line: message` of each problem, all of which are P6201."""

    def refuse(*lines):
        _, problems = load(f"target:\n{indented(lines)}{REST}")
        assert {one.code for one in problems} == {"P6201"}
        return [f"{one.where.removeprefix(PATH + ':')}: {one.message}" for one in problems]

    return refuse


@pytest.fixture
def hint(load):
    def hint_of(*lines):
        _, problems = load(f"target:\n{indented(lines)}{REST}")
        (problem,) = problems
        return problem.hint

    return hint_of


def indented(lines):
    return "".join(f"  {line}\n" for text in lines for line in text.split("\n"))


def sha(text):
    return sha256(text.encode()).hexdigest()


# What it is


def test_an_object_of_the_project_is_a_target_by_its_reference(target):
    read = target(PYTHON)
    assert read.how == PythonCall("agents.workflow:WorkflowTarget")
    assert read.subject.id == "target:python:agents.workflow:WorkflowTarget"
    assert read.subject.bundle_sha256 == sha('{"python":"agents.workflow:WorkflowTarget"}')
    assert read.where == f"{PATH}:1"
    assert (read.lanes, read.builds_per_lane, read.timeout_s, read.max_cost_usd) == (
        (),
        4,
        None,
        {},
    )


def test_everything_a_target_may_have(target):
    read = target(
        PYTHON,
        "name: workflow-agent",
        "lanes: [http://127.0.0.1:9001, 'http://127.0.0.1:9002/b/']",
        "buildsPerLane: 2",
        "timeout: 900",
        "maxCostUsd: {build: 0.5, answer: 0}",
    )
    assert read.subject.id == "target:python:workflow-agent"
    assert read.lanes == ("http://127.0.0.1:9001", "http://127.0.0.1:9002/b/")
    assert (read.builds_per_lane, read.timeout_s) == (2, 900)
    assert read.max_cost_usd == {"build": 0.5, "answer": 0}


def test_where_how_fast_and_at_what_price_it_answers_is_not_who_it_is(target):
    whole = target(
        PYTHON,
        "name: other",
        "lanes: [https://a.example]",
        "buildsPerLane: 9",
        "timeout: 1",
        "maxCostUsd: {build: 1}",
    )
    assert whole.subject.bundle_sha256 == target(PYTHON).subject.bundle_sha256


@pytest.mark.parametrize(
    "lines",
    [
        ("python: agents.workflow:OtherTarget",),
        (HTTP,),
        ("http: {url: https://agent.example/v1/answer, method: PUT}",),
        ("http: {url: https://agent.example/v1/answer, headers: {X-Key: AGENT_KEY}}",),
        ("http: {url: https://agent.example/v1/answer, body: {q: 1}}",),
        ("http: {url: https://agent.example/v1/answer, answer: /text}",),
        (COMMAND,),
        ("command: [./agent.sh]",),
        (COMMAND, "env: [AGENT_KEY]"),
    ],
)
def test_what_decides_the_answer_is_who_it_is(target, lines):
    others = {
        target(PYTHON).subject.bundle_sha256,
        target(HTTP, "timeout: 7").subject.bundle_sha256,
    }
    mine = target(*lines).subject.bundle_sha256
    assert (mine in others) is (lines == (HTTP,))


def test_the_digest_is_over_the_mapping_as_it_is_written(target):
    written = 'http: {url: "https://agent.example/v1/answer", body: {b: 1.0, a: "é"}, answer: ""}'
    assert target(written).subject.bundle_sha256 == sha(
        '{"http":{"answer":"","body":{"a":"é","b":1},"url":"https://agent.example/v1/answer"}}'
    )


@pytest.mark.parametrize("how", [HTTP, COMMAND])
def test_what_never_builds_costs_nothing_to_build(target, how):
    assert target(how).max_cost_usd == {"build": 0}
    assert target(how, "maxCostUsd: {answer: 0.5}").max_cost_usd == {"build": 0, "answer": 0.5}


def test_a_command_is_its_arguments_and_the_variables_it_is_given(target):
    read = target(
        "command: [agents/run.sh, '{{input.q}}', '$HOME']", "env: [AGENT_KEY, lower_case]"
    )
    assert read.how == CommandCall(
        ("agents/run.sh", "{{input.q}}", "$HOME"), ("AGENT_KEY", "lower_case")
    )
    assert read.subject.id == "target:command:agents/run.sh"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://agent.example/v1/answer", "agent.example/v1/answer"),
        ("https://Agent.Example:8443/v1/", "agent.example/v1"),
        ("http://localhost:9001", "localhost"),
        ("http://[::1]:9001/a", "::1/a"),
        ("https://agent.example/a?api-version=2", "agent.example/a"),
    ],
)
def test_an_endpoint_is_called_after_its_host_and_path(target, url, name):
    assert target(f"http: {{url: '{url}'}}").subject.id == f"target:http:{name}"


def test_an_endpoint_as_it_is_read(target):
    read = target(
        "http:\n"
        "  url: https://agent.example/answer\n"
        "  method: PUT\n"
        "  headers: {X-Api-Key: AGENT_KEY, Authorization: {env: AGENT_TOKEN, prefix: 'Bearer '}}\n"
        "  body: {question: '{{input.q}}, please', n: 3, deep: [['{{a.b}}', true]]}\n"
        "  answer: /choices/0/text\n"
    )
    assert read.how == HttpCall(
        url="https://agent.example/answer",
        method="PUT",
        headers={
            "X-Api-Key": HeaderSpec(env="AGENT_KEY"),
            "Authorization": HeaderSpec(env="AGENT_TOKEN", prefix="Bearer "),
        },
        body={"question": "{{input.q}}, please", "n": 3, "deep": [["{{a.b}}", True]]},
        placeholders=(Placeholder(("q",)), Placeholder(("a", "b"))),
        answer="/choices/0/text",
    )


def test_a_suite_with_a_target_has_no_prompts(load):
    definition, problems = load(f"target: {{{PYTHON}}}\nexclusive: true\n{REST}")
    assert (definition.subjects, problems, definition.exclusive) == ((), [], True)


# What is wrong with it


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("name: x",), "1: a target needs exactly one of `python`, `http` and `command`"),
        ((PYTHON, HTTP), "3: a target needs exactly one of `python`, `http` and `command`"),
        ((HTTP, COMMAND), "3: a target needs exactly one of `python`, `http` and `command`"),
        ((PYTHON, "lane: [x]"), "3: unknown key `lane` in `target`"),
        ((PYTHON, "env: [A_B]"), "3: `env` goes with `command` only"),
        (("python: agents",), "2: `agents` is not a reference to an object"),
        (("python: 'agents:'",), "2: `agents:` is not a reference to an object"),
        (("python: ../agents:Agent",), "2: `../agents:Agent` is not a reference to an object"),
        ((PYTHON, "buildsPerLane: 0"), "3: `target.buildsPerLane`: expected `int` >= 1"),
        ((PYTHON, "buildsPerLane: 1025"), "3: `target.buildsPerLane`: expected `int` <= 1024"),
        ((PYTHON, "timeout: 0"), "3: `target.timeout`: expected `float` > 0.0"),
        ((PYTHON, "timeout: 86401"), "3: `target.timeout`: expected `float` <= 86400.0"),
        ((PYTHON, "maxCostUsd: {row: 1}"), "3: unknown key `row` in `target.maxCostUsd`"),
        (
            (PYTHON, "maxCostUsd: {build: -1}"),
            "3: `target.maxCostUsd.build`: expected `float` >= 0.0",
        ),
        (("command: []",), "2: `target.command`: expected `array` of length >= 1"),
        (
            ("command: ./agent.sh --fast",),
            "2: `target.command`: expected `array | null`, got `str`",
        ),
        (
            ('command: [" "]',),
            "2: an argument of a command has a NUL in it, or the program no name",
        ),
        (
            ("command:", "  - agent", '  - "a\\0b"'),
            "4: an argument of a command has a NUL in it, or the program no name",
        ),
        (
            (COMMAND, "maxCostUsd: {build: 0}"),
            "3: `build` goes with `python` only: nothing else builds",
        ),
        (
            (HTTP, "maxCostUsd: {build: 1, answer: 1}"),
            "3: `build` goes with `python` only: nothing else builds",
        ),
        ((COMMAND, "env: [A_B, A_B]"), "3: the variable `A_B` is named twice"),
        ((COMMAND, "env: ['sk-12345=x']"), "3: `env` takes names of variables"),
    ],
)
def test_a_target_that_cannot_be_used_is_told_with_its_line(refused, lines, said):
    assert refused(*lines)[0] == said


def test_a_mistyped_key_has_a_suggestion(hint):
    assert hint(PYTHON, "lane: []") == "did you mean `lanes`?"


@pytest.mark.parametrize(
    "name", ["''", "' '", "'a '", '"a\\nb"', '"\\u202e"', "x" * 129], ids=range(6)
)
def test_a_name_can_be_printed(refused, name):
    said = "3: the name of a target has 1 to 128 characters that can be printed"
    assert refused(PYTHON, f"name: {name}") == [said]


def test_a_program_whose_path_is_too_long_for_a_name_is_given_one(refused, target):
    command = f"command: [{'x' * 129}]"
    assert refused(command)[0].startswith("1: the name of a target has 1 to 128 characters")
    assert target(command, "name: short").subject.name == "short"


# Endpoints


URLS = {
    "agent.example/answer": "is not a URL",
    "ftp://agent.example": "is not a URL",
    "https://": "is not a URL",
    "https://agent.example:port/": "is not a URL",
    "https://agent.example:99999/": "is not a URL",
    "https://[::1/": "is not a URL",
    "https://user:pass@agent.example/": "has a user name or a password",
    "https://agent.example/#a": "has a fragment",
    "https://agent.example/{{input.q}}": "has a placeholder",
    "https://{{host}}/": "has a placeholder",
    "https://agent.example/a b": "has a space, a control character or a letter other than those",
    "https://agent.example/\u00e9": "has a space, a control character or a letter other than those",
}


@pytest.mark.parametrize("url", URLS)
def test_a_url_is_whole_and_has_nothing_but_an_address(refused, url):
    (said,) = refused("http:", f"  url: '{url}'")
    assert said.startswith(f"3: `url` {URLS[url]}")
    assert "agent.example" not in said


@pytest.mark.parametrize("url", URLS)
def test_a_lane_is_one_too(refused, url):
    (said,) = refused(PYTHON, "lanes:", "  - https://a.example", f"  - '{url}'")
    assert said.startswith(f"5: a lane {URLS[url]}")
    assert "agent.example" not in said


def test_only_an_endpoint_may_have_a_query(refused, target):
    assert target("http: {url: 'https://agent.example/?v=2'}").how.url.endswith("?v=2")
    assert refused(PYTHON, "lanes: ['https://agent.example/?v=2']") == ["3: a lane has a query"]
    assert url_fault("https://a.example/?key=sk-secret", may_have_query=False)[1] == (
        "take out what begins with `?`"
    )


def test_a_lane_is_named_once(refused):
    lanes = "lanes: ['http://127.0.0.1:9001', 'http://127.0.0.1:9001/']"
    assert refused(PYTHON, lanes) == ["3: a lane is there twice"]


@pytest.mark.parametrize(
    ("http", "said"),
    [
        (
            "{url: https://a.example, method: GET}",
            "`target.http.method`: `GET` is not one of POST, PUT, PATCH",
        ),
        ("{url: https://a.example, verb: PUT}", "unknown key `verb` in `target.http`"),
        ("{method: POST}", "the key `url` is missing in `target.http`"),
        ("{url: https://a.example, answer: text}", "`answer`: `text` is not a JSON Pointer"),
        ("{url: https://a.example, answer: /a~2}", "`answer`: `/a~2` is not a JSON Pointer"),
        ("{url: https://a.example, headers: {a b: A_KEY}}", "this is not the name of a header"),
        (
            "{url: https://a.example, headers: {'X-{{q}}': A_KEY}}",
            "this is not the name of a header",
        ),
        (
            "{url: https://a.example, headers: {HOST: A_KEY}}",
            "the header `HOST` is not for a suite to set",
        ),
        (
            "{url: https://a.example, headers: {Content-Type: A_KEY}}",
            "the header `Content-Type` is not for a suite to set",
        ),
        (
            "{url: https://a.example, headers: {X-K: A_KEY, x-k: B_KEY}}",
            "the header `x-k` is there twice",
        ),
        (
            "{url: https://a.example, headers: {X-K: {prefix: Bearer}}}",
            "the key `env` is missing in `target.http.headers.X-K`",
        ),
        (
            "{url: https://a.example, headers: {X-K: {env: A_KEY, value: x}}}",
            "unknown key `value` in `target.http.headers.X-K`",
        ),
        (
            "{url: https://a.example, headers: {X-K: {env: A_KEY, prefix: 'é'}}}",
            "`prefix` has characters that no header has",
        ),
        (
            "{url: https://a.example, body: {'{{input.q}}': 1}}",
            "a key of `body` has a placeholder",
        ),
        (
            "{url: https://a.example, body: ['{{ }}']}",
            "`{{ }}` is not a placeholder",
        ),
    ],
)
def test_an_endpoint_that_cannot_be_asked_is_told(refused, http, said):
    assert refused(f"http: {http}")[0].partition(": ")[2] == said


@pytest.mark.parametrize(
    "value", ["sk-12345678", "Bearer abc", "{{input.key}}", "agent_key", "KEY"]
)
def test_a_header_names_a_variable_and_never_a_value(refused, value):
    (said,) = refused("http:", "  url: https://a.example", "  headers:", f"    X-Key: '{value}'")
    assert said.startswith("5: a header names the variable that its value is in")
    assert value not in said.replace("`_`", "")


def test_a_placeholder_that_cannot_be_one_is_told_at_its_place(load):
    text = "target:\n  http:\n    url: https://a.example\n    body:\n      - a\n      - '{{1}}'\n"
    _, problems = load(text + REST)
    assert [one.where for one in problems] == [f"{PATH}:6"]


@pytest.mark.parametrize(
    ("case", "faults"),
    [
        (Case("a", {"q": "x", "a": {"b": 1}}), []),
        (Case("a", {"q": "x"}), ["the template uses `a.b`, which this case lacks"]),
        (Case("a", {"q": None, "a": {"b": None}}), []),
        (
            Case("a", {"q": "x"}, scenarios=[Scenario("s", {"a": {"b": 1}}), Scenario("t")]),
            ["scenario `t`: the template uses `a.b`, which this case lacks"],
        ),
    ],
)
def test_a_case_has_what_the_body_uses(target, case, faults):
    read = target("http: {url: https://a.example, body: ['{{q}} {{input.a.b}}']}")
    assert list(SuiteRules([], None, read).faults(case)) == [("P6104", one) for one in faults]


def test_a_target_without_a_body_takes_any_inputs(target):
    rules = SuiteRules([], None, target(PYTHON))
    assert list(rules.faults(Case("a", {}))) == []
    assert rules.cell_types().inputs is None


# Beside it


def test_models_go_with_prompts(load):
    _, problems = load(f"target: {{{PYTHON}}}\nmodels: [local/tiny]\n{REST}")
    assert [(one.where, one.message) for one in problems] == [
        (f"{PATH}:2", "`models` goes with a prompt only")
    ]


def test_lanes_of_the_command_line_are_held_against_the_same_rules():
    assert parse_lanes(("https://a.example", "http://127.0.0.1:9001/x")) == (
        "https://a.example",
        "http://127.0.0.1:9001/x",
    )
    with pytest.raises(ManyProblems) as caught:
        parse_lanes(("a.example", "https://b.example", "https://b.example"))
    assert [(one.code, one.message) for one in caught.value.problems()] == [
        ("P6002", "`--lane`: a lane is not a URL"),
        ("P6002", "`--lane`: a lane is there twice"),
    ]
    with pytest.raises(UsageError):
        parse_lanes(("https://a.example/#x",))


@pytest.mark.parametrize(
    ("keys", "fits"),
    [
        ({"target": {"python": "a:b"}}, True),
        ({"target": {"http": {"url": "https://a.example", "headers": {"X": "A_KEY"}}}}, True),
        ({"target": {"http": {"url": "x", "headers": {"X": {"env": "A", "prefix": "B "}}}}}, True),
        ({"target": {"http": {"url": "x", "headers": {"X": {"value": "A"}}}}}, False),
        ({"target": {"command": ["a"], "env": ["B"], "maxCostUsd": {"answer": 0}}}, True),
        ({"target": {"command": []}}, False),
        ({"target": {"python": "a:b", "command": ["a"]}}, False),
        ({"target": {}}, False),
        ({"target": {"python": "a:b"}, "prompt": "p"}, False),
        ({"outputs": {"a": ["a.txt"]}, "exclusive": True}, True),
        ({"outputs": {"a": "a.txt"}}, False),
        ({"target": {"python": "a:b"}, "dataset": {"source": "x", "options": {"n": 1}}}, True),
        ({"target": {"python": "a:b"}, "dataset": {"source": "x", "path": "y"}}, False),
    ],
)
def test_the_schema_of_suites_knows_targets(keys, fits):
    suite = {"dataset": "c.jsonl", "assertions": [{"id": "a", "kind": "equals"}], **keys}
    assert jsonschema_rs.validator_for(make_schema("suite")).is_valid(suite) is fits


def test_every_key_of_a_target_is_described_in_the_schema():
    definitions = make_schema("suite")["$defs"]
    for name in ("TargetFile", "HttpFile", "MaxCostFile", "HeaderSpec"):
        for key, schema in definitions[name]["properties"].items():
            assert schema.get("description"), f"{name}.{key}"


def test_a_suite_in_yaml_and_in_json_has_the_same_target(target, tmp_path):
    file = tmp_path / "evals/other.eval.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        '{"target": {"command": ["./agent.sh", "--fast"]}, "dataset": "cases.jsonl", '
        '"assertions": [{"id": "a", "kind": "equals", "value": "x"}]}',
        encoding="utf-8",
    )
    prompts = Prompts(tmp_path, "prompts", "acme")
    definition, problems = load_suite(tmp_path, "evals/other.eval.json", prompts)
    assert problems == []
    assert definition.target.subject == target(COMMAND).subject
    assert parse_yaml(COMMAND.encode(), "x").value == {"command": ["./agent.sh", "--fast"]}
