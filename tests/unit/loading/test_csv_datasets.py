import json
from hashlib import sha256

import pytest
from dataset_rules import WHERE, AnyCase
from msgspec import UNSET

from proctor.errors import DatasetError
from proctor.loading.cases import CellTypes
from proctor.records import Case

MEBIBYTE = 1024 * 1024
PATH = "evals/cases.csv"
QUOTE = "quote a cell that holds quotes or the delimiter, and double each quote in it"

TYPED = AnyCase(
    CellTypes(
        inputs={
            "text": "string",
            "mood": "enum",
            "total": "number",
            "days": "integer",
            "is_late": "boolean",
            "items": "list",
            "order": "object",
        },
        expected={"score": "number", "labels": "array", "label": "string"},
        answers_are_objects=True,
    )
)


@pytest.fixture
def dataset_path():
    return PATH


def table(*rows, delimiter=","):
    """A file of rows whose cells are quoted where they have to be."""

    def cell(text):
        has_to = any(sign in text for sign in (delimiter, '"', "\n", "\r"))
        return f'"{text.replace(chr(34), chr(34) * 2)}"' if has_to else text

    return "".join(delimiter.join(map(cell, row)) + "\r\n" for row in rows)


# What is read


def test_a_row_with_everything_it_may_have(read):
    data = table(
        ["id", "inputs.message", "inputs.total", "expected.decision", "tags", "tiers"],
        ["late-return", "Can I?", "74.5", "deny", "policy; refund", "smoke"],
    )
    assert read(data) == [
        Case(
            id="late-return",
            inputs={"message": "Can I?", "total": "74.5"},
            expected={"decision": "deny"},
            tags=["policy", "refund"],
            tiers=["smoke"],
        )
    ]


@pytest.mark.parametrize(
    "data",
    [
        "id,inputs.q\na,hi\nb,ho\n",
        "id,inputs.q\na,hi\nb,ho",
        "id,inputs.q\r\na,hi\r\nb,ho\r\n",
        "\ufeffid,inputs.q\r\na,hi\r\nb,ho\r\n",
        "id;inputs.q\na;hi\nb;ho\n",
        "id\tinputs.q\r\na\thi\r\nb\tho\r\n",
        '"id","inputs.q"\n"a","hi"\n"b","ho"\n',
        " id , inputs.q \na,hi\nb,ho\n",
        "\n \t\nid,inputs.q\n\na,hi\n,\n\nb,ho\n\n,\n  \n",
        "id,inputs.q,,\na,hi,,\nb,ho\n",
        "id,inputs.q\na,hi,,\nb,ho,\n",
    ],
)
def test_no_dialect_of_a_spreadsheet_changes_a_case(load, data):
    dataset, problems = load(data)
    assert problems == []
    cases = [dataset.case(index) for index in range(len(dataset))]
    assert cases == [Case("a", {"q": "hi"}), Case("b", {"q": "ho"})]
    assert dataset.sha256 == sha256(data.encode()).hexdigest()
    assert (dataset.path, dataset.warnings) == (PATH, [])


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ('id,"inputs.a;b;c;d",inputs.e', ","),
        ('id;"inputs.a,b,c,d";inputs.e', ";"),
        ("id\tinputs.a,b\tinputs.c;d", "\t"),
    ],
)
def test_the_delimiter_is_the_one_the_header_has_most_of_outside_of_quotes(read, header, delimiter):
    (case,) = read(f"{header}\n{delimiter.join('123')}\n")
    assert (case.id, list(case.inputs.values())) == ("1", ["2", "3"])


@pytest.mark.parametrize(
    ("delimiter", "data", "cell"),
    [
        ("|", "id|inputs.q\na|x,y;z\n", "x,y;z"),
        (",", "id,inputs.a;b;c\na,x;y\n", "x;y"),
        ("\t", "id\tinputs.a,b,c\na\tx,y\n", "x,y"),
    ],
)
def test_a_delimiter_that_is_told_is_not_looked_for(read, delimiter, data, cell):
    (case,) = read(data, delimiter=delimiter)
    assert list(case.inputs.values()) == [cell]


CELLS = [
    "x\ny",
    "x\r\ny\r\n",
    'he said "no"',
    '"',
    '""',
    ",;\t",
    "grep a | wc -l",
    "  spaces  ",
    "'",
    "=1+1",
    "{{x}} {% %} {# ${HOME} ---",
    "nul \x00 del \x7f",
    "\u2028\u202e e\u0301 \u00e9 \U0001f44d\U0001f3fd",
]


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_read_as_it_was_written(read, cell):
    data = table(["id", "inputs.q", "expected"], ["a", cell, cell], ["b", "after", "it"])
    first, second = read(data)
    assert (first.inputs["q"], first.expected) == (cell, cell)
    assert second == Case("b", {"q": "after"}, "it")


def test_a_quote_within_a_cell_that_is_not_quoted_is_text(read):
    (case,) = read('id,inputs.q\na,a 5" pipe and {"d":"03/09"}\n')
    assert case.inputs["q"] == 'a 5" pipe and {"d":"03/09"}'


@pytest.mark.parametrize(
    "text", ["no", "NO", "on", "012", "1e3", "1_000", "2024-01-02", "12:30", "9007199254740993",
             "~", "null", "true", "{not json", " yes"],
)  # fmt: skip
def test_a_cell_of_text_stays_text(read, text):
    (case,) = read(table(["id", "text", "expected.label"], ["a", text, text]), rules=TYPED)
    assert case.inputs["text"] == case.expected["label"] == text


@pytest.mark.parametrize(
    ("column", "cell", "value"),
    [
        ("total", "74.5", 74.5),
        ("total", " -3 ", -3),
        ("total", "1e3", 1000.0),
        ("days", "9007199254740993", 9007199254740993),
        ("is_late", "true", True),
        ("is_late", "FALSE", False),
        ("items", '["grep a | wc -l", 1]', ["grep a | wc -l", 1]),
        ("order", '{"a": {"b": null}}', {"a": {"b": None}}),
        ("mood", "true", "true"),
    ],
)
def test_a_cell_becomes_what_the_prompt_says_it_is(read, column, cell, value):
    for header in (column, f"inputs.{column}"):
        (case,) = read(table(["id", header], ["a", cell]), rules=TYPED)
        assert case.inputs == {column: value}
        assert type(case.inputs[column]) is type(value)


@pytest.mark.parametrize(
    ("column", "cell", "value"),
    [
        ("expected.score", "0.5", {"score": 0.5}),
        ("expected.labels", '["a"]', {"labels": ["a"]}),
        ("expected.other", "5", {"other": "5"}),
        ("expected", '{"label": "a", "score": 1}', {"label": "a", "score": 1}),
        ("expected", ' {"label": "a"}', {"label": "a"}),
        ("expected", "[1]", "[1]"),
        ("expected", "5", "5"),
    ],
)
def test_what_is_expected_becomes_what_an_answer_is(read, column, cell, value):
    (case,) = read(table(["id", column], ["a", cell]), rules=TYPED)
    assert case.expected == value


def test_where_answers_are_text_an_object_is_text_too(read):
    (case,) = read(table(["id", "expected"], ["a", '{"label": "a"}']))
    assert case.expected == '{"label": "a"}'


def test_an_empty_cell_is_absent(read):
    columns = ["id", "text", "total", "items", "expected.score", "expected.label", "tags"]
    cases = read(
        table(columns, ["a", *[""] * 6], ["b", "", "", "", "", "x", ";"], ["c", "", "", "", "1"]
              + [""] * 2), rules=TYPED
    )  # fmt: skip
    assert cases == [
        Case("a", {}, UNSET),
        Case("b", {}, {"label": "x"}),
        Case("c", {}, {"score": 1}),
    ]


def test_a_case_without_an_id_is_called_by_its_row(load):
    data = "id,inputs.q\n\n,one\nb,two\n,,\n,three\n"
    dataset, problems = load(data)
    assert problems == []
    assert [dataset.case(place).id for place in range(3)] == ["row-1", "b", "row-3"]
    (warning,) = dataset.warnings
    assert (warning.code, warning.where) == (None, f"{PATH}:1")
    assert warning.message == "2 cases without an `id` are called by their row, like `row-1`"


def test_a_table_without_a_column_of_ids_is_read_too(load):
    dataset, _ = load("inputs.q\nonly\n")
    assert dataset.case(0) == Case("row-1", {"q": "only"})
    assert dataset.warnings[0].message.startswith("1 case without an `id` is called")


def test_cases_are_read_again_in_whatever_order(load):
    rows = [[f"case-{n}", "é\n" * (n + 1)] for n in range(9)]
    dataset, _ = load(table(["id", "inputs.n"], *rows))
    for index in (8, 0, 4, 4, 8):
        assert dataset.case(index) == Case(f"case-{index}", {"n": "é\n" * (index + 1)})


# What is refused


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        ("id,inputs.q\na,b,c\n", ["2: P6101: row 1 has 3 cells, but the header has 2"]),
        ("id,inputs.q\na\n", ["2: P6101: row 1 has 1 cell, but the header has 2"]),
        (
            'id,inputs.q\n"a","x\ny"\n\nb,"one\n\ntwo",c\nd\n',
            [
                "5: P6101: row 2 has 3 cells, but the header has 2",
                "8: P6101: row 3 has 1 cell, but the header has 2",
            ],
        ),
        (
            'id,inputs.q\na,"b" c\nd,e,f\n',
            [
                "2: P6101: the row has text after the closing quote in column 2",
                "3: P6101: row 1 has 3 cells, but the header has 2",
            ],
        ),
        (
            'id,inputs.q\na,"one\ntwo" x\n',
            ["2: P6101: the row has text after the closing quote in column 2"],
        ),
        (
            'id,inputs.q\na,b\nc,"one\nd,two\n',
            ["3: P6101: the quoted cell that begins here is not closed"],
        ),
        (
            'id,inputs.q\n"a\n1","one\n',
            ["3: P6101: the quoted cell that begins here is not closed"],
        ),
        (
            "id,inputs.q\ra,b\r",
            ["1: P6101: the row has a carriage return outside of quotes"],
        ),
        (
            'id,inputs.q,expected\na,when,{"d":1,"e":2}\n',
            ["2: P6101: the row has text after the closing quote in column 4"],
        ),
    ],
)
def test_a_row_that_is_none_is_told_with_its_line(load, refused, data, problems):
    assert refused(data) == problems
    for problem in load(data)[1]:
        assert problem.hint in (
            QUOTE,
            "end lines with LF or CRLF, and quote cells of several lines",
        )


@pytest.mark.parametrize(
    ("header", "problem", "hint"),
    [
        ("id,question", "unknown column `question`", "columns: id, expected, tags, tiers"),
        ("ID,inputs.q", "unknown column `ID`", "did you mean `id`?"),
        ("id,inputs.", "unknown column `inputs.`", None),
        ("id,expected.", "unknown column `expected.`", None),
        ("id,metadata", "unknown column `metadata`", None),
        ("id,,inputs.q", "column 2 has no name", None),
        ("id,inputs.q,inputs.q", "the columns `inputs.q` and `inputs.q` are the same", None),
        ("id,id", "the columns `id` and `id` are the same", None),
        (
            "id,expected,expected.a",
            "the column `expected` excludes columns of its parts",
            None,
        ),
        (f"id,{'x' * 200}", f"unknown column `{'x' * 97}...`", None),
    ],
)
def test_a_column_that_is_for_nothing_is_refused_and_no_row_is_read(load, header, problem, hint):
    dataset, (told,) = load(f"\n{header}\na,b,c,d,e\n")
    assert dataset is None
    assert (told.code, told.where, told.message) == ("P6101", f"{PATH}:2", problem)
    if hint is not None:
        assert told.hint == hint


@pytest.mark.parametrize(
    ("column", "hint"),
    [("totl", "did you mean `total`?"), ("inputs.totl", "did you mean `inputs.total`?")],
)
def test_a_column_of_no_input_is_told_with_the_likely_one(load, column, hint):
    _, (told,) = load(f"id,{column}\na,1\n", rules=TYPED)
    assert (told.message, told.hint) == (f"unknown column `{column}`", hint)


def test_a_bare_column_and_a_full_one_of_the_same_input_clash(load):
    _, (told,) = load("id,total,inputs.total\na,1,2\n", rules=TYPED)
    assert told.message == "the columns `total` and `inputs.total` are the same"


def test_every_wrong_column_is_told(refused):
    assert len(refused("a,b,,id,id\nx\n")) == 4


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("total", "sk-1", "is no number"),
        ("total", "1,5", "is no number"),
        ("total", "1e999", "is no number"),
        ("total", "true", "is no number"),
        ("days", "012", "is no number"),
        ("is_late", "yes", "is no boolean"),
        ("items", "sk-1", "is not JSON: expecting value at column 1"),
        ("items", "{}", "is not a JSON list"),
        ("order", '{"a":1,"a":2}', "has the key `a` twice"),
        ("expected.score", "high", "is no number"),
        ("expected.labels", "sk-1", "is not JSON: expecting value at column 1"),
        ("expected", "{sk-1}", "is not JSON: expecting property name enclosed in double quotes"),
    ],
)
def test_a_cell_that_is_not_what_it_should_be_is_told_without_it(load, column, cell, problem):
    data = table(["id", column], ["a\nb", "" if column != "id" else "x"], ["b", cell])
    _, problems = load(data, rules=TYPED)
    told = problems[-1]
    assert (told.code, told.where) == ("P6104", f"{PATH}:4")
    assert told.message.startswith(f"row 2: the cell of `{column}` {problem}")
    assert "sk-1" not in told.message
    assert told.hint


def test_the_rules_of_a_suite_hold_for_rows_too(refused):
    class Wanting(AnyCase):
        def faults(self, case):
            yield "P6104", f"{sorted(case.inputs)}"

    data = 'id,inputs.q\n"a","x\ny"\nb,z\nb,z\n'
    assert refused(data, rules=Wanting()) == [
        "2: P6104: case `a`: ['q']",
        "4: P6104: case `b`: ['q']",
        "5: P6103: the case id `b` is taken by line 4",
        "5: P6104: case `b`: ['q']",
    ]


@pytest.mark.parametrize(
    ("encoding", "problem"),
    [
        ("utf-16", "1: P6101: the file is UTF-16, not UTF-8"),
        ("utf-16-le", "1: P6101: the file is UTF-16, not UTF-8"),
        ("utf-16-be", "1: P6101: the file is UTF-16, not UTF-8"),
        ("utf-32", "1: P6101: the file is UTF-32, not UTF-8"),
        ("latin-1", "2: P6101: the line is not UTF-8, but perhaps Latin-1 or Windows-1252"),
        ("cp1252", "2: P6101: the line is not UTF-8, but perhaps Latin-1 or Windows-1252"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_another_encoding_is_refused_by_name(load, refused, encoding, problem, end):
    data = f"id,inputs.q{end}a,café{end}".encode(encoding)
    assert refused(data) == [problem]
    assert load(data)[1][0].hint == "save the file as UTF-8"


def test_a_line_in_another_encoding_spoils_its_row_alone(refused):
    data = b'id,inputs.q\na,"x\n\xe9\ny"\nb\n'
    assert refused(data) == [
        "3: P6101: the line is not UTF-8, but perhaps Latin-1 or Windows-1252",
        "5: P6101: row 1 has 1 cell, but the header has 2",
    ]


@pytest.mark.parametrize("data", ["", "\n\n", "\ufeff", "id,inputs.q", "id,inputs.q\n\n,\n,,\n"])
def test_a_table_without_rows_can_never_fail(load, data):
    dataset, (problem,) = load(data)
    assert dataset is None
    assert (problem.code, problem.where) == ("P6202", WHERE)


# Limits and the file


def test_a_row_is_at_most_a_mebibyte(read, refused):
    fits = "y\n" * (MEBIBYTE // 2 - 2)
    assert len(read(f'id,inputs.q\na,"{fits}"\n')[0].inputs["q"]) == len(fits)
    large = f'id,inputs.q\na,"{fits}yy"\nb\n'
    assert refused(large) == [
        "2: P6101: the case is larger than 1 MiB",
        f"{fits.count(chr(10)) + 3}: P6101: row 1 has 1 cell, but the header has 2",
    ]


def test_a_line_is_at_most_sixteen_mebibytes(refused):
    assert refused("id,inputs.q\na," + "x" * 16 * MEBIBYTE + "\nnot read any more") == [
        "2: P6101: the line is longer than 16 MiB"
    ]


def test_more_rows_than_allowed_are_refused_and_never_cut(load):
    data = table(["id"], *([f"case-{n}"] for n in range(4)))
    assert len(load(data, max_cases=4)[0]) == 4
    _, (problem,) = load(data, max_cases=3)
    assert (problem.code, problem.message) == ("P6102", f"`{PATH}` holds 4 cases, more than 3")


def test_twenty_problems_are_shown_and_the_others_counted(load):
    _, problems = load("id,inputs.q\n" + "x\n" * 30)
    assert len(problems) == 21
    assert problems[20].message == "and 10 more problems"


def test_a_table_that_changes_between_the_two_passes_is_noticed(load, tmp_path):
    dataset, _ = load("id,inputs.q\na,yes\nb,yes\n")
    with (tmp_path / PATH).open("r+b") as file:
        file.write(b"id,inputs.q\na,yes\nb,nay\n")
    assert dataset.case(0).inputs == {"q": "yes"}
    with pytest.raises(DatasetError) as caught:
        dataset.case(1)
    assert caught.value.message == f"`{PATH}` changed while it was being used"


def test_the_scan_sees_each_row_with_its_line_and_everything_read_of_it(load):
    seen = []

    class Seeing:
        def stops(self, case, line, raw):
            seen.append((case.id, line, raw))
            return ()

    load('id,inputs.q\na,"x\r\n""y"""\r\nb,z\n', scan=Seeing())
    assert seen == [("a", 2, b'a,"x\r\n""y"""'), ("b", 4, b"b,z")]


def test_a_table_holds_what_json_lines_would(load, read):
    cases = read(
        json.dumps({"id": "a", "inputs": {"text": "x\ny", "days": 3, "items": [1]}}) + "\n",
        path="evals/same.jsonl",
    )
    data = table(["id", "text", "days", "items"], ["a", "x\ny", "3", "[1]"])
    assert read(data, rules=TYPED) == cases
