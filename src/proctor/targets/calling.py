"""Calling code of the project from an event loop: coroutines as they are, the rest in threads.

A plain function could block, so each call of one gets a thread of its own. It is a daemon: a
function that never comes back holds nothing up, at the end of the program neither.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

from proctor.errors import TargetError
from proctor.project_code import printing_to_stderr

Result = TypeVar("Result")

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ProjectCall:
    """A function of the project that is given some of what there is.

    It is given what its parameters name, so `answer(case)` will do where there is more. When one
    without a default is named otherwise, everything is given in order, as far as there are
    parameters.

    Args:
        function: The function, plain or a coroutine.
        offered: The names of what there is, in order.
    """

    def __init__(self, function: Callable[..., object], offered: Sequence[str]) -> None:
        self._function = function
        self._offered = tuple(offered)
        self._named, self._count = _taken(function, self._offered)
        self._is_coroutine = inspect.iscoroutinefunction(function) or (
            not inspect.isroutine(function)
            and inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
        )

    async def __call__(self, *values: object) -> object:
        """What it returns. What it prints goes to stderr.

        Args:
            values: One per offered name.

        Raises:
            TargetError: When it leaves in another way than by returning or with an `Exception`.
        """
        if self._named is None:
            positional, named = values[: self._count], {}
        else:
            given = dict(zip(self._offered, values, strict=True))
            positional, named = (), {name: given[name] for name in self._named}
        with printing_to_stderr():
            if self._is_coroutine:
                made = self._function(*positional, **named)
            else:
                made = await in_thread(lambda: self._function(*positional, **named))
            return await _awaited(made) if inspect.isawaitable(made) else made


def _taken(
    function: Callable[..., object], offered: tuple[str, ...]
) -> tuple[tuple[str, ...] | None, int]:
    """The names it is given by, or None and how many values it is given in order."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # Some that are not written in Python do not say.
        return None, len(offered)
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return offered, 0
    named = tuple(one.name for one in parameters if one.name in offered)
    others = [one for one in parameters if one.name not in offered and one.default is one.empty]
    if not others and all(one.kind in _BY_NAME for one in parameters):
        return named, 0
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return None, len(offered)
    positional = [one for one in parameters if one.kind is not one.KEYWORD_ONLY]
    return None, min(len(positional), len(offered))


async def in_thread(call: Callable[[], Result]) -> Result:
    """What `call` returns, from a thread of its own; who is cancelled does not wait for it.

    Raises:
        Exception: What it raises.
        TargetError: When that is no `Exception`.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Result | None, BaseException | None]] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((result, error))

    def run() -> None:
        result, raised = None, None
        try:
            result = call()
        except BaseException as error:
            raised = error
        # Nobody waits any more once the loop is closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, raised)

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    result, raised = await done
    if raised is not None:
        raise raised if isinstance(raised, Exception) else _left(raised) from raised
    return result  # type: ignore[return-value]


async def _awaited(made: Awaitable[object]) -> object:
    try:
        return await made
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _left(error) from error
    except (SystemExit, GeneratorExit) as error:
        # In a task, the first would end the event loop, and all other rows with it.
        raise _left(error) from error


def _left(error: BaseException) -> TargetError:
    return TargetError(
        f"the target left with {type(error).__name__}", hint="raise an `Exception` instead"
    )
