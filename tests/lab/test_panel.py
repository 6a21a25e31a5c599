"""The chat panel in real JupyterLab and Notebook 7: what a user does there, and what stays of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter, MarkdownExporter
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.jupyter_server import JupyterServer
from tests.support.live import wait_until
from tests.support.workbench import SHOWN, Workbench

SLEEP = "import pathlib, time\nwhile not pathlib.Path('woken').exists(): time.sleep(0.1)"
SHOW = "%load_ext svc_jupyter\n%svc panel"


@pytest.fixture(scope="module")
def shots() -> Path:
    folder = Path(__file__).parent / "shots"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def bench(browser: Browser, jupyter: JupyterServer) -> Iterator[Workbench]:
    """JupyterLab on one page, which the tests share: each opens a notebook of its own."""
    context = browser.new_context(viewport={"width": 1_300, "height": 1_000})
    bench = Workbench(context.new_page(), jupyter)
    jupyter.set("@jupyterlab/notebook-extension:tracker", {"windowingMode": "none"})
    jupyter.write("first.ipynb", "")
    bench.load("first.ipynb")
    yield bench
    context.close()
    jupyter.set("@jupyterlab/notebook-extension:tracker", {})


def show(bench: Workbench, name: str, *cells: str) -> Locator:
    """A notebook with a panel below its first cell."""
    bench.open(name, SHOW, *cells)
    bench.run(0)
    expect(question_box(panel(bench))).to_be_visible()
    return panel(bench)


def panel(bench: Workbench, number: int = 0) -> Locator:
    return bench.page.locator(f"{SHOWN} .jp-OutputArea svc-chat").nth(number)


def question_box(chat: Locator) -> Locator:
    return chat.get_by_label("Question")


def ask(chat: Locator, text: str) -> None:
    question_box(chat).click()
    question_box(chat).press_sequentially(text)  # each key is one that JupyterLab could take for a command
    chat.get_by_role("button", name="Send").click()


def answers(chat: Locator) -> Locator:
    return chat.locator("article.turn .answer")


def test_cells_and_panel_share_a_session(bench: Workbench, shots: Path):
    chat = show(bench, "one.ipynb", "%svc count 3 20", "%svc echo the next cell")
    bench.run(1)
    expect(answers(chat)).to_have_text(["count 3 20 (after 0)"])
    ask(chat, "echo add a cell below")
    expect(answers(chat)).to_have_text(["count 3 20 (after 0)", "echo add a cell below (after 1)"])
    bench.run(2)
    expect(bench.output(2).last).to_contain_text("echo the next cell (after 2)")
    expect(bench.page.locator(f"{SHOWN} .jp-Notebook .jp-Cell")).to_have_count(3)
    bench.page.screenshot(path=shots / "panel-light.png")


@pytest.mark.slow
def test_the_panel_answers_while_a_cell_sleeps(bench: Workbench, jupyter: JupyterServer):
    chat = show(bench, "sleep.ipynb", SLEEP)
    bench.start(1)
    bench.is_("busy")
    ask(chat, "echo meanwhile")
    expect(answers(chat)).to_have_text(["echo meanwhile (after 0)"])
    expect(bench.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    (jupyter.root / "woken").touch()


def test_a_panel_question_waits_for_a_cell_and_stop_cancels_them_in_turn(bench: Workbench, shots: Path):
    chat = show(bench, "queue.ipynb", "%svc wait")
    bench.start(1)
    expect(chat.locator("article.turn")).to_contain_text("waiting")
    ask(chat, "echo queued")
    expect(chat.locator(".banner")).to_contain_text("Waiting for In [2] to finish")
    bench.page.screenshot(path=shots / "panel-waits.png")
    chat.get_by_role("button", name="Stop").click()
    expect(chat.locator(".banner")).to_have_count(0)
    chat.get_by_role("button", name="Stop").click()
    expect(bench.output(1).last).to_contain_text("cancelled")


@pytest.mark.slow
def test_a_cell_waits_for_the_question_of_the_panel(bench: Workbench):
    chat = show(bench, "cell_waits.ipynb", "%svc echo after it")
    ask(chat, "wait")
    expect(chat.locator("article.turn")).to_contain_text("waiting")
    bench.start(1)
    expect(bench.output(1).first).to_contain_text("waiting for the panel's question to finish")
    chat.get_by_role("button", name="Stop").click()
    expect(bench.output(1).last).to_contain_text("echo after it (after 0)")


@pytest.mark.slow
def test_a_second_view_a_reload_and_a_restart_resume_the_session(bench: Workbench, shots: Path):
    chat = show(bench, "again.ipynb", "from svc_jupyter import ChatPanel\nChatPanel()")
    ask(chat, "echo before all that")
    expect(answers(chat)).to_have_text(["echo before all that (after 0)"])
    bench.run(1)
    second = panel(bench, 1)
    expect(answers(second)).to_have_text(["echo before all that (after 0)"])
    ask(second, "echo in the second")
    expect(answers(chat).last).to_have_text("echo in the second (after 1)")
    bench.save()
    bench.load("again.ipynb")
    expect(answers(chat)).to_have_text(["echo before all that (after 0)", "echo in the second (after 1)"])
    ask(chat, "echo after the reload")
    expect(answers(second).last).to_have_text("echo after the reload (after 2)")
    chat.evaluate("chat => { chat.parentElement.style.blockSize = '16rem'; }")
    heights = chat.evaluate("chat => [chat.parentElement.scrollHeight, chat.parentElement.clientHeight]")
    assert heights[0] == heights[1]  # only the conversation scrolls, so that the panel's header stays
    bench.command("kernelmenu:restart")
    bench.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(chat.locator(".banner")).to_contain_text("kernel was shut down")
    bench.page.screenshot(path=shots / "panel-restarted.png")
    bench.wait()
    bench.run(0)
    expect(answers(panel(bench))).to_have_count(3)


@pytest.mark.slow
def test_it_follows_the_theme_of_jupyterlab(bench: Workbench, shots: Path):
    chat = show(bench, "dark.ipynb")
    bench.command("apputils:change-theme", theme="JupyterLab Dark")
    expect(chat).to_have_attribute("theme", "dark")
    ask(chat, "echo **Verdict:** `evil[.]example` is known.")
    expect(answers(chat)).to_have_text(["echo Verdict: evil[.]example is known. (after 0)"])
    bench.page.screenshot(path=shots / "panel-dark.png")
    bench.command("apputils:change-theme", theme="JupyterLab Light")
    expect(chat).to_have_attribute("theme", "light")


@pytest.mark.slow
def test_the_saved_notebook_has_a_transcript_that_exports_show(bench: Workbench, jupyter: JupyterServer):
    chat = show(bench, "saved.ipynb")
    ask(chat, "echo see https://evil.example/a <img src=x onerror=alert(1)>")
    transcript = bench.page.locator(f"{SHOWN} .jp-OutputArea-child:has([class^=svc-transcript])")
    wait_until(lambda: "hxxps" in (transcript.text_content() or ""), "the transcript to be drawn")
    expect(transcript).to_be_hidden()
    bench.save()
    saved = jupyter.root / "saved.ipynb"
    document = nbformat.read(saved, as_version=4)
    assert len(saved.read_text()) < 20_000
    for exporter in (HTMLExporter(), MarkdownExporter()):
        exported, _ = exporter.from_notebook_node(document)
        shown = exported[exported.index("</head>") :] if isinstance(exporter, HTMLExporter) else exported
        assert "Question 1" in shown
        assert "evil[.]example/a" in shown
        assert 'href="http' not in shown[shown.index("Question 1") :]
        assert "<img src=x" not in re.sub(r"`[^`]+`|```.*?```", "", shown, flags=re.DOTALL)


def test_the_key_is_nowhere_on_the_page(bench: Workbench, jupyter: JupyterServer):
    chat = show(bench, "key.ipynb")
    ask(chat, "echo hello")
    expect(answers(chat)).to_have_text(["echo hello (after 0)"])
    bench.save()
    key = (jupyter.state / "key").read_text().strip()
    stored = bench.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    saved = "".join(path.read_text() for path in jupyter.root.glob("*.ipynb"))
    places = {"notebooks": saved, "storage": stored, "page": bench.page.content(), "console": "".join(bench.said)}
    assert [name for name, text in places.items() if key in text] == []
    errors = [line for line in bench.said if line.startswith(("error", "pageerror"))]
    of_ipywidgets = "widget model not found"  # said of a notebook that was reopened
    assert [line for line in errors if of_ipywidgets not in line] == []


@pytest.mark.slow
def test_it_works_in_notebook_7(page: Page, jupyter: JupyterServer, shots: Path):
    jupyter.write("seven.ipynb", SHOW, "%svc echo from a cell")
    bench = Workbench(page, jupyter)
    page.goto(jupyter.notebook7("seven.ipynb"))
    bench.wait()
    bench.run(0)
    bench.run(1)
    ask(panel(bench), "echo from the panel")
    expect(answers(panel(bench))).to_have_text(["echo from a cell (after 0)", "echo from the panel (after 1)"])
    page.screenshot(path=shots / "panel-notebook7.png")


@pytest.mark.slow
def test_the_transcript_is_shown_without_a_kernel(bench: Workbench, shots: Path):
    chat = show(bench, "reopened.ipynb")
    ask(chat, "echo what was found")
    expect(answers(chat)).to_have_text(["echo what was found (after 0)"])
    bench.save()
    bench.command("kernelmenu:restart")
    bench.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(chat.locator(".banner")).to_contain_text("kernel was shut down")
    bench.load("reopened.ipynb")
    transcript = bench.output(0).last
    expect(transcript).to_be_visible()
    expect(transcript).to_contain_text("echo what was found (after 0)")
    expect(panel(bench)).to_have_count(0)
    bench.page.screenshot(path=shots / "panel-reopened.png")
