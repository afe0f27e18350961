from msgspec import UNSET

from proctor.datasets.figures import MAX_LABELS, Lengths, NearGroup, dataset_figures
from proctor.records import Case


def case(number, text="", *, expected=UNSET, tags=()):
    return Case(f"c{number}", {"text": text or f"question {number}"}, expected, list(tags))


def figures(*cases):
    return dataset_figures(cases)


def test_cases_and_their_tags_are_counted_the_most_frequent_first():
    found = figures(
        case(1, tags=["b", "a"]), case(2, tags=["b", "b"]), case(3, tags=["c"]), case(4)
    )
    assert (found.cases, found.untagged) == (4, 1)
    assert list(found.tags.items()) == [("b", 2), ("a", 1), ("c", 1)]


def test_lengths_are_characters_of_texts_and_of_lists_and_objects_as_json():
    # Of 1 to 20: the tenth is in the middle, and 19 of 20 are 95 of 100.
    texts = [case(number, "\u00e9" * number) for number in range(1, 21)]
    assert figures(*reversed(texts)).lengths == {
        "text": Lengths(cases=20, min=1, median=10, p95=19, max=20)
    }
    other = Case("o", {"n": 7, "yes": True, "none": None, "list": [1, "a"]})
    assert figures(other).lengths == {"list": Lengths(cases=1, min=7, median=7, p95=7, max=7)}


def test_duplicates_have_the_same_inputs_whatever_else_they_have():
    found = figures(
        Case("a", {"x": 1, "y": [1.0]}),
        Case("b", {"y": [1], "x": 1}, "expected", ["tag"]),
        Case("c", {"x": "1", "y": [1]}),
    )
    assert found.duplicates == [["a", "b"]]


def test_near_duplicates_are_not_duplicates():
    words = ["please", "tell", "me", "where", "my", "order", "with", "the", "number", "five", "is"]
    alike = " ".join([*words[:-1], "was"])
    found = figures(
        case(1, " ".join(words)), case(2, " ".join(words)), case(3, alike), case(4, "hello")
    )
    assert found.duplicates == [["c1", "c2"]]
    assert found.near_duplicates == [NearGroup(case="c1", like_it=["c3"])]


def test_labels_are_counted_by_part_when_there_are_few():
    answers = [
        {"label": "yes", "sure": True, "score": 0.5, "text": f"answer {number}"}
        for number in range(MAX_LABELS + 1)
    ]
    answers[0]["label"] = "no"
    found = figures(*(case(number, expected=one) for number, one in enumerate(answers)), case(99))
    assert found.labels == {
        "expected.label": {"yes": MAX_LABELS, "no": 1},
        "expected.sure": {"true": MAX_LABELS + 1},
    }
    assert found.without_expected == 1


def test_labels_that_are_the_whole_expected_value_are_counted_too():
    found = figures(case(1, expected="a"), case(2, expected="a"), case(3, expected=None))
    assert found.labels == {"expected": {"a": 2, "null": 1}}


def test_as_many_labels_as_there_may_be_are_counted():
    found = figures(*(case(number, expected=number) for number in range(MAX_LABELS)))
    assert len(found.labels["expected"]) == MAX_LABELS
