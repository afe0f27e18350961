import asyncio
import random
from fractions import Fraction

import pytest

from proctor.errors import ProviderError
from proctor.providers.budget import Budget

TRIALS = 200
CONCURRENCY = 50


def run(scenario):
    """Run a coroutine; it must come to its end although nobody ever really waits."""

    async def bounded():
        task = asyncio.ensure_future(scenario)
        for _ in range(100_000):
            if task.done():
                return task.result()
            await asyncio.sleep(0)
        raise AssertionError("it waits for ever")

    return asyncio.run(bounded())


async def settled():
    """Let everybody do what can be done now."""
    for _ in range(10):
        await asyncio.sleep(0)


def refusal_of(budget, usd):
    with pytest.raises(ProviderError) as caught:
        run(budget.reserve(usd))
    return caught.value


class TestOneCall:
    def test_a_reservation_is_taken_at_once_and_counts_as_spent_only_when_settled(self):
        budget = Budget(2.0)
        reservation = run(budget.reserve(0.5))
        assert (budget.reserved_usd, budget.spent_usd, budget.remaining_usd) == (0.5, 0, 2.0)
        reservation.settle(0.2)
        assert (budget.reserved_usd, budget.spent_usd, budget.remaining_usd) == (0, 0.2, 1.8)
        assert budget.unknown == 0

    def test_a_call_that_was_not_charged_gives_everything_back(self):
        budget = Budget(2.0)
        run(budget.reserve(0.5)).release()
        assert (budget.reserved_usd, budget.spent_usd, budget.unknown) == (0, 0, 0)

    def test_an_unknown_cost_is_the_whole_reservation(self):
        budget = Budget(2.0)
        run(budget.reserve(0.5)).settle(None)
        assert (budget.reserved_usd, budget.spent_usd, budget.unknown) == (0, 0.5, 1)

    def test_a_cost_above_the_reservation_is_counted_whole(self):
        budget = Budget(1.0)
        run(budget.reserve(0.5)).settle(1.2)
        assert (budget.spent_usd, budget.remaining_usd) == (1.2, 0)
        assert refusal_of(budget, 0.01).code == "P6503"

    def test_what_costs_nothing_is_always_covered(self):
        budget = Budget(0)
        run(budget.reserve(0)).settle(0)
        budget = Budget(1.0)
        run(budget.reserve(1.0)).settle(1.5)
        run(budget.reserve(0)).settle(0)
        assert budget.spent_usd == 1.5

    @pytest.mark.parametrize("end", ["settle", "release"])
    @pytest.mark.parametrize("again", ["settle", "release"])
    def test_a_reservation_ends_once(self, end, again):
        def call(method):
            getattr(reservation, method)(*([0.1] if method == "settle" else []))

        budget = Budget(2.0)
        reservation = run(budget.reserve(0.5))
        call(end)
        spent = budget.spent_usd
        with pytest.raises(RuntimeError):
            call(again)
        assert (budget.spent_usd, budget.reserved_usd) == (spent, 0)

    @pytest.mark.parametrize("usd", [-0.01, float("nan"), float("inf")])
    def test_only_amounts_of_money_are_taken(self, usd):
        with pytest.raises(ValueError, match="no amount of money"):
            Budget(usd)
        budget = Budget(2.0)
        with pytest.raises(ValueError, match="no amount of money"):
            run(budget.reserve(usd))
        reservation = run(budget.reserve(0.5))
        with pytest.raises(ValueError, match="no amount of money"):
            reservation.settle(usd)
        reservation.release()


class TestWhatIsNotCovered:
    def test_the_error_names_the_budget_the_call_and_what_was_spent(self):
        budget = Budget(2.0)
        run(budget.reserve(2.0)).settle(1.8)
        problem = refusal_of(budget, 0.31)
        assert problem.code == "P6503"
        assert problem.message == (
            "the budget of USD 2.00 does not cover this call of at most USD 0.31; spent USD 1.80"
        )
        assert problem.hint == "continue with a higher `--max-cost` and `--cache record`"
        assert problem.free

    @pytest.mark.parametrize(
        ("limit", "call", "shown"),
        [
            (0.001, 0.00123, "USD 0.001 does not cover this call of at most USD 0.00123; "),
            (0, 1e-9, "USD 0.00 does not cover this call of at most USD 1e-9; "),
            (1_000, 1_234.5, "USD 1000.00 does not cover this call of at most USD 1234.50; "),
        ],
    )
    def test_amounts_have_as_many_digits_as_they_need(self, limit, call, shown):
        message = refusal_of(Budget(limit), call).message
        assert message == f"the budget of {shown}spent USD 0.00"

    def test_a_call_that_calls_in_flight_cannot_make_room_for_does_not_wait(self):
        budget = Budget(1.0)
        run(budget.reserve(0.6)).settle(0.6)
        run(budget.reserve(0.4))
        assert refusal_of(budget, 0.5).code == "P6503"

    def test_the_limit_itself_is_covered_and_not_a_picodollar_more(self):
        run(Budget(0.3).reserve(0.3))
        assert refusal_of(Budget(0.3), 0.300000000001).code == "P6503"


class TestExactness:
    def test_three_tenths_fit_into_three_tenths(self):
        budget = Budget(0.3)
        for _ in range(3):
            run(budget.reserve(0.1)).settle(0.1)
        assert (budget.spent_usd, budget.remaining_usd) == (0.3, 0)

    def test_nothing_is_lost_beside_a_large_amount(self):
        budget = Budget(1e9)
        run(budget.reserve(9e8)).settle(9e8)
        for _ in range(1_000):
            run(budget.reserve(1e-9)).settle(1e-9)
        assert budget.spent_usd == 900_000_000.000001

    def test_less_than_a_picodollar_counts_as_one(self):
        budget = Budget(1.0)
        run(budget.reserve(1e-15)).settle(None)
        run(budget.reserve(1e-12)).settle(1e-15)
        assert budget.spent_usd == 2e-12

    def test_a_limit_is_not_rounded_up(self):
        assert refusal_of(Budget(1.9e-12), 2e-12).code == "P6503"
        run(Budget(2.1e-12).reserve(2e-12))


class TestWaiting:
    def test_a_call_waits_for_one_that_may_cost_less_than_it_reserved(self):
        async def scenario():
            budget = Budget(1.0)
            first = await budget.reserve(0.8)
            second = asyncio.ensure_future(budget.reserve(0.5))
            await settled()
            assert not second.done()
            first.settle(0.3)
            (await second).settle(0.5)
            assert budget.spent_usd == 0.8

        run(scenario())

    def test_a_call_that_waits_is_refused_as_soon_as_it_cannot_be_covered(self):
        async def scenario():
            budget = Budget(1.0)
            first = await budget.reserve(0.8)
            second = asyncio.ensure_future(budget.reserve(0.5))
            await settled()
            first.settle(0.8)
            with pytest.raises(ProviderError) as caught:
                await second
            assert "spent USD 0.80" in caught.value.message
            assert budget.reserved_usd == 0

        run(scenario())

    def test_calls_are_served_in_the_order_they_came(self):
        async def scenario():
            budget = Budget(1.0)
            served = []

            async def call(name, usd):
                reservation = await budget.reserve(usd)
                served.append(name)
                await settled()
                reservation.settle(usd / 10)

            first = await budget.reserve(0.9)
            calls = [asyncio.ensure_future(call("large", 0.8))]
            await settled()
            # There is room for it, but it came later.
            calls.append(asyncio.ensure_future(call("small", 0.05)))
            await settled()
            assert served == []
            first.settle(0.05)
            await asyncio.gather(*calls)
            assert served == ["large", "small"]

        run(scenario())

    def test_what_costs_nothing_does_not_stand_in_line(self):
        async def scenario():
            budget = Budget(1.0)
            first = await budget.reserve(0.9)
            waiting = asyncio.ensure_future(budget.reserve(0.8))
            await settled()
            (await budget.reserve(0)).settle(0)
            first.release()
            (await waiting).release()

        run(scenario())

    def test_everybody_there_is_room_for_is_served_at_once(self):
        async def scenario():
            budget = Budget(1.0)
            first = await budget.reserve(1.0)
            calls = [asyncio.ensure_future(budget.reserve(0.25)) for _ in range(5)]
            await settled()
            first.release()
            await settled()
            assert [call.done() for call in calls] == [True] * 4 + [False]
            for call in calls[:4]:
                call.result().release()
            (await calls[4]).release()

        run(scenario())

    def test_one_refusal_lets_the_next_in_line_have_its_turn(self):
        async def scenario():
            budget = Budget(1.0)
            first, second = await budget.reserve(0.5), await budget.reserve(0.5)
            large = asyncio.ensure_future(budget.reserve(0.6))
            small = asyncio.ensure_future(budget.reserve(0.1))
            await settled()
            first.settle(0.45)
            with pytest.raises(ProviderError):
                await large
            second.settle(0.45)
            (await small).settle(0.1)
            assert budget.spent_usd == 1.0

        run(scenario())


class TestCancelling:
    def test_a_call_that_is_cancelled_while_it_waits_leaves_the_line(self):
        async def scenario():
            budget = Budget(1.0)
            first = await budget.reserve(0.9)
            large = asyncio.ensure_future(budget.reserve(0.8))
            small = asyncio.ensure_future(budget.reserve(0.1))
            await settled()
            large.cancel()
            # Nobody settles: the small one gets its turn because the large one has gone.
            (await small).release()
            first.release()
            assert large.cancelled()
            assert budget.reserved_usd == 0

        run(scenario())

    @pytest.mark.parametrize("how", ["release", "settle"])
    def test_a_call_that_is_cancelled_in_the_moment_of_its_turn_gives_it_on(self, how):
        async def scenario():
            budget = Budget(1.0)
            first = await budget.reserve(0.9)
            second = asyncio.ensure_future(budget.reserve(0.8))
            third = asyncio.ensure_future(budget.reserve(0.7))
            await settled()
            first.release() if how == "release" else first.settle(0.1)
            second.cancel()
            (await third).release()
            with pytest.raises(asyncio.CancelledError):
                await second
            assert budget.reserved_usd == 0

        run(scenario())

    def test_a_call_that_is_cancelled_in_the_moment_of_its_refusal_changes_nothing(self):
        async def scenario():
            budget = Budget(1.0)
            first = await budget.reserve(0.9)
            second = asyncio.ensure_future(budget.reserve(0.8))
            await settled()
            first.settle(0.9)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            (await budget.reserve(0.1)).settle(0.1)
            assert (budget.reserved_usd, budget.spent_usd) == (0, 1.0)

        run(scenario())

    def test_it_goes_on_in_the_next_event_loop(self):
        budget = Budget(1.0)

        async def interrupted():
            reservation = await budget.reserve(0.9)
            calls = [asyncio.ensure_future(budget.reserve(0.8)) for _ in range(3)]
            await settled()
            return reservation, calls

        # The loop ends while calls wait, as it does after an error, and cancels them.
        reservation, calls = asyncio.run(interrupted())
        assert all(call.cancelled() for call in calls)
        reservation.settle(0.1)
        assert (budget.reserved_usd, budget.spent_usd) == (0, 0.1)

        async def after():
            first = await budget.reserve(0.9)
            second = asyncio.ensure_future(budget.reserve(0.9))
            await settled()
            first.release()
            (await second).settle(0.9)

        run(after())
        assert budget.spent_usd == 1.0


class Bill:
    """An asynchronous fake that takes calls and bills them, and adds up what it billed."""

    def __init__(self, seed, settle):
        self.random = random.Random(seed)  # noqa: S311 - the same trial every time
        self.limit = self.random.choice([0.0, 0.37, 1.0, 2.0, 25.0])
        self.budget = Budget(self.limit)
        self.exact_limit = exact(self.limit)
        self.sum = Fraction(0)
        self.done = self.in_flight = self.peak = self.unknown = 0
        self.refused = []
        self._settle = settle

    def amounts(self):
        return [
            self.random.choice([0, 1e-6, 0.1, 0.31, 2]) * self.random.random() for _ in "x" * 150
        ]

    async def call(self, usd):
        """One call: reserve, wait a little, settle. One that is stopped may have cost anything."""
        try:
            reservation = await self.budget.reserve(usd)
        except ProviderError:
            self.refused.append(usd)
            return
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        settle = says_nothing
        try:
            for _ in range(self.random.randrange(4)):
                await asyncio.sleep(0)
                self.check()
            settle = self._settle
        finally:
            self.in_flight -= 1
            self.done += 1
            self.sum += settle(self, reservation, usd)
            self.check()

    def check(self):
        assert self.budget.spent_usd + self.budget.reserved_usd <= self.limit * (1 + 1e-15)
        assert self.sum <= self.exact_limit

    async def run(self):
        queue = self.amounts()
        calls = len(queue)

        async def worker():
            while queue:
                await self.call(queue.pop())

        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
        assert self.done + len(self.refused) == calls
        assert self.budget.reserved_usd == 0
        assert self.budget.unknown == self.unknown
        # Each call is rounded up by less than a picodollar.
        rounded = exact(self.budget.spent_usd) - self.sum
        assert -1e-14 <= rounded <= calls * 1e-12
        # Nothing that could be paid for was refused.
        left = self.exact_limit - exact(self.budget.spent_usd)
        assert all(exact(usd) > left - Fraction(2, 10**12) for usd in self.refused)


def exact(usd):
    return Fraction(repr(float(usd)))


def bills_the_most(bill, reservation, usd):
    reservation.settle(usd)
    return exact(usd)


def bills_anything(bill, reservation, usd):
    cost = usd * bill.random.random()
    reservation.settle(cost)
    return exact(cost)


def says_nothing(bill, reservation, usd):
    bill.unknown += 1
    reservation.settle(None)
    return exact(usd)


def is_not_charged(bill, reservation, usd):
    reservation.release()
    return Fraction(0)


def fails_at_times(bill, reservation, usd):
    what = bill.random.choice([is_not_charged, says_nothing, bills_anything])
    return what(bill, reservation, usd)


@pytest.mark.parametrize("settle", [bills_the_most, bills_anything, fails_at_times])
def test_no_run_spends_more_than_its_limit_or_leaves_out_what_it_could_pay(settle):
    done = refused = peak = 0
    for seed in range(TRIALS):
        bill = Bill(seed, settle)
        run(bill.run())
        done, refused, peak = (
            done + bill.done,
            refused + len(bill.refused),
            max(peak, bill.peak),
        )
    # The trials are about something: calls were made and refused, and many at once.
    assert done > 1_000
    assert refused > 1_000
    assert peak == CONCURRENCY


def test_calls_that_are_cancelled_at_any_moment_take_nothing_with_them():
    cancelled = 0
    for seed in range(TRIALS):
        bill = Bill(seed, bills_anything)

        async def scenario(bill=bill):
            calls = [asyncio.ensure_future(bill.call(usd)) for usd in bill.amounts()]
            while open_calls := [call for call in calls if not call.done()]:
                if bill.random.random() < 0.5:
                    bill.random.choice(open_calls).cancel()
                await asyncio.sleep(0)
            return sum(call.cancelled() for call in calls)

        cancelled += run(scenario())
        assert bill.budget.reserved_usd == 0
        assert bill.budget.unknown == bill.unknown
    assert cancelled > 1_000
