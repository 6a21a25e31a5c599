"""A page whose requests and console are kept, for tests to look at."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page

WAIT_MS = 15_000


class Watched:
    """A page, what it asked of which address, and what it said to the console."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.said: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))

    @property
    def strangers(self) -> list[str]:
        """Requests that left this machine."""
        local = ("127.0.0.1", "localhost", None)
        return [url for url in self.requests if urlsplit(url).hostname not in local]


OpenPage = Callable[..., Watched]
