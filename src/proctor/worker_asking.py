"""What stands in a run for providers and targets that workers ask."""

from __future__ import annotations

import asyncio

from proctor.errors import LostCall, TargetError
from proctor.executors.batches import decode_body
from proctor.executors.workers import Seat, WorkerPool
from proctor.providers.budget import Budget
from proctor.records import Answer, Call, Case, Reply, Request, Scenario, encode_json
from proctor.target_protocols import Built
from proctor.worker_messages import (
    AnyCall,
    BuiltThere,
    Failure,
    OpenedProvider,
    OpenedTarget,
    ProviderCall,
    Replied,
    Result,
    Said,
    TargetCall,
)


async def made(pool: WorkerPool, call: AnyCall, seat: Seat | None = None) -> Result:
    """What came of a call that a worker made.

    Raises:
        LostCall: When the worker was lost meanwhile.
        ProctorError: What the call raised, as far as it was one of ours.
        Told: What else it raised.
    """
    return _result(await pool.call(encode_json(call), seat))


def _result(data: bytes) -> Result:
    result: Result = decode_body(data, Result)  # type: ignore[arg-type]
    if isinstance(result, Failure):
        result.throw()
    return result


class WorkerProvider:
    """A `Provider` that workers ask.

    Args:
        name: Its name.
        opened: What the workers say of it.
        pool: The workers.
    """

    def __init__(self, name: str, opened: OpenedProvider, pool: WorkerPool) -> None:
        self.kind = opened.kind
        self.host = opened.host
        self._name = name
        self._pool = pool

    async def complete(self, request: Request, call: Call) -> Reply:
        """Have it asked once.

        Raises:
            ProviderError: When no answer came that could be kept.
        """
        result = await made(self._pool, ProviderCall(self._name, request, call))
        assert isinstance(result, Replied)  # noqa: S101 - it says what was asked
        return result.reply

    async def aclose(self) -> None:
        """What is open ends with the workers."""


class BuiltElsewhere:
    """What a worker has built, where, and for which repeat."""

    def __init__(self, seat: Seat, number: int, repeat: int, told: Answer) -> None:
        self.seat = seat
        self.number = number
        self.repeat = repeat
        self.told = told
        self.renewing = asyncio.Lock()


class WorkerTarget:
    """A `LiveTarget` that workers ask.

    What is built stays with the worker that built it, and so do the rows of that build. The rows of
    a case of which nothing is built are prepared and answered by one worker. When it is lost,
    another one takes over, and builds anew.

    Args:
        suite: The name of its suite.
        pool: The workers.
        opened: What the workers say of it.
        build_cost_usd: What building may cost at most.
        budget: What may be spent; None without a limit.
    """

    def __init__(
        self,
        suite: str,
        pool: WorkerPool,
        opened: OpenedTarget,
        *,
        build_cost_usd: float,
        budget: Budget | None,
    ) -> None:
        self.builds = opened.builds
        self._suite = suite
        self._pool = pool
        self._prepares = opened.prepares
        self._build_cost_usd = build_cost_usd
        self._budget = budget
        self._seats: dict[str, Seat] = {}
        self._set_up: dict[tuple[Seat, str | None], asyncio.Future[Result]] = {}

    async def setup(self, lane: str | None) -> None:
        """Get a lane ready on every worker."""
        ready = [self._ready(seat, lane) for seat in self._pool.seats]
        for done in await asyncio.gather(*ready, return_exceptions=True):
            # Whoever comes in place of a lost worker gets ready by itself.
            if done is not None and not isinstance(done, LostCall):
                raise done

    async def teardown(self, lane: str | None) -> None:
        """Undo `setup` on every worker."""
        seats = [seat for seat, of in self._set_up if of == lane and not seat.is_gone]
        undo = TargetCall(suite=self._suite, method="teardown", lane=lane)
        for done in await asyncio.gather(
            *(made(self._pool, undo, seat) for seat in seats), return_exceptions=True
        ):
            if isinstance(done, BaseException) and not isinstance(done, LostCall):
                raise done

    async def health(self, lane: str | None) -> bool:
        """Whether a lane can be used."""
        said = await made(self._pool, TargetCall(suite=self._suite, method="health", lane=lane))
        return isinstance(said, Said) and said.is_fine

    async def build(self, case: Case, repeat: int, lane: str | None) -> Built:
        """Build once for a case and repeat, on whatever worker has least to do."""
        seat = await self._ready_seat(lane)
        call = TargetCall(suite=self._suite, method="build", lane=lane, case=case, repeat=repeat)
        built = await made(self._pool, call, seat)
        assert isinstance(built, BuiltThere)  # noqa: S101 - it says what was asked
        return Built(BuiltElsewhere(seat, built.artifact, repeat, built.reply.answer), built.reply)

    async def prepare(
        self, case: Case, scenario: Scenario | None, artifact: object, lane: str | None
    ) -> None:
        """Get ready for a scenario, on the worker that will answer it."""
        if isinstance(artifact, BuiltElsewhere):
            await self._renew(case, artifact, lane)
        elif not self._prepares or case.id not in self._seats or self._seats[case.id].is_gone:
            self._seats[case.id] = await self._ready_seat(lane)
        if self._prepares:
            call = TargetCall(
                suite=self._suite,
                method="prepare",
                lane=lane,
                case=case,
                scenario=scenario,
                artifact=_number(artifact),
            )
            await made(self._pool, call, self._seat(case, artifact))

    async def answer(
        self,
        case: Case,
        scenario: Scenario | None,
        artifact: object,
        repeat: int,
        lane: str | None,
    ) -> Reply:
        """The answer to one row, which has been prepared."""
        call = TargetCall(
            suite=self._suite,
            method="answer",
            lane=lane,
            case=case,
            scenario=scenario,
            repeat=repeat,
            artifact=_number(artifact),
        )
        result = await made(self._pool, call, self._seat(case, artifact))
        assert isinstance(result, Replied)  # noqa: S101 - it says what was asked
        return result.reply

    async def cleanup(self, artifact: object, lane: str | None) -> bool:
        """Let go of what was built; of what was lost with its worker nothing is left."""
        if not isinstance(artifact, BuiltElsewhere):
            return True
        call = TargetCall(suite=self._suite, method="cleanup", lane=lane, artifact=artifact.number)
        try:
            said = await made(self._pool, call, artifact.seat)
        except LostCall:
            return True
        return isinstance(said, Said) and said.is_fine

    async def aclose(self) -> None:
        """Close what is open on the workers."""
        call = TargetCall(suite=self._suite, method="aclose")
        closing = [made(self._pool, call, seat) for seat in self._pool.seats]
        await asyncio.gather(*closing, return_exceptions=True)

    async def _ready_seat(self, lane: str | None) -> Seat:
        seat = await self._pool.seat()
        await self._ready(seat, lane)
        return seat

    async def _ready(self, seat: Seat, lane: str | None) -> None:
        """See to it that a lane is ready on a worker."""
        key = (seat, lane)
        if key not in self._set_up:
            call = TargetCall(suite=self._suite, method="setup", lane=lane)
            self._set_up[key] = asyncio.ensure_future(made(self._pool, call, seat))
        getting_ready = self._set_up[key]
        try:
            await asyncio.shield(getting_ready)
        except BaseException:
            if getting_ready.done():
                self._set_up.pop(key, None)
            raise

    async def _renew(self, case: Case, built: BuiltElsewhere, lane: str | None) -> None:
        """Build anew what was lost with its worker.

        Raises:
            TargetError: When what is built then is not the same, as far as it is told: rows of two
                builds are none of one.
        """
        async with built.renewing:
            if not built.seat.is_gone:
                return
            budget, most = self._budget, self._build_cost_usd
            reservation = None if budget is None else await budget.reserve(most)
            cost_usd: float | None = None
            try:
                again = await self.build(case, built.repeat, lane)
                cost_usd = again.reply.cost_usd if most else 0.0
            finally:
                if reservation is not None:
                    reservation.settle(cost_usd)
            assert isinstance(again.artifact, BuiltElsewhere)  # noqa: S101 - `build` made it
            if again.reply.answer != built.told:
                await self.cleanup(again.artifact, lane)
                raise TargetError(
                    "the worker that had built this was lost, and what is built anew is not "
                    "the same",
                    hint="run it again with `--resume`",
                )
            built.seat, built.number = again.artifact.seat, again.artifact.number

    def _seat(self, case: Case, artifact: object) -> Seat:
        return artifact.seat if isinstance(artifact, BuiltElsewhere) else self._seats[case.id]


def _number(artifact: object) -> int | None:
    return artifact.number if isinstance(artifact, BuiltElsewhere) else None
