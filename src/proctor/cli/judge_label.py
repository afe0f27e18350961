"""`proctor judge label`: asking a person about answers, one at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal

import click
from msgspec import UNSET, Struct

from proctor.cassette_files import CassetteFolder
from proctor.cassettes import answer_keys
from proctor.cli.output import Output, counted
from proctor.cli.project import cassette_folder, cwd_option, project_config
from proctor.errors import ExitCode, UsageError, raise_all
from proctor.evaluation import SelectedSuite, select
from proctor.judging.boundary import response_sha256
from proctor.judging.labels import load_labels
from proctor.pipeline import load_exam
from proctor.planning import planned_rows
from proctor.protocols import JudgedAssertion
from proctor.records import Answered, Case, Check, Json, Label, encode_json
from proctor.safe_io import append_inside
from proctor.selecting import Selection

_KEYS: dict[str, Literal["pass", "fail"]] = {"p": "pass", "f": "fail"}
_QUESTION = b"pass, fail, skip, quit? [p/f/s/q] "


class Open(Struct, frozen=True, kw_only=True):
    """An answer that a person can be asked about.

    Args:
        case: The case that was answered.
        subject: The id of who answered.
        repeat: Which repeat of the row.
        assertion: The assertion that is judged.
        response: The text that is judged.
    """

    case: Case
    subject: str
    repeat: int
    assertion: str
    response: str


@click.command("label")
@click.argument("suite", metavar="SUITE")
@cwd_option
@click.option("--by", metavar="NAME", help="Whose labels these are.")
@click.option(
    "--cassettes",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Use the recordings of another folder.",
)
def label(suite: str, cwd: Path | None, by: str | None, cassettes: Path | None) -> int:
    """Ask, one judged answer at a time, whether a person would let it pass.

    Shown are the case and the recorded answer, never what a judge says of it. Type p (pass), f
    (fail), s (skip) or q (quit), and Enter. Each label is written to the suite's file of labels at
    once. Answers that NAME has labelled already are not shown again, unless they have changed.
    """
    output = Output()
    config = project_config(cwd, {})
    # Nothing is checked, so no code runs whatever is allowed.
    with closing(load_exam(config, [suite], allow_code=True, with_labels=False)) as exam:
        (selected,) = select(exam, Selection())
        folder = cassette_folder(config, cwd, cassettes)
        asking = _Asking(selected, config.root, by, output)
        try:
            asking.ask(_answers(selected, folder, output))
        except KeyboardInterrupt:
            output.line("")
            asking.end()
            return ExitCode.INTERRUPTED
        asking.end()
    return ExitCode.OK


class _Asking:
    """Asks about the answers of one suite, and writes down what is said.

    Raises:
        UsageError: P6002 when the suite asks no judge, or names no file for labels.
        ProctorError: P6218 when there is one that cannot be used.
    """

    def __init__(self, selected: SelectedSuite, root: Path, by: str | None, output: Output) -> None:
        definition = selected.suite.definition
        if not selected.subjects[0].checks.judged:
            raise UsageError(
                f"the suite `{definition.name}` asks no judge, so there is nothing to label",
                code="P6002",
                hint="write an assertion of kind `llm-judge`",
            )
        if definition.labels is None:
            raise UsageError(
                f"the suite `{definition.name}` names no file for labels",
                code="P6002",
                hint=f"write `labels: labels/{definition.name}.jsonl` into it",
            )
        self._root = root
        self._path: str = definition.labels
        self._by = by
        self._output = output
        self._subjects = [one.target.subject.id for one in selected.suite.subjects]
        self._repeats = selected.plan.repeats
        self._saved = 0
        self._done = {
            (one.case, one.subject, one.repeat, one.assertion, one.answer_sha256)
            for one in self._labels(selected)
            if one.by == by
        }

    def _labels(self, selected: SelectedSuite) -> list[Label]:
        if not os.path.lexists(self._root / self._path):
            return []
        labels, problems = load_labels(
            self._root,
            self._path,
            subjects=self._subjects,
            assertions=[one.spec.id for one in selected.subjects[0].checks.judged],
            where=selected.suite.definition.labels_where,
        )
        raise_all(problems)
        return labels

    def ask(self, answers: Iterator[Open]) -> None:
        """Ask about each answer that has no label yet, until the person has enough."""
        left = [one for one in answers if self._key(one) not in self._done]
        if not left:
            self._output.line("no recorded answer is left to label")
        for number, one in enumerate(left, 1):
            self._show(one, f"{number} of {len(left)}")
            said = self._reply()
            if said is None:
                return
            if said in _KEYS:
                self._save(one, _KEYS[said])

    def end(self) -> None:
        """Say what has been written."""
        self._output.line(f"{counted(self._saved, 'label')} written to {self._path}")

    def _key(self, one: Open) -> tuple[str, str, int, str, str]:
        digest = response_sha256(one.response)
        return one.case.id, one.subject, one.repeat, one.assertion, digest

    def _show(self, one: Open, place: str) -> None:
        case = one.case
        about = [one.assertion]
        about += [one.subject] if len(self._subjects) > 1 else []
        about += [f"repeat {one.repeat}"] if self._repeats > 1 else []
        self._output.line("")
        self._output.line(f"{place}  {case.id}  ({', '.join(about)})")
        for name, value in case.inputs.items():
            self._block(name, value)
        if case.expected is not UNSET:
            self._block("expected", case.expected)
        for name, value in (("context", case.context), ("dos", case.dos), ("donts", case.donts)):
            if value:
                self._block(name, value)
        self._block("response", one.response)

    def _block(self, name: str, value: Json) -> None:
        """A value below its name, its own lines indented; escaped."""
        text = value if isinstance(value, str) else encode_json(value).decode("utf-8")
        self._output.line(f"  {name}:")
        for line in text.split("\n"):
            self._output.line(f"    {line}")

    def _reply(self) -> str | None:
        """The key that was typed; None when the person has enough or there is nobody."""
        while True:
            self._output.write(_QUESTION)
            with suppress(OSError):
                sys.stdout.flush()
            line = sys.stdin.buffer.readline(1_000)
            if not line:
                self._output.line("")
                return None
            key = line.strip().lower()
            if key in (b"p", b"f", b"s"):
                return key.decode()
            if key == b"q":
                return None

    def _save(self, one: Open, verdict: Literal["pass", "fail"]) -> None:
        case, subject, repeat, assertion, digest = self._key(one)
        label = Label(
            case=case,
            subject=subject if len(self._subjects) > 1 else None,
            repeat=repeat,
            assertion=assertion,
            verdict=verdict,
            answer_sha256=digest,
            by=self._by,
        )
        append_inside(self._root, self._path, encode_json(label) + b"\n")
        self._saved += 1


def _answers(selected: SelectedSuite, folder: CassetteFolder, output: Output) -> Iterator[Open]:
    """The recorded answers that a judge is asked about, row by row.

    Raises:
        ProctorError: P6403 or P6404 when the cassette cannot be used.
    """
    cassette, problems = folder.open(selected.name)
    missing = 0
    with closing(cassette):
        raise_all(problems)
        for subject in selected.subjects:
            target = subject.target
            keys = answer_keys(target.subject)
            for row in planned_rows(selected.suite.dataset, selected.plan):
                # A label names a case, and not one of its scenarios.
                if row.scenario is not None:
                    continue
                answered = cassette.find(keys.key(target.inputs_sha256(row), row.repeat))
                if answered is None:
                    missing += 1
                    continue
                for assertion in subject.checks.judged:
                    response = _response(assertion, answered, row.case)
                    if response is not None:
                        yield Open(
                            case=row.case,
                            subject=target.subject.id,
                            repeat=row.repeat,
                            assertion=assertion.spec.id,
                            response=response,
                        )
    if missing:
        output.note(f"{counted(missing, 'answer')} not recorded; `proctor run --cache record` asks")


def _response(assertion: JudgedAssertion, answered: Answered, case: Case) -> str | None:
    """The text a judge is asked about, None when it is not asked."""
    if isinstance(assertion.questions(answered, case), Check):
        return None
    return assertion.response(answered)
