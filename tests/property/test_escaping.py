import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from proctor.rendering.escaping import terminal_line, terminal_text

pieces = st.sampled_from(["::", "##[", "##vso[", "##TeamCity[", "#", ":", "[", "vso[", " ", "\xa0"])
hostile = st.lists(pieces | st.characters() | st.integers(0, 0x10FFFF).map(chr), max_size=20).map(
    "".join
)

# Code points that Unicode calls formats but that are drawn: signs that span a number.
DRAWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2") | frozenset(
    map(chr, [0x110BD, 0x110CD, *range(0x13430, 0x13440)])
)


@given(hostile)
@example("\u200b\u202e\u2066\ufeff\x9b\x7f\ud800\u2028")
def test_nothing_unseen_is_left(text):
    for shown in (terminal_text(text), terminal_line(text)):
        for character in shown:
            assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
            assert unicodedata.category(character) != "Cf" or character in DRAWN
        shown.encode("utf-8")


@given(hostile)
@example("##[##[")
@example(" \xa0::error::x")
def test_nothing_is_left_that_a_runner_would_obey(text):
    for shown in (terminal_text(text), terminal_line(text)):
        lowered = shown.lower()
        assert not any(mark in lowered for mark in ("##[", "##vso[", "##teamcity["))
    assert not terminal_line(text).strip().startswith("::")


@given(st.text(st.characters(categories=["L", "N", "P", "S"]).filter(str.isprintable)))
def test_what_can_be_seen_stays_as_it_is(text):
    unseen = "\u115f\u1160\u3164\uffa0"
    if "##" not in text and not any(character in unseen for character in text):
        assert terminal_text(text) == text


@given(hostile)
def test_escaping_what_is_escaped_changes_nothing(text):
    once = terminal_text(text)
    assert terminal_text(once) == once
    line = terminal_line(text)
    assert terminal_text(line) == line
