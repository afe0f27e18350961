"""Pages that are full of what wants to run: nothing of it does, and all of it is there as text."""

from __future__ import annotations

import pytest
from page_reading import chosen
from rich_reports import rich_report
from sample_reports import case, check, row, single, wrong
from two_reports import compared

from hostile_strings import MARK, PAYLOADS, hostile_report
from proctor.records import Remark
from proctor.rendering.escaping import terminal_text

TAGS = """() => {
  const found = {};
  for (const one of document.querySelectorAll("*")) found[one.tagName] = true;
  return Object.keys(found);
}"""
HARMLESS = """
HTML HEAD META TITLE STYLE BODY NOSCRIPT A HEADER DIV H1 SPAN P NAV BUTTON MAIN SECTION LABEL INPUT
FIELDSET LEGEND SELECT OPTION DIALOG H2 DL DT DD KBD TEMPLATE SCRIPT svg rect path BDI STRONG UL OL
LI ARTICLE H3 H4 CODE PRE DETAILS SUMMARY TABLE CAPTION THEAD TBODY TR TH TD MARK FOOTER
"""
ATTRIBUTES = """() => {
  const found = [];
  for (const one of document.querySelectorAll("*"))
    for (const { name, value } of one.attributes)
      if (name.startsWith("on") || (/^(href|src|action|srcdoc)$/.test(name) && value !== "#list"))
        found.push(`${name}=${value}`);
  return found;
}"""


def look_at_everything(page):
    """Show every case, every repeat, every part that is folded up, and the summary."""
    for _ in range(3):
        page.keyboard.press("]")
        for button in page.locator("#details .quiet").all():
            button.click()
        page.keyboard.press("j")
    page.fill("#search", "pwned")
    page.fill("#search", "")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.click("#show-summary")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def assert_harmless(page):
    assert page.evaluate(f"typeof window.{MARK}") == "undefined"
    assert set(page.evaluate(TAGS)) <= set(HARMLESS.split())
    assert page.locator("script").count() == 1
    assert page.evaluate(ATTRIBUTES) == []
    assert page.evaluate("Object.keys(Object.prototype).length") == 0


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_every_string_of_a_report_stays_text(open_page, payload):
    remark = Remark(met=False, word=payload, text=payload)
    page = open_page.report(hostile_report(rich_report(), payload), remarks=[remark])
    shown = terminal_text(payload)
    assert chosen(page) == shown
    assert shown in page.inner_text("#details .reply")
    look_at_everything(page)
    assert page.locator("#summary h2").nth(1).inner_text() == shown
    assert_harmless(page)


def test_every_string_of_two_reports_stays_text(open_page):
    payload = "".join(PAYLOADS)
    before = hostile_report(rich_report(outcome=check), payload)
    now = hostile_report(rich_report(text="other"), payload)
    page = open_page.comparison(compared(before, now), before, now)
    look_at_everything(page)
    assert_harmless(page)


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 200_000 + "]" * 200_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        "x" * 500_000,
        "e\u0301" * 9_000,
    ],
    ids=["deep", "deep objects", "long", "marks"],
)
def test_an_answer_that_is_hard_to_show_is_shown(open_page, answer):
    expected = {"label": "negative"}
    cases = [
        (case("a", expected=expected), [row(wrong(), text=answer)]),
        (case("b"), [row(check())]),
    ]
    page = open_page.report(single(cases))
    assert page.locator(".reply").text_content() == answer
    assert page.evaluate("document.documentElement.scrollWidth") <= 1360
    page.keyboard.press("j")
    assert chosen(page) == "b"


def test_the_policy_of_the_page_stops_scripts_and_requests(open_page):
    page = open_page.report(rich_report())
    failures = []
    page.on("requestfailed", lambda request: failures.append((request.url, request.failure)))
    tried = page.evaluate(
        """async () => {
          const failed = [];
          try { document.body.innerHTML = "<b>x</b>"; } catch { failed.push("markup"); }
          try { await fetch("https://evil.example/"); } catch { failed.push("request"); }
          const image = new Image();
          await new Promise(done => {
            image.onerror = done;
            image.src = "https://evil.example/x.png";
          });
          const style = document.createElement("style");
          style.textContent = "body { display: none; }";
          document.head.append(style);
          if (getComputedStyle(document.body).display !== "none") failed.push("style");
          return failed;
        }"""
    )
    assert tried == ["markup", "request", "style"]
    assert any("Content Security Policy" in said for said in open_page.said)
    assert failures == [("https://evil.example/x.png", "csp")]
    open_page.said.clear()
    open_page.requests.pop()
