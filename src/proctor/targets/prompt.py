"""The default target: a prompt on a model."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.canonical import digest
from proctor.contracts import json_schema, with_defaults
from proctor.records import Case, JsonObject, Message, Request, Subject
from proctor.templates import Part, render


class PromptTarget:
    """Turns a case into a request to a model.

    Args:
        subject: The prompt and the model.
        templates: The parsed templates of the prompt's messages, one list of parts each.
    """

    def __init__(self, subject: Subject, templates: Sequence[list[Part]]) -> None:
        self.subject = subject
        self._templates = templates
        output = subject.prompt.output
        self._output_schema = None if output is None else json_schema(output)

    def inputs(self, case: Case) -> JsonObject:
        """The case's inputs with the defaults of the contract filled in."""
        return with_defaults(self.subject.prompt.inputs, case.inputs)

    def inputs_sha256(self, case: Case) -> str:
        """What identifies the inputs in a key."""
        return digest(self.inputs(case))

    def request(self, case: Case) -> Request:
        """What would be sent for this case.

        Raises:
            MissingValue: When the template uses an input the case does not have; loading a
                dataset refuses such a case.
        """
        inputs = self.inputs(case)
        messages = tuple(
            Message(role=message.role, content=render(parts, inputs))
            for message, parts in zip(self.subject.prompt.messages, self._templates, strict=True)
        )
        return Request(
            model=self.subject.model, messages=messages, output_schema=self._output_schema
        )
