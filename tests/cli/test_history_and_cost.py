"""`proctor history`, `proctor run --store` and `proctor cost`, whole."""

from __future__ import annotations

import json
import re

import pytest
from lxml import etree

from live_support import LiveProject
from support import EXAMPLES, proctor

REFUND = EXAMPLES / "support-refund"
SVG = "{http://www.w3.org/2000/svg}"


def stored_runs(project):
    return project.proctor("history", "--format", "json").report["runs"]


@pytest.fixture
def twice(project):
    """A project with two stored replays: two of two rows passed, then one of two."""
    for label in ("yes", "no"):
        project.exam({"one": "yes", "two": label})
        project.proctor("run", "--store")
    return project


def test_a_replay_is_kept_when_that_is_asked_for_and_only_then(project):
    project.exam({"one": "yes"})
    assert project.proctor("run").code == 0
    nothing = project.proctor("history")
    assert (nothing.code, nothing.out) == (2, b"")
    assert "P6001: no run is stored" in nothing.err
    assert project.proctor("run", "--store", "--format", "json").code == 0
    (run,) = stored_runs(project)
    assert (run["suite"], run["passed"], run["rate"], run["cost_usd"]) == ("quiz", 1, 1.0, 0.001)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run["at"])


def test_a_live_run_is_always_kept(tmp_path):
    live = LiveProject(tmp_path)
    live.named_cases("one")
    live.script(live.says_yes())
    assert live.proctor("run", "--cache", "record").code == 0
    (run,) = stored_runs(live)
    assert (run["passed"], run["measured"]) == (1, 1)


def test_the_history_is_a_table_with_denominators(twice):
    head, *rows = twice.proctor("history", "quiz").text.splitlines()
    assert head.split() == ["run", "suite", "subject", "passed", "rate", "cost"]
    found = [row.split() for row in rows]
    assert sorted(row[3:] for row in found) == [["1/2", "0.5", "$0.002"], ["2/2", "1", "$0.002"]]
    assert [row[0] for row in found] == sorted(row[0] for row in found)
    unknown = twice.proctor("history", "other")
    assert (unknown.code, "P6001: no run of `other` is stored" in unknown.err) == (2, True)


def test_the_history_as_a_line_goes_from_run_to_run(twice):
    result = twice.proctor("history", "--format", "svg", "--out", "rates.svg")
    picture = etree.fromstring(result.out)
    assert picture.tag == f"{SVG}svg"
    (line,) = picture.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert {y for _, y in points} == {16.0, 116.0}
    assert [x for x, _ in points] == [48.0, 688.0]
    assert "quiz: answer@local/tiny" in [text.text for text in picture.iter(f"{SVG}text")]
    assert (twice.root / "rates.svg").read_bytes() == result.out


def test_a_damaged_history_is_made_again_and_that_is_said(twice):
    before = stored_runs(twice)
    (twice.root / ".proctor/history.sqlite").write_bytes(b"x" * 10_000)
    result = twice.proctor("history", "--format", "json")
    assert result.report["runs"] == before
    assert "warning: `.proctor/history.sqlite` could not be used" in result.err


def test_a_history_that_cannot_be_kept_stops_no_run(project):
    project.exam({"one": "yes"})
    project.proctor("run", "--store")
    file = project.root / ".proctor/history.sqlite"
    file.unlink()
    for more in ("-wal", "-shm"):
        file.with_name(file.name + more).unlink(missing_ok=True)
    file.symlink_to("/dev/full")
    result = project.proctor("run", "--store")
    assert (result.code, "warning: " in result.err) == (0, True)


# What it cost


def cost(*arguments, cwd=REFUND):
    return proctor("cost", *arguments, cwd=cwd)


def test_what_the_example_cost_is_what_its_report_says():
    """Five answers for 0.003424 USD in all, and the votes of judges on them for 0.01647."""
    (found,) = json.loads(cost("reports/baseline.json", "--format", "json").out)["reports"]
    (subject,) = found["subjects"]
    assert (subject["answers"], subject["judges"], subject["unknown"]) == (0.003424, 0.01647, 0)
    assert (subject["builds"], subject["green"]) == (5, 1)
    assert subject["mean"] == pytest.approx(0.003424 / 5)
    assert subject["per_green"] == pytest.approx(0.003424 + 0.01647)
    assert subject["tokens"] == {"input": 1704, "output": 344, "cached": 0, "unknown": 0}


def test_without_a_green_repeat_there_is_no_cost_of_one():
    head, row = cost("reports/regressed.json").text.splitlines()
    assert head.endswith("per green repeat")
    assert row.split()[-1] == "-"
    assert row.split()[2:4] == ["$0.003424", "$0.01647"]


def test_several_reports_stand_one_after_the_other_under_their_names():
    text = cost("reports/baseline.json", "reports/regressed.json").text
    assert [line for line in text.splitlines() if line.startswith("reports/")] == [
        "reports/baseline.json",
        "reports/regressed.json",
    ]


def test_mean_and_median_are_over_rows_of_known_cost_and_unknown_is_a_dash(project):
    project.cases(*map(project.case, "abcd"))
    answer = '{"label": "yes"}'
    costs = {"a": 0.001, "b": 0.002, "c": 0.006, "d": None}
    project.cassette(
        *(project.recording(name, answer, cost_usd=usd) for name, usd in costs.items())
    )
    project.proctor("run", "--format", "json", "--out", "report.json")
    (found,) = project.proctor("cost", "report.json", "--format", "json").report["reports"]
    (subject,) = found["subjects"]
    assert (subject["builds"], subject["unknown"], subject["judges"]) == (3, 1, 0)
    assert (subject["mean"], subject["median"]) == (pytest.approx(0.003), 0.002)
    assert (subject["green"], subject["per_green"]) == (1, None)
    row = project.proctor("cost", "report.json").text.splitlines()[1].split()
    assert row[2:] == ["$0.009", "$0", "1", "40", "16", "0", "$0.003", "$0.002", "-"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "P6002: Missing argument"),
        (("gone.json",), "P6901"),
        (("reports/baseline.json", "--out", "reports/baseline.json"), "P6004"),
    ],
)
def test_what_has_no_cost_is_exit_code_2(arguments, said):
    result = cost(*arguments)
    assert (result.code, result.out, said in result.err) == (2, b"", True)
