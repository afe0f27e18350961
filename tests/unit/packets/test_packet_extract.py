import pytest

from proctor.errors import FileError
from proctor.packets.extract import extract_response

ANSWER = '{"results": {"a": [1.0, "\\u00e9"]}}\n'


def extract(text):
    return extract_response(text if isinstance(text, bytes) else text.encode(), "chat.md")


def refusal(text):
    with pytest.raises(FileError) as caught:
        extract(text)
    assert caught.value.code == "P6801"
    return caught.value.message


@pytest.mark.parametrize(
    "chat",
    [
        f"```json\n{ANSWER}```",
        f"Sure.\n\n```JSON\n{ANSWER}```\n\nDone.",
        f"~~~~ json\n{ANSWER}~~~~",
        f"```\n{ANSWER}```",
        f"```json\n{ANSWER}```\n\n```python\n{{}}\n```\n\n```\nno json\n```\n\n```\n[1]\n```",
        f"````text\n```json\n{{}}\n```\n````\n\n```json\n{ANSWER}```",
        f"    ```json\n    {{}}\n    ```\n\n```json\n{ANSWER}```",
        f'The object {{"a": 1}} is no block.\n\n```json\n{ANSWER}```',
        f"1. Here:\n\n   ```json\n   {ANSWER}   ```\n",
    ],
)
def test_the_only_json_block_is_taken_as_it_stands(chat):
    assert extract(chat) == ANSWER


def test_line_ends_stay_as_they_are():
    assert extract("```json\r\n{\r\n}\r\n```\r\n") == "{\r\n}\r\n"


@pytest.mark.parametrize(
    ("chat", "count"),
    [
        ("", "no fenced JSON block"),
        (ANSWER, "no fenced JSON block"),
        ("```\nhello\n```", "no fenced JSON block"),
        ("```\n[1]\n```", "no fenced JSON block"),
        ("```json5\n{}\n```\n\n```jsonl\n{}\n```", "no fenced JSON block"),
        ("> ```json\n> {}\n> ```", "no fenced JSON block"),
        ("````\n```json\n{}\n```\n````", "no fenced JSON block"),
        (f"```json\n{ANSWER}```\n\n```json\n{ANSWER}```", "2 fenced JSON blocks"),
        (f"```json\n{ANSWER}```\n\n```\n{ANSWER}```", "2 fenced JSON blocks"),
        ("```json\n{\n```\n\n```json\n{}\n```", "2 fenced JSON blocks"),
        ("```json\n{}\n```\n" * 3, "3 fenced JSON blocks"),
    ],
)
def test_none_or_several_are_refused(chat, count):
    assert refusal(chat) == f"`chat.md` has {count}, and not exactly one"


@pytest.mark.parametrize(
    ("chat", "reason"),
    [
        ("```json\n{'a': 1}\n```", "not_json"),
        ("```json\n{\n```", "not_json"),
        ("```json\n{} // done\n```", "trailing_text"),
        ('```json\n{"a": 1, "a": 1}\n```', "duplicate_key"),
        ("```json\n{}", "not_json"),
        (b"\xef\xbb\xbf```json\n{}\n```", "bom"),
        ("```json\n{}\n```".encode("utf-16"), "not_utf8"),
    ],
)
def test_a_block_that_is_not_strict_json_is_not_repaired(chat, reason):
    assert refusal(chat).endswith(f"({reason})")
