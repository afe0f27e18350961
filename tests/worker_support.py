"""Workers in this process, which are lost when a test says so, and runs whose calls they make."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing, contextmanager

from live_support import Unseen
from proctor.asking_rules import AskingRules, WorkerRules
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.config import load_config
from proctor.evaluation import select
from proctor.executors.batches import decode_batch
from proctor.executors.workers import WorkerGone
from proctor.pipeline import load_exam
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.running.engine import Stop
from proctor.selecting import Selection
from proctor.suite_runs import run_selected

FOLDER = "evals/cassettes"


class NearWorker:
    """A worker in this process.

    Args:
        worker: What makes the calls.
        lost_at: It is lost when it is given its n-th call, from 1, without a word on any that it
            has not told of; None for never.
    """

    def __init__(self, worker, lost_at: int | None = None) -> None:
        self.worker = worker
        self.batches: list[int] = []
        self.given = 0
        self.is_ended = False
        self._lost_at = lost_at
        self._lost = asyncio.Event()

    def lose(self) -> None:
        self._lost.set()

    async def give(self, batch: bytes) -> None:
        calls = sum(body is not None for _, body in decode_batch(batch)[0])
        self.batches.append(calls)
        self.given += calls
        if self._lost_at is not None and self.given >= self._lost_at:
            self.lose()
        if self._lost.is_set():
            raise WorkerGone
        await self.worker.give(batch)

    async def hear(self) -> bytes:
        said = asyncio.ensure_future(self.worker.hear())
        lost = asyncio.ensure_future(self._lost.wait())
        await asyncio.wait([said, lost], return_when=asyncio.FIRST_COMPLETED)
        lost.cancel()
        if said.done() and not self._lost.is_set():
            return said.result()
        said.cancel()
        raise WorkerGone

    def end(self) -> None:
        self.is_ended = True


class NearCluster:
    """Stands for a cluster: its workers are here.

    Args:
        losses: When each worker is lost, in the order they begin; those beyond are never lost.
        spare: How many workers may come in place of lost ones.
    """

    def __init__(self, losses: tuple[int | None, ...] = (), spare: int = 1_000) -> None:
        self._losses = list(losses)
        self._spare = spare
        self.workers: list[NearWorker] = []
        self.jobs: list[bytes] = []
        self.is_closed = False

    def __call__(self, worker: type, job: bytes, accept: Callable[[bytes], object]):
        self._class, self._job, self._accept = worker, job, accept
        self.jobs.append(job)
        return self

    def start(self, address: str | None, workers: int | None) -> list[NearWorker]:
        self.address = address
        return [asyncio.run(self._begin()) for _ in range(workers or 2)]

    async def replace(self) -> NearWorker:
        if not self._spare:
            raise WorkerGone
        self._spare -= 1
        return await self._begin()

    def close(self) -> None:
        self.is_closed = True

    async def _begin(self) -> NearWorker:
        worker = self._class()
        self._accept(await worker.begin(self._job))
        near = NearWorker(worker, self._losses.pop(0) if self._losses else None)
        self.workers.append(near)
        return near


class Following:
    """Somebody who follows a run."""

    def __init__(self, stop: Stop | None = None, row_done: Callable[[int], None] | None = None):
        self.stop = stop or Stop()
        self.notes: list[str] = []
        self._row_done = row_done

    def note(self, text: str) -> None:
        self.notes.append(text)

    @contextmanager
    def asking(self, stop, rows, clock):
        progress = Unseen()
        progress.note = self.notes.append
        if self._row_done is not None:
            told = self._row_done
            rows_done = 0

            def row_done(outcome) -> None:
                nonlocal rows_done
                rows_done += 1
                told(rows_done)

            progress.row_done = row_done
        yield progress


def run(project, *, workers: WorkerRules | None = None, following=None, **options) -> bytes:
    """Run a project as the command line does, in this process, and return its report as JSON.

    Args:
        project: The project.
        workers: Who makes the calls; None for this process.
        following: Who follows it.
        options: `repeats`, `label`, `selection`, and what `AskingRules` has.
    """
    config = load_config(project.root, is_root=True, flags={}, environ={})
    repeats, selection = options.pop("repeats", None), options.pop("selection", Selection())
    rules = AskingRules(
        cache=CacheMode(options.pop("mode", "record")), workers=workers, max_wait_s=0, **options
    )
    with closing(load_exam(config, (), repeats=repeats, allow_code=rules.allow_code)) as exam:
        report = run_selected(
            rules,
            select(exam, selection),
            folder=CassetteFolder(project.root, project.root, FOLDER, FOLDER),
            config=config,
            watch=following or Following(),
        )
        return b"".join(render_json(report, RenderOptions()))
