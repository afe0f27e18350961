"""What the benchmark runs: Proctor, floors under it, and other tools beside it.

A floor is a bare script that does the same work with nothing around it. A peer is another tool,
installed under the folder that `PEERS` names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from checks import HTTP_PORT, LIVE_CASES, LIVE_CONCURRENCY, LIVE_LATENCY_MS, failing
from hostile import TEXTS

BENCH = Path(__file__).resolve().parent
DATA = BENCH / "data"
SIZES = (100, 1_000, 10_000, 50_000)
STARTUP = "startup"
LIVE = "live"
HTTP = "http"
HOSTILE = "hostile"
CANDIDATES = "candidates"
COMPARE = "compare"
COMPARED = 50_000
EVALUATIONS = 100_000
FLOORS = ("replay", "stdlib", "stream")
# Beyond these numbers of cases a peer takes minutes.
PEER_LIMITS = {
    "promptfoo": 50_000,
    "inspect": 10_000,
    "deepeval": 10_000,
    "pydantic-evals": 50_000,
}
# From this number of cases on, peers run in the first round alone.
PEERS_ONCE_FROM = 10_000


class Kind(StrEnum):
    """What a contestant stands for in the comparison."""

    PROCTOR = "proctor"
    FLOOR = "floor"
    PEER = "peer"


@dataclass(frozen=True)
class Bar:
    """What a whole run of Proctor may cost."""

    wall_s: float
    peak_mb: float | None = None


@dataclass(frozen=True)
class Contestant:
    """One command of a group.

    Args:
        name: What the table calls it.
        kind: What it stands for.
        command: Program and arguments.
        env: Variables beside those of the benchmark itself.
        exit_code: How it ends when all is well.
        report: The file or folder it writes, removed before each run.
        reader: How `verdicts.py` reads its verdicts; none for what checks nothing.
        bar: What it may cost; none for floors and peers.
        once: Whether it runs in the first round alone.
        leftovers: What else a run writes, removed before the next one.
    """

    name: str
    kind: Kind
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    exit_code: int = 0
    report: Path | None = None
    reader: str | None = None
    bar: Bar | None = None
    once: bool = False
    leftovers: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Group:
    """Contestants that are measured in the same rounds.

    Args:
        name: What the command line calls it.
        title: The heading of its table.
        cases: How many cases each contestant runs; 0 for a start alone.
        contestants: In the order of a round.
        server: What listens on loopback while one of them runs; it prints a line when it does.
    """

    name: str
    title: str
    cases: int
    contestants: tuple[Contestant, ...]
    server: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        """How many cases a correct contestant passes."""
        return self.cases - failing(self.cases)


_BIN = Path(sys.executable).parent
_SCRIPT_ENV = {"PYTHONPATH": str(BENCH)}
_REPLAY_BARS = {
    100: Bar(0.2),
    1_000: Bar(0.3),
    10_000: Bar(1.0, peak_mb=100),
    50_000: Bar(3.5, peak_mb=150),
}
_LIVE_BAR = Bar(1.4)
_HOSTILE_BAR = Bar(1.0)
_CANDIDATES_BAR = Bar(1.0)
_COMPARE_BAR = Bar(2.5, peak_mb=300)


def startup(peers: Path | None, out: Path) -> Group:
    """The group of programs that start, say something, and end."""
    own = [
        Contestant("python -c pass", Kind.FLOOR, (sys.executable, "-c", "pass")),
        Contestant(
            "proctor --version",
            Kind.PROCTOR,
            (str(_BIN / "proctor"), "--version"),
            bar=Bar(0.08),
        ),
        Contestant("import proctor", Kind.PROCTOR, (sys.executable, "-c", "import proctor")),
    ]
    others = _peer_starts(peers, out) if peers else ()
    return Group(STARTUP, "Starting", 0, (*own, *others))


def replay(cases: int, peers: Path | None, out: Path) -> Group:
    """The group that replays and checks the same number of cases."""
    contestants = [
        _proctor(str(cases), out, bar=_REPLAY_BARS.get(cases)),
        *(_floor(name, cases, out) for name in FLOORS),
        *(_peer_replays(cases, peers, out) if peers else ()),
    ]
    return Group(str(cases), f"{cases:,} cases", cases, tuple(contestants))


def live(out: Path) -> Group:
    """The group that waits for every answer."""
    project = DATA / f"proctor-{LIVE}"
    own = _proctor(
        LIVE,
        out,
        *("--cache", "record", "--concurrency", str(LIVE_CONCURRENCY)),
        bar=_LIVE_BAR,
        leftovers=(project / ".proctor", project / "evals" / "cassettes"),
    )
    waits = (str(LIVE_LATENCY_MS), str(LIVE_CONCURRENCY))
    title = (
        f"{LIVE_CASES:,} scripted calls of {LIVE_LATENCY_MS} ms at concurrency {LIVE_CONCURRENCY}"
    )
    return Group(LIVE, title, LIVE_CASES, (own, _floor("asking", LIVE_CASES, out, *waits)))


def http(out: Path) -> Group:
    """The group that asks a server on loopback through OpenAI's SDK."""
    project = DATA / f"proctor-{HTTP}"
    own = _proctor(
        HTTP,
        out,
        *("--cache", "record", "--concurrency", str(LIVE_CONCURRENCY)),
        *("--allow-local", "--max-cost", "0"),
        bar=None,
        leftovers=(project / ".proctor", project / "evals" / "cassettes"),
    )
    address = (f"http://127.0.0.1:{HTTP_PORT}/v1", str(LIVE_CONCURRENCY))
    server = (
        *(sys.executable, str(BENCH / "loopback.py"), str(data_file(LIVE_CASES))),
        *(str(HTTP_PORT), str(LIVE_LATENCY_MS)),
    )
    title = (
        f"{LIVE_CASES:,} calls of {LIVE_LATENCY_MS} ms over loopback HTTP at concurrency "
        f"{LIVE_CONCURRENCY}; the bar is 1.25 times the floor"
    )
    floor = _floor("sdk", LIVE_CASES, out, *address)
    return Group(HTTP, title, LIVE_CASES, (own, floor), server)


def hostile() -> Group:
    """The group that scans text made to be hard to scan."""
    contestants = [
        Contestant(
            f"lint: {name}",
            Kind.PROCTOR,
            (str(_BIN / "proctor"), "lint", "--cwd", str(hostile_folder() / name)),
            bar=_HOSTILE_BAR,
        )
        for name in TEXTS
    ]
    return Group(HOSTILE, "A mebibyte of hostile text in one case", 0, tuple(contestants))


def candidates() -> Group:
    """The group that compares prompt candidates within one process."""
    contestants = [
        Contestant(
            name,
            kind,
            (sys.executable, str(script), str(EVALUATIONS)),
            env=_SCRIPT_ENV,
            reader="printed",
            bar=bar,
        )
        for name, kind, script, bar in (
            ("evaluate", Kind.PROCTOR, BENCH / "evaluate.py", _CANDIDATES_BAR),
            ("floor: loops", Kind.FLOOR, BENCH / "floors" / "candidates.py", None),
        )
    ]
    title = f"{EVALUATIONS:,} evaluations of candidates"
    return Group(CANDIDATES, title, EVALUATIONS, tuple(contestants))


def compare() -> Group:
    """The group that compares two reports of the same cases."""
    reports = tuple(str(compare_folder() / name) for name in ("before.json", "now.json"))
    own = Contestant(
        "proctor compare",
        Kind.PROCTOR,
        (str(_BIN / "proctor"), "compare", *reports, "--fail-on-regression"),
        exit_code=1,
        bar=_COMPARE_BAR,
    )
    floor = Contestant(
        "floor: two reports",
        Kind.FLOOR,
        (sys.executable, str(BENCH / "floors" / "compare.py"), *reports),
        exit_code=1,
    )
    title = f"{COMPARED:,} cases against {COMPARED:,}"
    return Group(COMPARE, title, COMPARED, (own, floor))


def compare_folder() -> Path:
    """Where the reports are that are compared."""
    return DATA / COMPARE


def hostile_folder() -> Path:
    """Where the projects with hostile text are."""
    return DATA / f"proctor-{HOSTILE}"


def data_file(cases: int) -> Path:
    """The cases as floors and peers read them."""
    return DATA / f"d{cases}.jsonl"


def promptfoo_folder(cases: int) -> Path:
    """The cases as promptfoo reads them."""
    return DATA / f"promptfoo-{cases}"


def _proctor(
    name: str, out: Path, *options: str, bar: Bar | None, leftovers: tuple[Path, ...] = ()
) -> Contestant:
    report = out / f"proctor-{name}.json"
    command = (
        *(str(_BIN / "proctor"), "run", *options),
        *("--cwd", str(DATA / f"proctor-{name}")),
        *("--format", "json", "--out", str(report)),
    )
    return Contestant(
        "proctor run",
        Kind.PROCTOR,
        command,
        exit_code=1,
        report=report,
        reader="proctor",
        bar=bar,
        leftovers=leftovers,
    )


def _floor(name: str, cases: int, out: Path, *arguments: str) -> Contestant:
    report = out / f"floor-{name}-{cases}.json"
    script = BENCH / "floors" / f"{name}.py"
    return Contestant(
        f"floor: {name}",
        Kind.FLOOR,
        (sys.executable, str(script), str(data_file(cases)), str(report), *arguments),
        env=_SCRIPT_ENV,
        report=report,
        reader="printed",
    )


def _promptfoo_command(peers: Path, *arguments: str) -> tuple[str, ...]:
    entry = peers / "promptfoo/node_modules/promptfoo/dist/src/entrypoint.js"
    return ("node", str(entry), *arguments)


def _promptfoo_env(out: Path) -> dict[str, str]:
    return {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(out / "promptfoo-home"),
    }


def _peer_starts(peers: Path, out: Path) -> Iterable[Contestant]:
    quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    yield Contestant(
        "promptfoo --version",
        Kind.PEER,
        _promptfoo_command(peers, "--version"),
        env=_promptfoo_env(out),
    )
    for name in ("inspect", "deepeval"):
        program = str(peers / name / "bin" / name)
        yield Contestant(f"{name} --version", Kind.PEER, (program, "--version"), env=quiet)
    python = str(peers / "pydantic/bin/python")
    yield Contestant("import pydantic_evals", Kind.PEER, (python, "-c", "import pydantic_evals"))


def _peer_replays(cases: int, peers: Path, out: Path) -> Iterable[Contestant]:
    for name, limit in PEER_LIMITS.items():
        if cases <= limit:
            yield _peer_replay(name, cases, peers, out)


def _peer_replay(name: str, cases: int, peers: Path, out: Path) -> Contestant:
    once = cases >= PEERS_ONCE_FROM
    report = out / f"{name}-{cases}"
    if name == "promptfoo":
        report = report.with_suffix(".json")
        config = promptfoo_folder(cases) / "promptfooconfig.json"
        command = _promptfoo_command(
            peers, "eval", "-c", str(config), "-o", str(report), "--no-table"
        )
        return Contestant(
            name,
            Kind.PEER,
            command,
            env=_promptfoo_env(out),
            exit_code=100,
            report=report,
            reader="promptfoo",
            once=once,
        )
    folder = "pydantic" if name == "pydantic-evals" else name
    script = BENCH / "peers" / f"{name.replace('-', '_')}_replay.py"
    python = str(peers / folder / "bin/python")
    env = _SCRIPT_ENV | {
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "DEEPEVAL_RESULTS_FOLDER": str(report),
    }
    return Contestant(
        name,
        Kind.PEER,
        (python, str(script), str(data_file(cases)), str(report)),
        env=env,
        report=report,
        reader="printed",
        once=once,
    )
