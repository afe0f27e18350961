"""Parts of a run make the report of one process, whatever the run is, or are refused by name."""

import json
import math
from contextlib import closing

import pytest

from agent_support import Agent, AgentProject, right
from agent_support import case as agent_case
from journal_support import ask, lines_of, merged, newest, recovered, replayed
from judged_support import FAIL, OF_JUDGES, PASS
from labelled_support import LabelledProject, label
from live_support import PROJECT, YES, FakeClock, LiveProject
from proctor.errors import ProctorError, RunError
from proctor.keeping import Keeping
from proctor.merging import merge_parts
from proctor.run_folders import JOURNAL
from proctor.run_parts import open_part
from proctor.selecting import Selection
from proctor.sharding import Shard

NAMES = [f"case-{number:02}" for number in range(23)]
SHARDS = 4
PRICES = '\n[prices."local/tiny"]\ninput = 1\noutput = 2\n'
COSTS = [0.1, 0.2, 0.30000000000000004, None, 1e-9, 12.5]


def number_of(call):
    return int(call.case.rpartition("-")[2])


def answers(request, call):
    number = number_of(call)
    if OF_JUDGES in request.messages[0].content:
        return (PASS, FAIL)[number % 4 == 0]
    return YES if (number + call.take) % 5 else '{"label": "no"}'


def priced(project):
    """Give every recording a cost, or none, as if somebody had been paid."""
    path = project.root / "evals/cassettes/quiz.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for place, line in enumerate(lines):
        line["cost_usd"] = COSTS[place % len(COSTS)]
        line["usage"] = {"input": 10 + place, "output": place, "cached": (None, 3)[place % 2]}
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def plain(root):
    project = LiveProject(root)
    project.named_cases(*NAMES)
    return project


def repeated(root):
    project = plain(root)
    limits = {"passRate": 0.7, "passAtK": {"k": 2, "min": 0.9}, "passHatK": {"k": 3, "min": 0.1}}
    project.suite(repeats=3, thresholds=limits)
    return project


def out_of_time(root):
    """One answer takes a regular expression for ever, so that later rows fail it unasked."""
    project = plain(root)
    pattern = {"id": "slow", "kind": "regex", "pattern": "^(x+x+)+y$", "field": "label"}
    project.write(
        "evals/quiz.eval.yaml",
        json.dumps(
            {
                "prompt": "answer",
                "dataset": "cases.jsonl",
                "repeats": 2,
                "assertions": [{"id": "right", "kind": "equals", "field": "label"}, pattern],
            }
        ),
    )
    return project


def costly(root):
    project = plain(root)
    project.write("proctor.toml", PROJECT + PRICES)
    project.suite(thresholds={"maxCostUsd": 100.0, "passRate": 0.5})
    return project


def unpriced(root):
    project = plain(root)
    project.suite(thresholds={"maxCostUsd": 100.0, "passRate": 0.5})
    return project


def judged(root):
    project = LabelledProject(root)
    project.named_cases(*NAMES)
    project.labels(*(label(name, ("pass", "fail")[n % 3 == 0]) for n, name in enumerate(NAMES)))
    project.labelled(thresholds={"judgeAgreement": {"min": 0.2}, "maxErrorRate": 0.9})
    return project


def of_several(root):
    """Two suites, of which one has few cases, and two models."""
    project = plain(root)
    project.suite(models=["local/tiny", "local/other"], tiers=["pr"])
    project.write("evals/few.jsonl", (project.root / "evals/cases.jsonl").read_bytes()[:200])
    lines = (project.root / "evals/cases.jsonl").read_text().splitlines(keepends=True)
    project.write("evals/few.jsonl", "".join(lines[5:7]))
    project.write(
        "evals/another.eval.yaml",
        "prompt: answer\ndataset: few.jsonl\nassertions:\n"
        "  - {id: right, kind: equals, field: label}\n",
    )
    return project


def forever(request, call):
    if call.case == NAMES[9]:
        return json.dumps({"label": "x" * 60})
    return YES


KINDS = [plain, repeated, out_of_time, costly, unpriced, judged, of_several]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def sharded(request, tmp_path_factory):
    """A project, the report of a whole replay of it, and the folders of four shards."""
    root = tmp_path_factory.mktemp(request.param.__name__)
    project = request.param(root / "project")
    ask(project, forever if request.param is out_of_time else answers, mode="record")
    priced(project)
    if request.param is judged:
        # Some answers were never judged, and one case was never answered.
        path = project.root / "evals/cassettes/quiz.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for place, line in enumerate(lines) if place % 11 != 3))
    project.whole = replayed(project, folder=root / "whole")
    project.folders = [root / f"shard-{number}" for number in range(1, SHARDS + 1)]
    project.parts = [
        replayed(project, folder=folder, shard=f"{number}/{SHARDS}")
        for number, folder in enumerate(project.folders, 1)
    ]
    for folder, part in zip(project.folders, project.parts, strict=True):
        folder.with_suffix(".json").write_bytes(part)
    return project


class TestOneReport:
    def test_journals_of_all_shards_give_the_bytes_of_one_process(self, sharded):
        assert merged(*sharded.folders) == sharded.whole

    def test_in_whatever_order_they_are_given(self, sharded):
        assert merged(*reversed(sharded.folders)) == sharded.whole
        assert merged(sharded.folders[0] / JOURNAL, *sharded.folders[1:]) == sharded.whole

    def test_reports_of_all_shards_give_them_too(self, sharded):
        """But for sums of what judges cost, of which reports have rounded parts only."""
        made, whole = (
            json.loads(merged(*(folder.with_suffix(".json") for folder in sharded.folders))),
            json.loads(sharded.whole),
        )
        for suite, other in zip(made["suites"], whole["suites"], strict=True):
            for subject, same in zip(suite["subjects"], other["subjects"], strict=True):
                for name, usd in same["cost"].items():
                    if usd is not None:
                        assert math.isclose(subject["cost"][name], usd, rel_tol=1e-12)
                        subject["cost"][name] = usd
            for one, same in zip(suite["thresholds"], other["thresholds"], strict=True):
                if same["actual"] is not None:
                    assert math.isclose(one["actual"], same["actual"], rel_tol=1e-12)
                    one["actual"] = same["actual"]
        assert made == whole

    def test_a_journal_and_reports_go_together(self, sharded):
        mixed = [sharded.folders[0], *(one.with_suffix(".json") for one in sharded.folders[1:])]
        made, whole = json.loads(merged(*mixed)), json.loads(sharded.whole)
        assert [suite["cache"] for suite in made["suites"]] == [
            suite["cache"] for suite in whole["suites"]
        ]
        assert made["verdict"] == whole["verdict"]
        assert [one["met"] for suite in made["suites"] for one in suite["thresholds"]] == [
            one["met"] for suite in whole["suites"] for one in suite["thresholds"]
        ]

    def test_a_shard_says_which_one_it_is_and_which_suites_there_are(self, sharded):
        whole = json.loads(sharded.whole)
        for number, part in enumerate(map(json.loads, sharded.parts), 1):
            assert part["shards"] == {"expected": SHARDS, "present": [number], "index": number}
            assert part["partial"] is False
            assert [suite["suite"] for suite in part["suites"]] == [
                suite["suite"] for suite in whole["suites"]
            ]

    def test_the_journal_of_a_shard_gives_the_report_of_the_shard(self, sharded):
        for folder, part in zip(sharded.folders, sharded.parts, strict=True):
            assert recovered(folder) == part

    def test_a_missing_shard_leaves_nothing_met(self, sharded):
        parts = [open_part(folder, folder.name) for folder in sharded.folders[1:]]
        result = merge_parts(parts)
        for part in parts:
            part.close()
        head = result.report.head
        assert result.missing == [1]
        assert head.shards == {"expected": SHARDS, "present": [2, 3, 4], "index": None}
        assert (head.partial, head.verdict, head.exit_code) == (True, "unmeasured", 3)
        assert {one.met for suite in head.suites for one in suite.thresholds} == {None}

    def test_what_lacks_a_shard_can_be_merged_with_it(self, sharded, tmp_path):
        first = tmp_path / "first.json"
        first.write_bytes(merged(*sharded.folders[:3]))
        assert json.loads(first.read_bytes())["partial"] is True
        made = json.loads(merged(first, sharded.folders[3]))
        assert (made["partial"], made["shards"]) == (False, None)
        assert made["verdict"] == json.loads(sharded.whole)["verdict"]


@pytest.mark.parametrize("mode", ["record", "refresh", "off"])
def test_journals_of_live_shards_give_the_report_of_one_live_run(tmp_path, mode):
    def project(name):
        made = LabelledProject(tmp_path / name)
        made.named_cases(*NAMES)
        made.labels(*(label(name, "pass") for name in NAMES))
        made.labelled()
        return made

    whole = ask(project("whole"), answers, mode=mode)
    folders = []
    for number in range(1, SHARDS + 1):
        shard = Shard(index=number, count=SHARDS)
        part, folder = project(f"machine-{number}"), tmp_path / f"shard-{number}"
        keeping = Keeping(folder=folder, shard=shard)
        ask(part, answers, mode=mode, keeping=keeping, selection=Selection(shard=shard))
        folders.append(folder)
    assert merged(*folders) == whole
    assert json.loads(whole)["suites"][0]["cache"]["live"] is True


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    root = tmp_path_factory.mktemp("parts")
    project = plain(root / "project")
    ask(project, answers)
    for count in (2, 3):
        for number in range(1, count + 1):
            name = f"{number}-of-{count}"
            replayed(project, folder=root / name, shard=f"{number}/{count}")
    replayed(project, folder=root / "whole")
    (root / "whole.json").write_bytes(replayed(project))
    (root / "first.json").write_bytes(
        replayed(project, folder=root / "bare", shard="1/2", answers=False)
    )
    project.write("prompts/answer.prompt.yaml", _more(project, "prompts/answer.prompt.yaml"))
    replayed(project, folder=root / "edited", shard="2/2")
    project.named_cases(*NAMES, "one-more")
    replayed(project, folder=root / "other-data", shard="2/2")
    project.write("proctor.toml", PROJECT.replace('"tests"', '"others"'))
    replayed(project, folder=root / "other-project", shard="2/2")
    return root


class TestWhatIsRefused:
    def refused(self, parts, *names, **options):
        with pytest.raises(ProctorError) as caught:
            merged(*(parts / name for name in names), **options)
        assert caught.value.hint
        return caught.value.code, caught.value.message

    @pytest.mark.parametrize(
        ("names", "said"),
        [
            (["1-of-2", "1-of-2"], "`1-of-2` and `1-of-2` are both shard 1"),
            (["1-of-2", "first.json"], "`1-of-2` and `first.json` are both shard 1"),
            (["1-of-2", "2-of-3"], "`2-of-3` is a shard of 3, `1-of-2` of 2"),
            (["1-of-2", "whole"], "`whole` is no shard, and others are"),
            (["whole", "whole.json"], "`whole` and `whole.json` both have the case `case-00`"),
        ],
    )
    def test_parts_that_overlap(self, parts, names, said):
        code, message = self.refused(parts, *names)
        assert code == "P6705"
        assert message.startswith(said)

    @pytest.mark.parametrize(
        ("names", "expected", "said"),
        [
            (["1-of-2", "2-of-2"], 3, "`1-of-2` is a shard of 2, 3 are expected"),
            (["whole", "whole.json"], 1, "2 parts are more than the 1 shards that are expected"),
        ],
    )
    def test_more_or_other_shards_than_expected(self, parts, names, expected, said):
        assert self.refused(parts, *names, expected=expected) == ("P6705", said)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("edited", "what is under test of `quiz` differs"),
            ("other-data", "the dataset of `quiz` differs"),
            ("other-project", "the project or the version of Proctor differs"),
        ],
    )
    def test_parts_of_different_runs(self, parts, name, said):
        code, message = self.refused(parts, "1-of-2", name)
        assert code == "P6707"
        assert message == f"`{name}` is not of the same run as the parts before it: {said}"

    def test_what_is_no_part(self, parts, tmp_path):
        (tmp_path / "part.json").write_text("{}")
        assert self.refused(tmp_path, "part.json")[0] == "P6901"
        assert self.refused(tmp_path, "nothing")[0] == "P6704"
        assert self.refused(tmp_path, "")[0] == "P6704"
        (tmp_path / "link").symlink_to(parts / "whole.json")
        assert self.refused(tmp_path, "link")[0] == "P6805"

    def test_a_part_that_cannot_be_read_counts_as_missing(self, parts):
        part = open_part(parts / "whole", "whole")
        with closing(part):
            head = merge_parts([part], lost=1).report.head
        assert (head.partial, head.exit_code) == (True, 3)
        assert head.shards == {"expected": 2, "present": [1], "index": None}

    def test_a_whole_run_is_one_part_of_one(self, parts):
        assert merged(parts / "whole") == (parts / "whole.json").read_bytes()

    def test_parts_that_do_not_say_are_counted(self, parts):
        report = json.loads(merged(parts / "whole", expected=3))
        assert report["shards"] == {"expected": 3, "present": [1], "index": None}

    def test_a_shard_of_other_suites_is_put_beside_them(self, tmp_path):
        project = of_several(tmp_path / "project")
        ask(project, answers)
        reports = []
        for name in ("another", "quiz"):
            loaded = json.loads(replayed(project))
            place = [suite["suite"] for suite in loaded["suites"]].index(name)
            loaded["suites"] = [loaded["suites"][place]]
            thresholds = loaded["suites"][0]["thresholds"]
            passed = all(one["met"] for one in thresholds)
            loaded |= {"verdict": ("failed", "passed")[passed], "exit_code": (1, 0)[passed]}
            reports.append(tmp_path / f"{name}.json")
            reports[-1].write_text(json.dumps(loaded))
        assert merged(*reports) == replayed(project)

    def test_a_shard_that_was_killed_leaves_its_rows_not_run(self, parts, tmp_path):
        journal = (parts / "1-of-2" / JOURNAL).read_bytes().splitlines(keepends=True)
        (tmp_path / JOURNAL).write_bytes(b"".join(journal[:-2]))
        made = json.loads(merged(tmp_path, parts / "2-of-2"))
        assert made["suites"][0]["subjects"][0]["counts"]["not_run"] == 2
        assert (made["verdict"], made["exit_code"], made["partial"]) == ("interrupted", 130, False)


def _more(project, path):
    return (project.root / path).read_text() + "  Answer at once.\n"


def test_a_run_without_answers_is_merged_without_them(tmp_path):
    project = plain(tmp_path / "project")
    ask(project, answers)
    whole = replayed(project, answers=False, folder=tmp_path / "whole")
    folders = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(folders, 1):
        part = replayed(project, answers=False, folder=folder, shard=f"{number}/2")
        folder.with_suffix(".json").write_bytes(part)
    assert merged(*folders) == whole
    assert merged(*(folder.with_suffix(".json") for folder in folders)) == whole


def test_timings_change_which_cases_a_shard_has_and_not_what_they_come_to(tmp_path):
    project = plain(tmp_path / "project")
    ask(project, answers)
    seconds = {name: float(number) for number, name in enumerate(NAMES[:9])}
    folders = []
    for number in (1, 2, 3):
        shard = Shard(index=number, count=3, seconds=seconds)
        folder = tmp_path / f"{number}"
        keeping = Keeping(folder=folder, shard=shard)
        ask(project, answers, keeping=keeping, selection=Selection(shard=shard))
        folders.append(folder)
    sizes = [len(lines_of(folder)) - 1 for folder in folders]
    assert sum(sizes) == len(NAMES)
    assert json.loads(merged(*folders))["suites"][0]["dataset"]["selected"] == len(NAMES)


def test_the_newest_run_is_recovered_with_its_builds_and_votes_counted(tmp_path):
    project = judged(tmp_path / "project")
    report = ask(project, answers, clock=FakeClock())
    assert recovered(newest(project)) == report
    with pytest.raises(RunError):
        recovered(tmp_path)


def test_shards_of_an_agent_are_merged_from_journals_alone(tmp_path):
    project = AgentProject(tmp_path / "project")
    project.cases(
        *(
            agent_case(name, *"abc"[: n % 4], expectations=["It is."][: n % 2])
            for n, name in enumerate(NAMES)
        )
    )
    project.agent_suite(repeats=2, thresholds={"passAtK": {"k": 2, "min": 0.5}, "maxCostUsd": 1})
    flaky = Agent(
        answer=lambda case, scenario, artifact, repeat: (
            "wrong" if repeat == 1 and case.id.endswith("3") else right(case, scenario, None, 0)
        )
    )
    live = ask(project, lambda request, call: PASS, agent=flaky)
    assert recovered(newest(project)) == live
    whole = replayed(project, folder=tmp_path / "whole")
    folders = [tmp_path / f"shard-{number}" for number in (1, 2, 3)]
    for number, folder in enumerate(folders, 1):
        part = replayed(project, folder=folder, shard=f"{number}/3")
        folder.with_suffix(".json").write_bytes(part)
    assert merged(*folders) == whole
    with pytest.raises(RunError) as caught:
        merged(*(folder.with_suffix(".json") for folder in folders))
    assert caught.value.code == "P6704"
    assert "does not hold all that was built" in caught.value.message
