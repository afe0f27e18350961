"""`proctor run --baseline`, the gates of tiers, and `proctor baseline`, whole."""

from __future__ import annotations

import json

import pytest

from live_support import LiveProject
from support import EXAMPLES, Project, proctor

pytestmark = pytest.mark.slow
"""Each test starts a program, and there are many of them."""

REFUND = EXAMPLES / "support-refund"
REGRESSED = ("--cassettes", "cassettes-regressed")
BEFORE = "reports/baseline.json"


def run(*arguments, cwd=REFUND, **options):
    return proctor("run", *arguments, cwd=cwd, **options)


def lines_of(result):
    return result.text.splitlines()


@pytest.fixture
def quiz(project) -> Project:
    """A project of three cases, all right, with the report of it as the baseline `main`."""
    project.exam({"one": "yes", "two": "yes", "three": "yes"})
    report = project.proctor("run", "--format", "json", "--out", "before.json")
    assert report.code == 0
    assert project.proctor("baseline", "promote", "before.json", "--name", "main").code == 0
    return project


def gated(project, **gate):
    keys = "".join(f"{name} = {json.dumps(value)}\n" for name, value in gate.items())
    project.write("proctor.toml", f'project = "tests"\n[gates.full]\n{keys}')


# A run with a baseline


def test_a_run_is_compared_with_its_baseline_and_names_the_case():
    result = run(*REGRESSED, "--baseline", BEFORE, "--fail-on-regression")
    assert result.code == 1
    first, second, *rest = lines_of(result)
    assert first == "FAILED  4 of 5 rows passed, 1 failed"
    assert second.startswith(f"REGRESSED  compared with the baseline `{BEFORE}`: 1 case passed")
    assert "  regressed  late-return  passed -> failed" in rest
    assert "P6902: the candidate regressed: 1 case passed" in result.err


def test_a_run_that_is_its_baseline_is_empty():
    result = run("--baseline", BEFORE, "--fail-on-regression", "--fail-on-missing")
    assert (result.code, result.err) == (0, "")
    said = f"CLEAN  compared with the baseline `{BEFORE}`: both reports have the same bytes"
    assert lines_of(result)[1] == said


def test_a_run_compares_as_compare_does(quiz):
    """The rates, cases and gates of both are the same, since it is the same code."""
    quiz.exam({"one": "yes", "two": "no", "four": "yes"})
    now = quiz.proctor("run", "--baseline", "main", "--tolerance", "0.5")
    quiz.proctor("run", "--format", "json", "--out", "now.json")
    compared = quiz.proctor(
        "compare", "evals/baselines/main.json", "now.json", "--tolerance", "0.5"
    )
    assert now.text.endswith(compared.text)
    assert "  regressed  two  passed -> failed" in compared.text


def test_a_regression_of_a_run_that_meets_its_thresholds_is_an_exit_code_by_the_flag_only(quiz):
    quiz.write("evals/quiz.eval.yaml", "thresholds: {passRate: 0.5}\n" + SUITE)
    quiz.exam({"one": "yes", "two": "no", "three": "yes"})
    without = quiz.proctor("run", "--baseline", "main")
    assert (without.code, "REGRESSED" in without.text) == (0, True)
    asked = quiz.proctor("run", "--baseline", "main", "--fail-on-regression")
    assert asked.code == 1
    excused = quiz.proctor("run", "--baseline", "main", "--fail-on-regression", "--exit-zero")
    assert excused.code == 0


SUITE = """\
prompt: answer
dataset: cases.jsonl
assertions:
  - {id: right, kind: equals, field: label}
"""


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--detect", "0.1", "--fail-on-regression"), 3),
        (("--detect", "0.1"), 0),
        (("--strict", "--fail-on-regression"), 0),
        (("--noise-aware", "--fail-on-regression"), 0),
    ],
)
def test_what_a_run_asks_of_the_comparison_is_what_compare_may_ask(quiz, options, code):
    assert quiz.proctor("run", "--baseline", "main", *options).code == code


def test_a_missing_case_is_a_regression_when_that_is_asked_for(quiz):
    quiz.exam({"one": "yes", "two": "yes"})
    assert quiz.proctor("run", "--baseline", "main").code == 0
    missing = quiz.proctor("run", "--baseline", "main", "--fail-on-missing")
    assert (missing.code, "1 case of the baseline is missing" in missing.err) == (1, True)


def test_with_a_selection_nothing_else_is_compared(quiz):
    """Not even by its pass rate: the case that is wrong now was not selected."""
    quiz.exam({"one": "yes", "two": "no", "three": "yes"})
    result = quiz.proctor(
        "run", "--case", "one", "--baseline", "main", "--fail-on-missing", "--fail-on-regression"
    )
    assert result.code == 0
    assert "  passed 1/1 -> 1/1, mean change 0 " in result.text
    assert "removed" not in result.text
    wrong = quiz.proctor("run", "--case", "two", "--baseline", "main")
    assert "  regressed  two  passed -> failed" in wrong.text
    assert "  passed 1/1 -> 0/1, mean change -1 " in wrong.text


@pytest.mark.parametrize("format_", ["json", "junit"])
def test_formats_for_machines_stay_what_they_are_and_people_hear_of_it(quiz, format_):
    alone = quiz.proctor("run", "--format", format_)
    compared = quiz.proctor("run", "--format", format_, "--baseline", "main")
    assert compared.out == alone.out
    assert "CLEAN  compared with the baseline `main`" in compared.err


def test_a_match_that_names_nothing_is_found_before_anything_is_run(quiz):
    result = quiz.proctor("run", "--baseline", "main", "--match", "answer=other")
    assert (result.code, result.out) == (2, b"")
    assert "P6002: `--match answer=other`: `other` is not in the candidate" in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--baseline", "mian"), "P6906: there is no baseline `mian`\n    did you mean `main`?"),
        (("--baseline", "other"), "proctor baseline promote REPORT --name other"),
        (("--baseline", "Main"), "P6002: `Main` is not a name for a baseline"),
        (("--baseline", "gone.json"), "P6901: the report `gone.json` cannot be read"),
        (("--baseline", "./main"), "P6901: the report `main` cannot be read"),
        (("--baseline", "main", "--strict", "--noise-aware"), "P6002: `--strict` and"),
        (("--baseline", "main", "--match", "one"), "P6002: `--match one` is not two names"),
        (("--baseline", "main", "--dry-run"), "P6002: `--dry-run` makes no report"),
        (("--baseline", "before.json", "--out", "before.json"), "P6004: "),
        (("--fail-on-regression",), "P6002: `--fail-on-regression` compares, and nothing is"),
        (("--tolerance", "0.1"), "P6002: `--tolerance` compares, and nothing is"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_exit_code_2_and_nothing_is_run(quiz, arguments, said):
    result = quiz.proctor("run", *arguments)
    assert (result.code, result.out) == (2, b"")
    assert said in result.err


# The comment


def test_the_comment_of_a_run_with_a_baseline_says_both_and_is_appended_to_the_step(tmp_path):
    summary = tmp_path / "summary.md"
    result = run(
        *REGRESSED, "--baseline", BEFORE, "--format", "markdown",
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    text = result.text
    assert text.startswith("### Proctor: acme-support\n\n> [!CAUTION]\n> **FAILED** 4 of 5 rows")
    assert "> **REGRESSED** compared with the baseline: 1 case passed" in text
    headings = [line for line in text.splitlines() if line.startswith("#### ")]
    order = ["Regressions", "Cases that did not pass", "Suites", "Judges", "Gates (strict)"]
    assert [line.removeprefix("#### ") for line in headings] == ["Thresholds", *order]
    assert summary.read_bytes() == result.out


def test_the_comment_of_a_clean_run_is_a_tip_and_without_a_baseline_a_note():
    for more, alert in ((("--baseline", BEFORE), "TIP"), ((), "NOTE")):
        assert f"> [!{alert}]\n" in run("--format", "markdown", *more).text


# Gates of tiers


@pytest.mark.parametrize(
    ("gate", "labels", "code", "said"),
    [
        ({"criterion": "pass-at-k"}, "yes yes", 0, "MET  the gate of tier `full`: 2 of 2 units"),
        ({"criterion": "pass-at-k"}, "yes no", 1, "never did `c1`"),
        ({"criterion": "pass-rate", "min": 0.5}, "yes no", 0, "1 of 2 rows passed, and 0.5"),
        ({"criterion": "pass-rate", "min": 0.6}, "yes no", 1, "1 of 2 rows passed, and 0.6"),
        ({"criterion": "pass-at-k", "detect": 0.1}, "yes yes", 3, "a drop of 0.1 could go"),
        ({"criterion": "no-regression"}, "yes yes", 0, "nothing regressed since the baseline"),
        ({"criterion": "no-regression"}, "yes no", 1, "it regressed since the baseline"),
        ({"criterion": "no-regression", "detect": 0.1}, "yes yes", 3, "it cannot be told"),
    ],
)
def test_a_gate_of_the_tier_that_is_run_decides(project, gate, labels, code, said):
    project.write("evals/quiz.eval.yaml", "thresholds: {passRate: 0.1}\n" + SUITE)
    project.exam({"c0": "yes", "c1": "yes"})
    project.proctor("run", "--format", "json", "--out", "before.json")
    project.exam({f"c{place}": label for place, label in enumerate(labels.split())})
    gated(project, **gate)
    more = ("--baseline", "before.json") if gate["criterion"] == "no-regression" else ()
    result = project.proctor("run", "--tier", "full", *more)
    assert result.code == code
    assert said in result.text
    assert ("P6903: the gate of tier `full` is not met" in result.err) is (code != 0)
    assert project.proctor("run", *more).code == 0


def test_a_tier_without_anything_measured_does_not_meet_its_gate(project):
    project.exam({"one": "yes"})
    project.cassette()
    gated(project, criterion="pass-at-k")
    result = project.proctor("run", "--tier", "full")
    assert result.code == 1
    assert "nothing was measured; excluded, nothing measured: `one`" in result.text


def test_a_case_is_of_its_own_tiers_or_else_of_those_of_its_suite(project):
    project.cases(project.case("of-the-suite"), {**project.case("of-its-own"), "tiers": ["smoke"]})
    project.cassette()
    for tier, id_ in (("full", "of-the-suite"), ("smoke", "of-its-own")):
        report = project.proctor("run", "--tier", tier, "--format", "json").report
        cases = report["suites"][0]["subjects"][0]["cases"]
        assert [case["id"] for case in cases] == [id_]
    nothing = project.proctor("run", "--tier", "nightly")
    assert (nothing.code, "P6001: 0 of 2 cases are selected" in nothing.err) == (2, True)


def test_a_gate_looks_at_the_cases_of_its_tier_only(project):
    project.write("evals/quiz.eval.yaml", "thresholds: {passRate: 0.1}\n" + SUITE)
    names = {"one": "yes", "two": "no"}
    project.exam(names)
    project.cases(project.case("one"), {**project.case("two"), "tiers": ["smoke"]})
    gated(project, criterion="pass-at-k")
    result = project.proctor("run", "--tier", "full", "--tier", "smoke")
    assert result.code == 0
    assert "MET  the gate of tier `full`: 1 of 1 units passed at least once" in result.text


def test_a_gate_without_the_baseline_it_compares_with_is_exit_code_2(project):
    project.exam({"one": "yes"})
    gated(project, criterion="no-regression")
    result = project.proctor("run", "--tier", "full")
    assert (result.code, result.out) == (2, b"")
    assert "P6002: the gate of tier `full` compares with a baseline" in result.err


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"criterion": "luck"}, "P6003"),
        ({"criterion": "pass-rate"}, "the criterion `pass-rate` needs `min`"),
        ({"criterion": "pass-at-k", "min": 0.5}, "`pass-rate` is the only one that takes `min`"),
        ({"criterion": "pass-rate", "min": 1.5}, "P6003"),
        ({"criterion": "pass-at-k", "detect": 0}, "P6003"),
        ({"criterion": "pass-at-k", "atLeast": 1}, "P6003"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(project, gate, said):
    project.exam({"one": "yes"})
    gated(project, **gate)
    result = project.proctor("run")
    assert (result.code, said in result.err) == (2, True), result.err


# Baselines with a name


def test_promoting_writes_a_file_without_answers_unless_they_are_asked_for(quiz):
    stored = quiz.root / "evals/baselines/main.json"
    assert b'"answer":null' in stored.read_bytes()
    assert b'"question"' not in stored.read_bytes()
    result = quiz.proctor("baseline", "promote", "before.json", "--name", "main", "--answers")
    assert result.text == (
        "evals/baselines/main.json  passed, 3 of 3 measured rows passed, 1 suite\n"
    )
    assert (result.code, result.err) == (0, "")
    assert stored.read_bytes() == (quiz.root / "before.json").read_bytes()


def test_baselines_are_listed_and_shown(quiz):
    said = "passed, 3 of 3 measured rows passed, 1 suite"
    assert quiz.proctor("baseline", "list").text == f"main  {said}\n"
    (listed,) = quiz.proctor("baseline", "list", "--format", "json").report["baselines"]
    assert (listed["name"], listed["passed"], listed["suites"]) == ("main", 3, ["quiz"])
    shown = quiz.proctor("baseline", "show", "main", "--format", "json")
    assert shown.out == (quiz.root / "evals/baselines/main.json").read_bytes()
    assert quiz.proctor("baseline", "show", "main").text.startswith("PASSED  3 of 3 rows passed\n")


def test_without_baselines_that_is_said(project):
    assert (
        project.proctor("baseline", "list").text == "there are no baselines in evals/baselines/\n"
    )


@pytest.mark.parametrize(
    ("recorded", "warned"),
    [(20, ""), (19, ""), (18, "2 of 20 rows are errored"), (18, "faults are all that is known of")],
)
def test_a_report_with_many_faults_is_promoted_with_a_warning(project, recorded, warned):
    """More than one row in twenty; a single case that only has faults is said by itself."""
    names = [f"case-{number}" for number in range(20)]
    project.cases(*map(project.case, names))
    project.cassette(*(project.recording(name, '{"label": "yes"}') for name in names[:recorded]))
    project.proctor("run", "--format", "json", "--out", "now.json")
    result = project.proctor("baseline", "promote", "now.json", "--name", "main")
    assert result.code == 0
    assert warned in result.err
    assert ("rows are errored" in result.err) is (recorded < 19)
    assert ("faults are all" in result.err) is (recorded < 20)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("promote", "before.json"), "P6002: Missing option '--name'"),
        (("promote", "before.json", "--name", "../main"), "P6002: `../main` is not a name"),
        (("promote", "before.json", "--name", "main.json"), "P6002: `main.json` is not a name"),
        (("promote", "before.json", "--name", "-x"), "P6002: `-x` is not a name"),
        (("promote", "before.json", "--name", "x" * 65), "P6002"),
        (("promote", "gone.json", "--name", "main"), "P6901"),
        (("promote", f"{REFUND}/reports/baseline.json", "--name", "x"), "of the project `acme"),
        (("show", "other"), "P6906: there is no baseline `other`"),
    ],
)
def test_what_cannot_be_a_baseline_is_refused(quiz, arguments, said):
    result = quiz.proctor("baseline", *arguments)
    assert (result.code, result.out) == (2, b"")
    assert said in result.err


def test_a_forged_baseline_is_refused(quiz):
    stored = quiz.root / "evals/baselines/main.json"
    stored.write_bytes(stored.read_bytes().replace(b'"passed": 3', b'"passed": 2', 1))
    result = quiz.proctor("run", "--baseline", "main")
    assert (result.code, result.out) == (2, b"")
    assert "P6901: `main.json` contradicts itself" in result.err


def test_no_link_is_followed_to_a_baseline_or_from_one(quiz):
    folder = quiz.root / "evals/baselines"
    (folder / "linked.json").symlink_to("main.json")
    linked = quiz.proctor("run", "--baseline", "linked")
    assert (linked.code, "P6805" in linked.err) == (2, True)
    folder.rename(quiz.root / "elsewhere")
    folder.symlink_to("../elsewhere")
    for arguments in (
        ("run", "--baseline", "main"),
        ("baseline", "promote", "before.json", "--name", "main"),
    ):
        result = quiz.proctor(*arguments)
        assert (result.code, "P6805" in result.err) == (2, True)


def test_a_report_in_a_folder_that_others_may_write_is_not_used(quiz):
    folder = quiz.root / ".proctor"
    folder.mkdir(mode=0o755)
    (folder / "report.json").write_bytes((quiz.root / "before.json").read_bytes())
    for arguments in (
        ("run", "--baseline", ".proctor/report.json"),
        ("baseline", "promote", ".proctor/report.json", "--name", "other"),
    ):
        result = quiz.proctor(*arguments)
        assert (result.code, "P6805: `.proctor/` is not a private" in result.err) == (2, True)
    folder.chmod(0o700)
    assert quiz.proctor("run", "--baseline", ".proctor/report.json").code == 0


def test_a_live_run_is_compared_by_what_chance_explains(tmp_path):
    """One answer of two is another now; strictly that is a regression, by chance it is none."""
    live = LiveProject(tmp_path)
    live.named_cases("one", "two")
    live.script(live.says_yes())
    live.proctor("run", "--cache", "off", "--format", "json", "--out", "before.json")
    live.script({"case": "two", "text": '{"label": "no"}'}, live.says_yes())
    asked = ("--cache", "off", "--baseline", "before.json", "--fail-on-regression")
    live.write("evals/quiz.eval.yaml", "thresholds: {passRate: 0.5}\n" + SUITE)
    noisy = live.proctor("run", *asked)
    assert (noisy.code, "gates (noise-aware)" in noisy.text) == (0, True)
    assert live.proctor("run", *asked, "--strict").code == 1
