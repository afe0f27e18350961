"""Running and comparing suites from Python: the same as the command line does, without printing."""
