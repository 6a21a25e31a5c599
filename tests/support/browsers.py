"""One Chromium for all tests that follow one another."""

from __future__ import annotations

from contextlib import ExitStack

from playwright.sync_api import Browser, expect, sync_playwright

WAIT_MS = 40_000  # what is awaited on a page comes within seconds, on a machine with other work within this

BROWSER_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


class SharedBrowser:
    """Started when it is first needed. While it is open this thread has a running loop, and no test can have one."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None

    def get(self, executable: str) -> Browser:
        """The one that runs, or else a new one."""
        if self._browser is None:
            expect.set_options(timeout=WAIT_MS)
            playwright = self._stack.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=executable, args=list(BROWSER_ARGUMENTS))
            self._stack.callback(self._browser.close)
        return self._browser

    def close(self) -> None:
        """End it; the next test that needs one starts another."""
        self._browser = None
        self._stack.close()
