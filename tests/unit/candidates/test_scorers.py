import dataclasses
import doctest
import json
import math
from collections import OrderedDict, UserDict, deque
from datetime import date
from types import MappingProxyType, SimpleNamespace

import pytest

from candidate_support import candidates, compare, items
from proctor import (
    AttributeEqualityScorer,
    ContainsScorer,
    EvalInputError,
    JsonSchemaScorer,
    RegexScorer,
    ScorerResult,
    ScorerTarget,
    deterministic_scorer,
    evaluate_deterministic_scorer,
)
from proctor.candidates import aborting, evaluating, outputs, scorers
from proctor.candidates.schema_subset import compile_subset

PASSED = ScorerResult(1.0, True)


def failed(reason, **more):
    return ScorerResult(0.0, False, {"reason": reason, **more})


def result(definition, output):
    return evaluate_deterministic_scorer(definition, ScorerTarget("input", output))


def contains(value, path="", **more):
    return {"type": "contains", "path": path, "value": value, **more}


def regex(pattern, path="", **more):
    return {"type": "regex", "path": path, "pattern": pattern, **more}


def equality(left_path, right_path):
    return {"type": "attribute-equality", "leftPath": left_path, "rightPath": right_path}


def refused(definition):
    with pytest.raises(EvalInputError) as caught:
        deterministic_scorer(definition)
    with pytest.raises(EvalInputError) as again:
        result(definition, "output")
    assert (again.value.message, again.value.code) == (caught.value.message, "P6005")
    return caught.value


@pytest.mark.parametrize(
    ("definition", "output", "expected"),
    [
        (contains("ell"), "hello", PASSED),
        (contains("ELL"), "hello", failed("not_found")),
        (contains("ELL", caseInsensitive=True), "hello", PASSED),
        (contains("ELL", case_insensitive=True), "hello", PASSED),
        (contains("STRASSE", caseInsensitive=True), "straße", PASSED),
        (contains("ell", caseInsensitive=False), "HELLO", failed("not_found")),
        (contains("a.c"), "abc", failed("not_found")),
        (contains("a", "/b"), {"b": "cab"}, PASSED),
        (regex("l+o$"), "hello", PASSED),
        (regex("^ello"), "hello", failed("no_match")),
        (regex("ELL", flags=""), "hello", failed("no_match")),
        (regex("ELL", flags="i"), "hello", PASSED),
        (regex("^b$", flags=""), "a\nb", failed("no_match")),
        (regex("^b$", flags="m"), "a\nb", PASSED),
        (regex("^B$", flags="m"), "a\nb", failed("no_match")),
        (regex("^B$", flags="im"), "a\nb", PASSED),
    ],
)
def test_text_is_looked_for_as_the_definition_says(definition, output, expected):
    assert result(definition, output) == expected


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        (2.0, "2"),
        (-7, "-7"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_what_is_no_string_is_spelled_as_json(output, text):
    assert result(contains(text), output) == PASSED
    assert result(regex(f"^{text}$"), output) == PASSED


@pytest.mark.parametrize(
    "output",
    [
        *({}, {"a": "x"}, MappingProxyType({"a": "x"}), [], ["x"], ("x",), deque("x")),
        *(b"x", bytearray(b"x"), math.nan, math.inf, {"x"}, object, date(2020, 1, 1)),
    ],
)
@pytest.mark.parametrize("definition", [contains("x"), regex("x"), contains("N")])
def test_objects_lists_and_what_is_no_json_are_no_text(definition, output):
    assert result(definition, output) == failed("not_text")


PAGE = {
    "items": [{"title": "first"}, {"title": "second"}],
    "a/b": {"~key": "decoded", "": "empty"},
    "": "nameless",
    "null": None,
    "01": "digits",
    "text": "text",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/items/0/title", "first"),
        ("/items/1/title", "second"),
        ("/a~1b/~0key", "decoded"),
        ("/a~1b/", "empty"),
        ("/", "nameless"),
        ("/01", "digits"),
    ],
)
def test_a_pointer_leads_to_a_value(path, found):
    assert result(regex(f"^{found}$", path), PAGE) == PASSED


@pytest.mark.parametrize(
    "path",
    [
        *("/none", "/items/2", "/items/-", "/items/01", "/items/+1", "/items/-1", "/items/1.0"),
        *("/items/0/title/0", "/items/title", "/text/0", "/null/0", "/items/0/", "//"),
        *("items/0/title", "items", "$.items", "#/items", " /items", "/items~2", "/a~1b/~key"),
        "/items/99999999999999999999999999",
    ],
)
@pytest.mark.parametrize("kind", [contains, regex])
def test_a_pointer_that_leads_nowhere_fails_and_is_shown_as_given(kind, path):
    assert result(kind("first", path), PAGE) == failed("missing_pointer", path=path)


def test_the_empty_pointer_is_the_whole_output_and_null_is_found():
    assert result(contains("null", "/null"), PAGE) == PASSED
    assert result(contains("null"), None) == PASSED
    assert result(contains("text"), PAGE) == failed("not_text")


@pytest.mark.parametrize(
    "output",
    [
        {"a": ["x"]},
        OrderedDict(a=("x",)),
        UserDict(a=deque(["x"])),
        MappingProxyType({"a": MappingProxyType({"0": "x"})}),
    ],
)
def test_any_mapping_and_any_sequence_is_descended_into(output):
    assert result(contains("x", "/a/0"), output) == PASSED
    assert result(equality("/a/0", "/a/0"), output) == PASSED


@pytest.mark.parametrize(
    ("output", "path"),
    [
        (SimpleNamespace(a="x"), "/a"),
        (PASSED, "/score"),
        ("xyz", "/0"),
        (b"xyz", "/0"),
        (bytearray(b"xyz"), "/0"),
        (memoryview(b"xyz"), "/0"),
        ({"x"}, "/0"),
        ({0: "x"}, "/0"),
    ],
)
def test_attributes_text_and_bytes_are_not(output, path):
    assert result(contains("x", path), output) == failed("missing_pointer", path=path)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (None, None),
        ("é", "é"),
        ({"a": 1, "b": [True, {"c": None}]}, {"b": [True, {"c": None}], "a": 1.0}),
        ((1, 2), [1, 2]),
        ({"a": ()}, MappingProxyType({"a": []})),
        (10**30, 10**30),
    ],
)
def test_equality_ignores_the_order_of_keys_and_how_a_number_is_spelled(left, right):
    assert result(equality("/l", "/r"), {"l": left, "r": right}) == PASSED
    assert result(equality("/r", "/l"), {"l": left, "r": right}) == PASSED


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0),
        (1, "1"),
        (None, 0),
        (None, False),
        ("é", "e\u0301"),
        ([1, 2], [2, 1]),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": None}),
        ({"a": [True]}, {"a": [1]}),
        ((True,), (1,)),
        ({}, []),
        (2**53 + 1, float(2**53)),
    ],
)
def test_equality_knows_types_and_shows_both_sides(left, right):
    got = result(equality("/l", "/r"), {"l": left, "r": right})
    as_json = json.loads(json.dumps({"left": left, "right": right}))
    assert got == ScorerResult(0.0, False, as_json)


@pytest.mark.parametrize("value", [math.nan, [math.nan], {"a": [math.nan]}])
def test_not_a_number_equals_nothing_and_is_no_evidence(value):
    omitted = {"kind": "omitted", "reason": "not_json"}
    assert result(equality("", ""), value) == ScorerResult(0.0, False, omitted)


def test_what_is_no_json_can_be_compared_but_is_no_evidence():
    today = date(2020, 1, 1)
    assert result(equality("/a", "/b"), {"a": today, "b": today}) == PASSED
    got = result(equality("/a", "/b"), {"a": today, "b": "2020-01-01"})
    assert got.evidence == {"kind": "omitted", "reason": "not_json"}


@pytest.mark.parametrize(
    ("output", "path"),
    [({"r": 1}, "/l"), ({"l": 1}, "/r"), ({}, "/l"), ({"l": None, "right": None}, "/r")],
)
def test_equality_names_the_first_pointer_that_is_missing(output, path):
    assert result(equality("/l", "/r"), output) == failed("missing_pointer", path=path)


@pytest.mark.parametrize("letter", ["x", "é"])
def test_evidence_of_equality_is_at_most_4096_bytes_of_json(letter):
    size = len(letter.encode())
    around = len('{"left":"","right":""}')
    most = (4_096 - around) // size
    fits = {"l": letter * most, "r": ""}
    evidence = {"left": letter * most, "right": ""}
    assert result(equality("/l", "/r"), fits) == ScorerResult(0.0, False, evidence)
    assert result(equality("/l", "/r"), fits | {"r": "x" * size}) == ScorerResult(
        0.0,
        False,
        {
            "kind": "omitted",
            "reason": "size_limit",
            "original_bytes": around + most * size + size,
        },
    )


def test_evidence_is_not_part_of_the_output():
    output = {"l": [1], "r": [2]}
    got = result(equality("/l", "/r"), output)
    output["l"].append(3)
    assert got.evidence == {"left": [1], "right": [2]}


def test_a_failed_search_does_not_quote_the_output():
    for definition in (contains("x"), regex("x")):
        assert "CANARY" not in repr(result(definition, "CANARY"))


def test_a_search_that_takes_too_long_fails(monkeypatch):
    assert scorers.REGEX_TIMEOUT_S == 1.0
    monkeypatch.setattr(scorers, "REGEX_TIMEOUT_S", 0.02)
    slow = regex("^(a|aa)+$", "/text")
    assert result(slow, {"text": "a" * 100 + "!"}) == failed("timed_out")
    assert result(slow, {"text": "aaa"}) == PASSED


@pytest.mark.parametrize(
    ("definition", "field", "says"),
    [
        ("contains", "definition", "not a `str`"),
        (None, "definition", "not a `NoneType`"),
        ({}, "type", "one of `contains`, `regex`, `attribute-equality`, `json-schema`"),
        ({"type": "equals"}, "type", "one of `contains`"),
        ({"type": ["contains"]}, "type", "one of `contains`"),
        ({"type": "attributeEquality"}, "type", "one of `contains`"),
        ({"type": "contains", "path": ""}, "value", "`contains` needs `value`"),
        ({"type": "contains", "value": "x"}, "path", "`contains` needs `path`"),
        ({"type": "regex", "path": ""}, "pattern", "`regex` needs `pattern`"),
        ({"type": "attribute-equality", "leftPath": ""}, "right_path", "needs `rightPath`"),
        ({"type": "json-schema"}, "schema", "`json-schema` needs `schema`"),
        (contains("x", pattern="x"), "pattern", "`contains` has no field `pattern`"),
        (contains("x", _judge=print), "_judge", "has no field `_judge`"),
        ({**contains("x"), 7: 7}, "7", "has no field `7`"),
        (
            contains("x", caseInsensitive=True, case_insensitive=True),
            "case_insensitive",
            "given in both spellings",
        ),
        (contains(7), "value", "a string, not a `int`"),
        (contains("x", 7), "path", "a string, not a `int`"),
        (contains("x", None), "path", "a string, not a `NoneType`"),
        (contains(""), "value", "`value` is empty"),
        (contains("x", caseInsensitive=1), "case_insensitive", "a boolean, not a `int`"),
        (regex("("), "pattern", "not a regular expression"),
        (regex(b"x"), "pattern", "a string, not a `bytes`"),
        (regex(""), "pattern", "the pattern is empty"),
        (regex("x*"), "pattern", "matches an empty text"),
        (regex("x" * 5_000), "pattern", "the limit is 4,096"),
        (regex("(" * 101 + "x" + ")" * 101), "pattern", "nested deeper than 100"),
        (regex("x", flags="s"), "flags", "`i`, `m`, `im` or empty"),
        (regex("x", flags="mi"), "flags", "`i`, `m`, `im` or empty"),
        (regex("x", flags="ii"), "flags", "`i`, `m`, `im` or empty"),
        (regex("x", flags=None), "flags", "`i`, `m`, `im` or empty"),
        (equality("", 0), "right_path", "a string, not a `int`"),
        ({"type": "json-schema", "schema": {}, "strict": "yes"}, "strict", "a boolean"),
        ({"type": "json-schema", "schema": {"const": math.nan, "enum": 7}}, "schema", "`enum`"),
    ],
)
def test_a_definition_that_cannot_be_used_is_refused(definition, field, says):
    problem = refused(definition)
    assert problem.field == field
    assert says in problem.message


@pytest.mark.parametrize(
    "make",
    [
        lambda: ContainsScorer("", ""),
        lambda: RegexScorer("", "("),
        lambda: RegexScorer("", "x", "x"),
        lambda: AttributeEqualityScorer("", 0),
        lambda: JsonSchemaScorer({"type": ["string", "null"]}),
    ],
)
def test_a_class_is_validated_when_it_is_made(make):
    with pytest.raises(EvalInputError):
        make()


SAME = [
    (contains("X", "/a", caseInsensitive=True), ContainsScorer("/a", "X", case_insensitive=True)),
    (regex("X", "/a", flags="i"), RegexScorer("/a", "X", "i")),
    (equality("/a", "/b"), AttributeEqualityScorer("/a", "/b")),
    ({"type": "json-schema", "schema": {"type": "object"}}, JsonSchemaScorer({"type": "object"})),
]


@pytest.mark.parametrize(("definition", "scorer"), SAME)
def test_a_mapping_and_a_class_are_the_same_definition(definition, scorer):
    assert deterministic_scorer(definition) == scorer
    assert deterministic_scorer(MappingProxyType(definition)) == scorer
    assert deterministic_scorer(scorer) is scorer
    output = {"a": "x", "b": "x"}
    target = ScorerTarget("input", output)
    for one in (definition, MappingProxyType(definition), scorer):
        assert evaluate_deterministic_scorer(one, target) == scorer(target) == PASSED


@pytest.mark.parametrize(("definition", "scorer"), SAME)
def test_a_class_is_frozen_and_can_be_replaced(definition, scorer):
    (first, *_) = (one.name for one in dataclasses.fields(scorer) if one.init)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(scorer, first, "/other")
    assert dataclasses.replace(scorer) == scorer
    assert "_judge" not in repr(scorer)


def test_a_replaced_definition_is_compiled_anew():
    scorer = dataclasses.replace(ContainsScorer("", "x"), value="y")
    assert scorer(ScorerTarget("input", "y")) == PASSED
    assert scorer(ScorerTarget("input", "x")) == failed("not_found")


def test_a_definition_that_changes_is_seen_to_have_changed():
    schema = {"type": "string"}
    definition = {"type": "json-schema", "schema": schema}
    assert result(definition, "x") == PASSED
    schema["type"] = "null"
    assert not result(definition, "x").passed


def test_a_mapping_is_compiled_once(monkeypatch):
    monkeypatch.setattr(scorers, "_known", {})
    compiled = []

    def counted(schema, *, strict):
        compiled.append(schema)
        return compile_subset(schema, strict=strict)

    monkeypatch.setattr(scorers, "compile_subset", counted)
    for number in range(3):
        assert result({"type": "json-schema", "schema": {"const": 1}}, number).passed is (
            number == 1
        )
    assert compiled == [{"const": 1}]


def test_what_is_remembered_of_mappings_has_a_limit(monkeypatch):
    monkeypatch.setattr(scorers, "_known", {})
    for number in range(1_000):
        assert result(contains(str(number)), f"<{number}>") == PASSED
    assert len(scorers._known) <= 256


def test_a_scorer_can_be_given_to_a_comparison_as_it_is():
    for _, scorer in SAME:
        scores = compare(
            candidates=candidates("good", "bad"),
            items=items("1"),
            run_candidate=lambda candidate: {"a": "x", "b": "x"} if candidate.id == "good" else [],
            scorer=scorer,
        )
        assert [(one.candidate_id, one.mean_score) for one in scores] == [("good", 1), ("bad", 0)]


def test_results_do_not_share_evidence():
    definition = contains("x")
    first = result(definition, "y")
    first.evidence["reason"] = "changed"
    assert result(definition, "y") == failed("not_found")


@pytest.mark.parametrize("module", [aborting, evaluating, outputs, scorers])
def test_examples_hold(module):
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed
