"""How a live run goes, on stderr while it goes: a bar on a terminal, a line now and then elsewhere.

The bar is drawn by `rich`, which is optional and imported only to draw; without it there are lines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO, cast

from msgspec import Struct

from proctor.cli.output import Output
from proctor.clock import Clock
from proctor.protocols import Progress
from proctor.records import Outcome
from proctor.rendering.escaping import terminal_text

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

LINE_EVERY_S = 10.0
"""How often there is a line where nothing is drawn, at most."""
VISIBLE_WAIT_S = 5.0
"""Waits that are longer are shown."""

_BAR_WIDTH = 60
_REFRESHES_PER_S = 4


@contextmanager
def open_progress(output: Output, *, quiet: bool, total: int, clock: Clock) -> Iterator[Progress]:
    """Show how a run goes; at the end a bar is removed, and stderr is as it was before.

    Args:
        output: Writes the lines, and is kept from writing across a bar.
        quiet: Show nothing but notes.
        total: How many rows there are.
        clock: Where time comes from.
    """
    if quiet:
        yield _Tally(output, total, clock)
        return
    tally = _Tally(output, total, clock)
    live = _bar(tally) if _on_a_terminal() else None
    if live is None:
        yield _Lines(output, total, clock)
        return
    from rich.text import Text

    def above_the_bar(line: str) -> None:
        live.console.print(Text(line), soft_wrap=True)

    # Started inside, so that the cursor comes back even when Ctrl-C is pressed at that moment.
    with output.notes_through(above_the_bar):
        try:
            live.start(refresh=True)
            yield tally
        finally:
            live.stop()


class _Awaited(Struct, frozen=True):
    """A wait that can be seen: when it ends by the clock, and what it is about."""

    until: float
    about: str


class _Tally:
    """Counts what it is told, and puts it into words; another thread may read it meanwhile."""

    def __init__(self, output: Output, total: int, clock: Clock) -> None:
        self.total = total
        self.awaited: _Awaited | None = None
        # Every key is there from the start, so that it can be read while it is written.
        self._rows = dict.fromkeys(Outcome, 0)
        self._money: list[str] = []
        self._output = output
        self._clock = clock

    @property
    def done(self) -> int:
        """How many rows have finished."""
        return sum(self._rows.values())

    def row_done(self, outcome: Outcome) -> None:
        """Count a row."""
        self._rows[outcome] += 1
        self.changed()

    def money(self, spent_usd: float, remaining_usd: float | None) -> None:
        """Replace what is known of the money."""
        left = [] if remaining_usd is None else [f"{_usd(remaining_usd)} left"]
        self._money = [f"{_usd(spent_usd)} spent", *left]
        self.changed()

    def waiting(self, provider: str, wait_s: float, attempt: int, reason: str) -> None:
        """Keep a wait that is long enough to be seen, unless another one ends later."""
        until = self._clock.monotonic() + wait_s
        if wait_s > VISIBLE_WAIT_S and (self.awaited is None or until >= self.awaited.until):
            self.awaited = _Awaited(until, f"attempt {attempt}, {reason} ({provider})")
        self.changed()

    def note(self, text: str) -> None:
        """Write a line, even when the rest is to be quiet."""
        self._output.note(text)

    def changed(self) -> None:
        """There is news. A bar looks for it by itself."""

    def counts(self) -> str:
        """What is done and spent."""
        rows = self._rows
        said = [f"{self.done} of {self.total} rows done", f"{rows[Outcome.FAILED]} failed"]
        said += [
            f"{rows[outcome]} {outcome.value}"
            for outcome in (Outcome.ERRORED, Outcome.UNMEASURED)
            if rows[outcome]
        ]
        return ", ".join(said + self._money)

    def wait(self) -> str | None:
        """What is waited for longest from now, None when nothing is."""
        awaited = self.awaited
        left_s = 0.0 if awaited is None else awaited.until - self._clock.monotonic()
        if awaited is None or left_s <= 0:
            return None
        return f"waiting {max(1, round(left_s))} s, {awaited.about}"


class _Lines(_Tally):
    """Says it in plain lines: now and then, and at once when a long wait begins."""

    def __init__(self, output: Output, total: int, clock: Clock) -> None:
        super().__init__(output, total, clock)
        self._said_at = clock.monotonic()
        self._said_until = self._said_at

    def changed(self) -> None:
        """Say it when it is time, or when there is a wait longer than what was said before."""
        now = self._clock.monotonic()
        until = now if self.awaited is None else self.awaited.until
        is_news = until > max(self._said_until, now) + VISIBLE_WAIT_S
        if is_news or now - self._said_at >= LINE_EVERY_S:
            self._said_at, self._said_until = now, until
            wait = self.wait()
            self._output.note(self.counts() if wait is None else f"{self.counts()}, {wait}")


def _on_a_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in {"dumb", "unknown"}


def _bar(tally: _Tally) -> Live | None:
    """What draws the tally until it is stopped, None when there is nothing to draw with."""
    try:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.text import Text
    except ImportError:
        return None

    def picture() -> Group:
        bar = ProgressBar(total=max(tally.total, 1), completed=tally.done, width=_BAR_WIDTH)
        # As `Text`, data is no markup. The first one ends the line of the bar, and the others stay
        # on a line each: what is drawn is as high as `rich` believes.
        lines = ["", tally.counts(), tally.wait()]
        return Group(
            bar,
            *(
                Text(terminal_text(line), no_wrap=True, overflow="ellipsis")
                for line in lines
                if line is not None
            ),
        )

    # It is known to be a terminal, whatever variables for other programs say.
    console = Console(
        file=cast("TextIO", _Forgiving(sys.stderr)),
        force_terminal=True,
        force_interactive=True,
        force_jupyter=False,
        highlight=False,
    )
    return Live(
        console=console,
        get_renderable=picture,
        refresh_per_second=_REFRESHES_PER_S,
        transient=True,
        redirect_stdout=False,
    )


class _Forgiving:
    """A stream that may be closed or full without anybody noticing."""

    def __init__(self, stream: TextIO) -> None:
        self.encoding = stream.encoding
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or do not."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or do not."""
        with suppress(OSError):
            self._stream.flush()


def _usd(amount: float) -> str:
    """An amount with cents, or with two digits when it is smaller; 0 only when it is 0."""
    return f"USD {amount:.2f}" if amount == 0 or amount >= 0.01 else f"USD {amount:.2g}"
