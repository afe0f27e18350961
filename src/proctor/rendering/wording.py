"""Numbers, values and results in words, the same in every format; data in them is escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from proctor.case_results import judged_expectations
from proctor.records import (
    BUILD_ONLY,
    EXPECTATIONS,
    CacheReport,
    CaseResult,
    Check,
    Cost,
    Counts,
    ExpectationResult,
    Json,
    Outcome,
    Severity,
    SubjectReport,
    SuiteReport,
    Tokens,
    Vote,
    encode_json,
)
from proctor.rendering.escaping import terminal_text
from proctor.report_protocols import Cases
from proctor.statistics import is_barely_passing, is_flaky, percent

VALUE_LENGTH = 200
REASON_LENGTH = 400
MESSAGE_LENGTH = 1_000
SHOWN_REPEATS = 20
"""How many repeats of a subject are shown unless all are asked for."""

_SHOWN_RANGES = 8

_JSON_ESCAPE = re.compile(r"\\(?:u00([0-9a-f]{2})|.)")
_OMITTED = {"kind", "reason", "original_bytes"}
"""What stands in evidence for a value that is too large to keep."""

_NOT_JSON = "not_json: "
"""Begins why a reply is none; what follows says the same in words."""


def number_text(value: float, *, digits: int = 6) -> str:
    """A number with at most so many digits, which is never rounded to a whole one it is not.

    Example:
        >>> number_text(1 / 3), number_text(1.0), number_text(0.99999999)
        ('0.333333', '1', '0.99999999')
    """
    short = format(value, f".{digits}g")
    return repr(value) if float(short).is_integer() and float(short) != value else short


def share_text(value: float | None) -> str:
    """A share of 1 with four digits, `n/a` when there is none."""
    return "n/a" if value is None else number_text(value, digits=4)


def money_text(usd: float) -> str:
    """An amount of USD in plain digits, which is never shown as 0 when it is not.

    Example:
        >>> money_text(0.003424), money_text(12), money_text(0.00000004)
        ('$0.003424', '$12', '$4e-08')
    """
    if usd and not 5e-7 <= usd < 1e12:
        return f"${usd:.2g}"
    return f"${usd:.6f}".rstrip("0").rstrip(".")


def shortened(text: str, limit: int) -> str:
    """Data, escaped for a terminal and cut to about `limit` characters, saying how long it was."""
    safe = terminal_text(text[: limit + 1])
    if len(text) <= limit and len(safe) <= limit:
        return safe
    return f"{safe[:limit]}... ({len(text):,} characters)"


def value_text(value: Json) -> str:
    r"""A value as JSON, but with controls spelled as everywhere else; escaped and shortened.

    Example:
        >>> print(value_text({"text": "\x1b[31m\n"}))
        {"text":"\x1b[31m\n"}
    """
    if isinstance(value, dict) and value.keys() == _OMITTED and value["kind"] == "omitted":
        size = value["original_bytes"]
        if isinstance(size, int):
            return f"a value of {size:,} bytes"
    text = encode_json(value).decode("utf-8")
    return shortened(_JSON_ESCAPE.sub(_as_terminal_spells_it, text), VALUE_LENGTH)


def _as_terminal_spells_it(escape: re.Match[str]) -> str:
    return escape[0] if escape[1] is None else f"\\x{escape[1]}"


def check_text(check: Check) -> str:
    """What is wrong with an answer by one check, escaped.

    `expected` and `got` of the evidence say it best; without both, the reason is said as well.
    """
    outcome = "" if check.outcome is Outcome.FAILED else f" {check.outcome.value}"
    mild = " (warning)" if check.severity is Severity.WARN else ""
    said = _judgement(check) if check.votes else _explanation(check)
    return f"{terminal_text(check.id)}{outcome}{mild}: {said}"


def vote_texts(votes: Sequence[Vote]) -> Iterator[str]:
    """What judges say of an answer, those together that say the same; escaped."""
    is_panel = len({vote.model for vote in votes}) > 1
    said_by = Counter(
        (vote.verdict, vote.reason, vote.model if is_panel else None) for vote in votes
    )
    for (verdict, reason, model), count in said_by.items():
        text = "no verdict" if verdict is None else terminal_text(verdict)
        if model is not None:
            text += f" by {terminal_text(model)}"
        if count > 1:
            text += f" ({count} votes)"
        if reason:
            said = reason if verdict is not None else _code_in_words(reason.removeprefix(_NOT_JSON))
            text += f": {shortened(said, REASON_LENGTH)}"
        yield text


def _judgement(check: Check) -> str:
    """What judges decided together, and how many of them say pass."""
    passed = sum(vote.verdict == "pass" for vote in check.votes)
    counted = f"{passed} of {len(check.votes)} votes pass"
    if check.reason is None:
        return counted
    said = terminal_text(_code_in_words(check.reason))
    return said if len(check.votes) == 1 else f"{said}, {counted}"


def _code_in_words(reason: str) -> str:
    code, colon, rest = reason.partition(":")
    return f"{code.replace('_', ' ')}{colon}{rest}"


def _explanation(check: Check) -> str:
    evidence = check.evidence or {}
    sides = []
    if "expected" in evidence:
        sides.append(f"expected {value_text(evidence['expected'])}")
    if "got" in evidence:
        sides.append(f"got {value_text(evidence['got'])}")
    code, _, rest = (check.reason or "no reason given").partition(": ")
    path = evidence.get("path")
    place = path if isinstance(path, str) else rest
    if code != "not_equal" or len(sides) < 2:
        sides.insert(0, terminal_text(code.replace("_", " ")))
    issues = evidence.get("issues")
    if isinstance(issues, list) and issues and isinstance(issues[0], dict):
        sides.append(shortened(str(issues[0].get("message", "")), VALUE_LENGTH))
    said = ", ".join(sides)
    if evidence.get("skipped") is True:
        said += " in an earlier row, so it was not run"
    return f"{shortened(place, VALUE_LENGTH)}: {said}" if place else said


class Finding(NamedTuple):
    """One thing that is wrong with a case, and what judges say of it; escaped."""

    text: str
    votes: tuple[str, ...] = ()


_Row = tuple[str | None, int]
"""The scenario of a row, None when it has none that a reader knows of, and its repeat."""


def case_findings(case: CaseResult) -> list[Finding]:
    """What is wrong with the rows of a case, each thing once with the rows it is true of.

    Then what is expected of its builds and is not so. Warnings come last; rows that passed have
    them as well.
    """
    found: dict[Finding, list[_Row]] = {}
    mild: dict[Finding, list[_Row]] = {}
    for row in case.rows:
        place = None if row.scenario == BUILD_ONLY else row.scenario, row.repeat
        if row.error is not None:
            message = shortened(row.error.message, MESSAGE_LENGTH)
            said = Finding(f"{terminal_text(row.error.code)}: {message}")
            found.setdefault(said, []).append(place)
        for check in row.checks:
            if check.outcome is not Outcome.PASSED:
                wrong = mild if check.severity is Severity.WARN else found
                finding = Finding(check_text(check), tuple(vote_texts(check.votes)))
                wrong.setdefault(finding, []).append(place)
    for one in judged_expectations(case):
        if one.outcome is not Outcome.PASSED:
            finding = Finding(_expectation(one), tuple(vote_texts(one.votes)))
            found.setdefault(finding, []).append((None, one.repeat))
    found |= mild
    repeats = {row.repeat for row in case.rows}
    named = ((_rows(rows, repeats), one) for one, rows in found.items())
    return [Finding(f"{rows}: {one.text}" if rows else one.text, one.votes) for rows, one in named]


def _expectation(found: ExpectationResult) -> str:
    """What became of something that is expected of a build."""
    said = f"expectation {found.outcome.value}: {value_text(found.text)}"
    if len(found.votes) < 2:
        return said
    passed = sum(vote.verdict == "pass" for vote in found.votes)
    return f"{said}, {passed} of {len(found.votes)} votes pass"


def _rows(rows: Sequence[_Row], repeats: Collection[int]) -> str:
    """Rows of a case by their scenarios and repeats, as far as there are several."""
    by_scenario: dict[str | None, list[int]] = {}
    for scenario, repeat in rows:
        by_scenario.setdefault(scenario, []).append(repeat)
    parts = []
    for scenario, numbers in by_scenario.items():
        name = "" if scenario is None else f"scenario {terminal_text(scenario)}"
        several = _repeats(numbers) if len(repeats) > 1 else ""
        parts.append(" ".join(filter(None, (name, several))))
    shown = ", ".join(filter(None, parts[:_SHOWN_RANGES]))
    more = len(parts) - _SHOWN_RANGES
    return f"{shown} and {more} more" if more > 0 else shown


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Findings in lines, the votes of judges indented below what they are about."""
    return [line for one in findings for line in (one.text, *(f"  {vote}" for vote in one.votes))]


def _repeats(numbers: Sequence[int]) -> str:
    """Rising numbers of repeats, neighbours drawn together."""
    if len(numbers) == 1:
        return f"repeat {numbers[0]}"
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    shown = ranges[:_SHOWN_RANGES]
    text = ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in shown)
    more = len(numbers) - sum(high - low + 1 for low, high in shown)
    return f"repeats {text} and {more} more" if more else f"repeats {text}"


def passed_text(case: CaseResult) -> str | None:
    """How many rows of a repeated case passed; None for a case of one row."""
    rows = len(case.rows)
    if rows == 1:
        return None
    passed = sum(row.outcome is Outcome.PASSED for row in case.rows)
    measured = passed + sum(row.outcome is Outcome.FAILED for row in case.rows)
    text = f"passed {passed}/{measured}"
    return text if measured == rows else f"{text} ({measured} of {rows} measured)"


def repeats_text(subject: SubjectReport, cases: Cases, *, limit: int | None) -> Iterator[str]:
    """What repeats say of a subject; nothing when rows were not repeated.

    Args:
        subject: The subject.
        cases: Its cases.
        limit: How many repeats are shown one by one, None for all.
    """
    if len(subject.per_repeat) < 2:
        return
    rates = [percent(each.passed, each.measured) for each in subject.per_repeat[:limit]]
    text = " / ".join("n/a" if rate is None else f"{rate}%" for rate in rates)
    more = len(subject.per_repeat) - len(rates)
    yield f"per repeat: {text} and {more} more" if more else f"per repeat: {text}"
    at, hat = subject.pass_at_k[-1], subject.pass_hat_k[-1]
    text = f"pass@{at.k} {share_text(at.value)}, pass^{hat.k} {share_text(hat.value)}"
    if at.not_available:
        whole = " in repeats that were run whole" if subject.counts.not_run else ""
        have = f"{_units(subject)} have {at.k} measured rows{whole}"
        text += f" ({at.units} of {at.units + at.not_available} {have})"
    flaky, barely = unsteady(subject, cases)
    yield f"{text}, {flaky} flaky, {barely} barely passing"


def _units(subject: SubjectReport) -> str:
    """What pass@k of a subject is about: its cases, unless they have parts that are counted."""
    counts = subject.counts
    is_whole = counts.rows == counts.cases * len(subject.per_repeat)
    return "cases" if is_whole and EXPECTATIONS not in subject.checks else "units"


def unsteady(subject: SubjectReport, cases: Cases) -> tuple[int, int]:
    """How many units are flaky, and how many are barely passing."""
    flaky = barely = 0
    # Rows of both failed, so their cases failed, and no other has to be read. But no row counts
    # what is expected of a build.
    every = EXPECTATIONS in subject.checks and subject.checks[EXPECTATIONS].failed
    for case in cases if every else cases.having(Outcome.FAILED):
        for unit in case.units:
            flaky += is_flaky(unit.passed, unit.n)
            barely += is_barely_passing(unit.passed, unit.n)
    return flaky, barely


def counts_text(counts: Counts) -> str:
    """Rows by outcome, with how many could be measured when it was not all of them."""
    measured = counts.passed + counts.failed
    text = (
        f"passed {counts.passed}/{measured}, failed {counts.failed}, "
        f"errored {counts.errored}, unmeasured {counts.unmeasured}"
    )
    if counts.not_run:
        text += f", not run {counts.not_run}"
    return text if measured == counts.rows else f"{text} ({measured} of {counts.rows} measured)"


def headline(counts: Iterable[Counts]) -> str:
    """All rows of a report by outcome; the parts add up to the whole."""
    totals = {"passed": 0, "failed": 0, "errored": 0, "unmeasured": 0, "not_run": 0, "rows": 0}
    for each in counts:
        for name in totals:
            totals[name] += getattr(each, name)
    rows, passed = totals.pop("rows"), totals.pop("passed")
    others = "".join(
        f", {count} {name.replace('_', ' ')}" for name, count in totals.items() if count
    )
    return f"{passed} of {rows} {'row' if rows == 1 else 'rows'} passed{others}"


def checks_text(subject: SubjectReport) -> str | None:
    """The checks that did not always pass, or None when all did; escaped."""
    parts = []
    for id_, counts in subject.checks.items():
        others = [
            f"{getattr(counts, name)} {name}"
            for name in ("errored", "unmeasured")
            if getattr(counts, name)
        ]
        if counts.failed or others:
            said = f"{terminal_text(id_)} passed {counts.passed}/{counts.passed + counts.failed}"
            parts.append(f"{said} ({', '.join(others)})" if others else said)
    return "checks: " + ", ".join(parts) if parts else None


def warned_checks(subject: SubjectReport, cases: Cases) -> Iterator[tuple[str, str]]:
    """The checks of severity `warn` that failed, each with how often; not escaped."""
    unknown = {id_ for id_, counts in subject.checks.items() if counts.failed}
    mild: set[str] = set()
    # A check is as severe in one row as in the next, so most reports are known after a few cases.
    for case in cases if unknown else ():
        for check in (check for row in case.rows for check in row.checks):
            if check.outcome is Outcome.FAILED and check.id in unknown:
                unknown.remove(check.id)
                if check.severity is Severity.WARN:
                    mild.add(check.id)
        if not unknown:
            break
    for id_, counts in subject.checks.items():
        if id_ in mild:
            rows = counts.passed + counts.failed
            yield id_, f"failed in {counts.failed} of {rows} {'row' if rows == 1 else 'rows'}"


def judges_text(suite: SuiteReport) -> Iterator[tuple[str, str]]:
    """For each assertion that is judged, how often and how clearly it was; escaped."""
    if suite.judge is None:
        return
    for one in suite.judge["assertions"]:
        measured, clear = one["measured"], one["unanimous"]
        text = f"{measured} of {one['total']} measured"
        share = percent(clear, measured)
        if suite.judge["runs"] > 1 and share is not None:
            text += f", {share}% unanimous ({clear} of {measured})"
        yield terminal_text(one["id"]), text


def who_judges(suite: SuiteReport) -> str | None:
    """Who judges the answers of a suite, and how often each; None when nobody does; escaped."""
    if suite.judge is None:
        return None
    runs, models = suite.judge["runs"], ", ".join(map(terminal_text, suite.judge["models"]))
    return f"judged by {models}, {runs} {'vote' if runs == 1 else 'votes'} each"


def cost_text(costs: Iterable[Cost]) -> str:
    """What the calls cost when they were recorded, and what was paid now.

    What judges cost is said apart when it is anything.
    """
    costs = list(costs)
    unknown = sum(cost.unknown for cost in costs)
    replayed = _known(cost.replayed for cost in costs)
    paid = _known(cost.paid for cost in costs)
    parts = [f"{money_text(sum(replayed))} recorded"] if replayed else []
    if unknown:
        parts.append(f"unknown for {_calls(unknown)}")
    if paid:
        parts.append(f"{money_text(sum(paid))} paid now")
    judges = sum(_known(cost.judges for cost in costs))
    if judges:
        answers = sum(_known(cost.answers for cost in costs))
        parts.append(f"{money_text(answers)} for answers, {money_text(judges)} for judges")
    return "cost " + ", ".join(parts)


def tokens_text(tokens: Iterable[Tokens], *, are_judged: bool = False) -> str:
    """Tokens of all answers whose usage is known; those of judges are not among them."""
    tokens = list(tokens)
    unknown = sum(each.unknown for each in tokens)
    parts = []
    for name, label in (("input", "in"), ("output", "out"), ("cached", "cached")):
        known = _known(getattr(each, name) for each in tokens)
        if known:
            parts.append(f"{sum(known):,} {label}")
    if parts and len(parts) < 3:
        parts.append("cached unknown")
    if unknown:
        parts.append(f"unknown for {_calls(unknown)}")
    return ("tokens of answers " if are_judged else "tokens ") + ", ".join(parts)


def cache_text(caches: Iterable[CacheReport]) -> str:
    """How the answers came about."""
    caches = list(caches)
    replayed = sum(cache.replayed for cache in caches)
    recorded = sum(cache.recorded for cache in caches)
    if any(cache.live for cache in caches):
        return f"replayed {replayed}, recorded {recorded}"
    return f"replayed {replayed}, nothing was called"


def _known(numbers: Iterable[float | None]) -> list[float]:
    return [number for number in numbers if number is not None]


def _calls(count: int) -> str:
    return f"{count} call" if count == 1 else f"{count} calls"
