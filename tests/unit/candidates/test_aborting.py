import threading

import pytest

from candidate_support import DOORS, Calls, compare, failing
from proctor import AbortController, AbortError, AbortSignal, CandidateRow, ScorerResult

every_door = pytest.mark.parametrize("door", DOORS)
concurrencies = pytest.mark.parametrize("concurrency", [1, 8])
both_policies = pytest.mark.parametrize("on_error", ["raise", "record"])


class Odd(Exception):
    """A reason, or raised by callbacks."""


def test_a_signal_says_whether_and_why():
    controller = AbortController()
    signal = controller.signal
    assert signal is controller.signal
    assert (signal.aborted, signal.reason) == (False, None)
    signal.raise_if_aborted()
    controller.abort(reason := Odd())
    assert (signal.aborted, signal.reason) == (True, reason)
    with pytest.raises(Odd) as caught:
        signal.raise_if_aborted()
    assert caught.value is reason


@pytest.mark.parametrize(
    ("given", "message"), [([], "the evaluation was aborted"), (["enough"], "enough"), ([""], "")]
)
def test_without_an_exception_the_reason_is_an_abort_error(given, message):
    controller = AbortController()
    controller.abort(*given)
    reason = controller.signal.reason
    assert type(reason) is AbortError
    assert (str(reason), reason.code) == (message, "P6007")


def test_only_the_first_abort_counts():
    controller = AbortController()
    controller.abort("first")
    controller.abort(Odd("second"))
    assert str(controller.signal.reason) == "first"


@pytest.mark.parametrize("reason", [7, Odd, ["enough"]])
def test_a_reason_of_another_type_is_a_type_error(reason):
    controller = AbortController()
    with pytest.raises(TypeError, match="an exception or a string"):
        controller.abort(reason)
    assert not controller.signal.aborted


@every_door
@concurrencies
@both_policies
def test_aborted_before_the_start_nothing_is_called(door, concurrency, on_error):
    controller = AbortController()
    controller.abort(reason := Odd())
    calls = Calls()
    with pytest.raises(Odd) as caught:
        compare(
            door,
            **calls.callbacks,
            signal=controller.signal,
            concurrency=concurrency,
            on_error=on_error,
        )
    assert caught.value is reason
    assert calls.made == []


ALL = ["b:1", "score b:1", "b:2", "score b:2", "a:1", "score a:1", "a:2", "score a:2"]


@pytest.mark.parametrize("at", range(len(ALL) - 1))
@every_door
@both_policies
def test_aborted_in_a_callback_nothing_after_it_is_called(door, on_error, at):
    controller = AbortController()
    calls = Calls(hooks={ALL[at]: controller.abort})
    with pytest.raises(AbortError) as caught:
        compare(door, **calls.callbacks, signal=controller.signal, on_error=on_error)
    assert caught.value is controller.signal.reason
    assert not hasattr(caught.value, "__notes__")
    assert calls.made == ALL[: at + 1]


@every_door
def test_aborted_in_the_last_callback_the_results_are_complete(door):
    controller = AbortController()
    calls = Calls(hooks={ALL[-1]: controller.abort})
    assert len(compare(door, **calls.callbacks, signal=controller.signal)) == 2
    assert calls.made == ALL


@every_door
@concurrencies
@both_policies
@pytest.mark.parametrize("at", ALL)
def test_a_callback_that_raises_the_reason_is_no_errored_row(door, concurrency, on_error, at):
    controller = AbortController()

    def stop():
        controller.abort("enough")
        controller.signal.raise_if_aborted()

    calls = Calls(hooks={at: stop})
    with pytest.raises(AbortError, match="enough") as caught:
        compare(
            door,
            **calls.callbacks,
            signal=controller.signal,
            concurrency=concurrency,
            on_error=on_error,
        )
    assert not hasattr(caught.value, "__notes__")


@every_door
def test_what_fails_after_an_abort_is_not_recorded_and_is_raised_when_errors_are(door):
    for on_error, expected in (("record", AbortError), ("raise", Odd)):
        controller = AbortController()

        def stop(controller=controller):
            controller.abort()
            raise Odd

        calls = Calls(hooks={"a:2": stop})
        with pytest.raises(expected):
            compare(door, **calls.callbacks, signal=controller.signal, on_error=on_error)


@every_door
def test_both_callbacks_are_handed_the_signal_itself(door):
    seen = []
    signal = AbortSignal()

    def run(candidate, item, signal):
        seen.append(signal)

    def scorer(target, signal):
        seen.append(signal)
        return ScorerResult(1, True)

    compare(door, run_candidate=run, scorer=scorer, signal=signal)
    assert len(seen) == 8
    assert all(one is signal for one in seen)


def test_an_abort_from_another_thread_ends_a_callback_that_looks_at_its_signal():
    controller = AbortController()
    aborter = threading.Thread(target=controller.abort, args=["from outside"])

    def run(candidate, item, signal):
        aborter.start()
        aborter.join()
        signal.raise_if_aborted()

    with pytest.raises(AbortError, match="from outside"):
        compare(run_candidate=run, signal=controller.signal, on_error="record")


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, SystemExit])
@every_door
@concurrencies
@both_policies
def test_what_ends_the_program_is_never_recorded(door, concurrency, on_error, stopped):
    calls = Calls(hooks={"score b:2": failing(stopped())})
    with pytest.raises(stopped) as caught:
        compare(door, **calls.callbacks, concurrency=concurrency, on_error=on_error)
    assert not hasattr(caught.value, "__notes__")
    if concurrency == 1:
        assert calls.made == ALL[:4]


def test_an_abort_error_of_a_callback_that_is_not_the_reason_is_its_own_failure():
    calls = Calls(hooks={"b:1": failing(AbortError("mine"))})
    scores = compare(**calls.callbacks, on_error="record")
    assert scores[1].rows[0] == CandidateRow("1", 0.0, False, "AbortError")
