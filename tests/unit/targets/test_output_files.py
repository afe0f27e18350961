"""Answers that are there already: which file of which case, and which cases have none."""

from hashlib import sha256

import pytest

from proctor.errors import SuiteError, UsageError
from proctor.records import TargetSubject
from proctor.records.targets import LoadedTarget, OutputFile, StoredOutputs
from proctor.targets.outputs import OutputsTarget, answered_places

WHERE = "evals/q.eval.yaml:1"


@pytest.fixture
def target(tmp_path):
    """Outputs of cases by the texts of their files."""

    def make(cases):
        files = {}
        for case, texts in cases.items():
            files[case] = ()
            for number, text in enumerate(texts):
                path = f"{case}-{number}.txt"
                (tmp_path / path).write_bytes(text.encode())
                files[case] += (OutputFile(path, sha256(text.encode()).hexdigest()),)
        subject = TargetSubject(kind="outputs", name="q", bundle_sha256="0" * 64)
        return LoadedTarget(subject=subject, how=StoredOutputs(files), where=WHERE)

    return make


def test_repeats_take_the_files_in_turn(target, tmp_path):
    outputs = OutputsTarget(target({"a": ["r1", "r2", "r3"], "b": ["only"]}))
    assert [outputs.reply(tmp_path, "a", n).answer.text for n in range(1, 8)] == [
        "r1",
        "r2",
        "r3",
        "r1",
        "r2",
        "r3",
        "r1",
    ]
    assert {outputs.reply(tmp_path, "b", n).answer.text for n in (1, 2)} == {"only"}


@pytest.mark.parametrize(
    ("held", "text"),
    [
        ("Paris.\n", "Paris.\n"),
        ("", ""),
        ("\ufeffa", "a"),
        ('{"label": "yes"}', '{"label": "yes"}'),
        ('{"text": "a", "evidence": [1]}\n', "a"),
        ("# Title\r\n", "# Title\r\n"),
    ],
)
def test_a_file_is_the_answer_as_it_is_or_one_with_more_to_it(target, tmp_path, held, text):
    reply = OutputsTarget(target({"a": [held]})).reply(tmp_path, "a", 1)
    assert reply.answer.text == text
    assert (reply.usage, reply.cost_usd, reply.latency_ms) == (None, None, None)


def test_files_are_read_and_nothing_else(target, tmp_path):
    loaded = target({"a": ["r1", "r2"]})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    outputs = OutputsTarget(loaded)
    for repeat in range(1, 5):
        outputs.reply(tmp_path, "a", repeat)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("change", ["write", "remove"])
def test_a_file_that_changed_since_it_was_proven_is_noticed(target, tmp_path, change):
    outputs = OutputsTarget(target({"a": ["r1", "r2"]}))
    file = tmp_path / "a-1.txt"
    if change == "write":
        file.write_text("r3", encoding="utf-8")
    else:
        file.unlink()
    assert outputs.reply(tmp_path, "a", 1).answer.text == "r1"
    with pytest.raises(SuiteError) as caught:
        outputs.reply(tmp_path, "a", 2)
    assert (caught.value.code, caught.value.message) == (
        "P6201",
        "`a-1.txt` changed while it was being used",
    )


@pytest.mark.parametrize(
    ("answered", "cases", "places", "said"),
    [
        ("ab", "ab", [0, 1], []),
        ("ba", "ab", [0, 1], []),
        ("b", "abc", [1], ["left out, without an answer among `outputs`: `a`, `c`"]),
        (
            "abz",
            "ab",
            [0, 1],
            ["`outputs` has answers to cases that the dataset does not have: `z`"],
        ),
        (
            "yaz",
            "ab",
            [0],
            [
                "left out, without an answer among `outputs`: `b`",
                "`outputs` has answers to cases that the dataset does not have: `y`, `z`",
            ],
        ),
    ],
)
def test_cases_without_answers_are_left_out_and_named(target, answered, cases, places, said):
    loaded = target({case: ["x"] for case in answered})
    kept, warnings = answered_places(loaded, cases)
    assert (kept, [one.message for one in warnings]) == (places, said)
    assert {one.where for one in warnings} <= {WHERE}


def test_not_more_than_some_are_named(target):
    cases = [f"c{number}" for number in range(30)]
    _, (warning,) = answered_places(target({"c0": ["x"]}), cases)
    assert warning.message.endswith("`c19`, `c20` and 9 more")


@pytest.mark.parametrize("cases", [["a"], []])
def test_without_a_case_that_has_an_answer_nothing_is_selected(target, cases):
    with pytest.raises(UsageError) as caught:
        answered_places(target({"b": ["x"]}), cases)
    assert (caught.value.code, caught.value.where) == ("P6001", WHERE)
    assert caught.value.message == f"0 of {len(cases)} cases have an answer among `outputs`"
