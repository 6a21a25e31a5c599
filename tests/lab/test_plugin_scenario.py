"""A morning with the extension, from the first question to the second notebook; and what stays of the key: nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.jupyter_server import JupyterServer
from tests.support.workbench import Workbench

_STORED = """async () => {
  const databases = await indexedDB.databases();
  const cookies = document.cookie;
  return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, databases, cookies, document.body.innerHTML]);
}"""


@pytest.fixture
def lab(browser: Browser, jupyter: JupyterServer) -> Iterator[Workbench]:
    """A page of a fresh profile."""
    context = browser.new_context(viewport={"width": 1_400, "height": 900})
    yield Workbench(context.new_page(), jupyter)
    context.close()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("time", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.slow
def test_ask_watch_stop_insert_reload_restart_and_switch(lab: Workbench, jupyter: JupyterServer, time: int):
    heard: list[str] = []
    lab.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: heard.append(str(frame))))
    sleep = "import time\nwhile not __import__('pathlib').Path('woken').exists(): time.sleep(0.05)"
    name = f"morning-{time}"
    (jupyter.root / "woken").unlink(missing_ok=True)
    jupyter.write(f"{name}.ipynb", "%load_ext svc_jupyter", "%%svc\ncount 40 50", sleep, "%svc wait")
    lab.load(f"{name}.ipynb")

    lab.run(0)
    expect(lab.output(0)).to_have_count(0)
    lab.start(1)
    expect(lab.output(1).first).to_contain_text("no answer after")  # INFO by INFO
    expect(lab.output(1).first).to_contain_text("5")
    expect(lab.output(1).last).to_contain_text("count 40 50 (after 0)")

    lab.open_chat()
    expect(lab.answers).to_have_text(["count 40 50 (after 0)"])
    lab.start(2)
    lab.is_("busy")
    lab.ask("echo while it sleeps")
    expect(lab.answers).to_have_text(["count 40 50 (after 0)", "echo while it sleeps (after 1)"])
    (jupyter.root / "woken").touch()
    lab.is_("idle")

    lab.start(3)
    expect(lab.output(3).first).to_contain_text("waiting")
    expect(lab.status).to_contain_text("asking")
    lab.command("svc:stop")
    expect(lab.output(3).first).to_contain_text("failed")
    lab.is_("idle")
    lab.ask("echo **bold**")
    expect(lab.answers.last).to_have_text("echo bold (after 2)")
    lab.select(2)
    lab.command("svc:insert-answer")
    expect(lab.markdown()).to_have_text(["echo bold (after 2)"])
    lab.save()

    lab.page.reload()
    lab.wait()
    expect(lab.answers.last).to_have_text("echo bold (after 2)")
    expect(lab.markdown()).to_have_text(["echo bold (after 2)"])
    lab.command("notebook:restart-kernel")
    lab.page.locator(".jp-Dialog .jp-mod-accept").click()
    lab.ask_when_open("echo after the restart")
    expect(lab.answers.last).to_have_text("echo after the restart (after 3)")

    lab.open(f"{name}-other.ipynb", "1")
    lab.open_chat()
    expect(lab.answers).to_have_count(0)
    lab.ask("echo elsewhere")
    expect(lab.answers).to_have_text(["echo elsewhere (after 0)"])
    lab.command("docmanager:open", path=f"{name}.ipynb")
    expect(lab.answers.last).to_have_text("echo after the restart (after 3)")

    key = (jupyter.state / "key").read_text("ascii").strip()
    kept = [lab.page.evaluate(_STORED), *heard, *lab.said, (jupyter.root / f"{name}.ipynb").read_text("utf-8")]
    assert len(key) > 20
    assert not [text for text in kept if key in text]
    assert [
        line for line in lab.said if re.match("pageerror|error:.*svc", line)
    ] == []  # JupyterLab has some of its own
