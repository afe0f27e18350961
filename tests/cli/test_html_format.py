"""Pages as commands write them."""

from __future__ import annotations

import json
import re

import pytest

from proctor.cli.output import Output
from proctor.cli.printing import print_rendered
from support import EXAMPLES, proctor

REPORTS = EXAMPLES / "support-refund/reports"


def data_in(page):
    (block,) = re.findall(rb'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(block)


def test_a_run_and_its_stored_report_give_the_same_page(project):
    project.exam({"one": "yes", "two": "no"})
    ran = project.proctor("run", "--format", "html", "--out", "run.html", "--report-dir", "reports")
    assert ran.code == 1
    assert (project.root / "run.html").read_bytes() == ran.out
    assert ran.err == "FAILED  1 of 2 rows passed\n"
    stored = (project.root / "reports" / "quiz.json").read_bytes()
    assert data_in(ran.out)["report"] == json.loads(stored)
    shown = project.proctor("report", "reports/quiz.json", "--format", "html")
    assert (shown.code, shown.out) == (0, ran.out)
    again = project.proctor(
        "run", "--baseline", "reports/quiz.json", "--case", "one", "--format", "html"
    )
    data = data_in(again.out)
    assert data["baseline"] == json.loads(stored)
    assert [one["id"] for one in data["report"]["suites"][0]["subjects"][0]["cases"]] == ["one"]
    assert data["facts"]["report"]["remarks"] == []
    assert "compared with the baseline `reports/quiz.json`" in again.err


def test_a_comparison_holds_both_reports_and_the_digests_of_their_files():
    found = proctor("compare", "baseline.json", "regressed.json", "--format", "html", cwd=REPORTS)
    assert found.code == 0
    assert found.err.startswith("REGRESSED  1 case passed in the baseline and does not now")
    data = data_in(found.out)
    plain = proctor("compare", "baseline.json", "regressed.json", "--format", "json", cwd=REPORTS)
    assert data["comparison"] == plain.report
    for name, file in (("baseline", "baseline.json"), ("report", "regressed.json")):
        assert data[name] == json.loads((REPORTS / file).read_bytes())


class Terminal(Output):
    """Somebody reads along."""

    def __init__(self, is_terminal) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self.written = b""
        self.notes = []

    def is_terminal(self):
        return self._is_terminal

    def write(self, chunk):
        self.written += chunk

    def note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize(
    ("format_", "is_terminal", "printed"),
    [("html", True, b""), ("html", False, b"<html>"), ("text", True, b"<html>")],
)
def test_a_page_that_is_written_is_not_poured_over_a_terminal(
    tmp_path, format_, is_terminal, printed
):
    output, out = Terminal(is_terminal), tmp_path / "page.html"
    print_rendered(iter([b"<ht", b"ml>"]), format_=format_, out=out, output=output)
    assert out.read_bytes() == b"<html>"
    assert output.written == printed
    assert output.notes == ([f"written: {out}"] if printed == b"" else [])
