"""Who compares the answers of a suite, by which rubric, and what each of them is asked."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from proctor.cassette_files import CassetteFolder
from proctor.config import Config
from proctor.errors import DatasetError, ProctorError, raise_all
from proctor.evaluation import SelectedSuite
from proctor.judging.fences import rubric_faults, rubric_warnings
from proctor.judging.pairs import PairQuestion, pair_judges, pair_needs, pair_questions
from proctor.judging.pairwise_rubrics import parse_pairwise_rubric
from proctor.judging.rubrics import Rubric, self_judging
from proctor.loading.prompts import Prompts
from proctor.loading.suites import SuiteDefinition
from proctor.pairwise.pairing import PairedCase, PairedReports, PairedRow
from proctor.providers.params import unsendable
from proctor.records import Subject, Warn


class Panel(Struct, frozen=True):
    """The judges of one suite.

    Args:
        suite: Its name.
        rubric: What they judge by.
        judges: The rubric on the model of each, in the order of their numbers.
        warnings: What is to be known of the rubric.
    """

    suite: str
    rubric: Rubric
    judges: tuple[Subject, ...]
    warnings: list[Warn]

    def questions(self, case: PairedCase, row: PairedRow) -> list[PairQuestion]:
        """What the judges are asked about one pair, judge by judge; empty when nobody is asked."""
        if row.unasked is not None:
            return []
        return pair_questions(self.rubric, self.judges, case.pair(row), case=case.id)


class Comparing(Struct, frozen=True):
    """Two subjects of a suite, and who compares them.

    Args:
        config: The project.
        selected: The suite, with its whole plan.
        panel: Who judges.
        reports: Both sides and their pairs.
        folder: Where cassettes are.
    """

    config: Config
    selected: SelectedSuite
    panel: Panel
    reports: PairedReports
    folder: CassetteFolder


def make_panel(config: Config, suite: SuiteDefinition, rubric: str, *, judges: int | None) -> Panel:
    """Read a rubric, and find out who judges by it.

    Args:
        config: The project.
        suite: The suite, which may say who judges.
        rubric: The rubric: `<prompt id>` or `<project id>/<prompt id>`.
        judges: How many judges are asked, None for as many as the suite's panel has, or one.

    Raises:
        ProctorError: P6203 when there is no such prompt, P6211, P6212 or P6216 when it is no rubric
            that can be relied on, P6201 when nobody is named who judges, P6002 when there are
            fewer judges.
    """
    loaded = Prompts(config.root, config.values.prompts, config.values.project).find(rubric)
    parsed, problems = parse_pairwise_rubric(loaded.prompt, loaded.templates)
    raise_all(problems)
    assert parsed is not None  # noqa: S101 - without a rubric there were problems
    raise_all(rubric_faults(parsed, allow_unfenced=None))
    asked = pair_judges(parsed, suite.judge, judges)
    different = {judge.model.ref: judge for judge in asked}.values()
    where = suite.path
    raise_all(
        [
            each
            for one in different
            for each in unsendable(one, config.values.providers, where=where)
        ]
    )
    return Panel(suite.name, parsed, asked, [*loaded.warnings, *rubric_warnings(parsed)])


def check_pairs(panel: Panel, reports: PairedReports) -> None:
    """Make sure that every case has what the rubric uses.

    Raises:
        DatasetError: P6104 for each case that has not.
    """
    raise_all(list(_lacking(panel, reports)))


def _lacking(panel: Panel, reports: PairedReports) -> Iterator[ProctorError]:
    for case in reports.pairs:
        asked = next((row for row in case.rows if row.unasked is None), None)
        needs = None if asked is None else pair_needs(panel.rubric, case.pair(asked))
        if needs is not None:
            yield DatasetError(
                f"the case `{case.id}` cannot be compared: {needs}",
                code="P6104",
                hint="give the case what it lacks, or take it out of the rubric",
            )


def self_judged(panel: Panel, reports: PairedReports) -> list[Warn]:
    """A warning (P6215) for each model that would judge its own answers."""
    refs = [judge.model.ref for judge in panel.judges]
    tested = (reports.a.model, reports.b.model)
    return self_judging(panel.rubric, refs, tested, where=panel.rubric.prompt.path)
