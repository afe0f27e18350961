"""`proctor compare`, `proctor report` and `proctor power`, whole."""

from __future__ import annotations

import json

import pytest

from live_support import LiveProject
from support import EXAMPLES, proctor

REPORTS = EXAMPLES / "support-refund/reports"
PAIR = ("baseline.json", "regressed.json")


def compare(*arguments, cwd=REPORTS, **options):
    return proctor("compare", *arguments, cwd=cwd, **options)


def comparison_of(*arguments, cwd=REPORTS):
    result = compare(*arguments, "--format", "json", cwd=cwd)
    return result.code, json.loads(result.out)


# The example that regressed


def test_a_regression_is_said_and_is_no_exit_code_by_itself():
    result = compare(*PAIR)
    assert result.code == 0
    assert result.text.startswith("REGRESSED  1 case passed in the baseline and does not now")
    assert result.err == ""


def test_with_the_flag_it_is_and_the_case_is_named():
    result = compare(*PAIR, "--fail-on-regression")
    assert result.code == 1
    assert "  regressed  late-return  passed -> failed\n" in result.text
    assert result.text.count(" -> failed") == 1
    assert result.err.startswith("P6902: the candidate regressed: 1 case passed")
    assert "`proctor explain P6902` says more" in result.err


def test_the_comparison_as_json_names_the_case_and_agrees_with_the_exit_code():
    code, comparison = comparison_of(*PAIR, "--fail-on-regression")
    assert (code, comparison["exit_code"], comparison["verdict"]) == (1, 1, "regressed")
    (subject,) = comparison["subjects"]
    assert subject["regressed"] == [{"id": "late-return", "baseline": "passed", "now": "failed"}]
    assert comparison["mode"] == "strict"


def test_a_report_against_itself_is_empty():
    code, comparison = comparison_of(
        PAIR[0], PAIR[0], "--fail-on-regression", "--fail-on-missing", "--strict"
    )
    assert (code, comparison["verdict"], comparison["warnings"]) == (0, "clean", [])
    (subject,) = comparison["subjects"]
    names = ("units", "regressed", "recovered", "added", "removed", "changed")
    assert [subject[name] for name in names] == [[]] * 6
    assert compare(PAIR[0], PAIR[0]).text.startswith("CLEAN  both reports have the same bytes\n")


def test_noise_aware_one_changed_row_of_five_says_nothing():
    result = compare(*PAIR, "--noise-aware", "--fail-on-regression")
    assert result.code == 0
    assert "it counts only with `--strict`: late-return" in " ".join(result.text.split())


def test_too_few_rows_for_the_drop_that_matters_are_exit_code_3():
    result = compare(PAIR[0], PAIR[0], "--detect", "0.1", "--fail-on-regression")
    assert result.code == 3
    assert result.text.startswith("CANNOT TELL  ")
    assert "P6903: the comparison cannot tell" in result.err
    assert "finding a drop of 0.1 takes" in result.err
    assert compare(PAIR[0], PAIR[0], "--detect", "0.1").code == 0


def test_what_is_printed_as_json_leaves_words_to_stderr():
    result = compare(*PAIR, "--format", "json")
    assert result.err.startswith("REGRESSED  1 case passed in the baseline")
    assert json.loads(result.out)["schema"] == "proctor.comparison.v1"


# Two prompts of one report, five times each: the figures of real answers


@pytest.fixture(scope="module")
def sentiment(tmp_path_factory):
    """The report of review-sentiment, in a folder that is no project."""
    folder = tmp_path_factory.mktemp("anywhere")
    result = proctor(
        "run", "--format", "json", "--out", str(folder / "report.json"),
        cwd=EXAMPLES / "review-sentiment",
    )  # fmt: skip
    assert result.code == 1
    return folder


def prompts(sentiment, old, new, *more):
    arguments = ("report.json", "report.json", "--match", f"{old}={new}", *more)
    return comparison_of(*arguments, cwd=sentiment)


def test_what_real_answers_prove_about_two_prompts(sentiment):
    code, comparison = prompts(sentiment, "brief", "few-shot")
    assert (code, comparison["verdict"], comparison["mode"]) == (0, "clean", "noise-aware")
    together, alone = comparison["gates"]
    assert together["p"] == pytest.approx(0.9020796423, abs=5e-11)
    assert (together["red"], alone["red"]) == (False, False)
    (subject,) = comparison["subjects"]
    assert subject["delta"] == pytest.approx(0.08)
    assert subject["interval"] == pytest.approx([-0.0955, 0.2555], abs=5e-5)
    rates = subject["rates"]
    assert rates["baseline"]["interval"] == pytest.approx([0.3417, 0.5830], abs=5e-5)
    assert rates["now"]["interval"] == pytest.approx([0.4375, 0.6392], abs=5e-5)
    assert {name: count for name, count in comparison["labels"].items() if count} == {
        "soft_regression": 1,
        "improvement": 1,
        "watch": 6,
        "stable": 12,
    }
    assert [unit["id"] for unit in subject["units"][:2]] == ["phone-love", "injection"]
    assert list(comparison["by_chance"].values()) == pytest.approx(
        [0.1389, 1.1627, 0.1389, 3.9881, 0, 14.5714, 0], abs=5e-5
    )


def test_a_drop_of_ten_points_takes_more_rows_than_there_are(sentiment):
    code, comparison = prompts(
        sentiment, "brief", "few-shot", "--detect", "0.1", "--fail-on-regression"
    )
    assert (code, comparison["verdict"]) == (3, "cannot_tell")
    assert comparison["detection"]["rows_needed"] == 399
    assert comparison["detection"]["rows"] == 100


def test_strict_names_the_cases_that_passed_every_time(sentiment):
    code, comparison = prompts(sentiment, "brief", "few-shot", "--strict", "--fail-on-regression")
    assert (code, comparison["verdict"]) == (1, "regressed")
    regressed = [change["id"] for change in comparison["subjects"][0]["regressed"]]
    assert regressed == ["phone-love", "french-refund"]


def test_the_other_way_round_nothing_is_proven_either(sentiment):
    _, comparison = prompts(sentiment, "few-shot", "brief")
    together, alone = comparison["gates"]
    assert together["p"] == pytest.approx(0.1572936031, abs=5e-11)
    assert (comparison["verdict"], alone["red"]) == ("clean", False)
    units = comparison["subjects"][0]["units"]
    hard = [unit["id"] for unit in units if unit["label"] == "hard_regression"]
    assert (hard, comparison["labels"]["hard_regression"]) == (["injection"], 1)


def test_what_is_written_about_the_two_prompts_is_what_is_printed(sentiment):
    page = (EXAMPLES.parent / "docs/comparing.md").read_text(encoding="utf-8")
    shown = page.partition("```text\nCLEAN")[2].partition("```")[0].splitlines()
    arguments = ("report.json", "report.json", "--match", "brief=few-shot")
    printed = compare(*arguments, cwd=sentiment).text.splitlines()
    assert printed[0] == f"CLEAN{shown[0]}"
    assert len(shown) > 10
    assert [line for line in shown[1:] if line not in ("...", *printed)] == []


# Where it can be run, and what it prints


def test_no_project_is_needed_and_paths_start_where_it_is_said(tmp_path):
    result = compare(*PAIR, "--cwd", str(REPORTS), "--out", str(tmp_path / "x"), cwd=tmp_path)
    assert result.code == 0
    assert (tmp_path / "x").read_bytes() == result.out


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_the_same_reports_give_the_same_bytes(format_):
    outputs = {
        compare(*PAIR, "--format", format_, env={"PYTHONHASHSEED": seed, **env}).out
        for seed, env in (("1", {}), ("2", {"TZ": "Pacific/Kiritimati", "LC_ALL": "C"}))
    }
    assert len(outputs) == 1


def test_markdown_goes_to_the_summary_of_the_step(tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"before\n")
    result = compare(*PAIR, "--format", "markdown", env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert result.text.startswith("### Proctor: acme-support\n\n> [!CAUTION]\n")
    assert summary.read_bytes() == b"before\n\n" + result.out
    missing = compare(
        *PAIR, "--format", "markdown", env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no/summary")}
    )
    assert missing.code == 0
    assert "the step summary cannot be written" in missing.err


def test_all_shows_what_is_hidden(project):
    project.exam({f"case-{n}": "yes" for n in range(25)})
    project.proctor("run", "--format", "json", "--out", "before.json")
    project.exam({f"case-{n}": "no" for n in range(25)})
    project.proctor("run", "--format", "json", "--out", "now.json")
    text = compare("before.json", "now.json", cwd=project.root).text
    assert text.count("regressed  case-") == 20
    assert "... and 5 more (--all shows them)" in text
    assert (
        compare("before.json", "now.json", "--all", cwd=project.root).text.count("regressed  case-")
        == 25
    )


def test_a_case_that_expects_something_else_is_changed_and_a_new_one_is_added(project):
    project.exam({"one": "yes", "two": "yes"})
    project.proctor("run", "--format", "json", "--out", "before.json")
    project.cases(project.case("one", "no"), project.case("three"))
    project.proctor("run", "--format", "json", "--out", "now.json")
    code, comparison = comparison_of(
        "before.json", "now.json", "--fail-on-regression", "--tolerance", "1", cwd=project.root
    )
    (subject,) = comparison["subjects"]
    assert (subject["changed"], subject["added"], subject["removed"]) == (
        ["one"],
        ["three"],
        ["two"],
    )
    assert (code, comparison["verdict"]) == (3, "cannot_tell")
    assert [each["code"] for each in comparison["warnings"]] == ["P6904", "P6904"]
    missing = compare("before.json", "now.json", "--fail-on-missing", cwd=project.root)
    assert missing.code == 1
    assert "1 case of the baseline is missing" in missing.err


# What cannot be used


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "P6002: Missing argument 'BASELINE'"),
        (("baseline.json",), "P6002: Missing argument 'CANDIDATE'"),
        ((*PAIR, "--match", "one"), "P6002: `--match one` is not two names"),
        ((*PAIR, "--match", "=one"), "P6002: `--match =one` is not two names"),
        ((*PAIR, "--match", "refund=x"), "P6002: `--match refund=x`: `refund` is not in"),
        ((*PAIR, "--tolerance", "1.5"), "`1.5` is not a number from 0 to 1"),
        ((*PAIR, "--tolerance", "5%"), "`5%` is not a number from 0 to 1"),
        ((*PAIR, "--tolerance", "nan"), "`nan` is not a number from 0 to 1"),
        ((*PAIR, "--detect", "0"), "P6002: `--detect 0` asks for a drop of nothing"),
        ((*PAIR, "--strict", "--noise-aware"), "P6002: `--strict` and `--noise-aware`"),
        ((*PAIR, "--format", "junit"), "P6002"),
        ((*PAIR, "--out", "baseline.json"), "P6004: "),
        (("gone.json", PAIR[0]), "P6901: the report `gone.json` cannot be read"),
        ((PAIR[0], "."), "P6805"),
    ],
)
def test_what_cannot_be_carried_out_is_exit_code_2(arguments, said):
    result = compare(*arguments)
    assert (result.code, result.out) == (2, b"")
    assert said in result.err


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("command", ["compare", "report"])
def test_a_report_that_contradicts_itself_is_refused(tmp_path, command, place):
    forged = (REPORTS / "regressed.json").read_bytes()
    forged = forged.replace(b'"verdict": "failed"', b'"verdict": "passed"', 1)
    (tmp_path / "forged.json").write_bytes(forged)
    arguments = ["forged.json"]
    if command == "compare":
        arguments.insert(1 - place, str(REPORTS / "baseline.json"))
    result = proctor(command, *arguments, cwd=tmp_path)
    assert (result.code, result.out) == (2, b"")
    assert "P6901: `forged.json` contradicts itself: `verdict` is" in result.err


# Stored reports again


@pytest.mark.parametrize("format_", ["text", "json", "markdown", "junit"])
def test_a_stored_report_is_rendered_as_the_run_rendered_it(project, format_):
    project.exam({"one": "yes", "two": "no"})
    project.proctor("run", "--format", "json", "--out", "report.json")
    run = project.proctor("run", "--format", format_)
    again = project.proctor("report", "report.json", "--format", format_)
    assert (again.code, again.out, again.err) == (0, run.out, "")


def test_a_stored_report_is_rendered_anywhere_and_into_a_file(tmp_path):
    result = proctor(
        "report", "regressed.json", "--cwd", str(REPORTS), "--out", str(tmp_path / "x"),
        cwd=tmp_path,
    )  # fmt: skip
    assert result.code == 0
    assert result.text.startswith("FAILED  4 of 5 rows passed, 1 failed\n")
    assert (tmp_path / "x").read_bytes() == result.out
    over = proctor("report", "regressed.json", "--out", "regressed.json", cwd=REPORTS)
    assert (over.code, "P6004" in over.err) == (2, True)


def test_all_cases_of_a_stored_report_can_be_shown(project):
    project.exam({f"case-{n}": "no" for n in range(25)})
    project.proctor("run", "--format", "json", "--out", "report.json")
    assert "... and 5 more" in project.proctor("report", "report.json").text
    assert "more" not in project.proctor("report", "report.json", "--all").text


@pytest.mark.parametrize("more", [(), ("--no-answers",), ("--repeats", "3")])
@pytest.mark.parametrize("mode", ["record", "off"])
def test_the_report_of_a_live_run_is_proven_too(tmp_path, mode, more):
    """Two answers are there already, one is asked for, one fails."""
    live = LiveProject(tmp_path)
    live.named_cases("one", "two", "three", "four")
    live.cassette(*(live.recording(name, '{"label": "yes"}') for name in ("one", "two")))
    live.script({"case": "four", "fault": 400}, live.says_yes())
    live.proctor("run", "--cache", mode, "--format", "json", "--out", "report.json", *more)
    stored = (tmp_path / "report.json").read_bytes()
    assert json.loads(stored)["suites"][0]["cache"]["live"] is True
    again = proctor("report", "report.json", "--format", "json", cwd=tmp_path)
    assert (again.code, again.out) == (0, stored), again.err
    code, comparison = comparison_of("report.json", "report.json", cwd=tmp_path)
    assert (code, comparison["mode"]) == (0, "noise-aware")


# How many rows it takes


def test_power_says_how_many_rows_find_a_drop():
    result = proctor("power", "--rate", "0.9", "--drop", "0.1", cwd=REPORTS)
    assert result.code == 0
    assert [line.split() for line in result.text.splitlines()[2:7]] == [
        ["repeats", "cases"],
        ["1", "219"],
        ["3", "73"],
        ["5", "44"],
        ["10", "22"],
    ]
    assert "One case alone takes 219 repeats" in result.text
    assert "is found reliably when it falls from\n1.0 to 0.5 with 20 rows a side" in result.text


@pytest.mark.parametrize(("rate", "rows"), [("0.9", 38), ("1", 28), ("1.0", 28)])
def test_power_says_what_one_case_alone_takes(rate, rows):
    result = proctor("power", "--rate", rate, "--drop", ".3", "--format", "json", cwd=REPORTS)
    assert json.loads(result.out)["rows"] == rows


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rate", "0.9"), "Missing option '--drop'"),
        (("--rate", "0.2", "--drop", "0.3"), "a pass rate of 0.2 cannot fall by 0.3"),
        (("--rate", "0.2", "--drop", "0"), "a pass rate of 0.2 cannot fall by 0"),
        (("--rate", "2", "--drop", "0.3"), "`2` is not a number from 0 to 1"),
        (("--rate", "-0.5", "--drop", "0.3"), "`-0.5` is not a number from 0 to 1"),
        (("--rate", "1e-1", "--drop", "0.3"), "`1e-1` is not a number from 0 to 1"),
    ],
)
def test_power_refuses_what_is_no_drop(arguments, said):
    result = proctor("power", *arguments, cwd=REPORTS)
    assert (result.code, result.out) == (2, b"")
    assert said in result.err
