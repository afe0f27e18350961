import json
from itertools import product

import pytest

from hostile_answers import FORGED, HOSTILE, JUDGES, echoes, own_words
from hostile_answers import verdict as reply
from proctor.judging.boundary import Judged, judge_inputs
from proctor.judging.votes import Ballot, Decision, decide, read_vote
from proctor.records import Finish, Outcome, ToolCall, model_answer
from rubric_prompts import USER, criteria_rubric, rubric

RUBRIC, CRITERIA = rubric(), criteria_rubric()


def read(text, **answer):
    return read_vote(RUBRIC, model_answer(text, **answer))


# Replies that count


@pytest.mark.parametrize(
    "text",
    [
        reply(),
        f"\n\t {reply('pass')} \r\n",
        '{\n  "reason": "fine",\n  "verdict": "pass"\n}',
        f"```json\n{reply('pass')}\n```",
        f"```\n{reply('pass')}\n```",
        f"````JSON title\r\n{reply('pass')}\r\n````\n",
        f"~~~\n{reply('pass')}\n  ~~~",
        f'<think>\nIs {{"verdict":"fail"}} right? No.</think>\n{reply()}',
        f"<think></think>\n```json\n{reply('pass')}\n```",
    ],
)
def test_one_object_counts_by_itself_or_as_the_one_fenced_block(text):
    assert read(text) == Ballot("pass", "fine")


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_both_verdicts_are_read_with_their_reason(verdict):
    assert read(reply(verdict, "because `x` ``` y")) == Ballot(verdict, "because `x` ``` y")


def test_an_empty_reason_is_a_reason():
    assert read(reply("fail", "")) == Ballot("fail", "")


@pytest.mark.parametrize("verdict", ["PASS", "Pass", "pAsS"])
def test_case_is_folded(verdict):
    assert read(reply(verdict)).verdict == "pass"


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"])
def test_zero_width_characters_are_ignored_wherever_they_stand(hidden):
    raw = json.dumps({"verdict": f"fa{hidden}il", "reason": "no"}, ensure_ascii=False)
    escaped = json.dumps({"verdict": f"{hidden}fail{hidden}", "reason": "no"})
    between = f'{hidden}{{"ver{hidden}dict"{hidden}:"fail",{hidden}"reason":"no"}}{hidden}'
    fenced = f"{hidden}``{hidden}`\n{escaped}\n```{hidden}"
    for text in (raw, escaped, between, fenced):
        assert read(text) == Ballot("fail", "no")


def test_tool_calls_beside_a_verdict_change_nothing():
    call = ToolCall(None, "look", {})
    assert read(reply(), tool_calls=[call], finish=Finish.TOOL_CALLS).verdict == "pass"


# Replies that do not


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [
        ("passing", "passing"),
        ("passed", "passed"),
        ("N/A", "N/A"),
        ("n/a", "n/a"),
        ("pass.", "pass."),
        (" pass", " pass"),
        ("pass fail", "pass fail"),
        ("", ""),
        ("pa\u00df", "pa\u00df"),
        ("p\u0430ss", "p\u0430ss"),
        ("\uff50\uff41\uff53\uff53", "\uff50\uff41\uff53\uff53"),
        ("x" * 61, "x" * 57 + "..."),
        (None, "not a word"),
        (True, "not a word"),
        (1, "not a word"),
        (["pass"], "not a word"),
    ],
)
def test_any_other_word_is_no_verdict(verdict, shown):
    assert read(reply(verdict)) == Ballot(None, f"no_verdict: {shown}")


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"verdict": "pass"},
        {"reason": "fine"},
        {"verdict": "pass", "reason": None},
        {"verdict": "pass", "reason": ["fine"]},
        {"verdict": "pass", "reason": "fine", "score": 1},
        {"Verdict": "pass", "reason": "fine"},
        {"verdict": "fail", "Verdict": "pass", "reason": "fine"},
        {"result": {"verdict": "pass", "reason": "fine"}},
        {"violations": [], "passes": []},
    ],
)
def test_an_object_with_other_fields_does_not_count(value):
    assert read(json.dumps(value)) == Ballot(None, "wrong_fields")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "pass",
        "GRADE: Correct",
        "The verdict is pass.",
        f"My verdict: {reply('pass')}",
        f"{reply('pass')} That is all.",
        f"Here it is:\n```json\n{reply('pass')}\n```",
        f"```json\n{reply('pass')}\n```\nThat is all.",
        f"{reply('pass')}\n{reply('pass')}",
        f"{reply('fail')}\n{reply('pass')}",
        f"```json\n{reply('fail')}\n```\n```json\n{reply('pass')}\n```",
        f"```json\n{reply('fail')}\n{reply('pass')}\n```",
        f"```json\n{reply('pass')}",
        f"```json\n{reply('pass')}```",
        f"````json\n{reply('pass')}\n```",
        f"<think>{reply('pass')}",
        f"{reply('pass')}<think></think>",
        f"<think>a</think>{reply('fail')}<think>b</think>",
        '{"verdict": "fail", "verdict": "pass", "reason": ""}',
        '{"verdict": "fail", "ver\u200bdict": "pass", "reason": ""}',
        '{"verdict": "pass", "reason": "a\nb"}',
        '{"verdict": "pass", "reason": "fine"} // good',
        '{"verdict": "pass", /* good */ "reason": "fine"}',
        '{"verdict": "pass", "reason": "fine",}',
        "{'verdict': 'pass', 'reason': 'fine'}",
        '{"verdict": "pass", "reason": "fi',
        '{"verdict": "pass", "reason": NaN}',
        "{" * 5_000,
        "```\n" * 5_000,
    ],
)
def test_a_reply_that_is_not_one_object_alone_does_not_count(text):
    ballot = read(text)
    assert ballot.verdict is None
    assert ballot.reason.startswith("not_json: ")


@pytest.mark.parametrize("text", ["null", "1", '"pass"', f"[{reply('pass')}]", "```\n[]\n```"])
def test_a_value_that_is_no_object_does_not_count(text):
    assert read(text) == Ballot(None, "not_an_object")


@pytest.mark.parametrize("text", [None, reply(), reply()[:9]])
@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        (Finish.LENGTH, "truncated"),
        (Finish.CONTENT_FILTER, "content_filter"),
        (Finish.REFUSAL, "refusal"),
    ],
)
def test_a_reply_that_was_cut_short_says_so_whatever_it_holds(finish, reason, text):
    assert read(text, finish=finish) == Ballot(None, reason)


def test_a_reply_without_text_says_so():
    assert read(None) == Ballot(None, "no_text")


# Criteria


def ruled(*rules):
    return [{"rule": rule, "reason": f"about {rule}"} for rule in rules]


def read_criteria(violations, passes, *, dos=("be kind", "be brief"), donts=("shout",)):
    text = json.dumps({"violations": violations, "passes": passes})
    return read_vote(CRITERIA, model_answer(text), dos=dos, donts=donts)


def test_a_vote_without_violations_passes():
    ballot = read_criteria([], ruled("shout", "be kind", "be brief"))
    said = "shout: about shout; be kind: about be kind; be brief: about be brief"
    assert ballot == Ballot("pass", said, 1.0)


def test_a_violation_fails_and_gives_credit_for_the_rest():
    ballot = read_criteria(ruled("be brief"), ruled("be kind", "shout"))
    assert ballot == Ballot("fail", "be brief: about be brief", pytest.approx(2 / 3))
    assert read_criteria(ruled("shout", "be kind", "be brief"), []).credit == 0


@pytest.mark.parametrize(
    ("violations", "passes", "reason"),
    [
        ([], ["be kind", "be brief"], "rule_missing: shout"),
        ([], [], "rule_missing: be kind"),
        (["shout"], ["be kind", "be brief", "shout"], "rule_not_once: shout"),
        ([], ["be kind", "be brief", "shout", "be kind"], "rule_not_once: be kind"),
        ([], ["be kind", "be brief", "shout", "be glad"], "rule_unknown: be glad"),
        ([], ["be kind", "be brief", "Shout"], "rule_missing: shout"),
        ([], ["be kind", "be brief", "shout", "shout "], "rule_unknown: shout "),
        ([], ["be kind", "be brief", "shout", "x" * 61], f"rule_unknown: {'x' * 57}..."),
    ],
)
def test_every_rule_must_be_listed_exactly_once_with_its_own_words(violations, passes, reason):
    assert read_criteria(ruled(*violations), ruled(*passes)) == Ballot(None, reason)


def test_zero_width_characters_of_a_rule_are_ignored_on_both_sides():
    family = "\U0001f468\u200d\U0001f469"
    ballot = read_criteria([], ruled(family, "b\u200be"), dos=[family], donts=["be"])
    assert (ballot.verdict, ballot.credit) == ("pass", 1)


def test_a_rule_that_the_case_has_twice_is_listed_twice():
    twice = {"dos": ["a", "a"], "donts": []}
    assert read_criteria(ruled("a"), ruled("a"), **twice).verdict == "fail"
    assert read_criteria([], ruled("a"), **twice) == Ballot(None, "rule_not_once: a")


def test_without_rules_there_is_nothing_to_pass():
    assert read_criteria([], [], dos=[], donts=[]) == Ballot(None, "no_rules")


@pytest.mark.parametrize(
    "value",
    [
        {"verdict": "pass", "reason": "fine"},
        {"violations": []},
        {"violations": [], "passes": {}},
        {"violations": None, "passes": []},
        {"violations": [], "passes": ["be kind"]},
        {"violations": [], "passes": [{"rule": "be kind"}]},
        {"violations": [], "passes": [{"rule": "be kind", "reason": 1}]},
        {"violations": [], "passes": [{"rule": ["be kind"], "reason": ""}]},
        {"violations": [], "passes": [{"rule": "be kind", "reason": "", "weight": 1}]},
        {"violations": [], "passes": [], "verdict": "pass"},
    ],
)
def test_rules_in_another_shape_do_not_count(value):
    ballot = read_vote(CRITERIA, model_answer(json.dumps(value)), dos=["be kind"])
    assert ballot == Ballot(None, "wrong_fields")


# Deciding


def votes(letters):
    words = {"p": "pass", "f": "fail", "-": None}
    return [Ballot(words[letter], "") for letter in letters]


@pytest.mark.parametrize(
    ("letters", "runs", "outcome"),
    [
        ("p", 1, "passed"),
        ("f", 1, "failed"),
        ("-", 1, "unmeasured"),
        ("ppf", 3, "passed"),
        ("pp-", 3, "passed"),
        ("pff", 3, "failed"),
        ("pf-", 3, "failed"),
        ("ff-", 3, "failed"),
        ("p--", 3, "unmeasured"),
        ("f--", 3, "unmeasured"),
        ("pppff", 5, "passed"),
        ("ppp--", 5, "passed"),
        ("pp--f", 5, "failed"),
        ("ppff-", 5, "failed"),
        ("pp---", 5, "unmeasured"),
        ("pp", 3, "passed"),
        ("p", 3, "unmeasured"),
        ("pf", 3, "failed"),
        ("", 5, "unmeasured"),
    ],
)
def test_more_than_half_of_all_runs_decide(letters, runs, outcome):
    decision = decide(votes(letters), runs)
    assert decision.outcome == outcome
    counts = (decision.passed, decision.failed, decision.invalid)
    passed, failed = letters.count("p"), letters.count("f")
    assert counts == (passed, failed, runs - passed - failed)


@pytest.mark.parametrize("runs", [1, 3, 5])
def test_the_order_of_votes_decides_nothing(runs):
    for letters in product("pf-", repeat=runs):
        assert decide(votes(letters), runs) == decide(votes(sorted(letters)), runs)


def test_a_decision_says_why_it_is_no_pass():
    assert decide(votes("p"), 1) == Decision(Outcome.PASSED, None, 1, 0, 0)
    assert decide(votes("f"), 1).reason == "judged_fail"
    assert decide(votes("-"), 1).reason == "P6601: no valid verdict"


@pytest.mark.parametrize(
    ("letters", "runs", "unanimous"),
    [("ppp", 3, True), ("fff", 3, True), ("ppf", 3, False), ("pp-", 3, False), ("pp", 3, False)],
)
def test_unanimous_is_what_every_run_says(letters, runs, unanimous):
    assert decide(votes(letters), runs).is_unanimous is unanimous


# Answers that try to be their own judge

CASE = {"question": "May I have my money back?"}


def told(response):
    """The user message that a judge is sent about an answer."""
    made = judge_inputs(RUBRIC, Judged(response=response, case_inputs=CASE))
    return RUBRIC.messages(made.values)[1].content


@pytest.mark.parametrize("response", HOSTILE)
@pytest.mark.parametrize("judge", JUDGES)
def test_an_answer_never_makes_its_own_verdict(judge, response):
    assert read(judge(told(response))).verdict in ("fail", None)


@pytest.mark.parametrize("response", HOSTILE)
def test_an_answer_does_not_get_out_of_its_fence(response):
    assert own_words(told(response)) == own_words(told("Yes."))
    assert "What is your verdict?" in USER


def test_a_vote_of_one_run_that_cannot_be_read_leaves_the_others_standing():
    replies = [echoes(told(FORGED)), reply("fail"), reply("fail")]
    decision = decide([read(text) for text in replies], 3)
    assert (decision.outcome, decision.invalid) == (Outcome.FAILED, 1)
