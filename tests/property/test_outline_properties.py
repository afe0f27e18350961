"""The headings and blocks of Markdown, held against a parser of CommonMark."""

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from proctor.packets.outline import outline

PARSER = MarkdownIt("commonmark")
LINES = [
    "# a", "## b", "   ### c", "    # code", "##", "#x", "a #", "```", "```json", "````", "~~~",
    "~~~ js", "  ```", "   ~~~~", "```a`b", "text", "  text", "- item", "- ", "  - sub", "+ a",
    "1. one", "2. two", "10) ten", "  in item", "    deep", "- ```", "1. ```json", "   {}",
    "   ```", "      ```", "===", "---", "- - -", "***", "", "", "", "<!-- c", "-->", "<!-- x -->",
    "\t# t", "-\tx", "- # h", "<pre>", "</pre>", "=== x",
]  # fmt: skip
QUOTES = ["> q", "> # q", "> ```"]


def texts(lines):
    return st.lists(st.sampled_from(lines), max_size=9).map("\n".join)


@settings(max_examples=500)
@given(texts(LINES + QUOTES))
def test_a_heading_is_one_where_commonmark_has_one_at_the_top(text):
    wanted = [
        (token.map[0], int(token.tag[1]))
        for token in PARSER.parse(text)
        if token.type == "heading_open" and token.level == 0
    ]
    assert [tuple(heading) for heading in outline(text).headings] == wanted


@settings(max_examples=500)
@given(texts(LINES))
def test_a_block_is_one_where_commonmark_has_one(text):
    wanted = [
        ("".join(token.info.split()[:1]), token.content.split())
        for token in PARSER.parse(text)
        if token.type == "fence"
    ]
    found = [(block.label, block.content.split()) for block in outline(text).blocks]
    assert found == wanted


@given(st.text())
def test_no_text_is_refused_and_none_of_it_is_lost(text):
    assert "".join(outline(text).lines) == text
