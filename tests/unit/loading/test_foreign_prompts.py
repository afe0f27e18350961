import pytest

from proctor.loading.foreign_prompts import parse_github_prompt, parse_text_prompt
from proctor.loading.prompts import Prompts, parse_prompt
from proctor.loading.yaml import parse_yaml
from proctor.records import FieldSpec, Message, ModelChoice

GITHUB = """\
name: Summarizer
description: Says it briefly
model: openai/gpt-4o-mini
modelParameters:
  temperature: 0.5
  maxTokens: 80
  topP: 0.9
messages:
  - role: system
    content: You answer in {{language}}.
  - role: user
    content: |-
      Summarize:
      {{input}}
"""

SCHEMA = '{"type": "object", "properties": {"label": {"type": "string", "description": "d"}}}'


def github(text, prompt_id="brief"):
    document = parse_yaml(text.encode(), f"prompts/{prompt_id}.prompt.yml")
    return parse_github_prompt(document, prompt_id)


def read(text):
    loaded, problems = github(text)
    assert [problem.message for problem in problems] == []
    return loaded


def refused(text, prompt_id="brief"):
    """`line: code: message` of each problem."""
    loaded, problems = github(text, prompt_id)
    assert loaded is None
    return [f"{one.where.partition(':')[2]}: {one.code}: {one.message}" for one in problems]


def warned(text):
    return [(warning.where, warning.message) for warning in read(text).warnings]


def own(text):
    """The same prompt in Proctor's own format."""
    loaded, problems = parse_prompt(parse_yaml(text.encode(), "prompts/p.prompt.yaml"), "p")
    assert problems == []
    return loaded.prompt


def text_prompt(text, prompt_id="brief"):
    loaded, problems = parse_text_prompt(text, f"prompts/{prompt_id}.txt", prompt_id)
    assert [problem.message for problem in problems] == []
    return loaded


# Plain texts


def test_a_text_is_one_user_message_and_its_placeholders_are_its_inputs():
    prompt = text_prompt("Translate into {{input.language}}:\n{{text}}\n{{text}}\n").prompt
    assert prompt.messages == (
        Message(role="user", content="Translate into {{input.language}}:\n{{text}}\n{{text}}"),
    )
    assert prompt.inputs == {"language": FieldSpec(type="string"), "text": FieldSpec(type="string")}
    assert (prompt.output, prompt.model, prompt.path) == (None, None, "prompts/brief.txt")


def test_a_text_has_the_bundle_hash_of_the_same_prompt_in_yaml():
    same = own("inputs: {q: {type: string}}\nuser: |-\n  Say:\n  {{q}}\n")
    for text in ("Say:\n{{q}}", "Say:\n{{q}}\n", "Say:\r\n{{q}}\r\n\r\n"):
        assert text_prompt(text).prompt.bundle_sha256 == same.bundle_sha256
    assert text_prompt("Say:\n{{q}} ").prompt.bundle_sha256 != same.bundle_sha256


def test_literal_braces_and_other_template_languages_stay_in_a_text():
    prompt = text_prompt("---\ntitle: x\n---\n\\{{a}} {% if %} ${HOME} {b}\n").prompt
    assert prompt.inputs == {}
    assert text_prompt("\\{{a}} {b}").templates == [["{{", "a}} {b}"]]


@pytest.mark.parametrize("text", ["", "\n\n", "  \n\t\n"])
def test_an_empty_text_is_nothing_to_send(text):
    loaded, (problem,) = parse_text_prompt(text, "prompts/brief.md", "brief")
    assert loaded is None
    assert (problem.code, problem.where) == ("P6204", "prompts/brief.md:1")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("Hi\n{{a b}}\n", 2, "`{{a b}}` is not a placeholder"),
        ("Hi\n\n{{#each x}}", 3, "`{{#each x}}` is not a placeholder"),
        ("Hi\n{{", 2, "`{{` is not a placeholder"),
        (
            "{{user.name}}",
            1,
            "the placeholder `{{user.name}}` reads a field of `user`, which is of type string",
        ),
    ],
)
def test_a_placeholder_of_a_text_that_cannot_be_used_is_told_with_its_line(text, line, message):
    loaded, (problem,) = parse_text_prompt(text, "prompts/brief.txt", "brief")
    assert loaded is None
    assert problem.code == "P6205"
    assert problem.where == f"prompts/brief.txt:{line}"
    assert problem.message == message


# GitHub Models


def test_a_prompt_of_github_models_as_it_is_read():
    loaded = read(GITHUB)
    prompt = loaded.prompt
    assert prompt.messages == (
        Message(role="system", content="You answer in {{language}}."),
        Message(role="user", content="Summarize:\n{{input}}"),
    )
    assert list(prompt.inputs) == ["language", "input"]
    assert set(prompt.inputs.values()) == {FieldSpec(type="string")}
    params = {"temperature": 0.5, "maxTokens": 80, "top_p": 0.9}
    assert prompt.model == ModelChoice(ref="openai/gpt-4o-mini", params=params)
    assert loaded.warnings == []


def test_it_has_the_bundle_hash_of_the_same_prompt_of_ours():
    same = """\
inputs: {language: {type: string}, input: {type: string}}
messages:
  - {role: system, content: "You answer in {{language}}."}
  - {role: user, content: "Summarize:\\n{{input}}"}
"""
    assert read(GITHUB).prompt.bundle_sha256 == own(same).bundle_sha256


def test_test_data_and_evaluators_are_not_read_and_it_says_so():
    text = f"{GITHUB}testData:\n  - input: x\nevaluators:\n  - {{name: n, string: {{equals: x}}}}\n"
    assert warned(text) == [
        (
            "prompts/brief.prompt.yml:15",
            "`testData` of prompt `brief` is not read: cases stand in the suite's dataset",
        ),
        (
            "prompts/brief.prompt.yml:17",
            "`evaluators` of prompt `brief` is not read: assertions stand in the suite",
        ),
    ]
    assert read(text).prompt.bundle_sha256 == read(GITHUB).prompt.bundle_sha256


def test_a_model_without_a_provider_is_left_to_the_suite_and_its_parameters_are_kept():
    loaded = read(GITHUB.replace("openai/", ""))
    assert loaded.prompt.model is None
    assert loaded.params == {"temperature": 0.5, "maxTokens": 80, "top_p": 0.9}
    ((where, message),) = [(one.where, one.message) for one in loaded.warnings]
    assert where == "prompts/brief.prompt.yml:3"
    assert "`gpt-4o-mini`" in message
    assert "`models`" in message


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("max_tokens", "maxTokens"),
        ("maxCompletionTokens", "maxTokens"),
        ("max_completion_tokens", "maxTokens"),
        ("top_p", "top_p"),
        ("frequencyPenalty", "frequency_penalty"),
        ("seed", "seed"),
    ],
)
def test_parameters_are_spelled_the_way_they_are_sent(name, sent):
    text = f"modelParameters: {{{name}: 5}}\nmessages: [{{role: user, content: Hi}}]\n"
    assert read(text).params == {sent: 5}


def test_the_json_schema_of_the_answer_is_the_output_contract():
    for schema in (
        f"jsonSchema: '{SCHEMA}'\n",
        f'jsonSchema: |-\n  {{"name": "n", "strict": true, "schema": {SCHEMA}}}\n',
        f"jsonSchema: {SCHEMA}\n",
    ):
        loaded = read(f"{GITHUB}responseFormat: json_schema\n{schema}")
        assert loaded.prompt.output is None
        assert loaded.prompt.output_schema == {
            "type": "object",
            "properties": {"label": {"type": "string", "description": "d"}},
        }
        assert loaded.prompt.bundle_sha256 != read(GITHUB).prompt.bundle_sha256
        assert loaded.warnings == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("responseFormat: json_object\n", 15, "`responseFormat: json_object` is not sent"),
        (f"jsonSchema: '{SCHEMA}'\n", 15, "`jsonSchema` is not sent without"),
        (f"responseFormat: text\njsonSchema: '{SCHEMA}'\n", 16, "`jsonSchema` is not sent"),
    ],
)
def test_a_format_of_the_answer_that_is_not_sent_is_a_warning(text, line, words):
    ((where, message),) = warned(GITHUB + text)
    assert where == f"prompts/brief.prompt.yml:{line}"
    assert words in message
    assert read(GITHUB + text).prompt.output_schema is None


@pytest.mark.parametrize("text", ["", "responseFormat: text\n"])
def test_an_answer_in_free_text_has_no_contract(text):
    assert read(GITHUB + text).prompt.output_schema is None


HI = "messages: [{role: user, content: Hi}]\n"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("- Hi\n", ["1: P6204: the file must be a mapping, not a list"]),
        ("name: x\n", ["1: P6204: the key `messages` is missing"]),
        ("messages: []\n", ["1: P6204: there is nothing to send"]),
        (f"{HI}evaluatrs: []\n", ["2: P6204: unknown key `evaluatrs`"]),
        (f"{HI}modelParameters: {{maxTokens: 0}}\n", ["2: P6204: `maxTokens` must be a whole"]),
        (f"{HI}modelParameters: {{maxTokens: true}}\n", ["2: P6204: `maxTokens` must be a whole"]),
        (
            f"{HI}modelParameters:\n  topP: 1\n  top_p: 1\n",
            ["4: P6204: the parameter `top_p` is given twice"],
        ),
        (f"{HI}responseFormat: xml\n", ["2: P6204: `responseFormat`: `xml` is not one of"]),
        (f"{HI}responseFormat: json_schema\n", ["2: P6204: `responseFormat: json_schema` needs"]),
        (
            f"{HI}responseFormat: json_schema\njsonSchema: |-\n  {{\n  x\n",
            ["5: P6204: `jsonSchema` is not JSON"],
        ),
        (
            f"{HI}responseFormat: json_schema\njsonSchema: '[]'\n",
            ["3: P6204: `jsonSchema` must be an object"],
        ),
        (
            "messages:\n  - role: user\n    content: |-\n      Hi\n      {{a.b}}\n",
            ["5: P6205: the"],
        ),
        ("messages:\n  - {role: tool, content: Hi}\n", ["2: P6204: `messages[0].role`: `tool`"]),
        ("user: Hi\n", ["1: P6204: a prompt of GitHub Models has no `user`"]),
    ],
)
def test_what_cannot_be_used_says_why_and_where(text, problems):
    found = refused(text)
    assert len(found) == len(problems)
    for problem, start in zip(found, problems, strict=True):
        assert problem.startswith(start)


def test_a_prompt_of_ours_with_the_ending_of_github_models_is_told_which_to_take():
    _, (problem,) = github("inputs: {a: {type: string}}\nuser: '{{a}}'\n")
    assert problem.hint == "rename the file to `<id>.prompt.yaml` to have it read as Proctor's own"


def test_a_prompt_of_github_models_with_our_ending_is_told_which_to_take():
    loaded, problems = parse_prompt(parse_yaml(GITHUB.encode(), "p.prompt.yaml"), "p")
    assert loaded is None
    assert "`<id>.prompt.yml`" in problems[-1].hint


def test_an_id_is_checked_like_any_other():
    assert refused(GITHUB, "Brief") == ["1: P6204: `Brief` is not a prompt id"]


# Finding them


def write(root, path, text="Hi\n"):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_the_ending_decides_the_format(tmp_path):
    write(tmp_path, "prompts/a.txt")
    write(tmp_path, "prompts/b.md")
    write(tmp_path, "prompts/c.prompt.txt")
    write(tmp_path, "prompts/d.prompt.md")
    write(tmp_path, "prompts/e.prompt.yml", GITHUB)
    write(tmp_path, "prompts/f.prompt.yaml", "user: Hi\n")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.ids() == ["a", "b", "c", "d", "e", "f"]
    for name in prompts.ids():
        assert prompts.get(f"acme/{name}", "here").prompt.id == name
    assert prompts.problems == []
    hashes = {prompts.load(name).prompt.bundle_sha256 for name in "abcdf"}
    assert len(hashes) == 1


def test_notes_that_are_not_named_like_a_prompt_are_passed_over(tmp_path):
    write(tmp_path, "prompts/README.md", "{{#anything}}")
    write(tmp_path, "prompts/reply.v2.txt")
    write(tmp_path, "prompts/reply.txt")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.ids() == ["reply"]
    assert prompts.get("README", "here") is None
    assert [problem.code for problem in prompts.problems] == ["P6203"]


def test_two_files_with_one_id_are_a_problem_at_the_second(tmp_path):
    write(tmp_path, "prompts/reply.prompt.yaml", "user: Hi\n")
    write(tmp_path, "prompts/reply.md")
    write(tmp_path, "prompts/reply.txt")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.ids() == ["reply"]
    assert prompts.get("reply", "here") is None
    assert [(one.code, one.where, one.message) for one in prompts.problems] == [
        (
            "P6204",
            f"prompts/reply.{ending}",
            "the prompt id `reply` is taken by `prompts/reply.md`",
        )
        for ending in ("prompt.yaml", "txt")
    ]


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", "P6204", "there is nothing to send"),
        ("Hi".encode("utf-16"), "P6204", "`prompts/reply.txt` is UTF-16, not UTF-8"),
        ("Hi\ncafé".encode("latin-1"), "P6204", "`prompts/reply.txt` is not UTF-8"),
        (b"x" * (2**20 + 1), "P6805", "`prompts/reply.txt` is larger than"),
    ],
)
def test_a_text_that_cannot_be_read_is_a_problem(tmp_path, content, code, message):
    write(tmp_path, "prompts/reply.txt", content)
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.load("reply") is None
    (problem,) = prompts.problems
    assert problem.code == code
    assert problem.message.startswith(message)


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path):
    write(tmp_path, "prompts/reply.txt", b"\xef\xbb\xbfHi")
    loaded = Prompts(tmp_path, "prompts", "acme").load("reply")
    assert loaded.prompt.messages[0].content == "Hi"


def test_a_link_in_place_of_a_text_is_refused(tmp_path):
    write(tmp_path, "secret.txt")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/reply.txt").symlink_to(tmp_path / "secret.txt")
    prompts = Prompts(tmp_path, "prompts", "acme")
    assert prompts.load("reply") is None
    assert [problem.code for problem in prompts.problems] == ["P6805"]
