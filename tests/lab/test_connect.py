"""A notebook that was only opened runs nothing, and nothing is ever imported from its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.jupyter_server import JupyterServer
from tests.support.workbench import Workbench

HOSTILE = "import os, pathlib; (pathlib.Path(os.path.abspath(__file__)).parent / ('ran-' + __name__)).touch()\n"
NAMES = [
    "svc", "svc_jupyter", "httpx2", "httpcore2", "websockets", "msgspec", "filelock", "idna", "anywidget", "click",
    "nbclient", "nbformat", "nbconvert", "jinja2", "docstring_parser", "tomli", "keyring", "bleach", "mistune", "dask",
]  # fmt: skip

_ASK_KERNEL = """() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
  .requestKernelInfo().then(() => null)"""


@pytest.fixture(scope="module")
def lab(browser: Browser, jupyter: JupyterServer) -> Iterator[Workbench]:
    jupyter.write("first.ipynb", "1")
    context = browser.new_context(viewport={"width": 1_400, "height": 900})
    shown = Workbench(context.new_page(), jupyter)
    shown.load("first.ipynb")
    shown.open_chat()
    yield shown
    context.close()


def plant(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        (folder / f"{name}.py").write_text(HOSTILE)


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("**/ran-*"))


@pytest.mark.slow
def test_opening_a_notebook_runs_nothing_and_connecting_imports_nothing_from_its_folder(lab: Workbench):
    folder = lab.jupyter.root / "case"
    plant(folder)
    sent: list[str] = []
    lab.page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame))))
    lab.open("case/evidence.ipynb", "1 + 1")
    expect(lab.notice).to_contain_text("The chat is not connected to this notebook's kernel")
    for _ in range(3):  # what would be sent on connecting is sent before these are answered
        lab.page.evaluate(_ASK_KERNEL)
    assert not [frame for frame in sent if "execute_request" in frame]
    lab.command("svc:open")
    expect(lab.connect_button).to_be_focused()
    assert ran(folder) == []

    lab.page.keyboard.press("Enter")
    expect(lab.question).to_be_visible()
    lab.ask("echo hello")
    expect(lab.answers).to_have_text(["echo hello (after 0)"])
    assert ran(folder) == []

    lab.page.reload()
    lab.wait()
    expect(lab.answers).to_have_text(["echo hello (after 0)"])  # the tab remembers that it was connected
    assert ran(folder) == []


def test_a_cell_that_the_user_ran_connects_the_chat(lab: Workbench):
    lab.open("used.ipynb", "1 + 1", "# a comment")
    expect(lab.connect_button).to_be_visible()
    lab.run(0)
    expect(lab.question).to_be_visible()


@pytest.mark.slow
def test_a_report_imports_nothing_from_the_folder(lab: Workbench):
    folder = lab.jupyter.root / "nightly"
    plant(folder)
    lab.open("nightly/report.ipynb", "print('from a fresh kernel', 6 * 7)")
    lab.command("svc:run-report")
    expect(lab.page.locator(".lm-DockPanel-tabBar .jp-mod-current")).to_contain_text("report.html", timeout=60_000)
    assert (folder / "report.html").exists()
    assert ran(folder) == []
