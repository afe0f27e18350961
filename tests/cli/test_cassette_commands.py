"""`proctor cassette`, as a user would start it."""

from __future__ import annotations

import json

import pytest

from live_support import YES, LiveProject

NAMES = ("one", "two", "three")


@pytest.fixture
def project(tmp_path):
    project = LiveProject(tmp_path)
    project.named_cases(*NAMES)
    return project


def cassette(project, *arguments, **options):
    return project.proctor("cassette", *arguments, **options)


def recorded(project, *names, **changes):
    return [project.recording(name, YES, **changes) for name in names]


class TestList:
    def test_it_shows_what_each_suite_holds(self, project):
        project.suite(models=["local/tiny", "local/other"])
        project.write("evals/empty.eval.yaml", (project.root / "evals/quiz.eval.yaml").read_text())
        lines = [
            *recorded(project, *NAMES),
            *recorded(project, "one", model="local/other"),
            *recorded(project, "one", take=2),
            *recorded(project, "gone"),
        ]
        lines[0]["recorded"]["on"] = "2025-01-31"
        lines[1]["recorded"]["host"] = "127.0.0.1"
        project.cassette(*lines)
        result = cassette(project, "list")
        assert result.code == 0
        assert result.text.splitlines() == [
            "empty  0 recordings, 0 unused",
            "quiz  6 recordings, 2 unused, local/other, local/tiny from 127.0.0.1, handwritten, "
            "2025-01-31 to 2026-11-30",
        ]
        assert cassette(project, "list", "empty").text == "empty  0 recordings, 0 unused\n"

    def test_one_day_is_one_date(self, project):
        project.cassette(*recorded(project, "one"))
        assert cassette(project, "list").text.endswith("from handwritten, 2026-11-30\n")

    def test_a_damaged_cassette_is_refused(self, project):
        project.cassette("{")
        result = cassette(project, "list")
        assert result.code == 2
        assert "evals/cassettes/quiz.jsonl:1: P6403" in result.err

    def test_an_unknown_suite_is_refused(self, project):
        assert cassette(project, "list", "nope").code == 2


class TestVerify:
    def test_cassettes_in_order_are_counted(self, project):
        project.cassette(*recorded(project, *NAMES))
        project.write("evals/cassettes/retired.jsonl", json.dumps(*recorded(project, "one")) + "\n")
        result = cassette(project, "verify")
        assert (result.code, result.text) == (0, "ok: 2 cassettes, 4 recordings\n")

    def test_every_damaged_line_of_every_file_is_named(self, project):
        line = json.dumps(*recorded(project, "one"))
        broken = json.dumps(*recorded(project, "two", key="0" * 64))
        project.cassette(line, "{", broken)
        project.write("evals/cassettes/retired.jsonl", f"{line}\n{line}\n")
        result = cassette(project, "verify")
        assert (result.code, result.out) == (2, b"")
        for said in (
            "evals/cassettes/quiz.jsonl:2: P6403",
            "evals/cassettes/quiz.jsonl:3: P6403",
            "evals/cassettes/retired.jsonl:2: P6404",
        ):
            assert said in result.err

    def test_a_link_among_them_is_refused(self, project):
        project.cassette(*recorded(project, "one"))
        (project.root / "evals/cassettes/link.jsonl").symlink_to("quiz.jsonl")
        result = cassette(project, "verify")
        assert result.code == 2
        assert "P6805" in result.err

    def test_no_cassettes_are_in_order(self, project):
        assert cassette(project, "verify").text == "ok: 0 cassettes, 0 recordings\n"

    def test_another_folder_is_looked_at(self, project):
        project.cassette("{")
        project.cassette(*recorded(project, "one"), folder="other")
        assert cassette(project, "verify", "--cassettes", "other").code == 0
        assert cassette(project, "verify", "--cassettes", "nowhere").code == 2

    def test_it_needs_no_suite_that_can_be_read(self, project):
        project.write("evals/quiz.eval.yaml", "nonsense")
        assert cassette(project, "verify").code == 0


class TestPrune:
    @pytest.fixture
    def grown(self, project):
        project.suite(models=["local/tiny", "local/other"], repeats=2)
        project.cassette(
            *recorded(project, "gone"),
            *recorded(project, *NAMES),
            *recorded(project, "one", take=3),
            *recorded(project, "one", take=2),
            *recorded(project, "two", model="local/other"),
            *recorded(project, "two", model="local/retired"),
            *recorded(project, "one", parts={"prompt": "0" * 64}),
        )
        return project

    SHOWN = (
        "quiz  gone  (local/tiny, answer take 1)\n"
        "quiz  one  (local/tiny, answer take 3)\n"
        "quiz  two  (local/retired, answer take 1)\n"
        "quiz  one  (local/tiny, answer take 1)\n"
    )

    def test_it_shows_what_no_row_asks_for_and_drops_nothing(self, grown):
        before = grown.files()
        result = cassette(grown, "prune")
        assert result.code == 0
        assert result.text == f"{self.SHOWN}4 recordings unused; `--yes` drops them\n"
        assert grown.files() == before
        assert not (grown.root / ".proctor").exists()

    def test_only_with_yes_it_drops_that_and_nothing_else(self, grown):
        wanted = {
            line["key"]
            for line in grown.stored
            if line["model"] != "local/retired"
            and line["case"] != "gone"
            and line["take"] < 3
            and line["parts"]["prompt"] != "0" * 64
        }
        result = cassette(grown, "prune", "--yes")
        assert result.code == 0
        assert result.text == f"{self.SHOWN}4 recordings dropped\n"
        assert {line["key"] for line in grown.stored} == wanted
        assert len(wanted) == 5
        order = [(line["model"], line["case"], line["take"]) for line in grown.stored]
        assert order == sorted(order)

    def test_the_whole_plan_counts_whatever_was_run_last(self, project):
        project.script(project.says_yes())
        assert project.record("--repeats", "3").code == 0
        project.suite(repeats=3)
        assert project.record("--first", "1", "--model", "local/tiny").code == 0
        before = project.files()
        result = cassette(project, "prune", "--yes")
        assert result.text == "0 recordings dropped\n"
        assert project.files() == before

    def test_only_the_suites_named_are_pruned(self, grown):
        grown.write("evals/other.eval.yaml", (grown.root / "evals/quiz.eval.yaml").read_text())
        before = grown.files()
        assert cassette(grown, "prune", "other", "--yes").text == "0 recordings dropped\n"
        assert grown.files() == before

    def test_a_damaged_cassette_is_not_touched(self, project):
        project.cassette(*recorded(project, "gone"), "{")
        before = project.files()
        result = cassette(project, "prune", "--yes")
        assert result.code == 2
        assert "P6403" in result.err
        assert project.files() == before

    def test_a_suite_that_is_being_recorded_is_not_touched(self, project):
        project.cassette(*recorded(project, "gone"))
        project.script({"case": "two", "fault": "hang"}, project.says_yes())
        before = project.files()
        with project.started("run", "--cache", "record") as running:
            running.until_received(2)
            result = cassette(project, "prune", "--yes")
            assert result.code == 2
            assert "P6405" in result.err
            assert cassette(project, "prune").code == 0
        assert project.files() == before


class TestDiff:
    def test_it_tells_answer_by_answer_and_field_by_field(self, project):
        project.cassette(
            *recorded(project, "one", "two"),
            project.recording("three", '{"label": "yes", "why": {"rule": 1}}'),
            folder="old",
        )
        project.cassette(
            project.recording("one", '{"label": "no"}', parts={"prompt": "0" * 64}),
            *recorded(project, "two"),
            project.recording("three", '{"label": "yes", "why": {"rule": 2}}'),
            *recorded(project, "two", take=2),
            folder="new",
        )
        result = cassette(project, "diff", "old/quiz.jsonl", "new/quiz.jsonl")
        assert result.code == 0
        assert result.text.splitlines() == [
            "changed  one  (local/tiny, answer take 1)",
            "    prompt changed",
            '    label: "yes" -> "no"',
            "changed  three  (local/tiny, answer take 1)",
            "    why.rule: 1 -> 2",
            "added  two  (local/tiny, answer take 2)",
            "2 changed, 1 added, 0 removed",
        ]
        back = cassette(project, "diff", "new/quiz.jsonl", "old/quiz.jsonl")
        assert back.text.splitlines()[-1] == "2 changed, 0 added, 1 removed"
        same = cassette(project, "diff", "old/quiz.jsonl", "old/quiz.jsonl")
        assert same.text == "0 changed, 0 added, 0 removed\n"

    def test_scenarios_and_assertions_are_named(self, project):
        project.cassette(*recorded(project, "one"), folder="old")
        project.cassette(
            *recorded(project, "one"),
            *recorded(project, "two", call="judge", scenario="late", assertion="kind"),
            folder="new",
        )
        result = cassette(project, "diff", "old/quiz.jsonl", "new/quiz.jsonl")
        assert "added  two late kind  (local/tiny, judge take 1)" in result.text

    def test_it_needs_no_project(self, project, tmp_path_factory):
        project.cassette(*recorded(project, "one"))
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        path = str(project.root / "evals/cassettes/quiz.jsonl")
        assert cassette(project, "diff", path, path, cwd=elsewhere).code == 0
        relative = ["evals/cassettes/quiz.jsonl"] * 2
        arguments = ["diff", *relative, "--cwd", str(project.root)]
        assert cassette(project, *arguments, cwd=elsewhere).code == 0

    @pytest.mark.parametrize(("other", "code"), [("gone", "P6403"), ("bad", "P6403")])
    def test_what_is_no_cassette_is_refused(self, project, other, code):
        project.cassette(*recorded(project, "one"), folder="old")
        project.cassette("{", folder="bad")
        result = cassette(project, "diff", "old/quiz.jsonl", f"{other}/quiz.jsonl")
        assert (result.code, result.out) == (2, b"")
        assert code in result.err

    def test_what_stands_in_answers_cannot_act_on_the_terminal(self, project):
        project.cassette(*recorded(project, "one"), folder="old")
        project.cassette(project.recording("one", "\x1b[2J::error::x\u202e"), folder="new")
        result = cassette(project, "diff", "old/quiz.jsonl", "new/quiz.jsonl")
        assert b"\x1b" not in result.out
        assert "\u202e" not in result.text


class TestRecover:
    def test_nothing_to_recover_is_nothing_done(self, project):
        result = cassette(project, "recover")
        assert (result.code, result.text) == (0, "quiz  0 recordings recovered\n")
        assert not (project.root / ".proctor").exists()
        assert not (project.root / "evals/cassettes").exists()

    @pytest.mark.parametrize("how", ["link", "open"])
    def test_a_folder_that_is_not_private_is_not_trusted(self, project, how):
        log = project.write(
            "planted/runs/20261129t000000z-000000/recorded/quiz.jsonl",
            json.dumps(*recorded(project, "one")) + "\n",
        )
        planted = project.root / "planted"
        planted.chmod(0o700)
        if how == "link":
            (project.root / ".proctor").symlink_to("planted")
        else:
            planted.chmod(0o755)
            planted.rename(project.root / ".proctor")
            log = project.root / ".proctor" / log.relative_to(planted)
        result = cassette(project, "recover")
        assert result.code == 2
        assert "P6805" in result.err
        assert log.exists()
        assert not (project.root / "evals/cassettes").exists()

    def test_only_the_suites_named_are_recovered(self, project):
        project.write("evals/other.eval.yaml", (project.root / "evals/quiz.eval.yaml").read_text())
        for name in ("quiz", "other"):
            project.write(
                f".proctor/runs/20261129t000000z-000000/recorded/{name}.jsonl",
                json.dumps(*recorded(project, "one")) + "\n",
            )
        (project.root / ".proctor").chmod(0o700)
        assert cassette(project, "recover", "other").text == "other  1 recordings recovered\n"
        assert [log.stem for log in project.logs] == ["quiz"]


def test_the_group_says_what_it_can_do(project):
    result = cassette(project, "--help")
    assert result.code == 0
    for name in ("list", "verify", "prune", "diff", "recover"):
        assert f"  {name} " in result.text
