"""Targets that are asked in a live run: what they may cost, and opening them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from pathlib import Path

from proctor.asking_rules import AskingRules
from proctor.config import Price
from proctor.errors import ProctorError, SuiteError, UsageError, raise_all
from proctor.evaluation import SelectedSuite
from proctor.providers.access import Access
from proctor.providers.pricing import ModelPrice, Tier
from proctor.subjects import ReadySubject
from proctor.target_protocols import LiveTarget
from proctor.targets.agent import AgentTarget

_NOTHING = Decimal(0)


def target_price(subject: ReadySubject) -> ModelPrice:
    """What stands for the price of a target, whose calls cost no more than its suite says.

    Raises:
        UsageError: P6501 when the suite does not say.
    """
    target = subject.target
    assert isinstance(target, AgentTarget)  # noqa: S101 - the caller has looked
    kinds = ["build", "answer"] if subject.is_sure_to_build else ["answer"]
    unsaid = [kind for kind in kinds if kind not in target.max_cost_usd]
    if unsaid:
        raise _unpriced(target, unsaid)
    is_free = not any(target.max_cost_usd.values())
    return ModelPrice(
        ref=target.subject.id,
        source="scripted" if is_free else "project",
        dearest=Price(input=0, output=0),
        tiers=(Tier(least=0, input=_NOTHING, cached=_NOTHING, written=_NOTHING, output=_NOTHING),),
    )


def _unpriced(target: AgentTarget, kinds: Sequence[str]) -> UsageError:
    said = target.max_cost_usd
    example = ", ".join(f"{kind}: {said.get(kind, 0):g}" for kind in dict.fromkeys([*said, *kinds]))
    return UsageError(
        f"nobody says what `{target.subject.id}` may cost",
        code="P6501",
        hint=f"write `maxCostUsd: {{{example}}}` into the target, with USD for one call; 0 for "
        "what costs nothing",
        where=target.loaded.where,
    )


def _builds_nothing(target: AgentTarget) -> SuiteError:
    return SuiteError(
        f"the suite asks something of what is built, and `{target.subject.id}` has no `build`",
        code="P6203",
        hint="give the target a `build`, or leave out `buildAssertions` and `expectations`",
        where=target.loaded.where,
    )


def open_agents(
    selected: Sequence[SelectedSuite],
    asked: Collection[tuple[str, str]],
    *,
    rules: AskingRules,
    access: Access,
    root: Path,
    note: Callable[[str], None],
    elsewhere: Callable[[str], LiveTarget] | None = None,
) -> dict[str, LiveTarget]:
    """The targets that have something to answer, by the names of their suites.

    Args:
        selected: What is run.
        asked: The names of suites and subjects of which something has to be asked.
        rules: What asking may do.
        access: To whom requests may go, and which keys with them.
        root: The project's folder.
        note: Told what each is given.
        elsewhere: What stands here for the target of a suite when others open it; None to open it
            here.

    Raises:
        ProctorError: What stands in the way, all of it together; nothing of a target has run then,
            but for the import of code that may run.
    """
    problems: list[ProctorError] = []
    opened: dict[str, LiveTarget] = {}
    for suite in selected:
        for subject in suite.subjects:
            target = subject.target
            if not isinstance(target, AgentTarget) or target.kind == "outputs":
                continue
            if (suite.name, target.subject.id) not in asked:
                continue
            try:
                live = (
                    elsewhere(suite.name)
                    if elsewhere is not None
                    else target.with_lanes(rules.lanes).open(
                        root, allow_code=rules.allow_code, access=access, note=note
                    )
                )
            except ProctorError as problem:
                problems.append(problem)
                continue
            opened[suite.name] = live
            # Whether it builds is known only now.
            if live.builds and "build" not in target.max_cost_usd:
                problems.append(_unpriced(target, ["build"]))
            if subject.is_sure_to_build and not live.builds:
                problems.append(_builds_nothing(target))
    raise_all(problems)
    return opened
