"""What targets have in common that build nothing and have nothing to get ready."""

from __future__ import annotations

from proctor.errors import ProviderError, TargetError
from proctor.records import Case, JsonObject, Reply, Scenario
from proctor.target_protocols import Built


class PlainTarget:
    """A `LiveTarget` but for `answer`."""

    builds = False

    async def setup(self, lane: str | None) -> None:
        """There is nothing to get ready."""

    async def teardown(self, lane: str | None) -> None:
        """There is nothing to undo."""

    async def health(self, lane: str | None) -> bool:
        """A lane can be used until it turns out otherwise."""
        return True

    async def build(self, case: Case, repeat: int, lane: str | None) -> Built:
        """Nothing is built.

        Raises:
            TargetError: Always.
        """
        raise TargetError("this target builds nothing")

    async def prepare(
        self, case: Case, scenario: Scenario | None, artifact: object, lane: str | None
    ) -> None:
        """There is nothing to get ready."""

    async def cleanup(self, artifact: object, lane: str | None) -> bool:
        """There is nothing to let go of."""
        return True

    async def aclose(self) -> None:
        """There is nothing to close."""


class Nobody(PlainTarget):
    """What stands for a target of which nothing has to be asked."""

    async def answer(
        self,
        case: Case,
        scenario: Scenario | None,
        artifact: object,
        repeat: int,
        lane: str | None,
    ) -> Reply:
        """There is no answer.

        Raises:
            ProviderError: P6301, always.
        """
        raise ProviderError("the target was not made ready", code="P6301")


def asked(case: Case, scenario: Scenario | None, repeat: int) -> JsonObject:
    """What a program or an endpoint is told of a row.

    Args:
        case: The case as it stands in the dataset.
        scenario: Its scenario, whose inputs are laid over those of the case.
        repeat: The repeat.
    """
    return {
        "case": case.id,
        "inputs": inputs_of(case, scenario),
        "scenario": None
        if scenario is None
        else {"name": scenario.name, "inputs": scenario.inputs},
        "repeat": repeat,
    }


def inputs_of(case: Case, scenario: Scenario | None) -> JsonObject:
    """The inputs of a case as a scenario has them."""
    return case.inputs if scenario is None else {**case.inputs, **scenario.inputs}
