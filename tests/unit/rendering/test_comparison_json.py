import json

import msgspec
from two_reports import compared, made

from proctor.records import RenderOptions
from proctor.records.comparison import Comparison
from proctor.rendering.comparison_json import render_comparison_json


def rendered(comparison, **options):
    return b"".join(render_comparison_json(comparison, RenderOptions(**options)))


COMPARISON = compared(
    made({"a": "ppppp", "b": "ppppp"}), made({"a": "fffff", "c": "p"}, salt="now"), detect="0.1"
)


def test_keys_stand_in_schema_order():
    value = json.loads(rendered(COMPARISON))
    assert list(value) == list(Comparison.__struct_fields__)
    assert value["schema"] == "proctor.comparison.v1"
    assert list(value["gates"][0]) == ["kind", "p", "alpha", "red"]
    assert value["subjects"][0]["units"][0]["id"] == "a"


def test_lines_are_indented_by_two_and_end_with_one_newline():
    lines = rendered(COMPARISON).split(b"\n")
    assert lines[:2] == [b"{", b'  "schema": "proctor.comparison.v1",']
    assert lines[-2:] == [b"}", b""]


def test_what_is_written_can_be_read_again():
    assert msgspec.json.decode(rendered(COMPARISON), type=Comparison) == COMPARISON


def test_options_change_nothing():
    assert rendered(COMPARISON, all_cases=True, colour=True) == rendered(COMPARISON)


def test_a_lone_surrogate_survives():
    one = compared(made({"\ud800": "p"}), made({"\ud800": "f"}, salt="now"))
    assert json.loads(rendered(one))["subjects"][0]["regressed"][0]["id"] == "\ud800"
