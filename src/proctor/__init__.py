"""Proctor evaluates prompts: offline by default, the same bytes every time.

Everything public is named here and loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.version import VERSION as __version__

if TYPE_CHECKING:
    from msgspec import UNSET

    from proctor.candidates.aborting import AbortController, AbortSignal
    from proctor.candidates.evaluating import (
        evaluate_prompt_candidates,
        evaluate_prompt_candidates_async,
    )
    from proctor.candidates.scorers import (
        AttributeEqualityScorer,
        ContainsScorer,
        JsonSchemaScorer,
        RegexScorer,
        deterministic_scorer,
        evaluate_deterministic_scorer,
    )
    from proctor.candidates.values import (
        CandidateRow,
        CandidateScore,
        EvaluationItem,
        PromptCandidate,
        ScorerResult,
        ScorerTarget,
    )
    from proctor.errors import AbortError, EvalInputError, EvalResultError, ExitCode, ProctorError
    from proctor.protocols import Assertion, AssertionKind, Provider, Scope
    from proctor.providers.scripted import ScriptedAnswer, ScriptedProvider
    from proctor.python_api.comparisons import ComparisonReport, compare
    from proctor.python_api.reports import Report, ReportedCase, load_report
    from proctor.python_api.running import run, run_async
    from proctor.records import (
        Answer,
        Answered,
        AssertionSpec,
        Case,
        Check,
        Outcome,
        Scenario,
        Severity,
        ToolCall,
        Usage,
        Verdict,
    )
    from proctor.records.targets import Build, TargetAnswer

__all__ = [  # noqa: RUF022 - as `sorted` has it, constants among the rest
    "AbortController",
    "AbortError",
    "AbortSignal",
    "Answer",
    "Answered",
    "Assertion",
    "AssertionKind",
    "AssertionSpec",
    "AttributeEqualityScorer",
    "Build",
    "CandidateRow",
    "CandidateScore",
    "Case",
    "Check",
    "ComparisonReport",
    "ContainsScorer",
    "EvalInputError",
    "EvalResultError",
    "EvaluationItem",
    "ExitCode",
    "JsonSchemaScorer",
    "Outcome",
    "ProctorError",
    "PromptCandidate",
    "Provider",
    "RegexScorer",
    "Report",
    "ReportedCase",
    "Scenario",
    "Scope",
    "ScorerResult",
    "ScorerTarget",
    "ScriptedAnswer",
    "ScriptedProvider",
    "Severity",
    "TargetAnswer",
    "ToolCall",
    "UNSET",
    "Usage",
    "Verdict",
    "__version__",
    "compare",
    "deterministic_scorer",
    "evaluate_deterministic_scorer",
    "evaluate_prompt_candidates",
    "evaluate_prompt_candidates_async",
    "load_report",
    "run",
    "run_async",
]

_HOME = {
    "AbortController": "candidates.aborting",
    "AbortError": "errors",
    "AbortSignal": "candidates.aborting",
    "Assertion": "protocols",
    "AssertionKind": "protocols",
    "AttributeEqualityScorer": "candidates.scorers",
    "Build": "records.targets",
    "CandidateRow": "candidates.values",
    "CandidateScore": "candidates.values",
    "ComparisonReport": "python_api.comparisons",
    "ContainsScorer": "candidates.scorers",
    "EvalInputError": "errors",
    "EvalResultError": "errors",
    "EvaluationItem": "candidates.values",
    "ExitCode": "errors",
    "JsonSchemaScorer": "candidates.scorers",
    "ProctorError": "errors",
    "PromptCandidate": "candidates.values",
    "Provider": "protocols",
    "RegexScorer": "candidates.scorers",
    "Report": "python_api.reports",
    "ReportedCase": "python_api.reports",
    "Scope": "protocols",
    "ScorerResult": "candidates.values",
    "ScorerTarget": "candidates.values",
    "ScriptedAnswer": "providers.scripted",
    "ScriptedProvider": "providers.scripted",
    "TargetAnswer": "records.targets",
    "UNSET": "candidates.values",
    "compare": "python_api.comparisons",
    "deterministic_scorer": "candidates.scorers",
    "evaluate_deterministic_scorer": "candidates.scorers",
    "evaluate_prompt_candidates": "candidates.evaluating",
    "evaluate_prompt_candidates_async": "candidates.evaluating",
    "load_report": "python_api.reports",
    "run": "python_api.running",
    "run_async": "python_api.running",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'proctor' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"proctor.{_HOME.get(name, 'records')}"), name)


def __dir__() -> list[str]:
    return __all__
