"""`proctor merge`, `recover`, `shards`, and the options of `run` that split it or go on."""

import json
import signal

import pytest

from live_support import YES, LiveProject
from proctor.cli.main import _run
from proctor.run_folders import JOURNAL

NAMES = [f"case-{number:02}" for number in range(10)]


@pytest.fixture
def project(project):
    project.exam({name: ("yes", "no")[name.endswith("5")] for name in NAMES})
    return project


@pytest.fixture
def proctor(project, capsysbinary):
    """Run the command line in this process: its exit code, stdout and stderr."""

    def run(command, *arguments):
        code = _run([command, "--cwd", str(project.root), *map(str, arguments)])
        said = capsysbinary.readouterr()
        return code, said.out, said.err.decode()

    return run


@pytest.fixture
def shards(project, proctor):
    for number in (1, 2, 3):
        place = ("--shard", f"{number}/3", "--output-dir", f"out-{number}")
        proctor("run", *place, "--format", "json", "--out", f"{number}.json")
    return project


class TestMerge:
    def test_three_shards_are_one_run(self, shards, proctor):
        code, whole, _ = proctor("run", "--format", "json")
        assert (code, json.loads(whole)["verdict"]) == (1, "failed")
        for parts in (("out-3", "out-1", "out-2"), ("1.json", "3.json", "2.json")):
            assert proctor("merge", *parts, "--format", "json") == (1, whole, "")
        assert (
            proctor("merge", "out-1", f"out-2/{JOURNAL}", "3.json", "--expected-shards", 3)[0] == 1
        )

    def test_it_is_written_where_that_is_asked_for(self, shards, proctor):
        code, out, _ = proctor(
            "merge", "out-1", "out-2", "out-3", "--format", "json", "--out", "all"
        )
        assert (code, (shards.root / "all").read_bytes()) == (1, out)
        code, _, err = proctor("merge", "1.json", "2.json", "--out", "1.json")
        assert (code, "P6004" in err) == (2, True)

    def test_a_missing_shard_is_named_and_nothing_is_green(self, shards, proctor):
        code, out, err = proctor("merge", "out-2", "--format", "json")
        report = json.loads(out)
        assert (code, report["exit_code"], report["partial"]) == (3, 3, True)
        assert report["shards"] == {"expected": 3, "present": [2], "index": None}
        assert "P6706: 2 shards missing: 1, 3" in err

    def test_a_malformed_shard_is_named_and_missing(self, shards, proctor):
        (shards.root / "out-2" / JOURNAL).write_text("nonsense\n")
        (shards.root / "3.json").write_text("{}")
        code, out, err = proctor("merge", "out-1", "out-2", "3.json")
        assert code == 3
        assert "out-2/rows.jsonl:1: P6704: the journal `out-2/rows.jsonl` cannot be used" in err
        assert "P6901: `3.json` is not a report" in err
        assert "P6706: 2 shards missing: 2, 3" in err
        assert out.startswith(b"UNMEASURED")
        assert b"This report is partial: a shard is missing." in out
        assert b"cannot be told: passRate is 1 so far, at least 1 is asked for" in out

    def test_nothing_that_can_be_read_is_no_report(self, shards, proctor):
        code, out, err = proctor("merge", "gone-1", "gone-2")
        assert (code, out, err.count("P6704: ")) == (2, b"", 2)

    def test_shards_that_overlap_are_refused(self, shards, proctor):
        code, out, err = proctor("merge", "out-1", "1.json")
        assert (code, out) == (2, b"")
        assert "P6705: `out-1` and `1.json` are both shard 1" in err

    def test_a_shard_that_is_expected_may_be_one_that_none_knows_of(self, shards, proctor):
        proctor("run", "--format", "json", "--out", "whole.json")
        code, _, err = proctor("merge", "whole.json", "--expected-shards", 2)
        assert (code, "P6706: 1 shard missing: 2" in err) == (3, True)


class TestShards:
    def test_a_matrix_has_their_numbers(self, capsysbinary):
        assert _run(["shards", "--count", "3", "--format", "github"]) == 0
        assert json.loads(capsysbinary.readouterr().out) == {"shard": [1, 2, 3]}

    @pytest.mark.parametrize("count", ["0", "10001", "many"])
    def test_what_is_no_count_is_refused(self, capsysbinary, count):
        assert _run(["shards", "--count", count]) == 2

    @pytest.mark.parametrize("shard", ["0/3", "4/3", "x", "1"])
    def test_what_is_no_shard_is_refused(self, proctor, shard):
        code, _, err = proctor("run", "--shard", shard)
        assert code == 2
        assert f"P6002: `--shard {shard}` is no shard" in err
        assert "write it as `2/4`" in err

    def test_timings_come_from_reports_and_split_a_run(self, project, proctor):
        proctor("run", "--format", "json", "--out", "report.json")
        code, _, _ = proctor("cost", "report.json", "--timings", "timings.json")
        assert code == 0
        assert json.loads((project.root / "timings.json").read_text()) == dict.fromkeys(NAMES, 0.02)
        (project.root / "timings.json").write_text('{"case-03": 100}')
        code, out, _ = proctor(
            "run", "--shard", "1/2", "--timings", "timings.json", "--format", "json"
        )
        cases = json.loads(out)["suites"][0]["subjects"][0]["cases"]
        # All weigh 100, the median of what is known: dealt out by their ids.
        assert [case["id"] for case in cases] == NAMES[::2]

    def test_timings_without_shards_split_nothing(self, proctor):
        code, _, err = proctor("run", "--timings", "t.json")
        assert (code, "`--shard` does not say into how many" in err) == (2, True)

    def test_a_shard_without_a_case_says_so_and_is_merged(self, project, proctor):
        project.exam({"one": "yes"})
        code, out, _ = proctor("run", "--shard", "2/2", "--format", "json", "--out", "2.json")
        assert (code, json.loads(out)["suites"][0]["dataset"]["selected"]) == (3, 0)
        proctor("run", "--shard", "1/2", "--format", "json", "--out", "1.json")
        whole = proctor("run", "--format", "json")
        assert proctor("merge", "1.json", "2.json", "--format", "json")[:2] == whole[:2]


class TestRecoverAndResume:
    @pytest.fixture
    def project(self, tmp_path):
        project = LiveProject(tmp_path)
        project.named_cases(*NAMES)
        project.script(project.says_yes())
        return project

    def cut(self, project, rows):
        """Leave so many rows of the newest run, as a kill would; its id."""
        run = max(project.root.glob(".proctor/runs/*/"))
        lines = (run / JOURNAL).read_bytes().splitlines(keepends=True)
        (run / JOURNAL).write_bytes(b"".join(lines[: rows + 1]) + b'{"suite":')
        (run / "report.json").unlink()
        return run.name

    def test_a_run_that_was_killed_is_reported_and_gone_on_with(self, project, proctor):
        run = ("run", "--cache", "record", "--quiet", "--format", "json")
        code, whole, _ = proctor(*run)
        id_ = self.cut(project, 4)
        code, out, _ = proctor("recover", id_, "--format", "json", "--out", "recovered.json")
        report = json.loads(out)
        counts = report["suites"][0]["subjects"][0]["counts"]
        assert (code, report["verdict"], report["exit_code"]) == (130, "interrupted", 130)
        assert (counts["passed"], counts["failed"], counts["not_run"]) == (4, 0, 6)
        assert (project.root / "recovered.json").read_bytes() == out
        assert proctor("report", "recovered.json", "--format", "json")[:2] == (0, out)
        assert proctor("recover", f".proctor/runs/{id_}", "--format", "json")[:2] == (130, out)
        code, resumed, _ = proctor(*run, "--resume")
        # What is recorded by now is found; the rows that were kept say that they asked for it.
        cache = json.loads(resumed)["suites"][0]["cache"]
        assert (code, cache["recorded"], cache["replayed"]) == (0, 4, 6)
        code, again, err = proctor(*run, "--resume", id_)
        assert (code, again) == (0, resumed)
        assert f"the run `{id_}` has finished: there is nothing to do" in err
        code, _, err = proctor("recover", id_)
        assert (code, "the run has finished: every row is there" in err) == (0, True)
        assert json.loads(whole)["suites"][0]["cache"]["recorded"] == 10

    def test_without_its_options_another_run_is_meant(self, project, proctor):
        proctor("run", "--cache", "record", "--quiet")
        self.cut(project, 4)
        code, _, err = proctor("run", "--resume")
        assert code == 2
        assert "P6707: what is run has changed since the run began" in err
        assert "`--cache` record -> replay" in err

    @pytest.mark.parametrize("run", ["nothing", "20261130t101112z-0000ff", "evals"])
    def test_a_run_that_is_not_there(self, project, proctor, run):
        code, _, err = proctor("recover", run)
        assert code == 2
        assert ("P6704" if run == "evals" else f"P6002: there is no run `{run}`") in err

    def test_a_project_without_runs(self, project, proctor):
        code, _, err = proctor("run", "--resume")
        assert (code, "P6002: there is no run with a journal" in err) == (2, True)

    def test_a_folder_that_others_may_write_to_is_not_trusted(self, project, proctor):
        proctor("run", "--cache", "record", "--quiet")
        run = max(project.root.glob(".proctor/runs/*/"))
        (project.root / ".proctor").chmod(0o755)
        for command in (("recover", run.name), ("recover", run), ("merge", run)):
            code, _, err = proctor(*command)
            assert (code, "P6805: `.proctor/` is not a private folder of yours" in err) == (2, True)
        code, _, err = proctor("run", "--cache", "record", "--resume")
        assert (code, "P6805" in err) == (2, True)

    def test_a_dry_run_goes_on_with_nothing(self, project, proctor):
        for option in (("--resume",), ("--output-dir", "out")):
            code, _, err = proctor("run", "--dry-run", *option)
            assert (code, "`--dry-run` runs nothing" in err) == (2, True)

    def test_an_output_folder_that_cannot_be_written_stops_the_run_first(self, project, proctor):
        (project.root / "file").touch()
        code, _, err = proctor("run", "--cache", "off", "--output-dir", "file/out")
        assert (code, "P6004" in err) == (2, True)
        assert not (project.root / ".proctor").exists()


@pytest.mark.slow
def test_a_program_that_is_killed_loses_nothing(tmp_path):
    project = LiveProject(tmp_path)
    names = [f"case-{number:03}" for number in range(60)]
    project.named_cases(*names)
    project.script({"text": YES, "latency_ms": 5}, project.says_yes())
    options = ("run", "--cache", "record", "--concurrency", "2", "--quiet")
    with project.started(*options) as running:
        running.until_received(20)
        running.send(signal.SIGKILL)
        assert running.wait().code == -signal.SIGKILL
    run = max(project.root.glob(".proctor/runs/*/"))
    killed = project.proctor("recover", run.name, "--format", "json")
    counts = killed.report["suites"][0]["subjects"][0]["counts"]
    assert (killed.code, counts["rows"], counts["failed"]) == (130, 60, 0)
    assert 0 < counts["passed"] < 60
    resumed = project.proctor(*options, "--resume", "--format", "json")
    assert (resumed.code, resumed.report["suites"][0]["cache"]["recorded"]) == (0, 60)
    assert sorted(set(project.stored_cases)) == sorted(project.stored_cases) == names
