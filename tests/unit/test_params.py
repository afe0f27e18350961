"""Only parameters that are listed are sent."""

import pytest

from proctor.config import ProviderConfig
from proctor.providers.params import ALLOWED, unsendable_params
from proctor.records import ModelChoice

CONFIGURED = {kind: ProviderConfig(kind=kind) for kind in ALLOWED}


def faults(kind, **params):
    model = ModelChoice(ref=f"{kind}/tiny", params={"maxTokens": 16} | params)
    return list(unsendable_params(model, CONFIGURED, where="evals/quiz.eval.yaml"))


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
    model = ModelChoice(ref="nobody/tiny", params={"extra_body": {}})
    assert list(unsendable_params(model, {}, where="evals/quiz.eval.yaml")) == []
