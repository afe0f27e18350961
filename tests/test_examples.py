"""The example projects, and the reports that are committed beside them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from proctor.statistics import effective_rows, is_barely_passing, is_flaky
from support import EXAMPLES, proctor

REFUND = EXAMPLES / "support-refund"
SENTIMENT = EXAMPLES / "review-sentiment"
TONE = EXAMPLES / "judge-tone"
NOTES = EXAMPLES / "notes-agent"


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


@pytest.mark.parametrize(("example", "labels"), [(REFUND, 5), (TONE, 40)])
def test_every_judged_answer_has_one_label_that_is_current(example, labels):
    report = proctor("run", "--format", "json", cwd=example).report
    agreement = report["suites"][0]["judge"]["agreement"]
    used = sum(agreement[rate]["measured"] for rate in ("tpr", "tnr"))
    assert used == agreement["agreement"]["measured"] == labels
    assert {agreement[name] for name in ("stale", "disputed", "unmeasured", "not_judged")} == {0}


def test_judge_tone_is_written_by_hand_and_a_judge_that_is_wrong_three_times_of_forty():
    result = proctor("judge", "check", "--order-check", "--format", "json", cwd=TONE)
    assert result.code == 0
    (found,) = result.report["suites"][0]["assertions"]
    counts = ("both_pass", "only_judge_passes", "only_people_pass", "both_fail")
    assert [found["agreement"][name] for name in counts] == [22, 1, 2, 15]
    assert found["agreement"]["enough"]
    assert [flip["case"] for flip in found["order"]["flips"]] == ["short-answer", "kids"]
    for line in (TONE / "evals/cassettes/judge-tone.jsonl").read_text("utf-8").splitlines():
        recording = json.loads(line)
        assert recording["recorded"]["provider"] == "handwritten"
        assert (recording["cost_usd"], recording["usage"]) == (0, None)


@pytest.fixture(scope="module")
def sentiment():
    """The subjects of review-sentiment by their prompt."""
    result = proctor("run", "--format", "json", cwd=SENTIMENT)
    assert result.code == 1
    return {one["prompt"]: one for one in json.loads(result.out)["suites"][0]["subjects"]}


FIGURES = {
    "brief": {
        "per repeat": [11, 7, 8, 11, 9],
        "all": 46,
        "pass@": [0.46, 0.675, 0.81, 0.9, 0.95],
        "pass^": [0.46, 0.245, 0.165, 0.13, 0.1],
        "flaky": 17,
        "barely": 13,
        "n_eff": 61.7749,
        "interval": (0.3417, 0.5830),
    },
    "few-shot": {
        "per repeat": [11, 8, 11, 11, 13],
        "all": 54,
        "pass@": [0.54, 0.785, 0.9, 0.96, 1],
        "pass^": [0.54, 0.295, 0.165, 0.09, 0.05],
        "flaky": 19,
        "barely": 8,
        "n_eff": 90.0687,
        "interval": (0.4375, 0.6392),
    },
}


@pytest.mark.parametrize("prompt", FIGURES)
def test_review_sentiment_fails_honestly_with_the_figures_of_its_200_answers(sentiment, prompt):
    found, wanted = sentiment[prompt], FIGURES[prompt]
    assert [each["passed"] for each in found["per_repeat"]] == wanted["per repeat"]
    assert {each["measured"] for each in found["per_repeat"]} == {20}
    rate = found["pass_rate"]
    assert (rate["passed"], rate["measured"]) == (wanted["all"], 100)
    assert rate["interval"] == pytest.approx(wanted["interval"], abs=5e-5)
    for mark, name in (("pass@", "pass_at_k"), ("pass^", "pass_hat_k")):
        assert [each["value"] for each in found[name]] == pytest.approx(wanted[mark], abs=1e-12)
        assert {(each["units"], each["not_available"]) for each in found[name]} == {(20, 0)}
    units = Counter(
        (each["passed"], each["n"]) for case in found["cases"] for each in case["units"]
    )
    flaky = sum(count for unit, count in units.items() if is_flaky(*unit))
    barely = sum(count for unit, count in units.items() if is_barely_passing(*unit))
    assert (flaky, barely) == (wanted["flaky"], wanted["barely"])
    assert sum(case["flaky"] for case in found["cases"]) == flaky
    assert effective_rows(units) == pytest.approx(wanted["n_eff"], abs=5e-5)
    assert found["checks"]["output-valid"]["passed"] == 100


@pytest.mark.parametrize("prompt", FIGURES)
def test_what_is_written_about_review_sentiment_are_its_figures(prompt):
    of = FIGURES[prompt]
    right, total = [str(count) for count in of["per repeat"]], f"{of['all']}/100"
    at, hat = ([f"{value:g}" for value in of[mark]] for mark in ("pass@", "pass^"))
    low, high = (f"{bound:.4g}" for bound in of["interval"])
    readme = (SENTIMENT / "README.md").read_text(encoding="utf-8")
    assert f"| {' | '.join([prompt, *right, total])} |" in readme
    assert f"| {' | '.join([prompt, *at, *hat])} |" in readme
    page = (EXAMPLES.parent / "docs/repeats.md").read_text(encoding="utf-8")
    cells = [prompt, ", ".join(right), total, ", ".join(at), ", ".join(hat)]
    cells += [str(of["flaky"]), str(of["barely"]), f"{of['n_eff']:.1f}", f"{low} to {high}"]
    assert f"| {' | '.join(cells)} |" in page


@pytest.mark.parametrize("example", [REFUND, SENTIMENT, TONE, NOTES], ids=lambda path: path.name)
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
