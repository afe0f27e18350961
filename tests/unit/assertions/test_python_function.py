import sys

import pytest
from asking import FakeScope, answered, case, refusal
from asking import assertion as compiled

import proctor
from proctor.records import Check, Finish, Outcome, ToolCall

MODULE = """
import sys
import proctor

print("imported")

def is_short(answer, case):
    print("asked")
    return len(answer.text) < 5

def score(answer, case):
    return case.expected

def check(answer, case):
    outcome, reason, evidence = case.expected
    return proctor.Check("other", "kind", outcome, reason=reason, evidence=evidence)

def crash(answer, case):
    raise KeyError(case.inputs["secret"])

def crash_elsewhere(answer, case):
    import json
    json.loads("{")

def exit_generator(answer, case):
    raise GeneratorExit

class Base(BaseException):
    def __str__(self):
        raise ValueError

def base(answer, case):
    raise Base

def interrupt(answer, case):
    raise KeyboardInterrupt

def forge(answer, case):
    raise ValueError("a\\n::error::\\x1b[31m ##vso[x]" + "x" * 500)

def alone(answer):
    return True

def leave(answer, case):
    sys.exit(0)

def spoil(answer, case):
    case.inputs["secret"] = case.expected["a"] = answer.tool_calls[0].args["x"] = "spoilt"
    return True

def nothing(answer, case):
    pass

async def later(answer, case):
    return True

def coroutine(answer, case):
    return later(answer, case)

class Judge:
    def __call__(self, answer, case):
        return True

judge = Judge()
number = 7
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project with a module `proctor_test_judging`."""
    (tmp_path / "proctor_test_judging.py").write_text(MODULE)
    (tmp_path / "proctor_test_leaving.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "proctor_test_broken.py").write_text("1 / 0\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("judging", "leaving", "broken"):
        sys.modules.pop(f"proctor_test_{name}", None)


@pytest.fixture
def prepared(root):
    """A `python` assertion on a function of the module, ready to be asked."""

    def make(name, **fields):
        reference = f"proctor_test_judging:{name}"
        one = compiled("python", scope=FakeScope(root=root), function=reference, **fields)
        assert list(one.prepare()) == []
        return one

    return make


@pytest.fixture
def ask(prepared):
    """The check by a function of the module; `expected` is what the case expects."""

    def ask_function(name, *expected, text="some", **fields):
        return prepared(name, **fields).check(answered(text), case(*expected))

    return ask_function


@pytest.mark.parametrize(
    ("text", "negate", "reason"),
    [
        ("some", False, None),
        ("longer", False, "returned_false"),
        ("some", True, "returned_true"),
        ("longer", True, None),
    ],
)
def test_a_function_says_yes_or_no(ask, text, negate, reason):
    result = ask("is_short", text=text, negate=negate)
    assert (result.id, result.kind, result.reason) == ("it", "python", reason)


@pytest.mark.parametrize(
    ("score", "fields", "reason"),
    [
        (1, {}, None),
        (1.0, {}, None),
        (0.999, {}, "below_min"),
        (0, {}, "below_min"),
        (0.7, {"min": 0.7}, None),
        (0.7, {"min": 0.1 + 0.2 + 0.4}, None),
        (7, {"min": 7.5}, "below_min"),
        (0.7, {"min": 0.7, "negate": True}, "reaches_min"),
        (0.6, {"min": 0.7, "negate": True}, None),
    ],
)
def test_a_score_passes_from_min_on(ask, score, fields, reason):
    assert ask("score", score, **fields).reason == reason


def test_evidence_shows_the_score(ask):
    assert ask("score", 0.25, min=0.5).evidence == {"got": 0.25, "min": 0.5}


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (float("nan"), "not_a_number"),
        (float("inf"), "not_finite"),
        (float("-inf"), "not_finite"),
        (10**400, "not_finite"),
    ],
)
def test_a_score_that_is_no_number_gives_no_verdict(ask, score, reason, negate):
    result = ask("score", score, negate=negate)
    assert (result.outcome, result.reason) == (Outcome.UNMEASURED, reason)


@pytest.mark.parametrize(
    ("outcome", "negated"),
    [
        ("passed", "failed"),
        ("failed", "passed"),
        ("errored", "errored"),
        ("unmeasured", "unmeasured"),
    ],
)
def test_a_check_is_taken_for_its_verdict_reason_and_evidence(ask, outcome, negated):
    said = ask("check", (Outcome(outcome), "tone: reply", {"got": "rude"}), severity="warn")
    assert said == Check("it", "python", Outcome(outcome), "warn", "tone: reply", {"got": "rude"})
    assert ask("check", (outcome, None, None)) == Check("it", "python", Outcome(outcome))
    assert ask("check", (outcome, None, None), negate=True).outcome.value == negated


def test_a_function_cannot_say_that_later_rows_are_not_asked(ask):
    for reason in ("timed_out", "timed_out: reply"):
        assert ask("check", ("failed", reason, None)).reason == f"function_{reason}"
    assert ask("check", ("failed", "timed_out_once", None)).reason == "timed_out_once"


def test_what_a_check_says_is_kept_within_limits(ask):
    said = ask("check", ("failed", "x" * 500, {"got": "y" * 9_000, 7: float("nan")}))
    assert len(said.reason) == 200
    assert said.evidence["got"]["original_bytes"] == 9_002
    assert said.evidence["7"] is None


@pytest.mark.parametrize(
    "returned",
    [
        ("green", None, None),
        (None, None, None),
        ("failed", 7, None),
        ("failed", None, ["no object"]),
        ("failed", None, {"got": object()}),
        ("failed", None, {"got": "\ud800", "nan": float("nan")}),
    ],
)
def test_a_check_that_is_none_is_errored(ask, returned):
    result = ask("check", returned)
    assert (result.outcome, result.reason) == (Outcome.ERRORED, "returned: Check")


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crash", "crashed: KeyError"),
        ("leave", "crashed: SystemExit"),
        ("exit_generator", "crashed: GeneratorExit"),
        ("base", "crashed: Base"),
        ("nothing", "returned: NoneType"),
        ("coroutine", "returned: coroutine"),
    ],
)
def test_what_goes_wrong_in_a_function_is_named_without_its_values(ask, name, reason, negate):
    result = ask(name, negate=negate)
    assert (result.outcome, result.reason, result.evidence) == (Outcome.ERRORED, reason, None)


def test_an_interrupt_ends_the_run(ask):
    with pytest.raises(KeyboardInterrupt):
        ask("interrupt")


def line_of(text):
    return MODULE[: MODULE.index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("name", "said", "line"),
    [
        ("crash", "KeyError: 'secret'", "raise KeyError"),
        ("crash_elsewhere", "JSONDecodeError: Expecting property name", "json.loads"),
        ("exit_generator", "GeneratorExit (", "raise GeneratorExit"),
        ("base", "Base: its message cannot be had (", "raise Base"),
    ],
)
def test_the_first_crash_is_shown_with_its_line(root, prepared, capsys, name, said, line):
    one = prepared(name)
    capsys.readouterr()
    for _ in range(3):
        one.check(answered("some"), case())
    (shown,) = capsys.readouterr().err.splitlines()
    assert shown.startswith(f"it: {said}")
    assert shown.endswith(f"({root / 'proctor_test_judging.py'}:{line_of(line)})")


def test_a_function_that_cannot_be_called_has_no_line(ask, capsys):
    assert ask("alone").reason == "crashed: TypeError"
    assert capsys.readouterr().err.splitlines()[-1].startswith("it: TypeError: alone() takes 1")


def test_the_message_of_a_crash_does_not_act_on_a_terminal(ask, capsys):
    ask("forge")
    shown = capsys.readouterr().err.splitlines()[-1]
    assert shown.startswith("it: ValueError: a\\n:\\x3aerror:\\x3a\\x1b[31m #\\x23vso[x]xxx")
    assert len(shown) < 600


def test_a_text_returned_is_no_verdict(ask):
    assert ask("score", "yes").reason == "returned: str"


def test_a_function_gets_copies(prepared):
    answer = answered(None, calls=[ToolCall(None, "f", {"x": 1})])
    asked = case({"a": 1})
    assert prepared("spoil").check(answer, asked).outcome is Outcome.PASSED
    assert (asked.inputs, asked.expected) == ({}, {"a": 1})
    assert answer.answer.tool_calls[0].args == {"x": 1}


def test_a_callable_object_is_a_function_too(ask):
    assert ask("judge").outcome is Outcome.PASSED


def test_what_a_function_prints_does_not_reach_the_report(ask, capsys):
    ask("is_short")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "imported\nasked\n")


@pytest.mark.parametrize("negate", [False, True])
def test_an_answer_that_is_not_there_is_not_asked_about(ask, negate):
    result = ask("crash", text=None, negate=negate)
    assert (result.outcome, result.reason) == (Outcome.FAILED, "no_answer")


def test_an_answer_that_was_cut_off_says_so(prepared):
    result = prepared("is_short").check(answered("some", Finish.LENGTH), case())
    assert result.evidence == {"finish": "length"}


def test_nothing_is_imported_before_it_is_prepared(root):
    before = list(sys.path)
    scope = FakeScope(root=root)
    one = compiled("python", scope=scope, function="proctor_test_judging:is_short")
    assert one.needs(case()) is None
    result = one.check(answered("some"), case())
    assert (result.outcome, result.reason) == (Outcome.ERRORED, "not_prepared")
    assert "proctor_test_judging" not in sys.modules
    assert sys.path == before


def test_the_project_joins_the_path_last(root, prepared):
    assert str(root) not in sys.path
    prepared("is_short")
    assert sys.path[-1] == str(root)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no_such_module_here:f", "importing `no_such_module_here` failed: ModuleNotFoundError"),
        ("proctor_test_broken:f", "importing `proctor_test_broken` failed: ZeroDivisionError"),
        ("proctor_test_leaving:f", "importing `proctor_test_leaving` failed: SystemExit"),
        ("proctor_test_judging:gone", "`proctor_test_judging` has no function `gone`"),
        ("proctor_test_judging:number", "`proctor_test_judging` has no function `number`"),
        ("proctor_test_judging:later", "`proctor_test_judging:later` is `async`"),
    ],
)
def test_a_function_that_cannot_be_had_is_a_problem_before_the_first_row(root, reference, message):
    one = compiled("python", scope=FakeScope(root=root), function=reference)
    (problem,) = one.prepare()
    assert problem.code == "P6201"
    assert problem.message.startswith(f"`function`: {message}")
    assert problem.hint


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"function": "judging"}, "P6201 `function`: `judging` is not a reference to a function"),
        ({"function": "a/b:c"}, "P6201 `function`: `a/b:c` is not a reference to a function"),
        ({"min": 0}, "P6202 a score of 0 is at least `min`"),
        ({"min": -1}, "P6202 a score of 0 is at least `min`"),
        ({"min": float("nan")}, "P6201 `min` must be a number"),
        ({"min": float("inf")}, "P6201 `min` must be a number"),
    ],
)
def test_a_spec_that_cannot_work_or_cannot_fail_is_refused(fields, message):
    assert refusal("python", **{"function": "judging:f", **fields}) == message


def test_code_that_is_not_allowed_is_refused_by_name():
    message = refusal("python", scope=FakeScope(allow_code=False), function="judging:f")
    assert message == "P6220 `judging:f` is code of the project, which may not run"


def test_what_a_function_needs_is_public():
    assert {"Answer", "Case", "Check", "Outcome"} <= set(proctor.__all__)
