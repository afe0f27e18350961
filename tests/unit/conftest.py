"""Being here puts this folder on the import path, so that tests below it can share modules."""

import pytest


@pytest.fixture
def fake():
    """A provider that answers every request well until a test tells it otherwise."""
    from fake_provider import FakeProvider

    with FakeProvider() as provider:
        yield provider
