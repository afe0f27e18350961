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
    from proctor.records import (
        Answer,
        Answered,
        AssertionSpec,
        Case,
        Check,
        Outcome,
        Severity,
        Verdict,
    )

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
    "CandidateRow",
    "CandidateScore",
    "Case",
    "Check",
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
    "Scope",
    "ScorerResult",
    "ScorerTarget",
    "ScriptedAnswer",
    "ScriptedProvider",
    "Severity",
    "UNSET",
    "Verdict",
    "__version__",
    "deterministic_scorer",
    "evaluate_deterministic_scorer",
    "evaluate_prompt_candidates",
    "evaluate_prompt_candidates_async",
]

_HOME = {
    "AbortController": "candidates.aborting",
    "AbortError": "errors",
    "AbortSignal": "candidates.aborting",
    "Assertion": "protocols",
    "AssertionKind": "protocols",
    "AttributeEqualityScorer": "candidates.scorers",
    "CandidateRow": "candidates.values",
    "CandidateScore": "candidates.values",
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
    "Scope": "protocols",
    "ScorerResult": "candidates.values",
    "ScorerTarget": "candidates.values",
    "ScriptedAnswer": "providers.scripted",
    "ScriptedProvider": "providers.scripted",
    "UNSET": "candidates.values",
    "deterministic_scorer": "candidates.scorers",
    "evaluate_deterministic_scorer": "candidates.scorers",
    "evaluate_prompt_candidates": "candidates.evaluating",
    "evaluate_prompt_candidates_async": "candidates.evaluating",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'proctor' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"proctor.{_HOME.get(name, 'records')}"), name)


def __dir__() -> list[str]:
    return __all__
