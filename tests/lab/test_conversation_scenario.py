"""A conversation from the first question to the day after: cell, panel, sidebar, theme, full screen, restart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.jupyter_server import JupyterServer
from tests.support.workbench import SHOWN, Workbench

SHOW = "%load_ext svc_jupyter\n%svc panel"
IN_BETWEEN = re.compile(r"echo in between \(after \d\)")
_TALL = ["# filler\n1\n2\n3\n4"] * 6
_WATCH = """() => {
  window.blanks = 0;
  window.watching = true;
  const chats = [...document.querySelectorAll("svc-chat")].filter(chat => chat.checkVisibility());
  const look = () => {
    if (!chats.every(chat => chat.shadowRoot.querySelector(".turns .answer")?.textContent)) window.blanks += 1;
    if (window.watching) requestAnimationFrame(look);
  };
  look();
  return chats.length;
}"""
_LATER = """async () => {
  const began = performance.now();
  for (let frames = 0; frames < 15 || performance.now() - began < 400; frames += 1) {
    await new Promise(requestAnimationFrame);
  }
}"""
_BLANKS = "() => { window.watching = false; return window.blanks; }"
_COVERS = """chat => {
  const { x, y, width, height } = chat.getBoundingClientRect();
  const isInFront = document.elementFromPoint(5, innerHeight - 5) === chat;
  return [x, y, width - innerWidth, height - innerHeight, isInFront];
}"""
_HEIGHTS = """cell => {
  window.heights = [];
  window.watching = true;
  const output = cell.querySelector(".jp-Cell-outputWrapper");
  const look = () => {
    window.heights.push(output.offsetHeight);
    if (window.watching) requestAnimationFrame(look);
  };
  look();
}"""
_LOWEST = "() => { window.watching = false; return Math.min(...window.heights); }"
_IN_VIEW = """cell => {
  const input = cell.querySelector(".jp-InputArea").getBoundingClientRect();
  const view = cell.closest(".jp-NotebookPanel").querySelector(".jp-WindowedPanel-outer").getBoundingClientRect();
  return input.top >= view.top - 5 && input.bottom <= view.bottom + 5;
}"""


@pytest.fixture
def lab(browser: Browser, jupyter: JupyterServer) -> Iterator[Workbench]:
    """A page of a fresh profile."""
    context = browser.new_context(viewport={"width": 1_440, "height": 900})
    yield Workbench(context.new_page(), jupyter)
    context.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("time", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.slow
def test_ask_follow_up_theme_full_screen_reload_restart_and_find_again(
    lab: Workbench, jupyter: JupyterServer, time: int
):
    name = f"case-{time}"
    shots = Path(__file__).parent / "shots"
    jupyter.write(f"{name}.ipynb", SHOW, "%%svc\necho who got in?", "%svc wait", "%svc lines 3")
    lab.load(f"{name}.ipynb")
    lab.run(0)
    lab.run(1)
    lab.page.keyboard.press("Alt+Shift+S")
    expect(lab.question).to_be_focused()
    lab.ask("echo and when?")
    below = lab.page.locator(f"{SHOWN} .jp-OutputArea svc-chat")
    for chat in (lab.chat, below):
        expect(chat.locator(".answer")).to_have_text(["echo who got in? (after 0)", "echo and when? (after 1)"])

    lab.page.evaluate(_WATCH)
    lab.command("apputils:change-theme", theme="JupyterLab Dark")
    expect(lab.chat).to_have_attribute("theme", "dark")
    lab.page.evaluate(_LATER)
    lab.page.screenshot(path=shots / "conversation-dark.png")
    assert lab.page.evaluate(_BLANKS) == 0  # no frame without the conversation
    lab.command("apputils:change-theme", theme="JupyterLab Light")
    for chat in (lab.chat, below):
        check_full_screen(lab, chat)

    _busy_while_a_cell_asks(lab)
    lab.chat.get_by_label("Insert into the notebook").last.click()
    expect(lab.markdown()).to_have_text([IN_BETWEEN])
    lab.question.focus()
    lab.page.keyboard.press("Escape")
    assert lab.page.evaluate("() => document.activeElement.closest('.jp-Notebook') !== null")
    lab.page.keyboard.press("Alt+Shift+S")
    expect(lab.question).to_be_focused()
    lab.page.keyboard.press("Alt+Shift+S")
    expect(lab.question).to_be_hidden()
    lab.save()

    lab.page.reload()
    lab.wait()
    lab.command("svc:open")
    expect(lab.answers.last).to_have_text(IN_BETWEEN)
    jupyter.restart()
    lab.load(f"{name}.ipynb")
    lab.open_chat()
    lab.chat.locator("header .name").click()
    lab.chat.get_by_label("Search sessions").fill("another case")
    expect(lab.chat.locator(".sessions li")).to_have_count(0)
    lab.chat.get_by_label("Search sessions").fill(name)
    lab.chat.locator(".sessions li button").first.click()
    expect(lab.answers.first).to_have_text("echo who got in? (after 0)")
    lab.page.screenshot(path=shots / "conversation-found.png")


def check_full_screen(lab: Workbench, chat: Locator) -> None:
    chat.get_by_label("Full screen").click()
    expect(chat.get_by_label("Exit full screen")).to_be_visible()
    assert chat.evaluate(_COVERS) == [0, 0, 0, 0, True]
    chat.locator("textarea").focus()
    lab.page.keyboard.press("Escape")
    expect(chat.get_by_label("Full screen", exact=True)).to_be_visible()
    assert chat.evaluate(_COVERS)[4] is False


def _busy_while_a_cell_asks(lab: Workbench) -> None:
    """The kernel is shown as busy, also after messages of the chat; a question that waits is there after a reload."""
    lab.start(2)
    expect(lab.status).to_contain_text("asking")
    lab.ask("echo in between")
    expect(lab.chat.locator(".banner")).to_contain_text("Waiting for")
    bar = lab.page.locator("#jp-main-statusbar")
    lab.page.wait_for_timeout(500)
    expect(bar).to_contain_text("Busy")
    lab.page.reload()
    lab.page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)")
    lab.command("svc:open")  # JupyterLab saves its layout later
    expect(lab.notice).to_contain_text("Questions that wait in the kernel are kept")
    lab.command("notebook:interrupt-kernel")
    expect(lab.answers.last).to_have_text(IN_BETWEEN)
    lab.is_("idle")


@pytest.mark.slow
def test_a_question_stays_in_view_and_running_it_again_does_not_collapse_its_output(lab: Workbench):
    lab.jupyter.write("view.ipynb", "%load_ext svc_jupyter", *_TALL, "%%svc\nlines 40", "# next", *_TALL)
    lab.load("view.ipynb")
    lab.run(0)
    asking = lab.cell(7)
    lab.cell(9).scroll_into_view_if_needed()
    for _ in range(2):
        lab.select(7)
        asking.evaluate(_HEIGHTS)
        before = asking.locator(".jp-Cell-outputWrapper").evaluate("output => output.offsetHeight")
        lab.page.keyboard.press("Shift+Enter")
        expect(asking.locator(".jp-InputPrompt")).to_have_text("[*]:")
        expect(asking.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))
        lab.page.evaluate(_LATER)
        assert lab.page.evaluate(_LOWEST) >= before
        assert asking.evaluate(_IN_VIEW)
    assert before > 500


@pytest.mark.slow
def test_no_notice_comes_for_an_answer_in_view(lab: Workbench, jupyter: JupyterServer):
    jupyter.set("svc-jupyterlab:panel", {"notify_seconds": 1})
    lab.jupyter.write("seen.ipynb", "%load_ext svc_jupyter", "%svc count 3 500", *_TALL, *_TALL)
    lab.load("seen.ipynb")
    lab.page.evaluate("() => window.jupyterapp.shell.collapseRight()")
    lab.run(0)
    lab.run(1)
    lab.page.locator(".jp-Notification-Status").click()
    expect(lab.page.locator(".jp-Notification-Center")).not_to_contain_text("Answered after")
    lab.page.keyboard.press("Escape")
    lab.start(1)
    lab.cell(1).hover()
    lab.page.mouse.wheel(0, 5_000)  # the user looks elsewhere
    expect(lab.cell(1).locator(".jp-InputArea")).not_to_be_in_viewport()
    lab.page.locator(".jp-Notification-Status").click()
    expect(lab.page.locator(".jp-Notification-Center")).to_contain_text(re.compile(r"Answered after \d+ s"))
    jupyter.set("svc-jupyterlab:panel", {})
