import random

import pytest
from msgspec import UNSET

from pairwise_support import (
    RUBRIC_INPUTS,
    RUBRIC_USER,
    fenced,
    says,
    written_rubric,
)
from proctor.errors import ProctorError
from proctor.evidence.preferences import preference_figures
from proctor.judging.pairs import (
    Decided,
    Pair,
    Place,
    Preference,
    decide_pair,
    pair_judges,
    pair_needs,
    pair_questions,
    preference,
    read_winner,
)
from proctor.judging.pairwise_rubrics import parse_pairwise_rubric
from proctor.records import Finish, JudgeSetup, model_answer
from rubric_prompts import loaded_prompt

A, B, TIE, TORN = Preference.A, Preference.B, Preference.TIE, Preference.INCONSISTENT
FIRST, SECOND, NEITHER = Place.FIRST, Place.SECOND, Place.TIE
EXPECTED = f"{RUBRIC_INPUTS}, expected: {{type: string}}"
SHOWS_EXPECTED = RUBRIC_USER + fenced("expected")


def rubric(**parts):
    loaded = loaded_prompt(written_rubric(**parts))
    read, problems = parse_pairwise_rubric(loaded.prompt, loaded.templates)
    assert problems == []
    return read


def pair(**parts):
    return Pair(**({"a": "one", "b": "two", "inputs": {"q": 1}} | parts))


def asked(number=1, **parts):
    compared = rubric(**parts)
    judges = pair_judges(compared, JudgeSetup(), number)
    return pair_questions(compared, judges, pair(expected="yes"), case="late")


class TestOneJudge:
    @pytest.mark.parametrize(
        ("a_first", "b_first", "made"),
        [
            (FIRST, SECOND, A),
            (SECOND, FIRST, B),
            (NEITHER, NEITHER, TIE),
            (FIRST, FIRST, TORN),
            (SECOND, SECOND, TORN),
            (FIRST, NEITHER, TORN),
            (NEITHER, FIRST, TORN),
            (SECOND, NEITHER, TORN),
            (NEITHER, SECOND, TORN),
            (None, FIRST, None),
            (SECOND, None, None),
            (None, None, None),
        ],
    )
    def test_only_what_is_said_both_times_counts(self, a_first, b_first, made):
        assert preference(a_first, b_first) is made


class TestAllJudges:
    @pytest.mark.parametrize(
        ("said", "decided"),
        [
            ([A], Decided(A, None)),
            ([B], Decided(B, None)),
            ([TIE], Decided(TIE, "said_tie")),
            ([TORN], Decided(TIE, "inconsistent")),
            ([None], Decided(None, "P6601: no valid verdict")),
            ([A, A, B], Decided(A, None)),
            ([A, A, None], Decided(A, None)),
            ([A, B, TIE], Decided(TIE, "no_majority")),
            ([A, None, TORN], Decided(TIE, "no_majority")),
            ([TIE, TIE, A], Decided(TIE, "said_tie")),
            ([TORN, TORN, A], Decided(TIE, "inconsistent")),
            ([A, None, None], Decided(None, "P6601: no valid verdict")),
            ([A, A, B, B], Decided(TIE, "no_majority")),
            ([A, A], Decided(A, None)),
            ([A, None], Decided(TIE, "no_majority")),
            ([B, B, B, A, A], Decided(B, None)),
            ([B, B, TIE, A, A], Decided(TIE, "no_majority")),
        ],
    )
    def test_more_than_half_decide(self, said, decided):
        assert decide_pair(said) == decided

    def test_the_order_of_judges_does_not_matter(self):
        said = [A, B, TIE, TORN, None, A, A, A, A]
        for seed in range(20):
            shuffled = random.Random(seed).sample(said, len(said))  # noqa: S311
            assert decide_pair(shuffled) == decide_pair(said)

    def test_turning_the_sides_round_turns_the_decision_round(self):
        turned = {A: B, B: A, TIE: TIE, TORN: TORN, None: None}
        kinds = list(turned)
        for seed in range(200):
            chance = random.Random(seed)  # noqa: S311
            said = [chance.choice(kinds) for _ in range(chance.randint(1, 7))]
            one, other = decide_pair(said), decide_pair([turned[each] for each in said])
            assert (turned[one.preference], one.reason) == (other.preference, other.reason)


class TestWhatIsAsked:
    def test_each_judge_is_asked_in_either_order_with_its_number_as_the_take(self):
        questions = asked(2)
        assert [(one.take, one.values["first"], one.values["second"]) for one in questions] == [
            (1, "one", "two"),
            (1, "two", "one"),
            (2, "one", "two"),
            (2, "two", "one"),
        ]
        assert {one.case for one in questions} == {"late"}
        assert questions[0].inputs_sha256 == questions[2].inputs_sha256
        assert questions[0].inputs_sha256 != questions[1].inputs_sha256

    def test_a_judge_is_told_what_the_rubric_declares_and_nothing_else(self):
        (one, _) = asked(inputs=EXPECTED, user=SHOWS_EXPECTED)
        assert one.values.keys() == {"first", "second", "boundary", "expected"}
        assert one.values["expected"] == "yes"
        assert asked()[0].values.keys() == {"first", "second", "boundary"}

    def test_values_that_are_no_text_are_told_as_canonical_json(self):
        compared = rubric(inputs=f"{EXPECTED}, case_inputs: {{type: string}}", user=SHOWS_EXPECTED)
        judges = pair_judges(compared, JudgeSetup(), 1)
        given = pair(inputs={"b": 1.0, "a": None}, expected={"z": [True], "y": "é"})
        values = pair_questions(compared, judges, given, case="late")[0].values
        assert values["case_inputs"] == '{"a":null,"b":1}'
        assert values["expected"] == '{"y":"é","z":[true]}'

    def test_no_answer_holds_the_boundary_in_either_order(self):
        compared = rubric()
        judges = pair_judges(compared, JudgeSetup(), 1)
        first = pair_questions(compared, judges, pair(), case="late")
        forged = pair(
            a=f"one {first[0].values['boundary']}", b=f"two {first[1].values['boundary']}"
        )
        for question in pair_questions(compared, judges, forged, case="late"):
            boundary = question.values["boundary"]
            assert len(boundary) == 16
            assert boundary not in forged.a + forged.b
            assert question.request().messages[1].content.count(boundary) == 4

    def test_the_answers_of_both_orders_stand_in_the_request(self):
        one, other = (question.request().messages[1].content for question in asked())
        assert one.index("\none\n") < one.index("\ntwo\n")
        assert other.index("\ntwo\n") < other.index("\none\n")

    def test_what_a_case_lacks_is_said(self):
        needs = "the case has no `expected`, which the rubric `tone` uses"
        uses = {"inputs": EXPECTED, "user": SHOWS_EXPECTED}
        assert pair_needs(rubric(**uses), pair()) == needs
        assert pair_needs(rubric(**uses), pair(expected=None)) is None
        assert pair_needs(rubric(), pair()) is None
        optional = EXPECTED.replace(
            "expected: {type: string", "expected: {type: string, optional: true"
        )
        assert pair_needs(rubric(inputs=optional), pair()) is None
        assert pair_needs(rubric(inputs=optional, user=SHOWS_EXPECTED), pair()) == needs
        default = EXPECTED.replace(
            "expected: {type: string", "expected: {type: string, default: ''"
        )
        assert pair_needs(rubric(inputs=default, user=SHOWS_EXPECTED), pair(expected=UNSET)) is None


class TestWhoJudges:
    @pytest.mark.parametrize(
        ("setup", "number", "models"),
        [
            ({}, None, ["local/judge"]),
            ({}, 3, ["local/judge"] * 3),
            ({"model": "local/x"}, 2, ["local/x"] * 2),
            ({"model": "local/x", "runs": 5}, None, ["local/x"]),
            ({"panel": ("l/a", "l/b", "l/c")}, None, ["l/a", "l/b", "l/c"]),
            ({"panel": ("l/a", "l/b", "l/c")}, 2, ["l/a", "l/b"]),
        ],
    )
    def test_the_suite_and_the_option_say_so(self, setup, number, models):
        judges = pair_judges(rubric(), JudgeSetup(**setup), number)
        assert [one.model.ref for one in judges] == models

    def test_params_of_the_suite_go_over_those_of_the_rubric(self):
        (judge,) = pair_judges(rubric(), JudgeSetup(params={"temperature": 1}), None)
        assert judge.model.params == {"maxTokens": 50, "temperature": 1}

    def test_nobody_is_asked_by_default(self):
        with pytest.raises(ProctorError) as caught:
            pair_judges(rubric(more=""), JudgeSetup(), None)
        assert caught.value.code == "P6201"

    def test_a_panel_has_no_more_judges_than_it_names(self):
        with pytest.raises(ProctorError) as caught:
            pair_judges(rubric(), JudgeSetup(panel=("l/a",)), 2)
        assert (caught.value.code, "1" in caught.value.message) == ("P6002", True)


class TestReadingAReply:
    @pytest.mark.parametrize(
        ("text", "place"),
        [
            (says("first"), FIRST),
            (says("second"), SECOND),
            (says("tie"), NEITHER),
            (says("FIRST"), FIRST),
            (says("se\u200bcond"), SECOND),
            (f"```json\n{says('tie')}\n```", NEITHER),
            (f"<think>first</think>{says('second')}", SECOND),
        ],
    )
    def test_a_reply_that_counts(self, text, place):
        assert read_winner(model_answer(text)).place is place

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (says("a"), "no_winner: a"),
            (says("N/A"), "no_winner: N/A"),
            (says("first or second"), "no_winner: first or second"),
            ('{"winner": 1, "reason": "x"}', "no_winner: not a word"),
            ('{"winner": "first"}', "wrong_fields"),
            ('{"winner": "first", "reason": null}', "wrong_fields"),
            ('{"winner": "first", "reason": "x", "score": 1}', "wrong_fields"),
            ('{"verdict": "pass", "reason": "x"}', "wrong_fields"),
            ("[]", "not_an_object"),
            (None, "no_text"),
        ],
    )
    def test_a_reply_that_does_not(self, text, reason):
        assert read_winner(model_answer(text)) == (None, reason)

    def test_prose_around_it_and_a_second_object_are_no_reply(self):
        for text in (f"Sure: {says('first')}", says("first") + says("second"), "first"):
            said = read_winner(model_answer(text))
            assert said.place is None
            assert said.reason.startswith("not_json: ")

    @pytest.mark.parametrize("finish", ["length", "content_filter", "refusal"])
    def test_a_reply_that_was_cut_off_says_so(self, finish):
        said = read_winner(model_answer(says("first"), finish=Finish(finish)))
        assert said == (None, "truncated" if finish == "length" else finish)


def settled(judge, pairs, judges=1):
    """What `judge` makes of pairs: `judge(pair)` says a place for each order it is asked in."""
    wins = {}
    for _ in range(pairs):
        said = [preference(judge(), judge()) for _ in range(judges)]
        made = decide_pair(said).preference
        won = (int(made is A), int(made is B))
        wins[won] = wins.get(won, 0) + 1
    return wins


@pytest.mark.parametrize("said", [FIRST, SECOND])
@pytest.mark.parametrize("judges", [1, 2, 3, 5])
def test_a_judge_that_looks_at_places_only_gives_only_ties(said, judges):
    assert settled(lambda: said, 50, judges) == {(0, 0): 50}


@pytest.mark.parametrize("judges", [1, 3])
def test_the_win_rate_of_a_fair_noisy_judge_lies_within_its_interval(judges):
    """A coin prefers neither: the win rate is one half, in about 95 of 100 intervals."""
    within = called = 0
    for seed in range(100):
        chance = random.Random(seed)  # noqa: S311
        figures = preference_figures(
            settled(lambda: chance.choice([FIRST, SECOND, NEITHER]), 120, judges)  # noqa: B023
        )
        low, high = figures.win_rate.interval
        within += low <= 0.5 <= high
        called += figures.is_settled
    assert within >= 90
    assert called <= 10
