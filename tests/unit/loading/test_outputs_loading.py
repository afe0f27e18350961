"""`outputs` of a suite: files that are there, proven before anything is scored."""

from hashlib import sha256

import pytest

from proctor.loading.prompts import Prompts
from proctor.loading.suites import load_suite
from proctor.records.targets import OutputFile

REST = "dataset: cases.jsonl\nassertions: [{id: a, kind: equals, value: x}]\n"
PATH = "evals/quiz.eval.yaml"


def sha(text):
    return sha256(text.encode()).hexdigest()


@pytest.fixture
def load(tmp_path):
    """Load a suite beside `evals/a1.txt`, `evals/a2.txt` and `b.json`."""
    for name, text in {"evals/a1.txt": "one", "evals/a2.txt": "two", "b.json": "{}"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def load_outputs(outputs):
        (tmp_path / PATH).write_text(f"outputs: {outputs}\n{REST}", encoding="utf-8")
        return load_suite(tmp_path, PATH, Prompts(tmp_path, "prompts", "acme"))

    return load_outputs


@pytest.fixture
def refused(load):
    def refuse(outputs):
        _, problems = load(outputs)
        return [
            f"{one.where.removeprefix(PATH + ':')}: {one.code}: {one.message}" for one in problems
        ]

    return refuse


def test_files_are_named_case_by_case_relative_to_the_suite(load):
    definition, problems = load("{a: [a1.txt, ./a2.txt], b: [../b.json]}")
    assert problems == []
    assert definition.target.how.files == {
        "a": (OutputFile("evals/a1.txt", sha("one")), OutputFile("evals/a2.txt", sha("two"))),
        "b": (OutputFile("b.json", sha("{}")),),
    }
    assert definition.target.subject.id == "target:outputs:quiz"
    assert definition.target.max_cost_usd == {"answer": 0}
    assert definition.subjects == ()


def test_what_the_files_hold_is_who_it_is_and_not_what_they_are_called(load, tmp_path):
    def digest(outputs):
        return load(outputs)[0].target.subject.bundle_sha256

    first = digest("{a: [a1.txt]}")
    assert first == sha(f'{{"outputs":{{"a":["{sha("one")}"]}}}}')
    assert digest("{a: [a2.txt]}") != first
    (tmp_path / "evals/a3.txt").write_text("one", encoding="utf-8")
    assert digest("{a: [a3.txt]}") == first


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ("{}", "1: P6201: `outputs` names no answers"),
        ("{a: []}", "1: P6201: the case `a` has no files"),
        ("{a: [none.txt]}", "1: P6201: `evals/none.txt` cannot be read: no such file or directory"),
        ("{a: [../../x.txt]}", "1: P6805: `../../x.txt` leaves the project"),
        ("{a: [/etc/passwd]}", "1: P6805: `/etc/passwd` is not a path relative to the project"),
        (
            "{a: ['file:///etc/passwd']}",
            "1: P6805: `file:///etc/passwd` is not a path relative to the project",
        ),
        ("{a: [../evals]}", "1: P6805: `evals` is a folder, not a file"),
        ("{a: a1.txt}", "1: P6201: `outputs`: expected `array`, got `str`"),
        ("[a1.txt]", "1: P6201: `outputs`: expected `object | null`, got `array`"),
    ],
)
def test_outputs_that_cannot_be_read_are_told(refused, outputs, said):
    assert refused(outputs) == [said]


def test_a_link_is_not_followed(refused, tmp_path):
    (tmp_path / "evals/link.txt").symlink_to(tmp_path / "b.json")
    assert refused("{a: [link.txt]}") == [
        "1: P6805: `evals/link.txt` goes through the link `link.txt`"
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"caf\xe9", "P6201: `evals/x.txt` is not UTF-8"),
        ("hi".encode("utf-16"), "P6201: `evals/x.txt` is UTF-16, not UTF-8"),
        (b"x" * (1024 * 1024 + 1), "P6805: `evals/x.txt` is larger than 1024 KiB"),
    ],
    ids=["latin", "utf16", "large"],
)
def test_an_answer_is_text_of_at_most_a_mebibyte(refused, tmp_path, data, said):
    (tmp_path / "evals/x.txt").write_bytes(data)
    assert refused("{a: [x.txt]}") == [f"1: {said}"]


def test_every_problem_is_told(refused):
    assert len(refused("{a: [x.txt, a1.txt, y.txt], b: [z.txt]}")) == 3
