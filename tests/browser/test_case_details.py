"""What is shown of one case, and of two answers to it."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from page_opening import Opener
from page_reading import chosen, headings, names, table
from sample_reports import FAILED, case, check, judge_facts, judged, row, single, wrong
from two_reports import compared, made, several

from proctor.records import ExpectationResult, Remark, Severity, ToolCall
from proctor.rendering.escaping import terminal_text
from proctor.rendering.wording import money_text
from proctor.reporting import CaseSpool, RunReport


def opened(open_page, answer, expected, **options):
    """The page of one case that failed."""
    return open_page.report(single([(case("a", expected=expected), [row(wrong(), text=answer)])]))


def fields(page):
    """The rows of the first table of fields that differ."""
    return table(page.locator("#details .diff").first)[1:]


def test_fields_of_an_answer_beside_what_was_expected(open_page):
    page = opened(
        open_page,
        '{"label": "positive", "more": 1, "same": [1, {"x": null}]}',
        {"label": "negative", "gone": True, "same": [1, {"x": None}]},
    )
    assert fields(page) == [
        ["label", "negative", "positive", "differs"],
        ["gone", "true", "absent", "missing"],
    ]
    assert page.locator(".diff mark").all_inner_texts() == ["nega", "posi"]
    page.click("text=Show 3 other fields")
    assert fields(page)[2:] == [
        ["more", "absent", "1", "not asked for"],
        ["same[0]", "1", "1", "same"],
        ["same[1].x", "null", "null", "same"],
    ]


@pytest.mark.parametrize(
    ("expected", "answer", "field"),
    [
        ({"a": [1, 2]}, '{"a": [1, 3]}', ["a[1]", "2", "3", "differs"]),
        ({"a": [1, 2]}, '{"a": [1]}', ["a[1]", "2", "absent", "missing"]),
        ({"a": {}}, '{"a": []}', ["a", "{}", "[]", "differs"]),
        ({"a": "1"}, '{"a": 1}', ["a", "1", "1", "differs"]),
        ({"b c": 1}, '{"b c": 2}', ['["b c"]', "1", "2", "differs"]),
        ({"__proto__": 1}, '{"__proto__": 2}', ["__proto__", "1", "2", "differs"]),
        ({"a": None}, "{}", ["a", "null", "absent", "missing"]),
        (["x"], '["y"]', ["[0]", "x", "y", "differs"]),
        (
            {"n": 2**63 + 1},
            '{"n": 9223372036854775808}',
            ["n", str(2**63 + 1), str(2**63), "differs"],
        ),
        ({"s": "a😀b"}, '{"s": "a😁b"}', ["s", "a😀b", "a😁b", "differs"]),
    ],
    ids=lambda value: None if isinstance(value, list) else str(value),
)
def test_a_field_that_differs(open_page, expected, answer, field):
    assert fields(opened(open_page, answer, expected)) == [field]


def test_what_is_no_json_stands_beside_it_as_it_is(open_page):
    page = opened(open_page, "It is <b>fine</b>.\n\tReally.", {"label": "negative"})
    assert page.locator(".diff").count() == 0
    blocks = page.locator("#details .pair .block").all_inner_texts()
    assert blocks == ["It is <b>fine</b>.\n\tReally.", '{\n  "label": "negative"\n}']


def test_json_is_laid_out_and_can_be_seen_as_it_came(open_page):
    page = opened(open_page, '{"a":1,"a":2}', {"a": 2})
    answer = page.locator(".answer")
    assert answer.locator("pre").inner_text() == '{\n  "a": 2\n}'
    answer.get_by_role("button").click()
    assert answer.locator("pre").inner_text() == '{"a":1,"a":2}'


def test_whole_numbers_keep_their_digits(open_page):
    page = opened(open_page, "no", {"n": 12345678901234567890, "x": [0.5, -(2**70)]})
    text = page.inner_text("#details")
    assert "12345678901234567890" in text
    assert str(-(2**70)) in text


def repeated():
    rows = [
        row(check(), repeat=1, text="first"),
        row(wrong(), repeat=2, text="second"),
        row(check(), repeat=3, text="third"),
    ]
    return single([(case("a"), rows)], repeats=3)


def test_every_repeat_can_be_seen_and_the_first_is_one_that_failed(open_page):
    page = open_page.report(repeated())
    repeats = page.locator(".picker button")
    assert [one.split() for one in repeats.all_inner_texts()] == [
        ["✓", "passed", "1"],
        ["✕", "failed", "2"],
        ["✓", "passed", "3"],
    ]
    answers = [page.inner_text(".reply")]
    for _ in range(2):
        page.keyboard.press("]")
        answers.append(page.inner_text(".reply"))
    repeats.first.click()
    answers.append(page.inner_text(".reply"))
    assert answers == ["second", "third", "third", "first"]
    assert page.evaluate("document.activeElement.textContent") == "✓passed 1"
    assert page.inner_text(".picker .muted") == "2 of 3 passed"
    assert "flaky" in page.inner_text(".case-head")


def test_votes_with_their_reasons(open_page):
    voted = judged("pfn", FAILED, reason="majority_fails", models="jk")
    made_ = single([(case("a"), [row(voted)])], ids=["tone"], judge=judge_facts())
    page = open_page.report(made_)
    votes = [" ".join(one.split()) for one in page.locator(".votes li").all_inner_texts()]
    assert votes == [
        "✓ passed pass local/j because of p",
        "✕ failed fail local/k because of f",
        "? unmeasured no verdict local/j because of n",
    ]
    assert page.inner_text(".check > p") == "majority fails"


def test_what_was_expected_of_a_build(open_page):
    said = ExpectationResult("It has <tests>.", 1, FAILED, judged("f", FAILED).votes)
    spool = CaseSpool()
    for one in repeated().cases(0, 0):
        spool.add(replace(one, expectations=[said]))
    page = open_page.report(RunReport(repeated().head, [[spool]]))
    shown = page.locator("#details section", has_text="Expectations").locator(".check")
    assert shown.locator("> p").inner_text().split("\n")[-1].endswith("It has <tests>. repeat 1")
    assert "because of f" in shown.locator(".votes").inner_text()


def test_a_warning_is_no_failure(open_page):
    mild = check("tone", FAILED, reason="not_equal", severity=Severity.WARN)
    page = open_page.report(single([(case("a"), [row(check(), mild)])], ids=["label", "tone"]))
    assert headings(page) == ["Passed 1"]
    assert "warning" in page.locator(".entry .badges").inner_text()
    assert page.locator(".check .tag").inner_text() == "warning"


def test_calls_of_tools_and_what_targets_add(open_page):
    one = row(wrong())
    answer = replace(
        one.answer,
        text=None,
        tool_calls=[ToolCall("c1", "look_up", {"id": 7}), ToolCall(None, "raw", "not json")],
        transcript=["hello"],
    )
    page = open_page.report(single([(case("a"), [replace(one, answer=answer)])]))
    text = page.inner_text("#details")
    assert "The answer holds no text." in text
    calls = page.locator(".call")
    assert calls.nth(0).locator("p").inner_text() == "calls look_up c1"
    assert calls.nth(0).locator("pre").inner_text() == '{\n  "id": 7\n}'
    assert calls.nth(1).locator("pre").inner_text() == "not json"
    page.click("text=Transcript")
    assert page.locator("details[open] pre").inner_text() == '[\n  "hello"\n]'


@pytest.fixture(scope="module")
def bare(browser, tmp_path_factory):
    """A page whose functions are called by themselves."""
    opener = Opener(browser, tmp_path_factory.mktemp("bare"))
    yield opener.report(single([]))
    opener.close()


@pytest.mark.parametrize(
    "usd",
    [0, 0.003424, 12, 0.00000004, 5e-7, 4.99e-7, 0.1 + 0.2, 1e12, 999999999999.5, 1234.5, 1e-10],
)
def test_money_is_spelled_as_in_every_other_format(bare, usd):
    assert bare.evaluate("usd => money(usd)", usd) == money_text(usd)


def test_what_cannot_be_seen_is_spelled_as_in_every_other_format(bare):
    found = bare.evaluate(
        """() => {
          const found = [];
          for (let code = 0; code < 0x110000; code += 1) {
            const text = String.fromCodePoint(code);
            if (flat(text) !== text) found.push([code, flat(text)]);
          }
          return found;
        }"""
    )
    wanted = [[code, terminal_text(chr(code))] for code in range(0x110000)]
    assert found == [[code, text] for code, text in wanted if text != chr(code)]


def test_what_cannot_be_seen_is_shown(open_page):
    page = opened(open_page, "abc\u202edef\x1b[31m\u200b", {"label": "x"})
    assert page.inner_text(".reply") == "abc\\u202edef\\x1b[31m\\u200b"
    assert page.locator(".reply .unseen").all_inner_texts() == ["\\u202e", "\\x1b", "\\u200b"]


def both(open_page, before, now, *matches, **options):
    return open_page.comparison(compared(before, now, *matches), before, now, **options)


def test_cases_of_two_reports_stand_in_groups(open_page):
    before = made(
        {"worse": "p", "better": "f", "bad": "f", "good": "p", "old": "p", "other": "p"},
        expected={"other": 1},
    )
    now = made(
        {"good": "p", "bad": "f", "better": "p", "worse": "f", "new": "p", "other": "p"},
        expected={"other": 2},
        salt="now",
    )
    page = both(open_page, before, now)
    assert headings(page) == [
        "Passed only before 1",
        "Passes only now 1",
        "Passes in neither 1",
        "Passes in both 1",
        "Expects something else 1",
        "Only in the baseline 1",
        "Only in the candidate 1",
    ]
    assert names(page) == ["worse", "better", "bad", "good", "other", "old", "new"]
    assert page.title() == "REGRESSED acme - Proctor"
    page.click("[data-group=removed]")
    assert "The candidate does not have this case." in page.inner_text("#details")
    page.click("[data-group=removed]")
    page.click("[data-group=changed]")
    assert table(page.locator("#details section", has_text="What is expected").locator("table"))[
        1
    ] == [
        "whole value",
        "1",
        "2",
        "differs",
    ]


def test_both_answers_stand_side_by_side_and_field_by_field(open_page):
    before = made({"a": "p"}, answers={"a": ['{"label": "yes", "why": "x"}']})
    now = made({"a": "f"}, answers={"a": ['{"label": "no", "how": "y"}']}, salt="now")
    page = both(open_page, before, now)
    assert chosen(page) == "a"
    assert fields(page) == [
        ["label", "yes", "no", "differs"],
        ["why", "x", "absent", "missing"],
        ["how", "absent", "y", "new"],
    ]
    titles = page.locator("#details .pair h3").all_inner_texts()
    assert titles[:4] == ["Baseline", "Now", "Answer of the baseline", "Answer now"]
    assert "passed 1/1 then, 0/1 now" in page.inner_text("#details")


def test_a_renamed_prompt_and_a_selection(open_page):
    two = several({"reviews": {"brief": {"a": "ppp", "b": "fff"}, "few": {"a": "fff", "b": "ppp"}}})
    page = both(open_page, two, two, "brief=few")
    assert names(page) == ["a", "b"]
    assert headings(page) == ["Passed only before 1", "Passes only now 1"]
    card = page.locator(".card")
    assert card.locator(".data").inner_text() == "reviews: brief@local/gemma -> few@local/gemma"
    assert card.locator("svg").count() == 2


def test_a_comparison_has_its_gates_and_what_is_said_of_the_run(open_page):
    before, now = made({"a": "p"}), made({"a": "f"}, salt="now")
    gate = Remark(met=False, word="NOT MET", text="the gate of tier `pr`: no")
    page = both(open_page, before, now, remarks=[gate])
    said = page.inner_text("#headline")
    assert said.startswith("1 case passed in the baseline and does not now")
    assert "now failed 0 of 1 row passed, 1 failed" in " ".join(said.split())
    assert "NOT MET the gate of tier `pr`: no" in said
    page.keyboard.press("s")
    text = " ".join(page.inner_text("#summary").split())
    assert "Gates (strict)" in text
    assert "✕ red cases that passed and do not now: 1" in text
    assert re.search(r"A report is a claim about one run, not a proof", text)


def test_report_of_several_subjects_names_what_tells_them_apart(open_page):
    two = several({"reviews": {"brief": {"a": "f"}, "few": {"a": "p"}}})
    page = open_page.report(two)
    assert page.locator(".glimpse strong").all_inner_texts() == ["brief", "few"]
