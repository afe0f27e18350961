"""A report that has something of everything a report can hold."""

from __future__ import annotations

from msgspec.structs import replace
from sample_reports import (
    FAILED,
    UNMEASURED,
    case,
    check,
    facts,
    judge_facts,
    judged,
    miss,
    report,
    row,
    subject,
    wrong,
)

from proctor.records import (
    AllowedPii,
    AllowedRule,
    Finding,
    Severity,
    Thresholds,
    ToolCall,
    Warn,
)


def _answered(one, **changes):
    return replace(one, answer=replace(one.answer, **changes))


def rich_report(*, text="The order is late.", outcome=wrong):
    """One suite of two repeats, judged, with findings, warnings and thresholds.

    Args:
        text: What the first case is answered.
        outcome: Makes its check.
    """
    mild = check("style", FAILED, reason="too_long: reply", severity=Severity.WARN)
    fine = judged("ppf", reason="majority_passes")
    cases = [
        (
            replace(
                case("late", inputs={"review": "Late.", "more": {"a": [1]}}), tags=["hard", "x"]
            ),
            [
                _answered(
                    row(outcome(), fine, mild, text=text),
                    tool_calls=[ToolCall("c1", "look_up", {"id": 7}), ToolCall(None, "raw", "x")],
                    transcript=[{"role": "user", "text": "hi"}],
                    debug={"trace": "t"},
                ),
                replace(miss(), repeat=2, category="provider", attribution="framework"),
            ],
        ),
        (
            case("open", expected={"label": "negative", "n": 2}),
            [
                row(
                    check("tone", UNMEASURED, reason="no_verdict"), text='{"label": "bad", "n": 2}'
                ),
                row(check(), fine, mild, text='{"label": "negative", "n": 2}', repeat=2),
            ],
        ),
        (case("good"), [row(check(), text="fine", cost_usd=None), row(check(), repeat=2)]),
    ]
    options = facts(
        cases=3,
        repeats=2,
        ids=("label", "tone", "style"),
        judge=judge_facts(models=["local/j", "local/k"]),
        thresholds=Thresholds(pass_rate=0.9, max_cost_usd=0.5),
        warnings=[
            Warn("P6216", "not fenced", "prompts/judge.yaml:3"),
            Warn(None, "mind this", None),
        ],
    )
    found = Finding("email", "P6112", "evals/cases.jsonl", 7, "late")
    dataset = replace(
        options.dataset,
        allow=[AllowedRule(rule="email", reason="made up")],
        allow_pii=AllowedPii(reason="test data"),
        findings=[found, replace(found, case=None)],
    )
    return report((replace(options, dataset=dataset), (subject(), cases)))
