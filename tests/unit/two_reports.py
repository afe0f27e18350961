"""Two reports to compare, made the way a run makes them, from letters for rows."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256

from msgspec import UNSET
from msgspec.structs import replace
from sample_reports import case, check, facts, report, row, subject, wrong

from proctor.comparing.matching import NamePair
from proctor.comparing.reports import ReportCases, compare_reports
from proctor.gating import GateOptions, decide
from proctor.records import Outcome, RowError
from proctor.reporting import RunReport


def letter_row(letter, *, repeat, name, answer):
    """A row that passed, failed, was errored or unmeasured: `p`, `f`, `e`, `u`."""
    if letter == "e":
        return row(error=RowError("P6402", "no recording"), repeat=repeat)
    checked = {
        "p": check(),
        "f": wrong(),
        "u": check(outcome=Outcome.UNMEASURED, reason="no_verdict"),
    }[letter]
    one = row(checked, repeat=repeat, text=answer)
    return replace(one, recording=sha256(ascii(name).encode()).hexdigest())


def rows_of(letters, *, name, answers=None):
    """The rows of a case, a letter for each; answers all differ unless they are given."""
    return [
        letter_row(
            letter,
            repeat=repeat,
            name=f"{name}/{repeat}",
            answer=f"{name} {repeat}" if answers is None else answers[repeat - 1],
        )
        for repeat, letter in enumerate(letters, 1)
    ]


def made(cases, *, salt="", expected=None, answers=None, **options):
    """A report of one suite and one subject.

    Args:
        cases: The letters of each case by its id, a letter for each repeat.
        salt: Makes recordings and answers differ from those of another report.
        expected: What single cases expect.
        answers: The answers of single cases, one for each repeat.
        options: `suite`, `prompt`, `model`, `repeats`, `selected` (how many cases were to be run).
    """
    return several({"reviews": {"brief": cases}}, salt, expected or {}, answers or {}, **options)


def several(suites, salt="", expected=None, answers=None, **options):
    """A report of several suites and prompts: the letters by suite, prompt and case."""
    parts = []
    for suite, subjects in suites.items():
        most = max(len(letters) for cases in subjects.values() for letters in cases.values())
        listed = [
            (
                subject(options.get("prompt", prompt), options.get("model", "local/gemma")),
                [
                    (
                        case(id_, expected=(expected or {}).get(id_, UNSET)),
                        rows_of(
                            letters,
                            name=f"{salt}{suite}/{prompt}/{id_}",
                            answers=(answers or {}).get(id_),
                        ),
                    )
                    for id_, letters in cases.items()
                ],
            )
            for prompt, cases in subjects.items()
        ]
        selected = options.get("selected", max(len(cases) for cases in subjects.values()))
        repeats = options.get("repeats", most)
        named = options.get("suite", suite)
        parts.append((facts(named, cases=selected, repeats=repeats), *listed))
    return report(*parts)


def live(one):
    """The report as a live run would have made it."""
    suites = [
        replace(suite, cache=replace(suite.cache, mode="record", live=True))
        for suite in one.head.suites
    ]
    return with_head(one, suites=suites)


def with_head(one, **changes):
    """The report with something else in its head."""
    cases = [
        [one.cases(suite, number) for number in range(len(each.subjects))]
        for suite, each in enumerate(one.head.suites)
    ]
    return RunReport(replace(one.head, **changes), cases)


def placed(one):
    """The cases of a report after the places of their suite and subject."""
    for suite, each in enumerate(one.head.suites):
        for number in range(len(each.subjects)):
            for found in one.cases(suite, number):
                yield suite, number, found


def joined(before, now, *matches):
    """What became of the cases of two reports, before anything is decided."""
    return compare_reports(
        ReportCases(before.head, placed(before)),
        ReportCases(now.head, placed(now)),
        matches=[NamePair(*match.split("=")) for match in matches],
    )


def compared(before, now, *matches, **options):
    """The comparison of two reports; shares may be given as text."""
    for name in ("tolerance", "detect"):
        if name in options:
            options[name] = Fraction(options[name])
    return decide(
        joined(before, now, *matches),
        GateOptions(**options),
        baseline_sha256="0" * 64,
        candidate_sha256="1" * 64,
    )


def only(comparison):
    """The one subject of a comparison."""
    (one,) = comparison.subjects
    return one
