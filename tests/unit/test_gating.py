import pytest
from hypothesis import given
from hypothesis import strategies as st
from two_reports import compared, live, made, several, with_head

from proctor.gating import default_mode
from proctor.records.comparison import Detection, Mode

STRICT, NOISE_AWARE = Mode

steady = dict.fromkeys([f"steady-{n}" for n in range(39)], "ppppp")


def gates(comparison):
    return {gate.kind.value: gate.red for gate in comparison.gates}


def red(comparison):
    return {gate.kind.value for gate in comparison.gates if gate.red}


# Which gates there are


@pytest.mark.parametrize(
    ("before", "now", "mode"),
    [
        (made({"a": "p"}), made({"a": "p"}), STRICT),
        (made({"a": "pp"}), made({"a": "p"}), NOISE_AWARE),
        (made({"a": "p"}), made({"a": "pp"}), NOISE_AWARE),
        (live(made({"a": "p"})), made({"a": "p"}), NOISE_AWARE),
        (made({"a": "p"}), live(made({"a": "p"})), NOISE_AWARE),
    ],
)
def test_rows_that_may_come_out_otherwise_call_for_statistics(before, now, mode):
    assert default_mode(before.head, now.head) is mode
    assert compared(before, now).mode is mode


def test_one_suite_with_repeats_is_enough():
    mixed = several({"one": {"brief": {"a": "p"}}, "two": {"brief": {"a": "pp"}}})
    assert default_mode(mixed.head) is NOISE_AWARE


@pytest.mark.parametrize("mode", Mode)
def test_somebody_may_say_which_mode_it_is(mode):
    single, repeated = made({"a": "p"}), made({"a": "pp"})
    assert compared(single, single, mode=mode).mode is mode
    assert compared(repeated, repeated, mode=mode).mode is mode


def test_strict_asks_all_that_noise_aware_asks_and_more():
    one = made({"a": "pp"})
    assert list(gates(compared(one, one, mode=NOISE_AWARE))) == ["aggregate", "unit"]
    strict = ["cases", "rate", "aggregate", "unit"]
    assert list(gates(compared(one, one, mode=STRICT))) == strict
    missing = compared(one, one, mode=STRICT, fail_on_missing=True)
    assert list(gates(missing)) == [*strict, "missing"]


letters = st.text("pfeu", min_size=3, max_size=3)


@given(st.lists(st.tuples(letters, letters), min_size=1, max_size=8))
def test_what_is_red_to_noise_aware_is_red_to_strict(rows):
    before = made({f"case-{n}": row for n, (row, _) in enumerate(rows)})
    now = made({f"case-{n}": row for n, (_, row) in enumerate(rows)}, salt="now")
    if red(compared(before, now, mode=NOISE_AWARE)):
        assert red(compared(before, now, mode=STRICT))


# Single replayed rows


def test_every_case_that_passed_and_does_not_now_counts():
    cases = {f"case-{n}": "p" for n in range(50)}
    comparison = compared(made(cases), made({**cases, "case-7": "f"}, salt="now"))
    assert (comparison.verdict, red(comparison)) == ("regressed", {"cases", "rate"})


def test_cases_that_change_places_leave_the_rate_and_still_count():
    comparison = compared(made({"a": "p", "b": "f"}), made({"a": "f", "b": "p"}, salt="now"))
    assert red(comparison) == {"cases"}


@pytest.mark.parametrize(
    ("tolerance", "fell"), [("0", True), ("0.19", True), ("0.2", False), ("0.5", False)]
)
def test_a_rate_may_fall_by_what_is_tolerated_and_no_more(tolerance, fell):
    """From 5/5 to 4/5: exactly 0.2, which floats make 0.19999999999999996."""
    assert 1.0 - 0.8 < 0.2
    cases = {f"case-{n}": "p" for n in range(5)}
    comparison = compared(
        made(cases), made({**cases, "case-0": "f"}, salt="now"), tolerance=tolerance
    )
    assert gates(comparison)["rate"] is fell
    assert comparison.subjects[0].fell is fell
    assert comparison.tolerance == float(tolerance)


def test_rates_that_were_not_measured_do_not_fall():
    comparison = compared(made({"a": "f"}), made({"a": "e"}, salt="now"))
    assert "rate" not in red(comparison)
    comparison = compared(made({"a": "e"}), made({"a": "f"}, salt="now"))
    assert "rate" not in red(comparison)


def test_each_subject_answers_for_itself():
    before = several({"one": {"brief": {"a": "p"}, "long": {"a": "f"}}})
    now = several({"one": {"brief": {"a": "f"}, "long": {"a": "p"}}}, "now")
    assert [one.fell for one in compared(before, now).subjects] == [True, False]


@pytest.mark.parametrize(("before", "now"), [("p", "f"), ("f", "p"), ("p", "p")])
def test_one_row_that_changed_or_not_proves_nothing(before, now):
    comparison = compared(made({"a": before}), made({"a": now}, salt="now"))
    assert not {"aggregate", "unit"} & red(comparison)
    (one,) = comparison.subjects
    assert one.single.p == 1
    low, high = one.interval
    assert low < 0 < high


# Repeats


def test_what_chance_explains_is_shown_and_not_red():
    before, now = made({"a": "ppp", "b": "ppf"}), made({"a": "ppf", "b": "ppp"}, salt="now")
    comparison = compared(before, now)
    assert (comparison.verdict, red(comparison)) == ("clean", set())
    assert [change.id for change in comparison.subjects[0].regressed] == ["a"]
    assert red(compared(before, now, mode=STRICT)) == {"cases"}


def test_a_case_that_always_passed_and_never_does_is_found_among_forty():
    before = made({**steady, "a": "ppppp"})
    now = made({**steady, "a": "fffff"}, salt="now")
    comparison = compared(before, now)
    assert red(comparison) == {"aggregate", "unit"}
    (unit,) = comparison.subjects[0].units
    assert (unit.id, unit.flagged) == ("a", True)


@pytest.mark.parametrize(("repeats", "found"), [(3, False), (4, True)])
def test_three_repeats_a_side_never_flag_a_case_by_itself(repeats, found):
    others = {f"steady-{n}": "p" * repeats for n in range(39)}
    before = made({**others, "a": "p" * repeats})
    now = made({**others, "a": "f" * repeats}, salt="now")
    assert gates(compared(before, now))["unit"] is found


def test_a_small_fall_of_many_cases_is_found_together():
    cases = {f"case-{n}": "ppppp" for n in range(10)}
    now = made(dict.fromkeys(cases, "ppppf"), salt="now")
    comparison = compared(made(cases), now)
    assert red(comparison) == {"aggregate"}
    (together,) = [gate for gate in comparison.gates if gate.kind == "aggregate"]
    assert together.p == pytest.approx(0.0009765625)
    assert together.alpha == 0.025
    assert red(compared(made(cases), now, tolerance="0.2")) == set()


def test_all_suites_and_subjects_are_one_family():
    """Two cases 4/4->0/4 in one family flag none; each would be flagged in one of its own."""
    assert gates(compared(made({"a": "pppp"}), made({"a": "ffff"}, salt="now")))["unit"]
    before = {"one": {"brief": {"a": "pppp"}}, "two": {"brief": {"a": "pppp"}}}
    now = {"one": {"brief": {"a": "ffff"}}, "two": {"brief": {"a": "ffff"}}}
    assert not gates(compared(several(before), several(now, "now")))["unit"]


def test_the_gate_on_units_says_the_least_p_and_what_it_takes():
    before = made({"a": "ppppp", "b": "ppppp", "c": "ppppp"})
    now = made({"a": "pppff", "b": "ppfff", "c": "ppppp"}, salt="now")
    (alone,) = [gate for gate in compared(before, now).gates if gate.kind == "unit"]
    # 5/5->2/5 is 1/12. a and b could come to 1/12 and 1/4 at the least: none below 0.025.
    assert alone.p == pytest.approx(1 / 12)
    assert alone.alpha == 0.025
    same = compared(before, before)
    assert [gate.p for gate in same.gates if gate.kind == "unit"] == [None]


# What is missing


@pytest.mark.parametrize("ask", [False, True])
def test_what_is_missing_is_a_regression_when_it_is_asked_for(ask):
    before, now = made({"a": "p", "b": "p"}), made({"a": "p"}, salt="now")
    comparison = compared(before, now, fail_on_missing=ask)
    assert (comparison.verdict == "regressed") is ask
    assert comparison.exit_code == int(ask)


def test_a_whole_subject_that_is_gone_is_missing():
    before = several({"one": {"brief": {"a": "p"}, "long": {"a": "p", "b": "p"}}})
    now = several({"one": {"brief": {"a": "p"}}}, "now")
    comparison = compared(before, now, fail_on_missing=True)
    assert red(comparison) == {"missing"}
    assert comparison.subjects[1].removed == ["a", "b"]


def test_what_is_new_is_not_missing():
    before, now = made({"a": "p"}), made({"a": "p", "b": "f"})
    assert "missing" not in red(compared(before, now, fail_on_missing=True))


# What cannot be told


@pytest.mark.parametrize(
    ("before", "now", "doubt"),
    [
        # Too few of the rows are measured now; enough of them still are; or never were.
        ("fffff", "fffee", "1 unit was measured in the baseline, and too few"),
        ("fffff", "ffffe", None),
        ("fffee", "fffee", None),
        ("fffee", "fffff", None),
        ("fffff", "eeeee", "1 unit was measured in the baseline, and too few"),
    ],
)
def test_a_unit_that_was_measured_and_is_not_now_leaves_a_doubt(before, now, doubt):
    comparison = compared(
        made({"a": before, "b": "ppppp"}), made({"a": now, "b": "ppppp"}, salt="now")
    )
    assert (comparison.verdict == "cannot_tell") is (doubt is not None)
    assert [each.startswith(doubt or "-") for each in comparison.doubts] == [True] * bool(doubt)


def test_names_of_many_units_are_cut():
    cases = {f"case-{n}": "f" for n in range(5)}
    comparison = compared(made(cases), made(dict.fromkeys(cases, "e") | {"x": "f"}, salt="now"))
    assert comparison.doubts[0] == (
        "5 units were measured in the baseline, and too few of the rows are now: `case-0`, "
        "`case-1`, `case-2` and 2 more"
    )


def test_nothing_in_common_is_nothing_to_be_sure_of():
    comparison = compared(made({"a": "p"}), made({"b": "p"}))
    assert (comparison.verdict, comparison.doubts) == (
        "cannot_tell",
        ["nothing was measured in both reports"],
    )


@pytest.mark.parametrize(
    ("now", "doubt"),
    [
        (with_head(made({"a": "pp"}, salt="now"), partial=True), "the candidate is partial"),
        (made({"a": "pp"}, selected=2, salt="now"), "2 rows of the candidate were not run"),
        (made({"a": "p"}, repeats=2, salt="now"), "1 row of the candidate was not run"),
    ],
)
def test_a_candidate_that_is_not_whole_is_never_clean(now, doubt):
    comparison = compared(made({"a": "pp"}), now)
    assert comparison.verdict == "cannot_tell"
    assert comparison.doubts[0].startswith(doubt)


def test_a_regression_is_told_whatever_else_cannot_be():
    comparison = compared(made({"a": "p", "b": "f"}), made({"a": "f", "b": "e"}, salt="now"))
    assert (comparison.verdict, len(comparison.doubts)) == ("regressed", 1)


# How much would have been found


def test_rows_that_are_too_few_for_the_drop_that_matters_leave_a_doubt():
    cases = {f"case-{n}": "ppppf" for n in range(9)}
    one, other = made(cases), made(cases, salt="now")
    # 0.8 to 0.5 takes 45 rows.
    assert compared(one, other, detect="0.3").doubts == []
    short = {id_: cases[id_] for id_ in list(cases)[1:]}
    comparison = compared(made(short), made(short, salt="now"), detect="0.3")
    assert comparison.verdict == "cannot_tell"
    assert comparison.doubts == ["finding a drop of 0.3 takes 45 rows a side, and there are 40"]
    # 0.32 would take 41 rows.
    assert comparison.detection == Detection(
        rate=0.8, rows=40, smallest=0.33, drop=0.3, rows_needed=45
    )


def test_the_fewer_rows_of_both_sides_count():
    cases = {f"case-{n}": "ppppf" for n in range(9)}
    comparison = compared(
        made(cases), made(dict.fromkeys(cases, "ppppe"), salt="now"), detect="0.3"
    )
    assert comparison.detection.rows == 36


def test_a_rate_that_cannot_fall_so_far_leaves_a_doubt():
    one = made({"a": "pffff"})
    comparison = compared(one, made({"a": "pffff"}, salt="now"), detect="0.3")
    assert comparison.doubts == ["a pass rate of 0.2 cannot fall by 0.3"]
    assert comparison.detection.rows_needed is None


def test_what_is_red_is_red_however_few_rows_there_are():
    comparison = compared(made({"a": "p"}), made({"a": "f"}, salt="now"), detect="0.1")
    assert comparison.verdict == "regressed"


def test_without_a_drop_that_matters_the_smallest_to_be_found_is_said():
    one = made({"a": "ppppp"})
    found = compared(one, made({"a": "ppppp"}, salt="now")).detection
    assert found == Detection(rate=1.0, rows=5, smallest=0.92, drop=None, rows_needed=None)


def test_where_nothing_was_measured_nothing_is_said_of_drops():
    found = compared(made({"a": "e"}), made({"a": "e"}, salt="now"), detect="0.1").detection
    assert found == Detection(rate=None, rows=0, smallest=None, drop=0.1, rows_needed=None)


# Exit codes

REGRESSED = made({"a": "p"}), made({"a": "f"}, salt="now")
CLEAN = made({"a": "p"}), made({"a": "p"}, salt="now")
CANNOT_TELL = made({"a": "f"}), made({"a": "e"}, salt="now")
REGRESSED_AND_MISSING = made({"a": "p", "b": "p"}), made({"a": "f"}, salt="now")


@pytest.mark.parametrize(
    ("reports", "asked", "code"),
    [
        (CLEAN, {}, 0),
        (CLEAN, {"fail_on_regression": True}, 0),
        (REGRESSED, {}, 0),
        (REGRESSED, {"fail_on_regression": True}, 1),
        (REGRESSED, {"fail_on_missing": True}, 0),
        (CANNOT_TELL, {}, 0),
        (CANNOT_TELL, {"fail_on_regression": True}, 3),
        (CANNOT_TELL, {"fail_on_missing": True}, 0),
        (REGRESSED_AND_MISSING, {"fail_on_missing": True}, 1),
    ],
)
def test_the_exit_code_is_what_was_asked_for(reports, asked, code):
    assert compared(*reports, **asked).exit_code == code


def test_the_reports_are_named_by_their_digests():
    comparison = compared(*CLEAN)
    assert comparison.baseline.report_sha256 == "0" * 64
    assert comparison.candidate.report_sha256 == "1" * 64
