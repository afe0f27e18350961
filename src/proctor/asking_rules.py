"""Where the answers of a run come from, what asking for them may do, and who follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from proctor.cassettes import CacheMode
from proctor.clock import Clock
from proctor.protocols import Progress

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from proctor.providers.access import Access
    from proctor.running.engine import Stop


class WorkerRules(Struct, frozen=True, kw_only=True):
    """Workers that make the calls of a run.

    Args:
        address: The cluster they are on; None to start one on this machine.
        count: How many there are; None for one for each processor of the cluster.
        label: The environment whose prompts are under test.
    """

    address: str | None = None
    count: int | None = None
    label: str | None = None


class AskingRules(Struct, frozen=True, kw_only=True):
    """Where answers come from and what asking for them may do, whoever says so.

    Args:
        cache: Where answers come from.
        max_cost_usd: What asking may cost at most; None when nothing was said.
        allow_hosts: Other hosts that requests may go to, `HOST` or `HOST:PORT`.
        allow_local: Whether requests may go to providers on this machine.
        allow_local_ports: Ports of this machine that targets may be asked at.
        allow_keys: Which key may go to which other host, `NAME=HOST` or `NAME=HOST:PORT`.
        allow_code: Whether code of the project may run.
        timeout_s: How long one reply may take in all.
        max_wait_s: How long one call may wait, in all, to be asked again.
        lanes: The backends of targets, instead of those that suites name.
        keeps_builds: Whether what targets build is left as it is.
        workers: Who makes the calls; None for this process.
    """

    cache: CacheMode = CacheMode.REPLAY
    max_cost_usd: float | None = None
    allow_hosts: tuple[str, ...] = ()
    allow_local: bool = False
    allow_local_ports: tuple[int, ...] = ()
    allow_keys: tuple[str, ...] = ()
    allow_code: bool = False
    timeout_s: float = 120.0
    max_wait_s: float = 60.0
    lanes: tuple[str, ...] = ()
    keeps_builds: bool = False
    workers: WorkerRules | None = None

    def access(self) -> Access:
        """To whom requests may go, and which keys with them.

        Raises:
            UsageError: P6002 for a host or key that is not spelled right.
        """
        from proctor.providers.access import Access
        from proctor.providers.hosts import HostRules
        from proctor.providers.keys import KeyRules

        hosts = HostRules.of(
            self.allow_hosts, allow_local=self.allow_local, ports=self.allow_local_ports
        )
        return Access(hosts, KeyRules.of(self.allow_keys))

    @property
    def is_live(self) -> bool:
        """Whether anybody may be asked."""
        return self.cache is not CacheMode.REPLAY


class TrackingRules(Struct, frozen=True, kw_only=True):
    """Who is told of a run besides the person who started it.

    Args:
        langsmith: Whether LangSmith is.
        content: Whether it is told inputs, expected values, answers and reasons.
        prefix: What the names of its experiments begin with.
        otel: Whether spans are made.
        otel_content: Whether content is in them.
    """

    langsmith: bool = False
    content: bool = False
    prefix: str = ""
    otel: bool = False
    otel_content: bool = False

    @property
    def is_any(self) -> bool:
        """Whether anybody is."""
        return self.langsmith or self.otel


class Watch(Protocol):
    """Who follows a run: is told how it goes, and may end it early."""

    @property
    def stop(self) -> Stop | None:
        """What ends the run early; None leaves that to `asking`."""
        ...

    def note(self, text: str) -> None:
        """One line for the reader."""
        ...

    def asking(self, stop: Stop, rows: int, clock: Clock) -> AbstractContextManager[Progress]:
        """Follow a live run while it asks.

        Args:
            stop: What ends it early.
            rows: How many rows there are.
            clock: Where time comes from.
        """
        ...
