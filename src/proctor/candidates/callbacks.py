"""What can be told about the caller's functions before one of them is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from proctor.records import Json

Callback = Callable[..., Json]

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def is_awaitable(value: object) -> bool:
    """Whether a callback has returned something to wait for."""
    return hasattr(value.__class__, "__await__")


def accepted_arguments(callback: Callback, name: str, most: int) -> int:
    """How many positional arguments a callback is called with.

    One that does not say what it accepts, as some written in C do not, gets all of them.

    Args:
        callback: The callback.
        name: Under which name it was given.
        most: How many there are for it.

    Raises:
        TypeError: When it cannot be called, or not with that many.
    """
    if not callable(callback):
        raise TypeError(f"`{name}` must be a function, not a `{type(callback).__name__}`")
    try:
        parameters = inspect.signature(callback).parameters.values()
    except ValueError:
        return most
    accepted = required = 0
    for parameter in parameters:
        by_place = parameter.kind in _BY_PLACE
        needed = parameter.default is parameter.empty
        if parameter.kind is parameter.VAR_POSITIONAL:
            accepted = most
        elif by_place:
            accepted += 1
            required += needed
        elif parameter.kind is parameter.KEYWORD_ONLY and needed:
            raise TypeError(f"`{name}` needs `{parameter.name}`, which nobody gives it")
    if required > most:
        raise TypeError(f"`{name}` needs {required} arguments; it is given {most}")
    return min(accepted, most)


def refuse_coroutine_function(callback: Callback, name: str) -> None:
    """Refuse what only an event loop could run.

    Raises:
        TypeError: When the callback, or what it does when called, is an `async def`.
    """
    if inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(
        type(callback).__call__
    ):
        raise TypeError(must_be_awaited(f"`{name}` is a coroutine function"))


def must_be_awaited(what: str) -> str:
    """That something is for the async twin, as a message."""
    return f"{what}: use `await evaluate_prompt_candidates_async(...)`"
