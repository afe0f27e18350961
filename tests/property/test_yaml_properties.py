import json
import math

import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from proctor.loading.yaml import YamlProblem, parse_yaml

RAW = st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029\ufffe\uffff")
texts = st.text(RAW | st.sampled_from("\n\n  :#-'\"\\{}[]&*!|>%@`~,?\u2028\x85\0\x7f"), max_size=10)
integers = st.integers(-(10**30), 10**30)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | integers | floats | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
notes = st.sampled_from(["", "", "", "\n", "# a note: [\n", "\n  # - x\n\n"])


def parse(text):
    return parse_yaml(text.encode(), "f.yaml")


def read(text):
    """The document, or the problem."""
    try:
        return parse(text)
    except YamlProblem as problem:
        return problem


def in_double_quotes(text):
    def escaped(character):
        code = ord(character)
        if character in '"\\':
            return f"\\{character}"
        printable = code >= 0xA0 or 0x20 <= code < 0x7F
        if printable and code not in {0x2028, 0x2029, 0xFFFE, 0xFFFF}:
            return character
        return f"\\u{code:04x}"

    return '"' + "".join(map(escaped, text)) + '"'


def in_single_quotes(text):
    return "'" + text.replace("'", "''") + "'"


def can_stand_in_lines(text):
    """Whether a block holds this text: it has an end, and nothing that must be escaped."""
    return bool(text.strip(" \n")) and in_double_quotes(text.replace("\n", "")).count("\\") == (
        text.count("\\") * 2 + text.count('"')
    )


class Writer:
    """Writes a value in block style and notes the line of each part."""

    def __init__(self, draw):
        self.draw = draw
        self.text = ""
        self.lines = {}

    def document(self, value):
        self.text += self.draw(notes)
        self.part(value, (), 0, "---")
        return self.text

    def here(self):
        return self.text.count("\n") + 1

    def part(self, value, path, indent, before):
        """One value, after the words that stand before it in its line."""
        self.text += " " * indent + before
        if isinstance(value, (dict, list)) and value:
            self.text += "\n"
            for position, member in enumerate(value):
                self.text += self.draw(notes)
                self.lines.setdefault(path, self.here())
                if isinstance(value, list):
                    self.part(member, (*path, position), indent + 2, "-")
                else:
                    self.lines[(*path, member)] = self.here()
                    key = f"{in_double_quotes(member)}:"
                    self.part(value[member], (*path, member), indent + 2, key)
        else:
            self.lines.setdefault(path, self.here())
            self.text += f" {self.scalar(value, indent)}\n"

    def scalar(self, value, indent):
        if not isinstance(value, str):
            return json.dumps(value)
        styles = ["double"]
        if in_double_quotes(value) == f'"{value}"' and value == value.strip():
            styles.append("single")
        if can_stand_in_lines(value):
            styles.append("block")
        match self.draw(st.sampled_from(styles)):
            case "double":
                return in_double_quotes(value)
            case "single":
                return in_single_quotes(value)
        lines = value.removesuffix("\n").split("\n")
        chomp = "+" if value.endswith("\n") else "-"
        inside = "\n".join(" " * (indent + 2) + line for line in lines)
        return f"|2{chomp}\n{inside}"


@given(values, st.data())
def test_a_value_written_in_any_style_is_read_back_with_its_lines(value, data):
    writer = Writer(data.draw)
    document = parse(writer.document(value))
    assert repr(document.value) == repr(value)
    assert document.lines == writer.lines


@given(values)
def test_json_is_read_as_the_same_value(value):
    text = json.dumps(value, ensure_ascii=False)
    assume(in_double_quotes(text).count("\\u") == 0)
    assert repr(parse(text).value) == repr(value)


def core(text):
    """What a plain scalar is, by the numbers of Python instead of patterns."""
    words = {"null": None, "true": True, "false": False}
    for word, meaning in words.items():
        if text in (word, word.capitalize(), word.upper()):
            return meaning
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned.isdecimal():
        return int(text)
    for start, base in (("0o", 8), ("0x", 16)):
        if text.startswith(start) and text[2:].isalnum():
            try:
                return int(text[2:], base)
            except ValueError:
                return text
    try:
        return float(text) if set(text) <= set("0123456789+-.eE") else text
    except ValueError:
        return text


@given(
    st.text("0123456789+-.eE", min_size=1, max_size=8)
    | st.text("0123456789abcdefABCDEFoOxX_", min_size=1, max_size=6)
    | st.sampled_from(
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"]
    ).flatmap(lambda word: st.sampled_from([word, word.upper(), word.capitalize(), f"-{word}"]))
)
@example("0x1F")
@example("0o17")
@example("1_000")
@example("2024-01-02")
def test_a_plain_scalar_is_what_the_core_schema_says(text):
    assume(not text.startswith(("---", "...")) and text not in ("-", "?"))
    expected = core(text)
    for found in (read(f"a: {text}"), read(f"- {text}")):
        if isinstance(expected, float) and not math.isfinite(expected):
            assert found.detail == "has a number beyond the range of a float"
        else:
            (value,) = found.value.values() if isinstance(found.value, dict) else found.value
            assert repr(value) == repr(expected)


pieces = st.sampled_from(
    ["a", "b", "a: ", "b: ", "- ", "? ", ": ", "[", "]", "{", "}", ", ", "&x ", "*x", "&y ", "*y ",
     "!t ", "!!str ", "<<: ", "|", ">-", "'", '"', "\\", "#", "# n", "---", "...", "%YAML 1.2", "~",
     "1", "no", "0x1F", ".nan", "1e400", "\n", "\n", "\n  ", "\n    ", " ", "\t", "\r\n", "\0", "é"]
)  # fmt: skip


@given(st.lists(pieces, max_size=14).map("".join) | st.text(RAW, max_size=20))
def test_any_text_is_read_or_refused_with_a_reason_and_a_line(text):
    found = read(text)
    if isinstance(found, YamlProblem):
        assert found.detail
        assert 1 <= found.line <= text.count("\n") + text.count("\r") + 2
        if found.detail.startswith("is not YAML"):
            assert composed(text) is None
    else:
        assert same(found.value, composed(text))


def composed(text):
    """The structure of a text as PyYAML makes it, scalars as text; None if it does not."""
    try:
        return (yaml.load(text, Loader=yaml.CBaseLoader),)
    except yaml.YAMLError:
        return None


def same(value, wrapped):
    (other,) = wrapped
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(
            same(value[key], (other[key],)) for key in value
        )
    if isinstance(value, list):
        return len(value) == len(other) and all(
            same(one, (two,)) for one, two in zip(value, other, strict=True)
        )
    if isinstance(value, str):
        return value == other
    return repr(core(other)) == repr(value) or (value is None and other in ("", "~"))


@given(st.binary(max_size=16))
def test_any_bytes_are_read_or_refused_with_a_reason(data):
    try:
        value = parse_yaml(data, "f.yaml").value
    except YamlProblem as problem:
        reason = problem.detail
    else:
        reason = json.dumps(value)
    assert reason
