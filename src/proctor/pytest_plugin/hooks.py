"""What pytest calls. Nothing else of Proctor is imported until there is a suite to collect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from proctor.pytest_plugin.fixture import ProctorFixture

ENDINGS = (".eval.yaml", ".eval.yml", ".eval.json")

_REPLAY = "replay"
_MOST_USD = 1_000_000
_UNSET: dict[str, object] = {
    "--proctor-cache": _REPLAY,
    "--proctor-max-cost": None,
    "--proctor-allow-local": False,
    "--proctor-allow-code": False,
}
"""The options that send, spend or run something, with what they are when nobody gives them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("proctor", "Proctor: suites in files `*.eval.yaml`")
    group.addoption(
        "--proctor-cache",
        choices=[_REPLAY, "record", "refresh", "off"],
        default=_REPLAY,
        help="Where answers come from: recordings only (the default), recordings and asking for "
        "what is missing, asking for everything and recording it, asking and recording nothing.",
    )
    group.addoption(
        "--proctor-max-cost",
        metavar="USD",
        type=amount_in_usd,
        help="What asking may cost at most, in all suites together.",
    )
    group.addoption(
        "--proctor-allow-local",
        action="store_true",
        help="Let requests go to providers on this machine.",
    )
    group.addoption(
        "--proctor-allow-code",
        action="store_true",
        help="Let assertions of kind `python` run their functions.",
    )


def amount_in_usd(text: str) -> float:
    """What `--proctor-max-cost` takes: an amount that something can be held against."""
    amount = float(text)
    if not 0 <= amount <= _MOST_USD:
        raise ValueError(text)
    return amount


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse options that do not go together."""
    config.addinivalue_line("markers", "proctor: a case or the thresholds of a suite of Proctor")
    if hasattr(config, "workerinput"):
        return
    typed = [str(argument) for argument in config.invocation_params.args]
    for option, unset in _UNSET.items():
        if config.getoption(option) != unset and not any(
            one == option or one.startswith(f"{option}=") for one in typed
        ):
            raise pytest.UsageError(
                f"`{option}` is read from the command line only; take it out of `addopts` and of "
                "PYTEST_ADDOPTS, and give it when you run"
            )
    if config.getoption("--proctor-cache") != _REPLAY and config.getoption("tx", None):
        raise pytest.UsageError(
            "`--proctor-cache` other than replay does not go with several workers, which would ask "
            "for the same answers; add `-n 0`"
        )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that somebody may be asked."""
    cache = config.getoption("--proctor-cache")
    return None if cache == _REPLAY else f"proctor: cache {cache}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suites."""
    if not file_path.name.endswith(ENDINGS):
        return None
    from proctor.pytest_plugin.collecting import suite_file

    return suite_file(file_path, parent)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say where a live run sent what."""
    for note in _notes(config):
        terminalreporter.write_line(f"proctor: {note}")


def _notes(config: pytest.Config) -> Iterator[str]:
    if config.getoption("--proctor-cache") == _REPLAY:
        return
    from proctor.pytest_plugin.evaluating import SUITES

    if SUITES in config.stash:
        yield from config.stash[SUITES].notes


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the datasets."""
    import sys

    evaluating = sys.modules.get("proctor.pytest_plugin.evaluating")
    if evaluating is not None and evaluating.SUITES in config.stash:
        config.stash[evaluating.SUITES].close()


@pytest.fixture
def proctor(request: pytest.FixtureRequest) -> ProctorFixture:
    """The functions of the package, which find the project that the test belongs to."""
    from proctor.pytest_plugin.fixture import ProctorFixture

    return ProctorFixture(request.path.parent, request.config.rootpath)
