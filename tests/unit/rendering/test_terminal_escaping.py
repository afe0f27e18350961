import pytest

from proctor.rendering.escaping import terminal_line, terminal_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("late-return", "late-return"),
        ("Grüße, 日本, 🎉", "Grüße, 日本, 🎉"),
        (r"\b(we|i)\b", r"\b(we|i)\b"),
        ("]]> <script> | `x` # ## [", "]]> <script> | `x` # ## ["),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("nul\0 bell\a del\x7f csi\x9b", r"nul\x00 bell\x07 del\x7f csi\x9b"),
        ("one\ntwo\r\n\tthree\x0b", r"one\ntwo\r\n\tthree\x0b"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\u202efdp.exe\u202c", r"\u202efdp.exe\u202c"),
        (
            "\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
            r"\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
        ),
        ("a\u200bb\u200c\u200d\u2060\ufeff\u00ad", r"a\u200bb\u200c\u200d\u2060\ufeff\xad"),
        ("\U000e0041\u3164", r"\U000e0041\u3164"),
        ("\ud800 \udfff", r"\ud800 \udfff"),
        ("see ##[error]x", r"see \x23#[error]x"),
        ("a ##vso[task.x]y", r"a \x23#vso[task.x]y"),
        ("a ##TeamCity[x]", r"a \x23#TeamCity[x]"),
        ("###[x", r"#\x23#[x"),
        ("a ::error::b", "a ::error::b"),
    ],
)
def test_text_shows_what_it_holds(text, shown):
    assert terminal_text(text) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("PASSED  5 of 5", "PASSED  5 of 5"),
        ("  passed ::x", "  passed ::x"),
        ("std::move", "std::move"),
        (":", ":"),
        ("::error file=a::boom", r" \x3a:error file=a::boom"),
        ("  ::warning::x", r"   \x3a:warning::x"),
        ("\xa0\u3000::warning::x", " \xa0\u3000\\x3a:warning::x"),
        (":::", r" \x3a::"),
        ("##[group]x", r" \x23#[group]x"),
        ("  ##vso[x]", r"   \x23#vso[x]"),
        ("##teamcity[x]", r" \x23#teamcity[x]"),
        ("\t::error::x", r"\t::error::x"),
        ("\u200b::error::x", r"\u200b::error::x"),
    ],
)
def test_a_line_is_no_command_of_a_runner_even_when_it_is_trimmed(line, shown):
    assert terminal_line(line) == shown
