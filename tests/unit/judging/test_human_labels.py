import json
from hashlib import sha256

import pytest

from proctor.judging.labels import JudgedAnswer, Label, agreement, load_labels
from proctor.records import encode_json

SHA = "ab" * 32
SUBJECTS = ["reply@local/tiny"]
WHOLE = {"case": "a", "assertion": "tone", "verdict": "pass", "answer_sha256": SHA}


def load(root, *lines, subjects=SUBJECTS, assertions=("tone",)):
    texts = [line if isinstance(line, (str, bytes)) else json.dumps(line) for line in lines]
    data = b"\n".join(text if isinstance(text, bytes) else text.encode() for text in texts)
    (root / "labels.jsonl").write_bytes(data)
    return load_labels(
        root, "labels.jsonl", subjects=subjects, assertions=assertions, where="q.eval.yaml:3"
    )


def problems(root, *lines, **scope):
    """`line: message` of each problem."""
    _, found = load(root, *lines, **scope)
    assert {one.code for one in found} == {"P6218"}
    return [f"{one.where.removeprefix('labels.jsonl:')}: {one.message}" for one in found]


# Reading


def test_labels_are_read_with_what_is_left_out(tmp_path):
    everything = {**WHOLE, "subject": SUBJECTS[0], "repeat": 3, "by": "ada", "note": "clear"}
    labels, found = load(tmp_path, WHOLE, "", "  ", everything)
    assert found == []
    assert labels == [
        Label(**WHOLE, subject=SUBJECTS[0], repeat=1, by=None, note=None),
        Label(**everything),
    ]


def test_a_byte_order_mark_and_line_ends_of_windows_are_read_over(tmp_path):
    line = json.dumps(WHOLE).encode()
    labels, found = load(tmp_path, b"\xef\xbb\xbf" + line + b"\r", line + b"\r", b"")
    assert (len(labels), found) == (2, [])


def test_an_empty_file_has_no_labels(tmp_path):
    assert load(tmp_path) == ([], [])


def test_a_label_is_written_without_what_it_leaves_out():
    assert json.loads(encode_json(Label(**WHOLE))) == WHOLE


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "the line is not JSON: expecting property name enclosed in double quotes at"),
        ("[]", "a label must be an object, not a list"),
        ('{"case":"a","case":"b"}', "the line has the key `case` twice"),
        (b"\xff", "the line is not UTF-8"),
        ({**WHOLE, "verdit": "pass"}, "unknown key `verdit`"),
        ({**WHOLE, "verdict": "passed"}, "`verdict`: `passed` is not one of pass, fail"),
        ({**WHOLE, "verdict": "PASS"}, "`verdict`: `PASS` is not one of pass, fail"),
        ({**WHOLE, "verdict": None}, "`verdict`: "),
        ({**WHOLE, "repeat": 0}, "`repeat`: "),
        ({**WHOLE, "repeat": 1.5}, "`repeat`: "),
        ({**WHOLE, "answer_sha256": SHA[1:]}, "`answer_sha256`: "),
        ({**WHOLE, "answer_sha256": SHA.upper()}, "`answer_sha256`: "),
        ({**WHOLE, "case": 1}, "`case`: "),
        ({**WHOLE, "note": []}, "`note`: "),
        ({**WHOLE, "assertion": "tome"}, "the suite has no judged assertion `tome`"),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path, line, message):
    [problem] = problems(tmp_path, WHOLE, "", line, WHOLE)
    assert problem.startswith(f"3: {message}")


@pytest.mark.parametrize("name", WHOLE)
def test_what_a_label_cannot_do_without_is_told(tmp_path, name):
    without = {key: value for key, value in WHOLE.items() if key != name}
    assert problems(tmp_path, without) == [f"1: the key `{name}` is missing"]


def test_good_lines_are_read_beside_bad_ones(tmp_path):
    labels, found = load(tmp_path, WHOLE, "no", {**WHOLE, "case": "b"})
    assert ([label.case for label in labels], len(found)) == (["a", "b"], 1)


def test_a_subject_is_needed_when_there_are_several(tmp_path):
    two = ["reply@a/x", "reply@b/y"]
    named = {**WHOLE, "subject": "reply@b/y"}
    assert problems(tmp_path, named, WHOLE, subjects=two) == [
        "2: a label needs a `subject` when the suite has several"
    ]
    labels, _ = load(tmp_path, named, subjects=two)
    assert labels[0].subject == "reply@b/y"


def test_a_subject_that_the_suite_does_not_have_any_more_is_no_problem(tmp_path):
    labels, found = load(tmp_path, {**WHOLE, "subject": "reply@old/x"})
    assert (labels[0].subject, found) == ("reply@old/x", [])


def test_what_was_meant_by_an_assertion_is_suggested(tmp_path):
    _, [first, second] = load(
        tmp_path,
        {**WHOLE, "assertion": "tome"},
        {**WHOLE, "assertion": "shape"},
        assertions=["tone", "facts"],
    )
    assert first.hint == "did you mean `tone`?"
    assert second.hint == "judged assertions: tone, facts"


def test_the_first_twenty_problems_are_told_and_the_others_counted(tmp_path):
    assert len(problems(tmp_path, *["no"] * 20)) == 20
    assert problems(tmp_path, *["no"] * 21)[-1] == "labels.jsonl: and 1 more problem"
    *told, last = problems(tmp_path, *["no"] * 19, {}, "no")
    assert (len(told), last) == (20, "labels.jsonl: and 4 more problems")


def test_a_file_that_is_not_there_is_told_with_the_place_that_names_it(tmp_path):
    labels, [problem] = load_labels(
        tmp_path, "no.jsonl", subjects=SUBJECTS, assertions=["tone"], where="q.eval.yaml:3"
    )
    assert (labels, problem.code, problem.where) == ([], "P6218", "q.eval.yaml:3")
    assert problem.message == "the labels `no.jsonl` cannot be read: no such file or directory"


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "real.jsonl").write_text(json.dumps(WHOLE), encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    labels, [problem] = load_labels(
        tmp_path, "link.jsonl", subjects=SUBJECTS, assertions=["tone"], where="q.eval.yaml:3"
    )
    assert (labels, problem.code) == ([], "P6805")


# Agreement


def text_sha256(text):
    return sha256(text.encode()).hexdigest()


def label(case, verdict, *, text="Yes.", **changes):
    return Label(
        **{
            "case": case,
            "subject": SUBJECTS[0],
            "assertion": "tone",
            "verdict": verdict,
            "answer_sha256": text_sha256(text),
            **changes,
        }
    )


def judged(case, verdict, *, text="Yes.", **changes):
    return JudgedAnswer(
        **{
            "case": case,
            "subject": SUBJECTS[0],
            "repeat": 1,
            "assertion": "tone",
            "verdict": verdict,
            "answer_sha256": text_sha256(text),
            **changes,
        }
    )


def figures(labels, answers):
    return agreement(labels, answers).figures


def counted(both_pass, only_judge_passes, only_people_pass, both_fail):
    """The agreement of as many answers: first what people say, then what the judge says."""
    pairs = [("pass", "pass")] * both_pass + [("fail", "pass")] * only_judge_passes
    pairs += [("pass", "fail")] * only_people_pass + [("fail", "fail")] * both_fail
    return figures(
        [label(str(case), people) for case, (people, _) in enumerate(pairs)],
        [judged(str(case), judge) for case, (_, judge) in enumerate(pairs)],
    )


def cells(found):
    return (
        found.both_pass,
        found.only_judge_passes,
        found.only_people_pass,
        found.both_fail,
    )


def left_out(found):
    return (found.stale, found.disputed, found.unmeasured, found.not_judged)


def test_agreement_and_kappa_are_counted_over_all_answers():
    found = counted(40, 2, 3, 5)
    assert cells(found) == (40, 2, 3, 5)
    assert (found.agreement.passed, found.agreement.measured) == (45, 50)
    assert found.kappa == pytest.approx(0.6082, abs=5e-5)
    assert left_out(found) == (0, 0, 0, 0)


def test_rates_are_those_of_what_people_say_with_their_intervals():
    found = counted(2, 0, 1, 10)
    assert (found.tpr.passed, found.tpr.measured) == (2, 3)
    assert found.tpr.interval == pytest.approx((0.2077, 0.9385), abs=5e-5)
    assert (found.tnr.passed, found.tnr.measured, found.tnr.rate) == (10, 10, 1)
    whole = counted(5, 0, 0, 0)
    assert whole.agreement.interval == pytest.approx((0.5655, 1), abs=5e-5)
    assert (whole.tnr.rate, whole.tnr.interval, whole.kappa) == (None, (0, 1), None)


def test_without_labels_nothing_is_available():
    found = figures([], [judged("a", "pass")])
    assert (found.agreement.rate, found.kappa, found.tpr.rate, found.tnr.rate) == (None,) * 4
    assert not found.enough


@pytest.mark.parametrize(
    ("table", "enough"),
    [
        ((20, 0, 0, 10), True),
        ((10, 5, 5, 10), True),
        ((0, 10, 20, 0), True),
        ((19, 0, 0, 10), False),
        ((21, 0, 0, 9), False),
        ((9, 0, 0, 21), False),
        ((50, 0, 0, 0), False),
    ],
)
def test_thirty_labels_and_ten_of_either_verdict_are_enough(table, enough):
    assert counted(*table).enough is enough


def test_a_label_of_another_text_is_stale_and_not_used():
    labels = [label("a", "pass", text="No."), label("a", "pass"), label("b", "fail", text="No.")]
    found = figures(labels, [judged("a", "pass"), judged("b", "fail")])
    assert (cells(found), left_out(found)) == ((1, 0, 0, 0), (2, 0, 0, 0))


def test_people_who_disagree_are_counted_and_left_out():
    labels = [label("a", "pass", by="ada"), label("a", "fail", by="bob"), label("b", "pass")]
    found = figures(labels, [judged("a", "pass"), judged("b", "pass")])
    assert (cells(found), left_out(found)) == ((1, 0, 0, 0), (0, 1, 0, 0))


def test_people_who_agree_count_once():
    labels = [label("a", "pass", by="ada"), label("a", "pass", by="bob")]
    found = agreement(labels, [judged("a", "fail")])
    assert cells(found.figures) == (0, 0, 1, 0)
    assert [(one.label.by, one.judge) for one in found.disagreements] == [("ada", "fail")]


def test_a_stale_label_disputes_nothing():
    labels = [label("a", "fail", text="No.", by="ada"), label("a", "pass", by="bob")]
    found = figures(labels, [judged("a", "pass")])
    assert (cells(found), left_out(found)) == ((1, 0, 0, 0), (1, 0, 0, 0))


def test_an_answer_without_a_verdict_is_counted_and_left_out():
    found = figures([label("a", "pass"), label("b", "pass")], [judged("a", None)])
    assert (cells(found), left_out(found)) == ((0, 0, 0, 0), (0, 0, 1, 1))


@pytest.mark.parametrize(
    "changes",
    [{"case": "b"}, {"subject": "reply@b/y"}, {"repeat": 2}, {"assertion": "facts"}],
)
def test_a_label_is_of_one_case_subject_repeat_and_assertion(changes):
    found = figures([label("a", "pass")], [judged(**{"case": "a", "verdict": "pass"} | changes)])
    assert (cells(found), left_out(found)) == ((0, 0, 0, 0), (0, 0, 0, 1))
    same = figures(
        [label(**{"case": "a", "verdict": "pass"} | changes)],
        [judged(**{"case": "a", "verdict": "pass"} | changes)],
    )
    assert cells(same) == (1, 0, 0, 0)


def test_disagreements_are_listed_in_the_order_of_the_answers():
    labels = [label("a", "pass"), label("b", "fail"), label("c", "pass", note="clear")]
    found = agreement(labels, [judged("c", "fail"), judged("b", "fail"), judged("a", "fail")])
    assert [(one.label.case, one.label.note) for one in found.disagreements] == [
        ("c", "clear"),
        ("a", None),
    ]


def test_an_answer_without_labels_changes_nothing():
    found = figures([label("a", "pass")], [judged("a", "pass"), judged("b", "fail")])
    assert (cells(found), left_out(found)) == ((1, 0, 0, 0), (0, 0, 0, 0))
