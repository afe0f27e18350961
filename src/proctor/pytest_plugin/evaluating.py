"""The suites of a session of pytest: loaded as they are collected, run when the first item is.

Only the cases that are selected are run. Without a live mode each suite is run by itself, in each
worker that has an item of it; in a live mode all of them are one run, so that one limit holds for
all they ask.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import Struct
from msgspec.structs import replace

from proctor.asking_rules import AskingRules
from proctor.cassette_files import CassetteFolder, chosen_folder
from proctor.cassettes import CacheMode
from proctor.config import Config, find_project, load_config
from proctor.errors import ProctorError, UsageError
from proctor.evaluation import SelectedSuite, select
from proctor.pipeline import Exam, ReadySuite, load_exam
from proctor.python_api.running import QuietWatch
from proctor.python_api.wording import respelled
from proctor.records import CaseResult, Outcome, SuiteReport, Verdict
from proctor.reporting import RunReport
from proctor.safe_io import open_inside
from proctor.selecting import Selection
from proctor.suite_runs import run_selected
from proctor.verdicts import verdict_of

_OPTIONS = frozenset(["allow-code", "allow-local", "cache", "max-cost"])


class Wanted(NamedTuple):
    """An item: the id of a subject, and that of a case."""

    subject: str
    case: str


class LoadedSuite(Struct, frozen=True):
    """A suite that can be run, and its project."""

    config: Config
    exam: Exam

    @property
    def suite(self) -> ReadySuite:
        """The suite."""
        return self.exam.suites[0]

    @property
    def name(self) -> str:
        """Its name."""
        return self.suite.definition.name

    @property
    def subjects(self) -> list[str]:
        """The ids of its subjects."""
        return [one.target.subject.id for one in self.suite.subjects]

    @property
    def tiers(self) -> Sequence[str]:
        """Its tiers, which hold for cases that name none."""
        return self.suite.definition.tiers

    @property
    def every(self) -> list[Wanted]:
        """Every case of every subject."""
        ids = [self.suite.dataset.case(place).id for place in range(len(self.suite.dataset))]
        return [Wanted(subject, id_) for subject in self.subjects for id_ in ids]

    def selected(self, wanted: Sequence[Wanted]) -> list[SelectedSuite]:
        """What runs exactly the wanted cases: subjects that are asked the same ones together."""
        cases: dict[str, set[str]] = {}
        for subject, case in wanted:
            cases.setdefault(subject, set()).add(case)
        groups: dict[frozenset[str], list[str]] = {}
        for subject, ids in cases.items():
            groups.setdefault(frozenset(ids), []).append(subject)
        parts: list[SelectedSuite] = []
        for same, subjects in groups.items():
            is_all = len(same) == len(self.suite.dataset)
            selection = Selection() if is_all else Selection(failed={self.name: same})
            (part,) = select(self.exam, selection)
            asked = [one for one in part.subjects if one.target.subject.id in subjects]
            plan = replace(part.plan, subjects=len(asked))
            parts.append(replace(part, subjects=asked, plan=plan))
        return parts


class SuiteResult(Struct, frozen=True):
    """What became of the wanted cases of a suite.

    Args:
        reports: The suite's part of the report, several when subjects were asked different cases.
        verdict: What they say together.
        cases: Per subject and case what became of it; None when it passed.
        places: Where recordings are, `file:line` by their digests, as far as a case failed.
    """

    reports: list[SuiteReport]
    verdict: Verdict
    cases: Mapping[Wanted, CaseResult | None]
    places: Mapping[str, str]


class Suites:
    """The suites of one session.

    Args:
        config: pytest's configuration.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.notes: list[str] = []
        self._rules = AskingRules(
            cache=CacheMode(config.getoption("--proctor-cache")),
            max_cost_usd=config.getoption("--proctor-max-cost"),
            allow_local=config.getoption("--proctor-allow-local"),
            allow_code=config.getoption("--proctor-allow-code"),
        )
        self._loaded: dict[Path, LoadedSuite] = {}
        self._results: dict[Path, SuiteResult | ProctorError] = {}

    def load(self, path: Path) -> LoadedSuite:
        """Read a suite and everything it needs; no code of the project is imported.

        Raises:
            ProctorError: The problem, or all of them together.
        """
        try:
            return self._load(path)
        except ProctorError as problem:
            raise respelled(problem, as_plugin_option) from None

    def _load(self, path: Path) -> LoadedSuite:
        if path not in self._loaded:
            root = find_project(path.parent)
            config = load_config(
                path.parent if root is None else root,
                is_root=root is not None,
                flags={},
                environ=os.environ,
            )
            relative = path.relative_to(config.root).as_posix()
            exam = load_exam(config, [relative], allow_code=self._rules.allow_code)
            self._loaded[path] = LoadedSuite(config, exam)
        return self._loaded[path]

    def close(self) -> None:
        """Close the datasets."""
        for loaded in self._loaded.values():
            loaded.exam.close()

    def result(self, path: Path, wanted: Mapping[Path, Sequence[Wanted]]) -> SuiteResult:
        """What became of a suite, which is run when it has not been.

        Args:
            path: Its file.
            wanted: The items of every suite of the session.

        Raises:
            ProctorError: When it could not be run; the same one each time.
        """
        if path not in self._results:
            paths = list(wanted) if self._rules.is_live else [path]
            try:
                self._results.update(self._run({one: wanted[one] for one in paths}))
            except ProctorError as problem:
                # Once, for the same problem is raised for each item.
                self._results |= dict.fromkeys(paths, respelled(problem, as_plugin_option))
        result = self._results[path]
        if isinstance(result, ProctorError):
            raise result
        return result

    def _run(self, wanted: Mapping[Path, Sequence[Wanted]]) -> dict[Path, SuiteResult]:
        suites = {path: self._loaded[path] for path in wanted}
        config = next(iter(suites.values())).config
        if any(one.config.root != config.root for one in suites.values()):
            raise UsageError(
                "suites of several projects cannot be asked in one run, whose cost has one limit",
                code="P6002",
                hint="name the suites of one project",
            )
        parts = [
            (path, part) for path, one in suites.items() for part in one.selected(wanted[path])
        ]
        selected = [part for _, part in parts]
        folder = chosen_folder(config, None, start=config.root)
        report = self._report(selected, folder, config)
        return {
            path: _result(
                report, [at for at, (of, _) in enumerate(parts) if of == path], folder, one.name
            )
            for path, one in suites.items()
        }

    def _report(
        self, selected: Sequence[SelectedSuite], folder: CassetteFolder, config: Config
    ) -> RunReport:
        if not self._rules.is_live:
            watch = QuietWatch(None, self.notes)
            return run_selected(self._rules, selected, folder=folder, config=config, watch=watch)
        from proctor.python_api.threads import wait_for

        return wait_for(
            lambda stop: run_selected(
                self._rules,
                selected,
                folder=folder,
                config=config,
                watch=QuietWatch(stop, self.notes),
            )
        )


def as_plugin_option(name: str, value: str | None) -> str | None:
    """How an option of `proctor run` is written for pytest; None for one pytest does not have."""
    if name not in _OPTIONS or (name == "allow-local" and value is not None):
        return None
    return f"--proctor-{name}" if value is None else f"--proctor-{name} {value}"


SUITES = pytest.StashKey[Suites]()


def suites_of(config: pytest.Config) -> Suites:
    """The suites of a session."""
    if SUITES not in config.stash:
        config.stash[SUITES] = Suites(config)
    return config.stash[SUITES]


def _result(
    report: RunReport, places: Sequence[int], folder: CassetteFolder, suite: str
) -> SuiteResult:
    """What became of one suite of a report, which stands at some places of it."""
    reports = [report.head.suites[place] for place in places]
    cases: dict[Wanted, CaseResult | None] = {}
    for place, one in zip(places, reports, strict=True):
        for number, subject in enumerate(one.subjects):
            for case in report.cases(place, number):
                is_passed = case.outcome is Outcome.PASSED
                cases[Wanted(subject.id, case.id)] = None if is_passed else case
    wrong = [case for case in cases.values() if case is not None]
    digests = {row.recording for case in wrong for row in case.rows if row.recording is not None}
    found = dict(_places(folder, suite, digests)) if digests else {}
    return SuiteResult(reports, verdict_of(reports, partial=False)[0], cases, found)


def _places(folder: CassetteFolder, suite: str, digests: set[str]) -> Iterator[tuple[str, str]]:
    """Where recordings stand, for people to look at; what is not found any more is left out."""
    try:
        with open_inside(folder.root, folder.path(suite)) as file:
            for number, line in enumerate(file, 1):
                digest = sha256(line.removesuffix(b"\n")).hexdigest()
                if digest in digests:
                    yield digest, f"{folder.shown}/{suite}.jsonl:{number}"
    except (OSError, ProctorError):
        return
