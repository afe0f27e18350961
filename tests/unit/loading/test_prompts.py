from hashlib import sha256
from pathlib import Path

import pytest

from proctor.errors import SuiteError
from proctor.loading import prompts
from proctor.loading.files import list_files
from proctor.loading.prompts import Prompts, parse_prompt
from proctor.loading.yaml import parse_yaml
from proctor.records import Message, ModelChoice

EXAMPLES = Path(__file__).parents[3] / "examples"


def parse(text, prompt_id="reply"):
    return parse_prompt(parse_yaml(text.encode(), f"prompts/{prompt_id}.prompt.yaml"), prompt_id)


def prompt(text):
    loaded, problems = parse(text)
    assert [problem.message for problem in problems] == []
    return loaded.prompt


def problems_of(text, prompt_id="reply"):
    """`line: code: message` of each problem."""
    loaded, problems = parse(text, prompt_id)
    assert loaded is None
    return [f"{one.where.partition(':')[2]}: {one.code}: {one.message}" for one in problems]


def bundle(text):
    return prompt(text).bundle_sha256


def write(root, path, text="user: Hi\n"):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


REVIEW = """\
inputs:
  review: {type: string}
output:
  label: {type: enum, options: [positive, negative]}
user: 'Review: {{input.review}}'
"""


# The bundle hash


def test_bundle_hash_is_that_of_the_canonical_bundle():
    canonical = (
        '{"inputs":{"review":{"type":"string"}},"messages":[{"content":"Review: {{input.review}}",'
        '"role":"user"}],"output":{"label":{"options":["positive","negative"],"type":"enum"}},'
        '"tools":[]}'
    )
    assert bundle(REVIEW) == sha256(canonical.encode()).hexdigest()
    assert bundle(REVIEW) == "6cbf2fa8e901f389616d8bbcbe4cfa9eecce8a697cae380841af23b94eaaa47a"


@pytest.mark.parametrize(
    ("project", "prompt_id", "sha256_hex"),
    [
        (
            "review-sentiment",
            "brief",
            "6b3f421592fc87cdd0556772b4d0aa716f76995c756401d9cf16a1a84ecae77e",
        ),
        (
            "review-sentiment",
            "few-shot",
            "1668c03ed4a3d6e8426ea840dafb223607f0a4025b56384995d81c0b7cfeea99",
        ),
        (
            "support-refund",
            "judge-refund-reply",
            "dde54cd99cc73ea7ececaf47423c5770d40df083a73c1a9deb4dc4e95e0498ce",
        ),
        (
            "support-refund",
            "refund-reply",
            "88be525a377f9c2f01e2803941f08402cd562aca7169ff670a40e4cdf8596610",
        ),
    ],
)
def test_bundle_hash_of_the_examples_is_the_one_their_recordings_were_made_with(
    project, prompt_id, sha256_hex
):
    prompts = Prompts(EXAMPLES / project, "prompts", "any")
    assert prompts.load(prompt_id).prompt.bundle_sha256 == sha256_hex
    assert prompts.problems == []


def test_bundle_hash_holds_every_message_and_every_attribute_but_descriptions():
    text = """\
description: The whole kind
inputs:
  tone: {type: enum, options: [kind, firm], description: How to speak}
  description: {type: string, description: An input of that name, maxLength: 200}
  address:
    type: object
    optional: true
    fields:
      city: {type: string, description: Where, default: Bonn}
      description: {type: string, optional: false}
      tags: {type: list, items: {type: string, description: One of them}}
messages:
  - {role: system, content: "Be {{tone}}."}
  - {role: user, content: Hi}
  - {role: assistant, content: "Yes?"}
  - {role: user, content: "{{input.address.city}}"}
"""
    canonical = (
        '{"inputs":{"address":{"fields":{"city":{"default":"Bonn","type":"string"},'
        '"description":{"type":"string"},"tags":{"items":{"type":"string"},"type":"list"}},'
        '"optional":true,"type":"object"},"description":{"maxLength":200,"type":"string"},'
        '"tone":{"options":["kind","firm"],"type":"enum"}},'
        '"messages":[{"content":"Be {{tone}}.","role":"system"},{"content":"Hi","role":"user"},'
        '{"content":"Yes?","role":"assistant"},'
        '{"content":"{{input.address.city}}","role":"user"}],"output":null,"tools":[]}'
    )
    assert bundle(text) == sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    "text",
    [
        "description: Labels a review\n" + REVIEW,
        "$schema: .schema/prompt.json\n" + REVIEW,
        "model: {ref: local/tiny, maxTokens: 5, params: {temperature: 1}}\n" + REVIEW,
        REVIEW.replace("type: string", "description: d, type: string"),
        REVIEW.replace("type: string", "optional: false, type: string"),
        REVIEW.replace("type: enum", "description: d, type: enum"),
        REVIEW.replace("user: ", "messages:\n  - role: user\n    content: "),
        REVIEW.replace("user: 'Review: {{input.review}}'", "user: |-\n  Review: {{input.review}}"),
        "# a comment\n" + REVIEW.replace("[positive, negative]", "['positive', \"negative\"]"),
    ],
)
def test_what_is_not_sent_leaves_the_bundle_hash_alone(text):
    assert bundle(text) == bundle(REVIEW)


@pytest.mark.parametrize(
    "text",
    [
        REVIEW.replace("Review: {{", "Review:  {{"),
        REVIEW.replace("{{input.review}}", "{{review}}"),
        REVIEW.replace("{{input.review}}'", "{{input.review}}\n\n  '"),
        REVIEW.replace("[positive, negative]", "[negative, positive]"),
        REVIEW.replace("type: string", "type: string, optional: true"),
        REVIEW.replace("type: string", "type: string, maxLength: 5"),
        REVIEW.replace("type: string", "type: string, default: ''"),
        REVIEW.replace("output:\n  label: {type: enum, options: [positive, negative]}\n", ""),
        REVIEW.replace("  label: {type: enum, options: [positive, negative]}", "  {}"),
        "system: ''\n" + REVIEW,
        REVIEW.replace("user: ", "messages:\n  - role: assistant\n    content: "),
        REVIEW.replace("type: string}", "type: string}\n  description: {type: string}"),
    ],
)
def test_what_is_sent_changes_the_bundle_hash(text):
    assert bundle(text) != bundle(REVIEW)


def test_a_default_is_hashed_as_written_descriptions_in_it_included():
    text = "inputs: {a: {type: object, default: {description: %s}}}\nuser: '{{a}}'\n"
    assert bundle(text % "one") != bundle(text % "two")


def test_system_then_user_is_the_same_prompt_as_two_messages():
    pair = "user: Hi\nsystem: Be kind.\n"
    listed = "messages:\n  - {role: system, content: Be kind.}\n  - {content: Hi, role: user}\n"
    assert prompt(pair).messages == prompt(listed).messages
    assert bundle(pair) == bundle(listed)


TOOLS = """\
tools:
  - name: find_order
    description: Finds an order
    parameters: {type: object, properties: {id: {type: string, description: Its number}}}
user: Hi
"""


def test_bundle_hash_holds_tools_with_their_descriptions():
    canonical = (
        '{"inputs":{},"messages":[{"content":"Hi","role":"user"}],"output":null,"tools":['
        '{"description":"Finds an order","name":"find_order","parameters":{"properties":{"id":'
        '{"description":"Its number","type":"string"}},"type":"object"}}]}'
    )
    assert bundle(TOOLS) == sha256(canonical.encode()).hexdigest()
    assert bundle("tools: []\nuser: Hi\n") == bundle("user: Hi\n")
    assert bundle(TOOLS.replace("Finds", "Looks up")) != bundle(TOOLS)
    assert bundle(TOOLS.replace("Its number", "Number")) != bundle(TOOLS)


# What a prompt holds


def test_tools_are_read_as_written():
    (tool,) = prompt(TOOLS).tools
    assert (tool.name, tool.description) == ("find_order", "Finds an order")
    assert tool.parameters["properties"] == {"id": {"type": "string", "description": "Its number"}}
    assert prompt("user: Hi\n").tools == ()


def test_what_tools_say_is_no_template():
    text = TOOLS.replace("Finds an order", "Finds {{order}}")
    assert prompt(text).tools[0].description == "Finds {{order}}"


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        ("find_order", "find order", ["2: P6204: `tools[0].name`: expected `str` matching regex"]),
        ("  - name: find_order\n    d", "  - d", ["2: P6204: the key `name` is missing"]),
        ("parameters:", "parametres:", ["2: P6204: the key `par", "4: P6204: unknown key `par"]),
        ("type: object", "type: array", ["4: P6204: the parameters of the tool `find_order`"]),
        ("type: object, ", "", ["4: P6204: the parameters of the tool `find_order`"]),
        ("    desc", "    type: web_search\n    desc", ["3: P6204: unknown key `type`"]),
        (
            "user: Hi",
            "  - {name: find_order, parameters: {type: object}}\nuser: Hi",
            ["5: P6204: two tools are called `find_order`"],
        ),
    ],
)
def test_a_tool_that_cannot_be_offered_says_why(old, new, problems):
    found = sorted(problems_of(TOOLS.replace(old, new, 1)))
    assert len(found) == len(problems)
    for problem, start in zip(found, problems, strict=True):
        assert problem.startswith(start)


def test_a_prompt_as_it_is_read():
    text = """\
description: d
model: {ref: openrouter/meta/llama-3.1:8b, maxTokens: 24, params: {temperature: 0.7, top_p: 1}}
system: Be kind.
user: Hi
"""
    read = prompt(text)
    assert (read.id, read.path) == ("reply", "prompts/reply.prompt.yaml")
    assert read.messages == (
        Message(role="system", content="Be kind."),
        Message(role="user", content="Hi"),
    )
    assert read.model == ModelChoice(
        ref="openrouter/meta/llama-3.1:8b",
        params={"maxTokens": 24, "temperature": 0.7, "top_p": 1},
    )
    assert (read.inputs, read.output) == ({}, None)


@pytest.mark.parametrize("prompt_id", ["reply", "9", "2-replies", "a--b-"])
def test_a_prompt_id_may_start_with_a_letter_or_digit(prompt_id):
    loaded, problems = parse("user: Hi\nmodel: {ref: 9ai/x, maxTokens: 1}\n", prompt_id)
    assert problems == []
    assert (loaded.prompt.id, loaded.prompt.model.ref) == (prompt_id, "9ai/x")
    assert loaded.prompt.model.params == {"maxTokens": 1}


def test_a_prompt_need_not_name_a_model():
    assert prompt("user: Hi\n").model is None
    assert prompt("model: {ref: a/b}\nuser: Hi\n").model == ModelChoice(ref="a/b", params={})


@pytest.mark.parametrize("ref", ["gpt-4o", "a/", "/b", "Open/ai", "a b/c", "'a/b c'", '"a/b\\n"'])
def test_a_model_is_named_by_provider_and_name(ref):
    (problem,) = problems_of(f"user: Hi\nmodel: {{ref: {ref}}}\n")
    assert problem.startswith("2: P6204: ")
    assert problem.endswith("is not a model reference")


# What is refused


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("- user: Hi\n", ["1: P6204: the file must be a mapping, not a list"]),
        ("usr: Hi\n", ["1: P6204: unknown key `usr`"]),
        ("user: Hi\ntool: []\n", ["2: P6204: unknown key `tool`"]),
        ("system: Be kind.\n", ["1: P6204: there is nothing to send"]),
        ("user:\n", ["1: P6204: there is nothing to send"]),
        ("messages: []\n", ["1: P6204: there is nothing to send"]),
        (
            "user: Hi\nmessages:\n  - {role: user, content: Hi}\n",
            ["2: P6204: `messages` stands instead of `system` and `user`"],
        ),
        (
            "system: Hi\nmessages:\n  - {role: user, content: Hi}\n",
            ["2: P6204: `messages` stands instead of `system` and `user`"],
        ),
        (
            "user: Hi\nmodel: {ref: a/b, params: {maxTokens: 5}}\n",
            ["2: P6204: `maxTokens` stands beside `params`, not in it"],
        ),
        (
            "user: '{{a b}}'\ninputs:\n  a b: {type: string}\n",
            [
                "3: P6204: the input `a b` cannot be named in a placeholder",
                "1: P6205: `{{a b}}` is not a placeholder",
            ],
        ),
        (
            "user: Hi\ninputs:\n  a:\n    type: list\n    items:\n      type: enum\n",
            ["5: P6204: an enum needs `options`"],
        ),
        (
            "user: Hi\noutput:\n  a:\n    type: string\n    options: [b]\n",
            ["5: P6204: `options` goes with type enum only"],
        ),
        (
            "user: Hi\ninputs:\n  a:\n    type: integer\n    default: '1'\n",
            ["5: P6204: `default` must be an integer, not a string"],
        ),
    ],
)
def test_a_prompt_that_cannot_be_used_says_why_and_where(text, problems):
    assert problems_of(text) == problems


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("user: Hi\nsytem: Be kind.\n", 2, "unknown key `sytem`", "did you mean `system`?"),
        (
            "user: Hi\nmodel:\n  ref: a/b\n  max_tokens: 5\n",
            4,
            "unknown key `max_tokens` in `model`",
            "did you mean `maxTokens`?",
        ),
        (
            "user: Hi\ninputs:\n  a:\n    type: string\n    descripton: d\n",
            5,
            "unknown key `descripton` in `inputs.a`",
            "did you mean `description`?",
        ),
        (
            "user: Hi\ninputs:\n  a:\n    type: list\n    items: {type: string, maxlength: 5}\n",
            5,
            "unknown key `maxlength` in `inputs.a.items`",
            "did you mean `maxLength`?",
        ),
        (
            "user: Hi\ninputs:\n  a: {type: sting}\n",
            3,
            "`inputs.a.type`: `sting` is not one of",
            "did you mean `string`?",
        ),
    ],
)
def test_a_misspelled_word_is_told_with_its_line_and_the_likely_one(text, line, message, hint):
    (problem,) = parse(text)[1]
    where = f"prompts/reply.prompt.yaml:{line}"
    assert problem.message.startswith(message)
    assert (problem.where, problem.hint) == (where, hint)


@pytest.mark.parametrize(
    "text",
    [
        "user: 5\n",
        "user: [Hi]\n",
        "user: Hi\ninputs: [a]\n",
        "user: Hi\ninputs: {a: string}\n",
        "user: Hi\ninputs: {a: {}}\n",
        "user: Hi\ninputs: {a: {type: enum, options: []}}\n",
        "user: Hi\ninputs: {a: {type: enum, options: [1, 2]}}\n",
        "user: Hi\ninputs: {a: {type: string, maxLength: 0}}\n",
        "user: Hi\ninputs: {a: {type: string, optional: 'yes'}}\n",
        "user: Hi\nmodel: local/tiny\n",
        "user: Hi\nmodel: {maxTokens: 5}\n",
        "user: Hi\nmodel: {ref: a/b, maxTokens: 0}\n",
        "user: Hi\nmodel: {ref: a/b, maxTokens: true}\n",
        "user: Hi\nmodel: {ref: a/b, maxTokens: 1.5}\n",
        "user: Hi\nmodel: {ref: a/b, params: [1]}\n",
        "messages: Hi\n",
        "messages: [Hi]\n",
        "messages: [{role: tool, content: Hi}]\n",
        "messages: [{role: user}]\n",
        "messages: [{role: user, content: Hi, name: x}]\n",
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(text):
    assert all(": P6204: " in problem for problem in problems_of(text))


def test_every_problem_of_a_prompt_is_told_at_once():
    text = """\
inputs:
  a: {type: enum}
  b: {type: string, default: 1}
model: {ref: tiny}
system: "{{c}}"
user: "{{d}} {{#if e}}"
"""
    assert problems_of(text) == [
        "2: P6204: an enum needs `options`",
        "3: P6204: `default` must be a string, not a number",
        "4: P6204: `tiny` is not a model reference",
        "5: P6205: the placeholder `{{c}}` names nothing: there is no input `c`",
        "6: P6205: the placeholder `{{d}}` names nothing: there is no input `d`",
        "6: P6205: `{{#if e}}` is not a placeholder",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("user: 'Hi {{x}}'\n", 1),
        ("user: |-\n  Hi\n  {{x}}\n", 3),
        ("# comment\nuser: |\n\n  Hi\n\n  {{x}}\n", 6),
        ("system: |-\n  Be kind.\nuser: |-\n  Hi\n  Hi\n  Hi {{x}}\n", 6),
        ("messages:\n  - role: user\n    content: |-\n      Hi\n      {{x}}\n", 5),
    ],
)
def test_a_placeholder_is_told_with_its_line_within_the_text(text, line):
    (problem,) = problems_of(text)
    assert problem == (
        f"{line}: P6205: the placeholder `{{{{x}}}}` names nothing: there is no input `x`"
    )


@pytest.mark.parametrize("prompt_id", ["Reply", "refund_reply", "-reply", "répondre", "reply.v2"])
def test_a_prompt_id_is_lower_case_letters_digits_and_dashes(prompt_id):
    _, problems = parse("user: Hi\n", prompt_id)
    assert [problem.message for problem in problems] == [f"`{prompt_id}` is not a prompt id"]


def test_an_input_that_no_message_uses_is_a_warning_with_its_line():
    loaded, problems = parse(
        "inputs:\n  a: {type: string}\n  b: {type: string}\n"
        "  c: {type: object, fields: {d: {type: string}}}\nuser: '{{a}} {{c.d}}'\n"
    )
    assert problems == []
    assert [(warning.message, warning.where) for warning in loaded.warnings] == [
        ("the input `b` of prompt `reply` is never used", "prompts/reply.prompt.yaml:3")
    ]


def test_a_prompt_with_hundreds_of_thousands_of_braces_is_told_briefly():
    _, problems = parse("user: '" + "{{" * 250_000 + "'\n")
    assert len(problems) == 21


# The prompts of a project


def test_ids_are_the_files_of_the_folder_and_none_below_it(tmp_path):
    for path in (
        "prompts/b.prompt.yaml",
        "prompts/a.prompt.yaml",
        "prompts/old/c.prompt.yaml",
        "prompts/notes.yaml",
        "prompts/d.prompt.json",
        "prompts/.e.prompt.yaml",
        "other/f.prompt.yaml",
    ):
        write(tmp_path, path)
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.ids() == ["a", "b"]
    assert prompts.get("c", "here") is None
    assert [problem.code for problem in prompts.problems] == ["P6203"]


@pytest.mark.parametrize("folder", ["prompts", "./prompts", "prompts/", "x/../prompts"])
def test_the_folder_may_be_spelled_in_any_way(tmp_path, folder):
    write(tmp_path, "prompts/reply.prompt.yaml")
    (tmp_path / "x").mkdir()
    prompts = Prompts(tmp_path, folder, "acme")
    assert prompts.ids() == ["reply"]
    assert prompts.load("reply").prompt.path == "prompts/reply.prompt.yaml"


def test_a_project_without_a_prompts_folder_has_no_prompts(tmp_path):
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.ids() == []
    assert prompts.get("reply", "evals/x.eval.yaml:1") is None
    (problem,) = prompts.problems
    assert (problem.code, problem.where) == ("P6203", "evals/x.eval.yaml:1")
    assert problem.hint == "prompts in `prompts/`: none"


@pytest.mark.parametrize("reference", ["reply", "acme/reply"])
def test_a_reference_may_name_the_project(tmp_path, reference):
    write(tmp_path, "prompts/reply.prompt.yaml")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.get(reference, "here").prompt.id == "reply"
    assert prompts.problems == []


@pytest.mark.parametrize(
    "reference",
    ["other/reply", "/reply", "acme/", "acme/x/reply", "../prompts/reply", "", "repyl", "REPLY"],
)
def test_a_reference_to_what_is_not_there_is_unknown(tmp_path, reference):
    write(tmp_path, "prompts/reply.prompt.yaml")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.get(reference, "evals/x.eval.yaml:2") is None
    (problem,) = prompts.problems
    assert (problem.code, problem.where) == ("P6203", "evals/x.eval.yaml:2")
    assert problem.message == f"there is no prompt `{reference}` in project `acme`"


def test_an_unknown_prompt_is_told_with_the_likely_one(tmp_path):
    write(tmp_path, "prompts/refund-reply.prompt.yaml")
    prompts = Prompts(tmp_path, "prompts", "acme")
    prompts.get("acme/refund-rely", "here")
    prompts.get("zzz", "here")
    assert [problem.hint for problem in prompts.problems] == [
        "did you mean `refund-reply`?",
        "prompts in `prompts/`: refund-reply",
    ]


def test_a_broken_prompt_is_told_once_however_often_it_is_asked_for(tmp_path):
    write(tmp_path, "prompts/reply.prompt.yaml", "usr: Hi\n")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.get("reply", "one") is prompts.get("acme/reply", "two") is None
    assert prompts.load("reply") is None
    assert [problem.where for problem in prompts.problems] == ["prompts/reply.prompt.yaml:1"]


def test_what_is_wrong_with_a_prompt_is_told_to_whoever_looks_for_it_and_noted_for_nobody(tmp_path):
    write(tmp_path, "prompts/reply.prompt.yaml", "user: '{{input.a}}'\nusr: Hi\n")
    write(tmp_path, "prompts/brief.prompt.yaml")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.find("acme/brief").prompt.id == "brief"
    for _ in range(2):
        with pytest.raises(SuiteError) as caught:
            prompts.find("reply")
        assert caught.value.where == "prompts/reply.prompt.yaml:2"
    for reference in ("repyl", "other/reply", "python:no/module"):
        with pytest.raises(SuiteError) as caught:
            prompts.find(reference)
        assert (caught.value.code, caught.value.where) == ("P6203", "")
    assert prompts.problems == []
    assert prompts.get("reply", "here") is None
    assert [problem.where for problem in prompts.problems] == ["prompts/reply.prompt.yaml:2"]


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", "P6204", "`prompts/reply.prompt.yaml` is empty"),
        (b"user: [\n", "P6204", "`prompts/reply.prompt.yaml` is not YAML"),
        ("user: Hi\n".encode("utf-16"), "P6204", "`prompts/reply.prompt.yaml` is UTF-16"),
        ("user: café\n".encode("latin-1"), "P6204", "`prompts/reply.prompt.yaml` is not UTF-8"),
        (b"user: Hi\n# " + b"x" * 2**20, "P6805", "`prompts/reply.prompt.yaml` is larger than"),
        (b"user: !!python/name:os.system Hi\n", "P6204", "`prompts/reply.prompt.yaml` has the tag"),
    ],
)
def test_a_file_that_is_no_prompt_is_a_problem_and_no_crash(tmp_path, content, code, message):
    write(tmp_path, "prompts/reply.prompt.yaml")
    (tmp_path / "prompts/reply.prompt.yaml").write_bytes(content)
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.get("reply", "here") is None
    (problem,) = prompts.problems
    assert problem.code == code
    assert problem.message.startswith(message)


def test_a_folder_or_link_in_place_of_a_prompt_is_refused(tmp_path):
    write(tmp_path, "secret.txt", "user: Hi\n")
    (tmp_path / "prompts/folder.prompt.yaml").mkdir(parents=True)
    (tmp_path / "prompts/link.prompt.yaml").symlink_to(tmp_path / "secret.txt")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.ids() == ["folder", "link"]
    assert [prompts.load(one) for one in prompts.ids()] == [None, None]
    assert [problem.code for problem in prompts.problems] == ["P6805", "P6805"]


def test_a_prompts_folder_that_is_a_link_is_not_followed(tmp_path):
    write(tmp_path / "elsewhere", "reply.prompt.yaml")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/prompts").symlink_to(tmp_path / "elsewhere")
    prompts = Prompts(tmp_path / "project", "prompts", "acme")
    assert prompts.load("reply") is None
    assert [problem.code for problem in prompts.problems] == ["P6805"]


def test_the_folder_is_listed_once(tmp_path, monkeypatch):
    for number in range(5):
        write(tmp_path, f"prompts/p{number}.prompt.yaml")
    listed = []

    def counted(*given):
        listed.append(given)
        return list_files(*given)

    monkeypatch.setattr(prompts, "list_files", counted)
    found = Prompts(tmp_path, "prompts", "acme")
    for id_ in found.ids():
        assert found.get(id_, "suite") is not None
    assert found.get("gone", "suite") is None
    assert len(listed) == 1
