"""Reports to render, made the way a run makes them."""

from msgspec import UNSET
from msgspec.structs import replace

from proctor.aggregating import JudgeFacts, SuiteFacts, SuiteTally, report_head
from proctor.outcomes import row_outcome
from proctor.records import (
    Answer,
    Case,
    Check,
    DatasetReport,
    Finish,
    ModelChoice,
    Outcome,
    Prompt,
    RowError,
    RowResult,
    Severity,
    Subject,
    Thresholds,
    Usage,
    Vote,
    Warn,
)
from proctor.reporting import CaseSpool, RunReport, SpoolStore

PASSED, FAILED, ERRORED, UNMEASURED = Outcome


def subject(prompt="brief", model="local/gemma"):
    return Subject(
        prompt=Prompt(
            id=prompt,
            path=f"prompts/{prompt}.prompt.yaml",
            messages=(),
            inputs={},
            output=None,
            model=None,
            bundle_sha256="b" * 64,
        ),
        model=ModelChoice(ref=model, params={"maxTokens": 24}),
    )


def check(id_="label", outcome=PASSED, *, reason=None, evidence=None, severity=Severity.FAIL):
    return Check(id_, "equals", outcome, severity, reason, evidence)


def wrong(expected="negative", got="positive", *, path="/label"):
    return check(
        outcome=FAILED,
        reason=f"not_equal: {path}",
        evidence={"path": path, "expected": expected, "got": got},
    )


def row(*checks, error=None, text="ok", cost_usd=0.001, repeat=1, tokens=(100, 10, 0)):
    answered = error is None
    return RowResult(
        scenario=None,
        repeat=repeat,
        outcome=row_outcome(checks, error),
        category=None,
        attribution=None,
        answer=Answer(text, [], Finish.STOP, *[None] * 6) if answered else None,
        recording="a" * 64 if answered else None,
        checks=list(checks),
        usage=Usage(*tokens) if answered and tokens else None,
        cost_usd=cost_usd if answered else None,
        latency_ms=812 if answered else None,
        error=error,
    )


def miss(message="no recording: the prompt changed"):
    return row(error=RowError("P6402", message))


def case(id_, *, inputs=None, expected=UNSET):
    return Case(id_, {"review": "Meh."} if inputs is None else inputs, expected)


def votes(letters, *, recordings=None, models="j"):
    """A vote per letter: p passes, f fails, n has no verdict; each with a recording of its own."""
    verdicts = {"p": "pass", "f": "fail", "n": None}
    return [
        Vote(
            verdicts[letter],
            f"because of {letter}",
            f"local/{models[place % len(models)]}",
            f"{letter}{place}" * 32 if recordings is None else recordings[place],
        )
        for place, letter in enumerate(letters)
    ]


def judged(letters, outcome=PASSED, *, id_="tone", reason=None, **options):
    """A check that judges voted on."""
    severity = options.pop("severity", Severity.FAIL)
    made = votes(letters, **options)
    return Check(id_, "llm-judge", outcome, severity, reason, None, made)


def judged_by(text):
    """A judged check that holds `text` wherever what judges say can stand."""
    votes = [Vote(text, text, text, None), Vote(None, text, None, None)]
    return Check(text, "llm-judge", FAILED, reason=text, votes=votes)


def judge_facts(*ids, runs=3, models=("local/j",)):
    """Who judges; `ids` are the assertions that are judged."""
    return JudgeFacts(runs=runs, models=list(models), assertions=list(ids or ["tone"]))


def facts(
    suite="reviews",
    *,
    cases=1,
    repeats=1,
    ids=("label",),
    thresholds=None,
    warnings=(),
    judge=None,
):
    return SuiteFacts(
        suite=suite,
        tiers=["full"],
        repeats=repeats,
        dataset=DatasetReport(
            path=f"evals/datasets/{suite}.jsonl",
            sha256="d" * 64,
            cases=cases,
            selected=cases,
            allow=[],
            allow_pii=None,
            findings=[],
        ),
        assertion_ids=tuple(ids),
        thresholds=thresholds or Thresholds(),
        judge=judge,
        warnings=list(warnings),
    )


def cases_full_of(text):
    """Cases that hold `text` wherever data can stand."""
    return [
        (case(text), [row(wrong({text: text}, text, path=text))]),
        (case(text), [replace(row(error=RowError(text, text)), category=text)]),
        (case(text), [row(check(text, UNMEASURED, reason=text))]),
        (case(text), [row(check(text, FAILED, evidence={"path": 7, "expected": text}))]),
        (case(text), [row(judged_by(text))]),
    ]


def facts_full_of(text, *, cases):
    """The same of a suite."""
    return facts(
        text,
        cases=cases,
        ids=["label", text],
        warnings=[Warn(text, text, text)],
        judge=judge_facts(text, models=[text]),
    )


def report(*suites, partial=False, store=None):
    """A report of suites, each its facts and one `(subject, [(case, rows), ...])` per subject."""
    store = store or SpoolStore()
    heads, spools = [], []
    for suite_facts, *subjects in suites:
        tally = SuiteTally(suite_facts)
        suite_spools = []
        for who, cases in subjects:
            counted = tally.subject(who)
            spool = CaseSpool(store)
            for index, (one, rows) in enumerate(cases):
                added = [counted.add(each) for each in rows]
                spool.add(counted.add_case(one, index=index, rows=added))
            suite_spools.append(spool)
        heads.append(tally.finish())
        spools.append(suite_spools)
    return RunReport(report_head(heads, project="acme", version="0.1.0", partial=partial), spools)


def single(cases, **options):
    """A report of one suite and one subject."""
    return report((facts(cases=len(cases), **options), (subject(), cases)))
