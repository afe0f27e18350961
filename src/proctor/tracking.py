"""Who else is told of a run: opening the trackers that were asked for, and telling them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from proctor.asking_rules import AskingRules, TrackingRules
from proctor.baselines import Baselines
from proctor.canonical import sha256_hex
from proctor.clock import Clock
from proctor.config import Config
from proctor.errors import FileError, ReportError
from proctor.protocols import RanRow
from proctor.providers.hosts import open_tracker
from proctor.providers.keys import read_key, tracker_key
from proctor.records import AnySubject
from proctor.report_comparing import digest_of
from proctor.report_protocols import Report
from proctor.run_folders import FOLDER, private_folder
from proctor.safe_io import open_regular
from proctor.tracker_protocols import Span, Tracker

if TYPE_CHECKING:
    from proctor.drivers.langsmith import LangSmith

T = TypeVar("T")

_TIMEOUT_S = 30.0
"""How long one reply of a tracker may take when nothing waits for it."""
MAX_WAITS_S = {True: 2.0, False: 60.0}
"""How long a request may wait to be made again, for a run and for itself."""


class Trackers:
    """Several trackers as one.

    Args:
        trackers: They, the outermost first.
        langsmith: The one among them that baselines can be asked of, None without it.
    """

    def __init__(self, trackers: Sequence[Tracker], langsmith: LangSmith | None) -> None:
        self.langsmith = langsmith
        self._trackers = trackers

    async def wrap(self, span: Span, lane: str | None, fn: Callable[[], Awaitable[T]]) -> T:
        """What `fn` comes to, wrapped by each of them."""
        for tracker in reversed(self._trackers):
            fn = partial(tracker.wrap, span, lane, fn)
        return await fn()

    def finished(self, suite: str, subject: AnySubject, ran: RanRow) -> None:
        """Tell each of them of a row."""
        for tracker in self._trackers:
            tracker.finished(suite, subject, ran)

    def reported(self, report: Report, sha256: str) -> None:
        """Tell each of them of the report."""
        for tracker in self._trackers:
            tracker.reported(report, sha256)

    def end(self, report: Report) -> None:
        """Tell each of them of the report, and wait until all has been sent, or not much longer.

        Nobody may write or read the report meanwhile: they read it in threads of their own.
        """
        self.reported(report, digest_of(report))
        self.close()

    def close(self) -> None:
        """Let each of them send what it has not sent."""
        for tracker in self._trackers:
            tracker.close()


@contextmanager
def tracked(
    tracking: TrackingRules, rules: AskingRules, *, config: Config, note: Callable[[str], None]
) -> Iterator[Trackers]:
    """The trackers that were asked for, until nobody has to be told any more.

    Raises:
        ProviderError: P6301 when what one needs is not installed, P6306 or P6307 for a key or a
            host that is not there or not allowed.
    """
    trackers: list[Tracker] = []
    langsmith = None
    if tracking.otel:
        from proctor.drivers.otel import OpenTelemetry

        trackers.append(OpenTelemetry(content=tracking.otel_content, note=note))
    if tracking.langsmith:
        clock = Clock()
        run = f"{clock.now():%Y%m%dt%H%M%Sz}-{clock.token()}"
        langsmith = open_langsmith(tracking, rules, run=run, config=config, note=note)
        trackers.append(langsmith)
    found = Trackers(trackers, langsmith)
    try:
        yield found
    except KeyboardInterrupt:
        # Who stops now waits for nobody.
        raise
    except BaseException:
        found.close()
        raise
    found.close()


def open_langsmith(
    tracking: TrackingRules,
    rules: AskingRules,
    *,
    run: str,
    config: Config,
    note: Callable[[str], None],
    is_run: bool = True,
) -> LangSmith:
    """LangSmith, ready to be told of a run; close it in the end.

    Args:
        tracking: What it is told.
        rules: Which hosts and keys are open.
        run: What tells the run from others.
        config: The project.
        note: Takes one line for the reader.
        is_run: Whether a run waits for it, and so not for long; otherwise it takes what it takes.

    Raises:
        ProviderError: As for `tracked`.
    """
    access = rules.access()
    endpoint = open_tracker(config.values.langsmith_url, access.hosts, where="langsmith_url")
    key = tracker_key(endpoint, access.keys)
    if key is not None:
        read_key(key, os.environ)
    from proctor.drivers.langsmith import PATIENCE_S, LangSmith, Sending
    from proctor.drivers.langsmith_api import LangSmithApi

    clock = Clock()
    patience_s = PATIENCE_S if is_run else None
    api = LangSmithApi(
        endpoint,
        key,
        clock=clock,
        timeout_s=patience_s or _TIMEOUT_S,
        max_wait_s=MAX_WAITS_S[is_run],
    )
    sending = Sending(
        project=config.values.project,
        run=run,
        prefix=tracking.prefix,
        content=tracking.content,
        patience_s=patience_s,
    )
    with_key = "no key" if key is None else key
    what = "inputs, expected values, answers and reasons" if tracking.content else "no content"
    note(f"sending results, {what} and {with_key} to {endpoint.label}")
    return LangSmith(api, sending, clock=clock, note=note)


def baseline_there(langsmith: LangSmith, prefix: str, config: Config) -> Path | None:
    """The report of the newest whole experiment whose name begins so, among those of the project.

    LangSmith only says which report that is, by its digest: a baseline or the report of a run.

    Args:
        langsmith: Who is asked.
        prefix: What the name of the experiment begins with.
        config: The project.

    Returns:
        The file; None when LangSmith could not be asked, which it says itself.

    Raises:
        ReportError: P6906 when there is no such experiment, or its report is not here.
    """
    digest = langsmith.newest(prefix)
    if langsmith.fault is not None:
        return None
    if digest is None:
        raise ReportError(
            f"LangSmith has no whole experiment whose name begins with `{prefix[:80]}`",
            code="P6906",
            hint="`proctor publish REPORT --driver langsmith --baseline-prefix` makes one",
        )
    for path in _reports(config):
        if _sha256(path) == digest:
            return path
    raise ReportError(
        "the report of the newest experiment is not here",
        code="P6906",
        hint=f"get the report with the SHA-256 {digest}, and name it with `--baseline`",
    )


def _reports(config: Config) -> Iterator[Path]:
    """The reports that a project has: its baselines, then those of its runs, newest first."""
    baselines = Baselines(config)
    yield from (config.root / baselines.path(name) for name in baselines.names())
    if (config.root / FOLDER).is_dir():
        runs = private_folder(config.root) / "runs"
        yield from sorted(runs.glob("*/report.json"), reverse=True)


def _sha256(path: Path) -> str | None:
    try:
        with open_regular(path) as file:
            return sha256_hex(file.read())
    except (OSError, FileError):
        return None
