from fractions import Fraction

import pytest

from proctor.datasets.splitting import parts_by_share, parts_by_tag
from proctor.errors import UsageError
from proctor.records import Case

CASES = [Case(f"c{number:02}", {"q": number}) for number in range(50)]


def tagged(id_, *tags):
    return Case(id_, {}, tags=list(tags))


def test_each_case_goes_to_the_part_of_its_first_tag():
    cases = [tagged("a", "x", "y"), tagged("b"), tagged("c", "y"), tagged("d", "x")]
    assert parts_by_tag(cases) == {"x": ["a", "d"], "untagged": ["b"], "y": ["c"]}


def test_a_part_is_named_so_that_a_file_can_be():
    cases = [tagged("a", "../up & away"), tagged("b", "caf\u00e9"), tagged("c", "x" * 99)]
    assert list(parts_by_tag(cases)) == ["up-away", "caf\u00e9", "x" * 64]


@pytest.mark.parametrize(
    "cases",
    [
        [tagged("a", "x y"), tagged("b", "x-y")],
        [tagged("a", "untagged"), tagged("b")],
        [tagged("a", "../..")],
    ],
)
def test_tags_that_make_no_names_of_their_own_are_refused(cases):
    with pytest.raises(UsageError) as caught:
        parts_by_tag(cases)
    assert caught.value.code == "P6002"


def test_a_share_is_taken_by_seed_and_keeps_the_order():
    parts = parts_by_share(CASES, share=Fraction("0.3"), seed=1)
    assert [len(ids) for ids in parts.values()] == [15, 35]
    assert sorted(parts["share"] + parts["rest"]) == [case.id for case in CASES]
    assert all(ids == sorted(ids) for ids in parts.values())
    assert parts == parts_by_share(CASES, share=Fraction("0.3"), seed=1)
    assert parts != parts_by_share(CASES, share=Fraction("0.3"), seed=2)


@pytest.mark.parametrize("seed", range(20))
def test_cases_with_the_same_inputs_are_never_on_both_sides(seed):
    cases = [Case(f"c{number}", {"q": number // 3}) for number in range(30)]
    parts = parts_by_share(cases, share=Fraction(1, 2), seed=seed)
    sides = {int(id_[1:]) // 3: "share" for id_ in parts["share"]}
    assert not sides.keys() & {int(id_[1:]) // 3 for id_ in parts["rest"]}
    assert len(parts["share"]) == 15


@pytest.mark.parametrize(
    "cases", [CASES[:1], CASES[:4], [Case("a", {"q": 1}), *[Case(f"b{n}", {}) for n in range(9)]]]
)
def test_a_part_without_cases_is_refused(cases):
    share = Fraction(1, 5) if len(cases) < 9 else Fraction(1, 20)
    with pytest.raises(UsageError) as caught:
        parts_by_share(cases, share=share, seed=0)
    assert caught.value.code == "P6002"
