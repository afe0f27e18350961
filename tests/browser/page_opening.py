"""Opening pages in a browser."""

from __future__ import annotations

from proctor.records import RenderOptions
from proctor.rendering.html.report import render_html, render_html_comparison

VIEW = {"width": 1360, "height": 800}


class Opener:
    """Opens pages, and knows what they asked for and what they said.

    Args:
        browser: The browser.
        folder: Where pages are written.
    """

    def __init__(self, browser, folder) -> None:
        self._browser, self._folder = browser, folder
        self._contexts: list = []
        self.said: list[str] = []
        self.requests: list[str] = []
        self.files: list[str] = []

    def report(self, made, *, remarks=(), **options):
        """The page of a report."""
        return self.file(b"".join(render_html(made, RenderOptions(remarks=remarks))), **options)

    def comparison(self, comparison, before, now, *, remarks=(), **options):
        """The page of a comparison."""
        shown = RenderOptions(remarks=remarks)
        return self.file(
            b"".join(render_html_comparison(comparison, before, now, shown)), **options
        )

    def file(self, content, *, address="", **options):
        """A page by its bytes, opened from disk as a user would open it."""
        file = self._folder / f"page-{len(self.files)}.html"
        file.write_bytes(content)
        self.files.append(file.as_uri())
        context = self._browser.new_context(**{"viewport": VIEW, **options})
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.requests.append(request.url.partition("#")[0]))
        page.on("popup", lambda popup: self.said.append(f"popup: {popup.url}"))
        page.goto(file.as_uri() + address, wait_until="load")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()
