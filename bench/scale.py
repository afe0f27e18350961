"""Measures live runs whose calls workers make, and reckons what more workers would do.

Usage: python bench/scale.py [ROWS]

Each run records the answers of a scripted provider, 100,000 rows unless another number is given:
in its own process, then with one and with two workers of a Ray cluster on this machine. The script
answers at once, so what is measured is what a row costs the run itself and the workers.

From the two costs of a row follows a simulation of 8 to 64 workers, for providers that take a while
and for calls that keep a processor busy, as local models and programs do. It prints a table, and
draws it into `bench/out/scale.svg`.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from math import log2
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

from proctor.asking_rules import AskingRules, WorkerRules
from proctor.cassette_files import CassetteFolder
from proctor.cassettes import CacheMode
from proctor.clock import Clock
from proctor.config import load_config
from proctor.evaluation import select
from proctor.executors.batches import decode_body
from proctor.pipeline import load_exam
from proctor.protocols import Progress
from proctor.providers.scripted import ScriptedProvider, load_script
from proctor.records import Call, Message, ModelChoice, Outcome, Request, encode_json
from proctor.running.engine import Stop
from proctor.selecting import Selection
from proctor.suite_runs import run_selected
from proctor.worker_messages import ProviderCall, Replied

ROWS = 100_000
IN_FLIGHT = 256
OUT = Path(__file__).parent / "out"
MANY = (1, 2, 8, 16, 32, 64)
"""How many workers are reckoned with."""
SIMULATED = 20_000
"""Rows of a simulation."""

PROJECT = """\
project = "scale"
max_cases = 1000000
[providers.local]
kind = "scripted"
answers = "script.jsonl"
"""
PROMPT = """\
model: {ref: local/tiny, maxTokens: 16}
inputs:
  question: {type: string}
output:
  label: {type: string}
user: "{{input.question}}"
"""
SUITE = """\
prompt: answer
dataset: cases.jsonl
assertions:
  - {id: right, kind: equals, field: label}
"""


class Run(NamedTuple):
    """A run: how long it took, and how long this process computed meanwhile; both in seconds."""

    wall_s: float
    own_s: float


class Quiet:
    """Follows a run, and says only what it is told."""

    stop: Stop | None = None

    def __init__(self) -> None:
        self.began = self.took = Run(0.0, 0.0)

    def note(self, text: str) -> None:
        """One line."""
        if text.startswith("warning"):
            print(text)

    def asking(self, stop: Stop, rows: int, clock: Clock) -> Quiet:
        """Follow it."""
        return self

    def __enter__(self) -> Progress:
        self.began = Run(time.perf_counter(), time.process_time())
        return self

    def __exit__(self, *_: object) -> None:
        wall_s, own_s = self.began
        self.took = Run(time.perf_counter() - wall_s, time.process_time() - own_s)

    def row_done(self, outcome: Outcome) -> None:
        """A row has finished."""

    def money(self, spent_usd: float, remaining_usd: float | None) -> None:
        """Nothing costs anything."""

    def waiting(self, provider: str, wait_s: float, attempt: int, reason: str) -> None:
        """Nobody waits."""


def write_project(root: Path, rows: int) -> None:
    """A project of so many rows, each with a case and a call of its own."""
    (root / "prompts").mkdir(parents=True)
    (root / "evals").mkdir()
    (root / "proctor.toml").write_text(PROJECT, encoding="utf-8")
    (root / "prompts/answer.prompt.yaml").write_text(PROMPT, encoding="utf-8")
    (root / "evals/scale.eval.yaml").write_text(SUITE, encoding="utf-8")
    (root / "script.jsonl").write_text('{"text": "{\\"label\\": \\"yes\\"}"}\n', encoding="utf-8")
    with (root / "evals/cases.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            case = {
                "id": f"case-{number:06}",
                "inputs": {"question": f"Is {number} a number?"},
                "expected": {"label": "yes"},
            }
            file.write(json.dumps(case) + "\n")


def run(root: Path, workers: WorkerRules | None) -> Run:
    """Run the project once; neither loading it nor starting a cluster counts."""
    flags = {"concurrency": IN_FLIGHT}
    config = load_config(root, is_root=True, flags=flags, environ={})
    folder = CassetteFolder(root, root, "evals/cassettes", "evals/cassettes")
    rules = AskingRules(cache=CacheMode.OFF, workers=workers)
    with closing(load_exam(config)) as exam:
        selected = select(exam, Selection())
        watch = Quiet()
        report = run_selected(rules, selected, folder=folder, config=config, watch=watch)
    assert report.head.verdict == "passed", report.head.verdict  # noqa: S101 - or nothing is measured
    rmtree(root / ".proctor", ignore_errors=True)
    return watch.took


def cost_of_a_call(root: Path) -> float:
    """What a call costs a worker, in seconds: read, made and written again."""
    script = load_script(root, "script.jsonl")
    call = ProviderCall(
        "local",
        Request(
            model=ModelChoice(ref="local/tiny", params={"maxTokens": 16}),
            messages=(Message(role="user", content="Is 123456 a number?"),),
            output_schema={"type": "object"},
        ),
        Call("case-123456", "0" * 64, 1),
    )
    body = encode_json(call)
    provider, times = ScriptedProvider(script), 20_000

    async def calls() -> float:
        begin = time.process_time()
        for _ in range(times):
            one = decode_body(body, ProviderCall)
            encode_json(Replied(await provider.complete(one.request, one.call)))
        return (time.process_time() - begin) / times

    return asyncio.run(calls())


class Costs(NamedTuple):
    """Seconds of a processor that a row takes: of the run itself, and of a worker."""

    run_s: float
    worker_s: float


class Kind(NamedTuple):
    """What calls are like.

    Args:
        name: In words.
        waits_s: How long a provider takes.
        computes_s: How long a call keeps a worker busy beside that.
        at_once: Calls in flight for each worker.
    """

    name: str
    waits_s: float
    computes_s: float
    at_once: int


def simulate(costs: Costs, kind: Kind, workers: int) -> float:
    """Rows per second of a run, event by event.

    The run sends and takes back one row after the other. A worker computes for one call after the
    other; waiting for a provider takes nothing of anybody.

    Args:
        costs: What a row takes.
        kind: What calls are like.
        workers: How many there are, each with a processor.
    """
    run_free, free = 0.0, [0.0] * workers
    coming: list[tuple[float, int]] = []
    begun = done = 0
    in_flight = [0] * workers
    while done < SIMULATED:
        seat = min(range(workers), key=lambda one: in_flight[one])
        may_send = begun < SIMULATED and in_flight[seat] < kind.at_once
        if may_send and (not coming or coming[0][0] > run_free):
            run_free += costs.run_s / 2
            free[seat] = max(free[seat], run_free) + costs.worker_s + kind.computes_s
            heapq.heappush(coming, (free[seat] + kind.waits_s, seat))
            in_flight[seat] += 1
            begun += 1
            continue
        back, seat = heapq.heappop(coming)
        run_free = max(run_free, back) + costs.run_s / 2
        in_flight[seat] -= 1
        done += 1
    return SIMULATED / run_free


KINDS = (
    Kind("a provider that takes 1 s, 32 calls at once on each worker", 1.0, 0.0, 32),
    Kind("a provider that takes 1 s, 2 ms of an SDK", 1.0, 0.002, 32),
    Kind("a program or model that computes for 100 ms", 0.0, 0.1, 2),
)


def draw(lines: Sequence[tuple[str, Sequence[float]]], bound: float) -> str:
    """The table as a picture: rows per second over workers, both by powers of two."""
    width, height, left, top = 640, 360, 70, 30
    highest = max(bound, *(max(one) for _, one in lines))
    lowest = min(min(one) for _, one in lines)

    def x(workers: int) -> float:
        return left + log2(workers) / log2(MANY[-1]) * (width - left - 20)

    def y(rate: float) -> float:
        share = log2(rate / lowest) / log2(highest / lowest)
        return height - 40 - share * (height - 40 - top)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 20 * len(lines)}" '
        'font-family="sans-serif" font-size="12">',
        f'<text x="{left}" y="16">rows per second over workers; dashed: what the run itself can do'
        "</text>",
        f'<line x1="{left}" x2="{width - 20}" y1="{y(bound):.1f}" y2="{y(bound):.1f}" '
        'stroke="#888" stroke-dasharray="4"/>',
        f'<text x="8" y="{y(bound) + 4:.1f}">{bound:,.0f}</text>',
    ]
    parts += [f'<text x="{x(one) - 6:.1f}" y="{height - 20}">{one}</text>' for one in MANY]
    for (name, rates), colour in zip(lines, ("#1b6ca8", "#b3541e", "#3a7d44"), strict=True):
        points = " ".join(f"{x(n):.1f},{y(rate):.1f}" for n, rate in zip(MANY, rates, strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        below = height + 20 * [one for one, _ in lines].index(name)
        parts.append(f'<text x="{left}" y="{below}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Measure, reckon, print and draw."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    folder = Path(mkdtemp(prefix="scale-"))
    try:
        root = folder / "project"
        write_project(root, rows)
        print(f"{rows:,} rows of a script that answers at once, {IN_FLIGHT} in flight")
        print(f"{'':<16}{'rows/s':>10}{'seconds':>10}{'of this process':>17}")
        took: dict[str, Run] = {}
        for name, workers in (
            ("this process", None),
            ("1 worker", WorkerRules(count=1)),
            ("2 workers", WorkerRules(count=2)),
        ):
            one = took[name] = run(root, workers)
            print(f"{name:<16}{rows / one.wall_s:>10,.0f}{one.wall_s:>10.1f}{one.own_s:>17.1f}")
        costs = Costs(took["2 workers"].own_s / rows, cost_of_a_call(root))
    finally:
        rmtree(folder, ignore_errors=True)
    print(
        f"\na row takes {costs.run_s * 1e6:,.0f} us of the run and {costs.worker_s * 1e6:,.0f} us "
        f"of a worker: the run itself can do {1 / costs.run_s:,.0f} rows/s\n"
    )
    print(f"{'rows/s, simulated, with workers':<62}" + "".join(f"{n:>8}" for n in MANY))
    lines = []
    for kind in KINDS:
        rates = [simulate(costs, kind, workers) for workers in MANY]
        lines.append((kind.name, rates))
        print(f"{kind.name:<62}" + "".join(f"{rate:>8,.0f}" for rate in rates))
    OUT.mkdir(exist_ok=True)
    (OUT / "scale.svg").write_text(draw(lines, 1 / costs.run_s), encoding="utf-8")
    print(f"\ndrawn into {OUT / 'scale.svg'}")


if __name__ == "__main__":
    main()
