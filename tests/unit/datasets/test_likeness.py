from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.likeness import Likenesses


def groups(*texts):
    found = Likenesses()
    for number, text in enumerate(texts):
        found.add(str(number), text)
    return found.groups()


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        ("a b c d e", "a b c d e", True),
        ("Where is it, please?", "please: WHERE is it", True),
        ("a b c d", "a b c d e", True),  # 4 of 5
        ("a b c", "a b c d", False),  # 3 of 4
        ("a b c d e f g h i", "a b c d e f g h x", True),  # 8 of 10
        ("a b c d e f g h", "a b c d e f g x", False),  # 7 of 9
        ("a a a a b", "a b", False),  # how often a word occurs counts
        ("a", "b", False),
        ("!!!", "???", False),
    ],
)
def test_texts_are_alike_when_they_share_four_of_five_words(one, other, are_alike):
    assert groups(one, other) == ({"0": ["1"]} if are_alike else {})


def test_a_text_belongs_to_the_first_that_it_is_like():
    assert groups("a b c d e", "x", "a b c d", "y", "b c d e a", "x") == {
        "0": ["2", "4"],
        "1": ["5"],
    }


def share(one, other):
    one, other = Counter(one), Counter(other)
    return (one & other).total() * 5 >= (one | other).total() * 4


@given(st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=12), max_size=12))
def test_no_text_is_missed_and_none_is_wrong(texts):
    firsts, wanted = [], {}
    for place, text in enumerate(texts):
        first = next((one for one in firsts if share(texts[one], text)), None)
        if first is None:
            firsts.append(place)
        else:
            wanted.setdefault(str(first), []).append(str(place))
    assert groups(*(" ".join(text) for text in texts)) == wanted


def test_ten_thousand_texts_that_share_most_words_are_compared_with_few():
    texts = [f"dear shop the order with number {n} {n + 1} {n * 7} is late" for n in range(10_000)]
    assert groups(*texts[:3]) == {}
    assert len(groups(*texts, *texts)) == 10_000
