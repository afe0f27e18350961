"""One comment for a run and what became of it since the baseline."""

from __future__ import annotations

import pytest
from two_reports import compared, made

from proctor.records import Remark, RenderOptions
from proctor.rendering.markdown import render_markdown_with_baseline
from proctor.rendering.markdown_parts import MAX_LENGTH
from proctor.rendering.text import render_text


def comment(before, now, *, remarks=(), **options):
    comparison = compared(before, now, **options)
    (text,) = render_markdown_with_baseline(now, comparison, RenderOptions(remarks=remarks))
    return text.decode("utf-8")


def headings(text):
    return [line.removeprefix("#### ") for line in text.splitlines() if line.startswith("#### ")]


def alert(text):
    return text.splitlines()[2]


BEFORE = made({"worse": "ppppp", "same": "ppppp", "better": "fffff"})


def test_everything_stands_in_order_of_severity_and_only_once():
    now = made({"worse": "fffff", "same": "ppppp", "better": "ppppp"}, salt="now")
    text = comment(BEFORE, now)
    assert text.startswith("### Proctor: acme\n\n> [!CAUTION]\n> **FAILED** 10 of 15 rows passed")
    assert text.count("### Proctor: ") == 1
    assert headings(text) == [
        "Thresholds",
        "Regressions",
        "Improvements",
        "Cases that did not pass",
        "Suites",
        "Gates (noise-aware)",
    ]
    assert text.count("<details>") == 1


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"worse": "ppppp", "same": "ppppp", "better": "ppppp"}, "> [!TIP]"),
        ({"worse": "ppppp", "same": "ppppf", "better": "ppppp"}, "> [!CAUTION]"),
        ({"worse": "ppppp", "same": "ppppu", "better": "ppppp"}, "> [!WARNING]"),
    ],
)
def test_the_alert_is_the_more_severe_of_the_run_and_the_comparison(now, expected):
    before = made(dict.fromkeys(("worse", "same", "better"), "ppppp"))
    assert alert(comment(before, made(now, salt="now"))) == expected


@pytest.mark.parametrize(
    ("met", "expected"), [(False, "> [!CAUTION]"), (None, "> [!WARNING]"), (True, "> [!TIP]")]
)
def test_a_gate_that_does_not_hold_is_an_alert_and_its_words_are_data(met, expected):
    before = made({"one": "p"})
    remark = Remark(met=met, word="GATE", text="the gate of tier `@all|`: <b>")
    text = comment(before, made({"one": "p"}), remarks=[remark])
    assert alert(text) == expected
    assert "> **GATE** <code>the" in text
    assert "<b>" not in text
    assert "@all" not in text


def test_a_comment_on_thousands_of_regressions_fits_and_says_what_is_left_out():
    names = [f"{place:04d}-" + "\N{EURO SIGN}&" * 60 for place in range(1_500)]
    text = comment(made(dict.fromkeys(names, "p")), made(dict.fromkeys(names, "f"), salt="now"))
    assert len(text) <= MAX_LENGTH
    assert len(text) > MAX_LENGTH * 0.9
    assert text.count("Left out: ") >= 2
    for heading in ("Regressions", "Cases that did not pass", "Suites", "Gates (strict)"):
        assert heading in headings(text)


def test_in_text_remarks_stand_right_below_the_verdict_and_are_escaped():
    remarks = [Remark(met=False, word="NOT MET", text="a gate\x1b[2J")]
    text = b"".join(render_text(BEFORE, RenderOptions(remarks=remarks))).decode()
    assert text.splitlines()[1] == "NOT MET  a gate\\x1b[2J"
    coloured = b"".join(render_text(BEFORE, RenderOptions(remarks=remarks, colour=True))).decode()
    assert coloured.splitlines()[1].startswith("\x1b[31mNOT MET\x1b[0m  ")
