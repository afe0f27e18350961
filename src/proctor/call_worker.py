"""A worker: a process on any machine that makes the calls of a run, and writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from proctor.asking import require_keepable
from proctor.canonical import digest
from proctor.clock import Clock
from proctor.config import Config, load_config
from proctor.errors import ProctorError, ProviderError, RunError, raise_all
from proctor.evaluation import SelectedSuite
from proctor.executors.batches import decode_batch, decode_body, encode_batch
from proctor.journaling import plan_sha256
from proctor.pipeline import Exam, load_exam
from proctor.planning import plan_rows
from proctor.providers.access import OpenProvider, open_providers
from proctor.records import Reply, encode_json
from proctor.running.faults import Phase, Raised, caught
from proctor.target_protocols import LiveTarget
from proctor.targets.agent import AgentTarget
from proctor.targets.plain import PlainTarget
from proctor.version import VERSION
from proctor.worker_messages import (
    AnyCall,
    BuiltThere,
    Failure,
    Job,
    JobSuite,
    OpenedProvider,
    OpenedTarget,
    Problem,
    Replied,
    Result,
    Said,
    TargetCall,
    Welcome,
)

_PHASES = {
    "setup": Phase.SETUP,
    "build": Phase.BUILD,
    "prepare": Phase.PREPARE,
    "answer": Phase.ANSWER,
}


class CallWorker:
    """Makes calls in batches, all of a batch at once, and tells what came of each.

    What it takes and returns is JSON. It is driven from one event loop.

    Args:
        clock: Where time comes from.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._providers: dict[str, OpenProvider] = {}
        self._targets: dict[str, LiveTarget] = {}
        self._artifacts: dict[int, object] = {}
        self._numbers = count(1)
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._done: list[tuple[int, bytes | None]] = []
        self._notes: list[str] = []
        self._news = asyncio.Event()

    async def begin(self, job: bytes) -> bytes:
        """Load the project, and open who is asked.

        Args:
            job: A `Job`.

        Returns:
            A `Welcome`.
        """
        try:
            self._begin(decode_body(job, Job))
        except ProctorError as error:
            problems = [Problem.of(problem) for problem in error.problems()]
            return encode_json(Welcome(problems=problems))
        notes, self._notes = self._notes, []
        return encode_json(
            Welcome(
                providers={
                    name: OpenedProvider(one.provider.kind, one.provider.host, one.key)
                    for name, one in self._providers.items()
                },
                targets={
                    suite: OpenedTarget(one.builds, not isinstance(one, PlainTarget))
                    for suite, one in self._targets.items()
                },
                notes=notes,
            )
        )

    async def give(self, batch: bytes) -> None:
        """Begin calls, and end those that nobody waits for any more."""
        items, _ = decode_batch(batch)
        for number, body in items:
            if body is not None:
                self._calls[number] = asyncio.ensure_future(self._make(number, body))
            elif number in self._calls:
                self._calls[number].cancel()

    async def hear(self) -> bytes:
        """What came of calls since this was asked last; waits until there is something."""
        await self._news.wait()
        # Whatever else is ready goes over at once.
        await asyncio.sleep(0)
        self._news.clear()
        done, self._done = self._done, []
        notes, self._notes = self._notes, []
        return encode_batch(done, notes)

    def _begin(self, job: Job) -> None:
        if job.version != VERSION:
            raise RunError(
                f"a worker has Proctor {VERSION}, and the run {job.version}",
                code="P6707",
                hint="install the same version on every machine",
            )
        root = Path(job.root)
        config = load_config(root, is_root=True, flags=job.settings, environ={})
        if config_sha256(config) != job.config_sha256:
            raise _other("configuration", job.root)
        names = list(dict.fromkeys(one.name for one in job.suites))
        workers = job.rules.workers
        exam = load_exam(
            config,
            names,
            allow_code=job.rules.allow_code,
            with_labels=False,
            label=None if workers is None else workers.label,
        )
        with closing(exam):
            selected = [_selected(exam, one) for one in job.suites]
            if plan_sha256(selected) != job.plan_sha256:
                raise _other("suites, prompts or datasets", job.root)
            self._open(job, config, selected)

    def _open(self, job: Job, config: Config, selected: Sequence[SelectedSuite]) -> None:
        rules, access = job.rules, job.rules.access()
        problems: list[ProctorError] = []
        try:
            self._providers = open_providers(
                job.providers,
                config.values.providers,
                root=config.root,
                clock=self._clock,
                access=access,
            )
        except ProctorError as problem:
            problems.append(problem)
        for suite in selected:
            target = suite.subjects[0].target
            if suite.name not in job.targets or not isinstance(target, AgentTarget):
                continue
            try:
                self._targets[suite.name] = target.with_lanes(rules.lanes).open(
                    config.root,
                    allow_code=rules.allow_code,
                    access=access,
                    note=self._note,
                )
            except ProctorError as problem:
                problems.append(problem)
        raise_all(problems)

    def _note(self, text: str) -> None:
        self._notes.append(text)
        self._news.set()

    async def _make(self, number: int, body: bytes) -> None:
        call: AnyCall = decode_body(body, AnyCall)  # type: ignore[arg-type]
        try:
            result = await caught(self._result(call))
        finally:
            self._calls.pop(number, None)
        if isinstance(result, Raised):
            during = Phase.ANSWER
            if isinstance(call, TargetCall):
                during = _PHASES.get(call.method, Phase.SETUP)
            result = Failure.of(result.error, during)
        self._done.append((number, encode_json(result)))
        self._news.set()

    async def _result(self, call: AnyCall) -> Result:
        if isinstance(call, TargetCall):
            return await self._of_target(call)
        provider = self._providers[call.provider].provider
        started = self._clock.monotonic()
        reply = await provider.complete(call.request, call.call)
        # Only here is known which keys it must not hold.
        require_keepable(reply)
        return Replied(self._timed(reply, started))

    async def _of_target(self, call: TargetCall) -> Result:
        target, case = self._targets[call.suite], call.case
        artifact = None if call.artifact is None else self._artifacts[call.artifact]
        if case is None:
            return Said(await self._of_lane(target, call, artifact))
        if call.method == "prepare":
            await target.prepare(case, call.scenario, artifact, call.lane)
            return Said(is_fine=True)
        started = self._clock.monotonic()
        if call.method == "answer":
            reply = await target.answer(case, call.scenario, artifact, call.repeat, call.lane)
            require_keepable(reply)
            return Replied(self._timed(reply, started))
        built = await target.build(case, call.repeat, call.lane)
        try:
            require_keepable(built.reply)
        except ProviderError:
            await target.cleanup(built.artifact, call.lane)
            raise
        number = next(self._numbers)
        self._artifacts[number] = built.artifact
        return BuiltThere(number, self._timed(built.reply, started))

    async def _of_lane(self, target: LiveTarget, call: TargetCall, artifact: object) -> bool:
        """What a method says that is told no case: whether all is well."""
        if call.method == "health":
            return await target.health(call.lane)
        if call.method == "cleanup":
            is_fine = await target.cleanup(artifact, call.lane)
            if is_fine and call.artifact is not None:
                del self._artifacts[call.artifact]
            return is_fine
        if call.method == "aclose":
            await target.aclose()
        elif call.method == "setup":
            await target.setup(call.lane)
        else:
            await target.teardown(call.lane)
        return True

    def _timed(self, reply: Reply, started: float) -> Reply:
        """The reply with its latency as it is here, without the way to the run and back."""
        if reply.latency_ms is not None:
            return reply
        return replace(reply, latency_ms=round((self._clock.monotonic() - started) * 1_000, 1))


def config_sha256(config: Config) -> str:
    """What the configurations of a run and of its workers are told apart by."""
    return digest(msgspec.to_builtins(config.values))


def _selected(exam: Exam, job: JobSuite) -> SelectedSuite:
    suite = next(one for one in exam.suites if one.definition.name == job.name)
    subjects = {one.target.subject.id: one for one in suite.subjects}
    if not subjects.keys() >= set(job.subjects):
        raise _other("subjects of a suite", str(exam.config.root))
    plan = plan_rows(
        suite=job.name,
        subjects=len(job.subjects),
        places=job.places,
        repeats=job.repeats,
        shapes=suite.dataset.shapes,
    )
    return SelectedSuite(suite, [subjects[id_] for id_ in job.subjects], plan)


def _other(what: str, root: str) -> RunError:
    return RunError(
        f"a worker does not see the same project: its {what} differ",
        code="P6707",
        hint=f"bring the same files to `{root}` on every machine",
    )
