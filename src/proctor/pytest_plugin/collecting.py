"""Suites as pytest sees them: files of items, one for each case of each subject, and thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from proctor.config import find_project, load_config
from proctor.errors import ProctorError
from proctor.pytest_plugin.evaluating import SuiteResult, Wanted, suites_of
from proctor.pytest_plugin.failing import (
    case_text,
    forgiven_text,
    problem_text,
    thresholds_text,
)
from proctor.records import Verdict
from proctor.rendering.escaping import terminal_text

THRESHOLDS = "thresholds"


def suite_file(path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """A file of items, or None for a file of some other program that has such a name.

    One that is named on the command line is taken for a suite, whatever it is.
    """
    if not parent.session.isinitpath(path) and not _is_of_a_project(path.resolve()):
        return None
    file: SuiteFile = SuiteFile.from_parent(parent, path=path)
    return file


def _is_of_a_project(path: Path) -> bool:
    try:
        root = find_project(path.parent)
        if root is None:
            return False
        evals = load_config(root, is_root=True, flags={}, environ={}).values.evals
    except ProctorError:
        # What is wrong is said when the file is collected.
        return True
    return path.is_relative_to(root / evals)


class SuiteFile(pytest.File):
    """The items of one suite."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each case of each subject, in the order of a run, then the thresholds."""
        try:
            loaded = suites_of(self.config).load(self.path.resolve())
        except ProctorError as problem:
            raise self.CollectError(problem_text(problem)) from None
        dataset = loaded.suite.dataset
        for subject in loaded.subjects:
            for place in range(len(dataset)):
                case = dataset.case(place)
                name = _name(case.id, subject)
                item: CaseItem = CaseItem.from_parent(
                    self,
                    name=name,
                    # As it is read again from the command line, its brackets being parameters.
                    nodeid=f"{self.nodeid}::{name}",
                    wanted=Wanted(subject, case.id),
                )
                item.extra_keyword_matches |= {*case.tags, *(case.tiers or loaded.tiers)}
                item.add_marker(pytest.mark.proctor)
                yield item
        last: ThresholdsItem = ThresholdsItem.from_parent(self, name=THRESHOLDS)
        last.add_marker(pytest.mark.proctor)
        yield last

    def result(self) -> SuiteResult:
        """What became of the suite, as far as its cases are selected."""
        try:
            return suites_of(self.config).result(self.path.resolve(), _wanted(self.session))
        except ProctorError as problem:
            raise pytest.fail.Exception(problem_text(problem), pytrace=False) from None


def _name(case: str, subject: str) -> str:
    """The name of an item; `::` would part it in the ids that pytest takes."""
    return terminal_text(f"{case}[{subject}]").replace("::", ":\\x3a")


def _wanted(session: pytest.Session) -> Mapping[Path, Sequence[Wanted]]:
    """The cases that are run, of every suite.

    Those that are selected; all of them where the thresholds are, which are about the whole suite.
    """
    cases: dict[Path, list[Wanted]] = {}
    whole: set[Path] = set()
    for item in session.items:
        if isinstance(item, SuiteItem):
            path = item.path.resolve()
            wanted = cases.setdefault(path, [])
            if isinstance(item, CaseItem):
                wanted.append(item.wanted)
            else:
                whole.add(path)
    suites = suites_of(session.config)
    return {
        path: suites.load(path).every if path in whole else wanted for path, wanted in cases.items()
    }


class SuiteItem(pytest.Item):
    """Something that a suite says."""

    @property
    def suite(self) -> SuiteFile:
        """The suite."""
        assert isinstance(self.parent, SuiteFile)  # noqa: S101 - it makes them
        return self.parent

    def setup(self) -> None:
        """Have the suite run, so that what stands in the way of that is an error of the item."""
        self._result = self.suite.result()

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is, and its name."""
        return self.path, None, self.name


class CaseItem(SuiteItem):
    """What became of one case of one subject, over all repeats.

    Args:
        wanted: Which.
        rest: What pytest says of every item.
    """

    def __init__(self, *, wanted: Wanted, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type] # pytest's own business
        self.wanted = wanted

    def runtest(self) -> None:
        """Fail unless it passed; where the thresholds of the suite hold all the same, xfail."""
        result = self._result
        if self.wanted not in result.cases:
            raise pytest.fail.Exception("not run: the run was interrupted", pytrace=False)
        case = result.cases[self.wanted]
        if case is None:
            return
        if result.verdict is Verdict.PASSED and not self.config.getoption("--runxfail"):
            pytest.xfail(forgiven_text(case))
        raise pytest.fail.Exception(case_text(case, result.places), pytrace=False)


class ThresholdsItem(SuiteItem):
    """Whether the thresholds of a suite hold."""

    def runtest(self) -> None:
        """Fail unless all of them hold."""
        if self._result.verdict is not Verdict.PASSED:
            raise pytest.fail.Exception(thresholds_text(self._result), pytrace=False)
