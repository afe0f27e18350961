import pytest
from msgspec import UNSET
from msgspec.structs import replace
from sample_reports import case, facts, report, subject
from two_reports import compared, joined, letter_row, made, only, placed, several, with_head

from proctor.comparing.indexing import FactsReader
from proctor.records import Unit, Verdict
from proctor.records.comparison import Label, Share, SingleRows, UnitRows


def changes(found):
    return {change.id: (change.baseline.value, change.now.value) for change in found}


def labels(comparison):
    return {unit.id: unit.label for one in comparison.subjects for unit in one.units}


def warnings(comparison):
    return [(each.code, each.message) for each in comparison.warnings]


# Cases


def test_a_case_regressed_when_it_passed_and_does_not_pass_now():
    before = made({"a": "p", "b": "p", "c": "p", "d": "p", "e": "f", "f": "e"})
    now = made({"a": "p", "b": "f", "c": "e", "d": "u", "e": "p", "f": "f"}, salt="now")
    one = only(compared(before, now))
    assert changes(one.regressed) == {
        "b": ("passed", "failed"),
        "c": ("passed", "errored"),
        "d": ("passed", "unmeasured"),
    }
    assert changes(one.recovered) == {"e": ("failed", "passed")}
    assert one.compared == 6


def test_cases_are_matched_by_id_and_never_by_position():
    letters = {f"case-{n}": "p" if n % 3 else "f" for n in range(20)}
    turned = dict(reversed(letters.items()))
    one = only(compared(made(letters), made(turned, salt="now")))
    assert (one.regressed, one.recovered, one.units, one.compared) == ([], [], [], 20)


def test_what_is_in_one_report_only_is_listed_and_no_regression_by_itself():
    before, now = made({"a": "p", "old": "p", "older": "f"}), made({"a": "p", "new": "f"})
    comparison = compared(before, now, tolerance="1")
    one = only(comparison)
    assert (one.added, one.removed, one.changed) == (["new"], ["old", "older"], [])
    assert (one.regressed, one.compared, comparison.verdict) == ([], 1, "clean")


def test_a_case_that_expects_something_else_now_is_listed_and_not_compared():
    before = made({"a": "p", "b": "p", "c": "p"}, expected={"a": 1, "b": 2})
    now = made({"a": "f", "b": "f", "c": "p"}, expected={"a": 1, "b": 3, "c": 4}, salt="now")
    comparison = compared(before, now)
    one = only(comparison)
    assert one.changed == ["b", "c"]
    assert changes(one.regressed) == {"a": ("passed", "failed")}
    assert one.compared == 1
    assert (
        "P6904",
        "`reviews`: 2 cases expect something else now and are not compared: `b`, `c`",
    ) in (warnings(comparison))


def test_a_report_against_itself_is_empty():
    one = made({"a": "ppf", "b": "ppp", "c": "fff"})
    comparison = compared(one, one)
    found = only(comparison)
    assert (found.units, found.regressed, found.recovered) == ([], [], [])
    assert (found.added, found.removed, found.changed) == ([], [], [])
    assert (comparison.verdict, comparison.exit_code, comparison.warnings) == ("clean", 0, [])


# Rates and differences


def test_rates_are_those_of_each_reports_own_cases():
    before, now = made({"a": "p", "b": "f"}), made({"a": "p", "c": "p", "d": "p"})
    rates = only(compared(before, now)).rates
    assert (rates.baseline.passed, rates.baseline.measured) == (1, 2)
    assert (rates.now.passed, rates.now.measured) == (3, 3)


def test_single_rows_are_told_as_mcnemar_does_over_units_measured_in_both():
    worse, better = {f"w{n}": "p" for n in range(6)}, {"b": "f"}
    same = {f"s{n}": "p" for n in range(33)}
    before = made({**worse, **better, **same, "lost": "p", "gone": "p"})
    after = {**dict.fromkeys(worse, "f"), "b": "p", **same, "lost": "e", "new": "f"}
    one = only(compared(before, made(after, salt="now")))
    assert one.single == SingleRows(units=40, worse=6, better=1, p=0.125)
    assert one.delta == pytest.approx(-5 / 40)
    assert one.interval == pytest.approx((-0.2543, 0.0162), abs=5e-5)


def test_repeats_are_told_as_the_mean_over_units():
    before = made({"a": "pppp", "b": "pppp", "c": "ppff", "d": "ffff", "e": "pfff", "f": "pppp"})
    now = made(
        {"a": "ppff", "b": "pppp", "c": "pppf", "d": "ffff", "e": "ffff", "f": "pppp"}, salt="now"
    )
    one = only(compared(before, now))
    assert one.single is None
    # -0.5, 0, 0.25, 0, -0.25, 0; t by its expansion for 5 degrees, and their standard deviation.
    assert one.delta == pytest.approx(-0.5 / 6)
    spread = 2.547318 * (0.06666667**0.5) / 6**0.5
    assert one.interval == pytest.approx((-0.5 / 6 - spread, -0.5 / 6 + spread), abs=1e-6)


@pytest.mark.parametrize("letters", [{"a": "p"}, {"a": "pp", "b": "pf"}])
def test_few_units_have_a_difference_but_with_repeats_no_interval(letters):
    one = only(compared(made(letters), made(letters, salt="now")))
    assert one.delta == 0
    assert (one.interval is None) == (len(letters) == 2)


# Units


def test_units_that_are_not_stable_are_listed_the_most_severe_first():
    before = made(
        {
            "steady": "ppp",
            "watched": "fff",
            "up": "fff",
            "b-soft": "ppp",
            "hard": "ppp",
            "a-soft": "ppp",
        }
    )
    now = made(
        {
            "steady": "ppf",
            "watched": "ppf",
            "up": "ppp",
            "b-soft": "pff",
            "hard": "fff",
            "a-soft": "fpf",
        },
        salt="now",
    )
    units = only(compared(before, now)).units
    assert [(unit.id, unit.label.value) for unit in units] == [
        ("hard", "hard_regression"),
        ("a-soft", "soft_regression"),
        ("b-soft", "soft_regression"),
        ("up", "improvement"),
        ("watched", "watch"),
    ]
    assert units[0].baseline == units[3].now == UnitRows(passed=3, measured=3, planned=3)
    assert units[0].p == 0.05
    assert units[0].flagged is False


def test_labels_are_counted_beside_what_chance_would_give():
    before, now = made({"a": "ppp", "b": "ppp"}), made({"a": "fff", "b": "ppp"}, salt="now")
    comparison = compared(before, now)
    assert comparison.labels == dict.fromkeys(Label, 0) | {
        Label.HARD_REGRESSION: 1,
        Label.STABLE: 1,
    }
    # Of the 20 ways three passes fall on six rows one is a hard regression and one an improvement;
    # 2/3 v 1/3 and back, nine each, are what is left.
    assert comparison.by_chance[Label.HARD_REGRESSION] == pytest.approx(0.05)
    assert comparison.by_chance[Label.IMPROVEMENT] == pytest.approx(0.05)
    assert sum(comparison.by_chance.values()) == pytest.approx(2)


@pytest.mark.parametrize(
    ("letters", "label"),
    [
        ("ppppe", None),
        ("pppee", Label.INSUFFICIENT_DATA),
        ("ppppu", None),
        ("eeeee", Label.INSUFFICIENT_DATA),
    ],
)
def test_rows_without_a_verdict_count_as_rows_that_lack(letters, label):
    comparison = compared(made({"a": "ppppp"}), made({"a": letters}, salt="now"))
    assert labels(comparison).get("a") == label


# What a gate counts


def family(before, now):
    return {tuple(counted): units for counted, units in joined(before, now).family.items()}


def test_every_unit_measured_in_both_reports_is_in_the_family():
    suites = {
        "one": {"brief": {"a": "pp", "b": "pf"}, "long": {"a": "ff"}},
        "two": {"brief": {"a": "pp"}},
    }
    now = {
        "one": {"brief": {"a": "pp", "b": "ee"}, "long": {"a": "pf"}},
        "two": {"brief": {"a": "pp"}},
    }
    assert family(several(suites), several(now, "now")) == {(2, 2, 2, 2): 2, (0, 2, 1, 2): 1}


def test_rows_of_one_recording_count_once_on_each_side():
    def shared(letters, *, salt):
        rows = [letter_row(letter, repeat=1, name=salt, answer=salt) for letter in letters]
        cases = [(f"case-{n}", [row]) for n, row in enumerate(rows)]
        return report(
            (facts(cases=len(cases)), (subject(), [(case(id_), each) for id_, each in cases]))
        )

    before, now = shared("pppp", salt="before"), shared("ffff", salt="now")
    assert family(before, now) == {(1, 1, 0, 1): 1}
    # What is displayed is all of them.
    assert only(compared(before, now)).single.worse == 4


def test_repeats_of_one_and_the_same_answer_count_as_one_row():
    fixed = {"answers": {"a": ["Yes."] * 5}}
    before = made({"a": "ppppp", "b": "ppppp"}, **fixed)
    now = made({"a": "fffff", "b": "fffff"}, salt="now", answers={"a": ["No."] * 5})
    comparison = compared(before, now)
    assert family(before, now) == {(1, 1, 0, 1): 1, (5, 5, 0, 5): 1}
    assert comparison.one_answer == 1
    assert {unit.id: unit.flagged for unit in only(comparison).units} == {"a": False, "b": True}


@pytest.mark.parametrize(
    ("before", "now", "counted"),
    [
        # One answer on one side only, or an answer that was judged both ways.
        (["Yes."] * 3, ["a", "b", "c"], (3, 3, 0, 3)),
        (["a", "b", "c"], ["No."] * 3, (3, 3, 0, 3)),
        (["Yes."] * 3, ["No.", "No.", "No. "], (3, 3, 0, 3)),
        (["Yes."] * 3, ["No."] * 3, (1, 1, 0, 1)),
    ],
)
def test_only_what_is_one_answer_byte_for_byte_in_both_counts_as_one(before, now, counted):
    old = made({"a": "ppp"}, answers={"a": before})
    new = made({"a": "fff"}, answers={"a": now}, salt="now")
    assert family(old, new) == {counted: 1}


def test_one_answer_that_was_judged_both_ways_is_no_fixed_result():
    old = made({"a": "ppf"}, answers={"a": ["Yes."] * 3})
    new = made({"a": "fff"}, answers={"a": ["No."] * 3}, salt="now")
    assert family(old, new) == {(2, 3, 0, 3): 1}


def test_a_single_row_is_one_answer_beside_repeats_of_one():
    old = made({"a": "p"})
    new = made({"a": "fff"}, answers={"a": ["No."] * 3}, salt="now")
    assert family(old, new) == {(1, 1, 0, 1): 1}


def test_without_answers_nobody_can_say_that_they_are_one_and_it_is_said():
    def without_answers(one):
        cases = [
            replace(each, rows=[replace(row, answer=None) for row in each.rows])
            for *_, each in placed(one)
        ]
        return ReportOf(one.head, cases)

    before = without_answers(made({"a": "ppp"}, answers={"a": ["Yes."] * 3}))
    now = made({"a": "fff"}, answers={"a": ["No."] * 3}, salt="now")
    assert family(before, now) == {(3, 3, 0, 3): 1}
    ((code, message),) = warnings(compared(before, now))
    assert code is None
    assert "holds no answers" in message


class ReportOf:
    """A report of one subject with cases as they are."""

    def __init__(self, head, cases):
        self.head = head
        self._cases = cases

    def cases(self, suite, number):
        return self._cases


# Scenarios and expectations


def with_units(one, units):
    """The report, each of its rows in the scenario of the same place, and these units."""
    cases = []
    for *_, each in placed(one):
        rows = [
            replace(row, scenario=name, repeat=1)
            for row, name in zip(
                each.rows, [u.scenario for u in units if u.expectation is UNSET], strict=True
            )
        ]
        cases.append(replace(each, rows=rows, units=units))
    suites = [replace(suite, repeats=1) for suite in one.head.suites]
    return ReportOf(replace(one.head, suites=suites), cases)


def scenario(name, passed):
    return Unit(scenario=name, n=1, passed=passed)


def test_a_scenario_is_a_unit_and_an_expectation_one_that_no_gate_looks_at():
    kind = Unit(scenario=UNSET, expectation="is kind", n=1, passed=1)
    unkind = replace(kind, passed=0)
    before = with_units(made({"a": "pp"}), [scenario("one", 1), scenario("two", 1), kind])
    now = with_units(
        made({"a": "pf"}, salt="now"), [scenario("one", 1), scenario("two", 0), unkind]
    )
    assert family(before, now) == {(1, 1, 1, 1): 1, (1, 1, 0, 1): 1}
    units = only(compared(before, now)).units
    assert [(unit.id, unit.scenario, unit.expectation) for unit in units] == [
        ("a", "two", None),
        ("a", None, "is kind"),
    ]


def test_the_row_of_a_build_is_no_unit():
    build = with_units(made({"a": "p"}), [scenario("__build_only__", 1)])
    assert family(build, build) == {}


def test_scenarios_are_added_and_removed_like_cases():
    before = with_units(made({"a": "pp"}), [scenario("one", 1), scenario("two", 1)])
    now = with_units(made({"a": "pp"}, salt="now"), [scenario("one", 1), scenario("three", 1)])
    one = only(compared(before, now))
    assert (one.added, one.removed) == (["a / three"], ["a / two"])


def test_few_different_units_are_held_however_many_cases_there_are():
    one = made({f"case-{n}": "ppf" for n in range(50)})
    reader = FactsReader(one.head)
    facts_of_all = [reader.facts(suite, each) for suite, _, each in placed(one)]
    assert len({id(each.units) for each in facts_of_all}) == 1


# Reports that are not whole


def test_what_was_not_run_is_measured_no_more_instead_of_removed():
    before = made({"a": "pp", "b": "pp"})
    now = made({"a": "pp"}, selected=2, salt="now")
    assert now.head.verdict is Verdict.INTERRUPTED
    one = only(compared(before, now))
    assert one.removed == []
    assert [(unit.id, unit.label) for unit in one.units] == [("b", Label.INSUFFICIENT_DATA)]
    assert one.units[0].now == UnitRows(passed=0, measured=0, planned=2)


def test_of_a_partial_report_nobody_knows_what_is_missing():
    now = with_head(made({"a": "pp"}, salt="now"), partial=True)
    one = only(compared(made({"a": "pp", "b": "pp"}), now))
    assert (one.removed, [unit.id for unit in one.units]) == ([], ["b"])


def test_a_baseline_that_is_not_whole_is_said_to_be_so():
    before = made({"a": "pp"}, selected=2)
    comparison = compared(before, made({"a": "pp", "b": "pp"}, salt="now"))
    assert only(comparison).added == ["b"]
    assert "the baseline is not of a whole run" in warnings(comparison)[0][1]


# Other data


def with_suite(one, **changed):
    return with_head(one, suites=[replace(suite, **changed) for suite in one.head.suites])


def test_another_dataset_is_said():
    one = made({"a": "p"})
    dataset = replace(one.head.suites[0].dataset, sha256="e" * 64, cases=7)
    comparison = compared(one, with_suite(one, dataset=dataset))
    assert warnings(comparison) == [
        ("P6904", "`reviews` has another dataset (cases: 1 then, 7 now)")
    ]


def test_other_params_are_named_and_not_quoted():
    one = made({"a": "p"})
    (who,) = one.head.suites[0].subjects
    others = replace(who, params={"maxTokens": 48, "stop": ["secret"]})
    comparison = compared(one, with_suite(one, subjects=[others]))
    assert warnings(comparison) == [
        ("P6904", "`reviews`: `brief@local/gemma` has other params: `maxTokens`, `stop`")
    ]


def test_another_project_is_said():
    one = made({"a": "p"})
    comparison = compared(one, with_head(one, project="other"))
    assert warnings(comparison) == [
        ("P6904", "the reports are of two projects, `acme` and `other`")
    ]


# Drift


@pytest.mark.parametrize(
    ("base", "now", "notable"),
    [
        ((2, 100), (7, 100), True),
        # 5 points, but 2 rows; 3 rows, but fewer than 5 points.
        ((0, 40), (2, 40), False),
        ((0, 100), (3, 100), False),
        ((0, 60), (3, 60), True),
        # 4/80 is 5%, as before.
        ((2, 40), (4, 80), False),
        # A category that went away is as notable.
        ((10, 100), (0, 100), True),
        # 2.9 rows above what the baseline's rate gives.
        ((10, 100), (5, 21), False),
        ((10, 100), (6, 30), True),
    ],
)
def test_drift_of_a_category_is_notable_in_points_and_in_rows(base, now, notable):
    def with_category(count, rows, salt):
        one = made({f"case-{n}": "f" if n < count else "p" for n in range(rows)}, salt=salt)
        (who,) = one.head.suites[0].subjects
        categories = {"timeout": count} if count else {}
        return with_suite(one, subjects=[replace(who, categories=categories)])

    comparison = compared(with_category(*base, ""), with_category(*now, "now"))
    (drift,) = comparison.drift
    assert (drift.category, drift.notable) == ("timeout", notable)
    assert (drift.baseline, drift.now) == (Share(*base), Share(*now))


def test_without_measured_rows_there_is_no_rate_to_drift():
    one = made({"a": "e"})
    (who,) = one.head.suites[0].subjects
    drifted = with_suite(one, subjects=[replace(who, categories={"timeout": 1})])
    assert compared(drifted, drifted).drift == []
