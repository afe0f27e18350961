"""Pages in Debian's Chromium. Nothing may leave a page, and nothing may be said in its console."""

from __future__ import annotations

import shutil

import pytest
from page_opening import Opener

# The browser itself asks for nothing either: no name has an address.
ALONE = ["--disable-quic", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"]


def pytest_collection_modifyitems(items):
    for item in items:
        if "/tests/browser/" in item.path.as_posix():
            item.add_marker("browser")


# One for each module: while it is there, no other event loop can be started in this process.
@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed; on Debian: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=ALONE)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens pages; afterwards none of them may have said or asked for anything."""
    opener = Opener(browser, tmp_path)
    yield opener
    opener.close()
    assert opener.said == []
    assert set(opener.requests) == set(opener.files)
