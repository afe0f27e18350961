"""The fixture `proctor`: the functions of the package, bound to the project of a test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proctor.candidates.evaluating import (
    evaluate_prompt_candidates,
    evaluate_prompt_candidates_async,
)
from proctor.config import find_project
from proctor.python_api.comparisons import compare
from proctor.python_api.reports import Report, load_report
from proctor.python_api.running import run, run_async

if TYPE_CHECKING:
    from typing import Unpack

    from proctor.python_api.options import PathLike, RunKeywords


class ProctorFixture:
    """The functions of the package; `root` need not be given where the test is in the project.

    Args:
        folder: Where the test is.
        rootdir: pytest's rootdir, for a test that is in no project.
    """

    compare = staticmethod(compare)
    evaluate_prompt_candidates = staticmethod(evaluate_prompt_candidates)
    evaluate_prompt_candidates_async = staticmethod(evaluate_prompt_candidates_async)
    load_report = staticmethod(load_report)

    def __init__(self, folder: Path, rootdir: Path) -> None:
        self._folders = (folder, rootdir)

    def run(self, *suites: PathLike, **options: Unpack[RunKeywords]) -> Report:
        """`proctor.run` in the project of the test."""
        self._add_root(options)
        return run(*suites, **options)

    async def run_async(self, *suites: PathLike, **options: Unpack[RunKeywords]) -> Report:
        """`proctor.run_async` in the project of the test."""
        self._add_root(options)
        return await run_async(*suites, **options)

    def _add_root(self, options: RunKeywords) -> None:
        if options.get("root") is None:
            found = next(filter(None, map(find_project, self._folders)), None)
            # Where there is none, the place that is named in the error is that of the test.
            options["root"] = found or self._folders[0]
