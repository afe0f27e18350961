import doctest
import sys

import pytest
from asking import answered, assertion, case, check, refusal, verdict

from proctor.assertions import similarity
from proctor.assertions.similarity import metric_of, words
from proctor.records import Outcome

METRICS = ["levenshtein", "jaro-winkler", "rouge-l", "bleu"]
CAT = "the cat sat on the mat"


@pytest.fixture
def forgetful():
    """Forget which libraries are there, before and after."""
    metric_of.cache_clear()
    yield
    metric_of.cache_clear()


@pytest.mark.parametrize(
    ("metric", "expected", "got", "score"),
    [
        ("levenshtein", "kitten", "sitting", 4 / 7),
        ("levenshtein", "abc", "", 0),
        ("levenshtein", "a\ud800", "a", 1 / 2),
        ("jaro-winkler", "MARTHA", "MARHTA", 0.961111),
        ("rouge-l", "police killed the gunman", "police kill the gunman", 3 / 4),
        ("rouge-l", "The cat, on THE mat!", "the_cat (on the) mat", 1),
        ("rouge-l", CAT, "the cat the mat", 4 / 5),
        ("rouge-l", "abc", "", 0),
        ("bleu", CAT, "the cat", 0.135335),
        ("bleu", "the cat sat", "the cat", 0.606531),
        ("bleu", CAT, "", 0),
        ("bleu", "abc", "xyz", 0),
    ],
)
def test_scores_are_those_of_the_literature(metric, expected, got, score):
    assert metric_of(metric)(expected, got) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_a_text_is_fully_similar_to_itself(metric):
    assert metric_of(metric)(CAT, CAT) == 1
    assert verdict("similarity", CAT, value=CAT, metric=metric, min=1) == "passed"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("text", "fields", "result"),
    [
        (CAT, {}, "passed"),
        ("zzz", {}, "not_similar"),
        (CAT.upper(), {"ignoreCase": True}, "passed"),
        (f"  {CAT}\n", {"trim": True, "min": 1}, "passed"),
        (None, {}, "no_text"),
        (CAT, {"negate": True}, "similar"),
        ("zzz", {"negate": True}, "passed"),
        (None, {"negate": True}, "no_text"),
        (f'{{"f": "{CAT}"}}', {"field": "f"}, "passed"),
        ('{"f": [1]}', {"field": "f"}, "not_text: f"),
        ('{"f": 12}', {"field": "f"}, "not_similar: f"),
    ],
)
def test_a_score_is_enough_or_it_is_not(metric, text, fields, result):
    fields = {"min": 0.9, "value": CAT, **fields}
    assert verdict("similarity", text, metric=metric, **fields) == result


def test_a_score_at_the_limit_is_enough():
    fields = {"metric": "levenshtein", "value": "abcdefghij"}
    assert verdict("similarity", "abcdefgxyz", min=0.7, **fields) == "passed"
    assert verdict("similarity", "abcdefgxyz", min=0.1 + 0.2 + 0.4, **fields) == "passed"
    assert verdict("similarity", "abcdefgxyz", min=0.700001, **fields) == "not_similar"


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(("got", "expected"), [(20_001, 1), (1, 20_001)])
def test_a_text_over_20000_characters_gives_no_verdict(got, expected, negate):
    one = assertion("similarity", metric="levenshtein", min=0.5, negate=negate)
    result = one.check(answered("a" * got), case("a" * expected))
    assert (result.outcome, result.reason) == (Outcome.UNMEASURED, "too_long")
    assert result.evidence == {"characters": 20_001, "limit": 20_000}


@pytest.mark.parametrize("metric", METRICS)
def test_20000_characters_are_compared(metric):
    text = "ab c " * 4_000
    other = f"{text[:-5]}xy z "
    assert verdict("similarity", text, value=other, metric=metric, min=0.9) == "passed"


@pytest.mark.parametrize(
    ("metric", "library", "extra"),
    [
        ("levenshtein", "rapidfuzz", "similarity"),
        ("jaro-winkler", "rapidfuzz", "similarity"),
        ("rouge-l", "rapidfuzz", "similarity"),
        ("bleu", "sacrebleu", "bleu"),
    ],
)
def test_a_library_that_is_missing_gives_no_verdict_and_names_the_extra(
    metric, library, extra, monkeypatch, forgetful
):
    for name in list(sys.modules):
        if name.partition(".")[0] == library:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    result = check("similarity", "a", value="a", metric=metric, min=1)
    assert result.outcome is Outcome.UNMEASURED
    assert result.reason == f"not_installed: proctor[{extra}]"


def test_no_library_is_loaded_before_the_first_answer(monkeypatch):
    def load(name):
        raise AssertionError(name)

    monkeypatch.setattr(similarity, "metric_of", load)
    one = assertion("similarity", metric="bleu", min=0.5)
    assert one.needs(case("a")) is None
    assert one.check(answered(None), case("a")).reason == "no_text"


def test_an_expected_text_without_words_has_no_rouge():
    result = check("similarity", "?!", "!!", metric="rouge-l", min=0.5)
    assert (result.outcome, result.reason) == (Outcome.UNMEASURED, "no_words")


def test_words_of_any_script_are_words():
    assert words("Straße_2, Ñandú") == ["strasse", "2", "ñandú"]


def test_no_answer_is_kept_once_it_is_scored():
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    check("similarity", CAT, CAT, metric="bleu", min=0.5)
    for tokenizer in (Tokenizer13a, TokenizerRegexp):
        assert tokenizer.__call__.cache_info().currsize == 0


def test_evidence_shows_the_score_and_the_texts():
    result = check("similarity", "abxx", value="abcd", metric="levenshtein", min=0.9)
    assert result.evidence == {
        "expected": "abcd",
        "got": "abxx",
        "metric": "levenshtein",
        "score": 0.5,
        "min": 0.9,
    }


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ((), "the case has no `expected`"),
        (("",), "its expected value is an empty text, which nothing is similar to"),
        ((" \n",), "its expected value is an empty text, which nothing is similar to"),
        ((["a"],), "its expected value is not a text"),
        ((7,), None),
        (("a",), None),
    ],
)
def test_a_case_that_nothing_can_be_compared_with_is_told(expected, sentence):
    one = assertion("similarity", metric="rouge-l", min=0.5)
    assert one.needs(case(*expected)) == sentence


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"min": 0}, "P6202 every score is at least `min`"),
        ({"min": -1}, "P6202 every score is at least `min`"),
        ({"min": float("nan")}, "P6202 every score is at least `min`"),
        ({"min": 1.1}, "P6201 `min` is above 1, and no score is"),
        ({"value": ""}, "P6201 `value` is an empty text, which nothing is similar to"),
        ({"value": ["a"]}, "P6201 `value` is not a text"),
        ({"value": "a", "expected": "b"}, "P6201 `value` and `expected` exclude each other"),
    ],
)
def test_a_spec_that_cannot_work_or_cannot_fail_is_refused(fields, message):
    assert refusal("similarity", **{"metric": "levenshtein", "min": 0.5, **fields}) == message


def test_examples_in_docstrings_hold():
    assert doctest.testmod(similarity).failed == 0
