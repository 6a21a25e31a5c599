"""Tools of the kernel in real JupyterLab: who is asked, where, and what it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.jupyter_server import JupyterServer
from tests.support.sampling import sampled
from tests.support.workbench import SHOWN, Workbench

DEFINE = """%load_ext svc_jupyter
import svc_jupyter
ran = []

@svc_jupyter.tool
def owner_of(host: str, deep: bool = False) -> dict:
    "Says who owns a host, from the inventory."
    ran.append(host)
    return {"owner": "ops", "host": host}
"""
CALL = 'call owner_of {"host": "web1", "deep": true}'
IS_READY = """() => {
  const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
  return context?.isReady && context.session?.kernel?.status === "idle";
}"""
SHOTS = Path(__file__).parent / "shots"


@pytest.fixture(scope="module")
def bench(browser: Browser, jupyter: JupyterServer) -> Iterator[Workbench]:
    context = browser.new_context(viewport={"width": 1_300, "height": 1_000})
    bench = Workbench(context.new_page(), jupyter)
    jupyter.write("tools.ipynb", "")
    SHOTS.mkdir(exist_ok=True)
    bench.load("tools.ipynb")
    yield bench
    bench.command("apputils:change-theme", theme="JupyterLab Light")  # the server keeps it, and is others', too
    bench.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'true'")
    context.close()


def opened(bench: Workbench, name: str, *cells: str) -> None:
    """A notebook whose kernel has the tool."""
    bench.open(name, f"{DEFINE}\n%svc session new", *cells)
    bench.page.wait_for_function(IS_READY)
    bench.run(0)


def panel(bench: Workbench) -> Locator:
    return bench.page.locator(f"{SHOWN} .jp-OutputArea svc-chat")


def test_the_cell_asks_and_the_tool_runs_when_it_is_allowed(bench: Workbench):
    opened(bench, "cell.ipynb", f"%svc {CALL}", "ran")
    bench.start(1)
    prompt = bench.page.locator(f"{SHOWN} .jp-Stdin-input")
    prompt.wait_for()
    bench.page.screenshot(path=SHOTS / "tool_cell_asks.png")
    expect(bench.cell(1)).to_contain_text("The model wants to call owner_of: Says who owns a host, from the inventory.")
    expect(bench.cell(1)).to_contain_text('host = "web1"')
    prompt.fill("y")
    prompt.press("Enter")
    expect(bench.cell(1)).to_contain_text('{"owner":"ops","host":"web1"}')
    bench.is_("idle")
    bench.page.screenshot(path=SHOTS / "tool_cell_answered.png")
    bench.run(2)
    expect(bench.output(2).last).to_contain_text("['web1']")


@pytest.mark.slow
@pytest.mark.parametrize("theme", sampled(["JupyterLab Light", "JupyterLab Dark"], 1))
def test_the_panel_asks_for_its_own_question(bench: Workbench, theme: str):
    bench.command("apputils:change-theme", theme=theme)
    opened(bench, f"panel-{theme.split()[1]}.ipynb", "%svc panel", "ran")
    bench.run(1)
    chat = panel(bench)
    question = chat.locator(".composer textarea")
    question.fill(CALL)
    question.press("Enter")
    asked = chat.locator(".asked")
    expect(asked).to_contain_text("The model wants to run your tool owner_of with:")
    expect(asked).to_contain_text('host = "web1"')
    bench.page.screenshot(path=SHOTS / f"tool_panel_asks_{theme.split()[1].lower()}.png")
    asked.get_by_role("button", name="Allow this call").click()
    expect(chat.locator(".answer").last).to_contain_text('{"owner":"ops","host":"web1"}')
    expect(asked).to_have_count(0)
    bench.run(2)
    expect(bench.output(2).last).to_contain_text("['web1']")


@pytest.mark.slow
def test_a_tool_refused_in_the_panel_does_not_run(bench: Workbench):
    opened(bench, "refused.ipynb", "%svc panel", "ran")
    bench.run(1)
    chat = panel(bench)
    chat.locator(".composer textarea").fill(CALL)
    chat.locator(".composer textarea").press("Enter")
    chat.locator(".asked").get_by_role("button", name="Deny").click()
    expect(chat.locator(".answer").last).to_contain_text("the user denied the call")
    bench.run(2)
    expect(bench.output(2).last).to_contain_text("[]")
