import re

import pytest
from lxml import etree
from msgspec.structs import replace
from sample_reports import case, check, miss, row, single, wrong

from proctor.records import Cost, PassRate
from proctor.rendering.html.charts import (
    cost_chart,
    dearest,
    outcome_chart,
    rate_chart,
    report_charts,
)

RATE = PassRate(passed=3, measured=4, rate=0.75, interval=(0.25, 0.5))


def bars(chart):
    """The class, start and width of each bar."""
    return [
        (bar.get("class"), float(bar.get("x")), float(bar.get("width")))
        for bar in etree.fromstring(chart).iter("rect")
    ]


def label(chart):
    return etree.fromstring(chart).get("aria-label")


def test_a_pass_rate_with_its_interval_and_threshold():
    chart = rate_chart(RATE, 0.9, id_="x")
    assert bars(chart) == [("track", 0, 240), ("passed", 0, 180)]
    paths = [path.get("d") for path in etree.fromstring(chart).iter("path")]
    assert paths == ["M60.5 11H120M60.5 6V16M120 6V16", "M215.2 1V21"]
    assert label(chart) == "Pass rate 75%, 95% interval 0.25 to 0.5, threshold 0.9"


def test_a_rate_of_nothing():
    nothing = PassRate(passed=0, measured=0, rate=None, interval=(0.0, 1.0))
    chart = rate_chart(nothing, None, id_="x")
    assert bars(chart) == [("track", 0, 240)]
    assert label(chart) == "Pass rate nothing measured"


@pytest.mark.parametrize(
    ("cost", "drawn", "said"),
    [
        (Cost(1.0, 0.5, 0.0, 1.5, 0), [("answers", 0, 120), ("judges", 120, 60)],
         "Cost $1.5, $0.5 of it for judges"),
        (Cost(2.0, 0.0, 0.0, 2.0, 0), [("answers", 0, 240)], "Cost $2"),
        (Cost(0.0, 0.0, 0.0, 0.0, 0), [], "Cost $0"),
        (Cost(None, 0.5, 0.0, 0.5, 1), [("judges", 0, 60)], "Cost $0.5, $0.5 of it for judges"),
    ],
    ids=["both", "answers", "nothing", "judges"],
)  # fmt: skip
def test_costs_are_parts_of_the_dearest(cost, drawn, said):
    chart = cost_chart(cost, 2.0, id_="x")
    assert bars(chart) == [("track", 0, 240), *drawn]
    assert label(chart) == said


@pytest.mark.parametrize("judges", [None, 0.0])
def test_an_unknown_cost_has_no_bar(judges):
    chart = cost_chart(Cost(None, judges, None, None, 2), 0, id_="x")
    assert (bars(chart), label(chart)) == ([], "Cost unknown")


def test_outcomes_share_one_bar():
    totals = {"passed": 1, "failed": 2, "errored": 0, "unmeasured": 0, "not_run": 1}
    chart = outcome_chart(totals, id_="x")
    assert bars(chart) == [
        ("track", 0, 1000),
        ("passed", 0, 250),
        ("failed", 250, 500),
        ("not_run", 750, 250),
    ]
    assert label(chart) == "Rows: 1 passed, 2 failed, 1 not run"


def test_no_rows_have_an_empty_bar():
    chart = outcome_chart({"passed": 0, "failed": 0}, id_="x")
    assert (bars(chart), label(chart)) == ([("track", 0, 1000)], "Rows: none")


def test_charts_of_a_report_hold_no_data():
    made = single(
        [(case("a<b"), [row(check())]), (case("c"), [row(wrong())]), (case("d"), [miss()])]
    )
    suites = [replace(one, suite="<s>") for one in made.head.suites]
    made.head = replace(made.head, suites=suites)
    assert dearest(made.head) == 0.002
    charts = list(report_charts(made, "report", most_usd=0.002))
    ids = [re.search(r'id="([^"]+)"', chart)[1] for chart in charts]
    assert ids == ["report-outcomes", "report-0-0-rate", "report-0-0-cost"]
    assert "a&lt;b" not in "".join(charts)
    assert label(charts[1]).endswith("threshold 1")
    assert label(charts[2]) == "Cost $0.002"
