"""The command line: one thin file per command, exit codes mapped in `main`."""
