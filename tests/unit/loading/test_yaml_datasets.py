from hashlib import sha256

import pytest
from dataset_rules import WHERE, WHOLE_CASE, AnyCase, NoCase

from proctor.records import Case

MEBIBYTE = 1024 * 1024
PATH = "evals/cases.yaml"


@pytest.fixture
def dataset_path():
    return PATH


# What is read


def test_a_case_with_everything_it_may_have(load):
    data = (
        "- id: late-return\n"
        "  inputs: {total: 74.5, message: Can I?}\n"
        "  expected: {d: deny}\n"
        "  tags: [policy]\n"
        "  tiers: [smoke]\n"
        "  metadata: {by: Ada}\n"
        "  context: [a note]\n"
        "  dos: [be kind]\n"
        "  donts: [guess]\n"
        "- {id: b, inputs: {}}\n"
    )
    dataset, problems = load(data)
    assert problems == []
    assert [dataset.case(index) for index in (1, 0)] == [Case("b", {}), WHOLE_CASE]
    assert (len(dataset), dataset.path) == (2, PATH)
    assert dataset.sha256 == sha256(data.encode()).hexdigest()


@pytest.mark.parametrize("path", ["evals/cases.yml", "evals/cases.yaml"])
@pytest.mark.parametrize(
    "data",
    [
        "- {id: a, inputs: {}}\n",
        "- {id: a, inputs: {}}",
        "\ufeff- id: a\r\n  inputs: {}\r\n",
        '# cases\n---\n[{"id": "a", "inputs": {}}]\n...\n',
    ],
)
def test_marks_line_ends_and_styles_change_no_case(read, path, data):
    assert read(data, path=path) == [Case("a", {})]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("1_000", "1_000"),
        ("2024-01-02", "2024-01-02"),
        ("12:30", "12:30"),
        ("012", 12),
        ("1e3", 1000.0),
        ("9007199254740993", 9007199254740993),
        ("~", None),
        ("null", None),
        ("true", True),
        ("'true'", "true"),
        ('"a\\u202eb"', "a\u202eb"),
        ("'grep a | wc -l'", "grep a | wc -l"),
        ("|\n    one\n    two", "one\ntwo\n"),
    ],
)
def test_a_value_is_what_core_yaml_says(read, written, value):
    (case,) = read(f"- id: a\n  inputs: {{}}\n  expected: {written}\n")
    assert case.expected == value
    assert type(case.expected) is type(value)


def test_an_alias_stands_for_what_it_names(read):
    data = "- &a {id: a, inputs: {q: &q [1, 2]}}\n- {id: b, inputs: {q: *q}}\n"
    assert [case.inputs for case in read(data)] == [{"q": [1, 2]}] * 2


# What is refused


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("id: a\ninputs: {}\n", "1: P6101: a dataset must be a list of cases, not a mapping"),
        ("\n\nhello\n", "3: P6101: a dataset must be a list of cases, not a string"),
        ("\n~\n", "2: P6101: a dataset must be a list of cases, not null"),
        ("- {id: a, inputs: {}}\n- 7\n", "2: P6101: a case must be a mapping, not a number"),
        ("- {id: a, inputs: {}}\n- - x\n", "2: P6101: a case must be a mapping, not a list"),
        ("- id: a\n", "1: P6101: the key `inputs` is missing"),
        ("- id: a\n  inputs: {}\n  input: 1\n", "3: P6101: unknown key `input`"),
        ("- id: a\n  inputs: {}\n  tags:\n  - x\n  - 7\n", "5: P6101: `tags[1]`: expected `str`"),
        ("- id: 7\n  inputs: {}\n", "1: P6101: `id`: expected `str`, got `int`"),
        ("- id: a\n  inputs: {}\n  id: b\n", "3: P6101: the file has the key `id` twice"),
        ("- id: !!str a\n", "1: P6101: the file has the tag `tag:yaml.org,2002:str`"),
        ("- id: a\n  <<: {}\n", "2: P6101: the file has a merge key `<<`"),
        ("- id: a\n inputs: {}\n", "2: P6101: the file is not YAML"),
        ("- {id: a, inputs: {x: .inf}}\n", "1: P6101: the file has `.inf`"),
        ("- a\n---\n- b\n", "2: P6101: the file holds more than one document"),
        (f"- {{id: a, inputs: {'{x: ' * 70}1{'}' * 70}}}\n", "1: P6101: the file is nested deeper"),
        (b"- id: caf\xe9\n", "1: P6101: the line is not UTF-8, but perhaps Latin-1"),
        ("- id: a\n".encode("utf-16"), "1: P6101: the file is UTF-16, not UTF-8"),
        ("- id: a\n".encode("utf-32"), "1: P6101: the file is UTF-32, not UTF-8"),
    ],
)
def test_what_is_no_dataset_says_why_and_where(refused, data, problem):
    (told,) = refused(data)
    assert told.startswith(problem)


def test_every_wrong_case_is_told_with_its_own_line(refused):
    data = (
        "- id: a\n  inputs: {}\n  other: 1\n- id: a\n  inputs: {}\n"
        "- {id: b, inputs: {}, tags: x}\n- {id: a, inputs: {}}\n"
    )
    assert refused(data) == [
        "3: P6101: unknown key `other`",
        "6: P6101: `tags`: expected `array`, got `str`",
        "7: P6103: the case id `a` is taken by line 4",
    ]


def test_two_cases_of_one_line_are_told_apart(refused):
    assert refused("[{id: a, inputs: {}}, {id: a, inputs: {}}]") == [
        "1: P6103: the case id `a` is taken by line 1"
    ]


def test_the_rules_of_a_suite_hold_for_each_case(refused):
    assert refused("- id: a\n  inputs: {}\n\n- id: b\n  inputs: {}\n", rules=NoCase(1)) == [
        "1: P6104: case `a`: fault 0",
        "4: P6104: case `b`: fault 0",
    ]


@pytest.mark.parametrize("data", ["", "\n", "# nothing\n", "[]", "\ufeff"])
def test_a_dataset_without_cases_can_never_fail(load, data):
    dataset, (problem,) = load(data)
    assert dataset is None
    assert (problem.code, problem.where) == ("P6202", WHERE)


# Limits


def test_a_file_is_at_most_a_mebibyte(load, read):
    frame = "- {id: a, inputs: {x: ''}}\n#"
    whole = frame + "y" * (MEBIBYTE - len(frame))
    assert len(read(whole)) == 1
    dataset, (problem,) = load(whole + "y")
    assert dataset is None
    assert (problem.code, problem.where) == ("P6101", PATH)
    assert problem.message == "the file is larger than 1 MiB"
    assert problem.hint == "write a dataset of this size as JSONL or CSV"


def test_aliases_make_no_case_larger_than_a_mebibyte(refused):
    aliases = ", ".join(["*x"] * 500)
    data = (
        f"- {{id: a, inputs: {{x: &x {'y' * 4_096}}}}}\n- {{id: b, inputs: {{x: [{aliases}]}}}}\n"
    )
    assert refused(data) == ["2: P6101: the case is larger than 1 MiB"]


def test_an_alias_bomb_is_refused(refused):
    lists = ["- &a [x, x, x, x, x, x, x, x, x, x]"]
    for name, below in zip("bcdefgh", "abcdefg", strict=True):
        lists.append(f"- &{name} [{', '.join([f'*{below}'] * 10)}]")
    assert refused("\n".join(lists)) == ["4: P6101: the file expands to more than 10000 nodes"]


def test_more_cases_than_allowed_are_refused_and_never_cut(load):
    data = "".join(f"- {{id: c{n}, inputs: {{}}}}\n" for n in range(4))
    assert len(load(data, max_cases=4)[0]) == 4
    _, (problem,) = load(data, max_cases=3)
    assert (problem.code, problem.message) == ("P6102", f"`{PATH}` holds 4 cases, more than 3")


def test_a_file_that_changes_after_it_was_read_changes_nothing(load, tmp_path):
    dataset, _ = load("- {id: a, inputs: {q: one}}\n")
    (tmp_path / PATH).write_text("- {id: a, inputs: {q: two}}\n")
    assert dataset.case(0).inputs == {"q": "one"}


def test_the_scan_sees_each_case_with_its_line(load):
    seen = []

    class Seeing:
        def stops(self, case, line, raw):
            seen.append((case.id, line, raw))
            return ()

    load("# two\n- id: a\n  inputs: {}\n- {id: b, inputs: {}}\n", scan=Seeing(), rules=AnyCase())
    assert seen == [("a", 2, None), ("b", 4, None)]
