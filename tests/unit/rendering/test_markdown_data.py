"""Whatever data holds, Markdown shows it as data: in reports and in comparisons."""

import pytest
import test_comparison_markdown
import test_markdown
from markdown_reading import HOSTILE, OURS, parsed, shapes

from proctor.rendering.markdown_parts import MAX_LENGTH


@pytest.fixture(
    params=[test_markdown, test_comparison_markdown], ids=lambda module: module.__name__
)
def full_of(request):
    """What is rendered when a text stands wherever data can."""
    return lambda text: request.param.rendered(request.param.full_of(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_data_changes_nothing_of_what_the_reader_makes_of_the_text(full_of, text):
    shown, plain = full_of(text), shapes(full_of("A harmless name"))
    if len(text) < 300:
        assert shapes(shown) == plain
    assert all(shape in plain for shape in shapes(shown))
    assert len(shown) <= MAX_LENGTH


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_but_our_own_markup_is_html(full_of, text):
    for token in parsed(full_of(text)):
        if token.type == "html_block":
            assert OURS.fullmatch(token.content.strip())
        for child in token.children or ():
            assert child.type != "html_inline" or OURS.fullmatch(child.content)
