"""Only parameters that are listed are sent, and messages in an order that the provider takes."""

import pytest

from proctor.config import ProviderConfig
from proctor.providers.params import ALLOWED, unsendable
from proctor.records import Message, ModelChoice, Prompt, Subject

CONFIGURED = {kind: ProviderConfig(kind=kind) for kind in ALLOWED}


def subject(ref, *roles, **params):
    messages = tuple(Message(role=role, content="Hi") for role in roles or ("user",))
    prompt = Prompt(
        id="quiz",
        path="prompts/quiz.prompt.yaml",
        messages=messages,
        inputs={},
        output=None,
        model=None,
        bundle_sha256="0" * 64,
    )
    return Subject(prompt=prompt, model=ModelChoice(ref=ref, params={"maxTokens": 16} | params))


def faults(kind, *roles, **params):
    asked = subject(f"{kind}/tiny", *roles, **params)
    return list(unsendable(asked, CONFIGURED, where="evals/quiz.eval.yaml"))


@pytest.mark.parametrize("kind", ALLOWED)
@pytest.mark.parametrize(
    "name",
    [
        "base_url",
        "best_of",
        "container",
        "extra_body",
        "extra_headers",
        "extra_query",
        "max_completion_tokens",
        "max_tokens",
        "mcp_servers",
        "messages",
        "model",
        "n",
        "response_format",
        "service_tier",
        "store",
        "stream",
        "timeout",
        "tools",
        "web_search_options",
    ],
)
def test_what_could_do_more_than_set_a_parameter_is_refused_by_name(kind, name):
    (fault,) = faults(kind, **{name: 1})
    assert (fault.code, fault.where) == ("P6204", "evals/quiz.eval.yaml")
    assert f"`{name}` is not a parameter" in fault.message


def test_a_slip_of_the_pen_is_told_what_was_meant():
    (fault,) = faults("openai", temprature=0)
    assert fault.hint == "did you mean `temperature`?"


@pytest.mark.parametrize("kind", ALLOWED)
def test_every_listed_parameter_goes(kind):
    assert faults(kind, **dict.fromkeys(ALLOWED[kind] - {"tool_choice"}, 1)) == []


@pytest.mark.parametrize(
    "choice",
    [
        "auto",
        "required",
        {"type": "tool", "name": "find"},
        {"type": "function", "function": {"name": "find"}},
    ],
)
def test_a_choice_among_the_tools_of_the_prompt_goes(choice):
    assert faults("openai", tool_choice=choice) == []


@pytest.mark.parametrize(
    "choice", [{"type": "web_search"}, {"type": "mcp", "server_label": "x"}, {}, 1, ["auto"], None]
)
def test_a_choice_that_the_provider_would_run_itself_does_not(choice):
    (fault,) = faults("openai", tool_choice=choice)
    assert fault.code == "P6204"
    assert "`tool_choice`" in fault.message


def test_of_a_provider_that_nobody_knows_nothing_is_said():
    asked = subject("nobody/tiny", "user", "system", extra_body={})
    assert list(unsendable(asked, {}, where="evals/quiz.eval.yaml")) == []


@pytest.mark.parametrize(
    "roles", [("system",), ("user", "system"), ("system", "user", "system", "user")]
)
def test_anthropic_takes_system_messages_only_before_others(roles):
    (fault,) = faults("anthropic", *roles)
    assert (fault.code, fault.where) == ("P6204", "prompts/quiz.prompt.yaml")
    assert faults("openai", *roles) == []


@pytest.mark.parametrize("roles", [("user",), ("system", "system", "user", "assistant", "user")])
def test_messages_in_the_usual_order_are_taken(roles):
    assert faults("anthropic", *roles) == []
