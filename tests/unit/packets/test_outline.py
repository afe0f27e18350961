import pytest

from proctor.packets.outline import Block, Heading, outline


def headings(text):
    return [tuple(heading) for heading in outline(text).headings]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# a\n## b\n###### c", [(0, 1), (1, 2), (2, 6)]),
        ("   # a\n    # code\n\t# code", [(0, 1)]),
        ("#\n#\ta\n#a\n####### a", [(0, 1), (1, 1)]),
        ("a\n===\n\nb\nc\n ---", [(0, 1), (3, 2)]),
        ("---\na: b\n---", [(1, 2)]),
        ("a\n\n---\n\n- a\n---\n\n> a\n---", []),
        ("text\n# a", [(1, 1)]),
        ("- # a\n\n  # b\n\n> # c\n\n# d", [(6, 1)]),
        ("- a\n# b", [(1, 1)]),
        ("```\n# a\n```\n# b", [(3, 1)]),
        ("~~~\n# a\n```\n# b\n~~~~ \n# c", [(5, 1)]),
        ("````\n```\n# a\n````\n# b", [(4, 1)]),
        ("```\n# a\n``` no\n# b\n    ```\n# c", []),
        ("``` a`b\n# a", [(1, 1)]),
        ("```\n# a", []),
        ("1. ```sh\n   # a\n   ```\n# b", [(3, 1)]),
        ("1. a\n\n   ```sh\n   # a\n   ```\n\n# b", [(6, 1)]),
        ("- ```\n# a", [(1, 1)]),
        ("    ```\n# a", [(1, 1)]),
        ("> ```\n# a", [(1, 1)]),
        ("<!--\n# a\n\n# b\n-->\n# c", [(5, 1)]),
        ("<!-- a --> b\n# c", [(1, 1)]),
        ("<PRE>\n# a\n\n# b\n</pre>\n# c", [(5, 1)]),
        ("<div>\n# a\n\n# b", [(3, 1)]),
        ("# a\r\n# b\r# c", [(0, 1), (1, 1), (2, 1)]),
        ("", []),
    ],
)
def test_headings_are_found_outside_of_code_quotes_lists_and_html(text, found):
    assert headings(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```json\n{}\n```", [Block("json", "{}\n", True)]),
        ("~~~ JSON  more\r\n{}\r\n~~~\r\n", [Block("JSON", "{}\r\n", True)]),
        ("````\n```json\n{}\n```\n````", [Block("", "```json\n{}\n```\n", True)]),
        ("```\n\n\n```\n```\n```", [Block("", "\n\n", True), Block("", "", True)]),
        ("1. a:\n   ```json\n   {\n     1\n   }\n   ```", [Block("json", "{\n  1\n}\n", True)]),
        ("```json\n{}", [Block("json", "{}", False)]),
        ("- ```json\n  {}\nb", [Block("json", "{}\n", False)]),
        ("text ```json\n{}\n```", [Block("", "", False)]),
        ("> ```json\n> {}\n> ```", []),
        ("    ```json\n    {}\n    ```", []),
    ],
)
def test_blocks_are_found_with_their_label_and_their_content(text, found):
    assert outline(text).blocks == found


def test_lines_keep_their_ends():
    text = "a\r\nb\n\nc\rd"
    assert outline(text).lines == ["a\r\n", "b\n", "\n", "c\r", "d"]
    assert outline(text).headings == []
    assert outline("a\n").lines == ["a\n"]


@pytest.mark.parametrize(
    "text",
    [
        "- + " * 100_000,
        "> " * 200_000,
        "\n".join("  " * n + "- a" for n in range(800)),
        "- " * 200_000 + "x",
        "```\n" * 100_000,
        "<" * 400_000,
        "=" * 400_000 + "x",
        "<a " + "a=" * 200_000,
        "\t" * 400_000 + "#",
    ],
    ids=["items", "quotes", "deep list", "rule", "fences", "tags", "underline", "tag", "tabs"],
)
def test_a_large_text_is_read_like_a_small_one(text):
    assert outline(text).headings == []


def test_what_is_a_heading_has_a_line_and_a_level():
    assert outline("\n## a").headings == [Heading(line=1, level=2)]
