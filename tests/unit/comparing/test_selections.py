"""A candidate that ran a selection only is compared by that selection."""

from two_reports import made, placed, several

from proctor.comparing.reports import ReportCases, compare_reports


def selected(before, now):
    return compare_reports(
        ReportCases(before.head, placed(before)),
        ReportCases(now.head, placed(now)),
        is_selection=True,
    )


def test_the_rate_of_the_baseline_is_that_of_the_cases_that_were_selected():
    """Of 4/8 in the baseline, the two cases that were run again have 3/4."""
    before = made({"a": "pp", "b": "pf", "c": "ff", "d": "fp"})
    (found,) = selected(before, made({"a": "pp", "b": "ff"}, salt="now")).subjects
    alone = made({"a": "pp", "b": "pf"}).head.suites[0].subjects[0].pass_rate
    record = found.record(set(), 0)
    assert record.rates.baseline == alone
    assert (record.rates.now.passed, record.rates.now.measured) == (2, 4)
    assert (record.removed, record.compared) == ([], 2)


def test_what_did_not_fall_among_them_did_not_fall():
    before = made({"a": "f", **dict.fromkeys("bcdefgh", "p")})
    (found,) = selected(before, made({"a": "f"}, salt="now")).subjects
    assert not found.fell_by_more_than(0)
    (whole,) = compare_reports(
        ReportCases(before.head, placed(before)),
        ReportCases((now := made({"a": "f"}, salt="now")).head, placed(now)),
    ).subjects
    assert whole.fell_by_more_than(0)


def test_subjects_and_suites_that_were_not_selected_are_not_listed():
    before = several(
        {"one": {"brief": {"a": "p"}, "long": {"a": "p"}}, "two": {"brief": {"b": "p"}}}
    )
    compared = selected(before, several({"one": {"brief": {"a": "p"}}}, "now"))
    assert [found.match.candidate.suite for found in compared.subjects] == ["one"]
    assert compared.drift == []
