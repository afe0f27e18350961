from textwrap import dedent

import pytest
from msgspec.structs import replace
from sample_reports import (
    ERRORED,
    FAILED,
    PASSED,
    UNMEASURED,
    case,
    cases_full_of,
    check,
    facts,
    facts_full_of,
    judge_facts,
    judged,
    miss,
    report,
    row,
    single,
    subject,
    wrong,
)

from proctor.records import AtKLimit, RenderOptions, RowError, Severity, Thresholds, Warn
from proctor.rendering.text import SHOWN_CASES, render_text
from proctor.reporting import RunReport


def rendered(made, **options):
    return b"".join(render_text(made, RenderOptions(**options))).decode("utf-8")


def golden(text):
    return dedent(text).lstrip("\n")


def test_everything_passed():
    made = single([(case(f"case-{n}"), [row(check())]) for n in range(5)])
    assert rendered(made) == golden("""
        PASSED  5 of 5 rows passed

        reviews
          brief@local/gemma: passed 5/5, failed 0, errored 0, unmeasured 0

        cost $0.005 recorded, $0 paid now
        tokens 500 in, 50 out, 0 cached
        replayed 5, nothing was called
    """)


def test_failing_cases_say_what_was_expected_and_where():
    made = single(
        [
            (case("right"), [row(check())]),
            (case("wrong"), [row(wrong())]),
            (case("nested"), [row(wrong({"a": [1, None]}, "é", path=""))]),
        ]
    )
    assert rendered(made) == golden("""
        FAILED  1 of 3 rows passed, 2 failed

        reviews
          brief@local/gemma: passed 1/3, failed 2, errored 0, unmeasured 0
            checks: label passed 1/3
            failed  wrong
              label: /label: expected "negative", got "positive"
            failed  nested
              label: expected {"a":[1,null]}, got "é"
          not met: passRate is 0.333333, at least 1 is asked for

        cost $0.003 recorded, $0 paid now
        tokens 300 in, 30 out, 0 cached
        replayed 3, nothing was called
    """)


def test_rows_without_a_recording_are_grouped_by_what_is_wrong():
    cases = [(case(f"rather-long-name-{n}"), [miss()]) for n in range(5)]
    cases.append((case("late"), [miss("no recording: temperature 0 -> 0.7")]))
    assert rendered(single(cases)) == golden("""
        UNMEASURED  0 of 6 rows passed, 6 errored

        reviews
          brief@local/gemma: passed 0/0, failed 0, errored 6, unmeasured 0 (0 of 6 measured)
            errored  5 rows, P6402: no recording: the prompt changed
              rather-long-name-0, rather-long-name-1, rather-long-name-2, rather-long-name-3,
              rather-long-name-4
            errored  1 row, P6402: no recording: temperature 0 -> 0.7
              late
          not available: passRate, at least 1 is asked for
          not met: maxErrorRate is 1, at most 0 is asked for
          not available: minMeasured, at least 1 is asked for

        cost $0 recorded, $0 paid now
        tokens 0 in, 0 out, 0 cached
        replayed 0, nothing was called
    """)


def test_each_outcome_is_told_apart_and_each_subject_by_itself():
    tone = check("tone")
    made = report(
        (
            facts(cases=4, ids=("label", "tone")),
            (
                subject(),
                [
                    (case("a"), [row(check(), check("tone", UNMEASURED, reason="no_verdict"))]),
                    (case("b"), [row(check(outcome=ERRORED, reason="raised"), tone)]),
                    (case("c"), [miss()]),
                    (
                        case("d"),
                        [
                            row(
                                check(outcome=FAILED, reason="timed_out: /reply"),
                                check("tone", FAILED, reason="not_json", severity=Severity.WARN),
                            )
                        ],
                    ),
                ],
            ),
            (
                subject("few-shot"),
                [
                    (case("a"), [row(check(), tone)]),
                    (case("b"), [row(check(outcome=FAILED, reason="timed_out"), tone)]),
                    (case("c"), [row(check(), tone, cost_usd=None, tokens=None)]),
                    (case("d"), [row(check(), tone)]),
                ],
            ),
        ),
        (facts("other", cases=2), (subject(), [(case("a"), [row(check())])])),
    )
    assert rendered(made) == golden("""
    INTERRUPTED  2 of 10 rows passed, 4 failed, 2 errored, 1 unmeasured, 1 not run

    reviews
      brief@local/gemma: passed 0/1, failed 1, errored 2, unmeasured 1 (1 of 4 measured)
        checks: label passed 1/2 (1 errored), tone passed 1/2 (1 unmeasured)
        failed  d
          label: /reply: timed out
          tone (warning): not json
        errored  1 row, P6402: no recording: the prompt changed
          c
        errored  b
          label errored: raised
        unmeasured  a
          tone unmeasured: no verdict
      few-shot@local/gemma: passed 1/4, failed 3, errored 0, unmeasured 0
        checks: label passed 1/4
        failed  b
          label: timed out
        failed  c
          label: timed out in an earlier row, so it was not run
        failed  d
          label: timed out in an earlier row, so it was not run
      not met: passRate of brief@local/gemma is 0, at least 1 is asked for
      not met: passRate of few-shot@local/gemma is 0.25, at least 1 is asked for
      not met: maxErrorRate is 0.25, at most 0 is asked for
      not met: minMeasured is 0.857143, at least 1 is asked for

    other
      brief@local/gemma: passed 1/1, failed 0, errored 0, unmeasured 0, not run 1 (1 of 2 measured)

    cost $0.007 recorded, unknown for 1 call, $0 paid now
    tokens 700 in, 70 out, 0 cached, unknown for 1 call
    replayed 8, nothing was called
    """)


def test_what_is_unknown_is_said_and_never_0():
    made = single(
        [(case("a"), [row(check(), cost_usd=None, tokens=None)])],
        thresholds=Thresholds(max_cost_usd=0.1),
    )
    text = rendered(made)
    assert "  not available: maxCostUsd, at most $0.1 is asked for\n" in text
    assert "  warning: 1 call had no recorded cost and no price to count instead\n" in text
    assert text.endswith(
        "cost unknown for 1 call, $0 paid now\n"
        "tokens unknown for 1 call\n"
        "replayed 1, nothing was called\n"
    )


def test_what_was_paid_now_may_be_unknown():
    unrecorded = replace(row(check(), cost_usd=None), recording=None)
    text = rendered(single([(case("a"), [unrecorded])]))
    assert "cost $0 recorded, unknown for 1 call\n" in text


def test_cached_tokens_may_be_the_only_unknown():
    assert "tokens 7 in, 2 out, cached unknown\n" in rendered(
        single([(case("a"), [row(check(), tokens=(7, 2, None))])])
    )


def test_live_calls_are_said():
    made = single([(case("a"), [row(check())])])
    (suite,) = made.head.suites
    live = replace(suite, cache=replace(suite.cache, live=True, recorded=3))
    made = RunReport(replace(made.head, suites=[live]), [[made.cases(0, 0)]])
    assert rendered(made).endswith("replayed 1, recorded 3\n")


def test_rows_of_a_case_are_told_apart_by_repeat():
    made = single(
        [
            (
                case("c"),
                [
                    row(check(), repeat=1),
                    row(wrong(), repeat=2),
                    row(error=RowError("P6402", "gone"), repeat=3),
                ],
            )
        ],
        repeats=3,
    )
    assert '      repeat 2: label: /label: expected "negative"' in rendered(made)
    assert "      repeat 3: P6402: gone\n" in rendered(made)


def repeats(letters):
    """The rows of a case, one letter each: passed, failed, errored, or another failure."""
    made = {
        "p": lambda n: row(check(), repeat=n),
        "f": lambda n: row(wrong(), repeat=n),
        "F": lambda n: row(wrong(got="neutral"), repeat=n),
        "e": lambda n: row(error=RowError("P6402", "gone"), repeat=n),
    }
    return [made[letter](n) for n, letter in enumerate(letters, 1)]


def test_repeats_say_how_steady_the_answers_are():
    made = single(
        [
            (case("steady"), repeats("ppppp")),
            (case("shaky"), repeats("pfppF")),
            (case("lucky"), repeats("ffpff")),
            (case("wrong"), repeats("fffff")),
        ],
        repeats=5,
        thresholds=Thresholds(
            pass_rate=0.5, pass_at_k=AtKLimit(k=5, min=0.7), pass_hat_k=AtKLimit(k=2, min=0.9)
        ),
    )
    assert rendered(made) == golden("""
        FAILED  9 of 20 rows passed, 11 failed

        reviews
          brief@local/gemma: passed 9/20, failed 11, errored 0, unmeasured 0
            per repeat: 50% / 25% / 75% / 50% / 25%
            pass@5 0.75, pass^5 0.25, 2 flaky, 1 barely passing
            checks: label passed 9/20
            failed  shaky  passed 3/5
              repeat 2: label: /label: expected "negative", got "positive"
              repeat 5: label: /label: expected "negative", got "neutral"
            failed  lucky  passed 1/5
              repeats 1-2, 4-5: label: /label: expected "negative", got "positive"
            failed  wrong  passed 0/5
              repeats 1-5: label: /label: expected "negative", got "positive"
          not met: passRate is 0.45, at least 0.5 is asked for
          not met: passHatK at k = 2 is 0.325, at least 0.9 is asked for

        cost $0.02 recorded, $0 paid now
        tokens 2,000 in, 200 out, 0 cached
        replayed 20, nothing was called
    """)


def test_what_could_not_be_measured_in_repeats_is_said():
    made = single(
        [(case("a"), repeats("ppe")), (case("b"), repeats("ppp")), (case("c"), repeats("fee"))],
        repeats=3,
    )
    text = rendered(made)
    assert "    per repeat: 67% / 100% / 100%\n" in text
    assert (
        "    pass@3 1, pass^3 1 (1 of 3 cases have 3 measured rows), 0 flaky, 0 barely passing\n"
        in text
    )
    assert "    failed  c  passed 0/1 (1 of 3 measured)\n" in text


def test_a_repeat_without_a_measured_row_has_no_rate():
    text = rendered(single([(case("a"), repeats("pe"))], repeats=2))
    assert "    per repeat: 100% / n/a\n" in text
    assert "    pass@2 n/a, pass^2 n/a (0 of 1 cases have 2 measured rows), 0 flaky" in text


def test_many_repeats_are_cut_unless_all_are_asked_for():
    made = single([(case("a"), repeats("pf" * 30))], repeats=60)
    text, whole = rendered(made), rendered(made, all_cases=True)
    assert text.count("0%") == 20
    assert "0% / 100% / 0% and 40 more\n" in text
    assert whole.count("0%") == 60
    assert "repeats 2, 4, 6, 8, 10, 12, 14, 16 and 22 more: label" in text


def test_a_case_with_both_kinds_of_error_is_listed_under_both():
    rows = [row(check(outcome=ERRORED, reason="raised")), replace(miss("gone"), repeat=2)]
    text = rendered(single([(case("c"), rows)], repeats=2))
    assert "    errored  1 row, P6402: gone\n      c\n" in text
    errored = "    errored  c  passed 0/0 (0 of 2 measured)\n"
    assert f"{errored}      repeat 1: label errored: raised\n" in text
    assert "more (--all" not in text


@pytest.mark.parametrize(
    ("outcome_row", "listed"),
    [
        (row(wrong()), "failed  case-"),
        (miss(), "      case-"),
        (row(check(outcome=ERRORED)), "errored  case-"),
        (row(check(outcome=UNMEASURED)), "unmeasured  case-"),
    ],
)
def test_twenty_cases_are_shown_unless_all_are_asked_for(outcome_row, listed):
    made = single([(case(f"case-{n}"), [outcome_row]) for n in range(51)])
    few, all_ = rendered(made), rendered(made, all_cases=True)
    assert listed in few
    assert few.count("case-") == SHOWN_CASES
    assert "    ... and 31 more (--all shows them)\n" in few
    assert all_.count("case-") == 51
    assert "more (--all" not in all_


def test_twenty_is_the_limit_of_the_whole_report():
    cases = [(case(f"case-{n}"), [row(wrong())]) for n in range(12)]
    made = report((facts(cases=12), (subject("one"), cases), (subject("two"), cases)))
    text = rendered(made)
    assert text.count("failed  case-") == 20
    assert text.count("... and 4 more (--all shows them)") == 1


def test_reasons_of_misses_are_listed_even_when_their_cases_are_not():
    cases = [(case(f"case-{n}"), [row(wrong())]) for n in range(20)]
    cases += [(case(f"late-{n}"), [miss(f"reason {n % 30}")]) for n in range(60)]
    text = rendered(single(cases))
    assert text.count("errored  2 rows, P6402: reason ") == SHOWN_CASES
    assert "late-" not in text
    assert "... and 60 more" in text
    assert rendered(single(cases), all_cases=True).count("2 rows, P6402: reason ") == 30


def test_a_case_with_many_findings_is_cut():
    rows = [row(wrong(got=str(repeat)), repeat=repeat) for repeat in range(1, 51)]
    made = single([(case("a"), rows)], repeats=50)
    assert rendered(made).count("expected") == 20
    assert "      ... and 30 more (--all shows them)\n" in rendered(made)
    assert rendered(made, all_cases=True).count("expected") == 50


def test_colour_marks_our_words_only_and_only_when_asked_for():
    made = single(
        [(case("a"), [row(wrong())]), (case("b"), [miss()]), (case("c"), [row(check())])],
        warnings=[Warn(code="P6217", message="no system message", where="prompts/a.prompt.yaml")],
    )
    text = rendered(made, colour=True)
    assert text.startswith("\x1b[31mFAILED\x1b[0m  1 of 3 rows passed")
    assert "    \x1b[31mfailed\x1b[0m  a\n" in text
    assert "    \x1b[33merrored\x1b[0m  1 row, P6402" in text
    assert "  \x1b[31mnot met\x1b[0m: passRate is 0.5" in text
    warned = "  \x1b[33mwarning\x1b[0m: P6217 no system message (prompts/a.prompt.yaml)\n"
    assert warned in text
    plain = text
    for code in ("\x1b[31m", "\x1b[33m", "\x1b[0m"):
        plain = plain.replace(code, "")
    assert plain == rendered(made)
    assert "\x1b" not in plain


def test_a_missing_shard_is_said():
    made = report((facts(), (subject(), [(case("a"), [row(check())])])), partial=True)
    assert rendered(made).startswith(
        "UNMEASURED  1 of 1 row passed\nThis report is partial: a shard is missing.\n"
    )
    assert "cannot be told: passRate is 1 so far, at least 1 is asked for\n" in rendered(made)
    assert "not met" not in rendered(made)


@pytest.mark.parametrize(
    ("shards", "said"),
    [
        ({"expected": 4, "present": [2], "index": 2}, "This is shard 2 of 4."),
        ({"expected": "\x1b", "index": 2}, "This report is of a part of a run."),
        ({}, "This report is of a part of a run."),
    ],
)
def test_which_shard_it_is_is_said(shards, said):
    made = report((facts(), (subject(), [(case("a"), [row(check())])])))
    made.head = replace(made.head, shards=shards)
    assert rendered(made).startswith(f"PASSED  1 of 1 row passed\n{said}\n")


HOSTILE = [
    "\x1b[31mred",
    "]]>",
    "<script>alert(1)</script>",
    "a|b`c`",
    "nul\0",
    "\ud800",
    "\u202egpj.exe",
    "::error::boom",
    "  ::error::boom",
    "##[error]boom",
    "##vso[task.complete]",
    "##teamcity[x]",
    "two\nlines\r",
    "\u2028\u200b\ufeff",
    "🎉 ä",
]


def full_of(text):
    cases = cases_full_of(text)
    suite = facts_full_of(text, cases=len(cases))
    return report((suite, (subject(text, text), cases), (subject("other"), cases)))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("all_cases", [True, False])
def test_data_stays_data_wherever_it_comes_from(text, all_cases):
    shown = rendered(full_of(text), all_cases=all_cases)
    assert shown.count("\n") == rendered(full_of("harmless"), all_cases=all_cases).count("\n")
    for line in shown.split("\n"):
        lowered = line.lower()
        assert all(character >= " " and character not in "\x7f\u2028\u2029" for character in line)
        assert not any(character in line for character in "\u202e\u200b\ufeff\ud800\x9b")
        assert not line.strip().startswith("::")
        assert not any(mark in lowered for mark in ("##[", "##vso[", "##teamcity["))


def test_long_values_are_cut_and_say_how_long_they_were():
    made = single([(case("a"), [row(wrong("x" * 5_000, "\n" * 150))])])
    (line,) = [each for each in rendered(made).split("\n") if "expected" in each]
    assert f'expected "{"x" * 199}... (5,002 characters), got "' in line
    assert line.endswith("... (302 characters)")
    assert len(line) < 500


def test_long_reports_come_in_several_chunks():
    made = single([(case(str(n)), [row(wrong())]) for n in range(1_000)])
    chunks = list(render_text(made, RenderOptions(all_cases=True)))
    assert 1 < len(chunks) < 20
    assert b"".join(chunks).decode().count("failed  ") == 1_000


def warned(**given):
    return row(check(**given), check("style", FAILED, reason="too_long", severity=Severity.WARN))


def test_warnings_of_cases_that_passed_are_shown_when_all_are_asked_for():
    made = single(
        [(case("fine"), [row(check())]), (case("wordy"), [warned()])], ids=("label", "style")
    )
    assert "wordy" not in rendered(made)
    said = "    warning  wordy\n      style (warning): too long\n"
    assert said in rendered(made, all_cases=True)
    assert "fine" not in rendered(made, all_cases=True)


def test_a_warning_is_told_of_every_repeat_it_is_true_of_after_what_failed():
    rows = [
        row(check("style", FAILED, reason="too_long", severity=Severity.WARN), wrong(), repeat=1),
        row(check("style", FAILED, reason="too_long", severity=Severity.WARN), check(), repeat=2),
    ]
    made = single([(case("wordy"), rows)], repeats=2, ids=("label", "style"))
    text = rendered(made)
    assert text.index("repeat 1: label") < text.index("repeats 1-2: style (warning): too long")


def judged_report(letters, *, prompts=("brief",), **who):
    """A report of one case for each of some votes, `p` and `f` the same way."""
    cases = [
        (case(f"case-{place}"), [row(judged(votes, FAILED if "f" in votes else PASSED))])
        for place, votes in enumerate(letters)
    ]
    made = facts(cases=len(cases), ids=["tone"], judge=judge_facts("tone", **who))
    return report((made, *((subject(prompt), cases) for prompt in prompts)))


@pytest.mark.parametrize(
    ("letters", "who", "lines"),
    [
        (
            ["ppp", "ffp", "fff"],
            {},
            "  judged by local/j, 3 votes each\n"
            "    tone: 3 of 3 measured, 67% unanimous (2 of 3)\n",
        ),
        (["p", "p"], {"runs": 1}, "  judged by local/j, 1 vote each\n    tone: 2 of 2 measured\n"),
        (
            ["ppp"],
            {"models": ["local/a", "local/b"]},
            "  judged by local/a, local/b, 3 votes each\n"
            "    tone: 1 of 1 measured, 100% unanimous (1 of 1)\n",
        ),
    ],
)
def test_a_judged_suite_says_how_often_and_how_clearly_it_was_judged(letters, who, lines):
    assert lines in rendered(judged_report(letters, **who))


def test_of_several_subjects_it_says_so_for_all_of_them_together():
    made = judged_report(["ppp", "ppp"], prompts=["brief", "few-shot"])
    assert "    tone: 4 of 4 measured, 100% unanimous (4 of 4)\n" in rendered(made)


def test_a_suite_of_which_nothing_was_measured_has_no_share():
    unmeasured = judged("nnn", UNMEASURED, reason="P6601: no valid verdict")
    made = facts(ids=["tone"], judge=judge_facts("tone"))
    shown = rendered(report((made, (subject(), [(case("a"), [row(unmeasured)])]))))
    assert "    tone: 0 of 1 measured\n" in shown


def test_the_tokens_of_a_judged_report_are_those_of_its_answers():
    assert "tokens of answers 100 in, 10 out, 0 cached\n" in rendered(judged_report(["ppp"]))


def test_an_answer_that_could_not_be_judged_is_listed_by_why():
    error = RowError("P6402", "no recording of the judge")
    errored = judged("pn", ERRORED, reason="no_reply: P6402")
    made = facts(ids=["tone"], judge=judge_facts("tone"))
    shown = rendered(report((made, (subject(), [(case("a"), [row(errored, error=error)])]))))
    assert "    errored  1 row, P6402: no recording of the judge\n      a\n" in shown
