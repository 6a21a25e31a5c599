"""JupyterLab with the extension, on one page shared by several tests; each opens its own notebook."""

from __future__ import annotations

from pathlib import Path

import nbformat
from playwright.sync_api import Locator, Page, expect

from tests.support.browsers import WAIT_MS
from tests.support.jupyter_server import JupyterServer

READY_MS = 60_000
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"
_RUN = "([id, args]) => { void window.jupyterapp.commands.execute(id, args); }"
_DONE = "([id, args]) => window.jupyterapp.commands.execute(id, args).then(() => null)"
_IS_CONNECTED = """() => {
  const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === "connected" && kernel.info.then(() => true);
}"""
_IS_RESTORED = "() => window.jupyterapp?.restored.then(() => true)"
_IS_IN_FRONT = """name => {
  const shell = window.jupyterapp.shell;
  const widget = [...shell.widgets("main")].find(one => one.context?.path === name);
  if (widget && shell.currentWidget !== widget) shell.activateById(widget.id);
  return widget !== undefined && shell.currentWidget === widget && widget.isVisible;
}"""
_IS_ENABLED = "id => window.jupyterapp.commands.isEnabled(id)"


class Workbench:
    """The page, its current notebook and the chat next to it."""

    def __init__(self, page: Page, jupyter: JupyterServer) -> None:
        self.page = page
        self.jupyter = jupyter
        self.said: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"pageerror: {error}"))

    def load(self, name: str) -> None:
        """Reload the page with this notebook."""
        self.page.goto(self.jupyter.lab(name))
        self.page.wait_for_function(_IS_RESTORED, timeout=READY_MS)  # else one of before comes to the front later
        self._is_shown(name)
        self.wait()

    def wait(self) -> None:
        """Until the notebook on screen is there, and its kernel idle."""
        self.cell(0).wait_for(timeout=READY_MS)
        self.page.wait_for_function(_IS_CONNECTED, timeout=READY_MS)
        self.is_("idle")

    def open(self, name: str, *cells: str, kernel: str = "python3") -> None:
        """A new notebook with these cells, in the page that is there."""
        path = self.jupyter.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": kernel, "display_name": kernel}})
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(notebook, path)
        self.command("docmanager:open", path=name)
        self.page.wait_for_function(_IS_IN_FRONT, arg=name, timeout=READY_MS)
        self._is_shown(name)
        self.wait()
        self.page.wait_for_function(_IS_IN_FRONT, arg=name)  # what the page's address names may come up late

    def _is_shown(self, name: str) -> None:
        tab = self.page.locator(".lm-DockPanel-tabBar .jp-mod-current")
        expect(tab).to_contain_text(Path(name).name, timeout=READY_MS)

    def command(self, command: str, **arguments: object) -> None:
        """Run a command, and do not wait for its end."""
        self.page.evaluate(_RUN, [command, arguments])

    def is_enabled(self, command: str) -> bool:
        """Whether a menu would offer it."""
        return bool(self.page.evaluate(_IS_ENABLED, command))

    def is_(self, status: str) -> None:
        """Until the kernel is idle, or busy."""
        indicator = self.page.locator(f"{SHOWN} .jp-Notebook-ExecutionIndicator[data-status={status}]")
        indicator.wait_for(timeout=READY_MS)

    def cell(self, number: int) -> Locator:
        """A cell of the notebook on screen, from 0."""
        return self.page.locator(f"{SHOWN} .jp-Notebook .jp-Cell").nth(number)

    def markdown(self) -> Locator:
        """The Markdown cells, as they are rendered."""
        return self.page.locator(f"{SHOWN} .jp-MarkdownCell .jp-MarkdownOutput")

    def select(self, number: int) -> None:
        """Put the cursor into a cell."""
        self.cell(number).locator(".cm-content").click()

    def start(self, number: int) -> None:
        """Run a cell, and do not wait for it."""
        self.select(number)
        self.page.keyboard.press("Control+Enter")

    def run(self, number: int) -> None:
        """Run a cell to its end."""
        prompt = self.cell(number).locator(".jp-InputPrompt")
        before = prompt.text_content() or ""
        self.start(number)
        expect(prompt).not_to_have_text(before)
        expect(prompt).not_to_have_text("[*]:")

    def output(self, number: int) -> Locator:
        """What a cell shows below itself: each display."""
        return self.cell(number).locator(".jp-OutputArea-output")

    @property
    def chat(self) -> Locator:
        """The chat in the sidebar."""
        return self.page.locator(".svc-Panel svc-chat:not([hidden])")

    @property
    def question(self) -> Locator:
        """Where one writes in it."""
        return self.chat.locator(".composer textarea")

    @property
    def answers(self) -> Locator:
        """What was answered in it."""
        return self.chat.locator("article.turn .answer")

    @property
    def notice(self) -> Locator:
        """The notice of the panel if it shows no chat."""
        return self.page.locator(".svc-Panel .svc-Notice")

    @property
    def status(self) -> Locator:
        """Ours in the status bar."""
        return self.page.locator(".svc-Status")

    def open_chat(self) -> None:
        """The sidebar, until one can ask in it; nothing was run in the notebook, perhaps."""
        self.command("svc:open")
        expect(self.connect_button.or_(self.question).first).to_be_visible()
        if self.connect_button.is_visible():
            self.connect_button.click()
        expect(self.question).to_be_visible()

    @property
    def connect_button(self) -> Locator:
        """What connects the chat to a kernel in which nothing was run yet."""
        return self.notice.get_by_role("button", name="Connect", exact=True)

    def ask(self, text: str) -> None:
        """Write a question and send it."""
        self.question.click()
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Enter")

    def ask_when_open(self, text: str) -> None:
        """As soon as the chat is connected again."""
        expect(self.notice).to_be_visible()
        expect(self.notice).to_be_hidden()
        self.ask(text)

    def save(self) -> None:
        """Write the notebook to disk."""
        self.page.evaluate(_DONE, ["docmanager:save", {}])

    def drag(self, folder: str, name: str) -> None:
        """Drag a file from the file browser onto the chat."""
        self.command("filebrowser:activate")
        self.command("filebrowser:go-to-path", path=f"/{folder}", dontShowBrowser=False)
        item = self.page.locator(f".jp-DirListing-item[title*='Name: {name}']")
        item.wait_for()
        start, end = item.bounding_box(), self.chat.bounding_box()
        assert start is not None
        assert end is not None
        mouse = self.page.mouse
        mouse.move(start["x"] + 60, start["y"] + 8)
        mouse.down()
        mouse.move(start["x"] + 100, start["y"] + 30, steps=4)
        mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=8)
        mouse.up()
