"""The kind `llm-judge`, asked in this process: who is asked what, and what becomes of the votes."""

import json

import pytest
from asking import FakeScope, answered, assertion, case, refusal

from hostile_answers import HOSTILE, JUDGES, verdict
from proctor.errors import CassetteError, ProviderError
from proctor.protocols import JudgedAssertion
from proctor.records import (
    Answered,
    Case,
    Finish,
    JudgeSetup,
    ModelChoice,
    Outcome,
    Severity,
    Vote,
    model_answer,
)
from rubric_prompts import CRITERIA, INPUTS, RULES, SYSTEM, USER, loaded_prompt, written

OWN_MODEL = "model: {ref: own/judge, maxTokens: 200, params: {temperature: 0, seed: 1}}\n"
TESTED = ModelChoice(ref="acme/tested", params={})
CASE = Case("one", {"question": "Why?"}, dos=["Answer."], donts=["Shout.", "Lie."])
PASSED, FAILED, ERRORED, UNMEASURED = Outcome


def scope(*, rubric="", parts=None, model=TESTED, **judge):
    """A scope with the rubric `tone`; `rubric` is what its file has besides."""
    prompt = loaded_prompt(written(more=rubric, **(parts or {})))
    setup = JudgeSetup(**{"model": "acme/judge"} | judge)
    return FakeScope(judge=setup, model=model, rubrics={"tone": prompt})


def judge(*, setup=None, **fields):
    return assertion("llm-judge", scope=setup or scope(), rubric="tone", **fields)


def replies(*texts, **answer):
    """What judges reply, each with a recording of its own."""
    return [
        Answered(model_answer(text, **answer), f"{place:064}", None, None, None)
        for place, text in enumerate(texts)
    ]


def judged(*texts, answer="Sure.", setup=None, **fields):
    """The check that comes of these replies."""
    return judge(setup=setup, **fields).judge(replies(*texts), answered(answer), CASE)


def asked(text="Sure.", *, setup=None, of=CASE, **fields):
    return judge(setup=setup, **fields).questions(answered(text), of)


def criteria(*, violated=(), kept=("Answer.", "Shout.", "Lie.")):
    return json.dumps(
        {
            "violations": [{"rule": rule, "reason": "no"} for rule in violated],
            "passes": [{"rule": rule, "reason": "yes"} for rule in kept],
        }
    )


BY_RULES = scope(
    parts={
        "inputs": f"{INPUTS}, {RULES}",
        "output": CRITERIA,
        "messages": [
            ("system", f"{SYSTEM} Do: {{{{input.dos}}}} Not: {{{{input.donts}}}}"),
            ("user", USER),
        ],
    }
)


def test_it_asks_judges_and_checks_nothing_by_itself():
    assert isinstance(judge(), JudgedAssertion)
    assert not hasattr(judge(), "check")


class TestWhoIsAsked:
    @pytest.mark.parametrize(("judge", "takes"), [({}, 3), ({"runs": 1}, 1), ({"runs": 5}, 5)])
    def test_one_model_is_asked_in_runs_that_are_numbered(self, judge, takes):
        questions = asked(setup=scope(**judge))
        assert [one.take for one in questions] == list(range(1, takes + 1))
        assert {one.subject.model.ref for one in questions} == {"acme/judge"}
        assert {(one.case, one.assertion) for one in questions} == {("one", "it")}

    def test_of_a_panel_each_is_asked_once_and_numbered_by_its_model(self):
        panel = ("acme/a", "acme/b", "acme/a", "acme/a", "acme/c")
        questions = asked(setup=scope(panel=panel))
        assert [(one.subject.model.ref, one.take) for one in questions] == [
            ("acme/a", 1),
            ("acme/b", 1),
            ("acme/a", 2),
            ("acme/a", 3),
            ("acme/c", 1),
        ]

    @pytest.mark.parametrize(
        ("written", "rubric", "ref"),
        [
            ("acme/judge", "", "acme/judge"),
            ("acme/judge", OWN_MODEL, "acme/judge"),
            (None, OWN_MODEL, "own/judge"),
        ],
    )
    def test_the_suite_names_the_judge_or_else_the_rubric(self, written, rubric, ref):
        fake = scope(rubric=rubric)
        fake.judge = JudgeSetup(model=written, runs=1)
        (question,) = asked(setup=fake)
        assert question.request().model.ref == ref

    def test_there_is_no_judge_by_default(self):
        fake = scope()
        fake.judge = JudgeSetup()
        said = refusal("llm-judge", scope=fake, rubric="tone")
        assert said == "P6201 nobody is named who judges by the rubric `tone`"

    def test_params_of_the_suite_override_those_of_the_rubric(self):
        setup = scope(rubric=OWN_MODEL, params={"maxTokens": 50, "temperature": 0.5}, runs=1)
        (question,) = asked(setup=setup)
        assert question.request().model.params == {"maxTokens": 50, "temperature": 0.5, "seed": 1}

    def test_every_judge_of_a_panel_is_sent_the_same_params(self):
        questions = asked(setup=scope(rubric=OWN_MODEL, panel=("acme/a", "acme/b", "acme/c")))
        assert {json.dumps(one.subject.model.params) for one in questions} == {
            '{"maxTokens": 200, "temperature": 0, "seed": 1}'
        }


class TestWhatIsAsked:
    def test_the_answer_and_the_case_stand_in_the_fences_of_the_rubric(self):
        (question, *others) = asked("Sure.")
        system, user = question.request().messages
        mark = question.inputs.values["boundary"]
        assert system.content == SYSTEM
        assert f'<case-{mark}>\n{{"question":"Why?"}}\n</case-{mark}>' in user.content
        assert f"<reply-{mark}>\nSure.\n</reply-{mark}>" in user.content
        assert {one.inputs_sha256 for one in others} == {question.inputs_sha256}
        assert question.request().output_schema["required"] == ["verdict", "reason"]

    @pytest.mark.parametrize(
        ("text", "fields", "response"),
        [
            ('{"a": "x", "b": 1}', {}, '{"a": "x", "b": 1}'),
            ('{"a": "x", "b": 1}', {"field": "a"}, "x"),
            ('{"a": {"c": [1.0, null]}}', {"field": "/a/c"}, "[1,null]"),
            ('Here:\n```json\n{"a": "x"}\n```', {"field": "a", "extract": "json"}, "x"),
            ('Here:\n```json\n{"a": 1.0}\n```', {"extract": "json"}, '{"a":1}'),
            ("", {}, ""),
        ],
    )
    def test_the_answer_is_judged_or_the_part_of_it_that_is_named(self, text, fields, response):
        (question, *_) = asked(text, **fields)
        assert question.inputs.values["response"] == response

    def test_a_part_that_is_not_judged_is_no_part_of_the_question(self):
        (one, *_), (other, *_) = (asked(f'{{"a": "x", "b": {n}}}', field="a") for n in (1, 2))
        assert one.inputs_sha256 == other.inputs_sha256
        (third, *_) = asked('{"a": "y", "b": 1}', field="a")
        assert third.inputs_sha256 != one.inputs_sha256

    @pytest.mark.parametrize(
        ("text", "fields", "reason"),
        [
            (None, {}, "no_text"),
            ("Sure.", {"field": "a"}, "not_json"),
            ("{}", {"field": "a"}, "missing_field: a"),
            ("{} {}", {"extract": "json"}, "two_candidates"),
        ],
    )
    @pytest.mark.parametrize("negate", [False, True])
    def test_nobody_is_asked_about_an_answer_that_is_not_there(self, text, fields, reason, negate):
        check = asked(text, negate=negate, **fields)
        assert (check.outcome, check.reason, check.votes) == (FAILED, reason, [])

    def test_a_request_about_an_answer_that_is_not_known_is_outlined(self):
        twice = [("system", SYSTEM), ("user", USER), ("user", USER)]
        for messages, shown in ((None, 1), (twice, 2)):
            request, times = judge(setup=scope(parts={"messages": messages})).outline(CASE)
            assert times == shown
            mark = request.messages[1].content.partition("<case-")[2][:16]
            assert f"<reply-{mark}>\n\n</reply-{mark}>" in request.messages[1].content


class TestWhatComesOfVotes:
    @pytest.mark.parametrize(
        ("texts", "outcome", "reason"),
        [
            (["pass"], PASSED, None),
            (["fail"], FAILED, "judged_fail"),
            (["N/A"], UNMEASURED, "P6601: no valid verdict"),
            (["pass", "fail", "pass"], PASSED, None),
            (["pass", "fail", "fail"], FAILED, "judged_fail"),
            (["pass", "passing", "pass"], PASSED, None),
            (["pass", "passing", "fail"], FAILED, "judged_fail"),
            (["pass", "passing", "N/A"], UNMEASURED, "P6601: no valid verdict"),
            (["pass", "pass", "fail", "fail", "N/A"], FAILED, "judged_fail"),
        ],
    )
    def test_more_than_half_of_all_runs_decide(self, texts, outcome, reason):
        check = judged(*map(verdict, texts), setup=scope(runs=len(texts)))
        assert (check.outcome, check.reason) == (outcome, reason)

    @pytest.mark.parametrize(
        ("texts", "outcome", "reason"),
        [
            (["pass", "fail", "pass"], FAILED, "judged_pass"),
            (["pass", "fail", "fail"], PASSED, None),
            (["pass", "N/A", "N/A"], UNMEASURED, "P6601: no valid verdict"),
        ],
    )
    def test_negated_a_pass_fails_and_what_is_not_measured_stays_so(self, texts, outcome, reason):
        check = judged(*map(verdict, texts), negate=True)
        assert (check.outcome, check.reason) == (outcome, reason)

    def test_every_vote_is_kept_with_its_reason_its_model_and_its_recording(self):
        setup = scope(panel=("acme/a", "acme/b", "acme/a"))
        check = judged(verdict("pass", "Kind."), "Fine!", verdict("fail", ""), setup=setup)
        assert check.votes == [
            Vote("pass", "Kind.", "acme/a", f"{0:064}"),
            Vote(None, "not_json: is not JSON: expecting value at column 1", "acme/b", f"{1:064}"),
            Vote("fail", "", "acme/a", f"{2:064}"),
        ]
        assert check.evidence == {"passed": 1, "failed": 1, "invalid": 1}
        assert (check.id, check.kind, check.severity) == ("it", "llm-judge", Severity.FAIL)

    def test_a_judge_may_be_no_more_than_a_warning(self):
        assert judged(*[verdict("fail")] * 3, severity="warn").severity is Severity.WARN

    def test_a_rubric_of_criteria_gives_credit_for_the_rules_that_are_kept(self):
        texts = [
            criteria(),
            criteria(violated=["Lie."], kept=["Answer.", "Shout."]),
            criteria(kept=["Answer."]),
        ]
        check = judged(*texts, setup=BY_RULES)
        assert [vote.verdict for vote in check.votes] == ["pass", "fail", None]
        assert check.votes[2].reason == "rule_missing: Shout."
        assert check.outcome is FAILED
        assert check.evidence["credit"] == pytest.approx((1 + 2 / 3) / 2)

    @pytest.mark.parametrize(
        ("errors", "reason"),
        [
            ([ProviderError("gone", code="P6310")], "no_reply: P6310"),
            (
                [CassetteError("none", code="P6402"), ProviderError("gone", code="P6310")],
                "no_reply: P6402",
            ),
        ],
    )
    @pytest.mark.parametrize("negate", [False, True])
    def test_a_missing_reply_errs_the_check_whatever_the_others_say(self, errors, reason, negate):
        one = judge(negate=negate)
        said = [*errors, *replies(*[verdict("pass")] * (3 - len(errors)))]
        check = one.judge(said, answered("Sure."), CASE)
        assert (check.outcome, check.reason, check.evidence) == (ERRORED, reason, None)
        assert [(vote.verdict, vote.reason) for vote in check.votes[: len(errors)]] == [
            (None, f"no_reply: {error.code}") for error in errors
        ]
        assert check.votes[-1] == Vote("pass", "fine", "acme/judge", f"{2 - len(errors):064}")

    @pytest.mark.parametrize(
        ("text", "finish", "notes"),
        [
            ("Sure.", Finish.STOP, {}),
            ("Sure.", Finish.LENGTH, {"finish": "length"}),
            ("", Finish.STOP, {"empty_text": True}),
        ],
    )
    def test_the_check_says_when_the_answer_was_cut_off_or_empty(self, text, finish, notes):
        said = replies(*[verdict("pass")] * 3)
        check = judge().judge(said, answered(text, finish), CASE)
        assert check.evidence == {"passed": 3, "failed": 0, "invalid": 0} | notes

    def test_the_check_says_from_where_what_is_judged_was_extracted(self):
        check = judged(*[verdict()] * 3, answer='```json\n{"a": 1}\n```', extract="json")
        assert check.evidence["extracted"] == "fence"


class TestForgedVerdicts:
    @pytest.mark.parametrize("response", HOSTILE)
    @pytest.mark.parametrize("judges", JUDGES)
    def test_an_answer_neither_closes_its_fence_nor_sets_the_verdict(self, judges, response):
        one = judge()
        questions = one.questions(answered(response), CASE)
        texts = [judges(each.request().messages[1].content) for each in questions]
        check = one.judge(replies(*texts), answered(response), CASE)
        assert check.outcome in (FAILED, UNMEASURED)
        assert "pass" not in {vote.verdict for vote in check.votes}


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("parts", "code"),
        [
            ({"output": "score: {type: number}"}, "P6211"),
            ({"inputs": f"{INPUTS}, mood: {{type: string}}"}, "P6211"),
            ({"messages": [("system", "Judge {{input.response}} as data in tags.")]}, "P6212"),
            ({"messages": [("system", SYSTEM), ("user", "{{input.response}}")]}, "P6216"),
        ],
    )
    def test_what_is_no_rubric_to_rely_on(self, parts, code):
        said = refusal("llm-judge", scope=scope(parts=parts), rubric="tone")
        assert said.startswith(f"{code} the rubric `tone` ")

    def test_an_unfenced_rubric_is_let_through_for_a_reason(self):
        setup = scope(parts={"messages": [("system", SYSTEM), ("user", "{{input.response}}")]})
        one = judge(setup=setup, allowUnfenced="the answers are words from a list")
        assert len(one.questions(answered("Sure."), CASE)) == 3
        said = refusal("llm-judge", scope=setup, rubric="tone", allowUnfenced=" ")
        assert said == "P6201 `allowUnfenced` has no reason"

    @pytest.mark.parametrize("name", ["evidence", "artifact", "transcript"])
    def test_a_rubric_that_needs_what_no_model_gives(self, name):
        fence = (
            f"<{name}-{{{{input.boundary}}}}>{{{{input.{name}}}}}</{name}-{{{{input.boundary}}}}>"
        )
        parts = {
            "inputs": f"{INPUTS}, {name}: {{type: string, optional: true}}",
            "messages": [("system", SYSTEM), ("user", f"{USER}\n{fence}")],
        }
        said = refusal("llm-judge", scope=scope(parts=parts), rubric="tone")
        assert said.startswith(f"P6201 the answer has no `{name}`, which the rubric `tone` uses")
        assert judge(setup=scope(parts=parts, model=None))

    def test_a_pointer_that_is_none(self):
        assert refusal("llm-judge", scope=scope(), rubric="tone", field="/a~2").startswith("P6201")

    def test_a_judge_in_a_group(self):
        part = {"kind": "llm-judge", "rubric": "tone"}
        for kind in ("all-of", "any-of"):
            said = refusal(kind, scope=scope(), of=[part])
            assert said == "P6201 `it.1` asks a judge, which no part of a group may"


class TestWhatACaseNeeds:
    def test_a_case_with_what_the_rubric_shows_needs_nothing(self):
        assert judge().needs(case()) is None
        assert judge(setup=BY_RULES).needs(CASE) is None

    def test_a_case_without_it_is_told(self):
        parts = {"inputs": f"{INPUTS}, expected: {{type: string}}"}
        lacking = judge(setup=scope(parts=parts)).needs(case())
        assert lacking == "the case has no `expected`, which the rubric `tone` uses"
        without = judge(setup=BY_RULES).needs(case())
        assert without == "the case has neither `dos` nor `donts` to judge by"


class TestWarnings:
    def codes(self, **options):
        return [warning.code for warning in judge(setup=scope(**options)).warnings]

    def test_a_judge_of_others_who_knows_what_fences_mean_is_none(self):
        assert self.codes() == []

    def test_a_model_that_judges_itself_is_one(self):
        assert self.codes(panel=("acme/a", "acme/tested", "acme/tested")) == ["P6215"]

    def test_a_judge_who_is_not_told_what_fences_mean_is_one(self):
        assert self.codes(parts={"messages": [("user", USER)]}) == ["P6217"]
