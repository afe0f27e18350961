"""Proctor evaluates prompts: offline by default, the same bytes every time.

Everything public is named here and loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.version import VERSION as __version__

if TYPE_CHECKING:
    from proctor.errors import ExitCode, ProctorError
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

__all__ = [
    "Answer",
    "Answered",
    "Assertion",
    "AssertionKind",
    "AssertionSpec",
    "Case",
    "Check",
    "ExitCode",
    "Outcome",
    "ProctorError",
    "Provider",
    "Scope",
    "ScriptedAnswer",
    "ScriptedProvider",
    "Severity",
    "Verdict",
    "__version__",
]

_HOME = {
    "Assertion": "protocols",
    "AssertionKind": "protocols",
    "ExitCode": "errors",
    "ProctorError": "errors",
    "Provider": "protocols",
    "Scope": "protocols",
    "ScriptedAnswer": "providers.scripted",
    "ScriptedProvider": "providers.scripted",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'proctor' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"proctor.{_HOME.get(name, 'records')}"), name)


def __dir__() -> list[str]:
    return __all__
