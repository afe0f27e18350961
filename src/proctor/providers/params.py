"""Which parameters of a model may be sent: a list per kind of provider, and nothing else.

A parameter can do more than set a temperature: name another address, ask for several answers, or
let the provider run tools. So what is sent is listed, and what is not listed is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.config import ProviderConfig, provider_config
from proctor.errors import SuiteError
from proctor.records import Json, Prompt, Subject

_OPENAI = frozenset(
    [
        "frequency_penalty",
        "logit_bias",
        "min_p",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "repeat_penalty",
        "repetition_penalty",
        "seed",
        "stop",
        "temperature",
        "tool_choice",
        "top_k",
        "top_p",
        "verbosity",
    ]
)
_ANTHROPIC = frozenset(
    ["effort", "stop_sequences", "temperature", "thinking", "tool_choice", "top_k", "top_p"]
)
ALLOWED = {
    "anthropic": _ANTHROPIC,
    "openai": _OPENAI,
    "scripted": _ANTHROPIC | _OPENAI,
}
"""By kind; `maxTokens` goes with every kind."""

_TOOL_CHOICES = frozenset(["any", "auto", "function", "none", "tool"])


def unsendable(
    subject: Subject, configured: Mapping[str, ProviderConfig], *, where: str
) -> Iterator[SuiteError]:
    """What of a subject its provider may not be sent (P6204); of an unknown provider, nothing.

    Args:
        subject: The prompt, and the model with its parameters, `maxTokens` among them.
        configured: The project's `providers`.
        where: The suite that asks it.
    """
    model = subject.model
    config = provider_config(model.ref.partition("/")[0], configured)
    if config is None:
        return
    if config.kind == "anthropic" and subject.prompt.function is None:
        yield from _unsendable_messages(subject.prompt)
    allowed = ALLOWED[config.kind]
    for name, value in model.params.items():
        if name == "maxTokens":
            continue
        if name not in allowed:
            from difflib import get_close_matches

            close = get_close_matches(name, sorted(allowed), 1)
            others = f"there are {', '.join(sorted(allowed))}"
            yield SuiteError(
                f"`{name[:100]}` is not a parameter that may be sent to a provider of kind "
                f"{config.kind}",
                code="P6204",
                hint=f"did you mean `{close[0]}`?" if close else others,
                where=where,
            )
        elif name == "tool_choice" and not _is_plain_choice(value):
            yield SuiteError(
                "`tool_choice` names a tool that the provider would run itself",
                code="P6204",
                hint="name one of the prompt's `tools`, or `auto`, `none`, `any`",
                where=where,
            )


def _unsendable_messages(prompt: Prompt) -> Iterator[SuiteError]:
    roles = [message.role for message in prompt.messages]
    others = [place for place, role in enumerate(roles) if role != "system"]
    if not others or "system" in roles[others[0] :]:
        yield SuiteError(
            f"the prompt `{prompt.id}` has system messages where Anthropic takes none",
            code="P6204",
            hint="system messages come first, and at least one other message after them",
            where=prompt.path,
        )


def _is_plain_choice(value: Json) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and value.get("type") in _TOOL_CHOICES
    )
