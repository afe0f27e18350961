import pytest

from proctor.packets.contract import (
    OPEN,
    blank_response,
    contract_faults,
    field_at,
    result_faults,
    value_faults,
)
from proctor.packets.formats import ResponseField
from proctor.strict_json import typed

TYPES = ["string", "number", "integer", "boolean", "enum", "list", "object"]


def field(type_, **keys):
    more = {"options": ["a", "b"]} if type_ == "enum" and "options" not in keys else {}
    return typed({"type": type_, **more, **keys}, ResponseField)


def faults_of(type_, value, **keys):
    return list(value_faults(field(type_, **keys), value, "x"))


VALUES = {
    "text": ["", "c", "A", "a ", "true", "1"],
    "option": ["a", "b"],
    "whole": [0, -3, 10**30, 2.0],
    "fraction": [1.5, -0.1],
    "boolean": [True, False],
    "list": [[], ["a"], [1, None]],
    "object": [{}, {"a": [1]}],
}
ACCEPTED = {
    "string": {"text", "option"},
    "enum": {"option"},
    "number": {"whole", "fraction"},
    "integer": {"whole"},
    "boolean": {"boolean"},
    "list": {"list"},
    "object": {"object"},
}


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("kind", VALUES)
def test_types_are_exact(type_, kind):
    for value in VALUES[kind]:
        assert (faults_of(type_, value) == []) is (kind in ACCEPTED[type_]), value


@pytest.mark.parametrize("type_", TYPES)
def test_null_fits_only_what_is_nullable(type_):
    assert faults_of(type_, None, nullable=True) == []
    ((place, fault),) = faults_of(type_, None)
    assert place == "x"
    assert fault.endswith("not null")


@pytest.mark.parametrize(
    ("type_", "keys", "fitting", "not_fitting", "fault"),
    [
        ("string", {"maxLength": 2}, ["", "\U0001f600é"], "abc", "longer than 2 characters"),
        ("list", {"minItems": 1}, [[0], [0, 0]], [], "1 items or more, and has 0"),
        ("list", {"maxItems": 1}, [[], [0]], [0, 0], "1 items at most, and has 2"),
        ("list", {"maxItems": 0}, [[]], [0], "0 items at most, and has 1"),
        ("enum", {"options": ["x"]}, ["x"], "y", "must be one of x"),
    ],
)
def test_limits_hold(type_, keys, fitting, not_fitting, fault):
    for value in fitting:
        assert faults_of(type_, value, **keys) == []
    ((place, found),) = faults_of(type_, not_fitting, **keys)
    assert place == "x"
    assert fault in found


def test_what_is_inside_is_looked_at_and_placed():
    inner = {"type": "object", "fields": {"ok": {"type": "boolean"}, "n": {"type": "integer"}}}
    value = [{"ok": True, "n": 1}, {"ok": 1, "more": 2}, None]
    assert faults_of("list", value, items=inner) == [
        ("x[1].ok", "must be a boolean, not a number"),
        ("x[1].n", "is missing"),
        ("x[1].more", "is not in the contract"),
        ("x[2]", "must be an object, not null"),
    ]


def test_every_field_is_needed_and_no_other_is_taken():
    contract = {"a": field("string", nullable=True), "b": field("string")}
    assert list(result_faults(contract, {"a": None, "b": ""}, "r")) == []
    assert list(result_faults(contract, {"b": "", "c": 1, "y" * 500: 1}, "r")) == [
        ("r.a", "is missing"),
        ("r.c", "is not in the contract"),
        (f'r["{"y" * 97}..."]', "is not in the contract"),
    ]


def test_a_fault_quotes_no_value():
    for type_ in TYPES:
        for value in ("secret", ["secret"], {"k": "secret"}):
            assert "secret" not in str(faults_of(type_, value))


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("type_", TYPES)
def test_a_blank_is_never_a_value(type_, nullable):
    contract = {"case": {"f": field(type_, nullable=nullable)}}
    blank = blank_response(contract)
    assert len(list(result_faults(contract["case"], blank.results["case"], ""))) == 1
    assert blank.binding_sha256 is None


EVIDENCE = {"page": "some words"}
GRAMMAR = {"grammar": {"wordsFrom": "page"}}
TITLE = {"type": "string", **GRAMMAR}


@pytest.mark.parametrize(
    ("fields", "place", "fault"),
    [
        ({}, (), "a contract without fields asks for nothing"),
        ({"a b": field("string")}, ("a b",), "the name of a field is made of"),
        ({"": field("string")}, ("",), "the name of a field is made of"),
        ({"x" * 129: field("string")}, ("x" * 129,), "at most 128"),
        ({"a": field("enum", options=["x", "x"])}, ("a", "options"), "an option stands twice"),
        ({"a": typed({"type": "enum"}, ResponseField)}, ("a",), "an enum needs `options`"),
        ({"a": field("string", options=["x"])}, ("a", "options"), "`options` goes with type enum"),
        ({"a": field("list", maxLength=1)}, ("a", "maxLength"), "`maxLength` goes with type str"),
        ({"a": field("string", minItems=1)}, ("a", "minItems"), "`minItems` goes with type list"),
        ({"a": field("string", maxItems=1)}, ("a", "maxItems"), "`maxItems` goes with type list"),
        ({"a": field("object", items={"type": "string"})}, ("a", "items"), "goes with type list"),
        (
            {"a": field("list", fields={"b": {"type": "string"}})},
            ("a", "fields"),
            "`fields` goes with type object",
        ),
        ({"a": field("number", **GRAMMAR)}, ("a", "grammar"), "`grammar` goes with type string"),
        ({"a": field("list", minItems=2, maxItems=1)}, ("a", "minItems"), "so no list will do"),
        (
            {"a": field("string", grammar={"wordsFrom": "pag"})},
            ("a", "grammar", "wordsFrom"),
            "the case has no evidence `pag`",
        ),
        (
            {"a": field("list", items=TITLE)},
            ("a", "items", "grammar"),
            "not with what is in a list",
        ),
        (
            {"a": field("list", items={"type": "object", "fields": {"b": TITLE}})},
            ("a", "items", "fields", "b", "grammar"),
            "not with what is in a list",
        ),
        ({"a": field("object", fields={})}, ("a", "fields"), "asks for nothing"),
    ],
)  # fmt: skip
def test_a_contract_that_cannot_be_is_refused_with_its_place(fields, place, fault):
    ((found, sentence),) = contract_faults(fields, EVIDENCE, ())
    assert found == place
    assert fault in sentence


def test_a_contract_with_everything_is_fine():
    contract = {
        "title": field("string", maxLength=80, **GRAMMAR),
        "tags": field("list", items={"type": "enum", "options": ["a"]}, minItems=0, maxItems=0),
        "claim": field("object", fields={"title": TITLE}, nullable=True),
        "any": field("list"),
    }
    assert list(contract_faults(contract, EVIDENCE, ())) == []


CONTRACT = {
    "name": field("string"),
    "list": field("list", items={"type": "integer"}),
    "any": field("list"),
    "claim": field("object", fields={"class": {"type": "string"}}),
    "open": field("object"),
}


@pytest.mark.parametrize(
    ("steps", "type_"),
    [(["name"], "string"), (["list", "0"], "integer"), (["claim", "class"], "string")],
)
def test_steps_lead_to_a_field(steps, type_):
    assert field_at(CONTRACT, steps).type == type_


@pytest.mark.parametrize("steps", [["any", "3"], ["open", "x"], ["open", "x", "0", "y"]])
def test_steps_may_lead_where_the_contract_says_nothing(steps):
    assert field_at(CONTRACT, steps) is OPEN


@pytest.mark.parametrize(
    "steps", [[], ["nam"], ["name", "0"], ["list", "x"], ["list", "-1"], ["claim", "no"],
              ["list", "0", "0"], ["claim", "no", "more"]]
)  # fmt: skip
def test_steps_may_lead_nowhere(steps):
    assert field_at(CONTRACT, steps) is None
