import tempfile
from pathlib import Path

import pytest
from sample_reports import case, check, facts, miss, report, row, single, subject, wrong

from proctor.case_results import case_result
from proctor.errors import UsageError
from proctor.records import Outcome, encode_json
from proctor.reporting import CaseSpool, SpoolStore


def results(count, *, text="ok"):
    kinds = [
        lambda: row(check(), text=text),
        lambda: row(wrong(), text=text),
        miss,
        lambda: row(check(outcome=Outcome.UNMEASURED), text=text),
    ]
    return [
        case_result(case(f"case-{index}"), index=index, rows=[kinds[index % 4]()])
        for index in range(count)
    ]


def spooled(cases, **options):
    spool = CaseSpool(SpoolStore(**options))
    for each in cases:
        spool.add(each)
    return spool


@pytest.mark.parametrize("memory_bytes", [0, 1_000, 50_000, 10_000_000])
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_cases_come_back_as_they_went_in_again_and_again(memory_bytes, count):
    cases = results(count)
    spool = spooled(cases, memory_bytes=memory_bytes)
    for _ in range(2):
        assert len(spool) == count
        assert list(spool) == cases
        assert list(spool.lines()) == [encode_json(each) for each in cases]


@pytest.mark.parametrize("memory_bytes", [0, 10_000_000])
def test_a_line_longer_than_what_is_read_at_once_comes_back_whole(memory_bytes):
    cases = results(3, text="x" * 200_000)
    assert list(spooled(cases, memory_bytes=memory_bytes)) == cases


def test_cases_are_found_by_outcome_without_reading_the_others():
    spool = spooled(results(10))
    found = [each.index for each in spool.having(Outcome.FAILED, Outcome.ERRORED)]
    assert found == [1, 2, 5, 6, 9]
    assert spool.count(Outcome.FAILED, Outcome.ERRORED) == 5
    assert spool.count() == 0
    assert list(spool.having()) == []


@pytest.mark.parametrize("memory_bytes", [0, 5_000, 10_000_000])
def test_spools_of_a_run_share_one_store(memory_bytes):
    store = SpoolStore(memory_bytes=memory_bytes)
    spools = [CaseSpool(store), CaseSpool(store)]
    cases = results(40)
    for place, each in enumerate(cases):
        spools[place // 3 % 2].add(each)
        assert len(list(spools[0].lines())) == len(spools[0])
    for number, spool in enumerate(spools):
        expected = [each for place, each in enumerate(cases) if place // 3 % 2 == number]
        assert list(spool) == expected


def test_two_readers_do_not_disturb_each_other():
    spool = spooled(results(200), memory_bytes=0)
    assert all(one == other for one, other in zip(spool, spool, strict=True))


@pytest.mark.parametrize("memory_bytes", [0, 10_000_000])
def test_lone_surrogates_and_long_integers_survive(memory_bytes):
    odd = {"text": "\ud800 and \udfff", "number": 2**80, "deep": [[[[[1.5]]]]]}
    result = case_result(case("odd", inputs=odd), index=0, rows=[row(check(), text="\ud83d")])
    spool = spooled([result], memory_bytes=memory_bytes)
    (back,) = spool
    assert back.inputs == odd
    assert back.rows[0].answer.text == "\ud83d"


def test_a_full_disk_names_the_temporary_folder(monkeypatch):
    def full(**options):
        return Path("/dev/full").open("wb", **options)

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(UsageError, match="No space left on device") as raised:
        spooled(results(2), memory_bytes=0)
    assert raised.value.code == "P6004"
    assert tempfile.gettempdir() in raised.value.message


def test_having_no_temporary_folder_is_said_too(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", missing)
    monkeypatch.setattr(tempfile, "gettempdir", missing)
    with pytest.raises(UsageError, match="No usable temporary directory") as raised:
        spooled(results(1), memory_bytes=0)
    assert raised.value.code == "P6004"


def test_a_single_suite_has_the_verdict_it_has_by_itself():
    both = report(
        (facts("good"), (subject(), [(case("a"), [row(check())])])),
        (facts("bad"), (subject(), [(case("b"), [row(wrong())])])),
    )
    assert (both.head.verdict, both.head.exit_code) == ("failed", 1)
    good, bad = both.single_suite(0), both.single_suite(1)
    assert (good.head.verdict, good.head.exit_code) == ("passed", 0)
    assert (bad.head.verdict, bad.head.exit_code) == ("failed", 1)
    assert [suite.suite for suite in bad.head.suites] == ["bad"]
    assert [each.id for each in bad.cases(0, 0)] == ["b"]


def test_a_single_suite_equals_the_report_of_a_run_of_it_alone():
    good = (facts("good"), (subject(), [(case("a"), [row(check())])]))
    bad = (facts("bad"), (subject(), [(case("b"), [row(wrong())])]))
    assert report(good, bad).single_suite(0).head == report(good).head


def test_cases_belong_to_their_subject():
    both = report(
        (
            facts(),
            (subject("one"), [(case("a"), [row(check())])]),
            (subject("two"), [(case("b"), [row(check())])]),
        )
    )
    assert [each.id for each in both.cases(0, 1)] == ["b"]
    assert [each.id for each in single([(case("a"), [miss()])]).cases(0, 0)] == ["a"]
