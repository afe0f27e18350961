"""Numbers, values and results of checks in words, ready to be printed on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable

from proctor.records import (
    CacheReport,
    Check,
    Cost,
    Counts,
    Json,
    Outcome,
    Severity,
    SubjectReport,
    ThresholdReport,
    Tokens,
    encode_json,
)
from proctor.rendering.escaping import terminal_text

VALUE_LENGTH = 200
MESSAGE_LENGTH = 1_000

_JSON_ESCAPE = re.compile(r"\\(?:u00([0-9a-f]{2})|.)")
_AT_LEAST = frozenset({"minMeasured", "passRate"})


def number_text(value: float) -> str:
    """A number with at most six digits, which is never rounded to a whole one it is not.

    Example:
        >>> number_text(1 / 3), number_text(1.0), number_text(0.99999999)
        ('0.333333', '1', '0.99999999')
    """
    short = format(value, ".6g")
    return repr(value) if float(short).is_integer() and float(short) != value else short


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
    return f"{terminal_text(check.id)}{outcome}{mild}: {_explanation(check)}"


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


def threshold_text(threshold: ThresholdReport, *, name_subject: bool) -> str | None:
    """What is wrong with a threshold, or None when it is met; escaped."""
    if threshold.met:
        return None
    show = money_text if threshold.name == "maxCostUsd" else number_text
    bound = "at least" if threshold.name in _AT_LEAST else "at most"
    name = threshold.name
    if name_subject and threshold.subject is not None:
        name = f"{name} of {terminal_text(threshold.subject)}"
    if threshold.actual is None:
        return f"not available: {name}, {bound} {show(threshold.limit)} is asked for"
    actual, limit = show(threshold.actual), show(threshold.limit)
    if actual == limit:
        actual, limit = repr(threshold.actual), repr(threshold.limit)
    return f"not met: {name} is {actual}, {bound} {limit} is asked for"


def cost_text(costs: Iterable[Cost]) -> str:
    """What the calls cost when they were recorded, and what was paid now."""
    costs = list(costs)
    unknown = sum(cost.unknown for cost in costs)
    replayed = _known(cost.replayed for cost in costs)
    paid = _known(cost.paid for cost in costs)
    parts = [f"{money_text(sum(replayed))} recorded"] if replayed else []
    if unknown:
        parts.append(f"unknown for {_calls(unknown)}")
    if paid:
        parts.append(f"{money_text(sum(paid))} paid now")
    return "cost " + ", ".join(parts)


def tokens_text(tokens: Iterable[Tokens]) -> str:
    """Tokens of all calls whose usage is known."""
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
    return "tokens " + ", ".join(parts)


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
