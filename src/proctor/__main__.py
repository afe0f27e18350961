"""`python -m proctor`."""

import sys
from contextlib import suppress
from pathlib import Path

# `-m` puts the current folder first, where a file of a project could stand in for any module.
with suppress(FileNotFoundError):
    if not sys.flags.safe_path and sys.path[:1] == [str(Path.cwd())]:
        del sys.path[0]

from proctor.cli.main import main

main()
