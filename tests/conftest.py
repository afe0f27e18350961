"""A property holds however busy the machine is: no example has a time it must be done in."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
