"""The kind `similarity`: the answer, or a part of it, is like the expected text.

The metrics are libraries of their own, installed with the extras `similarity` and `bleu`. They are
loaded when the first answer is compared, and where one is missing there is no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar, Final, Literal, cast

from msgspec import UNSET, Struct

from proctor.assertions.answers import Failure, NoVerdict
from proctor.assertions.base import (
    AnswerAssertion,
    ComparingSpec,
    Expectation,
    cannot_fail,
    invalid,
)
from proctor.assertions.matching import spell
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json

MAX_LENGTH: Final = 20_000
"""Characters of a text that is compared; the time grows with the product of both lengths."""

_TOLERANCE: Final = 1e-9
_WORD: Final = re.compile(r"[^\W_]+")

MetricName = Literal["levenshtein", "jaro-winkler", "rouge-l", "bleu"]
Metric = Callable[[str, str], float | None]
"""From the expected text and that of the answer to a score from 0 to 1, None for no score."""


class SimilaritySpec(ComparingSpec, frozen=True, kw_only=True):
    """The fields of `similarity`.

    Args:
        metric: How the texts are compared. `bleu` comes with the extra `bleu`, the others with
            `similarity`.
        min: The least score that passes, above 0 to 1.
    """

    metric: MetricName
    min: float


class Scored(Struct, frozen=True, gc=False):
    """A score; true when it is enough."""

    score: float
    is_enough: bool

    def __bool__(self) -> bool:
        return self.is_enough


class Similarity(AnswerAssertion[Scored]):
    """The score of the text against the expected one is at least `min`."""

    Spec: ClassVar[type[AssertionSpec]] = SimilaritySpec

    def __init__(self, spec: SimilaritySpec) -> None:
        super().__init__(spec)
        self._expectation = Expectation.of_spec(spec)
        self._fold = spec.fold
        self._metric: MetricName = spec.metric
        self._min = spec.min

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Similarity:
        """Make the assertion ready; no library is loaded.

        Raises:
            SuiteError: P6201 when `min` is above 1, or `value` is no text that can be compared;
                P6202 when `min` is 0 or less, which every score is.
        """
        spec = cast("SimilaritySpec", spec)
        if not spec.min > 0:
            raise cannot_fail("every score is at least `min`", "write a `min` above 0")
        if spec.min > 1:
            raise invalid("`min` is above 1, and no score is")
        similarity = Similarity(spec)
        fault = None if spec.value is UNSET else similarity._unfit(spec.value)
        if fault is not None:
            raise invalid(f"`value` {fault}")
        return similarity

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        lacking = self._expectation.lacks(case)
        if lacking is not None:
            return lacking
        fault = self._unfit(self._expectation.of(case))
        return None if fault is None else f"its expected value {fault}"

    def match(self, value: Json, case: Case) -> Scored | Failure:
        """The score, or why there is none."""
        got, expected = self._spell(value), self._spell(self._expectation.of(case))
        if got is None or expected is None:
            return Failure("not_text", self.place, self.evidence())
        longest = max(len(got), len(expected))
        if longest > MAX_LENGTH:
            evidence = self.evidence(characters=longest, limit=MAX_LENGTH)
            return NoVerdict("too_long", self.place, evidence)
        metric = metric_of(self._metric)
        if metric is None:
            extra = "bleu" if self._metric == "bleu" else "similarity"
            return NoVerdict("not_installed", f"proctor[{extra}]")
        score = metric(expected, got)
        if score is None:
            return NoVerdict("no_words", self.place, self.evidence())
        return Scored(score, score >= self._min - _TOLERANCE)

    def explain(self, value: Json, case: Case, result: Scored) -> Failure:
        """The score, with what was compared."""
        evidence = self.evidence(
            expected=self._expectation.of(case),
            got=value,
            metric=self._metric,
            score=result.score,
            min=self._min,
        )
        return Failure("similar" if result.is_enough else "not_similar", self.place, evidence)

    def _unfit(self, expected: Json) -> str | None:
        """Why nothing can be compared with this, or None."""
        text = self._spell(expected)
        if text is None:
            return "is not a text"
        return None if text.strip() else "is an empty text, which nothing is similar to"

    def _spell(self, value: Json) -> str | None:
        text = spell(value)
        return text if text is None or self._fold is None else self._fold(text)


@cache
def metric_of(name: MetricName) -> Metric | None:
    """A metric, None when its library is not installed."""
    try:
        return _METRICS[name]()
    except ImportError:
        return None


def words(text: str) -> Sequence[str]:
    """The words of a text as ROUGE compares them: runs of letters and digits, case-folded.

    Example:
        >>> words("The cat's 2 mats.")
        ['the', 'cat', 's', '2', 'mats']
    """
    return _WORD.findall(text.casefold())


def _levenshtein() -> Metric:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity


def _jaro_winkler() -> Metric:
    from rapidfuzz.distance import JaroWinkler

    return JaroWinkler.normalized_similarity


def _rouge_l() -> Metric:
    """The F measure of ROUGE-L: twice the longest common subsequence by the sum of the lengths."""
    from rapidfuzz.distance import Indel

    def score(expected: str, got: str) -> float | None:
        wanted = words(expected)
        return Indel.normalized_similarity(wanted, words(got)) if wanted else None

    return score


def _bleu() -> Metric:
    """Sentence BLEU with effective order and exponential smoothing, as sacrebleu defines it."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    bleu = BLEU(effective_order=True)

    def score(expected: str, got: str) -> float | None:
        points = bleu.sentence_score(got, [expected]).score
        for tokenizer in (Tokenizer13a, TokenizerRegexp):
            # It would keep the texts of 65,536 answers.
            tokenizer.__call__.cache_clear()
        # Logarithms differ in their last digit from machine to machine.
        return min(round(points / 100, 9), 1.0)

    return score


_METRICS: Final[dict[MetricName, Callable[[], Metric]]] = {
    "levenshtein": _levenshtein,
    "jaro-winkler": _jaro_winkler,
    "rouge-l": _rouge_l,
    "bleu": _bleu,
}
