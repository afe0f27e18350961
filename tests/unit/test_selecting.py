from contextlib import closing
from types import SimpleNamespace

import pytest

from proctor.config import load_config
from proctor.errors import UsageError
from proctor.evaluation import select
from proctor.pipeline import load_exam
from proctor.records import Case
from proctor.selecting import Selection
from support import SUITE, Project

CASES = [
    Case("late-1", {}, tags=["late", "slow"]),
    Case("late-2", {}, tags=["late"]),
    Case("lost", {}, tags=["slow"]),
    Case("Late-3", {}),
    Case("[odd]*", {}),
]

ANSWER_ON_TINY = SimpleNamespace(model=SimpleNamespace(ref="local/tiny"), prompt_id="answer")


class Dataset:
    path, sha256 = "cases.jsonl", "0" * 64

    def __init__(self):
        self.read = []

    def __len__(self):
        return len(CASES)

    def case(self, index):
        self.read.append(index)
        return CASES[index]


def chosen(suite="quiz", **selection):
    return [CASES[place].id for place in Selection(**selection).places(suite, Dataset())]


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        ({"cases": ("late-1",)}, ["late-1"]),
        ({"cases": ("late-*",)}, ["late-1", "late-2"]),
        ({"cases": ("l?st", "late-[2-9]")}, ["late-2", "lost"]),
        ({"cases": ("*",)}, [case.id for case in CASES]),
        ({"cases": ("[[]odd]*",)}, ["[odd]*"]),
        ({"cases": ("late",)}, []),
        ({"cases": ("",)}, []),
        ({"tags": ("late",)}, ["late-1", "late-2"]),
        ({"tags": ("late", "slow")}, ["late-1", "late-2", "lost"]),
        ({"tags": ("lat",)}, []),
        ({"include": ("ate",)}, ["late-1", "late-2", "Late-3"]),
        ({"include": ("st", "3")}, ["lost", "Late-3"]),
        ({"include": ("qui",)}, [case.id for case in CASES]),
        ({"include": ("zzz",)}, []),
        ({"exclude": ("late",)}, ["lost", "Late-3", "[odd]*"]),
        ({"exclude": ("quiz",)}, []),
        ({"first": 2}, ["late-1", "late-2"]),
        ({"first": 99}, [case.id for case in CASES]),
        ({"failed": {"quiz": frozenset({"lost", "gone"})}}, ["lost"]),
        ({"failed": {"other": frozenset({"lost"})}}, []),
        ({"failed": {}}, []),
    ],
)
def test_cases_are_taken_by_what_is_asked_of_them(selection, ids):
    assert chosen(**selection) == ids


def test_everything_that_is_asked_must_fit():
    assert chosen(tags=("slow",), cases=("l*",), exclude=("1",)) == ["lost"]
    assert chosen(tags=("slow",), include=("late",), failed={"quiz": frozenset({"lost"})}) == []


def test_the_first_are_counted_among_those_that_fit():
    assert chosen(tags=("slow",), first=1, exclude=("late",)) == ["lost"]


def test_no_case_is_read_to_take_them_all_and_none_beyond_the_first():
    dataset = Dataset()
    assert Selection(models=("local/tiny",)).places("quiz", dataset) == range(5)
    assert dataset.read == []
    Selection(first=2).places("quiz", dataset)
    assert dataset.read == [0, 1]


@pytest.mark.parametrize(
    ("selection", "missed"),
    [
        ({}, []),
        ({"cases": ("late-*", "lost"), "tags": ("slow",)}, []),
        ({"cases": ("late-*", "late", "")}, [("case", "late"), ("case", "")]),
        ({"cases": ("Late-3",), "tags": ("late", "lat")}, [("tag", "lat")]),
        ({"models": ("local/tiny", "local/")}, [("model", "local/")]),
        ({"prompts": ("ans", "answer"), "first": 1}, [("prompt", "ans")]),
        ({"include": ("zzz",), "tiers": ("zzz",)}, []),
    ],
)
def test_each_of_them_that_fits_nothing_by_itself_is_missed(selection, missed):
    misses = Selection(**selection).misses([Dataset()], [ANSWER_ON_TINY])
    assert [(miss.option, miss.value) for miss in misses] == missed


def test_no_more_cases_are_read_for_that_than_it_takes():
    dataset = Dataset()
    assert Selection(models=("local/tiny",)).misses([dataset], [ANSWER_ON_TINY]) == []
    assert dataset.read == []
    assert Selection(cases=("late-2",), tags=("slow",)).misses([dataset], []) == []
    assert dataset.read == [0, 1]


@pytest.mark.parametrize(
    ("selection", "takes"),
    [
        ({}, True),
        ({"models": ("local/tiny",)}, True),
        ({"models": ("local/other", "local/tiny")}, True),
        ({"models": ("local/",)}, False),
        ({"prompts": ("answer",)}, True),
        ({"prompts": ("answer",), "models": ("local/other",)}, False),
        ({"prompts": ("ans",)}, False),
        ({"cases": ("none",)}, True),
    ],
)
def test_subjects_are_taken_by_prompt_and_model(selection, takes):
    assert Selection(**selection).takes_subject(ANSWER_ON_TINY) is takes


class TestOfAnExam:
    @pytest.fixture
    def exam(self, tmp_path):
        project = Project(tmp_path)
        project.write("evals/other.eval.yaml", f"models: [local/tiny, local/other]\n{SUITE}")
        project.cases(project.case("one"), project.case("two"))
        config = load_config(tmp_path, is_root=True, flags={}, environ={})
        with closing(load_exam(config, repeats=3)) as exam:
            yield exam

    def selected(self, exam, **selection):
        return {
            one.name: ([ready.target.subject.model.ref for ready in one.subjects], one.plan.rows)
            for one in select(exam, Selection(**selection))
        }

    def test_without_a_selection_it_is_all_of_it(self, exam):
        assert self.selected(exam) == {
            "other": (["local/tiny", "local/other"], 12),
            "quiz": (["local/tiny"], 6),
        }

    def test_suites_of_which_nothing_is_left_are_left_out(self, exam):
        assert self.selected(exam, models=("local/other",)) == {"other": (["local/other"], 6)}
        assert self.selected(exam, include=("quiz",), first=1) == {"quiz": (["local/tiny"], 3)}

    @pytest.mark.parametrize(
        "selection", [{"include": ("zzz",)}, {"exclude": ("o",)}, {"tiers": ("zzz",)}]
    )
    def test_nothing_at_all_is_refused_with_how_much_there_was(self, exam, selection):
        with pytest.raises(UsageError) as caught:
            select(exam, Selection(**selection))
        assert caught.value.code == "P6001"
        assert caught.value.message == "0 of 4 cases are selected"
