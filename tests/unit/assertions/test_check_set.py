import doctest
import json

import pytest
from asking import FakeScope, answered, assertion, case

from proctor.assertions import answers, base, extracting, matching, regex
from proctor.assertions.answers import AnswerView
from proctor.assertions.base import MAX_EVIDENCE_BYTES, within_limit
from proctor.assertions.checks import CheckSet
from proctor.records import Check, Finish, Outcome, Severity, encode_json

GOOD = '{"decision": "deny", "reply": "Sorry."}'


def checks_of_a_suite() -> CheckSet:
    return CheckSet(
        [
            assertion("json-schema", id="valid"),
            assertion("equals", id="decision", field="decision"),
            assertion("regex", id="polite", field="reply", pattern="sorry", flags="i"),
            assertion("contains", id="short", field="reply", value="yes", severity="warn"),
        ]
    )


def test_there_is_one_check_per_assertion_in_the_order_of_the_suite():
    checks = checks_of_a_suite().run(answered(GOOD), case({"decision": "deny"}))
    assert [(check.id, check.kind, check.outcome.value) for check in checks] == [
        ("valid", "json-schema", "passed"),
        ("decision", "equals", "passed"),
        ("polite", "regex", "passed"),
        ("short", "contains", "failed"),
    ]
    assert checks[-1].severity is Severity.WARN


def test_an_assertion_that_ran_out_of_time_before_is_not_run_again():
    class Fails:
        spec = assertion("equals", value=1, severity="warn").spec

        def needs(self, case):
            return None

        def check(self, answered, case):
            raise AssertionError("it was run")

    checks = CheckSet([Fails()]).run(answered("1"), case(), {"it"})
    assert checks == [
        Check("it", "equals", Outcome.FAILED, Severity.WARN, "timed_out", {"skipped": True})
    ]


def test_what_a_case_lacks_is_said_per_assertion():
    lacking = list(checks_of_a_suite().needs(case()))
    assert lacking == [("decision", "the case has no `expected`")]
    assert list(checks_of_a_suite().needs(case("deny"))) == []


def test_a_text_is_parsed_once_for_all_assertions(monkeypatch):
    parsed = []

    def parse(text):
        parsed.append(text)
        return json.loads(text)

    monkeypatch.setattr(answers, "parse_json", parse)
    checks_of_a_suite().run(answered(GOOD), case({"decision": "deny"}))
    assert parsed == [GOOD]


def test_a_view_is_an_answered_that_is_viewed_once():
    original = answered(GOOD)
    view = AnswerView.of(original)
    assert AnswerView.of(view) is view
    assert (view.answer, view.recording) == (original.answer, original.recording)
    assert view.extracted() is view.document()
    assert view.extracted() is view.extracted()


@pytest.mark.parametrize(
    ("finish", "text", "notes"),
    [
        (Finish.STOP, "x", None),
        (Finish.TOOL_CALLS, "x", None),
        (Finish.TOOL_CALLS, None, None),
        (Finish.LENGTH, "x", {"finish": "length"}),
        (Finish.CONTENT_FILTER, None, {"finish": "content_filter"}),
        (Finish.REFUSAL, "x", {"finish": "refusal"}),
        (Finish.OTHER, "x", {"finish": "other"}),
        (Finish.STOP, "", {"empty_text": True}),
        (Finish.LENGTH, "", {"finish": "length", "empty_text": True}),
    ],
)
def test_every_check_says_when_the_answer_was_cut_off_or_empty(finish, text, notes):
    checks = [
        assertion("equals", value=text or ""),
        assertion("contains", value="y"),
        assertion("regex", pattern="x", negate=True),
        assertion("json-schema"),
    ]
    for check in CheckSet(checks).run(answered(text, finish), case()):
        evidence = check.evidence or {}
        shown = {key: evidence[key] for key in ("finish", "empty_text") if key in evidence}
        assert (shown or None) == notes
        if check.outcome is Outcome.PASSED:
            assert check.evidence == notes


@pytest.mark.parametrize("kind", ["equals", "contains", "regex"])
def test_evidence_of_a_long_text_is_left_out_and_its_size_said(kind):
    fields = {"pattern": "y"} if kind == "regex" else {"value": "y"}
    result = assertion(kind, **fields).check(answered("x" * 5_000), case())
    assert result.evidence["got"] == {
        "kind": "omitted",
        "reason": "size_limit",
        "original_bytes": 5_002,
    }
    assert result.evidence.get("expected", "y") == "y"


def test_the_larger_value_is_left_out_first():
    evidence = {"path": "a", "expected": "x" * 5_000, "got": "y" * 100, "finish": "length"}
    limited = within_limit(evidence)
    assert limited["expected"]["original_bytes"] == 5_002
    assert (limited["got"], limited["finish"], limited["path"]) == ("y" * 100, "length", "a")
    both = within_limit({"expected": "x" * 5_000, "got": ["y" * 4_500]})
    assert [both[name]["original_bytes"] for name in ("expected", "got")] == [5_002, 4_504]


@pytest.mark.parametrize("size", [4_000, 4_096, 100_000])
def test_evidence_is_never_larger_than_the_limit(size):
    evidence = {
        "path": "p" * size,
        "expected": "\ud800" * size,
        "got": {"g" * size: 1},
        "problem": "x" * size,
    }
    assert len(encode_json(within_limit(evidence))) <= MAX_EVIDENCE_BYTES


def test_a_place_of_any_length_is_shown_cut():
    name = "n" * 10_000
    one = assertion("equals", value={name: 1})
    result = one.check(answered(f'{{"{name}": 2}}'), case())
    assert result.reason == f"not_equal: {'n' * 197}..."
    assert result.evidence == {"path": f"{'n' * 197}...", "expected": 1, "got": 2}


def test_checks_of_one_compiled_assertion_are_independent():
    one = assertion("equals", field="a")
    assert one.check(answered('{"a": 1}'), case({"a": 1})).outcome is Outcome.PASSED
    assert one.check(answered('{"a": 1}'), case({"a": 2})).outcome is Outcome.FAILED
    assert one.check(answered('{"a": 1}'), case({"a": 1})).outcome is Outcome.PASSED


def test_a_scope_without_a_contract_serves_kinds_that_need_none():
    scope = FakeScope(contract=None)
    assert assertion("equals", scope=scope, value=1)


@pytest.mark.parametrize("module", [base, extracting, matching, regex])
def test_examples_in_docstrings_hold(module):
    assert doctest.testmod(module).failed == 0
