"""What `proctor judge check` found, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from proctor.judging.findings import AssertionFindings, Flip, JudgeFindings, OrderFindings
from proctor.judging.labels import FEWEST_LABELS, FEWEST_OF_EITHER, AgreementFigures, Disagreement
from proctor.records import JsonObject, Label, PassRate, Verdict
from proctor.rendering.escaping import terminal_line, terminal_text
from proctor.rendering.report_json import indented
from proctor.rendering.threshold_wording import threshold_text
from proctor.rendering.wording import (
    MESSAGE_LENGTH,
    share_text,
    shortened,
    vote_texts,
)

_UNUSED = ("stale", "disputed", "unmeasured", "not_judged")


def render_findings_json(suites: Sequence[JudgeFindings], *, exit_code: int) -> bytes:
    """The findings as indented JSON."""
    return indented({"exit_code": exit_code, "suites": suites}) + b"\n"


def render_findings(suites: Sequence[JudgeFindings], *, in_both_orders: bool) -> bytes:
    """The findings for a terminal or a log; data is escaped.

    Args:
        suites: What was found.
        in_both_orders: Whether judges were asked in reverse order too.
    """
    lines = [
        f"{terminal_line(line)}\n"
        for suite in suites
        for line in _suite(suite, in_both_orders=in_both_orders)
    ]
    return "".join(lines).encode("utf-8")


def _suite(suite: JudgeFindings, *, in_both_orders: bool) -> Iterator[str]:
    says_something = suite.thresholds or suite.verdict is not Verdict.PASSED
    yield f"{suite.suite}: {suite.verdict.value}" if says_something else suite.suite
    for one in suite.assertions:
        yield from _assertion(one, suite, in_both_orders=in_both_orders)
    for threshold in suite.thresholds:
        wrong = threshold_text(threshold, name_subject=False)
        if wrong is not None:
            yield f"  {wrong}"
    for error in suite.errors:
        rows = "1 row" if error.rows == 1 else f"{error.rows} rows"
        message = shortened(error.message, MESSAGE_LENGTH)
        yield f"  errored  {rows}, {terminal_text(error.code)}: {message}"


def _assertion(
    one: AssertionFindings, suite: JudgeFindings, *, in_both_orders: bool
) -> Iterator[str]:
    found = one.agreement
    yield f"  {terminal_text(one.id)}: {agreement_text(found)}"
    for people, passes, fails, rate, name in (
        ("pass", found.both_pass, found.only_people_pass, found.tpr, "TPR"),
        ("fail", found.only_judge_passes, found.both_fail, found.tnr, "TNR"),
    ):
        counted = f"the judges pass {passes} and fail {fails}"
        yield f"    of {rate.measured} that people {people}, {counted}: {name} {_rate(rate)}"
    unused = [
        f"{count} {name.replace('_', ' ')}" for name in _UNUSED if (count := getattr(found, name))
    ]
    if unused:
        yield f"    labels not used: {', '.join(unused)}"
    if not found.enough:
        yield (
            f"    too few labels: {found.agreement.measured} of {FEWEST_LABELS}, with "
            f"{found.tpr.measured} pass and {found.tnr.measured} fail of {FEWEST_OF_EITHER} each"
        )
    for disagreement in one.disagreements:
        yield from _disagreement(disagreement, suite)
    if one.order is not None:
        yield from _order(one.order, suite)
    elif in_both_orders:
        yield "    the rubric shows one fenced section, so there is no order to reverse"


def agreement_text(found: AgreementFigures) -> str:
    """How many answers judges and people agree on, and how much more that is than chance."""
    rate, kappa = found.agreement, share_text(found.kappa)
    counted = f"{rate.passed}/{rate.measured} answers"
    return f"agrees with people on {counted}, {_rate(rate)}, kappa {kappa}"


def reported_agreement_text(figures: JsonObject) -> str:
    """The same of what stands in a report."""
    return agreement_text(msgspec.convert(figures, AgreementFigures))


def _rate(rate: PassRate) -> str:
    low, high = (share_text(bound) for bound in rate.interval)
    return f"{share_text(rate.rate)} [{low}, {high}]"


def _disagreement(one: Disagreement, suite: JudgeFindings) -> Iterator[str]:
    label = one.label
    people = "people say" if label.by is None else f"{terminal_text(label.by)} says"
    note = "" if label.note is None else f" ({shortened(label.note, MESSAGE_LENGTH)})"
    place = _place(label, suite)
    yield f"    {place}: {people} {label.verdict}{note}, the judges {one.judge}"
    for said in vote_texts(one.votes):
        yield f"      {said}"


def _order(order: OrderFindings, suite: JudgeFindings) -> Iterator[str]:
    missing = f", {order.not_compared} not compared" if order.not_compared else ""
    counted = f"{len(order.flips)} of {order.compared} verdicts flip"
    yield f"    in reverse order {counted}{missing}"
    for flip in order.flips:
        yield f"      {_place(flip, suite)}: {flip.verdict} -> {flip.reversed}"


def _place(of: Label | Flip, suite: JudgeFindings) -> str:
    """The case, with what is needed to tell its rows apart."""
    name = terminal_text(of.case)
    if len(suite.subjects) > 1:
        name += f" by {terminal_text(of.subject or '')}"
    return name if suite.repeats == 1 else f"{name}, repeat {of.repeat}"
