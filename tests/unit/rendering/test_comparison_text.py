from textwrap import dedent

import pytest
from markdown_reading import HOSTILE
from msgspec.structs import replace
from two_reports import compared, made, several, with_head

from proctor.records import RenderOptions
from proctor.records.comparison import Mode
from proctor.rendering.comparison_text import render_comparison_text


def rendered(comparison, **options):
    return b"".join(render_comparison_text(comparison, RenderOptions(**options))).decode("utf-8")


def golden(text):
    return dedent(text).lstrip("\n")


STEADY = {f"steady-{n}": "ppppp" for n in range(9)}


def test_single_rows_that_changed():
    before = made({"a": "p", "b": "p", "c": "f", "d": "p", "gone": "p"})
    now = made({"a": "f", "b": "e", "c": "p", "d": "p", "new": "f"}, salt="now")
    assert rendered(compared(before, now)) == golden("""
        REGRESSED  2 cases passed in the baseline and do not now; the pass rate of 1 subject fell
          1 unit was measured in the baseline, and too few of the rows are now: `b`

        reviews: brief@local/gemma
          passed 4/5 -> 2/4, mean change 0 [-0.784, +0.784]
          1 worse and 1 better of 3: fewer than 6 changes tell nothing at 5%
          regressed  a  passed -> failed
          regressed  b  passed -> errored
          recovered  c  failed -> passed
          insufficient data  b  1/1 -> 0/0 of 1
          removed 1: gone
          added 1: new

        gates (strict)
          red  cases that passed and do not now: 2
          red  subjects whose pass rate fell by more than 0: 1
          ok   all units together: p 0.75, red up to 0.025
          ok   each unit by itself: least p 0.5, red up to 0.025

        3 rows a side at a pass rate of 0.667 find no drop reliably.
        The exit code is 0; with `--fail-on-regression` it is 1.
        A report is a claim about one run, not a proof: replay it (`proctor run --verify REPORT`) at the
        commit you gate.
    """)  # noqa: E501 - the lines are as long as they are printed


def test_repeats_that_differ_by_more_than_chance():
    before = made({**STEADY, "a": "ppppp", "b": "ppppf", "up": "fffff"})
    now = made({**STEADY, "a": "fffff", "b": "pppff", "up": "ppppp"}, salt="now")
    assert rendered(compared(before, now, fail_on_regression=True)) == golden("""
        REGRESSED  1 unit fell further than chance explains

        reviews: brief@local/gemma
          passed 54/60 -> 53/60, mean change -0.0167 [-0.2898, +0.2565]
          hard regression  a  5/5 -> 0/5, p 0.00397, more than chance explains
          improvement  up  0/5 -> 5/5

        units                found  by chance
        hard regression          1       0.01
        soft regression          0       0.28
        improvement              1       0.01
        watch                    0       0.28
        unreliable baseline      0       0.00
        stable                  10      11.42
        insufficient data        0       0.00

        gates (noise-aware)
          ok   all units together: p 0.5, red up to 0.025
          red  each unit by itself: least p 0.00397, red up to 0.0125

        1 case passed every time and does not now. Repeats of one prompt do that too, so it counts only with
        `--strict`: a
        60 rows a side at a pass rate of 0.9 find a drop of 0.23 over all of them four times in five.
        Smaller drops go unnoticed more often, and so do those of a few cases only.
        A report is a claim about one run, not a proof: replay it (`proctor run --verify REPORT`) at the
        commit you gate.
    """)  # noqa: E501 - the lines are as long as they are printed


def test_a_report_against_itself_is_said_in_a_line():
    one = made({"a": "ppf"})
    comparison = compared(one, one)
    comparison = replace(comparison, candidate=comparison.baseline)
    assert rendered(comparison) == golden("""
        CLEAN  both reports have the same bytes

        A report is a claim about one run, not a proof: replay it (`proctor run --verify REPORT`) at the
        commit you gate.
    """)  # noqa: E501 - the lines are as long as they are printed


def test_two_prompts_of_one_report_are_not_the_same():
    one = several({"reviews": {"brief": {"a": "p"}, "long": {"a": "f"}}})
    comparison = compared(one, one, "brief=long")
    comparison = replace(comparison, candidate=comparison.baseline)
    text = rendered(comparison)
    assert text.startswith("REGRESSED")
    assert "\nreviews: brief@local/gemma -> long@local/gemma\n" in text


def lines_with(text, *starts):
    return [line.strip() for line in text.splitlines() if line.strip().startswith(starts)]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("p", "p", "CLEAN  every case that passed in the baseline passes now"),
        ("pp", "pp", "CLEAN  nothing got worse beyond what chance explains"),
        ("f", "e", "CANNOT TELL  nothing is red, and that does not say that nothing is worse"),
    ],
)
def test_the_verdict_comes_first_with_its_reason(before, now, said):
    text = rendered(compared(made({"a": before}), made({"a": now}, salt="now")))
    assert text.splitlines()[0] == said


def test_each_red_gate_says_what_it_found():
    before = made({f"case-{n}": "ppppp" for n in range(8)} | {"gone": "ppppp"})
    now = made({f"case-{n}": "ppppf" for n in range(7)} | {"case-7": "fffff"}, salt="now")
    asked = {"mode": Mode.STRICT, "tolerance": "0.1", "fail_on_missing": True}
    first = rendered(compared(before, now, **asked)).splitlines()[0]
    assert first == (
        "REGRESSED  8 cases passed in the baseline and do not now; the pass rate of 1 subject fell "
        "by more than 0.1; fewer rows pass than chance explains (p 3.1e-05); 1 unit fell further "
        "than chance explains; 1 case of the baseline is missing"
    )


def test_what_is_hidden_is_counted_and_can_be_shown():
    cases = {f"case-{n:02}": "p" for n in range(30)}
    comparison = compared(made(cases), made(dict.fromkeys(cases, "f"), salt="now"))
    text = rendered(comparison)
    assert len(lines_with(text, "regressed")) == 20
    assert "  ... and 10 more (--all shows them)\n" in text
    whole = rendered(comparison, all_cases=True)
    assert len(lines_with(whole, "regressed")) == 30
    assert "more" not in whole.split("gates")[0]


def test_names_of_removed_cases_are_cut_unless_all_are_asked_for():
    cases = {f"case-{n:02}": "p" for n in range(15)}
    comparison = compared(made(cases), made({"case-00": "p"}, salt="now"))
    assert "  removed 14: case-01, " in rendered(comparison)
    assert "case-10 and 4 more\n" in rendered(comparison)
    assert "case-14\n" in rendered(comparison, all_cases=True)


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_a_subject_in_one_report_only_says_so(side):
    one, both = {"brief": {"a": "p"}}, {"brief": {"a": "p"}, "long": {"a": "p"}}
    sides = (both, one) if side == "baseline" else (one, both)
    before, now = (several({"reviews": each}, str(n)) for n, each in enumerate(sides))
    assert f"reviews: long@local/gemma\n  passed 1/1, only in the {side}\n" in rendered(
        compared(before, now)
    )


def test_a_suite_that_was_renamed_is_shown_with_both_names():
    before, now = made({"a": "p"}), made({"a": "p"}, suite="ratings", salt="now")
    assert "reviews: brief@local/gemma -> ratings: brief@local/gemma\n" in rendered(
        compared(before, now, "reviews=ratings")
    )


def test_repeats_of_one_answer_are_explained():
    fixed = {"a": ["Yes."] * 5}, {"a": ["No."] * 5}
    before, now = (
        made({"a": letters}, answers=answers, salt=letters)
        for letters, answers in zip(("ppppp", "fffff"), fixed, strict=True)
    )
    text = " ".join(rendered(compared(before, now)).split())
    assert "1 unit gives one and the same answer every time in both reports" in text


def test_three_repeats_are_said_to_be_too_few_for_a_single_case():
    before, now = made({"a": "ppp"}), made({"a": "fff"}, salt="now")
    assert "With fewer than 4 rows a side no case can be found to be worse by itself." in (
        rendered(compared(before, now))
    )


def test_many_single_changes_have_a_p():
    cases = {f"case-{n}": "p" for n in range(8)}
    after = dict.fromkeys(cases, "f") | {"up": "p"}
    text = rendered(compared(made(cases | {"up": "f"}), made(after, salt="now")))
    assert "8 worse and 1 better of 9, p 0.0391 that they fell so unevenly by chance" in text
    assert "difference" not in text


def test_warnings_and_drift_are_told():
    before = made({f"case-{n}": "p" for n in range(20)})
    now = made({f"case-{n}": "p" for n in range(20)}, salt="now")
    (suite,) = now.head.suites
    (who,) = suite.subjects
    changed = replace(who, categories={"timeout": 5}, params={"maxTokens": 1})
    now = with_head(now, suites=[replace(suite, subjects=[changed])])
    text = rendered(compared(before, now))
    assert "failure categories that changed\n  timeout: 0/20 -> 5/20\n" in text
    assert "warning: P6904 `reviews`: `brief@local/gemma` has other params: `maxTokens`" in text


def test_colours_only_where_they_are_wanted():
    comparison = compared(made({"a": "p"}), made({"a": "f"}, salt="now"))
    assert "\x1b" not in rendered(comparison)
    coloured = rendered(comparison, colour=True)
    assert coloured.startswith("\x1b[31mREGRESSED\x1b[0m  1 case")
    assert "  \x1b[31mregressed\x1b[0m  a  passed -> failed\n" in coloured


@pytest.mark.parametrize("text", HOSTILE)
def test_data_is_escaped_wherever_it_stands(text):
    names = {"suite": text, "prompt": text, "model": text}
    lost = f"lost{text}"
    before = made({text: "ppppp", lost: "ppppp", f"gone{text}": "ppppp"}, **names)
    now = made({text: "fffff", lost: "eeeee", f"new{text}": "ppppp"}, salt="now", **names)
    shown = rendered(compared(before, now), all_cases=True)
    for forbidden in "\x1b\x00\u202e\u200b\ufeff\u2028\x85\t\r":
        assert forbidden not in shown
    assert not any(line.lstrip().startswith(("::", "##[")) for line in shown.splitlines())
    assert max(map(len, shown.splitlines())) < 20_000
