"""A comparison as Markdown: what the comment of a pull request shows when there is a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proctor.records import RenderOptions
from proctor.records.comparison import (
    CaseChange,
    Comparison,
    ComparisonVerdict,
    Label,
    SubjectComparison,
    UnitComparison,
)
from proctor.rendering.comparison_wording import (
    CLAIM,
    VERDICTS,
    chance_text,
    change_points,
    drift_text,
    flipped_cases,
    flips_text,
    gate_text,
    is_same_report,
    label_text,
    limits_text,
    presence_text,
    rates_text,
    side_text,
    single_text,
    subject_text,
    unit_name,
    verdict_text,
)
from proctor.rendering.markdown_parts import (
    MAX_LENGTH,
    Section,
    code,
    code_name,
    heading,
    joined,
)

_FOR_SUBJECTS, _FOR_GATES, _FOR_DRIFT, _FOR_WARNINGS = 12_000, 3_000, 3_000, 5_000
_FOR_NAMES = 6_000
"""What these sections may take at most. The tables of units have all the rest."""

_FLIPS = 10
"""How many cases are named that passed every time and do not now."""

_LIKELY = (Label.HARD_REGRESSION, Label.SOFT_REGRESSION)
_WORTH_WATCHING = (Label.WATCH, Label.UNRELIABLE_BASELINE)

_Entry = tuple[SubjectComparison, UnitComparison]


def render_comparison_markdown(comparison: Comparison, options: RenderOptions) -> Iterator[bytes]:
    """The comparison as GitHub-flavoured Markdown in UTF-8; its first line is that of every run.

    `options` change nothing: how much is shown depends on the room there is.
    """
    yield ComparisonSections(comparison).text().encode("utf-8")


class ComparisonSections:
    """What a comparison says in Markdown, section by section."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._units = [(one, unit) for one in comparison.subjects for unit in one.units]
        self._several = len(comparison.subjects) > 1

    def text(self) -> str:
        """All of it, as it stands alone."""
        head = joined(
            [
                heading(self._comparison.candidate.project),
                "",
                f"> [!{self.alert()}]",
                *(f"> {said}" for said in self.verdict()),
                "",
            ]
        )
        before = head + self.subjects()
        after = self.details()
        tables = self.tables(MAX_LENGTH - len(before) - len(after))
        return f"{before}{tables}{after}".rstrip("\n") + "\n"

    def alert(self) -> str:
        """Which alert there is."""
        comparison = self._comparison
        if comparison.verdict is ComparisonVerdict.REGRESSED:
            return "CAUTION"
        if comparison.verdict is ComparisonVerdict.CANNOT_TELL:
            return "WARNING"
        return "WARNING" if any(unit.label in _LIKELY for _, unit in self._units) else "TIP"

    def verdict(self) -> list[str]:
        """The verdict and why, a line each."""
        comparison = self._comparison
        word = VERDICTS[comparison.verdict]
        return [
            f"**{word}** compared with the baseline: {verdict_text(comparison)}.",
            *(code(doubt) for doubt in comparison.doubts),
        ]

    def subjects(self) -> str:
        """The pass rates of each subject in both reports."""
        if is_same_report(self._comparison):
            return ""
        section = Section(_FOR_SUBJECTS, "| subject | baseline and now |", "|---|---|")
        for one in self._comparison.subjects:
            said = filter(None, (rates_text(one), presence_text(one.match), single_text(one)))
            section.add(f"| {code_name(subject_text(one.match))} | {', '.join(said)} |")
        return section.text("subjects", len(self._comparison.subjects))

    def tables(self, room: int) -> str:
        """What became of cases and units, the most severe first; each takes what is left."""
        parts: list[str] = []
        for title, rows in (
            ("Regressions", self._regressions()),
            ("Likely regressions", self._labelled(lambda unit: unit.label in _LIKELY)),
            ("Worth watching", self._labelled(lambda unit: unit.label in _WORTH_WATCHING)),
            (
                "Too little measured",
                self._labelled(lambda unit: unit.label is Label.INSUFFICIENT_DATA),
            ),
            ("Improvements", self._improvements()),
        ):
            section = Section(
                room,
                f"#### {title}",
                "",
                "| case | now | baseline | change | p |",
                "|---|---|---|---|---|",
            )
            for row in rows:
                section.add(row)
            text = section.text("cases", len(rows))
            room -= len(text)
            parts.append(text)
        return "".join(parts)

    def details(self) -> str:
        """What is not compared, what drifted, the gates, warnings, and what it all can tell."""
        if is_same_report(self._comparison):
            return f"{CLAIM}\n"
        return self._names() + self._drift() + self._gates() + self._warnings() + self._limits()

    def _regressions(self) -> list[str]:
        """What makes a gate red case by case: flagged units, and what changed in single rows."""
        rows = [self._row(entry) for entry in self._units if entry[1].flagged]
        return rows + [
            self._changed(one, change)
            for one in self._comparison.subjects
            if one.single is not None
            for change in one.regressed
        ]

    def _improvements(self) -> list[str]:
        rows = self._labelled(lambda unit: unit.label is Label.IMPROVEMENT)
        return rows + [
            self._changed(one, change)
            for one in self._comparison.subjects
            if one.single is not None
            for change in one.recovered
        ]

    def _labelled(self, is_wanted: Callable[[UnitComparison], bool]) -> list[str]:
        """The units with some labels that no other table shows."""
        return [
            self._row((one, unit))
            for one, unit in self._units
            if is_wanted(unit)
            and not unit.flagged
            and (one.single is None or unit.label is not Label.WATCH)
        ]

    def _row(self, entry: _Entry) -> str:
        one, unit = entry
        return (
            f"| {self._case(one, unit_name(unit))} | {side_text(unit.now)} "
            f"| {side_text(unit.baseline)} | {change_points(unit)} | {chance_text(unit)} |"
        )

    def _changed(self, one: SubjectComparison, change: CaseChange) -> str:
        name = self._case(one, change.id)
        return f"| {name} | {change.now.value} | {change.baseline.value} | | |"

    def _case(self, one: SubjectComparison, name: str) -> str:
        return code_name(f"{subject_text(one.match)}: {name}" if self._several else name)

    def _names(self) -> str:
        """What is in one report only, or not compared."""
        section = Section(_FOR_NAMES, "#### Not compared", "")
        total = 0
        for one in self._comparison.subjects:
            for what, names in (
                ("only in the baseline", one.removed),
                ("only in the candidate", one.added),
                ("expects something else now", one.changed),
            ):
                total += len(names)
                for name in names:
                    section.add(f"- {self._case(one, name)} {what}")
        return section.text("cases", total)

    def _drift(self) -> str:
        section = Section(_FOR_DRIFT, "#### Failure categories that changed", "")
        drifted = [drift for drift in self._comparison.drift if drift.notable]
        for drift in drifted:
            section.add(f"- {code(drift_text(drift))}")
        return section.text("categories", len(drifted))

    def _gates(self) -> str:
        comparison = self._comparison
        lines = [f"#### Gates ({comparison.mode.value})", ""]
        for gate in comparison.gates:
            lines.append(f"- {'**red** ' if gate.red else ''}{gate_text(comparison, gate)}")
        lines += ["", "| units | found | by chance |", "|---|---|---|"]
        for label in Label:
            found, chance = comparison.labels[label], comparison.by_chance[label]
            lines.append(f"| {label_text(label)} | {found} | {chance:.2f} |")
        return joined([*lines, ""])

    def _warnings(self) -> str:
        section = Section(_FOR_WARNINGS, "#### Warnings", "")
        warnings = self._comparison.warnings
        for warning in warnings:
            section.add(f"- {code(' '.join(filter(None, (warning.code, warning.message))))}")
        return section.text("warnings", len(warnings))

    def _limits(self) -> str:
        comparison = self._comparison
        flips, names = flips_text(comparison), flipped_cases(comparison)
        said = [] if flips is None else [f"{flips} {', '.join(map(code_name, names[:_FLIPS]))}"]
        return joined("\n\n".join([*said, *limits_text(comparison), CLAIM]).split("\n"))
