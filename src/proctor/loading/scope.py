"""What assertions may ask for while a suite is being loaded."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path

from proctor.contracts import answer_schema
from proctor.errors import SuiteError
from proctor.loading.files import read_document
from proctor.loading.prompts import Prompts
from proctor.records import Json, JsonObject, JudgeSetup, Part, Prompt, Subject
from proctor.safe_io import inside


class SuiteScope:
    """The `Scope` of one subject of a suite.

    Args:
        root: The project's folder.
        folder: The suite's folder, relative to the root.
        subject: What is under test.
        prompts: The prompts of the project, for rubrics.
        judge: Who judges, as far as the suite says.
        regex_timeout_s: How long one match may take.
        allow_code: Whether the command line allows code of the project to run.
    """

    def __init__(
        self,
        root: Path,
        folder: str,
        *,
        subject: Subject | None,
        prompts: Prompts,
        judge: JudgeSetup,
        regex_timeout_s: float,
        allow_code: bool = False,
    ) -> None:
        self.root = root
        self.judge = judge
        self.model = None if subject is None else subject.model
        self._prompts = prompts
        self.allow_code = allow_code
        self.regex_timeout_s = regex_timeout_s
        self._folder = folder
        schema = None if subject is None else answer_schema(subject.prompt)
        self.output_schema: JsonObject | None = schema

    def judged_by(self, judge: JudgeSetup) -> SuiteScope:
        """The same with other judges."""
        scope = copy(self)
        scope.judge = judge
        return scope

    def rubric(self, reference: str) -> tuple[Prompt, Sequence[list[Part]]]:
        """The prompt that a rubric is, and the parsed templates of its messages.

        Raises:
            ProctorError: P6203 when there is none of this name, or what is wrong with it.
        """
        loaded = self._prompts.find(reference)
        return loaded.prompt, loaded.templates

    def read_schema(self, path: str) -> Json:
        """Read a JSON Schema of the project, by a path relative to the suite.

        Raises:
            SuiteError: P6201 when it is neither JSON nor YAML.
            FileError: P6805 when the path is not one of a file inside the project.
        """
        relative = inside(path, base=self._folder)
        return read_document(self.root, relative, error=SuiteError, code="P6201").value
