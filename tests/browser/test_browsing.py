"""Looking at reports: lists, filters, keys, themes, details."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from page_reading import chosen, counted, figures, headings, names, table
from sample_reports import (
    FAILED,
    UNMEASURED,
    case,
    check,
    facts,
    judge_facts,
    judged,
    miss,
    report,
    row,
    single,
    subject,
    wrong,
)

from proctor.records import Thresholds, Warn
from proctor.reporting import CaseSpool, RunReport, without_content


def tagged(id_, *tags, **options):
    return replace(case(id_, **options), tags=list(tags))


def mixed():
    """One case of each outcome, in the order that is not that of the list."""
    return single(
        [
            (tagged("fine", "easy"), [row(check())]),
            (tagged("lost"), [miss()]),
            (tagged("wrong", "hard", "easy"), [row(wrong())]),
            (tagged("open"), [row(check("tone", UNMEASURED, reason="no_verdict"))]),
        ],
        ids=("label", "tone"),
    )


@pytest.fixture
def page(open_page):
    return open_page.report(mixed())


def test_the_top_says_what_came_out(page):
    assert page.title() == "FAILED acme - Proctor"
    assert page.locator("#verdict").inner_text().split() == ["✕", "FAILED"]
    said = page.locator("#headline").inner_text()
    assert said == "1 of 4 rows passed, 1 failed, 1 errored, 1 unmeasured"
    bar = page.locator("#outcome-bar svg")
    assert bar.get_attribute("aria-label") == "Rows: 1 passed, 1 failed, 1 errored, 1 unmeasured"


def test_what_did_not_pass_comes_first(page):
    assert names(page) == ["wrong", "lost", "open", "fine"]
    assert headings(page) == ["Failed 1", "Errored 1", "Unmeasured 1", "Passed 1"]
    assert chosen(page) == "wrong"
    assert counted(page) == "4 cases"


def test_outcomes_can_be_chosen_together(page):
    page.click("[data-group=errored]")
    assert (names(page), counted(page), chosen(page)) == (["lost"], "1 of 4 cases", "lost")
    page.click("[data-group=passed]")
    assert names(page) == ["lost", "fine"]
    page.click("[data-group=errored]")
    assert names(page) == ["fine"]


def test_a_check_that_did_not_pass(page):
    options = page.locator("#check option").all_inner_texts()
    assert options == ["Any check", "label (1)", "tone (1)"]
    page.select_option("#check", "tone")
    assert names(page) == ["open"]


def test_a_tag(page):
    assert page.locator("#tag option").all_inner_texts() == ["Any tag", "easy (2)", "hard (1)"]
    page.select_option("#tag", "easy")
    assert names(page) == ["wrong", "fine"]


def test_filters_hold_together_and_are_cleared_together(page):
    page.select_option("#tag", "easy")
    page.click("[data-group=failed]")
    page.fill("#search", "WRONG")
    assert names(page) == ["wrong"]
    page.fill("#search", "fine")
    assert names(page) == []
    assert page.locator("#nothing").inner_text() == "No case fits these filters."
    assert page.locator("#details").inner_text() == "No case is chosen."
    page.click("#clear")
    assert (len(names(page)), page.input_value("#search"), counted(page)) == (4, "", "4 cases")
    assert page.locator("#clear").is_hidden()


@pytest.mark.parametrize(
    "text",
    [
        "an input",
        "a KEY",
        "wanted",
        "replied",
        "a reason",
        "why judged",
        "local/j",
        "P6402",
        "a tag",
    ],
)
def test_search_looks_everywhere(open_page, text):
    votes = judged("f", FAILED, reason="a reason")
    said = replace(votes.votes[0], reason="why judged")
    made = single(
        [
            (case("other"), [row(check())]),
            (
                replace(
                    case("id", inputs={"a key": "an input"}, expected="wanted"), tags=["a tag"]
                ),
                [
                    row(replace(votes, votes=[said]), text="It replied."),
                    replace(miss(), repeat=2),
                ],
            ),
        ],
        repeats=2,
        ids=("label", "tone"),
        judge=judge_facts(),
    )
    page = open_page.report(made)
    page.fill("#search", text)
    assert names(page) == ["id"]


def several():
    return report(
        (
            facts("one", cases=1),
            (subject("x"), [(case("a"), [row(check())])]),
            (subject("y"), [(case("a"), [row(wrong())])]),
        ),
        (facts("two"), (subject("x"), [(case("c"), [row(check(), cost_usd=None)])])),
    )


def test_a_subject_and_its_rate(open_page):
    page = open_page.report(several())
    cards = page.locator(".card")
    assert cards.all_inner_texts()[0].split("\n") == [
        "one: x@local/gemma",
        "100% passed (1/1), cost $0.001",
    ]
    assert "cost \u2013" in cards.nth(2).inner_text()
    label = cards.nth(1).locator("svg").get_attribute("aria-label")
    assert label.startswith("Pass rate 0%, 95% interval 0 to 0.")
    cards.nth(1).click()
    assert (names(page), cards.nth(1).get_attribute("aria-pressed")) == (["a"], "true")
    cards.nth(1).click()
    assert names(page) == ["a", "a", "c"]


def test_the_list_is_gone_through_with_keys_only(page):
    keys = page.keyboard
    keys.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    keys.type("s")
    keys.press("Backspace")
    keys.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"
    for key, expected in (
        ("ArrowDown", "lost"),
        ("j", "open"),
        ("End", "fine"),
        ("j", "fine"),
        ("k", "open"),
        ("Home", "wrong"),
        ("PageDown", "fine"),
        ("ArrowUp", "open"),
    ):
        keys.press(key)
        assert chosen(page) == expected, key
    selected = page.locator("[role=option][aria-selected=true]")
    assert selected.get_attribute("id") == page.get_attribute("#list", "aria-activedescendant")
    assert selected.get_attribute("aria-posinset") == "3"
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "details"


def test_keys_for_groups_themes_and_views(page):
    keys = page.keyboard
    keys.press("2")
    assert names(page) == ["lost"]
    keys.press("x")
    assert len(names(page)) == 4
    keys.press("s")
    assert page.locator("#summary").is_visible()
    assert page.locator("#cases").is_hidden()
    keys.press("s")
    assert page.locator("#cases").is_visible()
    keys.press("?")
    assert page.locator("#keys").is_visible()
    keys.press("2")
    keys.press("Escape")
    assert page.locator("#keys").is_hidden()
    assert len(names(page)) == 4


def test_single_keys_can_be_turned_off(page):
    page.click("#help")
    page.uncheck("#keys-on")
    page.click("#keys-close")
    page.keyboard.press("2")
    page.keyboard.press("j")
    assert (len(names(page)), chosen(page)) == (4, "wrong")
    page.reload()
    page.keyboard.press("2")
    assert len(names(page)) == 4


def test_every_control_is_reached_with_tab(page):
    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(a => a.id || a.dataset.group || a.dataset.subject)(document.activeElement)"
            )
        )
    wanted = [
        "show-cases",
        "show-summary",
        "theme",
        "help",
        "search",
        "failed",
        "0",
        "check",
        "tag",
    ]
    places = [reached.index(one) for one in [*wanted, "list"]]
    assert places == sorted(places)


BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(246, 246, 243)", "rgb(19, 20, 23)"


@pytest.mark.parametrize(("scheme", "colour"), [("light", LIGHT), ("dark", DARK)])
def test_the_theme_is_that_of_the_system(open_page, scheme, colour):
    assert open_page.report(mixed(), color_scheme=scheme).evaluate(BACKGROUND) == colour


def test_the_theme_can_be_chosen_and_is_remembered(open_page):
    page = open_page.report(mixed(), color_scheme="dark")
    assert page.inner_text("#theme") == "Theme: system"
    page.keyboard.press("t")
    assert (page.inner_text("#theme"), page.evaluate(BACKGROUND)) == ("Theme: light", LIGHT)
    page.reload()
    # A busy browser may show the page before it has written what is to be kept.
    for _ in range(50):
        if page.evaluate(BACKGROUND) == LIGHT:
            break
        page.reload()
    assert page.evaluate(BACKGROUND) == LIGHT
    page.click("#theme")
    assert (page.inner_text("#theme"), page.evaluate(BACKGROUND)) == ("Theme: dark", DARK)


def test_the_address_names_the_case(open_page):
    page = open_page.report(mixed(), address="#case=2")
    assert chosen(page) == "open"
    page.keyboard.press("k")
    page.wait_for_url("**#case=1")


def test_ten_thousand_cases_are_drawn_on_demand(open_page):
    cases = [
        (
            case(f"case-{place:05}"),
            [row(wrong() if place % 100 == 7 else check(), text=f"t{place}")],
        )
        for place in range(10_000)
    ]
    page = open_page.report(single(cases))
    assert headings(page) == ["Failed 100"]
    assert names(page)[:2] == ["case-00007", "case-00107"]
    page.focus("#list")
    page.keyboard.press("End")
    assert chosen(page) == "case-09999"
    assert page.locator(".entry").count() < 60
    assert names(page)[-1] == "case-09999"
    page.evaluate("document.getElementById('list').scrollTop = 300000")
    page.wait_for_selector("#entry-5175", state="attached")
    assert page.locator(".entry").count() < 60
    places = page.eval_on_selector_all(
        ".entry", "rows => rows.map(row => Number(row.dataset.place))"
    )
    assert places == list(range(places[0], places[0] + len(places)))
    page.fill("#search", "t4321")
    assert (names(page), counted(page)) == (["case-04321"], "1 of 10,000 cases")


def test_rows_without_answers_say_why(page):
    page.click("[data-group=errored]")
    details = page.locator("#details")
    assert details.locator(".error").inner_text() == "P6402 no recording: the prompt changed"
    assert "There is no answer." in details.inner_text()
    assert figures(page)["Cost"] == "\u2013"


def test_a_report_without_answers_says_so(open_page):
    made = mixed()
    spool = CaseSpool()
    for one in made.cases(0, 0):
        spool.add(without_content(one))
    page = open_page.report(RunReport(made.head, [[spool]]))
    assert "This report holds no answers." in page.inner_text("#details")
    assert page.locator(".check h4 .data").first.inner_text() == "label"


@pytest.mark.parametrize(
    "made",
    [single([]), RunReport(replace(single([]).head, suites=[]), []), report((facts(),))],
    ids=["no cases", "no suites", "no subjects"],
)
def test_nothing_was_run(open_page, made):
    page = open_page.report(made)
    assert page.inner_text("#nothing") == "There are no cases."
    page.keyboard.press("j")
    page.keyboard.press("]")
    page.keyboard.press("s")
    assert page.locator("#summary h2").first.inner_text() == "The run"


def test_a_stopped_run_and_a_missing_shard_are_said(open_page):
    made = mixed()
    head = replace(made.head, verdict="interrupted", partial=True)
    page = open_page.report(RunReport(head, [[made.cases(0, 0)]]))
    said = page.inner_text("#headline")
    assert "The run was stopped before its end." in said
    assert "This report is partial: a shard is missing." in said
    assert page.inner_text("#verdict").split() == ["!", "INTERRUPTED"]


def test_figures_of_a_row(page):
    page.click("[data-group=failed]")
    assert figures(page) == {
        "Cost": "$0.001",
        "Latency": "812 ms",
        "Tokens in": "100",
        "Tokens out": "10",
        "Tokens cached": "0",
        "Finish": "stop",
        "Recording": "a" * 64,
    }


def test_the_summary_has_thresholds_judges_and_warnings(open_page):
    made = single(
        [(case("a"), [row(check(), judged("ppf"))]), (case("b"), [row(wrong())])],
        ids=("label", "tone"),
        judge=judge_facts(),
        thresholds=Thresholds(pass_rate=0.9),
        warnings=[Warn("P6216", "not fenced", "x.yaml:3")],
    )
    page = open_page.report(made)
    page.click("#show-summary")
    summary = page.locator("#summary")
    thresholds = table(summary.locator("table", has_text="Thresholds"))
    assert thresholds[1][:3] == ["passRate of brief@local/gemma", "at least 0.9", "0.5"]
    assert thresholds[1][3].split() == ["✕", "not", "met"]
    checks = table(summary.locator("table", has=page.get_by_text("Checks", exact=True)))
    assert checks[1:] == [["label", "1", "1", "0", "0"], ["tone", "1", "0", "0", "0"]]
    text = summary.inner_text()
    assert "judged by local/j, 3 votes each" in text
    assert "P6216 not fenced (x.yaml:3)" in " ".join(text.split())
    assert "cost $0.002 recorded" in text
