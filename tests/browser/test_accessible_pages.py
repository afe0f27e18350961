"""What axe-core finds in pages, in both themes."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich_reports import rich_report
from sample_reports import check, single
from two_reports import compared

AXE = (Path(__file__).parent / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
BARS = {"serious", "critical"}


def barriers(page):
    """What keeps people out: each rule with what it says of the first place."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert found["passes"], "axe looked at nothing"
    return [
        (one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"])
        for one in found["violations"]
        if one["impact"] in BARS
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_has_no_barriers(open_page, scheme):
    page = open_page.report(rich_report(), color_scheme=scheme)
    assert barriers(page) == []
    page.keyboard.press("j")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.locator("#details .quiet").first.click()
    page.click("[data-group=failed]")
    assert barriers(page) == []
    page.keyboard.press("s")
    assert barriers(page) == []
    page.keyboard.press("?")
    assert barriers(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comparison_has_no_barriers(open_page, scheme):
    before = rich_report(outcome=check, text='{"a": 1}')
    now = rich_report(text='{"a": 2}')
    page = open_page.comparison(compared(before, now), before, now, color_scheme=scheme)
    assert barriers(page) == []
    page.keyboard.press("s")
    assert barriers(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_neither_has_a_page_on_which_nothing_is(open_page, scheme):
    assert barriers(open_page.report(single([]), color_scheme=scheme)) == []


def test_a_narrow_page_has_no_barriers_and_scrolls_one_way(open_page):
    page = open_page.report(rich_report(), viewport={"width": 390, "height": 780})
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
