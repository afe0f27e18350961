import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import ProctorError, UsageError
from proctor.records import CaseResult, Outcome, RowResult
from proctor.records.journal import ShardPlace
from proctor.sharding import CaseTimes, Shard, read_timings


def shards(count, ids, seconds=None):
    return [
        Shard(index=index, count=count, seconds=seconds or {}).split(ids)
        for index in range(1, count + 1)
    ]


class TestSplitting:
    def test_cases_of_which_nothing_is_known_are_dealt_out_by_their_ids(self):
        assert shards(3, ["d", "b", "a", "c", "e"]) == [{"a", "d"}, {"b", "e"}, {"c"}]

    def test_the_longest_goes_first_each_into_the_shard_that_has_least(self):
        seconds = {"a": 10.0, "b": 7.0, "c": 6.0, "d": 3.0, "e": 2.0}
        # a -> 1 (10), b -> 2 (7), c -> 2 would be 13, so no: 7 < 10 -> 2 (13), d -> 1 (13), e -> 1
        assert shards(2, "abcde", seconds) == [{"a", "d", "e"}, {"b", "c"}]

    def test_a_case_that_is_not_known_weighs_the_median_of_those_that_are(self):
        seconds = {"a": 1.0, "b": 5.0, "c": 9.0, "gone": 100.0}
        # x weighs 5: c -> 1 (9), b -> 2 (5), x -> 2 (10), a -> 1 (10)
        assert shards(2, "abcx", seconds) == [{"a", "c"}, {"b", "x"}]

    def test_cases_that_take_no_time_are_spread_all_the_same(self):
        assert shards(2, "abcd", dict.fromkeys("abcd", 0.0)) == [{"a", "c"}, {"b", "d"}]

    def test_more_shards_than_cases_leave_some_without_any(self):
        assert shards(3, ["a"]) == [{"a"}, frozenset(), frozenset()]

    @given(
        st.sets(st.text(max_size=5), max_size=40),
        st.integers(1, 9),
        st.dictionaries(st.text(max_size=5), st.floats(0, 1e6), max_size=20),
        st.randoms(use_true_random=False),
    )
    def test_every_case_is_in_one_shard_whatever_their_order(self, ids, count, seconds, random):
        parts = shards(count, ids, seconds)
        assert sum(map(len, parts)) == len(ids)
        assert frozenset().union(*parts) == ids
        shuffled = list(ids)
        random.shuffle(shuffled)
        assert shards(count, shuffled, seconds) == parts

    @given(
        st.dictionaries(st.text(max_size=5), st.floats(0, 1e6), min_size=1, max_size=30),
        st.integers(1, 6),
    )
    def test_no_shard_is_longer_than_the_lightest_and_one_case(self, seconds, count):
        loads = [sum(seconds[id_] for id_ in part) for part in shards(count, seconds, seconds)]
        assert max(loads) <= min(loads) + max(seconds.values()) + 1e-6 * max(loads)


class TestSpelling:
    def test_a_shard_is_written_as_its_number_of_how_many(self):
        shard = Shard.parse("2/4")
        assert (shard.index, shard.count) == (2, 4)
        assert Shard.parse("1/1").count == 1
        assert Shard.parse("10000/10000").index == 10_000

    @pytest.mark.parametrize(
        "text",
        ["", "2", "0/4", "5/4", "2/0", "-1/4", "2/4/4", "a/b", "2 /4", "02/4", "1/10001", "²/4"],
    )
    def test_anything_else_is_none(self, text):
        with pytest.raises(ValueError, match="write it as `2/4`"):
            Shard.parse(text)


class TestTimings:
    def write(self, tmp_path, content):
        path = tmp_path / "timings.json"
        path.write_text(content)
        return path

    def test_seconds_by_case(self, tmp_path):
        path = self.write(tmp_path, '{"a": 1.5, "b": 2, "c": 0}')
        assert read_timings(path) == {"a": 1.5, "b": 2.0, "c": 0.0}

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("[]", "is not an object"),
            ("", "is empty"),
            ('{"a": 1, "a": 2}', "has the key `a` twice"),
            ('{"a": "1"}', "holds something else than seconds"),
            ('{"a": true}', "holds something else than seconds"),
            ('{"a": -1}', "holds something else than seconds"),
            ('{"a": 1e10}', "holds something else than seconds"),
            ('{"a": NaN}', "has `NaN`, which is not JSON"),
            ('{"a": null}', "holds something else than seconds"),
        ],
    )
    def test_what_is_none_is_refused(self, tmp_path, content, said):
        with pytest.raises(UsageError) as caught:
            read_timings(self.write(tmp_path, content))
        assert (caught.value.code, caught.value.message) == (
            "P6002",
            f"the timings `timings.json` {said}",
        )

    def test_a_file_that_is_not_there_or_a_link_is_refused(self, tmp_path):
        for name, code in (("gone.json", "P6002"), ("link.json", "P6805")):
            if name == "link.json":
                (tmp_path / name).symlink_to("/etc/passwd")
            with pytest.raises(ProctorError) as caught:
                read_timings(tmp_path / name)
            assert caught.value.code == code

    def case(self, id_, *latencies):
        rows = [
            RowResult(None, n, Outcome.PASSED, None, None, None, None, [], None, None, ms, None)
            for n, ms in enumerate(latencies, 1)
        ]
        return (
            0,
            0,
            CaseResult(0, id_, [], [], Outcome.PASSED, False, None, None, None, [], [], rows),
        )

    def test_they_are_made_of_all_rows_of_a_case_and_the_mean_of_reports(self):
        times = CaseTimes()
        first = [self.case("b", 100, 251), self.case("a", 1000), self.case("b", 50)]
        assert list(times.of(first)) == first
        list(times.of([self.case("a", 2000), self.case("c", None)]))
        # b: 100 + 251 + 50; a: the mean of 1000 and 2000; of c nothing is known
        assert json.loads(times.render()) == {"a": 1.5, "b": 0.401}
        assert times.render() == b'{\n  "a": 1.5,\n  "b": 0.401\n}\n'


@pytest.mark.parametrize("expected", [0, 10_001, 10**15])
def test_a_part_is_one_of_no_more_than_there_can_be(expected):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"expected": expected, "present": [1], "index": 1}, ShardPlace)
