"""Stopping an evaluation from outside: the one who may stop it, and the signal that all see."""

from __future__ import annotations

from threading import Lock

from proctor.errors import AbortError


class AbortSignal:
    """Says whether an evaluation is to stop. It is handed to every callback.

    Example:
        >>> controller = AbortController()
        >>> controller.signal.aborted
        False
        >>> controller.abort("enough")
        >>> controller.signal.reason
        AbortError('enough')
    """

    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: BaseException | None = None

    @property
    def aborted(self) -> bool:
        """Whether somebody has aborted."""
        return self._reason is not None

    @property
    def reason(self) -> BaseException | None:
        """What `raise_if_aborted` raises, None as long as nobody has aborted."""
        return self._reason

    def raise_if_aborted(self) -> None:
        """Raise the reason when somebody has aborted.

        A callback that takes long calls it now and then, or looks at `aborted`.
        """
        if self._reason is not None:
            raise self._reason


class AbortController:
    """Stops the evaluation that was given its signal. Any thread may use it."""

    __slots__ = ("_lock", "_signal")

    def __init__(self) -> None:
        self._signal = AbortSignal()
        self._lock = Lock()

    @property
    def signal(self) -> AbortSignal:
        """The signal to hand out."""
        return self._signal

    def abort(self, reason: BaseException | str | None = None) -> None:
        """Stop before the next callback. Only the first call counts.

        Args:
            reason: An exception, which is raised itself; a text, which an `AbortError` says; or
                nothing, for an `AbortError` that says only that.

        Raises:
            TypeError: When it is anything else.
        """
        if reason is None:
            reason = AbortError()
        elif isinstance(reason, str):
            reason = AbortError(reason)
        elif not isinstance(reason, BaseException):
            raise TypeError(
                f"a reason is an exception or a string, not a `{type(reason).__name__}`"
            )
        with self._lock:
            if self._signal._reason is None:
                self._signal._reason = reason
