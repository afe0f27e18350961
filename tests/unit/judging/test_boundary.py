import doctest
from hashlib import sha256

import pytest
from msgspec import UNSET

from proctor.canonical import canonical_json, digest
from proctor.judging import boundary as module
from proctor.judging.boundary import (
    Judged,
    answer_needs,
    boundary,
    case_needs,
    judge_inputs,
    response_sha256,
)
from rubric_prompts import INPUTS, RULES, USER, criteria_rubric, rubric

OTHERS = ("expected", "context", "evidence", "artifact", "transcript")


def judged(response="Sure.", **changes):
    return Judged(**{"response": response, "case_inputs": {}, **changes})


def with_others(*, declared="{type: string}", shown=OTHERS):
    inputs = INPUTS + "".join(f", {name}: {declared}" for name in OTHERS)
    text = USER + "".join(f"{{{{input.{name}}}}}" for name in shown)
    return rubric(inputs=inputs, messages=[("user", text)])


def test_examples_in_docstrings_hold():
    result = doctest.testmod(module)
    assert (result.attempted > 0, result.failed) == (True, 0)


def test_the_boundary_is_the_start_of_a_digest_of_the_other_inputs():
    inputs = {"case_inputs": "{}", "response": "Sure."}
    text = b'{"inputs":{"case_inputs":"{}","response":"Sure."},"n":0}'
    assert boundary(inputs) == sha256(text).hexdigest()[:16] == "5742a462c08e1426"


def test_a_boundary_that_an_input_contains_gives_way_to_the_next(monkeypatch):
    made = ["a" * 64, "b" * 64, "c" * 64, "d" * 64]
    asked = []

    def digest_of(value):
        asked.append(value)
        return made[value["n"]]

    monkeypatch.setattr(module, "digest", digest_of)
    inputs = {"response": "x" + "a" * 16, "dos": ["b" * 17], "case_inputs": '{"a":"' + "c" * 15}
    assert boundary(inputs) == "c" * 16
    assert asked == [{"inputs": inputs, "n": n} for n in range(3)]


def test_other_inputs_have_another_boundary():
    made = {boundary({"response": text}) for text in ("a", "b", "A", "")}
    assert len(made) == 4


def test_inputs_are_made_from_what_the_rubric_declares():
    given = judged('{"b": 1}', case_inputs={"b": [1.0], "a": "\u00e9"}, expected="e", dos=["d"])
    made = judge_inputs(rubric(), given)
    assert made.values == {
        "response": '{"b": 1}',
        "case_inputs": '{"a":"\u00e9","b":[1]}',
        "boundary": boundary({"response": '{"b": 1}', "case_inputs": '{"a":"\u00e9","b":[1]}'}),
    }
    assert made.sha256 == digest(made.values)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as {{it}} is ", "as {{it}} is "),
        ("", ""),
        ({"b": 1, "a": [None, 2.0]}, '{"a":[null,2],"b":1}'),
        ([True], "[true]"),
        (1.5, "1.5"),
        (False, "false"),
    ],
)
def test_text_goes_in_as_it_is_and_other_values_as_canonical_json(value, text):
    made = judge_inputs(with_others(), judged(value, **dict.fromkeys(OTHERS, value)))
    assert {made.values[name] for name in ("response", *OTHERS)} == {text}


def test_an_expected_null_is_a_value():
    made = judge_inputs(with_others(), judged(expected=None))
    assert made.values["expected"] == "null"


def test_rules_stay_lists_so_that_a_judge_sees_where_one_ends():
    read = criteria_rubric()
    made = judge_inputs(read, judged(dos=["be kind", "be, brief"]))
    assert (made.values["dos"], made.values["donts"]) == (["be kind", "be, brief"], [])
    system = read.messages(made.values)[0].content
    assert 'Do: ["be kind","be, brief"]\nNot: []' in system


def test_the_boundary_comes_from_every_other_input():
    plain, other = (
        judge_inputs(with_others(), judged(**{**dict.fromkeys(OTHERS, "x"), **changed}))
        for changed in ({}, {"transcript": "y"})
    )
    assert plain.values["boundary"] != other.values["boundary"]
    assert plain.sha256 != other.sha256


def test_a_rubric_without_a_boundary_is_given_none():
    read = rubric(inputs="response: {type: string}", messages=[("user", "{{input.response}}")])
    assert judge_inputs(read, judged()).values == {"response": "Sure."}


def test_a_default_stands_in_for_what_is_not_there():
    made = judge_inputs(with_others(declared="{type: string, default: none}"), judged(context="c"))
    assert [made.values[name] for name in OTHERS] == ["none", "c", "none", "none", "none"]
    others = {name: value for name, value in made.values.items() if name != "boundary"}
    assert made.values["boundary"] == boundary(others)


def test_what_is_optional_and_not_there_is_left_out():
    read = with_others(declared="{type: string, optional: true}", shown=())
    assert judge_inputs(read, judged()).values.keys() == {"response", "case_inputs", "boundary"}
    assert (case_needs(read, judged()), answer_needs(read, judged())) == (None, None)


@pytest.mark.parametrize("declared", ["{type: string}", "{type: string, optional: true}"])
def test_what_the_messages_show_must_be_there(declared):
    read = with_others(declared=declared)
    whole = dict.fromkeys(OTHERS, "x")
    for name in OTHERS:
        lacking = judged(**{**whole, name: UNSET if name == "expected" else None})
        needs, other = case_needs(read, lacking), answer_needs(read, lacking)
        if name in ("evidence", "artifact", "transcript"):
            needs, other = other, needs
            holder = "answer"
        else:
            holder = "case"
        assert needs == f"the {holder} has no `{name}`, which the rubric `tone` uses"
        assert other is None
    assert (case_needs(read, judged(**whole)), answer_needs(read, judged(**whole))) == (None, None)


def test_what_is_required_must_be_there_although_no_message_shows_it():
    read = rubric(inputs=f"{INPUTS}, expected: {{type: string}}")
    assert case_needs(read, judged()) == "the case has no `expected`, which the rubric `tone` uses"


def test_a_case_without_rules_could_never_fail_and_is_refused():
    sentence = "the case has neither `dos` nor `donts` to judge by"
    assert case_needs(criteria_rubric(), judged()) == sentence
    assert case_needs(criteria_rubric(), judged(donts=["shout"])) is None
    assert case_needs(rubric(inputs=f"{INPUTS}, {RULES}"), judged()) is None


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("Gr\u00fc\u00dfe\r\n", "Gr\u00fc\u00dfe\r\n".encode()),
        ("\ud83d", b"\\ud83d"),
        ({"b": 1, "a": 2}, b'{"a":2,"b":1}'),
    ],
)
def test_a_label_names_the_text_that_was_judged_by_its_digest(response, text):
    made = judge_inputs(rubric(), judged(response))
    assert made.response_sha256 == sha256(text).hexdigest()
    assert made.response_sha256 == response_sha256(made.values["response"])
    assert canonical_json(made.values)
