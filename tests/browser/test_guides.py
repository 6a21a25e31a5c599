"""The guides for web pages in docs/how_to/embed_chat.md run unchanged, except for the service's address."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Page, expect

from svc.service.server.serve import listen
from tests.docs import examples
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService, wait_until
from tests.support.npm_workspace import PATH, WORKSPACE
from tests.support.watched import Host, OpenPage, host

EXAMPLE = "https://svc.example.org"


def block(language: str, service: ThreadService | None = None) -> str:
    """The one fenced block of this language."""
    (found,) = examples.texts("how_to/embed_chat.md", language)
    if service is None:
        return found
    return found.replace(EXAMPLE, service.base_url).replace("wss://svc.example.org", service.ws_url)


@pytest.fixture
def site() -> Iterator[Host]:
    with host() as found:
        yield found


@pytest.fixture
def service(start_service: StartService, site: Host) -> ThreadService:
    return start_service(Echo, allowed_origins=(site.origin,))


def give_key_and_ask(page: Page, service: ThreadService) -> None:
    page.get_by_label("API key").fill(service.key)
    page.get_by_role("button", name="Use key").click()
    ask(page)


def ask(page: Page) -> None:
    box = page.get_by_label("Question")
    expect(box).to_be_enabled()
    box.fill("who got in?")
    box.press("Enter")
    expect(page.locator("article.turn .answer")).to_contain_text("0 files, 0 earlier")


def test_plain_html(open_page: OpenPage, site: Host, service: ThreadService):
    site.pages["/"] = block("html", service)
    page = open_page().page
    page.goto(site.origin)
    give_key_and_ask(page, service)
    with service.http() as http:
        assert [session["name"] for session in http.get("/session/list").json()] == ["Ticket 4711"]


@pytest.fixture
def react(installed: None, tmp_path: Path, service: ThreadService) -> Path:
    """A folder with the component of the guide, in which packages of the workspace can be imported."""
    (tmp_path / "node_modules").symlink_to(WORKSPACE / "node_modules")
    (tmp_path / "chat.jsx").write_text(block("jsx", service), "utf-8")
    return tmp_path


def bundle(folder: Path, entry: str, source: str, *options: str) -> str:
    (folder / entry).write_text(source, "utf-8")
    esbuild = WORKSPACE / "node_modules" / ".bin" / "esbuild"
    words = [entry, "--bundle", "--jsx=automatic", '--define:process.env.NODE_ENV="development"', *options]
    done = subprocess.run(
        [str(esbuild), *words], cwd=folder, env={**os.environ, "PATH": PATH}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_react_in_the_browser(open_page: OpenPage, site: Host, service: ThreadService, react: Path):
    source = """import { createRoot } from "react-dom/client"; import { Chat } from "./chat.jsx";
        createRoot(document.getElementById("root")).render(<><Chat ticket="A" /><Chat ticket="B" theme="dark" /></>);"""
    site.pages["/app.js"] = bundle(react, "app.jsx", source)
    site.pages["/"] = (
        '<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script src="/app.js"></script>'
    )
    watched = open_page()
    watched.page.goto(site.origin)
    expect(watched.page.get_by_label("API key")).to_have_count(2)
    assert watched.page.evaluate("() => document.querySelectorAll('script[data-svc]').length") == 1
    assert [line for line in watched.said if line.startswith("error")] == []


@pytest.mark.slow
def test_the_react_component_renders_on_a_server(react: Path, service: ThreadService):
    source = """import { renderToString } from "react-dom/server"; import { Chat } from "./chat.jsx";
        process.stdout.write(renderToString(<Chat ticket="4711" />));"""
    script = bundle(react, "server.jsx", source, "--platform=node")
    done = subprocess.run(
        [shutil.which("node", path=PATH), "-"], input=script, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f'<svc-chat base-url="{service.base_url}" session-name="4711" theme="light"></svc-chat>'


@pytest.mark.slow
def test_a_page_that_a_server_renders(
    open_page: OpenPage, start_service: StartService, monkeypatch: pytest.MonkeyPatch
):
    listener = listen("127.0.0.1", 0)
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    service = start_service(Echo, allowed_origins=(origin,))
    monkeypatch.setenv("CHAT_SERVICE", service.base_url)
    monkeypatch.setenv("CHAT_KEY_ALICE", service.key)
    names: dict[str, object] = {}
    exec(block("python"), names)
    server = uvicorn.Server(uvicorn.Config(names["app"], log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started, "the framework to listen")
    try:
        page = open_page().page
        reply = page.goto(f"{origin}/ticket")
        assert reply.headers["cache-control"] == "no-store"
        assert service.key not in reply.text()
        ask(page)
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@pytest.mark.slow
def test_content_filters(open_page: OpenPage, site: Host, service: ThreadService):
    name, _, policy = block("http", service).strip().partition(": ")
    assert name == "Content-Security-Policy"
    site.headers = {name: policy.replace("script-src", f"script-src {site.origin}")}
    site.pages["/chat.js"] = block("js")
    site.pages["/"] = f"""<!doctype html><meta charset="utf-8"><title>site</title><link rel="icon" href="data:,">
        <link rel="stylesheet" href="{service.base_url}/dist/swc.css"><div id="chat"></div>
        <script src="{service.base_url}/dist/swc.iife.js"></script><script src="/chat.js"></script>"""
    page = open_page().page
    page.goto(site.origin)
    give_key_and_ask(page, service)
