"""Verdicts on pairs from the recordings, and which calls they take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from proctor.call_plans import PlannedCall
from proctor.canonical import CallKeys
from proctor.cassettes import CacheMode, Cassette
from proctor.errors import CassetteError, ProctorError
from proctor.judging.pairs import PairQuestion
from proctor.pairwise.pairing import Pairs
from proctor.pairwise.panels import Panel
from proctor.pairwise.results import JudgedPair, judged_pair
from proctor.planning import worst_tokens
from proctor.protocols import Heard
from proctor.recorded import explain_miss
from proctor.records import Call, CallKind


class PairKeys:
    """Makes the keys of what the judges of a panel are asked; those of one model share a maker."""

    def __init__(self) -> None:
        self._makers: dict[str, CallKeys] = {}

    def key(self, question: PairQuestion) -> str:
        """The key of one question."""
        model, prompt = question.subject.model, question.subject.prompt
        maker = self._makers.get(model.ref)
        if maker is None:
            maker = self._makers[model.ref] = CallKeys(
                call=CallKind.PAIRWISE,
                prompt=prompt.bundle_sha256,
                model=model.ref,
                params=model.params,
            )
        return maker.key(question.inputs_sha256, question.take)


def as_call(question: PairQuestion) -> Call:
    """What a question asks for."""
    return Call(question.case, question.inputs_sha256, question.take)


def pair_calls(panel: Panel, pairs: Pairs) -> Iterator[PlannedCall]:
    """Every call that judging all pairs makes, a shared one at each use.

    Both answers are known, so every key is.
    """
    keys = PairKeys()
    for case in pairs:
        for row in case.rows:
            for question in panel.questions(case, row):
                worst = partial(_worst, question)
                yield PlannedCall(CallKind.PAIRWISE, question.subject, keys.key(question), worst)


def _worst(question: PairQuestion) -> tuple[int, int] | None:
    return worst_tokens(question.request())


class PairReplay:
    """Replays the verdicts on pairs from a cassette.

    Args:
        cassette: The recordings.
    """

    mode: str = CacheMode.REPLAY.value

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._keys = PairKeys()

    def judged(self, panel: Panel, pairs: Pairs) -> Iterator[JudgedPair]:
        """What becomes of each pair, in their order."""
        for case in pairs:
            for row in case.rows:
                questions = panel.questions(case, row)
                yield judged_pair(case, row, questions, list(map(self._reply, questions)))

    def _reply(self, question: PairQuestion) -> Heard | ProctorError:
        found = self._cassette.find(self._keys.key(question))
        if found is not None:
            return Heard(found, asked=False)
        why = explain_miss(
            self._cassette, question.subject, as_call(question), kind=CallKind.PAIRWISE
        )
        return CassetteError(
            f"no recording of the judge `{question.subject.model.ref}` for a pair: {why}",
            code="P6402",
            hint="the same command with `--cache record` records it",
        )
