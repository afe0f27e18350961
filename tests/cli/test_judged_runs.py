"""Runs of the whole program in which judges are asked, by script and over HTTP."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from fake_provider import FakeProvider, Says, Tokens
from judged_support import (
    FAIL,
    JUNK,
    OF_JUDGES,
    PASS,
    RIGHT,
    TONE,
    JudgedProject,
    judged_check,
    votes_of,
)
from live_support import YES, rows_of
from rubric_prompts import SYSTEM, USER

NAMES = ["one", "two", "three"]


@pytest.fixture
def project(tmp_path):
    project = JudgedProject(tmp_path)
    project.named_cases(*NAMES)
    project.says(PASS)
    return project


def cache_of(result):
    return result.report["suites"][0]["cache"]


def split_votes(project):
    """Judges that agree on one case, do not on the next, and say nothing of use on the third."""
    project.script(
        {"contains": OF_JUDGES, "case": "two", "take": 2, "text": PASS},
        {"contains": OF_JUDGES, "case": "two", "text": FAIL},
        {"contains": OF_JUDGES, "case": "three", "text": JUNK},
        {"contains": OF_JUDGES, "text": PASS},
        project.says_yes(),
    )


def silence(project):
    """From now on a call would be an error of its row."""
    project.script({"fault": 500})


class TestRecordingAndReplaying:
    def test_votes_are_recorded_replayed_and_not_asked_for_again(self, project):
        first = project.record("--format", "json")
        assert first.code == 0, first.err
        assert (cache_of(first)["recorded"], cache_of(first)["live"]) == (12, True)
        silence(project)
        before = project.files()
        again = project.record("--format", "json")
        assert (again.code, cache_of(again)["replayed"]) == (0, 12)
        replayed = project.proctor("run", "--format", "json")
        assert rows_of(replayed.report) == rows_of(first.report)
        assert cache_of(replayed)["digest"] == cache_of(first)["digest"]
        assert project.files() == before
        for row in rows_of(replayed.report):
            assert [set(vote) for vote in judged_check(row)["votes"]] == [
                {"verdict", "reason", "model", "recording"}
            ] * 3

    def test_a_replay_has_the_same_bytes_at_any_concurrency_and_in_any_process(self, project):
        split_votes(project)
        assert project.record("--concurrency", "16").code == 1
        runs = [
            project.proctor("run", "--format", "json", "--concurrency", concurrency, env=env).out
            for concurrency, env in (
                ("1", {"PYTHONHASHSEED": "1"}),
                ("16", {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C"}),
            )
        ]
        assert runs[0] == runs[1]
        project.write("was.json", runs[0])
        verified = project.proctor("run", "--verify", "was.json")
        assert "the report has the same bytes as was.json" in verified.err

    def test_a_report_fits_its_schema_and_can_be_read_again(self, project):
        split_votes(project)
        project.record()
        schema = json.loads(project.proctor("schema", "report").out)
        for options in ((), ("--no-answers",)):
            result = project.proctor("run", "--format", "json", *options)
            jsonschema_rs.validate(schema, result.report)
            project.write("report.json", result.out)
            read = project.proctor("report", "report.json", "--format", "json")
            assert read.code == 0, read.err
            assert read.out == result.out

    def test_without_answers_the_votes_stay_and_their_reasons_go(self, project):
        split_votes(project)
        project.record()
        result = project.proctor("run", "--no-answers", "--format", "json")
        assert [votes_of(row) for row in rows_of(result.report)] == [
            ["pass"] * 3,
            ["fail", "pass", "fail"],
            [None] * 3,
        ]
        assert b"It is" not in result.out
        assert b"JSON" not in result.out
        text = project.proctor("run", "--no-answers").text
        assert "tone: 1 of 3 votes pass\n        fail (2 votes)\n        pass\n" in text

    @pytest.mark.parametrize(
        ("mode", "line"),
        [
            ("replay", "9 votes, 3 calls recorded, 6 not, 0 to make"),
            ("record", "9 votes, 3 calls recorded, 6 not, 6 to make"),
            ("refresh", "9 votes, 0 calls recorded, 9 not, 9 to make"),
            ("off", "9 votes, 0 calls recorded, 9 not, 9 to make"),
        ],
    )
    def test_a_dry_run_counts_votes_and_makes_no_call(self, project, mode, line):
        project.record("--case", "one")
        silence(project)
        result = project.proctor("run", "--cache", mode, "--dry-run")
        assert result.code == 0
        assert result.text.splitlines()[1] == f"quiz  local/judge: {line}"

    def test_a_dry_run_of_one_vote_says_so(self, project):
        project.judged(judge={"model": "local/judge", "runs": 1})
        result = project.record("--dry-run", "--case", "one")
        assert "quiz  local/judge: 1 vote, 0 calls recorded, 1 not, 1 to make" in result.text

    def test_a_verdict_that_was_never_recorded_is_exit_code_3_and_names_the_judge(self, project):
        project.record()
        project.rubric(messages=[("system", f"{SYSTEM} Be fair."), ("user", USER)])
        result = project.proctor("run")
        assert result.code == 3
        (said,) = [line for line in result.text.splitlines() if "P6402" in line]
        assert said == (
            "    errored  3 rows, P6402: no recording of the judge `local/judge` for `tone`: "
            "rubric changed; `proctor run quiz --cache record` records it"
        )
        silence(project)
        assert project.record("--dry-run").text.splitlines() == [
            "quiz  local/tiny: 3 rows, 3 calls recorded, 0 not, 0 to make",
            "quiz  local/judge: 9 votes, 0 calls recorded, 9 not, 9 to make",
        ]
        project.script({"contains": OF_JUDGES, "text": FAIL}, {"fault": 500})
        assert project.record().code == 1

    def test_a_judge_that_fails_is_asked_again_only_for_what_is_missing(self, project):
        project.script(
            {"contains": OF_JUDGES, "case": "two", "take": 3, "fault": 401},
            {"contains": OF_JUDGES, "text": PASS},
            project.says_yes(),
        )
        result = project.record("--format", "json")
        assert result.code == 3
        row = next(row for row in rows_of(result.report) if row["case"] == "two")
        assert (row["outcome"], row["error"]["code"], row["answer"]["text"]) == (
            "errored",
            "P6308",
            YES,
        )
        assert len(project.stored) == 11
        project.script(
            {"contains": OF_JUDGES, "case": "two", "take": 3, "text": PASS}, {"fault": 500}
        )
        again = project.record("--format", "json")
        assert (again.code, cache_of(again)["recorded"]) == (0, 1)


class TestCassettes:
    @pytest.fixture
    def recorded(self, project):
        project.record()
        return project

    def test_they_are_in_order_and_whole(self, recorded):
        result = recorded.proctor("cassette", "verify")
        assert (result.code, result.text) == (0, "ok: 1 cassette, 12 recordings\n")
        recorded.write(
            "evals/cassettes/quiz.jsonl",
            (recorded.root / "evals/cassettes/quiz.jsonl").read_text().replace("judge", "jurdge"),
        )
        assert recorded.proctor("cassette", "verify").code == 2

    def test_votes_of_the_present_rubric_are_used_and_others_are_not(self, recorded):
        listed = recorded.proctor("cassette", "list").text
        assert listed.startswith("quiz  12 recordings, 0 unused, local/judge, local/tiny from")
        assert recorded.proctor("cassette", "prune", "--yes").text == "0 recordings dropped\n"
        recorded.rubric(messages=[("system", f"{SYSTEM} Be fair."), ("user", USER)])
        recorded.record("--case", "one")
        assert recorded.proctor("cassette", "list").text.startswith("quiz  15 recordings, 9 unused")
        result = recorded.proctor("cassette", "prune", "--yes")
        assert result.text.count("judge take") == 9
        assert recorded.proctor("cassette", "list").text.startswith("quiz  6 recordings, 0 unused")

    def test_votes_on_an_answer_that_changed_are_not_used(self, recorded):
        lines = recorded.stored
        for line in lines:
            if line["call"] == "answer" and line["case"] == "two":
                line["answer"]["text"] = '{"label": "Yes"}'
        recorded.cassette(*lines)
        result = recorded.proctor("cassette", "prune")
        assert result.text.splitlines() == [
            *(f"quiz  two  (local/judge, judge take {take})" for take in (1, 2, 3)),
            "3 recordings unused; `--yes` drops them",
        ]

    def killed(self, project, *lines):
        """The log that a run leaves that was killed when it had received these lines."""
        log = project.root / ".proctor/runs/20261129t000000z-000000/recorded/quiz.jsonl"
        log.parent.mkdir(parents=True)
        text = [json.dumps(line, separators=(",", ":")) for line in lines]
        log.write_text("".join(f"{line}\n" for line in text))
        return log

    def test_what_a_killed_run_received_is_recovered_with_its_votes(self, recorded):
        lines = recorded.stored
        log = self.killed(recorded, *lines)
        (recorded.root / "evals/cassettes/quiz.jsonl").unlink()
        result = recorded.proctor("cassette", "recover")
        assert (result.code, result.text) == (0, "quiz  12 recordings recovered\n")
        assert recorded.stored == lines
        assert not log.exists()

    def test_a_run_knows_what_a_killed_one_received_before_it_plans(self, recorded):
        (answer,) = [
            line for line in recorded.stored if (line["call"], line["case"]) == ("answer", "two")
        ]
        answer["answer"]["text"] = '{"label": "yes", "new": true}'
        self.killed(recorded, answer)
        result = recorded.record("--format", "json")
        assert result.code == 0, result.text
        assert cache_of(result)["recorded"] == 3

    def test_two_of_them_differ_by_case_and_assertion(self, recorded):
        recorded.write("old.jsonl", (recorded.root / "evals/cassettes/quiz.jsonl").read_bytes())
        recorded.script(
            {"contains": OF_JUDGES, "case": "two", "text": FAIL},
            {"contains": OF_JUDGES, "text": PASS},
            recorded.says_yes(),
        )
        recorded.proctor("run", "--cache", "refresh")
        result = recorded.proctor("cassette", "diff", "old.jsonl", "evals/cassettes/quiz.jsonl")
        assert result.text.splitlines()[:2] == [
            "changed  two tone  (local/judge, judge take 1)",
            '    reason: "It is kind." -> "It is curt."',
        ]
        assert result.text.splitlines()[-1] == "3 changed, 0 added, 0 removed"


class TestWhatIsRefused:
    @pytest.mark.parametrize("arguments", [("lint",), ("run",), ("run", "--cache", "record")])
    @pytest.mark.parametrize(
        ("parts", "code"),
        [
            ({"output": "score: {type: number}"}, "P6211"),
            ({"messages": [("system", f"{SYSTEM} {{{{input.response}}}}")]}, "P6212"),
            ({"messages": [("system", SYSTEM), ("user", "{{input.response}}")]}, "P6216"),
        ],
    )
    def test_a_rubric_that_cannot_be_relied_on(self, project, arguments, parts, code):
        project.rubric(**parts)
        result = project.proctor(*arguments)
        assert result.code == 2
        assert f"prompts/judge-tone.prompt.yaml: {code}: the rubric `judge-tone` " in result.err
        assert not (project.root / ".proctor").exists()

    def test_a_broken_rubric_is_told_once_however_many_subjects_and_assertions_use_it(
        self, project
    ):
        project.judged(RIGHT, TONE, {**TONE, "id": "mood"}, models=["local/a", "local/b"])
        project.write("prompts/judge-tone.prompt.yaml", "usr: Hi\n")
        for arguments in (("lint",), ("run",)):
            result = project.proctor(*arguments)
            assert result.code == 2
            assert result.err.count("prompts/judge-tone.prompt.yaml") == 1
            assert "P6204: unknown key `usr`" in result.err
        (project.root / "prompts/judge-tone.prompt.yaml").unlink()
        result = project.proctor("run")
        assert result.err.count("P6203: there is no prompt `judge-tone`") == 1
        assert result.err.startswith("evals/quiz.eval.yaml:1: P6203")

    def test_a_suite_in_which_nobody_is_named_who_judges(self, project):
        project.judged(judge=None)
        result = project.proctor("lint")
        assert result.code == 2
        assert "P6201: nobody is named who judges by the rubric `judge-tone`" in result.err
        project.rubric(more="model: {ref: local/judge}\n")
        assert project.proctor("lint").code == 0

    def test_a_judge_in_a_group(self, project):
        part = {"kind": "llm-judge", "rubric": "judge-tone"}
        project.judged({"id": "either", "kind": "any-of", "of": [part]})
        result = project.proctor("lint")
        assert result.code == 2
        assert "P6201: `either.1` asks a judge, which no part of a group may" in result.err

    def test_a_case_that_lacks_what_the_rubric_shows(self, project):
        fence = "<want-{{input.boundary}}>{{input.context}}</want-{{input.boundary}}>"
        project.rubric(
            inputs="response: {type: string}, case_inputs: {type: string}, "
            "boundary: {type: string}, context: {type: string}",
            messages=[("system", SYSTEM), ("user", f"{USER}{fence}")],
        )
        result = project.proctor("lint")
        assert result.code == 2
        assert "P6104" in result.err
        assert "the case has no `context`, which the rubric `judge-tone` uses" in result.err

    def test_a_report_over_the_rubric(self, project):
        project.record()
        result = project.proctor("run", "--out", "prompts/judge-tone.prompt.yaml")
        assert result.code == 2
        assert "P6004" in result.err

    def test_a_parameter_that_may_not_be_sent_to_the_judge(self, project):
        project.write(
            "proctor.toml",
            'project = "tests"\n[providers.local]\nkind = "openai"\nbase_url = "http://[::1]:1"\n',
        )
        project.judged(judge={"model": "local/judge", "params": {"service_tier": "flex"}})
        result = project.proctor("lint")
        assert result.code == 2
        assert "service_tier" in result.err


class TestWarnings:
    @pytest.mark.parametrize(
        ("parts", "judge", "said"),
        [
            (
                {},
                {"model": "local/tiny"},
                "P6215 `local/tiny` judges its own answers by the rubric `judge-tone`",
            ),
            (
                {"messages": [("system", OF_JUDGES), ("user", USER)]},
                {"model": "local/judge"},
                "P6217 no system message of the rubric `judge-tone` says that fenced text is data",
            ),
        ],
    )
    def test_they_stop_nothing_and_are_shown_by_lint_and_in_every_report(
        self, project, parts, judge, said
    ):
        project.rubric(**parts)
        project.judged(judge=judge)
        linted = project.proctor("lint")
        assert linted.code == 0
        assert linted.err == f"prompts/judge-tone.prompt.yaml: warning: {said}\n"
        result = project.record()
        assert result.code == 0, result.err
        assert f"  warning: {said} (prompts/judge-tone.prompt.yaml)\n" in result.text
        report = project.proctor("run", "--format", "json").report
        assert [one["code"] for one in report["suites"][0]["warnings"]] == [said[:5]]


class TestWhatPeopleSee:
    @pytest.fixture
    def judged(self, project):
        split_votes(project)
        project.record()
        return project

    def test_text_says_why_a_judged_answer_failed_and_how_clearly(self, judged):
        assert judged.proctor("run").text == (
            "FAILED  1 of 3 rows passed, 1 failed, 1 unmeasured\n"
            "\n"
            "quiz\n"
            "  answer@local/tiny: passed 1/2, failed 1, errored 0, unmeasured 1 (2 of 3 measured)\n"
            "    checks: tone passed 1/2 (1 unmeasured)\n"
            "    failed  two\n"
            "      tone: judged fail, 1 of 3 votes pass\n"
            "        fail (2 votes): It is curt.\n"
            "        pass: It is kind.\n"
            "    unmeasured  three\n"
            "      tone unmeasured: P6601: no valid verdict, 0 of 3 votes pass\n"
            "        no verdict (3 votes): is not JSON: expecting value at column 1\n"
            "  judged by local/judge, 3 votes each\n"
            "    tone: 2 of 3 measured, 50% unanimous (1 of 2)\n"
            "  not met: passRate is 0.5, at least 1 is asked for\n"
            "  not met: minMeasured is 0.833333, at least 1 is asked for\n"
            "\n"
            "cost $0 recorded, $0 paid now\n"
            "tokens of answers unknown for 3 calls\n"
            "replayed 12, nothing was called\n"
        )

    def test_markdown_lists_the_votes_below_what_failed(self, judged):
        text = judged.proctor("run", "--format", "markdown").text
        assert (
            "&#58;&#32;judged&#32;fail&#44;&#32;1&#32;of&#32;3&#32;votes&#32;pass</code>\n"
            "  - <code>fail&#32;&#40;2&#32;votes&#41;&#58;&#32;It&#32;is&#32;curt&#46;</code>\n"
            "  - <code>pass&#58;&#32;It&#32;is&#32;kind&#46;</code>\n"
        ) in text
        assert "| 2 of 3 measured, 50% unanimous (1 of 2) |" in text

    def test_junit_has_the_votes_in_the_failure_and_the_figures_as_a_property(self, judged):
        text = judged.proctor("run", "--format", "junit").text
        assert (
            '<failure type="failed" message="tone: judged fail, 1 of 3 votes pass">\n'
            "tone: judged fail, 1 of 3 votes pass\n"
            "  fail (2 votes): It is curt.\n"
            "  pass: It is kind.\n"
        ) in text
        assert '<property name="judged tone" value="2 of 3 measured, 50% unanimous' in text


class TestMoney:
    """Answers come from a script, verdicts from a server."""

    TOKENS = Tokens(input=1_000, output=100)

    @pytest.fixture
    def judges(self):
        with FakeProvider(Says(PASS, tokens=self.TOKENS)) as fake:
            yield fake

    @pytest.fixture
    def priced(self, project, judges):
        self.configure(project, judges)
        self.judged(project)
        return project

    def judged(self, project, **keys):
        judge = {"model": "judges/fair", "runs": 1, "params": {"maxTokens": 50}}
        project.judged(judge=judge, **keys)

    def configure(self, project, judges, *, price=True):
        project.write(
            "proctor.toml",
            'project = "tests"\n[providers.local]\nkind = "scripted"\nanswers = "script.jsonl"\n'
            f'[providers.judges]\nkind = "openai"\nbase_url = "{judges.url}/v1"\n'
            'key_env = "JUDGES_KEY"\nstructured_output = "none"\n'
            + ('[prices."judges/fair"]\ninput = 1\noutput = 10\n' if price else ""),
        )

    def ask(self, project, *arguments, cost="1"):
        limit = () if cost is None else ("--max-cost", cost)
        return project.record("--allow-local", *limit, *arguments)

    def cost_of(self, result):
        return result.report["suites"][0]["subjects"][0]["cost"]

    def test_judges_cost_money_and_need_a_limit(self, priced, judges):
        result = self.ask(priced, cost=None)
        assert result.code == 2
        assert "P6504" in result.err
        assert judges.seen == []

    def test_a_judge_without_a_price_is_not_asked(self, priced, judges):
        self.configure(priced, judges, price=False)
        result = self.ask(priced)
        assert result.code == 2
        assert "P6501" in result.err
        assert "judges/fair" in result.err
        assert judges.seen == []

    def test_a_judge_that_may_not_be_reached_is_not_asked(self, priced, judges):
        result = priced.record("--max-cost", "1")
        assert result.code == 2
        assert "P6307" in result.err
        assert judges.seen == []
        assert not (priced.root / ".proctor").exists()

    def test_a_judge_of_a_provider_that_is_not_declared_is_named_before_any_call(self, priced):
        priced.judged(judge={"model": "nobody/fair"})
        result = self.ask(priced)
        assert result.code == 2
        assert "P6301: there is no provider `nobody`" in result.err

    def test_a_judge_whose_replies_nothing_limits_is_not_asked(self, priced, judges):
        priced.judged(judge={"model": "judges/fair"})
        result = self.ask(priced)
        assert result.code == 2
        assert "P6204" in result.err
        assert "under `params` of the suite's `judge`" in result.err
        assert judges.seen == []

    def test_the_limit_covers_judges_before_any_call(self, priced, judges):
        result = self.ask(priced, cost="0.006")
        assert result.code == 2
        assert "P6503" in result.err
        assert judges.seen == []

    def test_what_judges_cost_stands_apart_and_is_not_paid_for_again(self, priced, judges):
        first = self.ask(priced, "--format", "json")
        assert first.code == 0, first.err
        # A thousand tokens in and a hundred out, at $1 and $10 a million, three times.
        assert self.cost_of(first) == {
            "answers": 0.0,
            "judges": 0.006,
            "paid": 0.006,
            "replayed": 0.0,
            "unknown": 0,
        }
        assert {line["cost_usd"] for line in priced.stored_votes} == {0.002}
        again = priced.proctor("run", "--format", "json")
        assert self.cost_of(again) == self.cost_of(first) | {"paid": 0.0, "replayed": 0.006}
        text = priced.proctor("run").text
        assert "cost $0.006 recorded, $0 paid now, $0 for answers, $0.006 for judges\n" in text
        assert self.ask(priced, cost="0").code == 0
        assert len(judges.seen) == 3

    @pytest.mark.parametrize(("limit", "code"), [(0.006, 0), (0.005, 1)])
    def test_a_threshold_of_costs_counts_judges(self, priced, limit, code):
        self.judged(priced, thresholds={"maxCostUsd": limit})
        assert self.ask(priced).code == code

    def test_a_judge_of_unknown_cost_counts_at_its_worst(self, priced, judges):
        judges.does(Says(PASS, tokens=None))
        self.judged(priced, thresholds={"maxCostUsd": 0.02})
        result = self.ask(priced, "--format", "json")
        assert self.cost_of(result)["unknown"] == 3
        (found,) = [
            one for one in result.report["suites"][0]["thresholds"] if one["name"] == "maxCostUsd"
        ]
        assert 3 * 0.0025 < found["actual"] < 0.02
        assert found["met"] is True

    def test_a_budget_that_ends_while_judging_errs_the_rest_and_the_next_run_goes_on(
        self, priced, judges
    ):
        # More than was reserved, so that the plan fits and the money ends nevertheless.
        judges.does(Says(PASS, tokens=Tokens(input=19_000, output=100)))
        result = self.ask(priced, "--concurrency", "1", "--format", "json", cost="0.02")
        assert result.code == 3
        first, *others = rows_of(result.report)
        assert first["outcome"] == "passed"
        for row in others:
            assert (row["outcome"], row["error"]["code"]) == ("errored", "P6503")
            assert row["answer"]["text"] == YES
            assert votes_of(row) == [None]
        assert len(judges.seen) == 1
        assert len(priced.stored) == 4
        judges.does(Says(PASS, tokens=self.TOKENS))
        silence(priced)
        again = self.ask(priced, "--format", "json")
        assert (again.code, cache_of(again)["recorded"]) == (0, 2)

    def test_a_dry_run_says_what_judges_could_cost(self, priced, judges):
        result = priced.record("--dry-run")
        line = result.text.splitlines()[1]
        assert line.startswith("quiz  judges/fair: 3 votes, 0 calls recorded, 3 not, 3 to make; at")
        assert "150 out" in line
        assert judges.seen == []
