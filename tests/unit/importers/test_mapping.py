import pytest

from proctor.errors import UsageError
from proctor.importers.mapping import NoCase, parse_mapping
from proctor.importers.sources import Record


def mapping(*maps, id_=None, expected=None, tag=()):
    return parse_mapping(maps, id_=id_, expected=expected, tag=tag)


def case_of(value, *maps, **options):
    return mapping(*maps, **options).case(Record(value, 3, "in.jsonl:3"))


NESTED = {"id": "a", "body": {"text": "hi", "to": ["x", "y"]}, "a.b": 1, "a": {"b": 2, "/": 3}}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("/body/text", "hi"),
        ("body.text", "hi"),
        ("body.to.1", "y"),
        ("/body/to/0", "x"),
        ("body", NESTED["body"]),
        ("a.b", 1),
        ("/a/b", 2),
        ("/a/~1", 3),
    ],
)
def test_a_source_is_a_pointer_or_names_with_dots_and_a_whole_name_comes_first(source, value):
    assert case_of(NESTED, f"inputs.it={source}") == {"id": "a", "inputs": {"it": value}}


def test_every_part_that_may_be_told_becomes_that_part():
    record = {"q": "why", "a": "so", "tone": "dry", "from": 7, "more": {"x": 1}}
    made = case_of(
        record,
        "inputs.question=q",
        "inputs.deep.er=more",
        "expected.label=a",
        "context.tone=tone",
        "metadata.from=from",
    )
    assert made == {
        "id": "row-3",
        "inputs": {"question": "why", "deep": {"er": {"x": 1}}},
        "expected": {"label": "so"},
        "context": {"tone": "dry"},
        "metadata": {"from": 7},
    }


def test_what_a_record_does_not_have_is_absent_and_null_is_a_value():
    made = case_of({"a": None}, "inputs.a=a", "inputs.b=b", "expected=c")
    assert made == {"id": "row-3", "inputs": {"a": None}}


def test_without_a_map_every_field_that_is_not_used_otherwise_is_an_input():
    record = {"id": 7, "text": "hi", "label": "x", "expected": "y", "tags": ["t"], "kind": "k"}
    assert case_of(record) == {
        "id": "7",
        "inputs": {"text": "hi", "label": "x", "kind": "k"},
        "expected": "y",
        "tags": ["t"],
    }
    assert case_of(record, id_="kind", expected="/label", tag=["kind"]) == {
        "id": "k",
        "inputs": {"id": 7, "text": "hi", "expected": "y", "tags": ["t"]},
        "expected": "x",
        "tags": ["k"],
    }


def test_a_record_that_is_a_case_stays_one():
    record = {"id": "a", "inputs": {"q": 1}, "dos": ["be kind"], "metadata": {"m": 1}}
    assert case_of(record) == record
    told = {**record, "ticket": "T1"}
    assert case_of(told, id_="ticket") == {**record, "id": "T1"}


@pytest.mark.parametrize("record", [{}, {"id": None}, {"id": ""}])
def test_a_record_without_an_id_is_called_by_its_row(record):
    assert case_of(record)["id"] == "row-3"


@pytest.mark.parametrize("value", [None, 1.5, True, ["a"], {"a": 1}])
def test_an_id_is_text_or_a_whole_number(value):
    with pytest.raises(NoCase, match="`key`"):
        case_of({"key": value}, id_="key")


def test_an_id_that_was_named_has_to_be_there():
    with pytest.raises(NoCase, match="is not there"):
        case_of({"id": "a"}, id_="key")


def test_tags_are_words_and_lists_of_words_each_once():
    record = {"kind": "b", "all": ["a", "b", ""], "vip": True, "year": 2026, "none": None}
    made = case_of(record, tag=["kind", "all", "vip", "year", "none", "missing"])
    assert made["tags"] == ["b", "a", "true", "2026"]


@pytest.mark.parametrize("value", [{"a": 1}, [["a"]], 1.5])
def test_other_values_are_no_tags(value):
    with pytest.raises(NoCase, match="no tag"):
        case_of({"kind": value}, tag=["kind"])


@pytest.mark.parametrize(
    ("maps", "options", "said"),
    [
        (["inputs.a"], {}, "says not what becomes what"),
        (["inputs=a"], {}, "says not what becomes what"),
        (["metadata=a"], {}, "says not what becomes what"),
        (["inputs..b=a"], {}, "says not what becomes what"),
        (["tags=a"], {}, "says not what becomes what"),
        (["inputs.a="], {}, "names no part"),
        (["inputs.a=/b~2"], {}, "names no part"),
        ([], {"id_": ""}, "names no part"),
        (["expected=a"], {}, "names an input"),
        (["inputs.a=a", "inputs.a=b"], {}, "`inputs.a`"),
        (["inputs.a=a", "inputs.a.b=b"], {}, "`inputs.a`"),
        (["inputs.a=a", "expected.x=b"], {"expected": "c"}, "`expected`"),
    ],
)
def test_a_mapping_that_says_nothing_or_two_things_is_refused(maps, options, said):
    with pytest.raises(UsageError, match=said) as caught:
        mapping(*maps, **options)
    assert caught.value.code == "P6002"
