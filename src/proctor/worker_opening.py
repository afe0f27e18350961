"""Opening workers for a live run, and what stands for providers and targets then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from proctor.agent_opening import open_agents
from proctor.asking_rules import AskingRules
from proctor.call_worker import CallWorker, config_sha256
from proctor.config import Config
from proctor.errors import raise_all
from proctor.evaluation import SelectedSuite
from proctor.executors.batches import decode_body
from proctor.executors.ray import RayCluster
from proctor.executors.workers import WorkerPool
from proctor.journaling import plan_sha256
from proctor.providers.access import OpenProvider
from proctor.providers.budget import Budget
from proctor.records import encode_json
from proctor.target_protocols import LiveTarget
from proctor.targets.agent import AgentTarget
from proctor.version import VERSION
from proctor.worker_asking import WorkerProvider, WorkerTarget
from proctor.worker_messages import Job, JobSuite, Welcome

_SETTINGS = ("project", "evals", "prompts", "max_cases", "concurrency")


class OpenWorkers(NamedTuple):
    """Workers that are ready for a run; close them at the end.

    Args:
        pool: The workers.
        providers: What stands for the providers, by name.
        agents: What stands for the targets, by the names of their suites.
    """

    pool: WorkerPool
    providers: dict[str, OpenProvider]
    agents: dict[str, LiveTarget]

    def close(self) -> None:
        """End the workers, and leave the cluster."""
        self.pool.close()


class Asked(Struct, frozen=True):
    """Who is asked: providers by name, targets by the names of their suites and of themselves."""

    providers: Collection[str]
    targets: Collection[tuple[str, str]]


def open_workers(
    rules: AskingRules,
    selected: Sequence[SelectedSuite],
    asked: Asked,
    *,
    config: Config,
    budget: Budget | None,
    note: Callable[[str], None],
) -> OpenWorkers:
    """Go to the cluster and get workers ready, before anything is asked.

    Args:
        rules: What asking may do.
        selected: What is run.
        asked: Who is asked.
        config: The project.
        budget: What may be spent.
        note: Takes one line for the reader.

    Raises:
        ProviderError: P6301 without Ray, or for a cluster that cannot be used.
        RunError: P6707 when a worker does not see the same project.
        ProctorError: What else stands in the way.
    """
    assert rules.workers is not None  # noqa: S101 - the caller has looked
    heard = _Welcomes()
    job = job_of(rules, selected, asked, config)
    cluster = RayCluster(CallWorker, encode_json(job), heard.accept)
    began = cluster.start(rules.workers.address, rules.workers.count)
    pool = WorkerPool(cluster, began, note=note)
    note(f"workers: {len(began)}")
    for text in heard.notes():
        note(text)
    try:
        providers = {
            name: OpenProvider(WorkerProvider(name, opened, pool), opened.key)
            for name, opened in heard.all[0].providers.items()
        }
        agents = open_agents(
            selected,
            asked.targets,
            rules=rules,
            access=rules.access(),
            root=config.root,
            note=note,
            elsewhere=_targets(pool, heard.all[0], selected, budget).__getitem__,
        )
    except BaseException:
        pool.close()
        raise
    return OpenWorkers(pool, providers, agents)


def _targets(
    pool: WorkerPool, welcome: Welcome, selected: Sequence[SelectedSuite], budget: Budget | None
) -> dict[str, LiveTarget]:
    """What stands for the targets of suites."""
    found: dict[str, LiveTarget] = {}
    for suite in selected:
        target = suite.subjects[0].target
        opened = welcome.targets.get(suite.name)
        if opened is not None and isinstance(target, AgentTarget):
            most = target.max_cost_usd.get("build", 0.0)
            found[suite.name] = WorkerTarget(
                suite.name, pool, opened, build_cost_usd=most, budget=budget
            )
    return found


class _Welcomes:
    """What workers say when they are asked to get ready."""

    def __init__(self) -> None:
        self.all: list[Welcome] = []

    def accept(self, said: bytes) -> None:
        """Take what one says.

        Raises:
            ProctorError: What stands in its way.
        """
        welcome = decode_body(said, Welcome)
        raise_all([problem.error() for problem in welcome.problems])
        self.all.append(welcome)

    def notes(self) -> Iterable[str]:
        """What they have to say, once."""
        return dict.fromkeys(text for one in self.all for text in one.notes)


def job_of(
    rules: AskingRules, selected: Sequence[SelectedSuite], asked: Asked, config: Config
) -> Job:
    """What workers have to be ready for."""
    return Job(
        version=VERSION,
        root=str(config.root),
        settings={name: getattr(config.values, name) for name in _SETTINGS},
        rules=rules,
        suites=[
            JobSuite(
                one.name,
                [subject.target.subject.id for subject in one.subjects],
                list(one.plan.places),
                one.plan.repeats,
            )
            for one in selected
        ],
        plan_sha256=plan_sha256(selected),
        config_sha256=config_sha256(config),
        providers=sorted(asked.providers),
        targets=sorted({suite for suite, _ in asked.targets}),
    )
