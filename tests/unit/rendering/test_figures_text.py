"""Figures of runs as tables, JSON and a line."""

from __future__ import annotations

import json

import pytest
from lxml import etree

from proctor.records.history import StoredRun
from proctor.rendering.figures import render_history, render_history_json, render_history_svg

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>&"\x1b[2J\u202e::error\uffff'


def a_run(day, passed, *, measured=2, suite="reviews", **changes):
    given = {
        "run": f"202611{day:02d}t101500z-00000a",
        "suite": suite,
        "subject": "brief@local/gemma",
        "verdict": "passed",
        "passed": passed,
        "measured": measured,
        "planned": 2,
        "cost_usd": 0.5,
        "unknown_costs": 0,
    }
    return StoredRun(**given | changes)


def lines_of(runs):
    picture = etree.fromstring(render_history_svg(runs))
    return [line.get("points").split() for line in picture.iter(f"{SVG}polyline")]


def test_what_is_not_known_is_a_dash():
    runs = [a_run(1, 0, measured=0, cost_usd=None, unknown_costs=3), a_run(2, 1, unknown_costs=1)]
    _, first, second = render_history(runs).decode().splitlines()
    assert first.split()[3:] == ["0/0", "-", "-", "(3", "unknown)"]
    assert second.split()[3:] == ["1/2", "0.5", "$0.5", "(1", "unknown)"]
    known = json.loads(render_history_json(runs))["runs"][0]
    assert (known["rate"], known["cost_usd"], known["at"]) == (None, None, "2026-11-01T10:15:00Z")


def test_each_subject_has_its_line_and_runs_stand_at_equal_distances():
    runs = [a_run(day, day % 3) for day in (1, 2, 30)]
    runs += [a_run(day, 2, suite="other") for day in (1, 30)]
    assert lines_of(runs) == [["48,116", "368,16", "688,216"], ["48,16", "688,16"]]


def test_where_nothing_was_measured_the_line_has_a_gap():
    runs = [a_run(1, 2), a_run(2, 2), a_run(3, 0, measured=0), a_run(4, 2), a_run(5, 2)]
    assert lines_of(runs) == [["48,16", "208,16"], ["528,16", "688,16"]]


def test_a_single_run_is_a_point():
    picture = etree.fromstring(render_history_svg([a_run(1, 2)]))
    (point,) = picture.iter(f"{SVG}circle")
    assert (point.get("cx"), point.get("cy")) == ("48", "16")


@pytest.mark.parametrize("render", [render_history, render_history_svg])
def test_names_are_data(render):
    text = render([a_run(1, 2, suite=HOSTILE, subject=HOSTILE)]).decode()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert ("<script>" in text) is (render is render_history)
    assert render is render_history or len(etree.fromstring(text.encode()))
    assert not any(line.startswith("::") for line in text.splitlines())
