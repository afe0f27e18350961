import pytest
from two_reports import joined, made, several

from proctor.errors import UsageError


def pairs(before, now, *matches):
    """The subjects that are compared, as `suite/prompt@model`, and those that are not."""
    found = joined(before, now, *matches).subjects
    both, only_before, only_now = [], [], []
    for one in found:
        old, new = (
            None if each is None else f"{each.suite}/{each.prompt}@{each.model}"
            for each in (one.match.baseline, one.match.candidate)
        )
        if old is None:
            only_now.append(new)
        elif new is None:
            only_before.append(old)
        else:
            both.append(old if old == new else f"{old} -> {new}")
    return both, only_before, only_now


def suites(*names, prompts=("brief",)):
    return several({name: {prompt: {"a": "p"} for prompt in prompts} for name in names})


def test_subjects_are_matched_by_their_names_wherever_they_stand():
    before, now = suites("one", "two"), suites("two", "one")
    both, *others = pairs(before, now)
    assert both == ["two/brief@local/gemma", "one/brief@local/gemma"]
    assert others == [[], []]


def test_a_subject_in_one_report_only_is_listed_there():
    before = suites("one", "gone", prompts=("brief", "long"))
    now = suites("one", "new")
    assert pairs(before, now) == (
        ["one/brief@local/gemma"],
        ["one/long@local/gemma", "gone/brief@local/gemma", "gone/long@local/gemma"],
        ["new/brief@local/gemma"],
    )


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"prompt": "few-shot"}, "brief=few-shot"),
        ({"suite": "ratings"}, "reviews=ratings"),
        ({"model": "local/gemma-2"}, "local/gemma=local/gemma-2"),
    ],
)
def test_what_has_another_name_now_can_be_matched(changed, match):
    before, now = made({"a": "p"}), made({"a": "p"}, **changed)
    assert pairs(before, now)[0] == []
    ((both,), *others) = pairs(before, now, match)
    assert "->" in both
    assert others == [[], []]


def test_several_names_can_have_changed_at_once():
    before, now = made({"a": "p"}), made({"a": "p"}, prompt="terse", suite="ratings")
    assert pairs(before, now, "brief=terse", "reviews=ratings") == (
        ["reviews/brief@local/gemma -> ratings/terse@local/gemma"],
        [],
        [],
    )


def test_two_prompts_of_one_report_are_compared_with_the_report_twice():
    one = suites("reviews", prompts=("brief", "few-shot", "long"))
    both, *others = pairs(one, one, "brief=few-shot")
    assert both == [
        "reviews/brief@local/gemma -> reviews/few-shot@local/gemma",
        "reviews/long@local/gemma",
    ]
    # The namesakes of the two are in both reports, so neither is missing from one.
    assert others == [[], []]


def test_a_new_name_in_one_suite_leaves_the_other_suites_alone():
    before = suites("one", "two")
    now = several({"one": {"terse": {"a": "p"}}, "two": {"brief": {"a": "p"}}})
    assert pairs(before, now, "brief=terse") == (
        ["one/brief@local/gemma -> one/terse@local/gemma", "two/brief@local/gemma"],
        [],
        [],
    )


def test_two_names_can_be_swapped():
    one = suites("reviews", prompts=("brief", "long"))
    both, *others = pairs(one, one, "brief=long", "long=brief")
    assert both == [
        "reviews/long@local/gemma -> reviews/brief@local/gemma",
        "reviews/brief@local/gemma -> reviews/long@local/gemma",
    ]
    assert others == [[], []]


@pytest.mark.parametrize(
    ("matches", "said", "hint"),
    [
        (["breif=long"], "`breif` is not in the baseline", "did you mean `brief`?"),
        (["brief=lnog"], "`lnog` is not in the candidate", "did you mean `long`?"),
        (["brief=reviews"], "one is no name of what the other is", "name a suite"),
        (["brief=long", "brief=terse"], "the prompt is matched twice", "name a suite"),
        (["brief=long", "terse=long"], "the prompt is matched twice", "name a suite"),
    ],
)
def test_a_match_that_cannot_be_meant_is_refused(matches, said, hint):
    one = suites("reviews", prompts=("brief", "long", "terse"))
    with pytest.raises(UsageError) as caught:
        joined(one, one, *matches)
    assert caught.value.code == "P6002"
    assert caught.value.message == f"`--match {matches[-1]}`: {said}"
    assert hint in caught.value.hint
