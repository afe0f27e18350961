import json

import pytest

from proctor import report_files
from proctor.errors import FileError, ReportError
from proctor.report_files import cases_not_passed, read_report_bytes


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
    [[], "report", {}, {"suites": []}, report(schema="proctor.report.v2"), report(schema=1)],
)
def test_another_format_is_named_as_such(write, value):
    assert refused(write(value)) == (
        "`report.json` is not a report of the format `proctor.report.v1`"
    )


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
