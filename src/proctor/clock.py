"""The one door to time and chance, so that tests can stand in for both."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime


class Clock:
    """The system's clock and random numbers."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment; only differences mean something."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let others run for this long."""
        import asyncio

        await asyncio.sleep(seconds)

    def random(self) -> float:
        """A random number from 0 up to 1, without 1 itself."""
        return secrets.SystemRandom().random()

    def token(self) -> str:
        """Six random hex digits."""
        return secrets.token_hex(3)
