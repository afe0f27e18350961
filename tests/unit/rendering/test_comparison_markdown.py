import re
from itertools import takewhile

import pytest
from markdown_reading import (
    HOSTILE,
    visible,
)
from msgspec.structs import replace
from test_comparison_text import STEADY, golden
from two_reports import compared, made, several, with_head

from proctor.records import RenderOptions
from proctor.rendering.comparison_markdown import render_comparison_markdown
from proctor.rendering.markdown_parts import MAX_LENGTH


def rendered(comparison, **options):
    chunks = render_comparison_markdown(comparison, RenderOptions(**options))
    return b"".join(chunks).decode("utf-8")


def test_a_comparison_with_repeats():
    before = made({**STEADY, "a": "ppppp", "b": "ppppp", "c": "pffff", "gone": "ppppp"})
    now = made({**STEADY, "a": "fffff", "b": "ppfff", "c": "ppppp", "new": "fffff"}, salt="now")
    assert visible(rendered(compared(before, now))) == golden("""
        ### Proctor: acme

        > [!CAUTION]
        > **REGRESSED** compared with the baseline: 1 unit fell further than chance explains.

        | subject | baseline and now |
        |---|---|
        | reviews: brief@local/gemma | passed 61/65 -> 52/65, mean change -0.0667 [-0.3337, +0.2004] |

        #### Regressions

        | case | now | baseline | change | p |
        |---|---|---|---|---|
        | a | 0/5 | 5/5 | -100 | 0.00397 |

        #### Likely regressions

        | case | now | baseline | change | p |
        |---|---|---|---|---|
        | b | 2/5 | 5/5 | -60 | 0.0833 |

        #### Improvements

        | case | now | baseline | change | p |
        |---|---|---|---|---|
        | c | 5/5 | 1/5 | +80 |  |

        #### Not compared

        - gone only in the baseline
        - new only in the candidate

        #### Gates (noise-aware)

        - all units together: p 0.137, red up to 0.025
        - **red** each unit by itself: least p 0.00397, red up to 0.0125

        | units | found | by chance |
        |---|---|---|
        | hard regression | 1 | 0.03 |
        | soft regression | 1 | 0.18 |
        | improvement | 1 | 0.03 |
        | watch | 0 | 0.66 |
        | unreliable baseline | 0 | 0.00 |
        | stable | 9 | 11.10 |
        | insufficient data | 0 | 0.00 |

        2 cases passed every time and do not now. Repeats of one prompt do that too, so it counts only with `--strict`: a, b

        60 rows a side at a pass rate of 0.933 find a drop of 0.21 over all of them four times in five. Smaller drops go unnoticed more often, and so do those of a few cases only.

        The exit code is 0; with `--fail-on-regression` it is 1.

        A report is a claim about one run, not a proof: replay it (`proctor run --verify REPORT`) at the commit you gate.
    """)  # noqa: E501 - a paragraph is one line


def test_single_rows_that_changed_are_regressions_and_improvements():
    before, now = made({"a": "p", "b": "f"}), made({"a": "f", "b": "p"}, salt="now")
    text = visible(rendered(compared(before, now)))
    assert "#### Regressions\n" in text
    assert "\n| a | failed | passed | | |\n" in text
    assert "#### Improvements\n" in text
    assert "\n| b | passed | failed | | |\n" in text
    assert "#### Worth watching" not in text


@pytest.mark.parametrize(
    ("before", "now", "alert"),
    [
        (made({"a": "p"}), made({"a": "f"}, salt="now"), "CAUTION"),
        (made({"a": "f"}), made({"a": "e"}, salt="now"), "WARNING"),
        (made({"a": "ppppp"}), made({"a": "ppfff"}, salt="now"), "WARNING"),
        (made({"a": "ppppp"}), made({"a": "ppppp"}, salt="now"), "TIP"),
    ],
)
def test_there_is_one_alert(before, now, alert):
    lines = rendered(compared(before, now)).split("\n")
    assert lines[0] == "### Proctor: acme"
    assert lines[2] == f"> [!{alert}]"
    assert sum(line.startswith("> [!") for line in lines) == 1


def test_a_report_against_itself_is_said_in_a_line():
    one = made({"a": "ppf"})
    comparison = compared(one, one)
    text = rendered(replace(comparison, candidate=comparison.baseline))
    assert "**CLEAN** compared with the baseline: both reports have the same bytes." in text
    assert "|" not in text


def test_with_several_subjects_a_case_names_its_own():
    before = several({"reviews": {"brief": {"a": "p"}, "long": {"a": "p"}}})
    now = several({"reviews": {"brief": {"a": "f"}, "long": {"a": "p"}}}, "now")
    text = visible(rendered(compared(before, now)))
    assert "| reviews: brief@local/gemma: a | failed | passed | | |" in text


def test_options_change_nothing():
    comparison = compared(made({"a": "p"}), made({"a": "f"}, salt="now"))
    assert rendered(comparison, all_cases=True, colour=True) == rendered(comparison)


def full_of(text):
    """A comparison that holds `text` wherever data can stand."""
    names = {"suite": text, "prompt": text, "model": text}
    ids = [f"{n}{text}" for n in range(6)]
    before = made(
        dict(zip(ids, ["ppppp", "ppppp", "fffff", "ppppp", "pffff", "ppppp"], strict=True)),
        expected={ids[5]: 1},
        **names,
    )
    now = made(
        dict(
            zip(
                [*ids[:5], f"new{text}", ids[5]],
                ["fffff", "eeeee", "ppppp", "ppfff", "pppff", "ppppp", "ppppp"],
                strict=True,
            )
        ),
        salt="now",
        expected={ids[5]: 2},
        **names,
    )
    (suite,) = now.head.suites
    (who,) = suite.subjects
    changed = replace(who, categories={text: 9}, params={text: text})
    now = with_head(now, project=text, suites=[replace(suite, subjects=[changed])])
    return compared(before, now)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_row_of_a_table_has_the_cells_of_its_head(text):
    lines = rendered(full_of(text)).split("\n")
    heads = [place for place, line in enumerate(lines) if re.fullmatch(r"\|(---\|)+", line)]
    assert len(heads) == 7
    for place in heads:
        assert lines[place + 1].startswith("| ")
        for row in takewhile(bool, lines[place + 1 :]):
            assert row.count("|") == lines[place].count("|")


def test_a_comparison_that_is_too_long_leaves_out_the_least_severe_and_says_so():
    cases = {f"case-{n}": "ppppp" for n in range(700)} | {f"up-{n}": "fffff" for n in range(700)}
    after = {id_: "fffff" if letters == "ppppp" else "ppppp" for id_, letters in cases.items()}
    text = rendered(compared(made(cases), made(after, salt="now")))
    assert MAX_LENGTH * 0.9 < len(text) <= MAX_LENGTH
    shown = visible(text)
    assert "case-699" in shown
    assert re.search(r"\nLeft out: \d+ of 700 cases\.\n", shown)


def test_many_names_leave_room_for_the_rest():
    before = made({f"case-{n}": "p" for n in range(5_000)})
    text = visible(rendered(compared(before, made({"case-0": "f"}, salt="now"))))
    assert re.search(r"\nLeft out: \d+ of 4999 cases\.\n", text)
    assert "| case-0 | failed | passed | | |" in text
    assert "#### Gates (strict)" in text
