"""Makes two reports of the benchmark's cases, alike but for one assertion that only the second has.

Usage: python bench/reports.py DIR CASES

Writes `DIR/before.json` and `DIR/now.json` from a project that is generated in DIR.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ADDED = "  - {id: no-number,"


def main() -> None:
    """Write both reports."""
    folder, cases = Path(sys.argv[1]), sys.argv[2]
    subprocess.run([sys.executable, str(BENCH / "generate.py"), str(folder), cases], check=True)
    project = folder / f"proctor-{cases}"
    (suite,) = (project / "evals").glob("*.eval.yaml")
    whole = suite.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    without = "".join(line for line in lines if not line.startswith(ADDED))
    for name, text in (("before", without), ("now", whole)):
        suite.write_text(text, encoding="utf-8")
        _report(project, folder / f"{name}.json")


def _report(project: Path, report: Path) -> None:
    proctor = Path(sys.executable).parent / "proctor"
    options = ("--cwd", str(project), "--format", "json", "--out", str(report), "--exit-zero")
    subprocess.run([str(proctor), "run", *options], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
