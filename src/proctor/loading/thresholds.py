"""The thresholds of a suite, read and checked."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import asdict

from proctor.documents import StructReader
from proctor.records import AgreementLimit, AtKLimit, Thresholds


class ThresholdsFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a run must reach. Rates are shares of 1.

    Args:
        pass_rate: Passed of measured rows, per subject, above 0 to 1.
        max_error_rate: Errored of all rows, 0 to below 1.
        min_measured: Checks with a verdict of all checks of answered rows, above 0 to 1.
        max_cost_usd: The cost of all answers and of their judges, in USD.
        pass_at_k: At least one of `k` repeats passes: the mean over the cases.
        pass_hat_k: All of `k` repeats pass: the mean over the cases.
        judge_agreement: How far judges agree with the labels of people.
    """

    pass_rate: float = 1.0
    max_error_rate: float = 0.0
    min_measured: float = 1.0
    max_cost_usd: float | None = None
    pass_at_k: AtKLimit | None = None
    pass_hat_k: AtKLimit | None = None
    judge_agreement: AgreementLimit | None = None


def read_thresholds(file: ThresholdsFile, reader: StructReader) -> Thresholds:
    """The thresholds; those out of their range are noted in the reader (P6202)."""
    shares: dict[str, float | None] = {
        "passRate": file.pass_rate,
        "minMeasured": file.min_measured,
    }
    for at_k, limit in (("passAtK", file.pass_at_k), ("passHatK", file.pass_hat_k)):
        shares[f"{at_k}.min"] = None if limit is None else limit.min
    if file.judge_agreement is not None:
        given = file.judge_agreement.given
        shares |= {f"judgeAgreement.{name}": share for name, share in given.items()}
        if not given:
            reader.problem(
                "the threshold `judgeAgreement` asks for nothing",
                ("thresholds", "judgeAgreement"),
                hint="write `min`, `minTpr` or `minTnr` into it",
                code="P6202",
            )
    for name, share in shares.items():
        if share is not None and not 0 < share <= 1:
            _out_of_range(name, "above 0, at most 1", reader)
    if not 0 <= file.max_error_rate < 1:
        _out_of_range("maxErrorRate", "from 0 to below 1", reader)
    cost = file.max_cost_usd
    if cost is not None and not (cost >= 0 and math.isfinite(cost)):
        _out_of_range("maxCostUsd", "0 or more", reader)
    return Thresholds(**asdict(file))


def check_labels(limits: Thresholds, labels: str | None, reader: StructReader) -> None:
    """Note a threshold on agreement with people when no file says what people say."""
    if limits.judge_agreement is not None and labels is None:
        reader.problem(
            "the threshold `judgeAgreement` needs `labels`",
            ("thresholds", "judgeAgreement"),
            hint="name the file of the labels: `labels: labels/<suite>.jsonl`",
        )


def check_k(limits: Thresholds, *, of_suite: int, asked: int | None, reader: StructReader) -> None:
    """Note a k that no unit can have rows for.

    Args:
        limits: The thresholds.
        of_suite: The repeats that the suite asks for.
        asked: Those that the command line asks for instead.
        reader: Of the suite's document.
    """
    for name, limit in {"passAtK": limits.pass_at_k, "passHatK": limits.pass_hat_k}.items():
        if limit is None:
            continue
        if limit.k > of_suite:
            rows = f"`repeats` is {of_suite}"
            hint = f"write `repeats: {limit.k}` into the suite, or a smaller `k`"
        elif asked is not None and limit.k > asked:
            rows, hint = f"`--repeats` is {asked}", f"ask for {limit.k} repeats or more"
        else:
            continue
        reader.problem(
            f"the threshold `{name}` asks for k = {limit.k}, but {rows}",
            ("thresholds", name, "k"),
            hint=hint,
        )


def _out_of_range(name: str, allowed: str, reader: StructReader) -> None:
    reader.problem(
        f"the threshold `{name}` must be {allowed}",
        ("thresholds", *name.split(".")),
        hint="a threshold outside its range can never fail, or never hold",
        code="P6202",
    )
