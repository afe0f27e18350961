"""Measures HTML reports in Debian's Chromium, and takes the pictures of the documentation.

Usage: python bench/browser.py measure [CASES] | screenshots

`measure` opens a report of so many cases (10,000) from disk, searches it and scrolls it, and
compares its size with that of the JSON report. `screenshots` writes `docs/images/*.png`; they are
made smaller where `pngquant` is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
IMAGES = ROOT / "docs" / "images"
PROCTOR = Path(sys.executable).parent / "proctor"
CASES = "10000"
VIEW: ViewportSize = {"width": 1360, "height": 800}

# From the last key to the next picture, in the page itself: the way from here takes its own time.
SEARCH = """text => new Promise(done => {
  const search = document.getElementById("search");
  const start = performance.now();
  search.value = text;
  search.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
SCROLL = """() => new Promise(done => {
  const list = document.getElementById("list");
  const times = [];
  let before = performance.now();
  const step = now => {
    times.push(now - before);
    before = now;
    if (times.length === 120) return done(Math.max(...times.slice(1)));
    list.scrollTop += 900;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
# Nothing of the browser may ask for anything: no name has an address.
ALONE = ["--disable-quic", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"]


def main() -> None:
    """Do what the first argument says."""
    task = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        if task == "measure":
            _measure(browser, Path(folder), sys.argv[2] if len(sys.argv) > 2 else CASES)
        else:
            _screenshots(browser, Path(folder))


@contextmanager
def _browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ALONE)
        yield browser
        browser.close()


def _proctor(*arguments: str) -> None:
    subprocess.run([str(PROCTOR), *arguments], check=True, stdout=subprocess.DEVNULL)


def _measure(browser: Browser, folder: Path, cases: str) -> None:
    subprocess.run([sys.executable, str(BENCH / "reports.py"), str(folder), cases], check=True)
    json, html = folder / "now.json", folder / "now.html"
    _proctor("report", str(json), "--format", "html", "--out", str(html))
    ratio = html.stat().st_size / json.stat().st_size
    page = browser.new_page(viewport=VIEW)
    page.goto(html.as_uri(), wait_until="load")
    print(f"size      {ratio:.3f} x the JSON report of {json.stat().st_size:,} bytes (bar 1.3)")
    print(f"open      {page.evaluate(OPENED):.0f} ms (bar 2000)")
    first = page.evaluate(SEARCH, "warranty")
    print(f"search    {first:.0f} ms the first time (bar 200)")
    for text in ("ticket-0042", "no such text", ""):
        print(f"          {page.evaluate(SEARCH, text):.0f} ms for `{text}`")
    print(f"scroll    {page.evaluate(SCROLL):.0f} ms for the slowest of 120 steps")


def _screenshots(browser: Browser, folder: Path) -> None:
    IMAGES.mkdir(exist_ok=True)
    sentiment, refund = folder / "sentiment.html", folder / "refund.html"
    reports = ROOT / "examples" / "support-refund" / "reports"
    compared = [str(reports / f"{name}.json") for name in ("baseline", "regressed")]
    example = str(ROOT / "examples" / "review-sentiment")
    _proctor("run", "--cwd", example, "--format", "html", "--out", str(sentiment), "--exit-zero")
    _proctor("compare", *compared, "--format", "html", "--out", str(refund))
    for theme in ("light", "dark"):
        page = _opened(browser, sentiment, theme)
        _take(page, f"report-{theme}")
    page = _opened(browser, sentiment, "light")
    page.keyboard.press("s")
    _take(page, "summary")
    page = _opened(browser, refund, "light")
    _take(page, "comparison")
    page = _opened(browser, refund, "light")
    page.locator(".differences").first.scroll_into_view_if_needed()
    clip = page.locator("section", has=page.locator(".differences")).last
    clip.screenshot(path=IMAGES / "diff.png")
    _smaller()


def _opened(browser: Browser, file: Path, theme: Literal["light", "dark"]) -> Page:
    page = browser.new_page(viewport=VIEW, color_scheme=theme)
    page.goto(file.as_uri(), wait_until="load")
    return page


def _take(page: Page, name: str) -> None:
    page.screenshot(path=IMAGES / f"{name}.png")


def _smaller() -> None:
    program = shutil.which("pngquant")
    if program is not None:
        options = ["--force", "--ext", ".png", "--skip-if-larger", "64"]
        subprocess.run([program, *options, *sorted(map(str, IMAGES.glob("*.png")))], check=False)


if __name__ == "__main__":
    main()
