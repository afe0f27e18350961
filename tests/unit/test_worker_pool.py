"""Who makes which call, and what happens when a worker is lost: no cluster, and no time."""

from __future__ import annotations

import asyncio

import pytest

from proctor.errors import LostCall, ProviderError, RunError
from proctor.executors.batches import decode_batch, encode_batch
from proctor.executors.workers import LOST_IN_A_ROW, WorkerGone, WorkerPool
from virtual_time import idle, in_no_time


class Scripted:
    """A worker that notes what it is given, and says what a test has it say."""

    def __init__(self, name="") -> None:
        self.name = name
        self.batches: list[list[tuple[int, bytes | None]]] = []
        self.is_ended = False
        self._said: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.is_lost = False

    @property
    def given(self) -> list[bytes | None]:
        return [body for batch in self.batches for _, body in batch]

    async def give(self, batch):
        if self.is_lost:
            raise WorkerGone
        self.batches.append(decode_batch(batch)[0])

    async def hear(self):
        said = await self._said.get()
        if said is None:
            raise WorkerGone
        return said

    def end(self):
        self.is_ended = True

    def say(self, *results: tuple[int, bytes], notes=()):
        self._said.put_nowait(encode_batch(results, notes))

    def lose(self):
        self.is_lost = True
        self._said.put_nowait(None)

    def number(self, body: bytes) -> int:
        return next(n for batch in self.batches for n, other in batch if other == body)

    def answer(self, *bodies: bytes):
        self.say(*((self.number(body), b'"%s"' % body.strip(b'"')) for body in bodies))


class Spares:
    def __init__(self, *spares) -> None:
        self.spares = list(spares)
        self.is_closed = False

    async def replace(self):
        if not self.spares:
            raise WorkerGone
        spare = self.spares.pop(0)
        if isinstance(spare, Exception):
            raise spare
        return spare

    def close(self):
        self.is_closed = True


class Lab:
    def __init__(self, workers=2, spares=()) -> None:
        self.workers = [Scripted() for _ in range(workers)]
        self.cluster = Spares(*spares)
        self.notes: list[str] = []
        self.pool = WorkerPool(self.cluster, self.workers, note=self.notes.append)

    async def call(self, *bodies: bytes):
        tasks = [asyncio.ensure_future(self.pool.call(body)) for body in bodies]
        await idle()
        return tasks


@in_no_time
async def test_calls_made_together_go_over_as_one_batch_and_are_spread():
    lab = Lab()
    await lab.call(b"1", b"2", b"3", b"4")
    assert [worker.given for worker in lab.workers] == [[b"1", b"3"], [b"2", b"4"]]
    assert [len(worker.batches) for worker in lab.workers] == [1, 1]


@in_no_time
async def test_who_has_least_to_do_gets_the_next_call():
    lab = Lab()
    one, _, _ = await lab.call(b"1", b"2", b"3")
    lab.workers[0].answer(b"1", b"3")
    assert await one == b'"1"'
    await lab.call(b"4", b"5")
    assert lab.workers[0].given == [b"1", b"3", b"4", b"5"]
    assert lab.workers[1].given == [b"2"]


@in_no_time
async def test_results_come_back_to_whoever_asked_in_whatever_order():
    lab = Lab(workers=1)
    tasks = await lab.call(b"1", b"2", b"3")
    lab.workers[0].answer(b"3")
    lab.workers[0].answer(b"1", b"2")
    assert await asyncio.gather(*tasks) == [b'"1"', b'"2"', b'"3"']


@in_no_time
async def test_what_is_told_twice_counts_once():
    lab = Lab(workers=1)
    one, two = await lab.call(b"1", b"2")
    number = lab.workers[0].number(b"1")
    lab.workers[0].say((number, b'"first"'), (number, b'"second"'))
    lab.workers[0].say((number, b'"third"'))
    assert await one == b'"first"'
    lab.workers[0].answer(b"2")
    assert await two == b'"2"'


@in_no_time
async def test_a_call_that_is_given_up_is_ended_where_it_is_made():
    lab = Lab(workers=1)
    one, two = await lab.call(b"1", b"2")
    one.cancel()
    await idle()
    number = lab.workers[0].number(b"1")
    assert lab.workers[0].batches[-1] == [(number, None)]
    # It had been made already.
    lab.workers[0].answer(b"1", b"2")
    assert await two == b'"2"'
    assert one.cancelled()


@in_no_time
async def test_the_calls_of_a_lost_worker_and_no_others_are_lost():
    lab = Lab(spares=[Scripted()])
    tasks = await lab.call(b"1", b"2", b"3")
    lab.workers[0].lose()
    await idle()
    assert [task.done() for task in tasks] == [True, False, True]
    for lost in (tasks[0], tasks[2]):
        with pytest.raises(LostCall):
            lost.result()
    lab.workers[1].answer(b"2")
    assert await tasks[1] == b'"2"'
    assert lab.workers[0].is_ended
    assert lab.notes == ["a worker was lost; calls that are made again: 2"]


@in_no_time
async def test_a_worker_that_cannot_be_told_is_lost():
    lab = Lab(workers=1, spares=[Scripted()])
    lab.workers[0].is_lost = True
    (one,) = await lab.call(b"1")
    with pytest.raises(LostCall):
        one.result()


@in_no_time
async def test_another_worker_comes_in_its_place():
    spare = Scripted()
    lab = Lab(workers=1, spares=[spare])
    (one,) = await lab.call(b"1")
    lab.workers[0].lose()
    await idle()
    (two,) = await lab.call(b"2")
    spare.answer(b"2")
    assert await two == b'"2"'
    assert one.exception() is not None


@in_no_time
async def test_a_call_for_a_worker_that_is_lost_is_lost():
    lab = Lab(workers=1, spares=[Scripted()])
    seat = await lab.pool.seat()
    await lab.call(b"1")
    lab.workers[0].lose()
    await idle()
    with pytest.raises(LostCall):
        await lab.pool.call(b"2", seat)


@in_no_time
async def test_what_a_lost_worker_still_says_is_not_heard():
    spare = Scripted()
    lab = Lab(workers=1, spares=[spare])
    (one,) = await lab.call(b"1")
    number = lab.workers[0].number(b"1")
    lab.workers[0].lose()
    lab.workers[0].say((number, b'"late"'))
    await idle()
    with pytest.raises(LostCall):
        one.result()


@in_no_time
async def test_without_any_worker_calls_are_refused_for_nothing():
    lab = Lab(workers=1)
    await lab.call(b"1")
    lab.workers[0].lose()
    await idle()
    with pytest.raises(ProviderError) as caught:
        await lab.pool.call(b"2")
    assert caught.value.code == "P6703"
    assert caught.value.free
    assert lab.notes[-1] == "no other worker came in its place"


@in_no_time
async def test_a_worker_that_cannot_do_what_others_do_is_not_taken():
    lab = Lab(workers=2, spares=[RunError("it sees other files", code="P6707")])
    await lab.call(b"1")
    lab.workers[0].lose()
    await idle()
    assert lab.notes[-1] == "no other worker came in its place: it sees other files"
    (two,) = await lab.call(b"2")
    lab.workers[1].answer(b"2")
    assert await two == b'"2"'


@pytest.mark.parametrize("answered", [False, True])
@in_no_time
async def test_workers_that_are_lost_one_after_the_other_are_not_replaced_for_ever(answered):
    spares = [Scripted() for _ in range(10)]
    lab = Lab(workers=1, spares=spares)
    begun = [lab.workers[0], *spares]
    for worker in begun[: LOST_IN_A_ROW + 1]:
        (one, two) = await lab.call(b"1", b"2")
        if answered:
            worker.answer(b"1")
            await one
        worker.lose()
        await idle()
        assert two.exception() is not None
        assert one.exception() is None if answered else one.exception() is not None
    left = 10 - LOST_IN_A_ROW - 1 if answered else 10 - LOST_IN_A_ROW
    assert len(lab.cluster.spares) == left


@in_no_time
async def test_notes_of_workers_are_told_once():
    lab = Lab()
    await lab.call(b"1", b"2")
    lab.workers[0].say(notes=["a key goes there", "it raised an error"])
    lab.workers[1].say(notes=["a key goes there"])
    await idle()
    assert lab.notes == ["a key goes there", "it raised an error"]


@in_no_time
async def test_closing_ends_every_worker_and_leaves_the_cluster():
    lab = Lab()
    lab.pool.close()
    assert [worker.is_ended for worker in lab.workers] == [True, True]
    assert lab.cluster.is_closed


@pytest.mark.parametrize("body", [b'{"a": [1, 2.5, null]}', b'"\\ud800"', b"12345678901234567890"])
def test_a_body_goes_over_as_it_is(body):
    items, notes = decode_batch(encode_batch([(7, body), (8, None)], ["\ud800 seen"]))
    assert items == [(7, body), (8, None)]
    assert notes == ["\\ud800 seen"]
