"""A packet suite that each test may change."""

import pytest

from packet_support import Sealed


@pytest.fixture
def sealed(tmp_path):
    return Sealed(tmp_path)
