"""All pairs of two subjects: judged, counted, and what that says."""

from __future__ import annotations

from collections import Counter

from proctor.canonical import RecordingsDigest
from proctor.errors import ExitCode
from proctor.evidence.preferences import PreferenceFigures, preference_figures
from proctor.judging.pairs import IDENTICAL, INCONSISTENT, NO_MAJORITY, SAID_TIE, Preference
from proctor.pairwise.pairing import PairedReports
from proctor.pairwise.panels import Panel, self_judged
from proctor.pairwise.results import JudgedPair, PairSession
from proctor.records import CacheReport, Tool
from proctor.records.pairwise import (
    PAIRWISE_SCHEMA,
    Inconsistency,
    JudgeCost,
    PairCounts,
    PairOutcome,
    PairResult,
    Pairwise,
    PairwiseVerdict,
    SignTest,
    TieCounts,
)
from proctor.sums import SplitCost
from proctor.version import VERSION

_CODES = {
    PairwiseVerdict.UNMEASURED: ExitCode.UNMEASURED,
    PairwiseVerdict.INTERRUPTED: ExitCode.INTERRUPTED,
}


def compare_pairs(
    project: str, panel: Panel, reports: PairedReports, session: PairSession
) -> Pairwise:
    """Have every pair judged, and say who is preferred.

    Args:
        project: The project's id.
        panel: Who judges.
        reports: Both sides and their pairs.
        session: Where the replies of judges come from.
    """
    tally = _Tally()
    for judged in session.judged(panel, reports.pairs):
        tally.add(judged)
    counts = tally.counts(reports.pairs.rows)
    figures = preference_figures(tally.wins())
    verdict = _verdict(counts, figures)
    return Pairwise(
        schema=PAIRWISE_SCHEMA,
        tool=Tool("proctor", VERSION),
        project=project,
        suite=panel.suite,
        verdict=verdict,
        exit_code=int(_CODES.get(verdict, ExitCode.OK)),
        a=reports.a,
        b=reports.b,
        rubric=panel.rubric.prompt.id,
        rubric_sha256=panel.rubric.prompt.bundle_sha256,
        judges=[judge.model.ref for judge in panel.judges],
        counts=counts,
        ties=tally.ties(),
        win_rate=figures.win_rate,
        sign_test=SignTest(figures.a_cases, figures.b_cases, figures.even_cases, figures.p),
        inconsistency=tally.inconsistency(),
        cache=tally.cache(session.mode),
        cost=tally.cost(),
        unpaired=reports.unpaired,
        warnings=[*panel.warnings, *self_judged(panel, reports)],
        pairs=tally.pairs,
    )


def _verdict(counts: PairCounts, figures: PreferenceFigures) -> PairwiseVerdict:
    if counts.not_run:
        return PairwiseVerdict.INTERRUPTED
    if counts.errored or counts.unmeasured:
        return PairwiseVerdict.UNMEASURED
    if not figures.is_settled:
        return PairwiseVerdict.UNDECIDED
    return PairwiseVerdict.A if figures.a_cases > figures.b_cases else PairwiseVerdict.B


class _Tally:
    """Counts pairs as they come."""

    def __init__(self) -> None:
        self.pairs: list[PairResult] = []
        self._won: dict[tuple[str, str | None], list[int]] = {}
        self._verdicts: Counter[str | None] = Counter()
        self._recordings = RecordingsDigest()
        self._recorded = self._replayed = self._asked = 0
        self._usd = SplitCost()

    def add(self, judged: JudgedPair) -> None:
        """Count the next pair."""
        result = judged.result
        self.pairs.append(result)
        if result.outcome in (PairOutcome.A, PairOutcome.B, PairOutcome.TIE):
            won = self._won.setdefault((result.case, result.scenario), [0, 0])
            won[0] += result.outcome is PairOutcome.A
            won[1] += result.outcome is PairOutcome.B
            self._verdicts.update(vote.verdict for vote in result.votes)
        for call in judged.calls:
            self._asked += call.asked
            if not call.replied:
                continue
            if call.recording is not None:
                self._recorded += call.asked
                self._replayed += not call.asked
                self._recordings.add(call.recording)
            is_paid = call.asked or call.recording is None
            (self._usd.paid if is_paid else self._usd.replayed).add(call.cost_usd)

    def wins(self) -> Counter[tuple[int, int]]:
        """How many cases have so many pairs won by A and by B."""
        return Counter((a, b) for a, b in self._won.values())

    def counts(self, planned: int) -> PairCounts:
        """The pairs by outcome, of so many that there are."""
        found = Counter(pair.outcome for pair in self.pairs)
        by_name = {outcome.value: found[outcome] for outcome in PairOutcome}
        return PairCounts(pairs=planned, not_run=planned - len(self.pairs), **by_name)

    def ties(self) -> TieCounts:
        """The ties by what makes them such."""
        reasons = Counter(pair.reason for pair in self.pairs if pair.outcome is PairOutcome.TIE)
        return TieCounts(
            said_tie=reasons[SAID_TIE],
            inconsistent=reasons[INCONSISTENT],
            no_majority=reasons[NO_MAJORITY],
            identical=reasons[IDENTICAL],
        )

    def inconsistency(self) -> Inconsistency:
        """Verdicts of single judges that changed with the order, over measured pairs."""
        verdicts = sum(n for verdict, n in self._verdicts.items() if verdict is not None)
        count = self._verdicts[Preference.INCONSISTENT.value]
        return Inconsistency(count, verdicts, count / verdicts if verdicts else None)

    def cache(self, mode: str) -> CacheReport:
        """Where the replies came from."""
        return CacheReport(
            mode=mode,
            live=self._asked > 0,
            replayed=self._replayed,
            recorded=self._recorded,
            digest=self._recordings.hex(),
        )

    def cost(self) -> JudgeCost:
        """What the replies cost."""
        return JudgeCost(
            paid=self._usd.paid.total,
            replayed=self._usd.replayed.total,
            unknown=self._usd.whole.unknown,
        )
