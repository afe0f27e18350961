"""The scan of one dataset: what is read of a case, and what becomes of what is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, UnsetType

from proctor.config import ScanLevel
from proctor.errors import DatasetError, ProctorError
from proctor.records import Case, Finding, Json, Warn
from proctor.scanning.gates import ESCAPED, open_gate
from proctor.scanning.rules import Rule

_SHOWN: Final = 3
"""Places, and things found, that a message names."""


class ScanOptions(Struct, frozen=True, kw_only=True):
    """How a dataset is scanned.

    Args:
        path: The dataset, relative to the project root.
        levels: What a rule does when it finds something, by name; personal data stops.
        reasons: Why a rule is let through all the same, by name.
        inputs: The inputs that prompts declare. Their names may be shown.
        is_deep: Whether strings are read at any depth.
    """

    path: str
    levels: Mapping[str, ScanLevel] = {}
    reasons: Mapping[str, str] = {}
    inputs: frozenset[str] = frozenset()
    is_deep: bool = True


class _Hit:
    """What one rule found in a case, and where."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.places: list[str] = []
        self.found: list[str] = []

    def add(self, place: str, found: Sequence[str]) -> None:
        self.places += [] if place in self.places else [place]
        self.found += [one for one in found if one and one not in self.found]

    def text(self) -> str:
        """Where and what it is, in words that hold nothing of the case."""
        places = " and ".join(f"`{place}`" for place in self.places[:_SHOWN])
        found = ", ".join(self.found[:_SHOWN])
        more = len(self.found) - _SHOWN
        found += f" and {more} more" if more > 0 else ""
        return f"in {places}: {found}" if found else f"in {places}"


class _Seen(Struct):
    """What is known of a rule after some cases: where it found something first, and what."""

    rule: Rule
    first: Finding
    text: str
    cases: int = 0


class Scan:
    """Looks at every case of a dataset and remembers what was found, never the text.

    Args:
        rules: What to look for.
        options: How.
    """

    def __init__(self, rules: Sequence[Rule], options: ScanOptions) -> None:
        self.findings: list[Finding] = []
        self._options = options
        self._rules = [rule for rule in rules if options.levels.get(rule.name) != "off"]
        self._gates = tuple(rule.gate for rule in self._rules)
        self._may_find_in_raw = open_gate((*self._gates, ESCAPED))
        self._seen: dict[str, _Seen] = {}

    def stops(self, case: Case, line: int, raw: bytes | None = None) -> Sequence[ProctorError]:
        """Look at one case; what in it stops the run.

        Args:
            case: The case.
            line: Where it starts.
            raw: Everything that was read of it, in UTF-8. Where nothing can be found in that,
                nothing can be found in the case.
        """
        if raw is not None and not self._may_find_in_raw(raw.decode("utf-8")):
            return ()
        hits = self._hits(case)
        # A message that names the case would show what was found in its id.
        named = None if any("id" in hit.places for hit in hits) else case.id
        for hit in hits:
            self._remember(hit, line, named)
        return [self._stop(hit, line, named) for hit in hits if self._does_stop(hit.rule)]

    def warnings(self) -> list[Warn]:
        """What was found and does not stop the run, by rule."""
        return [
            Warn(seen.rule.code, self._warning(seen), f"{seen.first.file}:{seen.first.line}")
            for seen in self._seen.values()
            if not self._does_stop(seen.rule)
        ]

    def _hits(self, case: Case) -> list[_Hit]:
        """What was found in a case, in the order of the rules."""
        hits: dict[str, _Hit] = {}
        may_find = open_gate(self._gates)
        for place, text in _texts(case, self._options):
            if not may_find(text):
                continue
            for rule in self._rules:
                found = list(rule.find(text)) if open_gate((rule.gate,))(text) else []
                if found:
                    hits.setdefault(rule.name, _Hit(rule)).add(place, found)
        return [
            hits[name] for name in dict.fromkeys(rule.name for rule in self._rules) if name in hits
        ]

    def _does_stop(self, rule: Rule) -> bool:
        level = self._options.levels.get(rule.name, "stop")
        return level == "stop" and rule.name not in self._options.reasons

    def _remember(self, hit: _Hit, line: int, named: str | None) -> None:
        rule = hit.rule
        finding = Finding(rule.name, rule.code, self._options.path, line, named)
        self.findings.append(finding)
        if rule.name not in self._seen:
            self._seen[rule.name] = _Seen(rule, finding, hit.text())
        self._seen[rule.name].cases += 1

    def _stop(self, hit: _Hit, line: int, named: str | None) -> ProctorError:
        who = "this case" if named is None else f"case `{named}`"
        if hit.rule.is_personal:
            hint = "replace it, or write `allowPii` with a reason into the suite's `dataset`"
        else:
            hint = f"take it out, or `allow` {hit.rule.name} in the suite's `dataset`"
        return DatasetError(
            f"{who}: {hit.rule.label} {hit.text()}",
            code=hit.rule.code,
            hint=hint,
            where=f"{self._options.path}:{line}",
        )

    def _warning(self, seen: _Seen) -> str:
        cases = "1 case" if seen.cases == 1 else f"{seen.cases} cases"
        reason = self._options.reasons.get(seen.rule.name)
        let_through = "" if reason is None else f"; let through: {reason}"
        return f"{seen.rule.label} in {cases}, here {seen.text}{let_through}"


def _texts(case: Case, options: ScanOptions) -> Iterator[tuple[str, str]]:
    """Every text of a case that is read, with a name of its place that may be shown."""
    yield "id", case.id
    for name, value in case.inputs.items():
        is_declared = name in options.inputs
        place = f"inputs.{name}" if is_declared else "inputs"
        if not is_declared:
            yield place, name
        for text in _strings(value) if options.is_deep else _strings_at_top(value, within=False):
            yield place, text
    if not isinstance(case.expected, UnsetType):
        whole = case.expected
        for text in _strings(whole) if options.is_deep else _strings_at_top(whole, within=True):
            yield "expected", text
    for place in ("tags", "context", "dos", "donts", "expectations", "conversation"):
        for text in _strings(getattr(case, place)):
            yield place, text
    for scenario in case.scenarios:
        for text in _strings([scenario.name, scenario.inputs, scenario.expected]):
            yield "scenarios", text


def _strings(value: Json) -> Iterator[str]:
    """Every string in a value, the names of members too."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += one
            left += one.values()
        elif isinstance(one, list):
            left += one


def _strings_at_top(value: Json, *, within: bool) -> Iterator[str]:
    """A value that is a string and, `within` it, its members and the strings of its lists."""
    members: list[Json] = [value]
    if within and isinstance(value, dict):
        members = list(value.values())
    for member in members:
        for one in member if within and isinstance(member, list) else [member]:
            if isinstance(one, str):
                yield one
