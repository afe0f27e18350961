"""What assertions may ask for while a suite is being loaded."""

from __future__ import annotations

from pathlib import Path

from proctor.contracts import answer_schema
from proctor.errors import SuiteError
from proctor.loading.files import read_document
from proctor.records import Json, JsonObject, Prompt
from proctor.safe_io import inside


class SuiteScope:
    """The `Scope` of one subject of a suite.

    Args:
        root: The project's folder.
        folder: The suite's folder, relative to the root.
        prompt: The prompt under test.
        regex_timeout_s: How long one match may take.
        allow_code: Whether the command line allows code of the project to run.
    """

    def __init__(
        self,
        root: Path,
        folder: str,
        *,
        prompt: Prompt | None,
        regex_timeout_s: float,
        allow_code: bool = False,
    ) -> None:
        self.root = root
        self.allow_code = allow_code
        self.regex_timeout_s = regex_timeout_s
        self._folder = folder
        schema = None if prompt is None else answer_schema(prompt)
        self.output_schema: JsonObject | None = schema

    def read_schema(self, path: str) -> Json:
        """Read a JSON Schema of the project, by a path relative to the suite.

        Raises:
            SuiteError: P6201 when it is neither JSON nor YAML.
            FileError: P6805 when the path is not one of a file inside the project.
        """
        relative = inside(path, base=self._folder)
        return read_document(self.root, relative, error=SuiteError, code="P6201").value
