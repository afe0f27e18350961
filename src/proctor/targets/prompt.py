"""The default target: a prompt on a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from proctor.canonical import digest
from proctor.contracts import answer_schema, with_defaults
from proctor.project_code import not_allowed
from proctor.protocols import PlannedRow
from proctor.records import Case, JsonObject, Message, Part, Request, Subject
from proctor.targets.python_prompt import MessageFunction, message_function
from proctor.templates import render


class PromptTarget:
    """Turns a case into a request to a model.

    Args:
        subject: The prompt and the model.
        templates: The parsed templates of the prompt's messages, one list of parts each.
    """

    def __init__(self, subject: Subject, templates: Sequence[list[Part]]) -> None:
        self.subject = subject
        self._templates = templates
        self._output_schema = answer_schema(subject.prompt)
        self._function: MessageFunction | None = None

    @property
    def is_prepared(self) -> bool:
        """Whether `request` can be called; False for a Python prompt before `prepare`."""
        return self.subject.prompt.function is None or self._function is not None

    def prepare(self, root: Path, *, allow_code: bool) -> None:
        """Make ready to ask: the function of a Python prompt is imported.

        Args:
            root: The project's folder.
            allow_code: Whether the command line allows code of the project to run.

        Raises:
            SuiteError: P6220 when it does not, P6203 when the function cannot be imported.
        """
        if not self.is_prepared:
            self._function = message_function(root, self.subject.prompt, allow_code=allow_code)

    def inputs(self, case: Case) -> JsonObject:
        """The case's inputs with the defaults of the contract filled in."""
        return with_defaults(self.subject.prompt.inputs, case.inputs)

    def inputs_sha256(self, row: PlannedRow) -> str:
        """What identifies the inputs in a key."""
        return digest(self.inputs(row.case))

    def request(self, case: Case) -> Request:
        """What would be sent for this case.

        Raises:
            MissingValue: When the template uses an input the case does not have; loading a
                dataset refuses such a case.
            SuiteError: P6220 for a Python prompt that is not prepared; P6701 when its function
                fails, for this row only.
        """
        return Request(
            model=self.subject.model,
            messages=self._messages(self.inputs(case)),
            output_schema=self._output_schema,
            tools=self.subject.prompt.tools,
        )

    def _messages(self, inputs: JsonObject) -> tuple[Message, ...]:
        prompt = self.subject.prompt
        if prompt.function is None:
            return tuple(
                Message(role=message.role, content=render(parts, inputs))
                for message, parts in zip(prompt.messages, self._templates, strict=True)
            )
        if self._function is None:
            raise not_allowed(prompt.function)
        return self._function(inputs)
