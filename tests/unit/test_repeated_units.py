import pytest
from msgspec.structs import replace
from sample_reports import case, check, facts, report, row, single, subject, wrong

from proctor.config import GateConfig
from proctor.records import BUILD_ONLY, ExpectationResult, Outcome, RowError
from proctor.repeated_units import RepeatedUnits, complete_repeats
from proctor.report_proofs import ReportProof
from proctor.tier_gates import gate_finding

GONE = RowError("P6402", "gone")


def rows(spelled):
    """Rows of one case, repeat by repeat: `p` passed, `f` failed, `e` errored, `-` not run."""
    outcomes = {"p": Outcome.PASSED, "f": Outcome.FAILED, "e": Outcome.ERRORED}
    return [
        row(check() if letter == "p" else wrong(), repeat=number)
        if letter != "e"
        else row(error=GONE, repeat=number)
        for number, letter in enumerate(spelled, 1)
        if letter in outcomes
    ]


class TestCounting:
    def counted(self, *spelled):
        units = RepeatedUnits()
        for one in spelled:
            units.add(rows(one), [])
        return units

    def test_units_are_counted_by_how_many_of_how_many_passed(self):
        units = self.counted("ppf", "pfp", "fff", "ep-", "pe")
        assert units.counts() == {(2, 3): 2, (0, 3): 1, (1, 1): 2}

    def test_of_some_repeats_only_those_count(self):
        units = self.counted("ppf", "pfp", "ep-")
        assert units.counts([1, 2]) == {(2, 2): 1, (1, 2): 1, (1, 1): 1}
        assert units.counts([]) == {(0, 0): 3}

    def test_what_is_expected_of_a_build_is_a_unit_and_its_row_is_none(self):
        units = RepeatedUnits()
        build = [replace(one, scenario=BUILD_ONLY) for one in rows("pp")]
        said = [
            ExpectationResult("tidy", 1, Outcome.PASSED, []),
            ExpectationResult("tidy", 2, Outcome.FAILED, []),
        ]
        units.add(build, said)
        assert units.counts() == {(1, 2): 1}


# Three cases, three repeats: the third of them was not run for the last one.
INTERRUPTED = [(case("a"), rows("ppf")), (case("b"), rows("fpp")), (case("c"), rows("pp-"))]


def test_an_interrupted_run_has_pass_at_k_over_its_complete_repeats():
    made = single(INTERRUPTED, repeats=3)
    counted = made.head.suites[0].subjects[0]
    assert counted.counts.not_run == 1
    # In the repeats 1 and 2: a 2 of 2, b 1 of 2, c 2 of 2.
    assert [(at.k, at.value, at.units, at.not_available) for at in counted.pass_at_k] == [
        (1, pytest.approx(5 / 6), 3, 0),
        (2, 1.0, 3, 0),
        (3, None, 0, 3),
    ]
    assert [at.value for at in counted.pass_hat_k] == [
        pytest.approx(5 / 6),
        pytest.approx(2 / 3),
        None,
    ]
    cases = list(made.cases(0, 0))
    assert complete_repeats(cases, rows=9, repeats=3) == [1, 2]
    proof = ReportProof(made.head, name="r", where="r")
    prove = proof.subject(0, 0)
    for one in cases:
        prove(one)
    proof.finish()


def test_a_run_of_which_no_repeat_is_complete_has_none():
    made = single([(case("a"), rows("pp")), (case("b"), [])][:1], repeats=2)
    assert made.head.suites[0].subjects[0].pass_at_k[1].value == 1.0
    planned = facts(cases=2, repeats=2)
    cut = report((planned, (subject(), [(case("a"), rows("pp"))])))
    assert [at.value for at in cut.head.suites[0].subjects[0].pass_at_k] == [None, None]


@pytest.mark.parametrize(
    ("cases", "met", "said"),
    [
        (INTERRUPTED, True, "3 of 3 units passed at least once"),
        # What passed in a repeat that was not run whole is not looked at.
        (
            [(case("a"), rows("ffp")), (case("b"), rows("pp-"))],
            False,
            "1 of 2 units passed at least once, and never did `a`",
        ),
        ([(case("a"), rows("---p")), (case("b"), rows("p---"))], False, "nothing was measured"),
    ],
)
def test_a_gate_looks_at_complete_repeats_only(cases, met, said):
    made = single(cases, repeats=len(cases[0][1]) if cases is INTERRUPTED else 4)
    finding = gate_finding(made, "full", GateConfig(criterion="pass-at-k"))
    assert (finding.met, finding.said) == (met, said)
