import pytest
from asking import check, verdict

from proctor.assertions import extracting
from proctor.assertions.extracting import Extracted, extract_json
from proctor.strict_json import parse_json

A = {"a": 1}


@pytest.mark.parametrize(
    ("text", "value", "source"),
    [
        ('```json\n{"a":1}\n```', A, "fence"),
        ('```JSON\n{"a":1}\n```', A, "fence"),
        ('```\n{"a":1}\n```', A, "fence"),
        ('```jsonl\n{"a":1}\n```', A, "fence"),
        ('```json5\n{"a":1}\n```', A, "fence"),
        ('```json title="x"\r\n{"a":1}\r\n```\r\n', A, "fence"),
        ('~~~json\n{"a":1}\n~~~', A, "fence"),
        ('````\n{"a":1}\n````', A, "fence"),
        ('````json\n```\n````\n{"a":1}', None, None),
        ('  ```json\n  {"a":1}\n  ```', A, "fence"),
        ('Sure:\n\n```json\n{"a":1}\n```\nDone.', A, "fence"),
        ('Sure: ```json\n{"a":1}\n```', A, "fence"),
        ("```\n42\n```", 42, "fence"),
        ('{"t":"use ```json here"}', {"t": "use ```json here"}, "text"),
        ('So: {"t":"use ```json here"}', {"t": "use ```json here"}, "text"),
        ('```json\n{"t":"a ``` b"}\n```', {"t": "a ``` b"}, "fence"),
        ('````\n{"t":"```\\n```"}\n````', {"t": "```\n```"}, "fence"),
        ('The answer is {"a":1}.', A, "text"),
        ("It is [1, 2], I think.", [1, 2], "text"),
        ('{"a":1}', A, "text"),
        ('\n {"a":1} \n', A, "text"),
        ("42", 42, "text"),
        ('`{"a":1}`', A, "text"),
        ('```json\n{"a":1}```', A, "text"),
        ('```json\n{"a":1}', A, "text"),
        ('```python\nx = {}[0]\n```\n{"a":1}', A, "text"),
        ('```python\nx = 1\n```\n```json\n{"a":1}\n```', A, "fence"),
        ('Replace {name} and {}}: {"a":1}', None, None),
        ('Replace {name}: {"a":1}', A, "text"),
        ('Half open, [0, 1), gives {"a":1}', A, "text"),
        ('It\'s 5" wide: {"a":1}', A, "text"),
        ('<think>{"b":2}</think>{"a":1}', A, "text"),
        ('<think>\n```json\n{"b":2}\n```\n</think>\n```json\n{"a":1}\n```', A, "fence"),
        ("<think>x</think>\n42", 42, "text"),
        ('<think></think><think>x</think>{"a":1}', A, "text"),
        ('[ then <think>x</think>{"a":1}', A, "text"),
        ('{"t":"<think>"}', {"t": "<think>"}, "text"),
        ('So: {"t":"<think>x</think>"}', {"t": "<think>x</think>"}, "text"),
        ('{"a":[{"b":1},{"c":[]}]}', {"a": [{"b": 1}, {"c": []}]}, "text"),
        ('x {"q":"\\"}{"} y', {"q": '"}{'}, "text"),
    ],
)
def test_the_only_json_value_is_taken(text, value, source):
    result = extract_json(text)
    if source is None:
        assert not isinstance(result, Extracted)
    else:
        assert (result.value, result.source.value) == (value, source)


@pytest.mark.parametrize(
    ("text", "fault", "detail"),
    [
        ("", "nothing_found", None),
        ("no json here", "nothing_found", None),
        ("{name} and [see above]", "nothing_found", None),
        ("{'a': 1}", "nothing_found", None),
        ('{"a":1} or {"a":2}', "two_candidates", None),
        ('{"a":1}\n{"a":1}', "two_candidates", None),
        ('See [1]: {"a":1}', "two_candidates", None),
        ("```json\n{}\n```\n```json\n{}\n```", "two_candidates", None),
        ('First {"a":1}, then\n```json\n{"a":2}\n```', "two_candidates", None),
        ('```json\n{"a":1,}\n```\nor [1]', "two_candidates", None),
        ('<think>{"a":1}', "unclosed_think", None),
        ('{"a":1} <think>', "unclosed_think", None),
        ('<think>x</think><think>{"a":1}', "unclosed_think", None),
        ("```\n{}\n{}\n```", "not_json", "has text after the JSON value"),
        ("```json\n```", "not_json", "is empty"),
        ('So: {"a":1,"a":2}', "not_json", "has the key `a` twice"),
        ('{"d": approve, "in": {"a":1}}', "not_json", "is not JSON: expecting value at column 7"),
        ('{"d": "approve", "in": {"a":1}', "not_json", "ends before its last bracket"),
        ('So: {"d": {"a":1}, <think>x</think>', "not_json", "ends before its last bracket"),
        ('So: {"d": {"a":1}, \n```\n{}\n```', "two_candidates", None),
        ("[" * 100 + "]" * 100, "not_json", "is nested deeper than 64"),
        ("```python\nx = 1\n```", "not_json", "is not JSON: expecting value at column 1"),
        ("```\nx\n```\n```\ny\n```", "nothing_found", None),
    ],
)
def test_no_value_is_taken_when_there_is_not_exactly_one(text, fault, detail):
    result = extract_json(text)
    assert (result.fault.value, result.detail) == (fault, detail)


HOSTILE = {
    "braces": "{" * 200_000,
    "lines of objects": "{}\n" * 50_000,
    "brackets": "[" * 300_000,
    "words in braces": "{x}\n" * 100_000,
    "words in braces in an open one": "[ " + "{x}\n" * 100_000,
    "nested": '{"a":' * 100_000,
    "lists in an open one": "[" + "[1x]" * 50_000,
    "fences never closed": "```x\n" * 100_000,
    "fences of all lengths": "".join("`" * (3 + n % 12) + "x\n" for n in range(50_000)),
    "tildes": "~~~ " * 100_000,
    "backticks": "`" * 500_000,
    "quotes": "{" + '"' * 500_000,
    "escapes": '{"' + "\\" * 500_000,
    "thoughts": "<think></think>" * 30_000,
    "spaces": ("[" + " " * 500) * 1_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_part_of_a_hostile_text_is_parsed_twice(text, monkeypatch):
    parsed = []

    def parse(part):
        parsed.append(len(part))
        return parse_json(part)

    monkeypatch.setattr(extracting, "parse_json", parse)
    assert not isinstance(extract_json(text), Extracted)
    assert sum(parsed) <= 2 * len(text)


@pytest.mark.parametrize(
    ("text", "fields", "evidence"),
    [
        ('```json\n{"a":1}\n```', {"field": "a", "value": 1}, {"extracted": "fence"}),
        ('So {"a":1}', {"field": "a", "value": 1}, {"extracted": "text"}),
        ('{"a":1}', {"field": "a", "value": 1}, {"extracted": "text"}),
        ('So {"a":1}', {"value": {"a": 1}}, {"extracted": "text"}),
        (
            'So {"a":1}',
            {"field": "a", "value": 2},
            {"path": "a", "expected": 2, "got": 1, "extracted": "text"},
        ),
        ('So {"a":1}', {"field": "b", "value": 2}, {"path": "b", "extracted": "text"}),
        ("none", {"field": "a", "value": 1}, None),
        (
            '```json\n{"a":1,}\n```',
            {"value": 1},
            {
                "problem": "is not JSON: expecting property name enclosed in double quotes"
                " at column 8",
                "extracted": "fence",
            },
        ),
    ],
)
def test_a_check_says_that_it_extracted_also_when_it_passes(text, fields, evidence):
    assert check("equals", text, extract="json", **fields).evidence == evidence


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("none", "nothing_found"),
        ("{} {}", "two_candidates"),
        ("<think>{}", "unclosed_think"),
        ("```json\n{\n```", "not_json"),
        (None, "no_text"),
    ],
)
def test_nothing_extracted_fails_also_when_negated(text, reason, negate):
    assert verdict("equals", text, extract="json", value=1, negate=negate) == reason


def test_without_extract_a_fence_is_not_json():
    result = check("json-schema", '```json\n{"a":1}\n```')
    assert result.reason == "not_json"
    assert result.evidence == {"problem": "is not JSON: expecting value at column 1"}
