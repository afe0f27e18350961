"""What people say of answers, and how far a judge agrees with them."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from proctor.documents import Document, StructReader, name_of
from proctor.errors import ProctorError, SuiteError
from proctor.judging.votes import Said
from proctor.records import Count, Label, PassRate, Vote
from proctor.registry import did_you_mean
from proctor.safe_io import MEBIBYTE, read_inside, reason_of
from proctor.statistics import cohens_kappa, wilson_interval
from proctor.strict_json import JsonProblem, parse_json

MAX_FILE: Final = 64 * MEBIBYTE
FEWEST_LABELS: Final = 30
FEWEST_OF_EITHER: Final = 10
SHOWN_PROBLEMS: Final = 20

_CODE: Final = "P6218"


class JudgedAnswer(Struct, frozen=True, kw_only=True, gc=False):
    """What a judge has decided about one answer; `verdict` is None when it was not measured.

    That is the verdict itself, whether or not the assertion turns it round with `negate`.
    """

    case: str
    subject: str
    repeat: int
    assertion: str
    verdict: Said | None
    answer_sha256: str
    votes: list[Vote] = []


class Disagreement(Struct, frozen=True, gc=False):
    """An answer of which a judge says something else than people do.

    Args:
        label: What people say; the first line of several.
        judge: What the judge says.
        votes: Its runs, with their reasons.
    """

    label: Label
    judge: Said
    votes: list[Vote]


class AgreementFigures(Struct, frozen=True, kw_only=True):
    """How far a judge agrees with people, over answers that both gave a verdict on.

    Args:
        both_pass: Both say pass.
        only_judge_passes: The judge says pass, people say fail.
        only_people_pass: People say pass, the judge says fail.
        both_fail: Both say fail.
        agreement: Of all of these, those where both say the same.
        kappa: Cohen's, None when chance alone explains every agreement.
        tpr: Of the answers that people pass, those that the judge passes.
        tnr: Of the answers that people fail, those that the judge fails.
        stale: Labels of an answer that was another one then; not used.
        disputed: Answers on which people do not agree; not used.
        unmeasured: Labelled answers without a verdict of the judge; not used.
        not_judged: Labels of what was not judged in this run; not used.
        enough: Whether there are labels enough, of either verdict, for a threshold to mean
            anything.
    """

    both_pass: int
    only_judge_passes: int
    only_people_pass: int
    both_fail: int
    agreement: PassRate
    kappa: float | None
    tpr: PassRate
    tnr: PassRate
    stale: int
    disputed: int
    unmeasured: int
    not_judged: int
    enough: bool


class Agreement(Struct, frozen=True):
    """The figures, and the answers in question, in the order they were judged."""

    figures: AgreementFigures
    disagreements: list[Disagreement]


class AgreementCounts(Struct, frozen=True, kw_only=True):
    """What all figures follow from; they have the same names."""

    both_pass: Count
    only_judge_passes: Count
    only_people_pass: Count
    both_fail: Count
    stale: Count
    disputed: Count
    unmeasured: Count
    not_judged: Count

    def figures(self) -> AgreementFigures:
        """The figures."""
        people_pass = self.both_pass + self.only_people_pass
        people_fail = self.both_fail + self.only_judge_passes
        used = people_pass + people_fail
        fewest = min(people_pass, people_fail)
        return AgreementFigures(
            **asdict(self),
            agreement=_rate(self.both_pass + self.both_fail, used),
            kappa=cohens_kappa(
                both=self.both_pass,
                first=self.only_judge_passes,
                second=self.only_people_pass,
                neither=self.both_fail,
            ),
            tpr=_rate(self.both_pass, people_pass),
            tnr=_rate(self.both_fail, people_fail),
            enough=used >= FEWEST_LABELS and fewest >= FEWEST_OF_EITHER,
        )


def load_labels(
    root: Path, path: str, *, subjects: Sequence[str], assertions: Sequence[str], where: str
) -> tuple[list[Label], list[ProctorError]]:
    """The labels of a suite, each with its subject, and every problem with the file (P6218).

    A label of a subject or a case that the suite does not have any more is no problem: `agreement`
    counts it.

    Args:
        root: The project's folder.
        path: The file, relative to the root.
        subjects: The ids of the suite's subjects.
        assertions: The ids of its judged assertions.
        where: The place in the suite that names the file.

    Returns:
        The labels; and the first 20 problems, and a count of the others.
    """
    try:
        data = read_inside(root, path, limit=MAX_FILE, where=where)
    except OSError as error:
        message = f"the labels `{path}` cannot be read: {reason_of(error)}"
        hint = "`proctor judge label` makes it; the path is relative to the suite's own folder"
        return [], [SuiteError(message, code=_CODE, hint=hint, where=where)]
    except ProctorError as problem:
        return [], [problem]
    labels: list[Label] = []
    problems: list[ProctorError] = []
    more = 0
    for number, line in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        reader = _reader(path, line, number)
        label = None if reader.problems else reader.read(Label, reader.document.value)
        if label is not None:
            labels.append(_of_suite(label, subjects, assertions, reader))
        room = SHOWN_PROBLEMS - len(problems)
        problems += reader.problems[:room]
        more += len(reader.problems[room:])
    if more:
        left_out = f"and {more} more problem{'' if more == 1 else 's'}"
        problems.append(SuiteError(left_out, code=_CODE, where=path))
    return labels, problems


def agreement(labels: Iterable[Label], judged: Iterable[JudgedAnswer]) -> Agreement:
    """How far a judge agrees with people.

    Args:
        labels: As `load_labels` returns them.
        judged: What was judged, each answer once.
    """
    by_answer: dict[tuple[str, str | None, int, str], list[Label]] = {}
    for label in labels:
        key = (label.case, label.subject, label.repeat, label.assertion)
        by_answer.setdefault(key, []).append(label)
    said: Counter[tuple[Said, Said]] = Counter()
    stale = disputed = unmeasured = 0
    disagreements: list[Disagreement] = []
    for answer in judged:
        key = (answer.case, answer.subject, answer.repeat, answer.assertion)
        found = by_answer.pop(key, [])
        fresh = [label for label in found if label.answer_sha256 == answer.answer_sha256]
        stale += len(found) - len(fresh)
        if not fresh:
            continue
        people = fresh[0].verdict
        if any(label.verdict != people for label in fresh):
            disputed += 1
        elif answer.verdict is None:
            unmeasured += 1
        else:
            said[people, answer.verdict] += 1
            if answer.verdict != people:
                disagreements.append(Disagreement(fresh[0], answer.verdict, answer.votes))
    counts = AgreementCounts(
        both_pass=said["pass", "pass"],
        only_judge_passes=said["fail", "pass"],
        only_people_pass=said["pass", "fail"],
        both_fail=said["fail", "fail"],
        stale=stale,
        disputed=disputed,
        unmeasured=unmeasured,
        not_judged=sum(map(len, by_answer.values())),
    )
    return Agreement(counts.figures(), disagreements)


def _rate(passed: int, measured: int) -> PassRate:
    rate = passed / measured if measured else None
    return PassRate(passed, measured, rate, wilson_interval(passed, measured))


def _reader(path: str, line: bytes, number: int) -> StructReader:
    """A reader of one line, with a problem noted when it is not a JSON object."""
    value, fault = None, None
    try:
        value = parse_json(line.rstrip(b"\r"))
        if not isinstance(value, dict):
            fault = f"a label must be an object, not {name_of(value)}"
    except JsonProblem as problem:
        fault = f"the line {problem.detail}"
    document = Document(path, value, {(): number})
    reader = StructReader(document, error=SuiteError, code=_CODE)
    if fault is not None:
        reader.problem(fault, ())
    return reader


def _of_suite(
    label: Label, subjects: Sequence[str], assertions: Sequence[str], reader: StructReader
) -> Label:
    """The label with its subject; what does not fit the suite is noted."""
    if label.assertion not in assertions:
        judged = ", ".join(assertions[:8]) or "none"
        reader.problem(
            f"the suite has no judged assertion `{label.assertion}`",
            (),
            hint=did_you_mean(label.assertion, assertions) or f"judged assertions: {judged}",
        )
    if label.subject is None and len(subjects) == 1:
        return replace(label, subject=subjects[0])
    if label.subject is None and len(subjects) > 1:
        reader.problem(
            "a label needs a `subject` when the suite has several",
            (),
            hint=f"subjects: {', '.join(subjects[:8])}",
        )
    return label
