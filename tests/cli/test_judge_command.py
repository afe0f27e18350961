"""`proctor judge check`: whether judges agree with people, and whether the order decides."""

from __future__ import annotations

import json

import pytest

from judged_support import FAIL, OF_JUDGES, PASS, RIGHT, TONE
from labelled_support import LabelledProject, label
from rubric_prompts import INPUTS, SYSTEM

REVERSED = "\n\nThe request:"
"""What the messages hold when the reply comes first."""


@pytest.fixture
def project(tmp_path):
    project = LabelledProject(tmp_path)
    project.named_cases("one", "two")
    project.says(PASS)
    return project


def check(project, *arguments):
    return project.proctor("judge", "check", *arguments)


def recorded(project, *arguments):
    return check(project, "--cache", "record", "--max-wait", "0", *arguments)


class TestAgreement:
    def test_counts_rates_and_disagreements_are_shown(self, project):
        project.script(
            {"contains": OF_JUDGES, "case": "two", "text": FAIL},
            {"contains": OF_JUDGES, "text": PASS},
            project.says_yes(),
        )
        project.named_cases("one", "two", "three", "four", "five")
        project.labels(
            label("one", "pass"),
            label("two", "pass", by="ada", note="clear\x1b[31m"),
            label("three", "fail", text="No."),
            label("four", "pass", by="ada"),
            label("four", "fail", by="bob"),
            label("gone", "pass"),
        )
        result = recorded(project)
        assert result.code == 0, result.err
        assert result.text.splitlines() == [
            "quiz",
            "  tone: agrees with people on 1/2 answers, 0.5 [0.09453, 0.9055], kappa 0",
            "    of 2 that people pass, the judges pass 1 and fail 1: TPR 0.5 [0.09453, 0.9055]",
            "    of 0 that people fail, the judges pass 0 and fail 0: TNR n/a [0, 1]",
            "    labels not used: 1 stale, 1 disputed, 1 not judged",
            "    too few labels: 2 of 30, with 2 pass and 0 fail of 10 each",
            r"    two: ada says pass (clear\x1b[31m), the judges fail",
            "      fail: It is curt.",
        ]
        assert check(project).out == result.out

    def test_rows_are_named_as_far_as_that_is_needed(self, project):
        project.labelled(models=["local/a", "local/b"], repeats=2)
        project.labels(label("two", "fail", subject="answer@local/b", repeat=2))
        assert "    two by answer@local/b, repeat 2: people say fail, the judges pass\n" in (
            recorded(project).text
        )

    def test_each_judged_assertion_is_looked_at_by_itself(self, project):
        project.labelled(TONE, TONE | {"id": "manners", "negate": True})
        project.labels(label("one", "pass"), label("one", "fail", assertion="manners"))
        lines = recorded(project).text.splitlines()
        assert [line.partition(", ")[0] for line in lines if "agrees" in line] == [
            "  tone: agrees with people on 1/1 answers",
            "  manners: agrees with people on 0/1 answers",
        ]

    def test_json_has_all_of_it(self, project):
        project.labels(label("one", "fail", by="ada"))
        recorded(project)
        result = check(project, "--format", "json")
        assert result.code == 0
        (suite,) = result.report["suites"]
        (assertion,) = suite["assertions"]
        assert (suite["suite"], suite["verdict"], suite["errors"]) == ("quiz", "passed", [])
        assert (
            assertion["agreement"]
            == json.loads(project.proctor("run", "--format", "json").out)["suites"][0]["judge"][
                "agreement"
            ]
        )
        (one,) = assertion["disagreements"]
        assert one["label"] == label("one", "fail", by="ada", subject="answer@local/tiny")
        assert (one["judge"], [vote["reason"] for vote in one["votes"]]) == (
            "pass",
            ["It is kind."],
        )
        assert assertion["order"] is None

    def test_answers_that_are_not_recorded_are_told_with_the_command_that_records_them(
        self, project
    ):
        project.labels(label("one", "pass"))
        result = check(project)
        assert result.code == 3
        assert "quiz: unmeasured\n" in result.text
        assert "  errored  2 rows, P6402: " in result.text
        assert "`proctor judge check quiz --cache record` records it" in result.text


class TestSuites:
    def other(self, project, **keys):
        project.write(
            "evals/other.eval.yaml",
            json.dumps(
                {"prompt": "answer", "dataset": "cases.jsonl", "assertions": [RIGHT]} | keys
            ),
        )

    def test_without_names_every_suite_with_labels_is_checked(self, project):
        self.other(project)
        recorded(project)
        assert check(project).text.startswith("quiz\n")
        assert (project.root / "evals/cassettes/quiz.jsonl").exists()
        assert not (project.root / "evals/cassettes/other.jsonl").exists()

    def test_a_suite_without_labels_is_refused_when_it_is_named(self, project):
        self.other(project)
        result = check(project, "other")
        assert (result.code, "the suite `other` has no labels" in result.err) == (2, True)

    def test_a_project_without_labels_has_nothing_to_check(self, project):
        project.labelled(labels=None)
        result = check(project)
        assert (result.code, "P6001: 0 of 1 suites have labels" in result.err) == (2, True)

    def test_no_report_is_written_over_labels_or_rubrics(self, project):
        for path in ("evals/labels/quiz.jsonl", "prompts/judge-tone.prompt.yaml"):
            before = (project.root / path).read_bytes()
            result = project.proctor("run", "--out", path)
            assert (result.code, "P6004" in result.err) == (2, True)
            assert (project.root / path).read_bytes() == before

    def test_a_bad_label_stops_it_before_anything_is_asked(self, project):
        project.labels("no label")
        result = recorded(project)
        assert (result.code, "evals/labels/quiz.jsonl:1: P6218: " in result.err) == (2, True)
        assert project.proctor("lint").err == result.err
        assert not (project.root / "evals/cassettes").exists()


class TestThresholds:
    @pytest.mark.parametrize(
        ("table", "limits", "code", "said"),
        [
            ((22, 2, 0, 16), {"min": 0.8, "minTpr": 0.8, "minTnr": 0.6}, 0, None),
            (
                (22, 2, 0, 16),
                {"min": 0.8, "minTnr": 0.7},
                1,
                "not met: P6602: judgeAgreement.minTnr is 0.672002, at least 0.7 is asked for",
            ),
            (
                (29, 0, 0, 9),
                {"min": 0.1},
                3,
                "not available: judgeAgreement.min, at least 0.1 is asked for, too few labels",
            ),
        ],
    )
    def test_check_and_run_agree_on_what_they_say(self, project, table, limits, code, said):
        project.labelled(thresholds={"judgeAgreement": limits})
        project.table(*table)
        checked = recorded(project)
        assert checked.code == code, checked.err
        assert (
            checked.text.splitlines()[0] == f"quiz: {['passed', 'failed', '', 'unmeasured'][code]}"
        )
        ran = project.proctor("run")
        assert ran.code == code
        for text in (checked.text, ran.text):
            lines = [line.strip() for line in text.splitlines() if "judgeAgreement" in line]
            assert lines == ([] if said is None else [said])
        agreed = table[0] + table[3]
        assert f"    agrees with people on {agreed}/{sum(table)} answers, " in ran.text

    def test_every_format_says_that_a_threshold_is_not_met(self, project):
        project.labelled(thresholds={"judgeAgreement": {"min": 0.99}})
        project.table(20, 0, 0, 10)
        assert recorded(project).code == 1
        for format_ in ("markdown", "junit"):
            text = project.proctor("run", "--format", format_).text
            assert "P6602" in text
        page = project.proctor("explain", "P6602").text
        assert page.startswith("P6602 Judges disagree with people")


class TestAsking:
    def test_what_is_missing_is_asked_for_and_then_replayed(self, project):
        project.labels(label("one", "pass"))
        assert recorded(project).code == 0
        assert [line["call"] for line in project.stored] == ["judge", "judge", "answer", "answer"]
        project.script({"fault": 500})
        assert check(project).code == 0

    def test_a_dry_run_asks_nothing(self, project):
        result = check(project, "--cache", "record", "--dry-run", "--order-check")
        assert result.code == 0
        assert result.text.splitlines() == [
            "quiz  local/tiny: 2 rows, 0 calls recorded, 2 not, 2 to make",
            "quiz  local/judge: 4 votes, 0 calls recorded, 4 not, 4 to make",
        ]
        assert not (project.root / "evals/cassettes").exists()

    def test_judges_that_cost_need_a_limit(self, project):
        project.labelled(judge={"model": "anthropic/claude-sonnet-4-5", "params": {"maxTokens": 9}})
        result = recorded(project, "--order-check")
        assert (result.code, "P6504" in result.err) == (2, True)


class TestOrder:
    @pytest.fixture
    def project(self, project):
        """The judge lets pass what comes last, of one case."""
        project.script(
            {"contains": REVERSED, "case": "two", "text": FAIL},
            {"contains": OF_JUDGES, "text": PASS},
            project.says_yes(),
        )
        project.labels(label("one", "pass"), label("two", "pass"))
        return project

    def test_judging_in_reverse_order_is_recorded_replayed_and_compared(self, project):
        first = recorded(project, "--order-check")
        assert first.code == 0, first.err
        assert first.text.endswith(
            "    in reverse order 1 of 2 verdicts flip\n      two: pass -> fail\n"
        )
        prompts = {line["assertion"]: line["parts"]["prompt"] for line in project.stored}
        assert prompts.keys() == {None, "tone", "tone (reversed)"}
        assert len(set(prompts.values())) == 3
        project.script({"fault": 500})
        assert check(project, "--order-check").out == first.out
        flips = check(project, "--order-check", "--format", "json").report["suites"][0]
        assert flips["assertions"][0]["order"] == {
            "compared": 2,
            "not_compared": 0,
            "flips": [
                {
                    "case": "two",
                    "subject": "answer@local/tiny",
                    "repeat": 1,
                    "verdict": "pass",
                    "reversed": "fail",
                }
            ],
        }

    def test_the_order_changes_neither_agreement_nor_a_plain_run(self, project):
        recorded(project)
        before = check(project).text, project.proctor("run", "--format", "json").out
        recorded(project, "--order-check")
        assert (check(project).text, project.proctor("run", "--format", "json").out) == before

    def test_negated_assertions_are_compared_by_what_the_judges_say(self, project):
        project.labelled(RIGHT, TONE | {"negate": True})
        assert "      two: pass -> fail\n" in recorded(project, "--order-check").text

    def test_recordings_of_the_reverse_order_are_not_pruned(self, project):
        recorded(project, "--order-check")
        assert "quiz  6 recordings, 0 unused" in project.proctor("cassette", "list").text
        before = project.stored
        assert "0 recordings dropped" in project.proctor("cassette", "prune", "--yes").text
        assert project.stored == before
        project.rubric(messages=[("system", f"{SYSTEM} Be strict."), ("user", user_message())])
        assert "quiz  6 recordings, 4 unused" in project.proctor("cassette", "list").text

    def test_what_is_not_recorded_is_told_with_the_command_that_records_it(self, project):
        recorded(project)
        result = check(project, "--order-check")
        assert result.code == 3
        assert "in reverse order 0 of 0 verdicts flip, 2 not compared" in result.text
        assert "`proctor judge check quiz --cache record --order-check` records it" in result.text
        assert "agrees with people on 2/2 answers" in result.text

    def test_a_rubric_that_shows_one_thing_has_no_order(self, project):
        inputs = INPUTS.replace("case_inputs: {type: string}, ", "")
        only = "<reply-{{input.boundary}}>{{input.response}}</reply-{{input.boundary}}>"
        project.rubric(inputs=inputs, messages=[("system", SYSTEM), ("user", only)])
        result = recorded(project, "--order-check")
        assert result.code == 0
        assert "shows one fenced section, so there is no order to reverse" in result.text
        assert {line["assertion"] for line in project.stored_votes} == {"tone"}


def user_message():
    return (
        "<case-{{input.boundary}}>{{input.case_inputs}}</case-{{input.boundary}}>\n"
        "<reply-{{input.boundary}}>{{input.response}}</reply-{{input.boundary}}>"
    )
