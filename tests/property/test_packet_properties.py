"""What holds for every contract, every response and every text of a packet."""

import json

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from packet_support import SUITE
from proctor.errors import ProctorError
from proctor.packets.contract import blank_response, contract_faults, result_faults, value_faults
from proctor.packets.extract import extract_response
from proctor.packets.formats import Packet, ResponseField
from proctor.packets.kinds import words_from
from proctor.packets.pages import render_page
from proctor.packets.reading import binding_of, parse_response, parse_strictly
from proctor.strict_json import typed

names = st.sampled_from(["a", "b", "c"])
words = st.sampled_from(["x", "y", "xy", ""])
scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]) | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
plain = st.fixed_dictionaries(
    {"type": st.sampled_from(["number", "integer", "boolean"])},
    optional={"nullable": st.booleans()},
)
texts = st.fixed_dictionaries(
    {"type": st.just("string")}, optional={"nullable": st.booleans(), "maxLength": st.just(1)}
)
enums = st.fixed_dictionaries(
    {"type": st.just("enum"), "options": st.lists(words, min_size=1, unique=True)},
    optional={"nullable": st.booleans()},
)


def containers(inner):
    lists = st.fixed_dictionaries(
        {"type": st.just("list")},
        optional={"items": inner, "minItems": st.integers(0, 1), "maxItems": st.integers(1, 2)},
    )
    objects = st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "fields": st.dictionaries(names, inner, min_size=1, max_size=2),
            "nullable": st.booleans(),
        },
    )
    return lists | objects


fields = st.recursive(plain | texts | enums, containers, max_leaves=6)
contracts = st.dictionaries(names, fields, min_size=1, max_size=3)


def as_schema(field):
    """The same contract in another language, read by somebody else's program."""
    kind = field["type"]
    schema = {"type": {"list": "array", "enum": "string"}.get(kind, kind)}
    if kind == "enum":
        schema["enum"] = field["options"]
    for key in ("maxLength", "minItems", "maxItems"):
        if key in field:
            schema[key] = field[key]
    if "items" in field:
        schema["items"] = as_schema(field["items"])
    if "fields" in field:
        inner = field["fields"]
        schema |= {
            "properties": {name: as_schema(one) for name, one in inner.items()},
            "required": list(inner),
            "additionalProperties": False,
        }
    return {"anyOf": [schema, {"type": "null"}]} if field.get("nullable") else schema


def read(contract):
    return {name: typed(field, ResponseField) for name, field in contract.items()}


@given(fields, values)
def test_a_value_fits_when_it_is_valid_by_json_schema(field, value):
    is_valid = jsonschema_rs.validator_for(as_schema(field)).is_valid(value)
    assert (next(value_faults(typed(field, ResponseField), value, ""), None) is None) is is_valid


@given(contracts)
def test_no_part_of_a_blank_response_is_valid(contract):
    found = read(contract)
    assert list(contract_faults(found, {}, ())) == []
    blank = blank_response({"case": found}).results["case"]
    assert len(list(result_faults(found, blank, ""))) == len(contract)


CONTRACT = {case["id"]: case["response"] for case in SUITE["cases"]}
DIGEST = "0" * 64
EMPTY = {
    "schema": "proctor.packet.v1",
    "suite": {"id": "quiz", "title": "t"},
    "sources": [],
    "cases": [{"id": name, "task": "t", "evidence": {}} for name in CONTRACT],
    "response_contract": CONTRACT,
    "response_template": {"schema": "s", "binding_sha256": None, "results": {}},
    "expectations_sha256": DIGEST,
    "binding_sha256": DIGEST,
}
keys = st.sampled_from(["schema", "binding_sha256", "results", "responder", "hours", "phone", "x"])
responses = st.recursive(
    values | st.sampled_from(["proctor.packet-response.v1", DIGEST]),
    lambda inner: st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def codes(call, *arguments):
    """The codes of what is wrong; none when nothing is."""
    try:
        call(*arguments)
    except ProctorError as error:
        return {problem.code for problem in error.problems()}
    return set()


@given(responses)
def test_no_response_makes_the_reader_fail(response):
    assert codes(parse_response, response, typed(EMPTY, Packet), "r.json") <= {"P6806"}


@given(st.binary() | st.text().map(str.encode))
def test_no_bytes_make_the_readers_fail(data):
    assert codes(parse_strictly, data, "f") <= {"P6801"}
    assert codes(extract_response, data, "f") <= {"P6801"}


@given(st.dictionaries(st.text(max_size=3), values, max_size=4), st.randoms())
def test_the_order_of_members_does_not_change_a_binding(packet, random):
    members = list(packet.items())
    random.shuffle(members)
    assert binding_of(dict(members)) == binding_of({**packet, "binding_sha256": "anything"})


hostile = st.text(st.sampled_from("`~ \n\t#>-=<!ajson{}:\r\x1b\u202e|[]()"), max_size=60)


@given(hostile)
def test_no_text_leaves_its_fence(text):
    cases = [{"id": "hours", "task": "t", "evidence": {"page": text}}, EMPTY["cases"][1]]
    value = {**EMPTY, "cases": cases}
    page = render_page(typed(value, Packet), value)
    tokens = MarkdownIt("commonmark").parse(page)
    headings = [one.map[0] for one in tokens if one.type == "heading_open"]
    assert len(headings) == 1 + len(cases) + 1
    assert {one.info for one in tokens if one.type == "fence"} == {"text"}
    answer = json.dumps({"a": text})
    chat = f"{page}\n```json\n{answer}\n```\n".encode()
    assert extract_response(chat, "chat") == f"{answer}\n"


letters = st.text(st.sampled_from("abAB \u00e9-1"), max_size=12)


@given(letters, letters)
def test_a_title_that_passes_is_made_of_words_of_the_text(title, text):
    if words_from(text)(title) is None:
        known = text.lower().replace("-", " ").split(" ")
        assert 1 <= len(title.split(" ")) <= 8
        assert all(word in known for word in title.lower().split(" "))


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8))
def test_words_of_a_text_are_a_title(words):
    assert words_from(", ".join(words).upper())(" ".join(words)) is None
