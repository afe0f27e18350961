import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import replace
from sample_reports import case, check, facts, miss, report, row, single, subject, wrong

from proctor.records import CaseResult, RenderOptions, ReportHead, SubjectReport, Warn
from proctor.rendering.report_json import render_json
from proctor.reporting import RunReport

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def rendered(made, **options):
    return b"".join(render_json(made, RenderOptions(**options)))


def parsed(made):
    """The head and the cases as the rendered bytes have them."""
    document = json.loads(rendered(made))
    cases = [
        [convert(subject.pop("cases"), list[CaseResult]) for subject in suite["subjects"]]
        for suite in document["suites"]
    ]
    return convert(document, ReportHead), cases


def as_given(made):
    return made.head, [
        [list(made.cases(place, number)) for number in range(len(suite.subjects))]
        for place, suite in enumerate(made.head.suites)
    ]


def test_layout_of_a_small_report():
    made = report(
        (facts("one"), (subject(), [(case("a", inputs={"n": 1}), [miss("gone")])])),
        (facts("two", cases=0), (subject(), [])),
    )
    lines = rendered(made).decode().split("\n")
    assert lines[:5] == [
        "{",
        '  "schema": "proctor.report.v1",',
        '  "tool": {',
        '    "name": "proctor",',
        '    "version": "0.1.0"',
    ]
    start = lines.index('          "cases": [')
    assert lines[start - 1] == "          },"
    assert lines[start : start + 8] == [
        '          "cases": [',
        '            {"index":0,"id":"a","tags":[],"tiers":[],"outcome":"errored","flaky":false,'
        '"inputs":{"n":1},"expected":null,"expected_sha256":null,'
        '"units":[{"scenario":null,"n":0,"passed":0}],"expectations":[],'
        '"rows":[{"scenario":null,"repeat":1,"outcome":"errored","category":null,'
        '"attribution":null,"answer":null,"recording":null,"checks":[],"usage":null,'
        '"cost_usd":null,"latency_ms":null,"error":{"code":"P6402","message":"gone"}}]}',
        "          ]",
        "        }",
        "      ]",
        "    },",
        "    {",
        '      "suite": "two",',
    ]
    assert lines[-8:] == [
        "          },",
        '          "cases": []',
        "        }",
        "      ]",
        "    }",
        "  ]",
        "}",
        "",
    ]


@pytest.mark.parametrize(
    "made",
    [
        RunReport(single([]).head, [[single([]).cases(0, 0)]]),
        RunReport(replace(single([]).head, suites=[]), []),
        report((facts(),)),
    ],
    ids=["no cases", "no suites", "no subjects"],
)
def test_empty_lists_stay_on_one_line(made):
    text = rendered(made).decode()
    assert json.loads(text) is not None
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def test_keys_come_in_the_order_of_the_structs_and_cases_last():
    document = json.loads(rendered(single([(case("a"), [row(check())])])))
    assert list(document) == list(ReportHead.__struct_fields__)
    (suite,) = document["suites"]
    assert list(suite)[-1] == "subjects"
    assert list(suite["subjects"][0]) == [*SubjectReport.__struct_fields__, "cases"]
    assert list(suite["subjects"][0]["cases"][0]) == list(CaseResult.__struct_fields__)


def test_options_for_people_change_no_byte():
    made = single([(case(str(index)), [row(wrong())]) for index in range(30)])
    assert rendered(made, all_cases=True, colour=True) == rendered(made)


def test_chunks_are_neither_one_per_case_nor_the_whole():
    made = single([(case(str(index)), [row(check())]) for index in range(2_000)])
    sizes = [len(chunk) for chunk in render_json(made, RenderOptions())]
    assert all(30_000 < size < 200_000 for size in sizes[:-1])
    assert len(sizes) > 5


def test_lone_surrogates_are_escaped_in_head_and_cases():
    made = single(
        [(case("a", inputs={"\udc00": "\ud800"}), [row(check(), text="é\udfff")])],
        warnings=[Warn(code=None, message="é\ud83d", where=None)],
    )
    text = rendered(made).decode("utf-8")
    assert '"message": "é\\ud83d"' in text
    assert '{"\\udc00":"\\ud800"}' in text
    assert '"é\\udfff"' in text
    assert parsed(made) == as_given(made)


@given(st.lists(st.tuples(st.text(), values, values), max_size=5), st.text())
def test_what_is_rendered_reads_back_as_it_was(cases, message):
    made = single(
        [
            (case(id_, inputs={"x": value}, expected=expected), [row(wrong(value, id_))])
            for id_, value, expected in cases
        ],
        warnings=[Warn(code=None, message=message, where=message)],
    )
    assert parsed(made) == as_given(made)
    assert rendered(made) == rendered(made)


def test_suites_and_subjects_keep_their_own_cases():
    made = report(
        (
            facts("one", cases=2),
            (subject("x"), [(case("a"), [row(check())]), (case("b"), [row(wrong())])]),
            (subject("y"), [(case("a"), [miss()]), (case("b"), [row(check())])]),
        ),
        (facts("two"), (subject("z"), [(case("c"), [row(check())])])),
    )
    assert parsed(made) == as_given(made)
