import pytest

from proctor.scanning.characters import find_characters


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\u202eb", "bidi controls (U+202E RIGHT-TO-LEFT OVERRIDE)"),
        (
            "\u2066a\u2069",
            "bidi controls (U+2066 LEFT-TO-RIGHT ISOLATE, U+2069 POP DIRECTIONAL ISOLATE)",
        ),
        ("\u202a\u202a", "bidi controls (U+202A LEFT-TO-RIGHT EMBEDDING)"),
        (
            "\u202a\u202b\u202c\u202d\u2067",
            "bidi controls (U+202A LEFT-TO-RIGHT EMBEDDING, U+202B RIGHT-TO-LEFT EMBEDDING, "
            "U+202C POP DIRECTIONAL FORMATTING and 2 more)",
        ),
        ("a\u200bb", "characters of no width (U+200B ZERO WIDTH SPACE)"),
        ("soft\u00adhyphen", "characters of no width (U+00AD SOFT HYPHEN)"),
        ("\ufeffa", "characters of no width (U+FEFF ZERO WIDTH NO-BREAK SPACE)"),
        (
            "a\u2060b\u200c",
            "characters of no width (U+2060 WORD JOINER, U+200C ZERO WIDTH NON-JOINER)",
        ),
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "characters of no width (U+200D ZERO WIDTH JOINER)",
        ),
        ("p\u0430ypal", "lookalikes within words (U+0430 CYRILLIC SMALL LETTER A)"),
        ("see \u0410pple", "lookalikes within words (U+0410 CYRILLIC CAPITAL LETTER A)"),
        ("g\u03bf\u03bfgle", "lookalikes within words (U+03BF GREEK SMALL LETTER OMICRON)"),
        ("\u0396oom", "lookalikes within words (U+0396 GREEK CAPITAL LETTER ZETA)"),
        ("\u043f\u0440\u0438\u0432eT", "lookalikes within words (U+0440 CYRILLIC SMALL LETTER ER)"),
        ("Z\u0300\u0301\u0302\u0303", None),
        ("\u0301" * 9, "piles of marks (U+0301 COMBINING ACUTE ACCENT)"),
        ("\u0483\u0484\u0485\u0486", None),
        ("\u05d0\u0591\u0592\u0593\u0594", None),
        ("\u0628\u064b\u064c\u064d\u064e", None),
    ],
)
def test_what_is_not_seen_or_looks_like_something_else_is_named(text, found):
    (told,) = find_characters(text)
    if found is None:
        assert told.startswith("piles of marks (")
        assert told.endswith(" and 1 more)")
    else:
        assert told == found


@pytest.mark.parametrize(
    "text",
    [
        "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
        "left\u200eright\u200fmarks",
        "no\u00a0break\u2003spaces\u202f",
        "\u043f\u0440\u0438\u0432\u0435\u0442 hello",
        "\u043f\u0440\u0438\u0432\u0435\u0442-hello",
        "\u043f\u0440\u0438\u0432\u0435\u04421hello",
        "\u03b1\u03b2\u03b3 abc \u0430\u0431\u0432",
        "\u03b1\u0430",
        "na\u00efve caf\u00e9 \u0141\u00f3d\u017a",
        "10\u00b5m",
        "\u03b4x",
        "\u0416abc",
        "\u03c0r\u00b2",
        "e\u0301\u0302\u0303",
        "\u0301\u0302\u0303 \u0301",
        "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",
        "\U0001f44d\U0001f3fd \U0001f600",
        "\u6f22\u5b57 \ud55c\uae00 \u0e01\u0e33",
        "\ud800",
        "",
    ],
)
def test_plain_text_of_any_language_is_let_pass(text):
    assert list(find_characters(text)) == []


def test_each_kind_is_told_once():
    text = "\u202e\u200b p\u0430y \u0301\u0301\u0301\u0301 \u202e p\u0430y"
    kinds = [told.partition(" (")[0] for told in find_characters(text)]
    assert kinds == [
        "bidi controls",
        "characters of no width",
        "lookalikes within words",
        "piles of marks",
    ]


def test_only_words_of_two_scripts_lend_their_lookalikes():
    (told,) = find_characters("\u043e\u043a\u043d\u043e p\u0430y")
    assert told == "lookalikes within words (U+0430 CYRILLIC SMALL LETTER A)"
