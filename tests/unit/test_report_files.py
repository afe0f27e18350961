import hashlib
import json

import pytest
from msgspec.structs import replace
from sample_reports import case, check, facts, row, single, subject
from sample_reports import report as made_report
from two_reports import made, placed, several

from proctor import report_files
from proctor.errors import FileError, ReportError
from proctor.records import RenderOptions
from proctor.rendering.report_json import render_json
from proctor.report_files import cases_not_passed, load_report, open_report, read_report_bytes


def report(*suites, schema="proctor.report.v1"):
    return {
        "schema": schema,
        "verdict": "failed",
        "suites": [
            {
                "suite": name,
                "subjects": [
                    {"cases": [{"id": id_, "outcome": outcome} for id_, outcome in cases.items()]}
                    for cases in subjects
                ],
            }
            for name, subjects in suites
        ],
    }


@pytest.fixture
def write(tmp_path):
    def written(value):
        path = tmp_path / "report.json"
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return path

    return written


def refused(path):
    with pytest.raises(ReportError) as caught:
        cases_not_passed(path)
    assert caught.value.code == "P6901"
    assert caught.value.where == str(path)
    assert caught.value.hint
    return caught.value.message


def test_cases_that_did_not_pass_for_some_subject_are_found(write):
    path = write(
        report(
            (
                "quiz",
                [
                    {"a": "passed", "b": "failed", "c": "passed"},
                    {"a": "passed", "b": "passed", "c": "errored"},
                ],
            ),
            ("other", [{"a": "unmeasured", "\ud800": "failed"}]),
            ("fine", [{"a": "passed"}]),
        )
    )
    assert cases_not_passed(path) == {
        "quiz": {"b", "c"},
        "other": {"a", "\ud800"},
        "fine": frozenset(),
    }


def test_a_report_that_is_not_there_says_so(tmp_path):
    path = tmp_path / "gone.json"
    assert refused(path) == "the report `gone.json` cannot be read: no such file or directory"


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_file_is_refused(tmp_path, write, kind):
    path = tmp_path / "other.json"
    path.mkdir() if kind == "folder" else path.symlink_to(write(report()))
    with pytest.raises(FileError) as caught:
        cases_not_passed(path)
    assert caught.value.code == "P6805"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"nonsense", "is not JSON: expecting value at column 1"),
        (b'{"schema": "proctor.report.v1", "schema": 1}', "has the key `schema` twice"),
        (b"[" * 100_000, "is nested deeper than 256"),
        (b'{"schema": "proctor.report.v1", "suites": [], "x": ' + b"[" * 100_000, "is nested"),
        (b'{"schema": "proctor.report.v1", "suites": []} {}', "has text after the JSON value"),
        (b'{"schema": "\xff"}', "is not UTF-8"),
    ],
)
def test_what_is_not_json_is_no_report(write, data, said):
    assert refused(write(data)).startswith(f"the report `report.json` {said}")


def test_a_report_as_proctor_writes_it_is_not_made_into_values_whole(write, monkeypatch):
    monkeypatch.setattr(report_files, "parse_json", None)
    made = report(("quiz", [{"a": "failed", "b": "passed"}]))
    made["suites"][0]["subjects"][0]["cases"][0]["rows"] = [{"answer": {"text": "No."}}]
    assert cases_not_passed(write(made)) == {"quiz": {"a"}}


@pytest.mark.parametrize(
    "value",
    [[], "report", {}, {"suites": []}, report(schema="proctor.report.v0"), report(schema=1)],
)
def test_another_format_is_named_as_such(write, value):
    assert refused(write(value)) == (
        "`report.json` is not a report of the format `proctor.report.v1`"
    )


def test_a_newer_format_asks_for_a_newer_version(write):
    path = write(report(schema="proctor.report.v2"))
    assert refused(path) == (
        "`report.json` is a report of the format `proctor.report.v2`, which is newer than this "
        "Proctor"
    )
    with pytest.raises(ReportError, match="which is newer"):
        load_report(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"suites": None}, "`$.suites`"),
        ({"suites": [{"suite": "quiz"}]}, "`subjects`"),
        (report(("quiz", [{"a": "maybe"}])), "maybe"),
        (report(("quiz", [{"a": None}])), "outcome"),
    ],
)
def test_a_report_of_the_wrong_shape_says_where(write, change, said):
    message = refused(write(report() | change))
    assert message.startswith("`report.json` is not a report: ")
    assert said in message


def test_a_report_beyond_the_limit_is_not_read(write, monkeypatch):
    path = write(report())
    size = path.stat().st_size
    monkeypatch.setattr(report_files, "MAX_REPORT", size)
    assert read_report_bytes(path) == path.read_bytes()
    monkeypatch.setattr(report_files, "MAX_REPORT", size - 1)
    assert refused(path) == "`report.json` is larger than 1 GiB"


# Whole reports, case by case


def written_by_proctor(one):
    return b"".join(render_json(one, RenderOptions()))


def compact(one):
    return json.dumps(json.loads(written_by_proctor(one))).encode()


def pretty(one):
    return json.dumps(json.loads(written_by_proctor(one)), indent=2).encode()


def read(path):
    """The cases of a report with their places, its head, and its digest."""
    with open_report(path) as stored:
        cases = list(stored.cases())
        return cases, stored.head, stored.sha256


MANY = several(
    {
        "one": {"brief": {f"case-{n}": "pf" for n in range(150)}, "long": {"a": "pp"}},
        "two": {"brief": {"a": "fp"}},
    }
)
NO_CASES = single([])


@pytest.mark.parametrize("layout", [written_by_proctor, compact, pretty])
@pytest.mark.parametrize("one", [MANY, NO_CASES, made({"a": "p"})])
def test_a_report_is_read_however_it_is_laid_out(write, layout, one):
    path = write(layout(one))
    cases, head, sha256 = read(path)
    assert cases == list(placed(one))
    assert head == one.head
    assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("layout", [written_by_proctor, compact])
def test_a_report_that_is_loaded_gives_its_bytes_again(write, layout):
    loaded = load_report(write(layout(MANY)))
    assert written_by_proctor(loaded) == written_by_proctor(MANY)


def test_whole_latencies_stay_whole(write):
    rows = [replace(row(check()), latency_ms=number) for number in (812, 812.0, 812.5)]
    one = single([(case(f"case-{n}"), [each]) for n, each in enumerate(rows)])
    assert written_by_proctor(load_report(write(written_by_proctor(one)))) == (
        written_by_proctor(one)
    )


def test_lone_surrogates_and_long_integers_survive(write):
    inputs = {"text": "\ud800", "number": 2**80}
    one = single([(case("a", inputs=inputs), [row(check())]), (case("b"), [row(check())])])
    loaded = load_report(write(written_by_proctor(one)))
    assert [each.inputs for each in loaded.cases(0, 0)] == [inputs, {"review": "Meh."}]
    assert written_by_proctor(loaded) == written_by_proctor(one)


def test_cases_are_read_a_few_at_a_time(write, monkeypatch):
    batches = []
    decode = report_files._decode_cases

    def counted(text):
        batches.append(decode(text))
        return batches[-1]

    monkeypatch.setattr(report_files, "_decode_cases", counted)
    with open_report(write(written_by_proctor(MANY))) as stored:
        next(stored.cases())
    assert [len(each) for each in batches] == [64]


def spoiled(one, old, new, count=1):
    data = written_by_proctor(one)
    assert old in data
    return data.replace(old, new, count)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # A key that stands twice is taken by no reader the same way.
        (b'"flaky":false', b'"flaky":true,"flaky":false', "line {} has the key `flaky` twice"),
        (b'"flaky":false', b'"flaky":nonsense', "line {} is not JSON"),
        (b'"flaky":false', b'"flaky":"no"', "is not a report: expected `bool`"),
        (b'"flaky":false,', b"", "is not a report: object missing required field `flaky`"),
        (b'"partial": false', b'"partial": false, "partial": false', "has the key `partial` twice"),
        (b'"suites": [', b'"suites": {', "is not JSON"),
        (b'"error":null}]},\n', b'"error":null}]}\n', "is not JSON: a comma"),
        (b'"error":null}]}\n', b'"error":null}]},\n', "is not JSON: a comma"),
        (b'          "cases": [\n', b'          "cases": [\n            {}\n', "is not JSON"),
    ],
)
def test_damage_says_where_it_is(write, old, new, said):
    data = spoiled(made({"a": "p", "b": "p"}), old, new)
    with pytest.raises(ReportError, match=r"report\.json") as caught:
        read(write(data))
    assert caught.value.code == "P6901"
    line = data.count(b"\n", 0, data.index(new)) + 1
    assert said.format(line) in caught.value.message


def test_a_subject_without_cases_is_none(write):
    value = json.loads(written_by_proctor(made({"a": "p"})))
    del value["suites"][0]["subjects"][0]["cases"]
    with pytest.raises(ReportError, match="a subject has no `cases`"):
        read(write(value))


def test_the_place_of_cases_cannot_be_forged(write):
    """`0` stands for the first block of cases while a report is read, and for nothing in it."""
    value = json.loads(written_by_proctor(made({"a": "p"})))
    value["suites"][0]["subjects"][0]["cases"] = [0]
    with pytest.raises(ReportError, match="contradicts itself"):
        read(write(value))
    block = spoiled(made({"a": "p"}), b'"warnings": []', b'"warnings": [{"cases": [0]}]')
    with pytest.raises(ReportError, match="is not a report"):
        read(write(block))


def test_cases_that_stand_elsewhere_are_not_taken_for_those_of_a_subject(write):
    data = written_by_proctor(made({"a": "p"}))
    start = data.index(b'          "cases": [\n')
    cases = data[start : data.index(b"\n          ]", start)] + b"\n          ]"
    forged = data.replace(cases, b'          "cases": []').replace(
        b'          "params": {\n', b'          "params": {\n' + cases + b",\n"
    )
    with pytest.raises(ReportError, match="contradicts itself"):
        read(write(forged))


def test_a_file_that_changes_while_it_is_read_is_noticed(write):
    path = write(written_by_proctor(made({"a": "p", "b": "p"})))
    with open_report(path) as stored:
        path.write_bytes(path.read_bytes().replace(b'"project": "acme"', b'"project": "emca"'))
        with pytest.raises(ReportError, match="changed while it was read"):
            list(stored.cases())


def test_a_report_that_shrinks_while_it_is_read_is_noticed(write):
    path = write(written_by_proctor(made({"a": "p", "b": "p"})))
    with open_report(path) as stored:
        path.write_bytes(b"{}")
        with pytest.raises(ReportError):
            list(stored.cases())


def test_a_report_beyond_the_limit_is_not_opened(write, monkeypatch):
    path = write(written_by_proctor(made({"a": "p"})))
    monkeypatch.setattr(report_files, "MAX_REPORT", path.stat().st_size - 1)
    with pytest.raises(ReportError, match="is larger than 1 GiB"):
        read(path)


@pytest.mark.parametrize("kind", ["gone", "link", "folder"])
def test_what_is_no_file_is_not_opened(tmp_path, write, kind):
    path = tmp_path / "other.json"
    if kind == "link":
        path.symlink_to(write(report()))
    elif kind == "folder":
        path.mkdir()
    with pytest.raises((ReportError, FileError)) as caught:
        read(path)
    assert caught.value.code == ("P6901" if kind == "gone" else "P6805")


def test_an_error_of_who_reads_is_not_one_of_the_report(write):
    path = write(written_by_proctor(made({"a": "p"})))
    with pytest.raises(OSError, match="no room"), open_report(path):
        raise OSError("no room")


def test_cases_of_two_reports_can_be_read_side_by_side(write, tmp_path):
    path = write(written_by_proctor(MANY))
    with open_report(path) as one, open_report(path) as other:
        assert all(a == b for a, b in zip(one.cases(), other.cases(), strict=True))


def test_a_subject_without_any_case_between_others_is_kept_in_place(write):
    rows = [(case("a"), [row(check())])]
    one = made_report(
        (facts("one", cases=0), (subject(), [])),
        (facts("two", cases=1), (subject(), rows), (subject("long"), rows)),
    )
    for layout in (written_by_proctor, compact):
        assert read(write(layout(one)))[0] == list(placed(one))
