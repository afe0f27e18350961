from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from msgspec.structs import replace
from sample_reports import (
    ERRORED,
    FAILED,
    UNMEASURED,
    case,
    cases_full_of,
    check,
    facts,
    facts_full_of,
    judge_facts,
    judged,
    miss,
    report,
    row,
    single,
    subject,
    wrong,
)

from proctor.records import AtKLimit, RenderOptions, Severity, Thresholds
from proctor.rendering.junit import render_junit
from proctor.reporting import RunReport

SCHEMA = etree.XMLSchema(file=str(Path(__file__).parents[2] / "data" / "junit.xsd"))


def rendered(made, **options):
    return b"".join(render_junit(made, RenderOptions(**options)))


def parsed(made, **options):
    """The document as a strict parser reads it, valid by the schema."""
    root = etree.fromstring(rendered(made, **options), etree.XMLParser(resolve_entities=False))
    SCHEMA.assertValid(root)
    return root


def golden(text):
    return dedent(text).lstrip("\n").encode()


def properties(suite):
    return {each.get("name"): each.get("value") for each in suite.find("properties")}


def test_a_suite_for_each_subject_and_a_test_for_each_case():
    made = single([(case("right"), [row(check())]), (case("wrong"), [row(wrong())])])
    assert rendered(made) == golden("""
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="acme" tests="2" failures="1" errors="0">
          <testsuite name="reviews: brief@local/gemma" tests="2" failures="1" errors="0" skipped="0">
            <properties>
              <property name="passed" value="1/2"/>
              <property name="pass_rate" value="0.5"/>
              <property name="pass_rate_low" value="0.09453"/>
              <property name="pass_rate_high" value="0.9055"/>
              <property name="cost_usd" value="0.002"/>
              <property name="cost_unknown_calls" value="0"/>
              <property name="not_run" value="0"/>
              <property name="threshold passRate" value="not met: passRate is 0.5, at least 1 is asked for"/>
            </properties>
            <testcase name="right" classname="reviews.brief@local/gemma" time="0.812"/>
            <testcase name="wrong" classname="reviews.brief@local/gemma" time="0.812">
              <failure type="failed" message="label: /label: expected &quot;negative&quot;, got &quot;positive&quot;">
        label: /label: expected &quot;negative&quot;, got &quot;positive&quot;
              </failure>
            </testcase>
          </testsuite>
        </testsuites>
    """)  # noqa: E501 - as it is written


def test_outcomes_are_kept_apart():
    made = report(
        (
            facts(cases=5),
            (
                subject(),
                [
                    (case("passed"), [row(check())]),
                    (case("failed"), [row(wrong())]),
                    (case("errored"), [miss()]),
                    (case("raised"), [row(check(outcome=ERRORED, reason="raised"))]),
                    (case("unmeasured"), [row(check(outcome=UNMEASURED, reason="no_verdict"))]),
                ],
            ),
            (subject("few-shot"), [(case("passed"), [row(check())])]),
        )
    )
    root = parsed(made)
    assert dict(root.attrib) == {"name": "acme", "tests": "6", "failures": "1", "errors": "2"}
    first, second = root.findall("testsuite")
    assert [first.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        "5",
        "1",
        "2",
        "1",
    ]
    found = {
        each.get("name"): [(child.tag, child.get("type"), child.get("message")) for child in each]
        for each in first.findall("testcase")
    }
    wanted = 'label: /label: expected "negative", got "positive"'
    assert found == {
        "passed": [],
        "failed": [("failure", "failed", wanted)],
        "errored": [("error", "errored", "P6402: no recording: the prompt changed")],
        "raised": [("error", "errored", "label errored: raised")],
        "unmeasured": [("skipped", "unmeasured", "label unmeasured: no verdict")],
    }
    assert second.get("name") == "reviews: few-shot@local/gemma"
    assert properties(second)["not_run"] == "4"


def test_properties_say_rate_cost_and_what_is_unknown():
    made = single(
        [(case("a"), [row(check())]), (case("b"), [row(check(), cost_usd=None)])],
        thresholds=Thresholds(max_cost_usd=1),
    )
    assert properties(parsed(made).find("testsuite")) == {
        "passed": "2/2",
        "pass_rate": "1",
        "pass_rate_low": "0.3424",
        "pass_rate_high": "1",
        "cost_usd": "0.001",
        "cost_unknown_calls": "1",
        "not_run": "0",
        "threshold maxCostUsd": "not available: maxCostUsd, at most $1 is asked for",
    }


def test_nothing_known_is_not_0():
    made = single([(case("a"), [row(check(outcome=UNMEASURED), cost_usd=None)])])
    found = properties(parsed(made).find("testsuite"))
    assert (found["passed"], found["pass_rate"], found["cost_usd"]) == ("0/0", "n/a", "n/a")


def test_a_threshold_of_a_subject_stands_at_that_subject():
    made = report(
        (
            facts(),
            (subject("one"), [(case("a"), [row(wrong())])]),
            (subject("two"), [(case("a"), [row(check())])]),
        )
    )
    one, two = (properties(each) for each in parsed(made).findall("testsuite"))
    assert one["threshold passRate"] == "not met: passRate is 0, at least 1 is asked for"
    assert "threshold passRate" not in two


def test_repeats_are_told_in_the_test_and_its_suite():
    rows = [row(check()), row(wrong(), repeat=2), replace(miss("gone"), repeat=3)]
    limits = Thresholds(pass_hat_k=AtKLimit(k=1, min=0.9))
    root = parsed(single([(case("a"), rows)], repeats=3, thresholds=limits))
    suite = root.find("testsuite")
    found = properties(suite)
    assert (found["repeats"], found["pass_at_k"], found["pass_hat_k"]) == ("3", "n/a", "n/a")
    assert found["threshold passHatK"].startswith("not met: passHatK at k = 1 is 0.5, at least 0.9")
    failure = suite.find("testcase/failure")
    wanted = 'repeat 2: label: /label: expected "negative", got "positive"'
    assert failure.get("message") == f"passed 1/2 (2 of 3 measured); {wanted}"
    assert failure.text.strip().split("\n") == [wanted, "repeat 3: P6402: gone"]


def test_times_are_those_of_the_recordings():
    rows = [
        replace(row(check(), repeat=n), latency_ms=latency) for n, latency in ((1, 250), (2, 7))
    ]
    root = parsed(single([(case("a"), rows), (case("b"), [miss(), miss()])], repeats=2))
    first, second = root.iter("testcase")
    assert first.get("time") == "0.257"
    assert "time" not in second.attrib


def test_a_test_with_many_findings_is_cut_unless_all_are_asked_for():
    checks = [check(f"c{n}", FAILED, reason="not_found") for n in range(25)]
    made = single([(case("a"), [row(*checks)])], ids=[each.id for each in checks])
    few = parsed(made).find(".//failure").text.strip().split("\n")
    assert few[19:] == ["c19: not found", "... and 5 more"]
    assert len(parsed(made, all_cases=True).find(".//failure").text.strip().split("\n")) == 25


def test_every_case_is_there_in_several_chunks():
    made = single([(case(f"case-{n}"), [row(check())]) for n in range(2_000)])
    assert 3 < len(list(render_junit(made, RenderOptions()))) < 10
    assert len(parsed(made).findall(".//testcase")) == 2_000


def test_without_suites_there_is_a_document():
    assert parsed(report()).get("tests") == "0"


HOSTILE = [
    "\x1b[31mred",
    "]]> <![CDATA[",
    "<script>alert(1)</script> <!-- --> <?pi?>",
    "&amp; &lt; &#0; &xxe; %x;",
    "\"quoted\" 'quoted'",
    "nul\0 \x0b \x1f \x7f \x85 \ufffe \uffff \U0001ffff \ufdd0",
    "\ud800 \udfff",
    "\u202egpj.exe \u2028 \u200b \ufeff",
    "tab\t two\nlines\r\n",
    "::error::boom",
    "##vso[task.complete] ##[error]x ##teamcity[x]",
    "[[ATTACHMENT|/etc/passwd]] [[attachment|x]] [[[ATTACHMENT|x]]]",
    " leading and trailing ",
    "🎉 ä",
]


def full_of(text):
    cases = [*cases_full_of(text), (case(text), [row(check())])]
    made = report((facts_full_of(text, cases=len(cases)), (subject(text, text), cases)))
    return RunReport(replace(made.head, project=text), [[made.cases(0, 0)]])


@pytest.mark.parametrize("text", HOSTILE)
def test_data_stays_data(text):
    raw = rendered(full_of(text)).decode("utf-8")
    root = parsed(full_of(text))
    plain = parsed(full_of("harmless"))
    assert [each.tag for each in root.iter()] == [each.tag for each in plain.iter()]
    assert raw.count("\n") == rendered(full_of("harmless")).decode().count("\n")
    told = [value for each in root.iter() for value in (each.text or "", *each.values())]
    for value in told:
        assert "[[ATTACHMENT|" not in value.upper()
        assert not any(character in value for character in "\x1b\x7f\x85\u202e\u200b\u2028")
        for line in value.split("\n"):
            assert not any(mark in line.lower() for mark in ("##[", "##vso[", "##teamcity["))
    assert not any(line.strip().startswith("::") for line in raw.split("\n"))
    assert root.find(".//system-out") is None


@pytest.mark.parametrize("text", ["]]>", "<b>&amp;", "\"quoted\" 'quoted'", "🎉 ä", "a  b"])
def test_what_can_be_read_comes_back_as_it_was(text):
    root = parsed(full_of(text))
    assert root.get("name") == text
    assert {each.get("name") for each in root.iter("testcase")} == {text}


def test_what_xml_cannot_hold_is_spelled_or_replaced():
    text = "a\x00b\x1bc\ud800d\ufffee"
    root = parsed(full_of(text))
    assert root.get("name") == r"a\x00b\x1bc\ud800d" + "\ufffde"


@settings(max_examples=50)
@given(st.text(st.characters(), max_size=60))
def test_any_text_gives_a_valid_document(text):
    parsed(full_of(text))


def test_a_property_counts_a_check_that_only_warns():
    mild = check("style", FAILED, reason="too_long", severity=Severity.WARN)
    made = single([(case("a"), [row(check(), mild)])], ids=("label", "style"))
    (suite,) = parsed(made)
    assert properties(suite)["warning style"] == "failed in 1 of 1 row"


def test_what_judges_cost_and_how_clearly_they_decided_are_properties():
    made = facts(ids=["tone"], judge=judge_facts("tone"))
    found = properties(
        parsed(report((made, (subject(), [(case("a"), [row(judged("pff", FAILED))])])))).find(
            "testsuite"
        )
    )
    assert found["judges_cost_usd"] == "0.0"
    assert found["judged tone"] == "1 of 1 measured, 0% unanimous (0 of 1)"
