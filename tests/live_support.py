"""Projects whose provider is a script, and live runs of them: in this process and as a program."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import count
from tempfile import TemporaryFile

from proctor.asking import AskingLimits, Means
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.clock import Clock
from proctor.config import load_config
from proctor.evaluation import evaluate, select
from proctor.pipeline import load_exam
from proctor.providers.pricing import Pricing
from proctor.providers.scripted import ScriptedProvider
from proctor.recording import LiveOptions, LiveSession
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.replaying import ReplaySession
from proctor.running.engine import Stop
from proctor.selecting import Selection
from support import Project, Result

PROJECT = """\
project = "tests"
[providers.local]
kind = "scripted"
answers = "script.jsonl"
"""

YES = '{"label": "yes"}'
PATIENCE_S = 60
IDLE_PASSES = 8
_TOKENS = count()


class FakeClock(Clock):
    """A clock that stands still until everybody waits, and then goes on to who is due next."""

    def __init__(self, tokens: Iterator[int] | None = None) -> None:
        self.time_s = 0.0
        self._tokens = tokens or count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._hand: asyncio.Task[None] | None = None
        self._numbers = count()

    def now(self) -> datetime:
        return datetime(2026, 11, 30, 10, 11, 12, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.time_s

    def random(self) -> float:
        return 0.5

    def token(self) -> str:
        return f"{next(self._tokens):06x}"

    async def sleep(self, seconds: float) -> None:
        due = asyncio.get_running_loop().create_future()
        heappush(self._sleepers, (self.time_s + seconds, next(self._numbers), due))
        if self._hand is None or self._hand.done():
            self._hand = asyncio.ensure_future(self._go())
        await due

    async def _go(self) -> None:
        while self._sleepers:
            for _ in range(IDLE_PASSES):
                await asyncio.sleep(0)
            self.time_s, _, due = heappop(self._sleepers)
            if not due.done():
                due.set_result(None)


class LiveProject(Project):
    """A project that asks a script."""

    def __init__(self, root) -> None:
        super().__init__(root)
        self.write("proctor.toml", PROJECT)

    def suite(self, **keys: object) -> None:
        """Write the suite with other keys than `assertions`, which stay."""
        lines = {"prompt": "answer", "dataset": "cases.jsonl"} | keys
        head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in lines.items())
        self.write(
            "evals/quiz.eval.yaml",
            f"{head}assertions:\n  - {{id: right, kind: equals, field: label}}\n",
        )

    def named_cases(self, *names: str) -> None:
        self.cases(*(self.case(name) for name in names))

    def script(self, *lines: dict) -> None:
        self.write("script.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    def says_yes(self, **more: object) -> dict:
        return {"text": YES} | more

    @property
    def stored(self) -> list[dict]:
        """The lines of the cassette."""
        path = self.root / "evals/cassettes/quiz.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    @property
    def stored_cases(self) -> list[str]:
        return [line["case"] for line in self.stored]

    @property
    def logs(self) -> list:
        return sorted(self.root.glob(".proctor/runs/*/recorded/*.jsonl"))

    def received(self) -> list[bytes]:
        """The whole lines of all logs of runs."""
        return [
            line
            for log in self.logs
            for line in log.read_bytes().splitlines(keepends=True)
            if line.endswith(b"\n")
        ]

    def files(self) -> dict[str, bytes]:
        """Every file of the project outside `.proctor/`."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and ".proctor" not in path.parts
        }

    def record(self, *arguments: str, **options) -> Result:
        return self.proctor("run", "--cache", "record", "--max-wait", "0", *arguments, **options)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Running]:
        """The program, running; it is killed at the end if it still does."""
        running = Running(self, arguments)
        try:
            yield running
        finally:
            running.end()


class Running:
    """A program that was started and not waited for."""

    def __init__(self, project: LiveProject, arguments: tuple[str, ...]) -> None:
        self._out, self._err = TemporaryFile(), TemporaryFile()  # noqa: SIM115 - `end` closes them
        self._project = project
        self._process = subprocess.Popen(
            [sys.executable, "-m", "proctor", *arguments],
            cwd=project.root,
            stdout=self._out,
            stderr=self._err,
        )

    @property
    def err(self) -> str:
        """What it said on stderr so far."""
        return os.pread(self._err.fileno(), 1_000_000, 0).decode()

    def until(self, condition: Callable[[Running], object]) -> None:
        """Wait until something is so."""
        end = time.monotonic() + PATIENCE_S
        while not condition(self):
            ended = self._process.poll() is not None
            assert not ended or condition(self), f"the program ended: {self.err}"
            assert time.monotonic() < end, f"it did not happen: {self.err}"
            time.sleep(0.005)

    def until_received(self, lines: int) -> None:
        """Wait until the logs of the project's runs have so many lines."""
        self.until(lambda _: len(self._project.received()) >= lines)

    def send(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait(self) -> Result:
        """Wait for its end."""
        code = self._process.wait(PATIENCE_S)
        return Result(code, os.pread(self._out.fileno(), 1_000_000, 0), self.err)

    def end(self) -> None:
        """Kill it if it still runs."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._out.close()
        self._err.close()


class Calls:
    """A script function that notes who asked, and passes on to another one."""

    def __init__(self, answer: object = YES) -> None:
        self._answer = answer if callable(answer) else lambda request, call: answer
        self.made: list[tuple[str, int]] = []

    def __call__(self, request, call):
        self.made.append((call.case, call.take))
        return self._answer(request, call)


class Unseen:
    """Progress that nobody watches."""

    def row_done(self, outcome) -> None:
        pass

    def money(self, spent_usd, remaining_usd) -> None:
        pass

    def waiting(self, provider, wait_s, attempt, reason) -> None:
        pass

    def note(self, text) -> None:
        pass


@contextmanager
def live_session(project, script, *, suites=(), repeats=None, selection=None, **options):
    """A live session on a project in this process, with what was selected and its project."""
    clock = options.pop("clock", None) or FakeClock(_TOKENS)
    stop = options.pop("stop", None) or Stop()
    config = load_config(project.root, is_root=True, flags={}, environ={})
    with closing(load_exam(config, suites, repeats=repeats)) as exam:
        selected = select(exam, selection or Selection())
        folder = "evals/cassettes"
        session = LiveSession(
            CassetteFolder(project.root, project.root, folder, folder, options.pop("option", "")),
            [(one.suite, one.plan) for one in selected],
            means=Means(
                providers={"local": ScriptedProvider(script, clock=clock)},
                pricing=Pricing(config.values.prices, config.values.providers),
                budget=options.pop("budget", None),
                progress=options.pop("progress", None) or Unseen(),
                clock=clock,
                stop=stop,
            ),
            options=LiveOptions(
                mode=CacheMode(options.pop("mode", "record")),
                limits=AskingLimits(
                    concurrency=options.pop("concurrency", 4),
                    timeout_s=options.pop("timeout_s", 600),
                    max_wait_s=options.pop("max_wait_s", 0),
                ),
                grace_s=options.pop("grace_s", 0),
            ),
        )
        assert not options, options
        with closing(session):
            yield config, selected, session


def run_live(project, script, **options):
    """Run a project live in this process and return its report as JSON."""
    with live_session(project, script, **options) as (config, selected, session):
        return _json(evaluate(config, selected, session))


def replay(project, *, repeats=None) -> bytes:
    """Replay a project in this process and return the bytes of its report."""
    config = load_config(project.root, is_root=True, flags={}, environ={})
    folder = CassetteFolder(project.root, project.root, "evals/cassettes", "evals/cassettes")
    with closing(load_exam(config, (), repeats=repeats)) as exam:
        selected = select(exam, Selection())
        with closing(ReplaySession(folder, [one.name for one in selected])) as session:
            report = evaluate(config, selected, session)
    return b"".join(render_json(report, RenderOptions()))


def _json(report):
    return json.loads(b"".join(render_json(report, RenderOptions())))


def rows_of(report) -> list[dict]:
    """Every row of a report, each with the id of its case."""
    return [
        {"case": case["id"], **row}
        for suite in report["suites"]
        for subject in suite["subjects"]
        for case in subject["cases"]
        for row in case["rows"]
    ]
