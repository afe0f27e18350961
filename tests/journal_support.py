"""Runs in this process that keep their rows, are cut off anywhere, and go on."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import count
from pathlib import Path
from unittest.mock import patch

from agent_support import StillClock, VirtualRows
from live_support import FakeClock, Unseen
from proctor.asking import AskingLimits, Means
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.config import load_config
from proctor.evaluation import evaluate, select
from proctor.journal import Journal
from proctor.journaling import RunFacts, run_head
from proctor.keeping import Keeping
from proctor.merging import merge_parts, report_of
from proctor.pipeline import load_exam
from proctor.providers.pricing import Pricing
from proctor.providers.scripted import ScriptedProvider
from proctor.recording import LiveOptions, LiveSession, Resumed
from proctor.records import RenderOptions, Verdict
from proctor.rendering.report_json import render_json
from proctor.replaying import ReplaySession
from proctor.run_folders import JOURNAL
from proctor.run_keeping import RunRecord, replay_kept
from proctor.run_parts import open_part
from proctor.running.engine import LiveLoop, Stop
from proctor.selecting import Selection
from proctor.sharding import Shard

FOLDER = "evals/cassettes"
REGEX_TIMEOUT_S = 0.2
"""Of the time of the processor, so that only what never ends takes so long."""
_TOKENS = count(0x100000)


def rendered(report) -> bytes:
    """A report as JSON."""
    return b"".join(render_json(report, RenderOptions()))


def cassettes(project) -> CassetteFolder:
    return CassetteFolder(project.root, project.root, FOLDER, FOLDER)


class Loaded:
    """A project with what was selected of it; close it after use."""

    def __init__(self, project, *, repeats=None, selection=None) -> None:
        self.config = load_config(project.root, is_root=True, flags={}, environ={})
        with patch("proctor.pipeline.REGEX_TIMEOUT_S", REGEX_TIMEOUT_S):
            self.exam = load_exam(self.config, (), repeats=repeats)
        self.selected = select(self.exam, selection or Selection())

    def close(self) -> None:
        self.exam.close()


def ask(project, script, *, keeping=None, answers=True, notes=None, **options) -> bytes:
    """Run a project live, as the command line does, and return its report as JSON.

    Args:
        project: The project.
        script: Who answers.
        keeping: Where rows go, and which run goes on.
        answers: Whether the report has answers.
        notes: Gets what is said to the reader.
        options: `mode`, `concurrency`, `repeats`, `selection`, `clock`, `stop`, `before_close`, and
            `agent`, who answers in place of a model.
    """
    agent = options.pop("agent", None)
    clock = options.pop("clock", None) or FakeClock(_TOKENS)
    if agent is not None:
        clock = StillClock()
    stop = options.pop("stop", None) or Stop()
    mode = options.pop("mode", "record")
    concurrency = options.pop("concurrency", 4)
    before_close = options.pop("before_close", lambda session: None)
    said = [] if notes is None else notes
    loaded = Loaded(
        project, repeats=options.pop("repeats", None), selection=options.pop("selection", None)
    )
    assert not options, options
    config, selected = loaded.config, loaded.selected
    with closing(loaded):
        record = RunRecord(
            config,
            selected,
            facts=RunFacts(mode=mode, answers=answers),
            keeping=keeping or Keeping(),
            note=said.append,
        )
        with closing(record):
            if record.is_finished:
                return rendered(record.finish())
            with patch("proctor.recording.LiveLoop", LiveLoop if agent is None else VirtualRows):
                session = LiveSession(
                    cassettes(project),
                    [(one.suite, one.plan) for one in selected],
                    means=Means(
                        providers={"local": ScriptedProvider(script, clock=clock)},
                        pricing=Pricing(config.values.prices, config.values.providers),
                        budget=None,
                        progress=Unseen(),
                        clock=clock,
                        stop=stop,
                    ),
                    options=_options(mode, concurrency, record, agent),
                )
            with closing(session):
                record.begin(session.run)
                report = record.evaluate(session)
                session.is_whole = report.head.verdict is not Verdict.INTERRUPTED
                before_close(session)
            return rendered(report)


def _options(mode, concurrency, record, agent) -> LiveOptions:
    return LiveOptions(
        mode=CacheMode(mode),
        limits=AskingLimits(concurrency=concurrency, timeout_s=600, max_wait_s=0),
        grace_s=0,
        agents={} if agent is None else {"quiz": agent},
        agents_at_once=concurrency,
        on_finished=record.keep,
        resumed=None if record.resumed is None else Resumed(record.resumed, record.claimed()),
    )


def replayed(project, *, folder=None, shard=None, answers=True, **options) -> bytes:
    """Replay a project, or a shard of it such as `2/4`; rows are kept when a folder is named."""
    part = None if shard is None else Shard.parse(shard)
    selection = Selection(shard=part)
    loaded = Loaded(project, selection=selection, **options)
    with closing(loaded):
        names = [one.name for one in loaded.selected]
        with closing(ReplaySession(cassettes(project), names)) as session:
            keeping = Keeping(folder=folder, shard=part)
            config, selected = loaded.config, loaded.selected
            if folder is None:
                report = evaluate(config, selected, session, answers=answers, shards=keeping.place)
            else:
                report = replay_kept(
                    config,
                    selected,
                    session,
                    answers=answers,
                    keeping=keeping,
                    note=lambda text: None,
                )
            return rendered(report)


def head_of(project, *, mode="replay", **options):
    """The head of the journal that a run of a project would have."""
    loaded = Loaded(project, **options)
    with closing(loaded):
        return run_head(loaded.config, loaded.selected, RunFacts(mode=mode))


def newest(project) -> Path:
    """The folder of the newest run."""
    return max(project.root.glob(".proctor/runs/*/")).resolve()


def recovered(path: Path) -> bytes:
    """The report that is made of a journal alone."""
    with closing(open_part(path, path.name)) as part:
        return rendered(report_of(part))


def merged(*paths: Path, **options) -> bytes:
    """The report that is made of parts."""
    parts = [open_part(path, path.name) for path in paths]
    try:
        return rendered(merge_parts(parts, **options).report)
    finally:
        for part in parts:
            part.close()


def lines_of(folder: Path) -> list[dict]:
    """The lines of a journal."""
    return [json.loads(line) for line in (folder / JOURNAL).read_bytes().splitlines()]


def reopened(folder: Path, head) -> Journal:
    return Journal.reopen(folder, head)
