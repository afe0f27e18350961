import doctest

import pytest
from sample_reports import FAILED, case, check, judged, row

from proctor.case_results import case_result
from proctor.records import ThresholdReport, Vote
from proctor.rendering import escaping, wording
from proctor.rendering.threshold_wording import threshold_text
from proctor.rendering.wording import (
    case_findings,
    check_text,
    finding_lines,
    money_text,
    number_text,
    value_text,
    vote_texts,
)


@pytest.mark.parametrize("module", [escaping, wording])
def test_examples_in_docstrings_hold(module):
    result = doctest.testmod(module)
    assert (result.attempted > 0, result.failed) == (True, 0)


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (0, "$0"),
        (0.0, "$0"),
        (1, "$1"),
        (12.5, "$12.5"),
        (0.0011, "$0.0011"),
        (0.000001, "$0.000001"),
        (0.0000001, "$1e-07"),
        (1234567.25, "$1234567.25"),
        (1.7976931348623157e308, "$1.8e+308"),
    ],
)
def test_money(usd, shown):
    assert money_text(usd) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1.0, "1"),
        (0.55, "0.55"),
        (2 / 3, "0.666667"),
        (0.9999999, "0.9999999"),
        (1e-7, "1e-07"),
        (0.0, "0"),
    ],
)
def test_numbers_are_short_but_never_rounded_to_what_they_are_not(value, shown):
    assert number_text(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        ({"a": [1.0, True]}, '{"a":[1.0,true]}'),
        ('"', r'"\""'),
        ("\x1b\0\x1f\n\t", r'"\x1b\x00\x1f\n\t"'),
        (r"\u001b", r'"\\u001b"'),
        ("\x7f\x85\u202e", r'"\x7f\x85\u202e"'),
        ("\ud800", r'"\ud800"'),
    ],
)
def test_values_are_json_with_one_spelling_of_what_cannot_be_seen(value, shown):
    assert value_text(value) == shown


@pytest.mark.parametrize(
    ("reason", "evidence", "shown"),
    [
        (None, None, "x: no reason given"),
        ("not_json", None, "x: not json"),
        ("missing_field: /a/b", None, "x: /a/b: missing field"),
        ("not_equal", {"path": "/a", "expected": 1, "got": 1.5}, "x: /a: expected 1, got 1.5"),
        ("not_equal: /a", {"expected": True, "got": None}, "x: /a: expected true, got null"),
        ("not_equal", {"expected": "a", "got": "b"}, 'x: expected "a", got "b"'),
        ("not_found", {"expected": "a"}, 'x: not found, expected "a"'),
        ("not_found", {"expected": "a", "got": "b"}, 'x: not found, expected "a", got "b"'),
        (
            "schema: n",
            {"path": "n", "issues": [{"path": "n", "reason": "type", "message": "no number"}]},
            "x: n: schema, no number",
        ),
        ("found", {"path": "/r", "got": "a"}, 'x: /r: found, got "a"'),
        ("timed_out", {"skipped": True}, "x: timed out in an earlier row, so it was not run"),
    ],
)
def test_a_failed_check_is_explained_by_its_evidence_or_its_reason(reason, evidence, shown):
    assert check_text(check("x", FAILED, reason=reason, evidence=evidence)) == shown


@pytest.mark.parametrize(
    ("name", "limit", "actual", "met", "shown"),
    [
        ("passRate", 0.9, 0.95, True, None),
        (
            "passRate",
            1.0,
            0.9999999,
            False,
            "not met: passRate is 0.9999999, at least 1 is asked for",
        ),
        (
            "passRate",
            0.95,
            0.9499999,
            False,
            "not met: passRate is 0.9499999, at least 0.95 is asked for",
        ),
        ("maxErrorRate", 0.0, 0.05, False, "not met: maxErrorRate is 0.05, at most 0 is asked for"),
        (
            "maxCostUsd",
            0.1,
            0.1234,
            False,
            "not met: maxCostUsd is $0.1234, at most $0.1 is asked for",
        ),
        ("minMeasured", 1.0, None, None, "not available: minMeasured, at least 1 is asked for"),
        (
            "passAtK",
            {"k": 5, "min": 0.9},
            0.895,
            False,
            "not met: passAtK at k = 5 is 0.895, at least 0.9 is asked for",
        ),
        (
            "passHatK",
            {"k": 3, "min": 0.25},
            None,
            None,
            "not available: passHatK at k = 3, at least 0.25 is asked for",
        ),
        ("passHatK", {"k": 3, "min": 0.25}, 0.25, True, None),
    ],
)
def test_thresholds(name, limit, actual, met, shown):
    report = ThresholdReport(name=name, subject=None, limit=limit, actual=actual, met=met)
    assert threshold_text(report, name_subject=True) == shown


def test_a_value_that_was_left_out_is_told_by_its_size():
    omitted = {"kind": "omitted", "reason": "size_limit", "original_bytes": 100_002}
    said = check_text(check(outcome=FAILED, reason="too_long", evidence={"got": omitted}))
    assert said == "label: too long, got a value of 100,002 bytes"
    assert value_text(omitted | {"original_bytes": "many"}).startswith('{"kind"')


@pytest.mark.parametrize(
    ("letters", "reason", "shown"),
    [
        ("f", "judged_fail", "tone: judged fail"),
        ("pff", "judged_fail", "tone: judged fail, 1 of 3 votes pass"),
        ("ppf", "judged_pass", "tone: judged pass, 2 of 3 votes pass"),
        ("pnnnn", "P6601: no valid verdict", "tone: P6601: no valid verdict, 1 of 5 votes pass"),
        ("pnp", "no_reply: P6310", "tone: no reply: P6310, 2 of 3 votes pass"),
        ("f", None, "tone: 0 of 1 votes pass"),
    ],
)
def test_a_judged_check_is_explained_by_its_votes(letters, reason, shown):
    assert check_text(judged(letters, FAILED, reason=reason)) == shown


def vote(verdict, reason, model="local/j"):
    return Vote(verdict, reason, model, None)


@pytest.mark.parametrize(
    ("votes", "shown"),
    [
        ([vote("pass", "Kind.")], ["pass: Kind."]),
        (
            [vote("fail", "a"), vote("pass", "b"), vote("fail", "a")],
            ["fail (2 votes): a", "pass: b"],
        ),
        (
            [vote("fail", "a"), vote("fail", "a", "local/k"), vote("fail", "a")],
            ["fail by local/j (2 votes): a", "fail by local/k: a"],
        ),
        ([vote("fail", ""), vote("fail", None)], ["fail", "fail"]),
        ([vote(None, "truncated")], ["no verdict: truncated"]),
        ([vote(None, "rule_missing: Be_kind: now")], ["no verdict: rule missing: Be_kind: now"]),
        ([vote(None, "not_json: is not JSON: x_y")], ["no verdict: is not JSON: x_y"]),
        ([vote("pass", "not_json: it_is")], ["pass: not_json: it_is"]),
        ([vote("fail", "a\n::error::\x1b[31m")], [r"fail: a\n::error::\x1b[31m"]),
    ],
)
def test_votes_that_say_the_same_are_told_together(votes, shown):
    assert list(vote_texts(votes)) == shown


def test_a_long_reason_is_cut_and_its_length_said():
    (shown,) = vote_texts([vote("fail", "x" * 9_000)])
    assert shown == f"fail: {'x' * 400}... (9,000 characters)"


def test_votes_of_repeats_are_told_with_the_repeats_they_are_of():
    rows = [
        row(judged(letters, FAILED, reason="judged_fail"), repeat=repeat)
        for repeat, letters in enumerate(("ffp", "ffp", "fff"), 1)
    ]
    findings = case_findings(case_result(case("a"), index=0, rows=rows))
    assert finding_lines(findings) == [
        "repeats 1-2: tone: judged fail, 1 of 3 votes pass",
        "  fail (2 votes): because of f",
        "  pass: because of p",
        "repeat 3: tone: judged fail, 0 of 3 votes pass",
        "  fail (3 votes): because of f",
    ]
