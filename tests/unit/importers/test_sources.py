import os

import pytest

from proctor.datasets.files import checks_of
from proctor.errors import ProctorError
from proctor.importers.sources import read_records

BOM = b"\xef\xbb\xbf"
TWO = [{"id": "a", "text": "caf\u00e9"}, {"id": "b", "text": "no"}]
WRITTEN = {
    "in.jsonl": '{"id": "a", "text": "caf\u00e9"}\n\n{"id": "b", "text": "no"}\r\n',
    "in.csv": 'id,text\na,"caf\u00e9"\n\nb,no\n',
    "in.yaml": "- {id: a, text: caf\u00e9}\n- {id: b, text: no}\n",
    "in.yml": "- {id: a, text: caf\u00e9}\n- {id: b, text: no}\n",
    "in.json": '[{"id": "a", "text": "caf\u00e9"}, {"id": "b", "text": "no"}]',
}


@pytest.fixture
def read(tmp_path):
    """Read a file of this name and content: its records, and what is wrong with it."""

    def records(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        checks = checks_of(name)
        return list(read_records(path, checks)), checks.problems()

    return records


@pytest.mark.parametrize("mark", [b"", BOM], ids=["plain", "bom"])
@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_gives_the_same_records(read, name, mark):
    records, problems = read(name, mark + WRITTEN[name].encode())
    assert ([one.value for one in records], problems) == (TWO, [])
    assert [one.number for one in records] == [1, 2]


def test_a_record_knows_where_it_stands(read):
    places = {name: [one.where for one in read(name, WRITTEN[name])[0]] for name in WRITTEN}
    assert places["in.jsonl"] == ["in.jsonl:1", "in.jsonl:3"]
    assert places["in.csv"] == ["in.csv:2", "in.csv:4"]
    assert places["in.yaml"] == ["in.yaml:1", "in.yaml:2"]
    assert places["in.json"] == ["in.json[0]", "in.json[1]"]


def test_the_columns_of_a_dataset_in_csv_are_read_as_those(read):
    content = "inputs.q,expected.label,tags,body.text,empty\nwhy,x,a; b,hi,\n"
    (record,), _ = read("in.csv", content)
    assert record.value == {
        "inputs": {"q": "why"},
        "expected": {"label": "x"},
        "tags": ["a", "b"],
        "body.text": "hi",
    }


def test_cells_are_text_and_may_hold_line_ends(read):
    (record,), problems = read("in.csv", 'n;t\r\n012;"a\r\n""b"""\r\n')
    assert (record.value, problems) == ({"n": "012", "t": 'a\r\n"b"'}, [])


@pytest.mark.parametrize(
    ("name", "content", "where", "said"),
    [
        ("in.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n', "in.jsonl:2", "the key `a` twice"),
        ("in.jsonl", '{"a": NaN}\n', "in.jsonl:1", "`NaN`"),
        ("in.jsonl", "[1]\n", "in.jsonl:1", "must be an object, not a list"),
        ("in.jsonl", '{"a": 1}\n'.encode("utf-16"), "in.jsonl:1", "the file is UTF-16"),
        ("in.jsonl", b'{"a": 1}\n{"a": "\xe9"}\n', "in.jsonl:2", "Latin-1"),
        ("in.csv", "a,b\n1\n", "in.csv:2", "1 cells, but the header has 2"),
        ("in.csv", "a,a\n1,2\n", "in.csv:1", "a name of its own"),
        ("in.csv", 'a\n"x\n', "in.csv:2", "not closed"),
        ("in.yaml", "a: 1\n", "in.yaml:1", "must be a list of records, not a mapping"),
        ("in.yaml", "- a\n", "in.yaml:1", "must be an object, not a string"),
        ("in.yaml", "- &a [*a]\n", "in.yaml:1", "the file"),
        ("in.yaml", "- {a: !!python/name:os.system x}\n", "in.yaml:1", "tag"),
        ("in.json", '{"a": 1\n', "in.json:2", "not JSON"),
        ("in.json", "3", "in.json", "must be an object, not a number"),
    ],
)
def test_what_cannot_be_read_is_noted_with_its_place(read, name, content, where, said):
    _, (problem,) = read(name, content)
    assert (problem.code, problem.where) == ("P6101", where)
    assert said in problem.message


def test_a_folder_is_read_file_by_file_in_the_order_of_its_paths(tmp_path):
    folder = tmp_path / "logs"
    (folder / "more").mkdir(parents=True)
    for name, content in {
        "b.json": '{"n": 1}',
        "more/a.json": '[{"n": 2}, {"n": 3}]',
        "notes.txt": "no",
        "z.json": "{",
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
    checks = checks_of("logs/")
    records = list(read_records(folder, checks))
    assert [one.value["n"] for one in records] == [1, 2, 3]
    assert [one.where for one in records] == [
        "logs/b.json",
        "logs/more/a.json[0]",
        "logs/more/a.json[1]",
    ]
    (problem,) = checks.problems()
    assert problem.where == "logs/z.json:1"


def refused(path):
    with pytest.raises(ProctorError) as caught:
        list(read_records(path, checks_of(path.name)))
    return caught.value.code


def test_links_pipes_and_files_of_other_endings_are_not_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text('{"key": 1}', encoding="utf-8")
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.json").symlink_to(secret)
    (tmp_path / "in.jsonl").symlink_to(secret)
    os.mkfifo(tmp_path / "in.csv")
    assert refused(folder) == "P6805"
    assert refused(tmp_path / "in.jsonl") == "P6805"
    assert refused(tmp_path / "in.csv") == "P6805"
    assert refused(secret) == "P6002"
    assert refused(tmp_path / "missing.jsonl") == "P6101"
