import json

from hypothesis import assume, given
from hypothesis import strategies as st

from proctor.loading.json_lines import parse_json_document
from proctor.strict_json import JsonFault, JsonProblem, parse_json

texts = st.text(st.characters() | st.sampled_from('\ud800\udfff\0"\\\u2028'), max_size=6)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
spaces = st.text(" \t\r\n", max_size=3)
almost = st.lists(
    st.sampled_from([*'{}[],:"\\', "null", "true", "NaN", "Infinity", "-", "1", "1.5e3", "1e400"])
    | st.sampled_from(['"a"', '"b"', "\\u0061", "\\ud800", " ", "\n", "\0", "\ufeff", "é", "//"])
    | texts,
    max_size=12,
).map("".join)


def written(value, draw):
    """JSON of a value, with white space wherever it may be, one piece at a time."""
    yield draw(spaces)
    if isinstance(value, dict):
        yield "{"
        for position, (key, member) in enumerate(value.items()):
            yield "," if position else ""
            yield draw(spaces)
            yield json.dumps(key, ensure_ascii=draw(st.booleans()) or not_utf8(key))
            yield draw(spaces)
            yield ":"
            yield from written(member, draw)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for position, member in enumerate(value):
            yield "," if position else ""
            yield from written(member, draw)
        yield "]"
    else:
        yield json.dumps(value, ensure_ascii=draw(st.booleans()) or not_utf8(value))
    yield draw(spaces)


def read(parse, *arguments, **options):
    """The value, or the problem."""
    try:
        return parse(*arguments, **options)
    except JsonProblem as problem:
        return problem


def not_utf8(value):
    return isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value)


def depth_of(value):
    members = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(depth_of, members), default=0)


@given(values, st.data())
def test_a_value_is_read_back_exactly(value, data):
    text = "".join(written(value, data.draw))
    assert repr(parse_json(text)) == repr(value)
    assert repr(parse_json(text.encode())) == repr(value)


@given(values, st.data())
def test_the_line_of_each_part_is_where_it_was_written(value, data):
    lines = {}
    text = ""

    def write(part, path):
        nonlocal text
        text += data.draw(spaces)
        lines.setdefault(path, text.count("\n") + 1)
        if isinstance(part, dict):
            text += "{"
            for position, (key, member) in enumerate(part.items()):
                text += ("," if position else "") + data.draw(spaces)
                lines[(*path, key)] = text.count("\n") + 1
                text += json.dumps(key) + data.draw(spaces) + ":"
                write(member, (*path, key))
            text += "}"
        elif isinstance(part, list):
            text += "["
            for position, member in enumerate(part):
                text += "," if position else ""
                write(member, (*path, position))
            text += "]"
        else:
            text += json.dumps(part)
        text += data.draw(spaces)

    write(value, ())
    document = parse_json_document(text.encode(), "f.json")
    assert repr(document.value) == repr(value)
    assert document.lines == lines


@given(almost | st.text(st.characters(), max_size=20))
def test_any_text_is_read_or_refused_with_a_reason(text):
    found = read(parse_json, text)
    if isinstance(found, JsonProblem):
        assert found.fault in JsonFault
        assert found.line is None or 1 <= found.line <= text.count("\n") + 1
    else:
        assert repr(json.loads(text)) == repr(found)


@given(almost)
def test_a_file_is_refused_for_the_same_reason_as_its_text_and_always_with_a_line(text):
    # Bytes have an encoding, which a mark or a zero at the beginning speaks of.
    assume(not not_utf8(text) and not text.startswith("\ufeff") and "\0" not in text[:4])
    found, expected = read(parse_json_document, text.encode(), "f.json"), read(parse_json, text)
    if isinstance(expected, JsonProblem):
        assert (found.fault, found.detail) == (expected.fault, expected.detail)
        assert 1 <= found.line <= text.count("\n") + 1
    else:
        assert repr(found.value) == repr(expected)


@given(st.binary(max_size=12))
def test_any_bytes_are_read_or_refused_with_a_reason(data):
    found = read(parse_json, data)
    if not isinstance(found, JsonProblem):
        assert repr(json.loads(data.decode("utf-8"))) == repr(found)


@given(st.dictionaries(texts, scalars, min_size=1, max_size=4), st.data())
def test_a_key_repeated_anywhere_is_refused(members, data):
    pairs = [f"{json.dumps(key)}:{json.dumps(member)}" for key, member in members.items()]
    again = data.draw(st.sampled_from(sorted(members)))
    pairs.insert(data.draw(st.integers(0, len(pairs))), f"{json.dumps(again)}:0")
    text = "{" + ",".join(pairs) + "}"
    for _ in range(data.draw(st.integers(0, 5))):
        text = f"[0,{text}]" if data.draw(st.booleans()) else f'{{"outer":{text}}}'
    found = read(parse_json, text)
    assert found.fault is JsonFault.DUPLICATE_KEY
    assert found.detail == f"has the key `{again}` twice"


@given(values, st.integers(0, 5))
def test_a_value_is_refused_exactly_when_it_is_nested_deeper_than_asked(value, limit):
    found = read(parse_json, json.dumps(value), max_depth=limit)
    if depth_of(value) > limit:
        assert found.fault is JsonFault.TOO_DEEP
    else:
        assert repr(found) == repr(value)
