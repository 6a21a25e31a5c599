"""``<svc-chat>`` in Chromium against a real service: what a user does, and what must hold when things break."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from tests.support.assistants.scripted import Chatty, Echo, Slow, Steady, Unread
from tests.support.assistants.stopping import Stopping
from tests.support.live import ProcessService, StartService, ThreadService, free_port, wait_until
from tests.support.watched import Host, OpenPage, host


@pytest.fixture
def site() -> Iterator[Host]:
    """A web site with a different origin than the service's."""
    with host() as found:
        yield found


ShowChat = Callable[..., Page]


@pytest.fixture
def show_chat(open_page: OpenPage, site: Host) -> ShowChat:
    """A page of the site with one element or several: what the plain HTML guide says."""

    def show(service: ThreadService | ProcessService, *elements: dict[str, str], **options: object) -> Page:
        shown = "".join(element(service, attributes) for attributes in elements or ({},))
        site.pages["/"] = f"""<!doctype html><meta charset="utf-8"><title>site</title>
            <link rel="icon" href="data:,"><link rel="stylesheet" href="{service.base_url}/dist/swc.css">
            <script src="{service.base_url}/dist/swc.iife.js" defer></script>{shown}"""
        page = open_page(**options).page
        page.goto(site.origin)
        return page

    return show


def element(service: ThreadService | ProcessService, attributes: dict[str, str]) -> str:
    written = " ".join(
        f'{name}="{html.escape(value)}"' for name, value in ({"api-key": service.key} | attributes).items()
    )
    return f"<svc-chat {written}></svc-chat>"


@pytest.fixture
def allowed(start_service: StartService, site: Host) -> Callable[..., ThreadService]:
    """A service that the site's pages may use."""
    return lambda assistant, **settings: start_service(assistant, allowed_origins=(site.origin,), **settings)


def ask(chat: Page | Locator, text: str) -> None:
    box = chat.get_by_label("Question")
    expect(box).to_be_enabled()
    box.fill(text)
    chat.get_by_role("button", name="Send").click()


def answers(chat: Page | Locator) -> Locator:
    return chat.locator("article.turn .answer")


def steps(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("article.turn .trace li .text").all_text_contents()]


def stored(service: ThreadService | ProcessService, session_id: str) -> list[dict[str, object]]:
    with service.http() as http:
        return http.get("/session/get", params={"session_id": session_id}).json()["messages"]


def infos(service: ThreadService | ProcessService, session_id: str) -> list[str]:
    """What progress the service stored."""
    return [m["content"] for m in stored(service, session_id) if m["message_type"] == "info"]


def session_of(page: Page) -> str:
    return page.locator("svc-chat").first.evaluate("element => element.sessionId")


def test_a_question_is_answered_and_its_progress_is_shown(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service)
    ask(page, "who was **brute-forced**?")
    expect(answers(page)).to_contain_text("0 files, 0 earlier")
    expect(answers(page).locator("strong")).to_have_text("brute-forced")
    assert steps(page)[0] == "read 25 characters"


def test_an_answer_that_examined_nothing_says_so_in_words_above_it(show_chat: ShowChat, allowed):
    service = allowed(Unread)
    page = show_chat(service)
    ask(page, "was there a scan?")
    badge = page.get_by_role("note", name="Status of the answer: Not examined")

    expect(badge).to_have_text("⚠ Not examined")
    expect(answers(page)).to_have_text("No scan found.")
    above, below = badge.bounding_box(), answers(page).bounding_box()
    assert above
    assert below
    assert above["y"] + above["height"] <= below["y"]
    expect(page.get_by_role("status")).to_contain_text("⚠ Not examined. No scan found.")
    later = show_chat(service, {"session-id": session_of(page)})
    expect(later.get_by_role("note")).to_have_text("⚠ Not examined")


def test_progress_streams_in_while_the_turn_runs(show_chat: ShowChat, allowed):
    page = show_chat(allowed(Slow))
    ask(page, "wait")
    expect(page.locator(".trace summary")).to_contain_text("waiting")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()


def test_many_messages_arrive_once_and_in_order(show_chat: ShowChat, allowed):
    service = allowed(Chatty)
    page = show_chat(service)
    ask(page, "180")
    expect(answers(page)).to_have_text("180 steps")
    assert steps(page)[:-1] == [f"step {number}" for number in range(180)]


def test_stop_ends_the_turn_on_the_service(show_chat: ShowChat, allowed):
    Slow.closed = 0
    service = allowed(Slow)
    page = show_chat(service)
    ask(page, "wait")
    expect(page.locator(".trace summary")).to_contain_text("waiting")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("article.turn")).to_contain_text("Stopped.")
    wait_until(lambda: Slow.closed == 1, "the turn to be closed")
    assert stored(service, session_of(page))[-1]["status_code"] == 499


def test_attached_files_are_sent_and_a_removed_one_is_not(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service)
    files = [FilePayload(name=name, mimeType="text/plain", buffer=b"abc") for name in ("a.log", "b <i>.log")]
    page.locator("input[type=file]").set_input_files(files)
    expect(page.get_by_role("list", name="Files").get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    page.get_by_role("button", name="Remove a.log").click()
    expect(page.get_by_role("list", name="Files").get_by_role("listitem")).to_have_count(1)
    ask(page, "read it")
    expect(answers(page)).to_contain_text("1 files")


def test_a_file_removed_during_its_upload_is_deleted_on_the_service(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/session/upload_file?*", hold)
    with page.expect_request("**/session/upload_file?*"):
        page.locator("input[type=file]").set_input_files(
            [FilePayload(name="a.log", mimeType="text/plain", buffer=b"abc")]
        )
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Remove a.log").click()
    expect(page.get_by_role("list", name="Files")).to_be_hidden()
    with page.expect_response("**/session/detach_file"):
        held[0].continue_()
    ask(page, "read it")
    expect(answers(page)).to_contain_text("0 files")


def test_the_session_history_is_requested_once(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    first = show_chat(service)
    ask(first, "the first question")
    expect(answers(first)).to_contain_text("0 earlier")
    seen = len(stored(service, session_of(first)))
    page = show_chat(service, {"session-id": session_of(first)})
    expect(page.locator("article.turn")).to_have_count(1)  # its own requests are over: only the reload's are counted
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.on("websocket", lambda socket: asked.append(parse_qs(urlsplit(socket.url).query)["after"][0]))
    page.reload()
    ask(page, "the second question")
    expect(answers(page).last).to_contain_text("1 earlier")
    assert (asked.count("/session/get"), asked.count(str(seen))) == (1, 1)
    expect(page.locator("article.turn")).to_have_count(2)


@pytest.mark.slow
def test_the_printed_page_has_the_conversation_without_controls(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service, {"session-name": "Ticket 4711", "theme": "dark", "is-fullscreen": "true"})
    wide = f"```bash\nls -l {'x' * 200}\n```\n\n| a | b |\n|-|-|\n| see evil.example | {'2' * 90} |"
    for number in range(4):
        ask(page, f"**question {number}**\n\n{wide}" + "\n\nand more" * 20)
        expect(answers(page)).to_have_count(number + 1)
        expect(answers(page).last).to_contain_text(f"{number} earlier")
    page.emulate_media(media="print")
    expect(page.locator("button:visible:not(.chip)")).to_have_text(["Ticket 4711"])
    expect(page.get_by_label("Question")).to_be_hidden()
    expect(page.get_by_text("Ticket 4711")).to_be_visible()
    cut = "e => [...e.shadowRoot.querySelectorAll('*:not(.hidden)')].filter(n => n.scrollHeight > n.clientHeight + 2 "
    cut += "&& getComputedStyle(n).overflowY !== 'visible' && n.checkVisibility()).map(n => n.className)"
    assert page.locator("svc-chat").evaluate(cut) == []
    assert len(page.pdf()) > 10_000
    sheets = page.locator("svc-chat").evaluate("e => e.getBoundingClientRect().height")
    assert sheets > page.locator("article.turn").first.evaluate("e => e.getBoundingClientRect().height") * 4


def test_a_session_id_restores_the_conversation_after_a_reload(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    first = show_chat(service)
    ask(first, "the first question")
    expect(answers(first)).to_contain_text("0 earlier")
    again = show_chat(service, {"session-id": session_of(first)})
    expect(answers(again)).to_contain_text("the first question")
    ask(again, "the second question")
    expect(answers(again).last).to_contain_text("1 earlier")


def test_a_reload_during_a_turn_resumes_it(show_chat: ShowChat, allowed):
    service = allowed(Steady)
    page = show_chat(service, {"session-id": "in-the-middle"})
    ask(page, "150")
    page.locator("article.turn .trace").wait_for()
    session_id = session_of(page)
    again = show_chat(service, {"session-id": session_id})
    expect(answers(again)).to_have_text("150 steps")
    assert steps(again) == infos(service, session_id)


@pytest.mark.slow
def test_a_killed_and_restarted_service_loses_and_repeats_nothing(show_chat: ShowChat, site: Host, tmp_path: Path):
    port = free_port()

    def start() -> ProcessService:
        return ProcessService(tmp_path, "Steady", port=port, SVC_ALLOWED_ORIGINS=site.origin)

    service = start()
    try:
        page = show_chat(service)
        ask(page, "90")  # the service restarts the turn; earlier messages remain only in the trace
        page.locator("article.turn .trace li").nth(20).wait_for(state="attached")
        service.kill()
        expect(page.locator(".banner")).to_be_visible()
        service = start()
        expect(answers(page)).to_have_text("90 steps", timeout=30_000)
        expect(page.locator(".banner")).to_be_hidden()
        assert steps(page) == infos(service, session_of(page))
        ask(page, "3")
        expect(answers(page).last).to_have_text("3 steps")
    finally:
        service.kill()


def test_two_elements_on_a_page_are_two_sessions(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service, {"session-name": "left"}, {"session-name": "right", "theme": "dark"})
    left, right = page.locator("svc-chat").all()
    ask(left, "to the left")
    ask(right, "to the right")
    expect(answers(left)).to_contain_text("to the left")
    expect(answers(right)).to_contain_text("to the right")
    with service.http() as http:
        assert sorted(session["name"] for session in http.get("/session/list").json()) == ["left", "right"]


@pytest.mark.parametrize("case", ["expired", "unknown"])
def test_a_missing_session_is_replaced_with_a_notice(show_chat: ShowChat, allowed, case: str):
    service = allowed(Echo, min_ttl_seconds=1)
    if case == "expired":
        with service.http() as http:
            http.post("/session/register", json={"id": "gone", "ttl": 1})
            wait_until(lambda: http.get("/session/get", params={"session_id": "gone"}).status_code == 410, "its end")
    page = show_chat(service, {"session-id": "gone"})
    expect(page.get_by_text("Session gone has expired or does not exist")).to_be_visible()
    ask(page, "still here?")
    expect(answers(page)).to_contain_text("still here?")
    assert session_of(page) not in ("", "gone")


def test_the_prompt_fills_the_field_of_a_session_that_replaces_an_unknown_one(show_chat: ShowChat, allowed):
    page = show_chat(allowed(Echo), {"session-id": "gone", "session-prompt": "who got in?"})
    expect(page.get_by_label("Question")).to_have_value("who got in?")


def test_a_page_whose_origin_is_not_allowed_says_so_and_how_to_allow_it(
    show_chat: ShowChat, start_service: StartService, site: Host
):
    page = show_chat(start_service(Echo))
    banner = page.locator(".banner[data-kind=error]")
    expect(banner).to_contain_text(f"not to pages of {site.origin}")
    expect(banner).to_contain_text(f"svc serve --allowed-origins {site.origin}")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_service_that_does_not_run_is_not_taken_for_one_that_refuses(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service, {"base-url": f"http://127.0.0.1:{free_port()}"})
    banner = page.locator(".banner[data-kind=error]")
    expect(banner).to_contain_text("does not answer", timeout=30_000)
    expect(banner).not_to_contain_text("--allowed-origins")


def test_an_xhtml_page_shows_the_whole_conversation(open_page: OpenPage, site: Host, allowed):
    service = allowed(Echo)
    site.pages["/a.xhtml"] = f"""<?xml version="1.0" encoding="utf-8"?>
        <html xmlns="http://www.w3.org/1999/xhtml"><head><title>site</title>
        <link rel="icon" href="data:,"/><link rel="stylesheet" href="{service.base_url}/dist/swc.css"/>
        <script src="{service.base_url}/dist/swc.iife.js"></script></head>
        <body>{element(service, {"launcher": "true"})}</body></html>"""
    watched = open_page()
    page = watched.page
    page.goto(f"{site.origin}/a.xhtml")
    page.get_by_role("button", name="Open the chat").click()
    ask(page, "**bold** &nbsp;&eacute; <b>x</b>\n\n| a | b |\n|-|-|\n| 1 | evil.example |\n\n```bash\nls # x\n```")
    expect(answers(page).locator("strong")).to_have_text("bold")
    expect(answers(page)).to_contain_text("é")
    expect(answers(page).locator("td").first).to_have_text("1")
    expect(answers(page).locator(".chip")).to_have_text("evil[.]example")
    expect(answers(page).locator(".hl-comment")).to_have_text("# x")
    page.get_by_role("button", name="New Session", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("bold.*20"))).to_be_visible()
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy answer").click()
    page.wait_for_function("window.copied")
    assert "**bold**" in page.evaluate("window.copied")
    assert "| 1 | `evil[.]example` |" in page.evaluate("window.copied")
    assert watched.said == []


def test_a_key_that_may_use_two_models_chooses_one(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    _, key = service.make_key("ann", allow_experimental=True)
    page = show_chat(service, {"api-key": key})
    with service.http(key) as http:
        offered = [model["model_string"] for model in http.get("/user/info").json()["available_models"]]
    page.get_by_label("Model").select_option(offered[-1])
    ask(page, "which one?")
    expect(answers(page)).to_contain_text("which one?")
    with service.http(key) as http:
        (session,) = http.get("/session/list").json()
    assert (len(offered), session["model"]["model_string"]) == (2, offered[-1])


def test_an_invalid_key_is_asked_for_again_and_a_valid_one_is_accepted(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service, {"api-key": "svc_" + "0" * 49})
    page.get_by_label("API key").fill(service.key)
    page.get_by_role("button", name="Use key").click()
    ask(page, "in?")
    expect(answers(page)).to_contain_text("in?")


def test_a_key_revoked_during_use_is_reported(show_chat: ShowChat, allowed):
    service = allowed(Slow)
    key_id, key = service.make_key("ann")
    page = show_chat(service, {"api-key": key})
    ask(page, "wait")
    expect(page.locator(".trace summary")).to_contain_text("waiting")
    with service.http(key) as http:
        http.post("/key/revoke", json={"id": key_id})
    expect(page.get_by_label("API key")).to_be_visible()


def test_an_incognito_session_is_not_logged(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service, {"incognito": "true"})
    ask(page, "secret")
    expect(answers(page)).to_contain_text("secret")
    with service.http() as http:
        (session,) = http.get("/session/list").json()
    assert session["can_log"] is False


def test_the_key_is_in_no_address_and_in_no_storage(open_page: OpenPage, show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service)
    ask(page, "who?")
    expect(answers(page)).to_contain_text("who?")
    entries = page.evaluate(
        "() => JSON.stringify([performance.getEntries().map(e => e.name), {...localStorage}, document.cookie])"
    )
    assert service.key not in entries


def test_content_of_an_answer_runs_and_loads_nothing(show_chat: ShowChat, allowed):
    service = allowed(Echo)
    page = show_chat(service)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    attack = (
        "<img src=https://evil.example/a.png onerror=alert(1)> ![x](https://evil.example/b.png) "
        "<svg onload=alert(2)><style>*{display:none}</style> [x](javascript:alert(3)) <iframe src=https://evil.example>"
    )
    ask(page, attack)
    expect(answers(page)).to_contain_text("0 files")
    assert (dialogs, answers(page).locator("img, iframe, style, svg").count()) == ([], 0)


def test_examples_on_the_landing_screen_fill_the_input(show_chat: ShowChat, allowed):
    examples = json.dumps([{"title": "Who got in?", "prompt": "Who was brute-forced?"}])
    page = show_chat(allowed(Echo), {"examples": examples})
    page.get_by_role("button", name="Who got in?").click()
    expect(page.get_by_label("Question")).to_have_value("Who was brute-forced?")


def test_the_partial_answer_of_a_stopped_question_is_its_answer_and_is_marked(show_chat: ShowChat, allowed):
    page = show_chat(allowed(Stopping))
    ask(page, "who?")
    expect(page.locator("article.turn .trace summary")).to_contain_text("reading")
    page.get_by_role("button", name="Stop").click()
    expect(answers(page)).to_contain_text("1 of 2 lines.")
    expect(page.get_by_role("note")).to_have_text(re.compile("Partial answer: stopped"))
    expect(page.locator("article.turn .stopped")).to_be_visible()
    assert not any("1 of 2 lines." in step for step in steps(page))
    expect(page.get_by_role("button", name="Good answer")).to_have_count(0)
