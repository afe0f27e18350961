import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sample_reports import (
    ERRORED,
    FAILED,
    PASSED,
    UNMEASURED,
    case,
    check,
    facts,
    judge_facts,
    judged,
    miss,
    row,
    subject,
    wrong,
)

from proctor.aggregating import SuiteTally
from proctor.canonical import RecordingsDigest, digest
from proctor.case_results import case_outcome, case_result
from proctor.outcomes import row_outcome
from proctor.protocols import JudgeCall
from proctor.records import (
    AtKLimit,
    Check,
    CheckCounts,
    Counts,
    RowError,
    Severity,
    Subject,
    Thresholds,
    Warn,
)
from proctor.statistics import wilson_interval

MISS = RowError("P6402", "no recording")
LETTERS = {"p": PASSED, "f": FAILED, "e": ERRORED, "u": UNMEASURED}


def checks(letters):
    """A check per letter; a capital letter is a check that only warns."""
    return [
        check(
            f"c{place}",
            LETTERS[letter.lower()],
            severity=Severity.FAIL if letter.islower() else Severity.WARN,
        )
        for place, letter in enumerate(letters)
    ]


def finished(rows, *, worst_cost_usd=None, **options):
    options = {"cases": len(rows), **options}
    tally = SuiteTally(facts(**options))
    counted = tally.subject(subject())
    for each in rows:
        counted.add(each, worst_cost_usd=worst_cost_usd)
    return tally.finish()


def counted(rows, **options):
    return finished(rows, **options).subjects[0]


def threshold(suite, name):
    (found,) = [each for each in suite.thresholds if each.name == name]
    return found


@pytest.mark.parametrize(
    ("letters", "error", "expected"),
    [
        ("p", None, PASSED),
        ("pp", None, PASSED),
        ("pf", None, FAILED),
        ("pF", None, PASSED),
        ("pe", None, ERRORED),
        ("pu", None, UNMEASURED),
        ("ue", None, ERRORED),
        ("uef", None, FAILED),
        ("ueF", None, ERRORED),
        ("pE", None, ERRORED),
        ("pU", None, UNMEASURED),
        ("", MISS, ERRORED),
    ],
)
def test_row_outcome(letters, error, expected):
    assert row_outcome(checks(letters), error) is expected


@pytest.mark.parametrize(
    ("letters", "expected", "flaky", "unit"),
    [
        ("p", PASSED, False, (1, 1)),
        ("f", FAILED, False, (1, 0)),
        ("e", ERRORED, False, (0, 0)),
        ("u", UNMEASURED, False, (0, 0)),
        ("ppp", PASSED, False, (3, 3)),
        ("pfp", FAILED, True, (3, 2)),
        ("pep", ERRORED, False, (2, 2)),
        ("pue", ERRORED, False, (1, 1)),
        ("pu", UNMEASURED, False, (1, 1)),
        ("fe", FAILED, False, (1, 0)),
    ],
)
def test_case_is_the_worst_of_its_rows_and_flaky_when_measured_both_ways(
    letters, expected, flaky, unit
):
    rows = [replace(row(), outcome=LETTERS[letter]) for letter in letters]
    result = case_result(case("a"), index=7, rows=rows)
    assert case_outcome(rows) is expected
    assert (result.outcome, result.flaky) == (expected, flaky)
    assert [(each.n, each.passed, each.scenario) for each in result.units] == [(*unit, None)]


def test_case_says_which_expected_value_it_was_judged_by():
    assert case_result(case("a"), index=0, rows=[row()]).expected_sha256 is None
    null = case_result(case("a", expected=None), index=0, rows=[row()])
    assert (null.expected, null.expected_sha256) == (None, digest(None))
    some = case_result(case("a", expected={"b": 1}), index=0, rows=[row()])
    assert (some.expected, some.expected_sha256) == ({"b": 1}, digest({"b": 1}))


def test_counts_add_up_and_the_rate_is_over_measured_rows():
    rows = [row(*checks("p"))] * 3 + [row(*checks("f")), row(*checks("u")), miss()]
    report = counted(rows, cases=8, ids=["c0"])
    assert report.counts == Counts(
        cases=8, rows=8, passed=3, failed=1, errored=1, unmeasured=1, not_run=2
    )
    assert (report.pass_rate.passed, report.pass_rate.measured) == (3, 4)
    assert report.pass_rate.rate == 0.75
    assert report.pass_rate.interval == pytest.approx((0.3006, 0.9544), abs=5e-5)


def test_a_rate_of_nothing_is_not_available():
    report = counted([miss()])
    assert report.pass_rate.rate is None
    assert report.pass_rate.interval == (0.0, 1.0)


def test_checks_are_counted_in_suite_order_with_zeros_for_the_unused():
    report = counted(
        [row(*checks("pf")), row(*checks("ue")), miss()], ids=["never", "c1", "c0"], cases=3
    )
    assert list(report.checks.items()) == [
        ("never", CheckCounts(passed=0, failed=0, errored=0, unmeasured=0)),
        ("c1", CheckCounts(passed=0, failed=1, errored=1, unmeasured=0)),
        ("c0", CheckCounts(passed=1, failed=0, errored=0, unmeasured=1)),
    ]


def test_each_repeat_has_a_rate_of_its_own():
    rows = [
        row(*checks(letter), repeat=repeat)
        for letters in ("pf", "pe", "pp")
        for repeat, letter in enumerate(letters, 1)
    ]
    report = counted(rows, cases=3, repeats=2, ids=["c0"])
    assert [(each.repeat, each.passed, each.measured) for each in report.per_repeat] == [
        (1, 3, 3),
        (2, 1, 2),
    ]
    assert report.counts.rows == 6


def test_categories_are_counted_by_name():
    rows = [replace(miss(), category=name) for name in ("timeout", None, "mock_issue", "timeout")]
    assert list(counted(rows).categories.items()) == [("mock_issue", 1), ("timeout", 2)]


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([], (0, 0, 0, 0)),
        ([(10, 1, 2), (20, 2, 0)], (30, 3, 2, 0)),
        ([(10, 1, None), (20, 2, None)], (30, 3, None, 0)),
        ([(10, 1, None), (20, 2, 5)], (30, 3, 5, 0)),
        ([(10, 1, 0), None], (10, 1, 0, 1)),
        ([(10, None, 0), (None, 1, 0)], (None, None, None, 2)),
        ([(10, 1, 0), (1_000_000_001, 1, 0)], (10, 1, 0, 1)),
        ([(1_000_000_000, 1, 2_000_000_000)], (1_000_000_000, 1, None, 0)),
    ],
)
def test_tokens_are_summed_over_calls_whose_usage_is_known(usages, expected):
    tokens = counted([row(tokens=usage) for usage in usages] or [miss()]).tokens
    assert (tokens.input, tokens.output, tokens.cached, tokens.unknown) == expected


@pytest.mark.parametrize(
    ("costs", "known", "unknown"),
    [
        ([], 0.0, 0),
        ([0.1] * 10, 1.0, 0),
        ([0.1, None], 0.1, 1),
        ([None, None], None, 2),
        ([1e16, 1.0, 1.0], 1e16 + 2, 0),
        ([sys.float_info.max] * 2, sys.float_info.max, 0),
    ],
)
def test_cost_of_a_replay_was_paid_when_it_was_recorded(costs, known, unknown):
    cost = counted([row(cost_usd=each) for each in costs] or [miss()]).cost
    assert (cost.answers, cost.replayed) == (known, known)
    assert (cost.paid, cost.judges, cost.unknown) == (0.0, 0.0, unknown)


def test_an_answer_without_a_recording_was_paid_now():
    cost = counted([replace(row(cost_usd=0.25), recording=None), row(cost_usd=0.5)]).cost
    assert (cost.answers, cost.paid, cost.replayed) == (0.75, 0.25, 0.5)


@given(st.lists(st.floats(0, 1e300), max_size=20))
def test_cost_is_rounded_once_at_the_end(costs):
    rows = [row(cost_usd=each) for each in costs]
    assert counted(rows).cost.answers == math.fsum(costs)


def test_the_digest_takes_each_use_of_a_recording_in_row_order():
    recordings = [letter * 64 for letter in "abba"]
    tally = SuiteTally(facts(cases=2))
    for used in (recordings[:2], recordings[2:]):
        part = tally.subject(subject())
        for recording in used:
            part.add(replace(row(), recording=recording))
    expected = RecordingsDigest()
    for recording in recordings:
        expected.add(recording)
    cache = tally.finish().cache
    assert (cache.digest, cache.replayed) == (expected.hex(), 4)
    assert (cache.mode, cache.live, cache.recorded) == ("replay", False, 0)


def test_a_row_without_an_answer_replays_nothing():
    assert finished([miss(), row()]).cache.replayed == 1


def timed_out(id_="slow", reason="timed_out: /reply", severity=Severity.FAIL):
    return check(id_, FAILED, reason=reason, severity=severity, evidence={"path": "/reply"})


def test_after_a_check_timed_out_later_rows_fail_it_whatever_they_said():
    tally = SuiteTally(facts(cases=4, ids=["slow", "other"]))
    part = tally.subject(subject())
    before = row(check("slow"), check("other"))
    first = row(timed_out(), check("other"))
    after = row(check("slow"), check("other"))
    assert part.add(before) is before
    assert part.timed_out == set()
    assert part.add(first) is first
    assert part.timed_out == {"slow"}
    rewritten = part.add(after)
    assert (rewritten.outcome, rewritten.checks[1]) == (FAILED, after.checks[1])
    slow = rewritten.checks[0]
    assert (slow.id, slow.outcome, slow.reason) == ("slow", FAILED, "timed_out")
    assert slow.evidence == {"skipped": True}
    assert part.add(miss()).outcome is ERRORED
    counts = part.finish().checks["slow"]
    assert (counts.passed, counts.failed) == (1, 2)


def test_another_subject_starts_with_its_own_time():
    tally = SuiteTally(facts(ids=["slow"]))
    tally.subject(subject()).add(row(timed_out()))
    fresh = tally.subject(subject("few-shot"))
    passing = row(check("slow"))
    assert fresh.timed_out == set()
    assert fresh.add(passing) is passing


def test_a_warning_that_times_out_is_rewritten_and_leaves_its_rows_alone():
    tally = SuiteTally(facts(cases=2, ids=["slow"]))
    part = tally.subject(subject())
    part.add(row(timed_out(severity=Severity.WARN)))
    later = part.add(row(check("slow", severity=Severity.WARN)))
    assert (later.outcome, later.checks[0].outcome) == (PASSED, FAILED)


@pytest.mark.parametrize("reason", ["timed_outside", "not_json", None])
def test_other_reasons_stop_nothing(reason):
    tally = SuiteTally(facts(ids=["slow"]))
    part = tally.subject(subject())
    part.add(row(check("slow", FAILED, reason=reason)))
    part.add(row(check("slow", PASSED, reason="timed_out")))
    assert part.timed_out == set()


@given(st.lists(st.sampled_from("psto-"), max_size=12), st.randoms())
def test_what_was_run_after_a_timeout_makes_no_difference(kinds, random):
    """A row may have been run in full, may itself have timed out, or may have been skipped."""
    made = {
        "p": lambda: row(check("slow"), check("other")),
        "s": lambda: row(wrong_slow(), check("other")),
        "t": lambda: row(timed_out(), check("other")),
        "o": lambda: row(timed_out(reason="timed_out"), check("other", FAILED)),
        "-": miss,
    }

    def results(rows):
        tally = SuiteTally(facts(cases=len(rows), ids=["slow", "other"]))
        part = tally.subject(subject())
        return [part.add(each) for each in rows], tally.finish()

    rows = [made[kind]() for kind in kinds]
    first = next((place for place, kind in enumerate(kinds) if kind in "to"), len(kinds))
    otherwise = rows[: first + 1]
    for kind in kinds[first + 1 :]:
        other = random.choice([row(check("slow")), row(wrong_slow()), row(timed_out())])
        kept = made[kind]().checks[1:]
        checks_ = other.checks + kept
        otherwise.append(
            miss()
            if kind == "-"
            else replace(other, checks=checks_, outcome=row_outcome(checks_, None))
        )
    assert results(rows) == results(otherwise)


def wrong_slow():
    return replace(wrong(), id="slow")


def repeated(*cases, **options):
    """A suite of cases given as letters, one for each repeat."""
    tally = SuiteTally(facts(cases=len(cases), repeats=len(cases[0]), ids=["c0"], **options))
    part = tally.subject(subject())
    for index, letters in enumerate(cases):
        rows = [
            part.add(replace(row(*checks(letter)), repeat=repeat))
            for repeat, letter in enumerate(letters, 1)
        ]
        part.add_case(case(str(index)), index=index, rows=rows)
    return tally.finish()


def test_a_counted_case_is_what_its_rows_say():
    part = SuiteTally(facts(repeats=2)).subject(subject())
    rows = [row(check()), replace(row(wrong()), repeat=2)]
    assert part.add_case(case("a"), index=3, rows=rows) == case_result(
        case("a"), index=3, rows=rows
    )


def test_repeats_bring_pass_at_k_and_pass_hat_k_for_every_k():
    (report,) = repeated("ppp", "fpf", "fff").subjects
    assert [(each.k, each.units, each.not_available) for each in report.pass_at_k] == [
        (1, 3, 0),
        (2, 3, 0),
        (3, 3, 0),
    ]
    # The second case has one of three right: 1/3, then two of the three pairs, then surely.
    assert [each.value for each in report.pass_at_k] == pytest.approx([4 / 9, 5 / 9, 2 / 3])
    assert [each.value for each in report.pass_hat_k] == pytest.approx([4 / 9, 1 / 3, 1 / 3])


def test_a_case_with_a_row_that_was_not_measured_is_not_available_at_every_k():
    (report,) = repeated("pp", "pe", "uu").subjects
    assert [(each.value, each.units, each.not_available) for each in report.pass_hat_k] == [
        (1.0, 2, 1),
        (1.0, 1, 2),
    ]


def test_without_repeats_there_is_no_pass_at_k():
    (report,) = repeated("p", "f").subjects
    assert (report.pass_at_k, report.pass_hat_k) == ([], [])
    assert report.pass_rate.interval == wilson_interval(1, 2)


def test_the_interval_knows_that_repeats_are_no_new_cases():
    rates = [repeated(*cases).subjects[0].pass_rate for cases in (["ppppp"] * 10, ["ppppf"] * 10)]
    assert [(rate.passed, rate.measured) for rate in rates] == [(50, 50), (40, 50)]
    assert rates[0].interval == pytest.approx((0.7225, 1), abs=5e-5)
    assert rates[1].interval == pytest.approx((0.6696, 0.8876), abs=5e-5)


@pytest.mark.parametrize(
    ("cases", "k", "least", "at", "hat"),
    [
        (["pp", "pf"], 1, 0.75, (0.75, True), (0.75, True)),
        (["pp", "pf"], 2, 0.75, (1.0, True), (0.5, False)),
        (["pp", "ff"], 2, 0.5, (0.5, True), (0.5, True)),
        (["ff", "ff"], 2, 0.001, (0.0, False), (0.0, False)),
        (["p" * 7 + "f" * 3], 1, 0.7, (0.7, True), (0.7, True)),
        (["ppp", "fff", "fff"], 3, 1 / 3, (1 / 3, True), (1 / 3, True)),
        (["ppp", "fff", "fff"], 3, 0.3333333336, (1 / 3, True), (1 / 3, True)),
        (["ppp", "fff", "fff"], 3, 0.333333334, (1 / 3, False), (1 / 3, False)),
        # One case has only one measured row: the mean is over the other.
        (["pe", "pp"], 2, 1, (1.0, True), (1.0, True)),
        (["pe", "fe"], 2, 0.1, (None, None), (None, None)),
        # A single row a case is its own k = 1.
        (["p", "f"], 1, 0.5, (0.5, True), (0.5, True)),
        (["e"], 1, 0.5, (None, None), (None, None)),
    ],
)
def test_thresholds_at_k_hold_the_mean_over_cases(cases, k, least, at, hat):
    limit = AtKLimit(k=k, min=least)
    suite = repeated(*cases, thresholds=Thresholds(pass_at_k=limit, pass_hat_k=limit))
    for name, (actual, met) in (("passAtK", at), ("passHatK", hat)):
        found = threshold(suite, name)
        assert found.actual == (None if actual is None else pytest.approx(actual))
        assert (found.met, found.limit) == (met, {"k": k, "min": least})
        assert found.subject == "brief@local/gemma"
    assert [each.name for each in suite.thresholds[3:]] == ["passAtK", "passHatK"]


def test_every_subject_is_held_to_its_own_pass_at_k():
    limits = Thresholds(pass_at_k=AtKLimit(k=1, min=0.5), max_cost_usd=1)
    tally = SuiteTally(facts(thresholds=limits))
    tally.subject(subject("one")).add(row(check()))
    tally.subject(subject("two")).add(row(wrong()))
    assert [(each.name, each.subject, each.met) for each in tally.finish().thresholds[-3:]] == [
        ("maxCostUsd", None, True),
        ("passAtK", "one@local/gemma", True),
        ("passAtK", "two@local/gemma", False),
    ]


def test_without_a_cost_limit_the_three_rates_are_reported():
    suite = finished([row(check())])
    assert [
        (each.name, each.subject, each.limit, each.actual, each.met) for each in suite.thresholds
    ] == [
        ("passRate", "brief@local/gemma", 1.0, 1.0, True),
        ("maxErrorRate", None, 0.0, 0.0, True),
        ("minMeasured", None, 1.0, 1.0, True),
    ]


@pytest.mark.parametrize(
    ("passed", "failed", "limit", "met"),
    [
        (9, 1, 0.9, True),
        (8, 1, 0.9, False),
        (1, 2, 1 / 3, True),
        (1, 2, 0.3333333334, True),
        (1, 2, 0.33333334, False),
        (0, 1, 1e-12, False),
        (0, 0, 1, None),
    ],
)
def test_pass_rate_is_over_measured_rows(passed, failed, limit, met):
    rows = [row(check())] * passed + [row(wrong())] * failed + [miss()]
    found = threshold(finished(rows, thresholds=Thresholds(pass_rate=limit)), "passRate")
    assert found.met is met
    assert found.actual == (passed / (passed + failed) if met is not None else None)


def test_pass_rate_is_held_by_each_subject_and_the_others_by_the_suite():
    tally = SuiteTally(facts(cases=2, thresholds=Thresholds(pass_rate=0.5, max_error_rate=0.25)))
    for prompt, rows in (("one", [row(check()), miss()]), ("two", [row(wrong()), row(check())])):
        part = tally.subject(subject(prompt))
        for each in rows:
            part.add(each)
    suite = tally.finish()
    assert [(each.subject, each.actual, each.met) for each in suite.thresholds] == [
        ("one@local/gemma", 1.0, True),
        ("two@local/gemma", 0.5, True),
        (None, 0.25, True),
        (None, 1.0, True),
    ]


@pytest.mark.parametrize(
    ("rows", "limit", "actual", "met"),
    [
        ([row(*checks("pp")), row(*checks("pu"))], 0.75, 0.75, True),
        ([row(*checks("pp")), row(*checks("pu"))], 1, 0.75, False),
        ([row(*checks("pf")), row(*checks("ef"))], 0.75, 0.75, True),
        ([row(*checks("pp")), miss()], 1, 1.0, True),
        ([row(*checks("pU"))], 1, 0.5, False),
        ([miss()], 0.1, None, None),
    ],
)
def test_min_measured_is_over_checks_of_answered_rows(rows, limit, actual, met):
    suite = finished(rows, ids=["c0", "c1"], thresholds=Thresholds(min_measured=limit))
    found = threshold(suite, "minMeasured")
    assert (found.actual, found.met) == (actual, met)


@pytest.mark.parametrize(
    ("costs", "worst", "limit", "actual", "met", "said"),
    [
        ([0.1, 0.2], None, 0.3, 0.3, True, None),
        ([0.1] * 3, None, 0.3, 0.3, True, None),
        ([0.1, 0.2], None, 0.29, 0.3, False, None),
        ([], None, 0, 0.0, True, None),
        ([0.0], None, 0, 0.0, True, None),
        ([0.1, None], 0.4, 0.5, 0.5, True, "1 call had no recorded cost and counted"),
        ([None, None], 0.4, 0.5, 0.8, False, "2 calls had no recorded cost and counted"),
        ([0.1, None], None, 9, None, None, "1 call had no recorded cost and no price"),
    ],
)
def test_cost_counts_unknown_calls_at_their_worst_and_says_so(
    costs, worst, limit, actual, met, said
):
    suite = finished(
        [row(check(), cost_usd=each) for each in costs] or [miss()],
        worst_cost_usd=worst,
        thresholds=Thresholds(max_cost_usd=limit),
        warnings=[Warn(code="P6215", message="earlier", where=None)],
    )
    found = threshold(suite, "maxCostUsd")
    assert found.actual == (None if actual is None else pytest.approx(actual))
    assert (found.limit, found.met, found.subject) == (limit, met, None)
    assert [each.message for each in suite.warnings[:1]] == ["earlier"]
    assert len(suite.warnings) == (1 if said is None else 2)
    assert said is None or suite.warnings[1].message.startswith(said)


def test_one_call_without_a_price_makes_the_cost_unknown():
    tally = SuiteTally(facts(cases=2, thresholds=Thresholds(max_cost_usd=1)))
    part = tally.subject(subject())
    part.add(row(check(), cost_usd=None), worst_cost_usd=0.1)
    part.add(row(check(), cost_usd=None), worst_cost_usd=None)
    suite = tally.finish()
    assert threshold(suite, "maxCostUsd").met is None
    assert suite.warnings[0].message.startswith("1 call had no recorded cost and no price")


def test_subjects_say_what_they_are():
    who: Subject = subject("few-shot", "local/other")
    tally = SuiteTally(facts())
    tally.subject(who).add(row(check()))
    (report,) = tally.finish().subjects
    assert (report.prompt, report.model) == ("few-shot", "local/other")
    assert (report.bundle_sha256, report.params) == ("b" * 64, {"maxTokens": 24})
    assert (report.pass_at_k, report.pass_hat_k) == ([], [])


# Judges


def tally_of_judged(*rows, ids=("tone",), **options):
    """What becomes of rows, each with the calls of judges that it needed."""
    tally = SuiteTally(
        facts(cases=len(rows), ids=("label", *ids), judge=judge_facts(*ids), **options)
    )
    part = tally.subject(subject())
    for each, calls in rows:
        part.add(each, judge_calls=calls)
    return tally.finish()


def calls_of(each, *, asked=False, cost_usd=0.01):
    """A call for each vote of a row that has a recording."""
    return [
        JudgeCall(cost_usd, asked, vote.recording)
        for check in each.checks
        for vote in check.votes
        if vote.recording is not None
    ]


def test_a_suite_without_judges_says_so():
    assert finished([row(check())]).judge is None


def test_how_often_and_how_clearly_was_judged_is_counted_for_each_assertion():
    rows = [
        row(judged("ppp"), judged("pff", FAILED, id_="mood")),
        row(judged("ppf"), judged("fff", FAILED, id_="mood")),
        row(judged("nnn", UNMEASURED), judged("ppn", id_="mood")),
        row(judged("ppn", ERRORED)),
        # There was nothing to judge.
        row(Check("tone", "llm-judge", FAILED, reason="no_text")),
        miss(),
    ]
    suite = tally_of_judged(*((each, calls_of(each)) for each in rows), ids=["tone", "mood"])
    assert suite.judge == {
        "runs": 3,
        "models": ["local/j"],
        "assertions": [
            {"id": "tone", "measured": 2, "total": 4, "unanimous": 1},
            {"id": "mood", "measured": 3, "total": 3, "unanimous": 1},
        ],
        "agreement": None,
    }


def test_how_often_was_judged_is_counted_over_all_subjects():
    tally = SuiteTally(facts(ids=["tone"], judge=judge_facts("tone")))
    for prompt in ("brief", "few-shot"):
        tally.subject(subject(prompt)).add(row(judged("ppp")))
    assert tally.finish().judge["assertions"] == [
        {"id": "tone", "measured": 2, "total": 2, "unanimous": 2}
    ]


def test_the_digest_takes_the_answer_of_a_row_and_then_its_votes_in_their_order():
    recordings = [letter * 64 for letter in "abcdef"]
    first = replace(
        row(judged("pp", recordings=recordings[1:3]), judged("p", id_="mood")),
        recording=recordings[0],
    )
    first.checks[1].votes[0] = replace(first.checks[1].votes[0], recording=recordings[1])
    second = replace(
        row(judged("pnp", recordings=[recordings[4], None, recordings[5]])), recording=recordings[3]
    )
    suite = tally_of_judged((first, ()), (second, ()), ids=["tone", "mood"])
    expected = RecordingsDigest()
    for recording in [*recordings[:3], recordings[1], *recordings[3:]]:
        expected.add(recording)
    assert suite.cache.digest == expected.hex()
    assert (suite.cache.replayed, suite.cache.recorded) == (7, 0)


def test_a_vote_that_two_assertions_share_is_recorded_once_and_replayed_once():
    one = row(judged("p", recordings=["a" * 64]), judged("p", recordings=["a" * 64], id_="mood"))
    asked, shared = calls_of(one)
    suite = tally_of_judged((one, [asked._replace(asked=True), shared]), ids=["tone", "mood"])
    assert (suite.cache.recorded, suite.cache.replayed, suite.cache.live) == (1, 2, True)


def test_what_judges_cost_is_told_apart_and_so_is_what_was_paid_now():
    replayed, paid = row(judged("ppp"), cost_usd=0.5), row(judged("fff", FAILED), cost_usd=0.25)
    suite = tally_of_judged(
        (replayed, calls_of(replayed, cost_usd=0.125)),
        (paid, calls_of(paid, asked=True, cost_usd=0.0625)),
    )
    cost = suite.subjects[0].cost
    assert (cost.answers, cost.judges) == (0.75, 0.5625)
    assert (cost.paid, cost.replayed, cost.unknown) == (0.1875, 1.125, 0)


def test_calls_of_judges_that_were_not_recorded_were_paid_now():
    one = row(judged("pp", recordings=[None, None]), cost_usd=0)
    calls = [JudgeCall(0.5, asked, None) for asked in (True, False)]
    suite = tally_of_judged((one, calls))
    assert (suite.subjects[0].cost.paid, suite.cache.recorded) == (1.0, 0)


def test_a_judge_that_was_asked_in_vain_cost_nothing_that_is_known_and_was_called():
    one = row(judged("pn", ERRORED, recordings=["a" * 64, None]), error=RowError("P6310", "gone"))
    calls = [*calls_of(one), JudgeCall(None, True, None, replied=False)]
    suite = tally_of_judged((one, calls))
    cost = suite.subjects[0].cost
    assert (cost.judges, cost.unknown) == (0.01, 0)
    assert (suite.cache.live, suite.cache.recorded, suite.cache.replayed) == (True, 0, 1)


def test_judges_of_unknown_cost_are_counted_as_unknown():
    one = row(judged("pp"))
    cost = tally_of_judged((one, calls_of(one, cost_usd=None))).subjects[0].cost
    assert (cost.judges, cost.replayed, cost.unknown) == (None, 0.001, 2)


@pytest.mark.parametrize(
    ("cost_usd", "worst_usd", "actual", "met", "said"),
    [
        (0.125, None, 0.375, True, None),
        (0.25, None, 0.625, False, None),
        (None, 0.125, 0.375, True, "2 calls had no recorded cost and counted"),
        (None, 0.25, 0.625, False, "2 calls had no recorded cost and counted"),
        (None, None, None, None, "2 calls had no recorded cost and no price"),
    ],
)
def test_a_limit_of_costs_covers_judges_those_of_unknown_cost_at_their_worst(
    cost_usd, worst_usd, actual, met, said
):
    one = row(judged("pp"), cost_usd=0.125)
    calls = [call._replace(worst_cost_usd=worst_usd) for call in calls_of(one, cost_usd=cost_usd)]
    suite = tally_of_judged((one, calls), thresholds=Thresholds(max_cost_usd=0.5))
    found = threshold(suite, "maxCostUsd")
    assert (found.actual, found.met) == (actual, met)
    assert [each.message.partition(" as ")[0] for each in suite.warnings] == (
        [] if said is None else [said if worst_usd else f"{said} to count instead"]
    )
