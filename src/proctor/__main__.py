"""`python -m proctor`."""

from proctor.cli.main import main

main()
