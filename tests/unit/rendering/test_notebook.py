"""What a notebook shows of a report or a comparison: every figure, and nothing that acts."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

import proctor
from support import SUITE, Project

HOSTILE = "<img src=x onerror=alert(1)>$\\href{javascript:alert(1)}{x}$ \x1b[31m &amp; \"'"
MAY_STAND = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "br", "span"}
MAY_HAVE = {"class", "style"}


class Elements(HTMLParser):
    """The elements and the text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.pieces: list[str] = []
        self.cells: list[str] = []
        self._is_in_cell = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag in {"td", "th"}:
            self.cells.append("")
            self._is_in_cell = True

    def handle_endtag(self, tag):
        self._is_in_cell = self._is_in_cell and tag not in {"td", "th"}

    def handle_data(self, data):
        self.pieces.append(data)
        if self._is_in_cell:
            self.cells[-1] += data

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def report_of(project, answers):
    project.exam(answers)
    return proctor.run(root=project.root)


def test_the_verdict_the_counts_and_why_a_case_failed(project):
    shown = Elements(report_of(project, {"one": "yes", "two": "no"})._repr_html_())
    assert shown.text.startswith("FAILED tests: 1 of 2 rows passed, 1 failed")
    start = shown.cells.index("quiz")
    assert shown.cells[start : start + 8] == [
        "quiz",
        "answer@local/tiny",
        "1/2",
        "0.5",
        # Wilson's interval of 1 of 2 at 95%.
        "0.09453 to 0.9055",
        "0 of 2",
        "0 of 2",
        "$0.002",
    ]
    assert "not met: passRate is 0.5, at least 1 is asked for" in shown.text
    assert shown.cells[-3:] == ["two", "failed", 'right: label: expected "yes", got "no"']


def test_at_most_twenty_cases_and_how_many_more(project):
    names = [f"case-{number:02}" for number in range(23)]
    shown = Elements(report_of(project, dict.fromkeys(names, "no"))._repr_html_())
    listed = [cell for cell in shown.cells if cell.startswith("case-")]
    assert listed == names[:20]
    assert shown.text.endswith("and 3 more")


def test_failed_cases_stand_before_those_without_an_answer(project):
    project.cases(project.case("lost"), project.case("wrong"))
    project.cassette(project.recording("wrong", '{"label":"no"}'))
    shown = Elements(proctor.run(root=project.root)._repr_html_())
    outcomes = [cell for cell in shown.cells if cell in {"failed", "errored"}]
    assert outcomes == ["errored", "failed", "errored"]
    assert shown.cells.index("wrong") < shown.cells.index("lost")


def test_data_neither_acts_nor_loads_nor_is_typeset(project):
    project.write("evals/quiz.eval.yaml", SUITE)
    html = report_of(project, {"one": HOSTILE})._repr_html_()
    shown = Elements(html)
    assert shown.names <= MAY_STAND
    assert shown.attributes <= MAY_HAVE
    assert "<img src=x onerror=alert(1)>" in shown.text
    assert "\x1b" not in html
    # What starts mathematics, in an element by itself, starts none.
    bare = re.sub(r"<span>[$\\]</span>", "", html)
    assert not set(bare) & {"$", "\\"}
    assert 'class="tex2jax_ignore mathjax_ignore"' in html


def test_a_comparison_shows_what_changed(project):
    before = report_of(project, {"one": "yes", "two": "yes"})
    after = report_of(project, {"one": "yes", "two": "no"})
    html = proctor.compare(before, after)._repr_html_()
    shown = Elements(html)
    assert shown.text.startswith("REGRESSED 1 case passed in the baseline and does not now")
    assert shown.cells[-6:] == ["quiz: answer@local/tiny", "two", "watch", "1/1", "0/1", "-100"]
    assert shown.names <= MAY_STAND
    assert shown.attributes <= MAY_HAVE


def test_a_comparison_of_the_same_is_clean(project):
    report = report_of(project, {"one": "yes"})
    shown = Elements(proctor.compare(report, report)._repr_html_())
    assert shown.text.startswith("CLEAN both reports have the same bytes")
    assert json.loads(proctor.compare(report, report).to_json())["verdict"] == "clean"
