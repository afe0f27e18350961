r"""The kind `choice`: of several options, the answer chooses the expected one.

An option counts where it stands alone: `B`, `(B)`, `**B**`, `$B$`, `B.`, `\boxed{B}`, `Answer: B`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, cast

from msgspec import UNSET, Struct

from proctor.assertions.answers import Failure
from proctor.assertions.base import AnswerAssertion, ComparingSpec, Expectation, invalid
from proctor.assertions.matching import Fold, spell
from proctor.protocols import Scope
from proctor.records import AssertionSpec, Case, Json

MAX_OPTIONS: Final = 100

_UNSPACED: Final = "\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
"""Scripts that put no space between words, or none before an ending."""
_LETTER: Final = r"[^\W_]"
_SPACED_LETTER: Final = rf"(?![{_UNSPACED}]){_LETTER}"
_JOINT: Final = "['\u2019-]"


class ChoiceSpec(ComparingSpec, frozen=True, kw_only=True):
    """The fields of `choice`.

    Args:
        options: What can be chosen, 2 to 100 different texts.
    """

    options: list[Json]


class Chosen(Struct, frozen=True, gc=False):
    """The option that was chosen; true when it is the expected one."""

    option: str
    is_right: bool

    def __bool__(self) -> bool:
        return self.is_right


class Choice(AnswerAssertion[Chosen]):
    """The one option that stands in the answer is the expected one.

    Two different options, or none, are no choice, and fail also when negated.
    """

    Spec: ClassVar[type[AssertionSpec]] = ChoiceSpec

    def __init__(self, spec: ChoiceSpec, options: Sequence[str]) -> None:
        super().__init__(spec)
        self._expectation = Expectation.of_spec(spec)
        self._fold = spec.fold
        self._names = frozenset(options)
        self._options = Options(options)

    @staticmethod
    def compile(spec: AssertionSpec, scope: Scope) -> Choice:
        """Make the assertion ready.

        Raises:
            SuiteError: P6201 when there are not at least two different options, one is empty, or
                `value` is none of them.
        """
        spec = cast("ChoiceSpec", spec)
        if not 2 <= len(spec.options) <= MAX_OPTIONS:
            raise invalid(
                f"`options` has {len(spec.options)} of the 2 to {MAX_OPTIONS} there may be"
            )
        options = [text for option in spec.options if (text := _spell(option, spec.fold))]
        if len(options) < len(spec.options):
            raise invalid("`options`: each must be a text that is not empty")
        if len(set(options)) < len(options):
            raise invalid("`options`: two of them are the same")
        choice = Choice(spec, options)
        if spec.value is not UNSET and _spell(spec.value, spec.fold) not in choice._names:
            raise invalid("`value` is none of `options`, so no answer passes")
        return choice

    def needs(self, case: Case) -> str | None:
        """What this case lacks for the assertion to be asked, as a sentence, or None."""
        lacking = self._expectation.lacks(case)
        if lacking is not None:
            return lacking
        is_option = _spell(self._expectation.of(case), self._fold) in self._names
        return None if is_option else "its expected value is none of the options"

    def match(self, value: Json, case: Case) -> Chosen | Failure:
        """Which option is chosen, and whether it is the expected one."""
        text = _spell(value, self._fold)
        if text is None:
            return Failure("not_text", self.place, self.evidence())
        chosen = self._options.standing_in(text)
        if len(chosen) != 1:
            code = "two_choices" if chosen else "no_choice"
            return Failure(code, self.place, self.evidence(got=value))
        (option,) = chosen
        return Chosen(option, option == _spell(self._expectation.of(case), self._fold))

    def explain(self, value: Json, case: Case, result: Chosen) -> Failure:
        """That another option was chosen, or the expected one."""
        if result.is_right:
            return Failure("chosen", self.place, self.evidence(got=result.option))
        evidence = self.evidence(expected=self._expectation.of(case), got=result.option)
        return Failure("other_choice", self.place, evidence)


class Options:
    r"""Finds options that stand alone in a text.

    A letter or digit next to an option makes it part of a word, also with an apostrophe or dash
    between them; `1` in `1.5` and `-1` does not stand alone either. A longer option hides the
    shorter ones within it. The time taken grows with the length of the text, whatever it holds.

    Example:
        >>> Options(["A", "B"]).standing_in(r"So A-levels aside, the answer is \boxed{B}.")
        ['B']
        >>> Options(["relevant", "not relevant"]).standing_in("It is not relevant.")
        ['not relevant']
    """

    def __init__(self, options: Sequence[str]) -> None:
        longest_first = sorted(options, key=len, reverse=True)
        self._options = [
            _Option(option, any(other in option for other in longest_first[place + 1 :]))
            for place, option in enumerate(longest_first)
        ]

    def standing_in(self, text: str) -> list[str]:
        """The options that stand alone in the text; no more than two are looked for."""
        found: list[str] = []
        for option in self._options:
            spans = option.spans(text)
            first = next(spans, None)
            if first is None:
                continue
            found.append(option.text)
            if len(found) == 2:
                break
            if option.hides:
                text = _without(text, [first, *spans])
        return found


class _Option:
    def __init__(self, text: str, hides: bool) -> None:
        self.text = text
        self.hides = hides
        """Whether another option is within this one."""
        self._before = re.compile(rf"(?:{_letters(text[0])}{_JOINT}?{_figure_before(text)})\Z")
        self._after = re.compile(rf"{_JOINT}?{_letters(text[-1])}{_figure_after(text)}")

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the option stands alone."""
        start = text.find(self.text)
        while start >= 0:
            end = start + len(self.text)
            alone = not (
                self._before.search(text[max(0, start - 2) : start])
                or self._after.match(text[end : end + 2])
            )
            if alone:
                yield start, end
            start = text.find(self.text, end if alone else start + 1)


def _letters(edge: str) -> str:
    """What makes a word together with this character, as a pattern; a symbol has nothing."""
    if not edge.isalnum():
        return r"(?!)"
    return _LETTER if re.match(f"[{_UNSPACED}]", edge) else _SPACED_LETTER


def _figure_before(text: str) -> str:
    return r"|[0-9][.,]|[-\u2212]" if text[0].isdigit() else ""


def _figure_after(text: str) -> str:
    return r"|[.,][0-9]" if text[-1].isdigit() else ""


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with a character that is part of no word in place of each span."""
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces.append(text[position:start])
        position = end
    return "\0".join([*pieces, text[position:]])


def _spell(value: Json, fold: Fold | None) -> str | None:
    text = spell(value)
    return text if text is None or fold is None else fold(text)
