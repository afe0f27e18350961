"""What holds for every test: no property has a deadline, and programs are not measured unasked."""

import os

from hypothesis import settings

# A property holds however busy the machine is: no example has a time it must be done in.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Measuring the programs that tests start doubles what they take; `make coverage` does it.
if "COVER_PROGRAMS" not in os.environ:
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
