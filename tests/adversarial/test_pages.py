"""``<svc-chat>`` on a site, and the service's own page, with a session that is hostile everywhere."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from playwright.sync_api import Locator, expect

from svc import Svc, SvcError
from tests.adversarial.payloads import PAYLOADS, asked_by_payloads, every, was_hit
from tests.browser.conftest import open_page
from tests.support.assistants.hostile import FAILS, Everywhere
from tests.support.live import StartService, ThreadService
from tests.support.live_elements import live_in
from tests.support.watched import OpenPage, Watched, host

__all__ = ["open_page"]
UNFOLD = "root => root.shadowRoot.querySelectorAll('details').forEach(one => { one.open = true; })"
ASKED = every(3)
WAIT_MS = 60_000


async def _ask(service: ThreadService, texts: list[str]) -> str:
    """A session in which each text was a question, an error and a file's name."""
    with Svc(service.key, service.base_url) as client:
        session = client.create_session(name=texts[0][:60], description=texts[0][:200])
        for text in texts:
            with suppress(SvcError):  # what cannot be a file's name is refused
                session.attach_file(text[:100], text)
            for prompt in (text, FAILS + text):
                with suppress(SvcError):
                    async for _ in session.stream(prompt):
                        pass
        return session.session_id


@pytest.fixture
def asked(start_service: StartService) -> Callable[..., tuple[ThreadService, str]]:
    """A service with a session in which all was asked."""

    def start(**settings: object) -> tuple[ThreadService, str]:
        service = start_service(Everywhere, **settings)
        with ThreadPoolExecutor(1) as elsewhere:  # this thread has the browser's loop
            return service, elsewhere.submit(lambda: asyncio.run(_ask(service, ASKED))).result()

    return start


def _judge(watched: Watched, chat: Locator) -> None:
    expect(chat.locator("article.turn").nth(2 * len(ASKED) - 1)).to_be_attached(timeout=WAIT_MS)
    chat.evaluate(UNFOLD)
    assert live_in(chat) == []
    assert not was_hit(watched.page)
    assert asked_by_payloads(watched.requests) == []
    assert watched.strangers == []


@pytest.mark.timeout(240)
def test_the_element_shows_a_hostile_session_dead(open_page: OpenPage, asked: Callable[..., tuple[ThreadService, str]]):
    with host() as site:
        service, session_id = asked(allowed_origins=(site.origin,))
        site.pages["/"] = f"""<!doctype html><meta charset="utf-8"><title>site</title>
            <link rel="icon" href="data:,"><link rel="stylesheet" href="{service.base_url}/dist/swc.css">
            <script src="{service.base_url}/dist/swc.iife.js" defer></script>
            <svc-chat api-key="{html.escape(service.key)}" session-id="{session_id}"></svc-chat>"""
        watched = open_page()
        watched.page.goto(site.origin)
        _judge(watched, watched.page.locator("svc-chat"))
        _export(watched)


@pytest.mark.timeout(240)
def test_the_services_page_shows_a_hostile_session_dead(
    open_page: OpenPage, asked: Callable[..., tuple[ThreadService, str]]
):
    service, _ = asked()
    watched = open_page()
    page = watched.page
    page.goto(service.base_url)
    page.get_by_label("Or enter an API key").fill(service.key)
    page.get_by_role("button", name="Sign in").click()
    page.locator("svc-chat header button.name").click()
    page.locator("svc-chat .sessions li button").first.click()
    _judge(watched, page.locator("svc-chat"))


def _export(watched: Watched) -> None:
    """The Markdown that the element exports has no raw HTML and no image when it is rendered."""
    watched.page.locator("svc-chat header button.name").click()
    with watched.page.expect_download() as download:
        watched.page.get_by_role("button", name="Export as Markdown").first.click()
    text = download.value.path().read_text("utf-8")
    assert len(text) > len(PAYLOADS)
    assert "<script" not in text.replace("&lt;", "<").split("```")[0]
