"""What a suite may ask of the agreement of its judges with people."""

import pytest

from proctor.documents import Document, StructReader
from proctor.errors import SuiteError
from proctor.loading.thresholds import ThresholdsFile, check_labels, read_thresholds
from proctor.records import AgreementLimit, Thresholds


def problems(judge_agreement, *, labels="labels/quiz.jsonl"):
    """`code: message` of each problem."""
    value = {"thresholds": {"judgeAgreement": judge_agreement}}
    document = Document("evals/quiz.eval.yaml", value, {(): 1})
    reader = StructReader(document, error=SuiteError, code="P6201")
    file = reader.read(ThresholdsFile, value["thresholds"], ("thresholds",))
    if file is not None:
        limits = read_thresholds(file, reader)
        check_labels(limits, labels, reader)
    return [f"{one.code}: {one.message}" for one in reader.problems]


@pytest.mark.parametrize(
    "given", [{"min": 0.8}, {"minTpr": 1}, {"min": 0.5, "minTpr": 0.6, "minTnr": 1e-9}]
)
def test_any_of_the_three_will_do(given):
    assert problems(given) == []


@pytest.mark.parametrize("name", ["min", "minTpr", "minTnr"])
@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan"), float("inf")])
def test_a_share_out_of_its_range_is_refused(name, share):
    assert problems({name: share}) == [
        f"P6202: the threshold `judgeAgreement.{name}` must be above 0, at most 1"
    ]


def test_asking_for_nothing_is_refused():
    assert problems({}) == ["P6202: the threshold `judgeAgreement` asks for nothing"]


def test_an_unknown_key_is_told():
    assert problems({"min": 0.8, "minTPR": 0.8}) == [
        "P6201: unknown key `minTPR` in `thresholds.judgeAgreement`"
    ]


def test_agreement_with_nobody_is_refused():
    assert problems({"min": 0.8}, labels=None) == [
        "P6201: the threshold `judgeAgreement` needs `labels`"
    ]


def test_without_the_threshold_no_labels_are_needed():
    reader = StructReader(Document("x", {}, {(): 1}), error=SuiteError, code="P6201")
    check_labels(Thresholds(), None, reader)
    assert reader.problems == []


def test_those_that_are_given_have_the_names_of_the_suite():
    assert AgreementLimit(min=0.8, min_tnr=0.5).given == {"min": 0.8, "minTnr": 0.5}
