"""Reports of agents: what readers are told of scenarios and expectations, and comparing them."""

from __future__ import annotations

import gc
import json
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from agent_support import (
    RIGHT,
    Agent,
    AgentProject,
    ask_agent,
    case,
    cases_of,
    replay_agent,
    right,
    subject_of,
)
from judged_support import FAIL, PASS
from proctor.cli.main import main
from proctor.comparing.indexing import FactsReader
from proctor.records import Outcome, RenderOptions
from proctor.rendering.junit import render_junit
from proctor.rendering.markdown import render_markdown
from proctor.rendering.text import render_text
from proctor.rendering.wording import case_findings, passed_text, unsteady
from proctor.report_files import load_report

NAMED = {"id": "named", "kind": "contains", "values": ["colour"]}


def answer(case, scenario, artifact, repeat):
    if scenario and scenario.name == "unknown":
        return "I do not know you"
    if scenario and scenario.name == "angry" and repeat == 2:
        raise ConnectionResetError
    return right(case, scenario, artifact, repeat)


def build(case, repeat):
    if case.id == "broken":
        raise ValueError
    return {"for": case.id}


def judge(request, call):
    text = request.messages[-1].content
    return FAIL if any(word in text for word in ("promises", "polite", "hello")) else PASS


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = AgentProject(tmp_path_factory.mktemp("project"))
    project.agent_suite(RIGHT, buildAssertions=[NAMED], repeats=2)
    project.cases(
        case(
            "refund",
            "known",
            "unknown",
            "angry",
            expectations=["It asks for the number.", "It never promises money."],
        ),
        case("return", "late", expectations=["It is polite."]),
        case("greet", expectations=["It says hello."]),
        case("broken", "s1", "s2", expectations=["It works."]),
        case("plain"),
    )
    return project


@pytest.fixture(scope="module")
def raw(project):
    return ask_agent(project, Agent(build=build, answer=answer), judge)


@pytest.fixture(scope="module")
def path(project, raw):
    return project.write("report.json", raw)


@pytest.fixture(scope="module")
def report(path):
    return load_report(path)


def shown(render, report, **options) -> str:
    return b"".join(render(report, RenderOptions(**options))).decode()


def findings(report) -> dict[str, list[str]]:
    return {one.id: [finding.text for finding in case_findings(one)] for one in report.cases(0, 0)}


def test_findings_name_the_scenarios_and_expectations_that_did_not_pass(report):
    lost = "P6701: answering failed: ConnectionResetError; see that the target runs and can be "
    lost += "reached, then run it again"

    def warned(name):
        return f'named (warning): not found, expected "colour", got "{{\\"for\\":\\"{name}\\"}}"'

    assert findings(report) == {
        "refund": [
            'scenario unknown repeats 1-2: right: expected "refund/unknown", got '
            '"I do not know you"',
            f"scenario angry repeat 2: {lost}",
            'repeats 1-2: expectation failed: "It never promises money."',
            f"scenario known repeats 1-2: {warned('refund')}",
        ],
        "return": [
            'repeats 1-2: expectation failed: "It is polite."',
            f"scenario late repeats 1-2: {warned('return')}",
        ],
        "greet": [
            'repeats 1-2: expectation failed: "It says hello."',
            f"repeats 1-2: {warned('greet')}",
        ],
        "broken": [
            "scenario s1 repeats 1-2, scenario s2 repeats 1-2: P6702: building failed: ValueError"
        ],
        "plain": [f"repeats 1-2: {warned('plain')}"],
    }


def test_rows_that_passed_are_counted_without_expectations(report):
    found = {one.id: passed_text(one) for one in report.cases(0, 0)}
    assert found == {
        "refund": "passed 3/5 (5 of 6 measured)",
        "return": "passed 2/2",
        "greet": "passed 0/2",
        "broken": "passed 0/4",
        "plain": "passed 2/2",
    }


def test_findings_of_rows_that_are_not_repeated_name_no_repeats(tmp_path):
    project = AgentProject(tmp_path)
    project.cases(
        case("a", "s1", "s2", expectations=["It is polite."]),
        case("b", expectations=["It says hello."]),
        case("c", "s1"),
    )
    wrong = Agent(answer=lambda *given: "no")
    path = project.write("report.json", ask_agent(project, wrong, judge))
    assert findings(load_report(path)) == {
        "a": [
            'scenario s1: right: expected "a/s1", got "no"',
            'scenario s2: right: expected "a/s2", got "no"',
            'expectation failed: "It is polite."',
        ],
        "b": ['expectation failed: "It says hello."'],
        "c": ['scenario s1: right: expected "c/s1", got "no"'],
    }


def test_several_votes_on_an_expectation_are_counted(tmp_path):
    project = AgentProject(tmp_path)
    project.agent_suite(judge={"model": "local/judge", "runs": 3})
    project.cases(case("b", expectations=["It is so."]))
    votes = ask_agent(project, Agent(), lambda request, call: PASS if call.take == 1 else FAIL)
    (finding,) = case_findings(next(iter(load_report(project.write("r.json", votes)).cases(0, 0))))
    assert finding.text == 'expectation failed: "It is so.", 1 of 3 votes pass'
    assert finding.votes == ("pass: It is kind.", "fail (2 votes): It is curt.")


def test_the_text_says_how_many_expectations_hold_and_what_no_row_counts(report):
    text = shown(render_text, report)
    assert "checks: right passed 7/9, named passed 0/8, expectations passed 2/8" in text
    assert "(10 of 12 units have 2 measured rows)" in text
    assert "warning: 2 expectations failed of builds whose rows all passed" in text
    assert "return" not in text
    assert (
        '    warning  return  passed 2/2\n      repeats 1-2: expectation failed: "It is polite."'
        in (shown(render_text, report, all_cases=True))
    )


def test_the_comment_says_the_same(report):
    text = shown(render_markdown, report).replace("&#32;", " ")
    assert "scenario unknown repeats 1&#45;2" in text
    assert "expectation failed" in text
    assert "2 expectations failed of builds whose rows all passed" in text
    assert "units have 2 measured rows" in text


def test_each_case_is_a_test_case_whatever_its_scenarios(report):
    tree = ElementTree.fromstring(shown(render_junit, report))  # noqa: S314 - we wrote it
    found = {one.get("name"): one for one in tree.iter("testcase")}
    assert list(found) == ["refund", "return", "greet", "broken", "plain"]
    assert [name for name, one in found.items() if one.find("failure") is not None] == [
        "refund",
        "greet",
        "broken",
    ]
    properties = {one.get("name"): one.get("value") for one in tree.iter("property")}
    assert properties["expectations"] == "2/8"
    assert "scenario angry repeat 2: P6701" in found["refund"].find("failure").text


def test_a_report_without_answers_leaves_nothing_of_them(project, raw):
    agent = Agent(build=build, answer=answer)
    bare = ask_agent(project, agent, judge, answers=False)
    assert b"I do not know you" in raw
    for word in (b"I do not know you", b"curt", b'{\\"for', b'"for"', b"It is kind"):
        assert word not in bare
    found, whole = json.loads(bare), json.loads(raw)
    votes = cases_of(found)["greet"]["expectations"][0]["votes"]
    assert [(one["verdict"], one["reason"]) for one in votes] == [("fail", None)]
    assert subject_of(found)["checks"] == subject_of(whole)["checks"]
    load_report(project.write("bare.json", bare))


def test_flaky_expectations_of_cases_that_passed_are_counted(tmp_path):
    project = AgentProject(tmp_path)
    project.agent_suite(repeats=2)
    project.cases(case("a", "s1", expectations=["It is so."]))

    def turns(request, call):
        return FAIL if '"repeat":2' in request.messages[-1].content else PASS

    report = load_report(project.write("r.json", ask_agent(project, Agent(), turns)))
    (subject,) = report.head.suites[0].subjects
    assert unsteady(subject, report.cases(0, 0)) == (1, 0)
    assert "1 flaky" in shown(render_text, report)


def test_rows_of_failed_builds_do_not_make_a_report_one_without_answers(report):
    reader = FactsReader(report.head)
    for one in report.cases(0, 0):
        reader.facts(0, one)
    assert not reader.lacks_answers


def ran(capsys, *arguments: str) -> SimpleNamespace:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    gc.enable()
    said = capsys.readouterr()
    return SimpleNamespace(code=left.value.code, out=said.out, err=said.err)


@pytest.fixture
def inside(project, path, monkeypatch):
    monkeypatch.chdir(project.root)
    return project


def test_comparing_names_scenarios_and_expectations(inside, capsys, tmp_path):
    other = AgentProject(tmp_path)
    for name in ("evals/quiz.eval.yaml", "evals/cases.jsonl"):
        other.write(name, (inside.root / name).read_bytes())
    inside.write("good.json", ask_agent(other, Agent()))
    found = ran(capsys, "compare", "good.json", "report.json", "--format", "json")
    (subject,) = json.loads(found.out)["subjects"]
    named = {
        (unit["id"], unit.get("scenario") or unit.get("expectation")): unit["label"]
        for unit in subject["units"]
    }
    assert named["refund", "unknown"] == "soft_regression"
    assert named["return", "It is polite."] == "soft_regression"
    assert named["greet", "It says hello."] == "soft_regression"
    assert named["refund", "angry"] == "insufficient_data"
    assert not any(name == "__build_only__" for _, name in named)
    text = ran(capsys, "compare", "good.json", "report.json")
    assert "refund / unknown  2/2 -> 0/2" in text.out
    assert "return / It is polite.  2/2 -> 0/2" in text.out
    same = ran(capsys, "compare", "report.json", "report.json", "--strict", "--fail-on-regression")
    assert same.code == 0


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "html", "json"])
def test_every_format_shows_a_stored_report(inside, capsys, form, raw):
    found = ran(capsys, "report", "report.json", "--format", form)
    assert found.code == 0
    if form == "json":
        assert found.out.encode() == raw
    if form == "html":
        assert "It never promises money." in found.out


def test_the_cassette_commands_know_builds_and_expectations(inside, capsys):
    listed = ran(capsys, "cassette", "list")
    # In 2 repeats 5 builds, and 5 answers but for one that was lost; and the verdicts on 4
    # expectations, which are the same in both repeats, as the builds are.
    assert "23 recordings, 0 unused" in listed.out
    assert ran(capsys, "cassette", "verify").code == 0
    assert "0 recordings unused" in ran(capsys, "cassette", "prune").out
    path = inside.root / "evals/cassettes/quiz.jsonl"
    lines = path.read_text().splitlines()
    changed = [line.replace('{"for":"plain"}', '{"for":"other"}') for line in lines]
    inside.write("other/quiz.jsonl", "\n".join(changed) + "\n")
    diff = ran(capsys, "cassette", "diff", "evals/cassettes/quiz.jsonl", "other/quiz.jsonl")
    assert "plain" in diff.out
    assert "build" in diff.out


def test_the_plan_is_told_in_words_that_fit(inside, capsys):
    plan = ran(capsys, "run", "--cache", "record", "--dry-run")
    # The answer that was lost is missing, so the case is built anew in that repeat, and asked about
    # that build in all of its scenarios.
    assert "target:python:agent: 10 builds, 9 calls recorded, 1 not, 1 to make" in plan.out
    assert "target:python:agent: 10 rows, 7 calls recorded, 3 not, 3 to make" in plan.out
    # What the judges of that build will be told is not known, so they may be 2 calls more.
    assert "local/judge: 8 votes, 4 calls recorded, 2 not, 2 to make" in plan.out


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("suite", ["expectations", "buildAssertions", "target", "outputs"]),
        ("dataset", ["scenarios", "expectations", "complexity", "resources"]),
        ("report", ["scenario", "expectation", "expectations"]),
    ],
)
def test_the_schemas_know_scenarios_and_expectations(inside, capsys, kind, words):
    schema = ran(capsys, "schema", kind).out
    for word in words:
        assert f'"{word}"' in schema


def test_linting_runs_nothing_of_a_target(inside, capsys):
    inside.write("agents.py", "raise RuntimeError\n")
    found = ran(capsys, "lint")
    assert found.code == 0
    assert found.out.startswith("ok: 1 suite")


def test_a_replay_needs_no_code_of_the_target(inside, capsys, raw):
    inside.write("agents.py", "raise RuntimeError\n")
    found = ran(capsys, "run", "--format", "json")
    # The lost answer is a miss, all else is as it was recorded.
    assert found.code == 1
    report = json.loads(found.out)
    assert subject_of(report)["checks"] == subject_of(json.loads(raw))["checks"]
    assert found.out.encode() == replay_agent(inside)


def test_a_gate_counts_expectations_that_no_row_does(tmp_path, capsys, monkeypatch):
    project = AgentProject(tmp_path)
    project.write(
        "proctor.toml",
        (project.root / "proctor.toml").read_text() + '[gates.pr]\ncriterion = "pass-at-k"\n',
    )
    project.agent_suite(tiers=["pr"])
    project.cases(case("a", "s1", expectations=["It is polite."]))
    ask_agent(project, Agent(), judge)
    monkeypatch.chdir(project.root)
    assert ran(capsys, "run").code == 0
    found = ran(capsys, "run", "--tier", "pr")
    assert found.code == 1
    assert "a / It is polite." in found.out + found.err


def test_labels_ignore_rows_of_scenarios(tmp_path):
    from proctor.canonical import sha256_hex

    project = AgentProject(tmp_path)
    tone = {"id": "tone", "kind": "llm-judge", "rubric": "judge-tone"}
    project.agent_suite(tone, labels="labels.jsonl", expectations=None)
    project.cases(case("a", "s1"), case("b"))
    labels = [
        {"case": name, "assertion": "tone", "verdict": "pass", "answer_sha256": sha256_hex(text)}
        for name, text in (("a", b"a/s1"), ("b", b"b"))
    ]
    project.write("evals/labels.jsonl", "".join(json.dumps(one) + "\n" for one in labels))
    report = json.loads(ask_agent(project, Agent()))
    agreement = report["suites"][0]["judge"]["agreement"]
    assert (agreement["both_pass"], agreement["stale"], agreement["not_judged"]) == (1, 0, 1)
    assert Outcome.PASSED.value == cases_of(report)["a"]["outcome"]
