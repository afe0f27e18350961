import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from proctor.documents import Document, StructReader, fields_of, name_of, spell_path
from proctor.errors import DatasetError, SuiteError
from proctor.loading.yaml import parse_yaml


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


class Leaf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    size: int = 0


class Branch(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    leaf: Leaf | None = None
    leaves: list[Leaf] = []
    some_leaves: Annotated[list[Leaf], Meta(min_length=1, max_length=2)] | None = None
    by_name: dict[str, Leaf] = {}
    branch: "Branch | None" = None


class Tree(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    title: str
    colour: Colour = Colour.RED
    side: Literal["left", "right"] | None = None
    height_m: float = 0.0
    count: Annotated[int, Meta(ge=1, le=10)] = 1
    tags: list[str] = []
    table: dict[str, list[int]] = {}
    short: str | Leaf = ""
    anything: Any = None
    root: Branch = Branch()
    pair: tuple[Leaf, ...] = ()
    schema_: str | None = msgspec.field(default=None, name="$schema")


def read(text, kind=Tree):
    """What a YAML text is read as, and its problems as `line: message`."""
    document = parse_yaml(text.encode(), "f.yaml")
    reader = StructReader(document, error=SuiteError, code="P6201")
    value = reader.read(kind, document.value)
    assert all(problem.code == "P6201" for problem in reader.problems)
    assert all(type(problem) is SuiteError for problem in reader.problems)
    return value, [
        f"{problem.where.removeprefix('f.yaml:')}: {problem.message}" for problem in reader.problems
    ]


def problems(text, kind=Tree):
    value, found = read(text, kind)
    assert value is None
    return found


def hints(text):
    document = parse_yaml(text.encode(), "f.yaml")
    reader = StructReader(document, error=SuiteError, code="P6201")
    reader.read(Tree, document.value)
    return [problem.hint for problem in reader.problems]


class TestPlaces:
    document = Document(
        "a.yaml",
        {"x": [{"y": "text"}]},
        {(): 1, ("x",): 2, ("x", 0): 3, ("x", 0, "y"): 4},
        {("x", 0, "y"): 5},
    )

    @pytest.mark.parametrize(
        ("path", "where"),
        [
            ((), "a.yaml:1"),
            (("x",), "a.yaml:2"),
            (("x", 0, "y"), "a.yaml:4"),
            (("x", 0, "missing"), "a.yaml:3"),
            (("x", 7, "deep", "er"), "a.yaml:2"),
            (("z",), "a.yaml:1"),
        ],
    )
    def test_a_part_without_a_line_takes_that_of_what_holds_it(self, path, where):
        assert self.document.where(path) == where

    def test_a_document_without_lines_names_its_file(self):
        assert Document("a.yaml", {}, {}).where(("x", 1)) == "a.yaml"

    def test_a_line_within_a_block_is_a_line_of_the_file(self):
        assert self.document.where_in_text(("x", 0, "y"), 0) == "a.yaml:5"
        assert self.document.where_in_text(("x", 0, "y"), 3) == "a.yaml:8"

    def test_a_line_within_any_other_string_is_where_the_string_is(self):
        assert self.document.where_in_text(("x", 0), 3) == "a.yaml:3"


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        ((), ""),
        (("a",), "a"),
        (("assertions", 1, "pattern"), "assertions[1].pattern"),
        (("a", "b", 0, 12, "c"), "a.b[0][12].c"),
        ((3, "a"), "[3].a"),
        (("local/model", "x"), "local/model.x"),
    ],
)
def test_a_path_is_spelled_as_people_write_it(path, spelled):
    assert spell_path(path) == spelled


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (0, "a number"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "a list"),
        ({}, "a mapping"),
        (datetime.date(2026, 11, 30), "a date or time"),
        (datetime.time(12, 30), "a date or time"),
    ],
)
def test_a_value_is_named_with_its_article(value, name):
    assert name_of(value) == name


def test_fields_have_the_names_they_have_in_files():
    assert list(fields_of(Branch)) == ["leaf", "leaves", "someLeaves", "byName", "branch"]


class TestReading:
    def test_a_document_becomes_its_struct(self):
        value, found = read(
            "title: oak\n"
            "colour: green\n"
            "side: left\n"
            "heightM: 12\n"
            "count: 2\n"
            "tags: [a, b]\n"
            "table: {x: [1, 2]}\n"
            "short: {name: s}\n"
            "anything: {free: [1, {form: null}]}\n"
            "pair: [{name: p}, {name: q, size: 3}]\n"
            "$schema: .schema/tree.json\n"
            "root:\n"
            "  leaf: {name: l}\n"
            "  leaves: [{name: m}]\n"
            "  someLeaves: [{name: n}]\n"
            "  byName: {first: {name: o}}\n"
            "  branch: {branch: {leaf: null}}\n"
        )
        assert found == []
        assert value == Tree(
            title="oak",
            colour=Colour.GREEN,
            side="left",
            height_m=12.0,
            count=2,
            tags=["a", "b"],
            table={"x": [1, 2]},
            short=Leaf(name="s"),
            anything={"free": [1, {"form": None}]},
            pair=(Leaf(name="p"), Leaf(name="q", size=3)),
            schema_=".schema/tree.json",
            root=Branch(
                leaf=Leaf(name="l"),
                leaves=[Leaf(name="m")],
                some_leaves=[Leaf(name="n")],
                by_name={"first": Leaf(name="o")},
                branch=Branch(branch=Branch()),
            ),
        )
        assert type(value.height_m) is float
        assert type(value.pair) is tuple
        assert type(value.root.leaves) is list

    def test_what_is_not_given_takes_its_default(self):
        assert read("title: oak") == (Tree(title="oak"), [])

    def test_a_word_of_a_union_can_stand_instead_of_a_mapping(self):
        assert read("{title: t, short: word}")[0].short == "word"

    def test_null_is_taken_where_it_is_allowed(self):
        value, found = read("{title: t, side: null, anything: ~, root: {leaf: null}}")
        assert found == []
        assert (value.side, value.anything, value.root.leaf) == (None, None, None)


class TestWrongShapes:
    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("[]", "a list"),
            ("word", "a string"),
            ("1", "a number"),
            ("~", "null"),
            ("no", "a string"),
        ],
    )
    def test_a_file_that_is_no_mapping_is_said_to_be_what_it_is(self, text, what):
        assert problems(text) == [f"1: the file must be a mapping, not {what}"]

    @pytest.mark.parametrize("value", ["word", "1", "[]", "true"])
    @pytest.mark.parametrize(
        ("text", "path"),
        [
            ("{{title: t, root: {}}}", "root"),
            ("{{title: t, root: {{leaf: {}}}}}", "root.leaf"),
            ("{{title: t, root: {{branch: {{branch: {}}}}}}}", "root.branch.branch"),
            ("{{title: t, root: {{leaves: [{{name: a}}, {}]}}}}", "root.leaves[1]"),
            ("{{title: t, root: {{byName: {{one: {}}}}}}}", "root.byName.one"),
            ("{{title: t, pair: [{}]}}", "pair[0]"),
        ],
    )
    def test_a_part_that_must_be_a_mapping_is_named_by_its_path(self, text, path, value):
        what = {"word": "a string", "1": "a number", "[]": "a list", "true": "a boolean"}[value]
        assert problems(text.format(value)) == [f"1: `{path}` must be a mapping, not {what}"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("title: 1", "`title`: expected `str`, got `int`"),
            ("title: 1.5", "`title`: expected `str`, got `float`"),
            ("title: true", "`title`: expected `str`, got `bool`"),
            ("title: ~", "`title`: expected `str`, got `null`"),
            ("title:", "`title`: expected `str`, got `null`"),
            ("title: [a]", "`title`: expected `str`, got `array`"),
            ("title: {a: b}", "`title`: expected `str`, got `object`"),
            ("{title: t, count: '1'}", "`count`: expected `int`, got `str`"),
            ("{title: t, count: 1.0}", "`count`: expected `int`, got `float`"),
            ("{title: t, count: true}", "`count`: expected `int`, got `bool`"),
            ("{title: t, count: 0}", "`count`: expected `int` >= 1"),
            ("{title: t, count: 11}", "`count`: expected `int` <= 10"),
            ("{title: t, heightM: '1'}", "`heightM`: expected `float`, got `str`"),
            ("{title: t, heightM: false}", "`heightM`: expected `float`, got `bool`"),
            ("{title: t, tags: a}", "`tags`: expected `array`, got `str`"),
            ("{title: t, tags: [a, 1]}", "`tags[1]`: expected `str`, got `int`"),
            ("{title: t, tags: [~]}", "`tags[0]`: expected `str`, got `null`"),
            ("{title: t, tags: ~}", "`tags`: expected `array`, got `null`"),
            ("{title: t, table: []}", "`table`: expected `object`, got `array`"),
            ("{title: t, table: {x: [a]}}", "`table`: expected `int`, got `str`"),
            ("{title: t, root: ~}", "`root` must be a mapping, not null"),
            ("{title: t, short: 1}", "`short`: expected `str`, got `int`"),
            ("{title: t, short: ~}", "`short`: expected `str`, got `null`"),
            ("{title: t, pair: {a: b}}", "`pair`: expected `array`, got `object`"),
            ("{title: t, root: {byName: []}}", "`root.byName`: expected `object`, got `array`"),
            ("{title: t, root: {leaves: {}}}", "`root.leaves`: expected `array`, got `object`"),
            (
                "{title: t, root: {someLeaves: []}}",
                "`root.someLeaves`: expected `array` of length >= 1",
            ),
        ],
    )
    def test_a_value_of_the_wrong_type_is_named_by_its_path(self, text, message):
        assert problems(text) == [f"1: {message}"]

    def test_a_list_of_mappings_has_its_length_and_each_of_its_members_checked(self):
        assert problems(
            "title: t\nroot:\n  someLeaves:\n    - {name: 1}\n    - {nmae: b}\n    - {name: c}\n"
        ) == [
            "3: `root.someLeaves`: expected `array` of length <= 2",
            "4: `root.someLeaves[0].name`: expected `str`, got `int`",
            "5: unknown key `nmae` in `root.someLeaves[1]`",
            "5: the key `name` is missing in `root.someLeaves[1]`",
        ]

    def test_a_date_of_toml_is_not_taken_for_text(self):
        document = Document("f.toml", {"title": datetime.date(2026, 11, 30), "root": 5}, {})
        reader = StructReader(document, error=SuiteError, code="P6201")
        assert reader.read(Tree, document.value) is None
        assert [problem.message for problem in reader.problems] == [
            "`title`: expected `str`, got `date`",
            "`root` must be a mapping, not a number",
        ]


class TestUnknownKeys:
    def test_a_misspelled_key_is_answered_with_the_right_one(self):
        text = "{title: t, color: red, root: {leavs: []}}"
        assert problems(text) == [
            "1: unknown key `color`",
            "1: unknown key `leavs` in `root`",
        ]
        assert hints(text) == ["did you mean `colour`?", "did you mean `leaves`?"]

    def test_a_key_like_no_other_is_answered_with_all_of_them(self):
        assert hints("{title: t, root: {zzz: 1}}") == [
            "known keys: branch, byName, leaf, leaves, someLeaves"
        ]

    def test_a_key_that_belongs_at_the_top_is_sent_there(self):
        text = "title: t\nroot:\n  leaf:\n    name: n\n    colour: red\n"
        assert problems(text) == ["5: unknown key `colour` in `root.leaf`"]
        assert hints(text) == ["`colour` belongs at the top of the file"]

    def test_the_python_name_of_a_field_is_not_its_key(self):
        text = "{title: t, height_m: 1, schema_: x}"
        assert problems(text) == ["1: unknown key `height_m`", "1: unknown key `schema_`"]
        assert hints(text) == ["did you mean `heightM`?", "did you mean `$schema`?"]

    @pytest.mark.parametrize("key", ["Title", "title ", "TITLE", "tItle"])
    def test_keys_are_compared_as_they_are_written(self, key):
        assert problems(f'"{key}": t') == [
            f"1: unknown key `{key}`",
            "1: the key `title` is missing",
        ]

    def test_an_empty_key_is_one_more_unknown_key(self):
        assert problems('{title: t, "": 1}') == ["1: unknown key ``"]


class TestWords:
    def test_a_word_that_is_not_one_of_the_list_is_answered_with_the_list(self):
        text = "{title: t, colour: gren, side: top}"
        assert problems(text) == [
            "1: `colour`: `gren` is not one of red, green",
            "1: `side`: `top` is not one of left, right",
        ]
        assert hints(text) == ["did you mean `green`?", None]

    @pytest.mark.parametrize("word", ["Red", "RED", " red", ""])
    def test_words_are_compared_as_they_are_written(self, word):
        assert problems(f"{{title: t, colour: '{word}'}}") == [
            f"1: `colour`: `{word}` is not one of red, green"
        ]

    def test_what_is_no_word_at_all_is_said_to_be_of_the_wrong_type(self):
        assert problems("{title: t, colour: 1, side: [left]}") == [
            "1: `colour`: expected `str`, got `int`",
            "1: `side`: expected `str | null`, got `array`",
        ]

    def test_a_lone_surrogate_is_a_wrong_word_and_no_crash(self):
        value = {"title": "\ud800", "colour": "\ud800", "side": "\udfff", "table": {"\ud800": []}}
        document = Document("f.json", value, {})
        reader = StructReader(document, error=SuiteError, code="P6201")
        assert reader.read(Tree, value) is None
        assert [problem.message for problem in reader.problems] == [
            "`colour`: `\ud800` is not one of red, green",
            "`side`: `\udfff` is not one of left, right",
        ]

    def test_a_lone_surrogate_in_a_list_of_words_is_a_problem_of_the_list(self):
        class Words(Struct):
            words: list[Literal["a", "b"]]

        value = {"words": ["a", "\ud800"]}
        reader = StructReader(Document("f.json", value, {}), error=SuiteError, code="P6201")
        assert reader.read(Words, value) is None
        assert [problem.message for problem in reader.problems] == [
            "`words`: holds a lone surrogate"
        ]


def test_every_problem_of_a_document_is_found_in_one_pass_with_its_line():
    assert problems(
        "colour: blue\n"
        "count: many\n"
        "tags:\n"
        "  - a\n"
        "  - 2\n"
        "unknown: 1\n"
        "root:\n"
        "  leaf:\n"
        "    size: big\n"
        "  leaves:\n"
        "    - name: a\n"
        "      colour: red\n"
        "    - 5\n"
        "  byName:\n"
        "    x: {name: ~}\n"
        "    y: {}\n"
        "  branch:\n"
        "    branch:\n"
        "      brnch: {}\n"
    ) == [
        "6: unknown key `unknown`",
        "1: the key `title` is missing",
        "1: `colour`: `blue` is not one of red, green",
        "2: `count`: expected `int`, got `str`",
        "5: `tags[1]`: expected `str`, got `int`",
        "8: the key `name` is missing in `root.leaf`",
        "9: `root.leaf.size`: expected `int`, got `str`",
        "12: unknown key `colour` in `root.leaves[0]`",
        "13: `root.leaves[1]` must be a mapping, not a number",
        "15: `root.byName.x.name`: expected `str`, got `null`",
        "16: the key `name` is missing in `root.byName.y`",
        "19: unknown key `brnch` in `root.branch.branch`",
    ]


def test_a_part_of_a_document_is_read_at_its_own_place():
    document = parse_yaml(b"a: 1\nparts:\n  - {name: x}\n  - {name: y, size: z}\n", "f.yaml")
    reader = StructReader(document, error=DatasetError, code="P6101")
    first, second = document.value["parts"]
    assert reader.read(Leaf, first, ("parts", 0)) == Leaf(name="x")
    assert reader.read(Leaf, second, ("parts", 1)) is None
    (problem,) = reader.problems
    assert type(problem) is DatasetError
    assert (problem.where, problem.message) == (
        "f.yaml:4",
        "`parts[1].size`: expected `int`, got `str`",
    )


def test_a_good_part_is_still_read_after_a_bad_one():
    document = Document("f", {}, {})
    reader = StructReader(document, error=SuiteError, code="P6201")
    assert reader.read(Leaf, {"name": 1}, ("a",)) is None
    assert reader.read(Leaf, {"name": "x"}, ("b",)) == Leaf(name="x")
    assert len(reader.problems) == 1


def test_a_note_may_have_a_code_and_a_hint_of_its_own():
    document = parse_yaml(b"a:\n  b: 1\n", "f.yaml")
    reader = StructReader(document, error=SuiteError, code="P6201")
    reader.problem("cannot fail", ("a", "b"), hint="delete it", code="P6202")
    (problem,) = reader.problems
    assert (problem.code, problem.hint, problem.where) == ("P6202", "delete it", "f.yaml:2")


def test_problems_inside_a_plain_mapping_stop_at_what_can_be_named():
    class Tables(Struct):
        rows: list[dict[str, int]]
        named: dict[Literal["a"], int] = {}

    value = {"rows": [{"x": 1}, {"y": "z"}], "named": {"b": 1}}
    document = Document("f", value, {("rows", 1): 7})
    reader = StructReader(document, error=SuiteError, code="P6201")
    assert reader.read(Tables, value) is None
    assert [(problem.where, problem.message) for problem in reader.problems] == [
        ("f:7", "`rows[1]`: expected `int`, got `str`"),
        ("f", "`named`: invalid enum value 'b'"),
    ]


class Pair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    low: int
    high: int

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError("`low` is above `high`")


class Pairs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    by_name: dict[str, Pair]


def test_what_a_struct_says_of_keys_that_do_not_go_together_is_a_problem_with_its_place():
    document = parse_yaml(
        b"by_name:\n  right: {low: 1, high: 2}\n  wrong: {low: 2, high: 1}\n", "f"
    )
    reader = StructReader(document, error=SuiteError, code="P6201")
    assert reader.read(Pairs, document.value) is None
    (problem,) = reader.problems
    assert (problem.message, problem.where) == ("`by_name.wrong`: `low` is above `high`", "f:3")
