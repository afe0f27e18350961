"""A live run from the command line: providers, the run's folder, Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.cli.output import Output
from proctor.cli.run_options import RunOptions
from proctor.clock import Clock
from proctor.config import Config
from proctor.errors import ProctorError, raise_all
from proctor.evaluation import SelectedSuite, evaluate
from proctor.providers.access import open_providers
from proctor.recording import LiveOptions, LiveSession
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.replaying import subjects_to_ask
from proctor.reporting import RunReport
from proctor.running.engine import GRACE_S, Stop
from proctor.safe_io import write_whole
from proctor.targets.prompt import PromptTarget

_CONTINUES = {
    CacheMode.RECORD: "what was received is stored; `--cache record` continues",
    CacheMode.REFRESH: "what was received is stored; `--cache refresh` asks for everything again",
    CacheMode.OFF: "what was received is not stored",
}


def run_live(
    options: RunOptions,
    selected: Sequence[SelectedSuite],
    *,
    folder: CassetteFolder,
    config: Config,
    output: Output,
) -> RunReport:
    """Ask for answers, record them, and make the report.

    Ctrl-C once lets calls in flight finish for 10 seconds and keeps what came; twice stops now. The
    report is also written into the run's folder.
    """
    clock = Clock()
    mode = CacheMode(options.cache)
    targets = _targets_to_ask(folder, selected, mode)
    providers = open_providers(
        {target.subject.model.ref.partition("/")[0] for target in targets},
        config.values.providers,
        root=config.root,
        clock=clock,
    )
    for target in targets:
        target.prepare(config.root, allow_code=options.allow_code)
    stop = Stop()
    with _stopping_at_ctrl_c(stop, output, _CONTINUES[mode]):
        session = LiveSession(
            folder,
            [(one.suite, one.plan) for one in selected],
            providers=providers,
            options=LiveOptions(
                mode=mode,
                concurrency=config.values.concurrency,
                timeout_s=options.timeout,
            ),
            stop=stop,
            clock=clock,
        )
        with closing(session):
            report = evaluate(config, selected, session, answers=not options.no_answers)
            write_whole(session.run.folder / "report.json", render_json(report, RenderOptions()))
    return report


def _targets_to_ask(
    folder: CassetteFolder, selected: Sequence[SelectedSuite], mode: CacheMode
) -> list[PromptTarget]:
    targets: list[PromptTarget] = []
    problems: list[ProctorError] = []
    for suite in selected:
        try:
            targets += [subject.target for subject in subjects_to_ask(folder, suite, mode)]
        except ProctorError as problem:
            problems.append(problem)
    raise_all(problems)
    return targets


@contextmanager
def _stopping_at_ctrl_c(stop: Stop, output: Output, stopped: str) -> Iterator[None]:
    presses = 0

    def stop_once(number: int, frame: object) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            raise KeyboardInterrupt
        stop.request()
        output.note(f"stopping: calls in flight have {GRACE_S:g} s; Ctrl-C again stops now")

    before = signal.signal(signal.SIGINT, stop_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if presses:
            output.note(f"stopped: {stopped}")
