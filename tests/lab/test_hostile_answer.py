"""A model quotes a log line that holds script: JupyterLab runs nothing and asks for nothing, now and when reopened."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.support.fake_upstream import KEY, UpstreamServer, says
from tests.support.hostile_text import OPEN, RUN
from tests.support.jupyter_server import JupyterServer
from tests.support.workbench import READY_MS, SHOWN, Workbench

CANARY = "svc-canary"
HIT = f"{RUN},fetch(/{CANARY}/.source)"
LINE = f"GET www&period;zz&lt;img src=/{CANARY} onerror={HIT}>"
QUOTES = [
    f"The request is suspicious: {LINE}",
    f"GET www&period;z&lt;img src=/{CANARY} onerror={HIT}> and (www&period;-&lt;img src=/{CANARY} onerror={HIT}>)",
    f"_www.zz&lt;img src=/{CANARY} onerror={HIT}&gt; www.q\\<svg/onload={HIT}\\>",
    f"![x](/{CANARY}) <img src=/{CANARY}> <button data-commandlinker-command='notebook:run-all-cells'>x</button>",
    *(payload.replace(RUN, HIT) for payload in OPEN.values()),
]
ANSWER = "\n\n".join(QUOTES)
_LIVE = """() => [...document.querySelectorAll(
  ["script", "img", "a[href]", "iframe", "object", "svg", "form", "button", "[onerror]", "[onload]", "[onclick]",
   "[data-commandlinker-command]"].map(one => ".jp-RenderedMarkdown " + one).join(", "))]
  .filter(one => !one.matches(".jp-InternalAnchorLink"))
  .map(one => one.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory, jupyterlab: JupyterServer) -> Iterator[JupyterServer]:
    """The server; what a kernel asks goes to a scripted model, which always gives the hostile answer."""
    upstreams = UpstreamServer()
    model = upstreams.add(says(ANSWER))
    asked = {"SVC_LOCAL_SERVE_ARGS": "", "SVC_MODEL_URL": model.url, "SVC_MODEL_NAME": "tiny", "SVC_MODEL_KEY": KEY}
    with jupyterlab.turn(tmp_path_factory.mktemp("state"), **asked):
        yield jupyterlab
    upstreams.stop()


def watched(page: Page) -> list[str]:
    """Requests that no part of JupyterLab makes."""
    asked: list[str] = []

    def see(request: Request) -> None:
        if CANARY in request.url or "hostile.invalid" in request.url:
            asked.append(request.url)

    page.on("request", see)
    return asked


def check(page: Page, asked: list[str]) -> None:
    page.wait_for_timeout(700)  # for what runs or loads with a delay
    assert page.evaluate("() => window.svcHit") is None
    assert asked == []
    assert page.evaluate(_LIVE) == []


@pytest.mark.timeout(240)
@pytest.mark.slow
def test_a_quoted_log_line_neither_runs_nor_loads_now_or_when_reopened(browser: Browser, jupyter: JupyterServer):
    jupyter.write("first.ipynb", "%load_ext svc_jupyter", "%%svc\nwho?", "%svc panel", "%%svc --cell\nwho again?")
    context = browser.new_context(viewport={"width": 1_400, "height": 900})
    lab = Workbench(context.new_page(), jupyter)
    asked = watched(lab.page)
    lab.load("first.ipynb")

    for cell in range(4):
        lab.start(cell)
        prompt = lab.cell(cell).locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=READY_MS)  # the first question starts the service
    lab.is_("idle")
    lab.markdown().first.scroll_into_view_if_needed()
    assert "img src" in lab.page.locator(f"{SHOWN} .jp-Notebook").inner_text()  # it is shown, as text
    check(lab.page, asked)
    lab.save()

    saved = jupyter.root / "first.ipynb"
    notebook = json.loads(saved.read_text("utf-8"))
    (jupyter.root / "copied.ipynb").write_text(json.dumps(notebook), "utf-8")
    for name in ("first.ipynb", "copied.ipynb"):  # trusted, because it was run here; not trusted
        lab.load(name)
        assert "img src" in lab.page.locator(f"{SHOWN} .jp-Notebook").inner_text()
        check(lab.page, asked)
    context.close()


@pytest.mark.slow
def test_the_test_sees_what_is_live(browser: Browser, jupyter: JupyterServer):
    hostile = (
        f"from IPython.display import Markdown\nMarkdown('www.z\\\\<img src=/{CANARY} onerror=\"window.svcHit=1\">')"
    )
    jupyter.write("live.ipynb", hostile)
    context = browser.new_context()
    lab = Workbench(context.new_page(), jupyter)
    asked = watched(lab.page)
    lab.load("live.ipynb")
    lab.run(0)
    lab.page.wait_for_function("() => window.svcHit === 1")
    assert asked
    assert lab.page.evaluate(_LIVE)
    context.close()
