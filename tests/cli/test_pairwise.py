"""`proctor pairwise`, most of it in this process."""

import json
from pathlib import Path

import pytest

from pairwise_support import PairwiseProject, prefers, says, written_rubric
from proctor.cli.main import cli
from proctor.errors import ProctorError
from support import EXAMPLES, proctor

NAMES = ["c1", "c2", "c3", "c4", "c5", "c6"]
REPORTS = ("--a", "a.json", "--b", "b.json", "--rubric", "prefer")
PAID = """\
project = "tests"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
[prices."local/judge"]
input = 0
output = 10
"""


@pytest.fixture
def project(tmp_path):
    project = PairwiseProject(tmp_path)
    project.answered("a.json", {name: f"good {name}" for name in NAMES})
    project.answered("b.json", {name: f"bad {name}" for name in NAMES})
    # A judge that takes whatever stands first for better, but for one case.
    project.script(
        {"case": "c1", "contains": "<first", "text": says("tie")}, {"text": says("first")}
    )
    return project


@pytest.fixture
def pairwise(project, capsysbinary):
    """Runs the command: its exit code, stdout and stderr."""

    def run(*arguments, reports=REPORTS):
        given = ["pairwise", "quiz", "--cwd", str(project.root), *reports, *arguments]
        code = cli.main(args=given, prog_name="proctor", standalone_mode=False)
        out, err = capsysbinary.readouterr()
        return int(code), out, err.decode()

    return run


def refused(pairwise, *arguments, **options):
    with pytest.raises(ProctorError) as caught:
        pairwise(*arguments, **options)
    return [one.code for one in caught.value.problems()]


class TestAskingAndReplaying:
    def test_verdicts_are_asked_for_recorded_and_replayed(self, project, pairwise):
        code, out, err = pairwise("--cache", "record", "--format", "json")
        recorded = json.loads(out)
        assert (code, recorded["schema"]) == (0, "proctor.pairwise.v1")
        assert recorded["counts"] | {"pairs": 6, "tie": 6} == recorded["counts"]
        assert recorded["ties"] == {
            "said_tie": 1,
            "inconsistent": 5,
            "no_majority": 0,
            "identical": 0,
        }
        assert recorded["cache"]["recorded"] == 12
        assert "UNDECIDED  6 measured pairs: A 0, B 0, ties 6" in err
        (stored,) = project.root.glob(".proctor/runs/*/pairwise.json")
        assert stored.read_bytes() == out
        (project.root / "script.jsonl").unlink()
        code, again, _ = pairwise("--format", "json")
        replayed = json.loads(again)
        assert code == 0
        assert replayed["cache"] == recorded["cache"] | {
            "mode": "replay",
            "live": False,
            "replayed": 12,
            "recorded": 0,
        }
        for part in ("pairs", "counts", "win_rate", "sign_test", "verdict"):
            assert replayed[part] == recorded[part]
        assert pairwise("--format", "json")[1] == again

    def test_a_replay_without_recordings_is_unmeasured_and_writes_nothing(self, project, pairwise):
        before = project.files()
        code, out, _ = pairwise()
        assert code == 3
        assert out.startswith(b"UNMEASURED  0 measured pairs: A 0, B 0, ties 0\n")
        assert b"in no rate: 6 errored" in out
        assert b"the same command with `--cache record` records it" in out
        assert project.files() == before
        assert not (project.root / ".proctor").exists()

    def test_what_a_killed_comparison_received_is_not_asked_for_again(self, project, pairwise):
        project.asked(prefers("good"))
        (folder,) = project.root.glob(".proctor/runs/*/recorded")
        cassette = project.root / "evals/cassettes/quiz.jsonl"
        cassette.rename(folder / "quiz.jsonl")
        project.script()
        code, out, _ = pairwise("--cache", "record", "--format", "json")
        assert (code, json.loads(out)["counts"]["a"]) == (0, 6)
        assert len(project.stored) == 12
        assert list(project.logs) == []

    def test_another_run_leaves_what_a_killed_comparison_received_where_it_is(self, project):
        project.asked(prefers("good"))
        (folder,) = project.root.glob(".proctor/runs/*/recorded")
        (project.root / "evals/cassettes/quiz.jsonl").rename(folder / "quiz.jsonl")
        cli.main(
            args=["cassette", "recover", "quiz", "--cwd", str(project.root)],
            prog_name="proctor",
            standalone_mode=False,
        )
        assert len(project.received()) == 12

    def test_prune_and_list_know_verdicts_on_pairs(self, project, pairwise, capsysbinary):
        pairwise("--cache", "record")
        capsysbinary.readouterr()
        for command in ("list", "prune"):
            more = ["--yes"] if command == "prune" else []
            given = ["cassette", command, "quiz", "--cwd", str(project.root), *more]
            cli.main(args=given, prog_name="proctor", standalone_mode=False)
        out, _ = capsysbinary.readouterr()
        assert b"12 recordings, 0 unused" in out
        assert len(project.stored) == 12


class TestMoney:
    @pytest.fixture
    def paid(self, project):
        project.write("proctor.toml", PAID)
        return project

    def test_the_plan_counts_two_calls_for_each_judge(self, paid, pairwise):
        code, out, _ = pairwise("--cache", "record", "--judges", "3", "--dry-run")
        first, total = out.decode().splitlines()
        assert code == 0
        assert first.startswith(
            "quiz  local/judge: 36 votes, 0 calls recorded, 36 not, 36 to make; at most "
        )
        # 36 answers of at most 50 tokens, at 10 USD a million.
        assert first.endswith("tokens in, 1800 out, $0.018")
        assert total == "at most $0.018 in all"
        assert not (paid.root / "evals/cassettes").exists() or not list(
            (paid.root / "evals/cassettes").glob("*.jsonl")
        )

    def test_the_plan_knows_what_is_recorded(self, project, pairwise):
        pairwise("--cache", "record")
        _, out, _ = pairwise("--cache", "record", "--judges", "2", "--dry-run")
        assert out.decode().splitlines()[0] == (
            "quiz  local/judge: 24 votes, 12 calls recorded, 12 not, 12 to make"
        )

    def test_without_a_limit_nobody_who_costs_is_asked(self, paid, pairwise):
        assert "P6504" in refused(pairwise, "--cache", "record")

    def test_a_limit_below_the_worst_case_is_refused(self, paid, pairwise):
        # 12 answers of at most 50 tokens, at 10 USD a million: 0.006.
        assert "P6503" in refused(pairwise, "--cache", "record", "--max-cost", "0.005")
        assert "P6503" not in refused(pairwise, "--cache", "record", "--max-cost", "0.006")

    def test_a_model_without_a_price_is_refused(self, paid, pairwise):
        paid.write(
            "prompts/prefer.prompt.yaml",
            written_rubric(more="model: {ref: local/other, maxTokens: 9}"),
        )
        assert "P6501" in refused(pairwise, "--cache", "record", "--max-cost", "1")

    def test_a_judge_without_a_limit_to_its_answers_is_refused(self, paid, pairwise):
        paid.write("prompts/prefer.prompt.yaml", written_rubric(more="model: {ref: local/judge}"))
        assert "P6204" in refused(pairwise, "--cache", "record", "--max-cost", "1")

    def test_a_replay_needs_neither(self, paid, pairwise):
        assert pairwise()[0] == 3


class TestWhatIsRefused:
    def test_the_problems_of_the_rubric_and_of_the_reports_are_said_together(
        self, project, pairwise
    ):
        project.write("prompts/prefer.prompt.yaml", written_rubric(output="winner: {type: string}"))
        project.write("b.json", "{}")
        assert refused(pairwise) == ["P6211", "P6901"]

    @pytest.mark.parametrize(
        ("more", "code"),
        [
            (("--rubric", "nobody"), "P6203"),
            (("--a", "nowhere.json"), "P6901"),
            (("--subject-a", "other"), "P6002"),
            (("--out", "a.json"), "P6004"),
            (("--out", "nowhere/x.json"), "P6004"),
            (("--cassettes", "nowhere"), "P6002"),
        ],
    )
    def test_what_cannot_be_used(self, project, pairwise, more, code):
        before = project.files()
        given = [
            str(project.root / one) if one.endswith(".json") and "/" in one else one for one in more
        ]
        assert refused(pairwise, *given) == [code]
        assert project.files() == before

    def test_a_panel_and_the_number_of_judges(self, project, pairwise):
        project.suite(judge={"panel": ["local/x"]})
        assert refused(pairwise, "--judges", "2") == ["P6002"]

    def test_one_report_and_no_names(self, project, pairwise):
        assert refused(pairwise, reports=("--a", "a.json", "--rubric", "prefer")) == ["P6002"]

    def test_judging_itself_is_a_warning(self, project, pairwise):
        project.write(
            "prompts/prefer.prompt.yaml",
            written_rubric(more="model: {ref: local/tiny, maxTokens: 9}"),
        )
        _, out, _ = pairwise("--format", "json")
        assert [one["code"] for one in json.loads(out)["warnings"]] == ["P6215"]


class TestOutput:
    @pytest.mark.parametrize("format_", ["text", "json", "markdown", "html"])
    def test_it_is_also_written_to_a_file(self, project, pairwise, format_):
        _, out, _ = pairwise("--format", format_, "--out", "found.txt")
        assert (project.root / "found.txt").read_bytes() == out

    def test_the_page_holds_the_answers_of_both(self, project, pairwise):
        _, out, _ = pairwise("--format", "html")
        assert b'"a":"good c1","b":"bad c1"' in out

    def test_a_report_fits_its_schema(self, project, pairwise, capsysbinary):
        from jsonschema_rs import validator_for

        pairwise("--cache", "record")
        _, out, _ = pairwise("--format", "json")
        cli.main(args=["schema", "pairwise"], prog_name="proctor", standalone_mode=False)
        schema = json.loads(capsysbinary.readouterr()[0])
        found = json.loads(out)
        validator = validator_for(schema)
        assert list(validator.iter_errors(found)) == []
        for key in found:
            assert not validator.is_valid({name: found[name] for name in found if name != key})
        assert not validator.is_valid(found | {"more": 1})


def test_the_program_says_what_the_example_holds(tmp_path):
    example = EXAMPLES / "judge-tone"
    result = proctor(
        "pairwise",
        "reply-styles",
        *("--a", "reports/reply-styles.json", "--subject-a", "reply"),
        *("--subject-b", "reply-short", "--rubric", "prefer-reply", "--format", "json"),
        cwd=example,
    )
    assert result.code == 0, result.err
    found = result.report
    assert (found["verdict"], found["cache"]["replayed"]) == ("a", 24)
    assert [found["counts"][name] for name in ("a", "b", "tie")] == [8, 1, 3]
    # 2 (1 + 9) / 2 ** 9
    assert found["sign_test"] == {"a": 8, "b": 1, "even": 3, "p": 0.0390625}
    for line in Path(example / "evals/cassettes/reply-styles.jsonl").read_bytes().splitlines():
        assert json.loads(line)["recorded"]["provider"] == "handwritten"


def test_the_report_of_the_example_is_what_a_run_gives():
    example = EXAMPLES / "judge-tone"
    result = proctor("run", "reply-styles", "--format", "json", cwd=example)
    assert result.out == (example / "reports/reply-styles.json").read_bytes()
