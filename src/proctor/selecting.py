"""Which suites, subjects and cases of an exam are run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import Struct

from proctor.protocols import CaseSource
from proctor.records import AnySubject, Case
from proctor.registry import did_you_mean
from proctor.sharding import Shard


class Miss(NamedTuple):
    """What was asked for and is not there: the option, its value, what it fits, what was meant."""

    option: str
    value: str
    fits: str
    hint: str | None = None


class Selection(Struct, frozen=True, kw_only=True):
    """What to run; everything when nothing is given. All that is given must fit.

    Args:
        cases: Globs, one of which the case's id matches.
        tags: Tags, one of which the case has.
        models: Model references, one of which is the subject's.
        prompts: Prompt ids, one of which is the subject's.
        tiers: Tiers, one of which the case has, or its suite when the case names none.
        include: Texts, one of which is part of the suite's name or of the case's id.
        exclude: Texts, none of which is part of either.
        first: At most this many cases of each suite, of those that fit.
        failed: Per suite the ids of the cases that did not pass in an earlier report.
        shard: Which part of what all of this selects.
    """

    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    first: int | None = None
    failed: Mapping[str, frozenset[str]] | None = None
    shard: Shard | None = None

    def takes_subject(self, subject: AnySubject) -> bool:
        """Whether a subject is to be run."""
        if self.models and subject.model.ref not in self.models:
            return False
        return not self.prompts or subject.prompt_id in self.prompts

    def places(
        self, suite: str, dataset: CaseSource, tiers: Sequence[str] = ()
    ) -> list[int] | range:
        """The 0-based places of the cases to run, in order.

        Args:
            suite: The name of the suite.
            dataset: Its cases.
            tiers: Its tiers, which hold for cases that name none.
        """
        if self._takes_every_case:
            return range(len(dataset))
        return list(self._fitting(suite, dataset, tiers))

    def misses(self, datasets: Sequence[CaseSource], subjects: Sequence[AnySubject]) -> list[Miss]:
        """The globs, tags, models and prompts that fit nothing, each looked at by itself.

        Args:
            datasets: The cases there are. They are read as long as a glob or tag fits none.
            subjects: The subjects there are.
        """
        count = sum(len(dataset) for dataset in datasets)
        globs, tags = self._without_case(datasets)
        misses = [Miss("case", glob, f"0 of {count} cases") for glob in globs]
        misses += [Miss("tag", tag, f"0 of {count} cases") for tag in tags]
        refs = {subject.model.ref for subject in subjects}
        prompts = {subject.prompt_id for subject in subjects if subject.prompt_id is not None}
        for option, wanted, known in (
            ("model", self.models, refs),
            ("prompt", self.prompts, prompts),
        ):
            misses += [
                Miss(
                    option,
                    name,
                    f"0 of {len(subjects)} subjects",
                    did_you_mean(name, sorted(known)),
                )
                for name in wanted
                if name not in known
            ]
        return misses

    def _without_case(self, datasets: Iterable[CaseSource]) -> tuple[list[str], list[str]]:
        globs, tags = list(self.cases), list(self.tags)
        for dataset in datasets:
            for place in range(len(dataset)):
                if not globs and not tags:
                    return [], []
                case = dataset.case(place)
                globs = [glob for glob in globs if not fnmatchcase(case.id, glob)]
                tags = [tag for tag in tags if tag not in case.tags]
        return globs, tags

    @property
    def _takes_every_case(self) -> bool:
        return (
            not (self.cases or self.tags or self.tiers or self.include or self.exclude)
            and self.first is None
            and self.failed is None
        )

    def _fitting(self, suite: str, dataset: CaseSource, tiers: Sequence[str]) -> Iterator[int]:
        left = len(dataset) if self.first is None else self.first
        for place in range(len(dataset)):
            if left == 0:
                return
            case = dataset.case(place)
            is_of_tier = not self.tiers or not {*self.tiers}.isdisjoint(case.tiers or tiers)
            if is_of_tier and self._takes_case(suite, case):
                left -= 1
                yield place

    def _takes_case(self, suite: str, case: Case) -> bool:
        if self.cases and not any(fnmatchcase(case.id, glob) for glob in self.cases):
            return False
        if self.tags and not set(self.tags) & set(case.tags):
            return False
        if self.failed is not None and case.id not in self.failed.get(suite, ()):
            return False
        if any(text in suite or text in case.id for text in self.exclude):
            return False
        return not self.include or any(text in suite or text in case.id for text in self.include)


def of_shard(
    shard: Shard, selected: Sequence[tuple[CaseSource, Sequence[int]]]
) -> list[Sequence[int]]:
    """What of the cases of some suites is in a shard, suite by suite.

    Args:
        shard: The shard.
        selected: Of each suite the dataset and the places of the cases that were selected.
    """
    ids = [[dataset.case(place).id for place in places] for dataset, places in selected]
    own = shard.split(id_ for suite in ids for id_ in suite)
    return [
        [place for place, id_ in zip(places, suite, strict=True) if id_ in own]
        for (_, places), suite in zip(selected, ids, strict=True)
    ]
