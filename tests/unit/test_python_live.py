"""Live runs from Python, and the async twin: threads, loops, being stopped, what is kept."""

from __future__ import annotations

import asyncio
import threading

import pytest

import proctor
from live_support import LiveProject
from proctor.errors import UsageError
from proctor.python_api import running, threads
from support import Project


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    project.exam({"one": "yes", "two": "no", "three": "yes"})
    return project


@pytest.fixture
def live(tmp_path):
    project = LiveProject(tmp_path)
    project.named_cases("one", "two")
    project.script(project.says_yes())
    return project


class TestLive:
    def test_answers_are_recorded_and_what_was_said_is_kept(self, live, capfd):
        report = proctor.run(root=live.root, cache="record")
        assert report.passed
        assert live.stored_cases == ["one", "two"]
        assert report.suites[0].cache.recorded == 2
        assert capfd.readouterr() == ("", "")

    def test_it_works_where_an_event_loop_is_running(self, live):
        async def main():
            return proctor.run(root=live.root, cache="off")

        assert asyncio.run(main()).passed

    def test_it_takes_no_signal_and_no_loop_of_the_caller(self, live):
        import signal

        before = signal.getsignal(signal.SIGINT)
        seen = []
        watched = running.QuietWatch.asking

        def asking(self, stop, rows, clock):
            seen.append((signal.getsignal(signal.SIGINT), threading.current_thread().name))
            return watched(self, stop, rows, clock)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running.QuietWatch, "asking", asking)
            proctor.run(root=live.root, cache="off")
        assert seen == [(before, "proctor")]

    def test_ctrl_c_stops_it_in_good_order_and_is_raised_then(self):
        told, ended = threading.Event(), threading.Event()

        def work(stop):
            stop.on_request(told.set)
            if not stop.requested:
                assert told.wait(60)
            ended.set()

        real, calls = threads.wait, []

        def interrupted(futures):
            calls.append(futures)
            if len(calls) == 1:
                raise KeyboardInterrupt
            return real(futures)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threads, "wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                threads.wait_for(work)
        assert ended.is_set()


class TestRunAsync:
    def test_it_returns_the_same_report(self, project):
        report = asyncio.run(proctor.run_async(root=project.root))
        assert report.to_json() == proctor.run(root=project.root).to_json()

    def test_the_loop_goes_on_meanwhile(self, project, monkeypatch):
        may_go_on = threading.Event()
        real = running.load_exam

        def waiting(*arguments, **options):
            assert may_go_on.wait(60)
            return real(*arguments, **options)

        monkeypatch.setattr(running, "load_exam", waiting)

        async def main():
            task = asyncio.ensure_future(proctor.run_async(root=project.root))
            await asyncio.sleep(0)
            # Only the loop can do this, so the run is over only if the loop was not held up.
            may_go_on.set()
            return await task

        assert asyncio.run(main()).verdict == "failed"

    def test_a_problem_is_raised_with_its_code(self, project):
        with pytest.raises(UsageError) as raised:
            asyncio.run(proctor.run_async("nonsense", root=project.root))
        assert raised.value.__notes__[0].startswith("P6001: ")

    def test_being_cancelled_stops_a_live_run_and_keeps_what_came(self, live):
        live.named_cases("one", "two", "three")
        asked, released = threading.Event(), threading.Event()
        stops = []
        real = running.run_selected

        def noting(rules, selected, **rest):
            stops.append(rest["watch"].stop)
            return real(rules, selected, **rest)

        from proctor.providers.scripted import ScriptedProvider

        complete = ScriptedProvider.complete

        async def one_then_wait(self, request, call):
            reply = await complete(self, request, call)
            if call.case == "two":
                asked.set()
                await asyncio.get_running_loop().run_in_executor(None, released.wait, 60)
            return reply

        async def main():
            task = asyncio.ensure_future(
                proctor.run_async(root=live.root, cache="record", concurrency=1)
            )
            await asyncio.get_running_loop().run_in_executor(None, asked.wait, 60)
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            released.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running, "run_selected", noting)
            patch.setattr(ScriptedProvider, "complete", one_then_wait)
            asyncio.run(main())
        assert [stop.requested for stop in stops] == [True]
        assert live.stored_cases == ["one", "two"]

    def test_being_cancelled_stops_a_replay(self, project):
        project.exam({f"case-{number}": "yes" for number in range(300)})
        reports = []
        real = running.run_selected

        def stopped(rules, selected, **rest):
            rest["watch"].stop.request()
            reports.append(real(rules, selected, **rest))
            return reports[0]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running, "run_selected", stopped)
            asyncio.run(proctor.run_async(root=project.root))
        assert reports[0].head.verdict == "interrupted"

    def test_cancelled_twice_it_waits_no_longer(self):
        released, ended = threading.Event(), threading.Event()

        def work(stop):
            released.wait(60)
            ended.set()

        async def main():
            task = asyncio.ensure_future(threads.wait_without_blocking(work))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not ended.is_set()
            released.set()

        asyncio.run(main())
        assert ended.wait(60)
