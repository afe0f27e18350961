import json
from hashlib import sha256
from pathlib import Path

import pytest

from proctor.loading.datasets import load_dataset
from proctor.loading.foreign_prompts import parse_github_prompt
from proctor.loading.prompts import Prompts, parse_prompt
from proctor.loading.rules import SuiteRules
from proctor.loading.yaml import parse_yaml
from proctor.protocols import PlannedRow
from proctor.records import Case, Message, Subject
from proctor.targets.prompt import PromptTarget
from proctor.templates import MissingValue

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "review-sentiment"
REQUESTS = ROOT / "tests" / "data" / "review_sentiment_requests.jsonl"

PROMPT = """\
model: {ref: local/tiny, maxTokens: 16, params: {seed: 7}}
inputs:
  review: {type: string}
  stars: {type: number, default: 3}
  buyer:
    type: object
    optional: true
    fields:
      name: {type: string}
      country: {type: string, default: DE}
  tags: {type: list, items: {type: string}, default: []}
output:
  label: {type: enum, options: [positive, negative]}
messages:
  - {role: system, content: "{{stars}} stars, {{tags}}"}
  - {role: user, content: "{{input.review}}"}
"""


def row(case):
    return PlannedRow(0, case, 1)


def target_of(loaded):
    return PromptTarget(Subject(prompt=loaded.prompt, model=loaded.prompt.model), loaded.templates)


def target(text=PROMPT):
    loaded, problems = parse_prompt(parse_yaml(text.encode(), "prompts/p.prompt.yaml"), "p")
    assert problems == []
    return target_of(loaded)


def inputs_sha256(text):
    return sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("prompt_id", ["brief", "few-shot"])
def test_every_recorded_request_of_the_example_is_made_again(prompt_id):
    loaded = Prompts(EXAMPLE, "prompts", "review-sentiment").load(prompt_id)
    path = "evals/datasets/review-sentiment.jsonl"
    rules = SuiteRules([loaded], None)
    dataset, problems = load_dataset(EXAMPLE, path, rules=rules, max_cases=1_000, where="here")
    assert problems == []
    cases = [dataset.case(index) for index in range(len(dataset))]
    dataset.close()
    made = {case.id: target_of(loaded).request(case) for case in cases}
    lines = [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]
    recorded = [line for line in lines if line["prompt"] == prompt_id]
    assert len(recorded) == 100
    for line in recorded:
        sent, request = line["request"], made[line["case"]]
        assert [
            {"role": message.role, "content": message.content} for message in request.messages
        ] == sent["messages"]
        assert json.dumps(request.output_schema) == json.dumps(sent["response_format"]["schema"])
        assert request.model.params == {
            "maxTokens": sent["max_tokens"],
            "temperature": sent["temperature"],
        }
        assert request.model.ref == f"local/{sent['model']}"
    assert {line["case"] for line in recorded} == set(made)


def test_a_request_holds_every_message_with_the_values_and_defaults_of_the_case():
    request = target().request(Case("a", {"review": "Meh. {{stars}}", "tags": ["x", "y"]}))
    assert request.messages == (
        Message(role="system", content='3 stars, ["x","y"]'),
        Message(role="user", content="Meh. {{stars}}"),
    )
    assert request.model.params == {"maxTokens": 16, "seed": 7}
    assert request.output_schema["properties"] == {"label": {"enum": ["positive", "negative"]}}


def test_a_prompt_without_an_output_contract_asks_for_free_text():
    request = target("model: {ref: a/b}\nuser: Hi\n").request(Case("a", {}))
    assert request.output_schema is None
    assert request.model.params == {}


def test_inputs_are_known_by_the_digest_of_their_canonical_json():
    only_review = target(
        "model: {ref: a/b}\ninputs: {review: {type: string}}\nuser: '{{review}}'\n"
    )
    digest = only_review.inputs_sha256(row(Case("a", {"review": "Meh."})))
    assert digest == inputs_sha256('{"review":"Meh."}')
    assert (digest[:8], digest[-6:]) == ("7ff003e3", "af6583")


def test_defaults_count_as_inputs_and_absent_optional_inputs_do_not():
    assert target().inputs_sha256(row(Case("a", {"review": "Meh."}))) == inputs_sha256(
        '{"review":"Meh.","stars":3,"tags":[]}'
    )
    assert target().inputs_sha256(row(Case("a", {"buyer": {"name": "Ada"}, "review": "é"}))) == (
        inputs_sha256('{"buyer":{"country":"DE","name":"Ada"},"review":"é","stars":3,"tags":[]}')
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"review": "a", "stars": 1}, {"stars": 1.0, "review": "a"}),
        ({"review": "a"}, {"review": "a", "stars": 3, "tags": []}),
    ],
)
def test_inputs_that_are_equal_have_one_digest_and_one_request(one, other):
    ours = target()
    assert ours.inputs_sha256(row(Case("a", one))) == ours.inputs_sha256(row(Case("b", other)))
    assert ours.request(Case("a", one)) == ours.request(Case("b", other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"review": "a"}, {"review": "a "}),
        ({"review": "caf\u00e9"}, {"review": "cafe\u0301"}),
        ({"review": "a", "stars": 9007199254740993}, {"review": "a", "stars": 9007199254740992}),
        ({"review": "a"}, {"review": "a", "buyer": {"name": ""}}),
        ({"review": "\ud800"}, {"review": "\\ud800"}),
    ],
)
def test_inputs_that_differ_have_two_digests(one, other):
    ours = target()
    assert ours.inputs_sha256(row(Case("a", one))) != ours.inputs_sha256(row(Case("a", other)))


def test_nothing_but_the_inputs_of_a_case_counts_for_its_recording():
    plain = Case("a", {"review": "Meh."})
    labelled = Case("b", {"review": "Meh."}, "12", ["tag"], ["tier"], {"by": "Ada"})
    assert target().inputs_sha256(row(plain)) == target().inputs_sha256(row(labelled))
    assert target().request(plain) == target().request(labelled)


def test_a_case_without_a_value_that_the_template_uses_cannot_be_sent():
    text = "model: {ref: a/b}\ninputs: {a: {type: string, optional: true}}\nuser: '{{a}}'\n"
    with pytest.raises(MissingValue):
        target(text).request(Case("a", {}))


def test_tools_are_offered_with_the_request():
    text = "tools: [{name: look, parameters: {type: object}}]\nmodel: {ref: a/b}\nuser: Hi\n"
    (tool,) = target(text).request(Case("a", {})).tools
    assert (tool.name, tool.parameters) == ("look", {"type": "object"})


def test_a_schema_of_the_file_is_the_output_contract():
    text = """\
messages: [{role: user, content: Hi}]
model: openai/x
responseFormat: json_schema
jsonSchema: '{"type": "object", "title": "Answer"}'
"""
    loaded, problems = parse_github_prompt(parse_yaml(text.encode(), "p.prompt.yml"), "p")
    assert problems == []
    schema = target_of(loaded).request(Case("a", {})).output_schema
    assert schema == {"type": "object", "title": "Answer"}
