"""JupyterLab: outputs of cells, a Markdown cell, the panel, the sidebar, and the notebook when it is opened again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.adversarial.payloads import asked_by_payloads, every, was_hit
from tests.support import ASSISTANTS
from tests.support.jupyter_server import JupyterServer
from tests.support.live_elements import live_in
from tests.support.watched import Watched
from tests.support.workbench import SHOWN, Workbench

ASKED = every(4)
LOAD = "%load_ext svc_jupyter\nimport json\nPAYLOADS = json.load(open('payloads.json'))"
ASK = "for text in PAYLOADS:\n    get_ipython().run_cell_magic('svc', '', text)"
FROM_PYTHON = """from svc_jupyter import session
for text in PAYLOADS:
    answer = await session.ask(text)
    display(answer, answer.findings, answer.indicators, answer.coverage, *answer.pictures)
    print(repr(answer))"""
FAILED = "get_ipython().run_cell_magic('svc', '', 'fail: ' + PAYLOADS[{}])"
BELOW = "%%svc --cell\n{}"
COMMANDS = "%svc history 100\n%svc session\n%svc session list\n%svc files"
PANEL = "%svc panel"
UNFOLD = "chat => chat.shadowRoot.querySelectorAll('details').forEach(one => { one.open = true; })"
TURNS = 2 * len(ASKED)


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory, jupyterlab: JupyterServer) -> Iterator[JupyterServer]:
    """The server; what a kernel asks goes to a service that answers with the payload everywhere."""
    hostile = {"SVC_LOCAL_SERVE_ARGS": "--assistant hostile:Everywhere", "PYTHONPATH": str(ASSISTANTS)}
    with jupyterlab.turn(tmp_path_factory.mktemp("state"), **hostile):
        (jupyterlab.root / "payloads.json").write_text(json.dumps(ASKED))
        yield jupyterlab


@pytest.fixture(scope="module")
def lab(browser: Browser, jupyter: JupyterServer) -> Iterator[tuple[Workbench, Watched]]:
    """A notebook in which everything was asked, and its page with all requests."""
    context = browser.new_context(viewport={"width": 1_400, "height": 900})
    page = context.new_page()
    watched = Watched(page)
    bench = Workbench(page, jupyter)
    jupyter.set("@jupyterlab/notebook-extension:tracker", {"windowingMode": "none"})
    jupyter.write("first.ipynb", "1")
    bench.load("first.ipynb")
    failing = [FAILED.format(number) for number in range(0, len(ASKED), max(1, len(ASKED) // 8))]
    below = [BELOW.format(text) for text in ASKED if "\n" not in text][:: max(1, len(ASKED) // 8)]
    bench.open("asked.ipynb", LOAD, ASK, FROM_PYTHON, COMMANDS, PANEL, *failing, *below)
    for number in range(5 + len(failing)):
        bench.run(number)
    for number in reversed(range(len(below))):  # each inserts a cell below itself
        bench.run(5 + len(failing) + number)
    bench.open_chat()
    bench.save()
    yield bench, watched
    context.close()


def judge(place: Locator) -> None:
    """Nothing of it is alive."""
    expect(place.first).to_be_attached()
    found = live_in(place)
    assert found == [], "\n".join(found)


def assert_nothing_was_asked(watched: Watched) -> None:
    """No payload ran, and none loaded anything."""
    assert not was_hit(watched.page)
    assert asked_by_payloads(watched.requests) == []
    assert watched.strangers == []


def test_the_outputs_of_cells_are_dead(lab: tuple[Workbench, Watched]):
    bench, watched = lab
    outputs = bench.page.locator(f"{SHOWN} .jp-OutputArea-output")
    assert outputs.count() > TURNS
    judge(outputs)
    assert_nothing_was_asked(watched)


@pytest.mark.slow
def test_markdown_cells_with_an_answer_are_dead(lab: tuple[Workbench, Watched]):
    bench, watched = lab
    judge(bench.markdown())
    assert_nothing_was_asked(watched)


@pytest.mark.parametrize("place", [".jp-OutputArea svc-chat", ".svc-Panel svc-chat"], ids=["panel", "sidebar"])
def test_the_chat_is_dead(lab: tuple[Workbench, Watched], place: str):
    bench, watched = lab
    chat = bench.page.locator(place).last
    expect(chat.locator("article.turn").nth(TURNS)).to_be_attached()
    chat.evaluate(UNFOLD)
    judge(chat)
    assert_nothing_was_asked(watched)


@pytest.mark.parametrize(
    "is_trusted", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["trusted", "not trusted"]
)
@pytest.mark.slow
def test_the_notebook_opened_again_is_dead(lab: tuple[Workbench, Watched], is_trusted: bool):
    bench, watched = lab
    path = bench.jupyter.root / "asked.ipynb"
    if not is_trusted:  # a notebook from elsewhere: its signature is not known here
        notebook = nbformat.read(path, 4)
        notebook.cells[0].source += "\n# changed"
        path = bench.jupyter.root / "from_elsewhere.ipynb"
        nbformat.write(notebook, path)
    else:
        path = shutil.copy(path, bench.jupyter.root / "again.ipynb")
    bench.load(Path(path).name)
    outputs = bench.page.locator(f"{SHOWN} .jp-OutputArea-output")
    assert outputs.count() > len(ASKED)
    judge(outputs)
    judge(bench.markdown())
    assert_nothing_was_asked(watched)
