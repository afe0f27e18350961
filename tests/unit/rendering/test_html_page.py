import hashlib
import json
import re
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html
from msgspec.structs import replace
from rich_reports import rich_report
from sample_reports import case, check, facts, miss, report, row, single, subject, wrong
from two_reports import compared, made, several

from hostile_strings import PAYLOADS, hostile_report
from proctor.records import Remark, RenderOptions, Warn, encode_json
from proctor.rendering.html.page import SCRIPTS, asset, script_json
from proctor.rendering.html.report import render_html, render_html_comparison
from proctor.rendering.report_json import render_json
from proctor.reporting import RunReport

EMPTY = RunReport(replace(single([]).head, suites=[]), [])


def rendered(made_, **options):
    return b"".join(render_html(made_, RenderOptions(**options))).decode()


def rendered_both(before, now, **options):
    chunks = render_html_comparison(compared(before, now), before, now, RenderOptions(**options))
    return b"".join(chunks).decode()


def data_in(page):
    """What the script of the page reads."""
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(block)


def as_json(made_):
    return json.loads(b"".join(render_json(made_, RenderOptions())))


def tags(page):
    """How many elements of each name there are, as HTML is read."""
    counts = {}
    for one in lxml_html.document_fromstring(page.encode()).iter():
        if isinstance(one.tag, str):
            counts[one.tag] = counts.get(one.tag, 0) + 1
    return counts


ONE = single([(case("a"), [row(wrong())])])


@pytest.mark.parametrize(
    "page", [rendered(ONE), rendered_both(ONE, ONE)], ids=["report", "comparison"]
)
def test_a_page_is_one_file_that_asks_for_nothing(page):
    assert page.startswith("<!doctype html>\n")
    assert page.endswith("</html>\n")
    assert re.findall(r'\s(?:src|href|action|srcset|data)="([^"]*)"', page) == ["#list"]
    assert "url(" not in page
    assert "@import" not in page
    assert "://" not in page


def test_the_policy_allows_exactly_what_the_page_holds():
    page = rendered(ONE)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)

    def digest(text):
        return b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{digest(script)}'",
        f"style-src 'sha256-{digest(style)}'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    assert "unsafe" not in policy
    assert "\r" not in page


def test_nothing_runs_or_looks_from_an_attribute():
    page = rendered(rich_report()).replace(asset("style.css"), "")
    before, _, after = page.partition('<script type="application/json"')
    markup = before + after.partition("</script>")[2].partition("<script>")[0]
    assert not re.search(r"\s(style|on\w+)=", markup)


def test_the_script_makes_no_markup_of_data():
    script = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in script
    for way in ("DOMParser", "createContextualFragment", "new Function", "setHTML", "srcdoc"):
        assert way not in script
    assert "</script" not in script
    assert "<!--" not in script


@pytest.mark.parametrize("made_", [ONE, rich_report(), EMPTY], ids=["one", "rich", "empty"])
def test_the_data_is_the_report_itself(made_):
    data = data_in(rendered(made_))
    assert list(data) == ["facts", "report"]
    assert data["report"] == as_json(made_)


def test_the_data_of_a_comparison_is_both_reports():
    before, now = made({"a": "p", "b": "f"}), made({"a": "f", "c": "p"}, salt="now")
    data = data_in(rendered_both(before, now))
    assert list(data) == ["facts", "comparison", "report", "baseline"]
    assert (data["baseline"], data["report"]) == (as_json(before), as_json(now))
    assert data["comparison"]["schema"] == "proctor.comparison.v1"
    (one,) = data["facts"]["comparison"]["subjects"]
    assert (one["before"], one["now"]) == ([0, 0], [0, 0])


def test_subjects_of_a_comparison_know_their_places():
    before = several({"one": {"x": {"a": "p"}}, "two": {"x": {"a": "p"}, "y": {"a": "p"}}})
    now = several({"two": {"y": {"a": "p"}, "z": {"a": "p"}}})
    found = data_in(rendered_both(before, now))["facts"]["comparison"]["subjects"]
    assert [(one["name"], one["before"], one["now"]) for one in found] == [
        ("two: y@local/gemma", [1, 1], [0, 0]),
        ("two: z@local/gemma", None, [0, 1]),
        ("one: x@local/gemma", [0, 0], None),
        ("two: x@local/gemma", [1, 0], None),
    ]


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_no_string_of_a_report_becomes_markup(payload):
    remarks = [Remark(met=None, word=payload, text=payload)]
    hostile = hostile_report(rich_report(), payload)
    page = rendered(hostile, remarks=remarks)
    assert data_in(page)["report"] == as_json(hostile)
    assert tags(page) == tags(rendered(hostile_report(rich_report(), "x")))
    block = page.partition('id="data">')[2].partition("</script>")[0]
    assert not set("<>&\u2028\u2029") & set(block)


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_nor_does_one_of_two_reports(payload):
    before = hostile_report(rich_report(outcome=check), payload)
    now = hostile_report(rich_report(), payload)
    page = rendered_both(before, now)
    assert data_in(page)["baseline"] == as_json(before)
    harmless = [hostile_report(rich_report(outcome=one), "x") for one in (check, wrong)]
    assert tags(page) == tags(rendered_both(*harmless))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("</script>", r'"\u003c/script\u003e"'),
        ("<!--", r'"\u003c!--"'),
        ("a&amp;b", r'"a\u0026amp;b"'),
        ("\u2028\u2029", r'"\u2028\u2029"'),
        ("\\u003c", r'"\\u003c"'),
    ],
)
def test_json_that_stands_in_a_script(text, escaped):
    found = script_json(json.dumps(text, ensure_ascii=False).encode()).decode()
    assert found == escaped
    assert json.loads(found) == text


@given(st.text())
def test_any_text_in_a_script_is_the_same_text(text):
    found = script_json(encode_json(text)).decode()
    assert json.loads(found) == text
    assert not set("<>&\u2028\u2029") & set(found)


def test_the_same_report_gives_the_same_bytes():
    assert rendered(rich_report()) == rendered(rich_report())
    assert rendered(ONE, all_cases=True, colour=True) == rendered(ONE)


def test_a_large_page_is_little_larger_than_its_json_and_comes_in_chunks():
    text = '{"label": "negative", "why": "the parcel came late & wet <again>"}' * 4
    cases = [(case(f"case-{place}"), [row(check(), text=text)]) for place in range(500)]
    large = single(cases)
    chunks = list(render_html(large, RenderOptions()))
    size = sum(map(len, chunks))
    json_size = sum(len(chunk) for chunk in render_json(large, RenderOptions()))
    assert size <= 1.3 * json_size
    assert max(map(len, chunks)) < 200_000
    assert len(chunks) > 5


def facts_of(made_, **options):
    return data_in(rendered(made_, **options))["facts"]["report"]


def test_what_is_said_of_a_report():
    found = facts_of(
        single(
            [(case("a"), [row(check())]), (case("b"), [miss()])],
            warnings=[Warn("P6904", "other data", None)],
        ),
        remarks=[Remark(met=True, word="MET", text="the gate")],
    )
    assert found["verdict"] == "unmeasured"
    assert found["headline"] == "1 of 2 rows passed, 1 errored"
    assert found["totals"] == [
        "cost $0.001 recorded, $0 paid now",
        "tokens 100 in, 10 out, 0 cached",
        "replayed 1, nothing was called",
    ]
    assert found["remarks"] == [{"met": True, "word": "MET", "text": "the gate"}]
    (one,) = found["suites"][0]["subjects"]
    assert (one["rate"], one["measured"]) == ("100%", "1/1")
    assert one["cost"] == {"answers": "$0.001", "judges": "$0", "paid": "$0", "unknown": 0}


def test_costs_that_are_not_known_have_no_figure():
    found = facts_of(single([(case("a"), [row(check(), cost_usd=None)])]))
    (one,) = found["suites"][0]["subjects"]
    assert one["cost"]["answers"] is None
    assert one["cost"]["unknown"] == 1


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({}, []),
        ({"partial": True}, ["This report is partial: a shard is missing."]),
        ({"verdict": "interrupted"}, ["The run was stopped before its end."]),
    ],
    ids=["whole", "partial", "interrupted"],
)
def test_what_a_report_lacks_is_said(changes, notes):
    made_ = RunReport(replace(ONE.head, **changes), [[ONE.cases(0, 0)]])
    assert facts_of(made_)["notes"] == notes


def test_thresholds_say_what_they_ask_and_what_there_is():
    found = facts_of(ONE)["suites"][0]["thresholds"]
    assert found[0] == {
        "name": "passRate",
        "asked": "at least 1",
        "actual": "0",
        "subject": "brief@local/gemma",
        "met": False,
    }


def test_suites_without_subjects_and_reports_without_suites():
    assert facts_of(report((facts(),)))["suites"][0]["subjects"] == []
    assert facts_of(EMPTY)["suites"] == []
    two = report(
        (facts("one"), (subject("x"), [(case("a"), [row(check())])])),
        (facts("two"), (subject("y"), [(case("b"), [row(wrong())])])),
    )
    assert [one["subjects"][0]["rate"] for one in facts_of(two)["suites"]] == ["100%", "0%"]
