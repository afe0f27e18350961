import doctest
import html
import re
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_reading import (
    HOSTILE,
    parsed,
    visible,
)
from msgspec.structs import replace
from sample_reports import (
    ERRORED,
    FAILED,
    UNMEASURED,
    case,
    cases_full_of,
    check,
    facts,
    facts_full_of,
    miss,
    report,
    row,
    single,
    subject,
    wrong,
)

from proctor.records import RenderOptions, Severity, Thresholds, Warn
from proctor.rendering import markdown_parts
from proctor.rendering.escaping import terminal_text
from proctor.rendering.markdown import render_markdown
from proctor.rendering.markdown_parts import MAX_LENGTH, code
from proctor.reporting import RunReport


def rendered(made, **options):
    return b"".join(render_markdown(made, RenderOptions(**options))).decode("utf-8")


def golden(text):
    return dedent(text).lstrip("\n")


def test_examples_in_docstrings_hold():
    result = doctest.testmod(markdown_parts)
    assert (result.attempted > 0, result.failed) == (True, 0)


def test_a_run_that_passed():
    assert visible(rendered(single([(case("a"), [row(check())])]))) == golden("""
        ### Proctor: acme

        > [!NOTE]
        > **PASSED** 1 of 1 row passed. Every threshold holds. There is no baseline to compare with.

        - cost $0.001 recorded, $0 paid now
        - tokens 100 in, 10 out, 0 cached
        - replayed 1, nothing was called

        #### Suites

        | suite | subject | rows | pass rate [95%] | repeats |
        |---|---|---|---|---|
        | reviews | brief@local/gemma | passed 1/1, failed 0, errored 0, unmeasured 0 | 1 [0.2065, 1] |  |
    """)  # noqa: E501 - a row of a table is one line


def failing():
    repeated = [row(check()), row(wrong(), repeat=2), row(wrong(), repeat=3)]
    return report(
        (
            facts(cases=3, repeats=3, thresholds=Thresholds(pass_rate=0.9)),
            (
                subject(),
                [
                    (case("late"), [replace(miss(), repeat=n, category="timeout") for n in (1, 2)]),
                    (case("shaky"), repeated),
                    (case("fine"), [row(check(), repeat=n) for n in (1, 2, 3)]),
                ],
            ),
        ),
        (
            facts("other", warnings=[Warn("P6217", "no system message", "prompts/a.prompt.yaml")]),
            (subject("few-shot"), [(case("a"), [row(check())])]),
        ),
    )


def test_a_run_that_failed():
    assert visible(rendered(failing())) == golden("""
        ### Proctor: acme

        > [!WARNING]
        > **INTERRUPTED** 5 of 10 rows passed, 2 failed, 2 errored, 1 not run. The run was stopped before its end.

        - cost $0.007 recorded, $0 paid now
        - tokens 700 in, 70 out, 0 cached
        - replayed 7, nothing was called

        #### Thresholds

        - reviews: not met: passRate is 0.666667, at least 0.9 is asked for
        - reviews: not met: maxErrorRate is 0.222222, at most 0 is asked for

        #### Cases that did not pass

        | case | subject | outcome | first finding |
        |---|---|---|---|
        | shaky | reviews: brief@local/gemma | failed, passed 1/3 | repeats 2-3: label: /label: expected "negative", got "positive" |
        | late | reviews: brief@local/gemma | errored, passed 0/0 (0 of 2 measured) | repeats 1-2: P6402: no recording: the prompt changed |

        shaky reviews: brief@local/gemma: failed, passed 1/3

        - repeats 2-3: label: /label: expected "negative", got "positive"



        late reviews: brief@local/gemma: errored, passed 0/0 (0 of 2 measured)

        - repeats 1-2: P6402: no recording: the prompt changed




        #### Failure categories

        | category | rows |
        |---|---|
        | timeout | 2 |

        #### Suites

        | suite | subject | rows | pass rate [95%] | repeats |
        |---|---|---|---|---|
        | reviews | brief@local/gemma | passed 4/6, failed 2, errored 2, unmeasured 0, not run 1 (6 of 9 measured) | 0.6667 [0.1594, 0.9547] | per repeat: 100% / 50% / 50%, pass@3 n/a, pass^3 n/a (0 of 3 cases have 3 measured rows in repeats that were run whole), 1 flaky, 1 barely passing |
        | other | few-shot@local/gemma | passed 1/1, failed 0, errored 0, unmeasured 0 | 1 [0.2065, 1] |  |

        #### Warnings

        - other P6217 no system message prompts/a.prompt.yaml
    """)  # noqa: E501 - a row of a table is one line


def test_a_case_that_failed_can_be_opened():
    made = single([(case("late-return"), [row(wrong("a", "b"))])])
    block = rendered(made).partition("<details>")[2].partition("</details>")[0]
    finding = (
        "label&#58;&#32;&#47;label&#58;&#32;expected&#32;&#34;a&#34;&#44;&#32;got&#32;&#34;b&#34;"
    )
    assert block == (
        "<summary><code>late&#45;return</code> "
        "<code>reviews&#58;&#32;brief&#64;<!-- -->local&#47;gemma</code>: failed</summary>\n"
        f"\n- <code>{finding}</code>\n\n"
    )


PASSING = [(case("a"), [row(check())])]
STEADY = [(case("a"), [row(check()), row(check(), repeat=2)])]
FLAKY = [(case("a"), [row(check()), row(wrong(), repeat=2)])]
HALF = Thresholds(pass_rate=0.5)


@pytest.mark.parametrize(
    ("made", "alert", "because"),
    [
        (single(PASSING), "NOTE", "There is no baseline to compare with."),
        (single(STEADY, repeats=2), "NOTE", "There is no baseline to compare with."),
        (single([(case("a"), [row(wrong())])]), "CAUTION", "A threshold does not hold."),
        (single([(case("a"), [miss()])]), "WARNING", "something could not be measured."),
        (single(FLAKY, repeats=2, thresholds=HALF), "WARNING", "but 1 case is flaky."),
        (single(FLAKY * 2, repeats=2, thresholds=HALF), "WARNING", "but 2 cases are flaky."),
        (report((facts(), (subject(), PASSING)), partial=True), "WARNING", "A shard is missing."),
        (
            report((facts(cases=2), (subject(), PASSING))),
            "WARNING",
            "The run was stopped before its end.",
        ),
    ],
)
def test_there_is_one_alert_which_says_why(made, alert, because):
    lines = rendered(made).split("\n")
    assert lines[0] == "### Proctor: acme"
    assert lines[2] == f"> [!{alert}]"
    assert lines[3].endswith(because)
    assert sum(line.startswith("> [!") for line in lines) == 1


def test_options_change_nothing():
    made = failing()
    assert rendered(made, all_cases=True, colour=True) == rendered(made)


def full_of(text):
    """A report that holds `text` wherever data can stand."""
    cases = cases_full_of(text)
    suite = facts_full_of(text, cases=len(cases))
    made = report((suite, (subject(text, text), cases), (subject("other"), cases)))
    head = replace(made.head, project=text)
    return RunReport(head, [[made.cases(0, 0), made.cases(0, 1)]])


@pytest.mark.parametrize("text", HOSTILE)
def test_data_is_one_piece_of_inline_code_and_can_be_read(text):
    shown = code(text)
    assert re.fullmatch(r"<code>([A-Za-z0-9\x80-\U0010ffff]|&#\d+;|<!-- -->)*</code>", shown)
    safe = terminal_text(text[:300])
    if len(text) <= 300 and len(safe) <= 300:
        assert visible(shown) == safe
    else:
        assert visible(shown) == f"{safe[:300]}..."
    # What GitHub takes for an address needs a letter right after the sign.
    assert "@" not in html.unescape(shown.replace("&#64;<!-- -->", ""))


@pytest.mark.parametrize("text", HOSTILE)
def test_every_row_of_a_table_has_the_cells_of_its_head(text):
    lines = rendered(full_of(text)).split("\n")
    tables = 0
    for place, line in enumerate(lines):
        if re.fullmatch(r"\|(---\|)+", line):
            tables += 1
            rows = [lines[place - 1]]
            for following in lines[place + 1 :]:
                if not following:
                    break
                rows.append(following)
            assert len(rows) > 1
            assert {each.count("|") for each in rows} == {line.count("|")}
            assert all(each.startswith("| ") and each.endswith(" |") for each in rows)
    assert tables == 4


@given(st.text(st.characters(), max_size=40))
def test_any_text_stays_within_its_code(text):
    (paragraph,) = [each for each in parsed(f"x {code(text)} y") if each.type == "inline"]
    kinds = {child.type for child in paragraph.children}
    assert kinds <= {"text", "html_inline"}
    told = "".join(child.content for child in paragraph.children if child.type == "text")
    assert told == f"x {terminal_text(text)} y"


def test_a_project_that_is_no_project_id_is_data_too():
    made = single(PASSING)
    made = RunReport(replace(made.head, project="a @b"), [[made.cases(0, 0)]])
    assert rendered(made).split("\n")[0] == f"### Proctor: {code('a @b')}"
    made = RunReport(replace(made.head, project="@" * 300), [[made.cases(0, 0)]])
    assert visible(rendered(made)).split("\n")[0] == f"### Proctor: {'@' * 200}..."


def big(cases, *, warnings=()):
    kinds = [
        lambda n: row(check(outcome=UNMEASURED, reason=f"unmeasured {n}")),
        lambda n: miss(f"miss {n}"),
        lambda n: row(wrong(got=f"got {n}")),
    ]
    return single([(case(f"case-{n}"), [kinds[n % 3](n)]) for n in range(cases)], warnings=warnings)


def test_a_report_that_is_too_long_leaves_out_the_least_severe_and_says_so():
    text = rendered(big(3_000))
    assert MAX_LENGTH * 0.9 < len(text) <= MAX_LENGTH
    lines = visible(text).split("\n")
    table = [line for line in lines if line.startswith("| case-")]
    assert all("| failed |" in line for line in table)
    assert f"Left out: {3_000 - len(table)} of 3000 cases." in lines
    blocks = text.count("<details>")
    assert blocks > 50
    assert f"Left out: {3_000 - blocks} of 3000 cases in detail." in lines
    assert lines.index("#### Suites") > lines.index(
        f"Left out: {3_000 - len(table)} of 3000 cases."
    )


def test_failed_cases_stand_before_errored_and_unmeasured_ones():
    lines = visible(rendered(big(9))).split("\n")
    outcomes = [line.split(" | ")[2] for line in lines if line.startswith("| case-")]
    assert outcomes == ["failed"] * 3 + ["errored"] * 3 + ["unmeasured"] * 3
    assert "Left out" not in "\n".join(lines)


def test_when_only_blocks_are_cut_the_table_is_whole():
    lines = [row(check(f"c{n}", FAILED, reason=f"{n} {'- ' * 140}")) for n in range(10)]
    rows = [replace(each, repeat=n) for n, each in enumerate(lines, 1)]
    ids = [f"c{n}" for n in range(10)]
    made = single([(case(f"case-{n}"), rows) for n in range(14)], repeats=10, ids=ids)
    text = rendered(made)
    assert len(text) <= MAX_LENGTH
    assert text.count("\n| <code>case") == 14
    blocks = text.count("<details>")
    assert 0 < blocks < 14
    assert f"Left out: {14 - blocks} of 14 cases in detail.\n" in text
    assert "findings.\n" in text


def test_every_section_has_its_limit():
    warnings = [Warn(f"W{n}", "| " * 200, "x" * 300) for n in range(200)]
    cases = [
        (case(f"{'i' * 120}{n}"), [replace(miss("@" * 500), category=f"kind {n}")])
        for n in range(100)
    ]
    suites = [
        (facts(f"suite-{n}", cases=100, warnings=warnings), (subject(f"prompt-{n}"), cases))
        for n in range(120)
    ]
    text = rendered(report(*suites))
    assert len(text) <= MAX_LENGTH
    for heading in ("Thresholds", "Cases that did not pass", "Failure categories", "Suites"):
        assert f"\n#### {heading}\n" in text
    for noun in ("thresholds", "cases", "cases in detail", "categories", "subjects", "warnings"):
        assert re.search(rf"\nLeft out: \d+ of \d+ {noun}\.\n", text), noun


def test_subjects_that_did_not_pass_stand_first():
    bad, lacking = [(case("a"), [row(wrong())])], [(case("a"), [row(check(outcome=ERRORED))])]
    made = report(
        (facts("good"), (subject("one"), PASSING)),
        (facts("lacking"), (subject("two"), lacking)),
        (facts("bad"), (subject("three"), bad), (subject("four"), PASSING)),
    )
    table = visible(rendered(made)).partition("#### Suites")[2].split("\n")[4:8]
    assert [line.split(" | ")[1].partition("@")[0] for line in table] == [
        "three",
        "two",
        "one",
        "four",
    ]


def test_a_section_without_anything_to_say_is_not_there():
    text = rendered(single(PASSING))
    for absent in ("Thresholds", "Cases", "Failure", "Warnings", "<details>"):
        assert absent not in text


@settings(max_examples=25)
@given(st.lists(st.text(st.characters(), max_size=300), min_size=1, max_size=5))
def test_whatever_it_holds_the_report_fits(texts):
    for text in texts:
        assert len(rendered(full_of(text * 20))) <= MAX_LENGTH


def test_checks_that_only_warn_are_counted():
    mild = check("style", FAILED, reason="too_long", severity=Severity.WARN)
    made = single(
        [(case("a"), [row(check(), mild)]), (case("b"), [row(wrong(), mild)])],
        ids=("label", "style"),
    )
    warnings = visible(rendered(made)).partition("Warnings")[2]
    assert "reviews: brief@local/gemma" in warnings
    assert "style failed in 2 of 2 rows" in warnings
    assert "label" not in warnings
