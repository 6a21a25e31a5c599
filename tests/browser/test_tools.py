"""The tool of a program is allowed by a user who views its session in a browser."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from svc import InteractiveSession, LocalTool, MessageType, Svc
from tests.support.assistants.scripted import Calling
from tests.support.live import StartService
from tests.support.watched import OpenPage, host


async def asked(session: InteractiveSession, prompt: str) -> str:
    """Return the answer to a question whose tool another user confirms."""
    answer = ""
    async for message in session.stream(prompt, local_tools=[LocalTool(name="lookup")]):
        if message.message_type == MessageType.LOCAL_TOOL_CALL:
            session.answer(message, "ops")
        elif message.message_type == MessageType.RESULT:
            answer = str(message.content)
    return answer


@pytest.mark.parametrize(
    ("button", "answer"), [("Allow this call", '"ops"'), ("Deny", "error: the user denied the call")]
)
def test_the_user_of_the_page_can_allow_a_tool_call(
    open_page: OpenPage, start_service: StartService, button: str, answer: str
):
    with host() as site, ThreadPoolExecutor(1) as elsewhere:
        service = start_service(Calling, allowed_origins=(site.origin,))
        with Svc(service.key, service.base_url) as client:
            session = client.create_session()
            site.pages["/"] = f"""<!doctype html><meta charset="utf-8"><title>site</title>
                <link rel="icon" href="data:,"><link rel="stylesheet" href="{service.base_url}/dist/swc.css">
                <script src="{service.base_url}/dist/swc.iife.js" defer></script>
                <svc-chat api-key="{service.key}" session-id="{session.session_id}"></svc-chat>"""
            page = open_page().page
            page.goto(site.origin)
            expect(page.get_by_label("Question")).to_be_enabled()
            turn: Future[str] = elsewhere.submit(lambda: asyncio.run(asked(session, "lookup=web1")))

            expect(page.locator(".asked")).to_contain_text('text = "web1"')
            page.get_by_role("button", name=button).click()

            assert turn.result(20).startswith(answer)
            expect(page.locator("article.turn .answer")).to_contain_text(answer)
            expect(page.locator(".asked")).to_have_count(0)
