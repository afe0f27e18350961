"""Cases that a plugin yields are checked like those of a file."""

from hashlib import sha256
from pathlib import Path
from typing import ClassVar

import pytest
from dataset_rules import AnyCase, NoCase

from proctor.loading import sources
from proctor.loading.dataset_options import DatasetFile
from proctor.loading.prompts import Prompts
from proctor.loading.sources import load_source, unread_source
from proctor.loading.suites import load_suite
from proctor.records import Case, Scenario
from proctor.registry import Registry

WHERE = "evals/quiz.eval.yaml:2"


class Seen:
    """A source that notes what it was given."""

    calls: ClassVar = []

    @classmethod
    def load(cls, options, root):
        cls.calls.append((options, root))
        yield {"id": "a", "inputs": {"b": 1.0, "a": "é"}}
        yield Case("b", {}, tags=["t"], scenarios=[Scenario("s", {"x": 1}, expected=None)])


def plain(options, root):
    return [{"id": str(number), "inputs": {}} for number in range(options.pop("n"))]


def endless(options, root):
    number = 0
    while True:
        number += 1
        options["asked"](number)
        yield {"id": str(number), "inputs": {}}


def yields(*cases):
    return lambda options, root: iter(cases)


def fails_late(options, root):
    print("on the way")  # noqa: T201 - it has to go to stderr
    yield {"id": "a", "inputs": {}}
    raise ValueError("secret: 4111 1111")


class NoLoad:
    load = "not a function"


PARTS = {
    "seen": "test_case_sources:Seen",
    "plain": "test_case_sources:plain",
    "late": "test_case_sources:fails_late",
}


@pytest.fixture(autouse=True)
def plugins(monkeypatch):
    """Sources as if packages had brought them."""
    Seen.calls.clear()
    registry = Registry("case source", PARTS)
    monkeypatch.setattr(sources, "case_sources", registry)
    return registry


@pytest.fixture
def load():
    opened = []

    def load_cases(name, options=None, *, rules=None, max_cases=1_000, allow_code=True):
        dataset, problems = load_source(
            DatasetFile(source=name, options=options or {}),
            root=Path("/project"),
            rules=rules or AnyCase(),
            max_cases=max_cases,
            where=WHERE,
            allow_code=allow_code,
        )
        if dataset is not None:
            opened.append(dataset)
        return dataset, problems

    yield load_cases
    for dataset in opened:
        dataset.close()


@pytest.fixture
def refused(load, plugins):
    """`where: code: message` of what is wrong with cases."""

    def refuse(*cases, **options):
        plugins._loaded["given"] = yields(*cases)
        plugins._entries["given"] = ""
        dataset, problems = load("given", **options)
        assert dataset is None
        return [f"{one.where}: {one.code}: {one.message}" for one in problems]

    return refuse


def test_the_cases_can_be_read_again_and_again(load):
    dataset, problems = load("seen", {"n": [1]})
    assert problems == []
    assert [dataset.case(index) for index in (1, 0, 1)] == [
        Case("b", {}, tags=["t"], scenarios=[Scenario("s", {"x": 1}, expected=None)]),
        Case("a", {"b": 1, "a": "é"}),
        Case("b", {}, tags=["t"], scenarios=[Scenario("s", {"x": 1}, expected=None)]),
    ]
    assert (len(dataset), dataset.path, list(dataset.warnings)) == (2, "source:seen", [])
    assert dataset.shapes == {1: ("s",)}
    assert Seen.calls == [({"n": [1]}, Path("/project"))]


def test_the_digest_is_over_the_canonical_lines(load):
    dataset, _ = load("plain", {"n": 2})
    lines = b'{"id":"0","inputs":{}}\n{"id":"1","inputs":{}}\n'
    assert dataset.sha256 == sha256(lines).hexdigest()


def test_the_options_of_the_suite_cannot_be_changed(load):
    options = {"n": 1}
    load("plain", options)
    assert options == {"n": 1}


def test_nothing_runs_unless_code_is_allowed(load):
    dataset, (problem,) = load("seen", allow_code=False)
    assert (dataset, problem.code, problem.where) == (None, "P6220", WHERE)
    assert problem.message == "the cases come from the plugin `seen`, which may not run"
    assert "--allow-code" in problem.hint
    assert Seen.calls == []


def test_where_nothing_is_run_a_warning_stands_for_the_cases():
    dataset = unread_source(DatasetFile(source="seen"), WHERE)
    assert len(dataset) == 0
    assert [(one.where, one.message) for one in dataset.warnings] == [
        (WHERE, "the cases of `source:seen` are not checked: that would run a plugin")
    ]


def test_a_source_that_is_not_installed_is_told_with_the_likely_one(load):
    dataset, (problem,) = load("sen")
    assert (dataset, problem.code, problem.hint) == (None, "P6201", "did you mean `seen`?")
    assert problem.message == "no installed package brings the case source `sen`"


def test_more_cases_than_allowed_are_not_asked_for(load, plugins):
    asked = []
    plugins._entries["endless"] = ""
    plugins._loaded["endless"] = lambda options, root: endless({"asked": asked.append}, root)
    dataset, (problem,) = load("endless", max_cases=3)
    assert (dataset, problem.code) == (None, "P6102")
    assert problem.message == "`source:endless` yields more than 3 cases"
    assert asked == [1, 2, 3, 4]


def test_as_many_cases_as_allowed_are_read(load):
    dataset, problems = load("plain", {"n": 3}, max_cases=3)
    assert (len(dataset), problems) == (3, [])


def test_a_source_that_fails_is_named_with_the_class_of_its_exception(load, capsys):
    dataset, (problem,) = load("late")
    assert (dataset, problem.code, problem.where) == (None, "P6101", WHERE)
    assert problem.message == "the source `late` failed: ValueError"
    assert "4111" not in f"{problem.message}{problem.hint}"
    assert capsys.readouterr() == ("", "on the way\n")


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (
            (),
            f"{WHERE}: P6202: the dataset `source:given` holds no cases, so the suite can never "
            "fail",
        ),
        ((["a"],), "source:given:1: P6101: a case must be an object, not a list"),
        (("a",), "source:given:1: P6101: a case must be an object, not a string"),
        (({"id": "a"},), "source:given:1: P6101: the key `inputs` is missing"),
        (({"id": "a", "inputs": {}, "x": 1},), "source:given:1: P6101: unknown key `x`"),
        (
            ({"id": "a", "inputs": {}}, {"id": "a", "inputs": {}}),
            "source:given:2: P6103: the case id `a` is taken by line 1",
        ),
        (({"id": "a", "inputs": {"x": object()}},), "source:given: P6101: case 1 is no JSON value"),
        (
            ({"id": "a", "inputs": {"x": float("nan")}},),
            "source:given: P6101: case 1 is no JSON value",
        ),
        (({"id": "a", "inputs": {1: 2}},), "source:given: P6101: case 1 is no JSON value"),
        (
            ({"id": "a", "inputs": {"x": "y" * 1024 * 1024}},),
            "source:given:1: P6101: the case is larger than 1 MiB",
        ),
    ],
    ids=range(10),
)
def test_a_case_that_is_none_is_told_with_its_number(refused, cases, said):
    assert refused(*cases) == [said]


def test_cases_must_fit_the_suite(refused):
    assert refused({"id": "a", "inputs": {}}, rules=NoCase(1)) == [
        "source:given:1: P6104: case `a`: fault 0"
    ]


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ("{source: x, path: y.jsonl}", "`dataset` needs exactly one of `path` and `source`"),
        ("{options: {}}", "`dataset` needs exactly one of `path` and `source`"),
        ("{path: y.jsonl, options: {a: 1}}", "`options` goes with `source` only"),
        ("{source: x, delimiter: ','}", "`delimiter` goes with a dataset in `.csv` only"),
    ],
)
def test_a_suite_says_where_its_cases_come_from_once(tmp_path, dataset, said):
    (tmp_path / "evals").mkdir()
    text = f"target: {{python: 'a:b'}}\ndataset: {dataset}\nassertions: [{{id: a, kind: equals}}]\n"
    (tmp_path / "evals/q.eval.yaml").write_text(text, encoding="utf-8")
    _, problems = load_suite(tmp_path, "evals/q.eval.yaml", Prompts(tmp_path, "prompts", "acme"))
    assert [one.message for one in problems] == [said]


def test_a_suite_names_a_source_with_its_options(tmp_path):
    (tmp_path / "evals").mkdir()
    text = "target: {python: 'a:b'}\ndataset: {source: shop, options: {since: 2026, deep: [1]}}\n"
    rest = "assertions: [{id: a, kind: equals, value: x}]\n"
    (tmp_path / "evals/q.eval.yaml").write_text(text + rest, encoding="utf-8")
    definition, problems = load_suite(
        tmp_path, "evals/q.eval.yaml", Prompts(tmp_path, "prompts", "acme")
    )
    assert problems == []
    assert definition.dataset.source == "shop"
    assert definition.dataset.options == {"since": 2026, "deep": [1]}
    assert (definition.dataset.path, definition.dataset.shown) == ("", "source:shop")


def test_a_part_without_load_is_no_source():
    from proctor.registry import case_sources

    assert case_sources._unfit(NoLoad) == "it has no `load`"
    assert case_sources._unfit(3) == "it has no `load`"
    assert case_sources._unfit(plain) is None
    assert case_sources._unfit(Seen) is None


def test_sources_are_entry_points_of_their_own_group():
    from proctor.registry import case_sources

    assert (case_sources._group, case_sources.names()) == ("proctor.sources", [])
