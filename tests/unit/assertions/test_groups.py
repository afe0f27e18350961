import pytest
from asking import FakeScope, answered, assertion, case, group, refusal, verdict

from proctor.errors import ManyProblems, ProctorError
from proctor.records import Check, Finish, Outcome, Severity, Usage
from proctor.registry import assertion_kinds

YES = {"kind": "contains", "value": "yes"}
NO = {"kind": "contains", "value": "no"}
FIELD = {"kind": "equals", "field": "a", "value": 1}
UNKNOWN = {"kind": "cost", "max": 1}


class Crashes:
    """A part that could not be run."""

    Spec = assertion_kinds.get("equals").Spec

    def __init__(self, spec):
        self.spec = spec

    @staticmethod
    def compile(spec, scope):
        return Crashes(spec)

    def needs(self, case):
        return None

    def check(self, answered, case):
        return Check(self.spec.id, self.spec.kind, Outcome.ERRORED, reason="crashed: KeyError")


CRASH = {"kind": "crashes"}


@pytest.fixture(autouse=True)
def crashing(monkeypatch):
    monkeypatch.setitem(assertion_kinds._entries, "crashes", f"{__name__}:Crashes")
    yield
    assertion_kinds._loaded.pop("crashes", None)


def outcome(kind, text, *parts, **fields):
    return assertion(kind, of=list(parts), **fields).check(answered(text), case()).outcome.value


@pytest.mark.parametrize(
    ("text", "parts", "all_of", "any_of"),
    [
        ("yes no", [YES, NO], "passed", "passed"),
        ("yes", [YES, NO], "not_all_passed", "passed"),
        ("no", [YES, NO], "not_all_passed", "passed"),
        ("x", [YES, NO], "not_all_passed", "none_passed"),
        ("x", [YES], "not_all_passed", "none_passed"),
        ("yes", [YES], "passed", "passed"),
        ("yes", [YES, {**NO, "negate": True}], "passed", "passed"),
        ("x", [YES, {**NO, "negate": True}], "not_all_passed", "passed"),
        (None, [YES, NO], "not_all_passed", "none_passed"),
    ],
)
def test_each_or_one_of_the_parts_passes(text, parts, all_of, any_of):
    assert verdict("all-of", text, of=parts) == all_of
    assert verdict("any-of", text, of=parts) == any_of


@pytest.mark.parametrize(
    ("text", "parts", "all_of", "any_of"),
    [
        ("yes no", [YES, NO], "all_passed", "one_passed"),
        ("yes", [YES, NO], "passed", "one_passed"),
        ("x", [YES, NO], "passed", "passed"),
        (None, [YES, NO], "all_passed", "one_passed"),
        ("x", [YES, FIELD], "passed", "one_passed"),
        ("x", [FIELD, FIELD], "all_passed", "one_passed"),
        ("x", [YES, {**NO, "negate": True}], "passed", "one_passed"),
        ("x", [group("any-of", YES, NO), FIELD], "passed", "one_passed"),
        (None, [group("any-of", YES), group("all-of", NO)], "all_passed", "one_passed"),
    ],
)
def test_negated_an_answer_that_is_not_there_still_passes_nothing(text, parts, all_of, any_of):
    assert verdict("all-of", text, of=parts, negate=True) == all_of
    assert verdict("any-of", text, of=parts, negate=True) == any_of


@pytest.mark.parametrize(
    ("parts", "all_of", "any_of"),
    [
        ([YES, UNKNOWN], "unmeasured", "passed"),
        ([NO, UNKNOWN], "failed", "unmeasured"),
        ([UNKNOWN, NO], "failed", "unmeasured"),
        ([UNKNOWN, UNKNOWN], "unmeasured", "unmeasured"),
        ([YES, CRASH], "errored", "passed"),
        ([CRASH, YES], "errored", "passed"),
        ([NO, CRASH], "failed", "errored"),
        ([CRASH, UNKNOWN], "errored", "errored"),
    ],
)
def test_what_could_not_be_judged_stays_open_unless_the_others_decide(parts, all_of, any_of):
    assert outcome("all-of", "yes", *parts) == all_of
    assert outcome("any-of", "yes", *parts) == any_of


@pytest.mark.parametrize("kind", ["all-of", "any-of"])
@pytest.mark.parametrize(("negate", "text"), [(False, "a"), (True, "no")])
def test_a_part_that_runs_out_of_time_fails_the_group(kind, negate, text):
    parts = [NO, {"kind": "regex", "pattern": "^(a|aa)+$"}, YES]
    one = assertion(kind, scope=FakeScope(regex_timeout_s=0.02), of=parts, negate=negate)
    result = one.check(answered(f"{'a' * 100}! {text}"), case())
    assert (result.outcome, result.reason) == (Outcome.FAILED, "timed_out")
    assert [issue["id"] for issue in result.evidence["issues"]] == ["it.2"]


def test_any_of_asks_no_part_after_one_that_passes():
    slow = {"kind": "regex", "pattern": "^(a|aa)+$"}
    one = assertion(
        "any-of", scope=FakeScope(regex_timeout_s=0.02), of=[{**YES, "value": "a"}, slow]
    )
    assert one.check(answered("a" * 100 + "!"), case()).outcome is Outcome.PASSED


def test_evidence_explains_each_part_that_did_not_pass():
    parts = [YES, {**NO, "id": "polite"}, group("any-of", NO, {**YES, "value": "sure"})]
    result = assertion("all-of", of=parts, severity="warn").check(answered("yes"), case())
    assert (result.id, result.kind, result.severity) == ("it", "all-of", Severity.WARN)
    assert result.reason == "not_all_passed"
    first, second = result.evidence["issues"]
    assert first == {
        "id": "polite",
        "kind": "contains",
        "outcome": "failed",
        "reason": "not_found",
        "message": "`polite`: not found",
        "evidence": {"expected": "no", "got": "yes"},
    }
    assert (second["id"], second["reason"]) == ("it.3", "none_passed")
    assert [issue["id"] for issue in second["evidence"]["issues"]] == ["it.3.1", "it.3.2"]


def test_evidence_of_an_open_part_says_what_it_is():
    result = assertion("all-of", of=[UNKNOWN]).check(answered("x"), case())
    assert (result.outcome, result.reason) == (Outcome.UNMEASURED, "undecided")
    (issue,) = result.evidence["issues"]
    assert (issue["outcome"], issue["reason"]) == ("unmeasured", "unknown_cost")
    assert "evidence" not in issue


def test_a_part_without_a_reason_is_explained_by_its_outcome(monkeypatch):
    monkeypatch.setattr(
        Crashes, "check", lambda self, *_: Check(self.spec.id, "crashes", Outcome.FAILED)
    )
    result = assertion("all-of", of=[CRASH]).check(answered("x"), case())
    assert result.evidence["issues"][0]["reason"] == "failed"


@pytest.mark.parametrize("kind", ["all-of", "any-of"])
def test_a_group_says_that_the_answer_was_cut_off(kind):
    one = assertion(kind, of=[YES])
    for text in ("yes", "x"):
        result = one.check(answered(text, Finish.LENGTH), case())
        assert result.evidence["finish"] == "length"


def test_parts_share_what_they_read_of_an_answer_and_its_figures():
    parts = [{"kind": "length", "unit": "tokens", "max": 3}, {"kind": "json-schema"}, FIELD]
    one = assertion("all-of", scope=FakeScope(contract={"type": "object"}), of=parts)
    result = one.check(answered('{"a": 1}', usage=Usage(1, 3, 0)), case())
    assert result.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (("a",), None),
        ((), "in `it.2`, the case has no `expected`"),
        (("",), "in `it.2`, it looks for an empty text, which is in every text"),
    ],
)
def test_what_a_case_lacks_for_a_part_is_told(expected, sentence):
    assert assertion("any-of", of=[YES, {"kind": "contains"}]).needs(case(*expected)) == sentence


def test_what_is_wrong_with_parts_is_told_together_with_their_places():
    bad = {"kind": "regex", "pattern": "("}
    empty = {"kind": "contains", "values": []}
    with pytest.raises(ManyProblems) as caught:
        assertion("all-of", of=[YES, bad, group("any-of", YES, empty)])
    assert [(problem.where, problem.code) for problem in caught.value.problems()] == [
        ("suite.yaml:3", "P6201"),
        ("suite.yaml:6", "P6202"),
    ]
    assert refusal("any-of", of=[bad]).startswith("P6201 `pattern` is not")


def test_parts_that_have_something_to_prepare_do_so_in_their_places():
    part = {"kind": "python", "function": "no_such_module_here:f"}
    one = assertion("all-of", of=[YES, group("any-of", YES, part), part])
    problems = list(one.prepare())
    assert all(isinstance(problem, ProctorError) for problem in problems)
    assert [problem.where for problem in problems] == ["suite.yaml:5", "suite.yaml:4"]
