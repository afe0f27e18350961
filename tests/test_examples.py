"""The example projects, and the reports that are committed beside them."""

from __future__ import annotations

import json

import pytest

from support import EXAMPLES, proctor

REFUND = EXAMPLES / "support-refund"
SENTIMENT = EXAMPLES / "review-sentiment"


def test_support_refund_passes_five_of_five():
    result = proctor("run", cwd=REFUND)
    assert result.code == 0
    assert "5 of 5" in result.text


def test_the_regressed_recordings_fail_one_case_and_say_why():
    result = proctor("run", "--cassettes", "cassettes-regressed", cwd=REFUND)
    assert result.code == 1
    assert "late-return" in result.text
    assert 'decision: expected "deny", got "approve"' in result.text


@pytest.mark.parametrize(
    ("report", "arguments"),
    [("baseline", []), ("regressed", ["--cassettes", "cassettes-regressed"])],
)
def test_the_committed_reports_are_what_a_run_gives(report, arguments):
    result = proctor("run", "--format", "json", *arguments, cwd=REFUND)
    assert result.out == (REFUND / f"reports/{report}.json").read_bytes()


def test_only_one_decision_differs_between_the_two_recordings():
    kept, flipped = (
        (REFUND / folder / "refund-reply.jsonl").read_text(encoding="utf-8").splitlines()
        for folder in ("evals/cassettes", "cassettes-regressed")
    )
    different = [
        (json.loads(one), json.loads(other))
        for one, other in zip(kept, flipped, strict=True)
        if one != other
    ]
    ((before, after),) = different
    old, new = (json.loads(line["answer"].pop("text")) for line in (before, after))
    assert before == after
    assert before["case"] == "late-return"
    assert (old.pop("decision"), new.pop("decision")) == ("deny", "approve")
    assert old == new


def test_handwritten_answers_say_so():
    for line in (REFUND / "evals/cassettes/refund-reply.jsonl").read_text().splitlines():
        recording = json.loads(line)
        assert recording["recorded"]["provider"] == "handwritten"
        assert isinstance(recording["cost_usd"], float)
        assert isinstance(recording["latency_ms"], int)
        assert all(isinstance(number, int) for number in recording["usage"].values())


def test_review_sentiment_fails_honestly_with_eleven_of_twenty_for_each_prompt():
    result = proctor("run", "--format", "json", cwd=SENTIMENT)
    assert result.code == 1
    subjects = json.loads(result.out)["suites"][0]["subjects"]
    rates = {one["prompt"]: one["pass_rate"] for one in subjects}
    assert {name: (rate["passed"], rate["measured"]) for name, rate in rates.items()} == {
        "brief": (11, 20),
        "few-shot": (11, 20),
    }


@pytest.mark.parametrize("example", [REFUND, SENTIMENT], ids=lambda path: path.name)
def test_examples_are_clean_and_their_cassettes_sorted(example):
    assert proctor("lint", cwd=example).code == 0
    for cassette in (example / "evals/cassettes").glob("*.jsonl"):
        lines = [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()]
        order = [
            (
                line["model"],
                line["case"],
                line["scenario"] or "",
                line["call"],
                line["take"],
                line["key"],
            )
            for line in lines
        ]
        assert order == sorted(order)
