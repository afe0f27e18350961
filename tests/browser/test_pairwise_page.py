"""The page of compared pairs: what it shows, who can use it, and that its data stays data."""

from __future__ import annotations

import pytest
from test_accessible_pages import barriers

from hostile_strings import MARK, PAYLOADS, full_of
from pairwise_findings import EVERYTHING, A, answers, found, pair
from proctor.records import RenderOptions
from proctor.rendering.html.pairwise import render_html_pairwise


def opened(open_page, made=EVERYTHING, compared=None, **options):
    held = answers(*made.pairs) if compared is None else compared
    content = b"".join(render_html_pairwise(made, held, RenderOptions()))
    return open_page.file(content, **options)


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def test_both_answers_and_every_vote_stand_side_by_side(open_page):
    page = opened(open_page)
    assert page.locator("#verdict").inner_text().strip().endswith("UNMEASURED")
    assert page.locator(".duel").count() == 6
    page.locator(".duel summary").first.click()
    # What is within is drawn once the browser says that it was opened.
    page.locator(".duel-answer").nth(1).wait_for()
    sides = page.locator(".duel-answer").all_inner_texts()
    assert [side.splitlines()[-1] for side in sides] == ["the answer of A", "the answer of B"]
    assert "winner" in sides[0]
    assert "B first: A: It is." in page.locator(".duel-judges").inner_text()


def test_pairs_are_chosen_by_outcome_and_by_text(open_page):
    page = opened(open_page)
    page.select_option("#outcome", "tie")
    assert page.locator(".duel summary .data").all_inner_texts() == ["three", "four"]
    page.fill("#search", "FOUR")
    assert page.locator("#count").inner_text() == "1 of 6 pairs"
    page.select_option("#outcome", "")
    page.fill("#search", "no recording")
    assert page.locator(".duel summary .data").all_inner_texts() == ["lost"]


def test_many_pairs_are_drawn_some_at_a_time(open_page):
    page = opened(open_page, found(*(pair(f"case-{n}", "a", A) for n in range(250))))
    assert page.locator(".duel").count() == 100
    page.click("#more")
    page.click("#more")
    assert page.locator(".duel").count() == 250
    assert page.locator("#more").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_barriers(open_page, scheme):
    page = opened(open_page, color_scheme=scheme)
    assert barriers(page) == []
    open_all(page)
    page.wait_for_selector(".duel-inside")
    assert barriers(page) == []


def test_every_string_stays_text(open_page):
    for payload in PAYLOADS:
        made = full_of(EVERYTHING, payload)
        page = opened(open_page, made, full_of(answers(*EVERYTHING.pairs), payload))
        open_all(page)
        page.wait_for_selector(".duel-inside")
        page.fill("#search", "pwned")
        assert page.evaluate(f"typeof window.{MARK}") == "undefined"
        assert page.locator("script").count() == 1
        assert page.locator("img, iframe, svg, base, main style").count() == 0
        assert page.evaluate("Object.keys(Object.prototype).length") == 0


def test_a_narrow_page_scrolls_one_way(open_page):
    page = opened(open_page, viewport={"width": 390, "height": 780})
    open_all(page)
    page.wait_for_selector(".duel-inside")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
