"""What a reader sees of a page."""

from __future__ import annotations


def names(page):
    """The cases that are drawn in the list, from the top."""
    return page.locator(".entry .name .data").all_inner_texts()


def headings(page):
    """The headings of the list that are drawn."""
    return page.locator(".group").all_inner_texts()


def chosen(page):
    """The case whose details are shown."""
    return page.locator("#details h2").inner_text()


def counted(page):
    """How many cases are listed."""
    return page.locator("#count").inner_text()


def table(locator):
    """The rows of a table, a list of texts each."""
    return [row.locator("th, td").all_inner_texts() for row in locator.locator("tr").all()]


def figures(page):
    """The figures of the row that is shown, by their names."""
    pairs = page.locator("#details .figures > div")
    return {one.locator("dt").inner_text(): one.locator("dd").inner_text() for one in pairs.all()}
