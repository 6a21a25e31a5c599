"""A page whose requests and console are kept, for tests to look at; and a server for pages that show the element."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.support.browsers import WAIT_MS


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


@contextlib.contextmanager
def host() -> Iterator[Host]:
    """A foreign web server on a different origin."""
    server = Host(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class Host(ThreadingHTTPServer):
    """Serves ``pages``, path to content, with ``headers``; what ends in .js is a script, in .xhtml a page in XML."""

    pages: dict[str, str]
    headers: dict[str, str]

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.pages, self.headers = {}, {}

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.server.pages.get(self.path.partition("?")[0])
        self.send_response(404 if found is None else 200)
        suffix = self.path.partition("?")[0].rpartition(".")[2]
        kind = {"js": "text/javascript", "xhtml": "application/xhtml+xml"}.get(suffix, "text/html")
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write((found or "").encode())

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""
