"""The extension in real JupyterLab: the chat that follows the kernel, answers as cells, commands, settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from tests.support.jupyter_server import JupyterServer
from tests.support.live import wait_until
from tests.support.workbench import Workbench

PLUGIN = "svc-jupyterlab:panel"
LOAD = "%load_ext svc_jupyter"


@pytest.fixture(scope="module")
def lab(browser: Browser, jupyter: JupyterServer, bare_kernel: str) -> Iterator[Workbench]:
    """One page for all tests of the module; a turn is long from one second on."""
    jupyter.set(PLUGIN, {"notify_seconds": 1})
    jupyter.write("first.ipynb", "1")
    context = browser.new_context(viewport={"width": 1_400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = Workbench(context.new_page(), jupyter)
    shown.load("first.ipynb")
    yield shown
    context.close()


@pytest.fixture(autouse=True)
def kept_shot(lab: Workbench, request: pytest.FixtureRequest) -> Iterator[None]:
    """How the page looked at the end of each test."""
    yield
    folder = Path(__file__).parent / "shots"
    folder.mkdir(exist_ok=True)
    lab.page.screenshot(path=folder / f"plugin-{request.node.name[:70]}.png")


@pytest.mark.slow
def test_a_kernel_is_not_used_until_the_chat_is_opened(lab: Workbench):
    lab.open("alone.ipynb", "'SvcMagics' in get_ipython().magics_manager.registry")
    lab.run(0)
    expect(lab.output(0)).to_have_text("False")
    expect(lab.status).to_be_hidden()


def test_the_chat_and_cells_share_a_session(lab: Workbench):
    lab.open("one.ipynb", LOAD, "%svc count 3 20")
    lab.open_chat()
    lab.ask("echo from the chat")
    expect(lab.answers).to_have_text(["echo from the chat (after 0)"])
    lab.run(0)
    expect(lab.output(0)).to_have_count(0)
    lab.run(1)
    expect(lab.output(1).last).to_contain_text("count 3 20 (after 1)")
    expect(lab.answers).to_have_text(["echo from the chat (after 0)", "count 3 20 (after 1)"])


@pytest.mark.slow
def test_the_chat_follows_the_notebook_and_each_notebook_keeps_its_own(lab: Workbench):
    lab.open("left.ipynb", "1")
    lab.open_chat()
    lab.ask("echo left")
    expect(lab.answers).to_have_text(["echo left (after 0)"])
    lab.open("right.ipynb", "2")
    expect(lab.connect_button).to_be_visible()
    lab.open_chat()
    expect(lab.answers).to_have_count(0)
    lab.command("docmanager:open", path="left.ipynb")
    expect(lab.answers).to_have_text(["echo left (after 0)"])


def test_the_status_bar_shows_session_time_model_and_state(lab: Workbench):
    lab.open("status.ipynb", LOAD, "%svc session new Ticket-4711", "%svc wait")
    lab.run(0)
    expect(lab.status).to_have_text("svc: no session yet · idle")
    lab.run(1)
    expect(lab.status).to_contain_text(re.compile(r"svc: Ticket-4711 · 23 h 5\d min left · svc-"))
    lab.start(2)
    expect(lab.output(2).first).to_contain_text("waiting")
    expect(lab.status).to_contain_text("asking")
    lab.open_chat()
    lab.ask("echo next")
    expect(lab.status).to_contain_text("waiting")
    lab.command("svc:stop")
    expect(lab.status).to_contain_text("idle")
    expect(lab.answers).to_have_text(["", "echo next (after 0)"])


def test_an_answer_for_the_cell_below_is_written_there_and_replaced(lab: Workbench):
    lab.open("below.ipynb", LOAD, "%%svc --cell\necho **one**", "1")
    lab.run(0)
    lab.run(1)
    expect(lab.markdown()).to_have_text(["echo one (after 0)"])
    expect(lab.output(1)).to_have_text([re.compile("steps")])
    lab.run(1)
    expect(lab.markdown()).to_have_text(["echo one (after 1)"])
    lab.save()
    cells = nbformat.read(lab.jupyter.root / "below.ipynb", 4).cells
    assert [cell.cell_type for cell in cells] == ["code", "code", "markdown", "code"]
    assert cells[2].metadata["svc"]["answer_of"] == cells[1].id


def test_a_question_is_highlighted_as_text_and_tab_completes_its_options(lab: Workbench):
    lab.open("text.ipynb", LOAD, "%%svc --mo\nimport this for what?", "import this")
    lab.run(0)
    expect(lab.cell(2).locator(".cm-content span").first).to_have_text("import")
    expect(lab.cell(1).locator(".cm-content span")).to_have_count(0)
    lab.select(1)
    lab.page.keyboard.press("Control+Home")
    lab.page.keyboard.press("End")
    lab.page.keyboard.press("Tab")
    expect(lab.page.locator(".jp-Completer-item")).to_contain_text(["--model"])
    lab.page.keyboard.press("Enter")
    expect(lab.cell(1).locator(".cm-line").first).to_have_text("%%svc --model")
    lab.page.keyboard.press("Escape")
    lab.select(1)
    lab.page.keyboard.press("Control+Home")
    lab.page.keyboard.insert_text("x")
    expect(lab.cell(1).locator(".cm-content span")).not_to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "cell", "written"),
    [
        pytest.param("cell", 0, ["suspicious?", "print('203.0.113.7')"], id="cell"),
        pytest.param("output", 0, ["What does this show", "203.0.113.7\n```"], id="output"),
        pytest.param("error", 1, ["Why did this fail", "1/0", "ZeroDivisionError: division by zero"], id="error"),
        pytest.param("selection", 0, ["What is this", "```\nprint('203.0.113.7')\n```"], id="selection"),
    ],
)
def test_a_selection_to_ask_about_is_inserted_into_the_chat(
    asked_about: Workbench, subject: str, cell: int, written: list[str]
):
    lab = asked_about
    lab.select(cell)
    if subject == "selection":
        lab.page.keyboard.press("Control+a")
    lab.command(f"svc:ask-{subject}")
    for part in written:
        expect(lab.question).to_have_value(re.compile(re.escape(part)))
    lab.question.fill("")


@pytest.fixture(scope="module")
def asked_about(lab: Workbench) -> Workbench:
    lab.open("about.ipynb", "print('203.0.113.7')", "1/0")
    lab.run(0)
    lab.run(1)
    lab.open_chat()
    return lab


@pytest.mark.slow
def test_a_long_output_is_attached_as_a_file(lab: Workbench):
    lab.open("long.ipynb", "for i in range(2_000): print(i)")
    lab.run(0)
    lab.select(0)
    lab.command("svc:ask-output")
    expect(lab.question).to_have_value(re.compile(r"attached file output-1\.txt"))
    expect(lab.chat.locator(".composer")).to_contain_text(re.compile(r"output-1\.txt\s*8\.9 kB"))
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.insert_text("files")
    lab.page.keyboard.press("Enter")
    expect(lab.answers).to_have_text(["output-1.txt (8890)"])


def test_the_last_answer_becomes_a_cell_that_is_safe_to_render(lab: Workbench):
    lab.open("insert.ipynb", "1", "2")
    lab.open_chat()
    lab.ask("echo ![x](http://203.0.113.9/a.png) <img src=x onerror=alert(1)>")
    expect(lab.answers).to_contain_text(["203[.]0[.]113[.]9"])
    lab.select(0)
    lab.command("svc:insert-answer")
    expect(lab.markdown()).to_contain_text(["203[.]0[.]113[.]9"])
    expect(lab.markdown().locator("img")).to_have_count(0)
    expect(lab.cell(1)).to_have_class(re.compile("jp-MarkdownCell"))
    lab.command("svc:copy-answer")
    lab.page.wait_for_function("navigator.clipboard.readText().then(text => text.includes('203[.]0[.]113[.]9'))")


@pytest.mark.slow
def test_an_answer_that_examined_nothing_is_marked_in_the_chat_the_cell_and_the_inserted_cell(lab: Workbench):
    lab.open("unread.ipynb", LOAD, "%svc status not_examined **No failed login.**", "3")
    lab.run(0)
    lab.run(1)
    expect(lab.output(1).last).to_contain_text("⚠ Not examined. The evidence was not read")
    lab.open_chat()
    expect(lab.chat.get_by_role("note", name="Status of the answer: Not examined")).to_have_text("⚠ Not examined")
    expect(lab.answers).to_have_text(["No failed login."])
    lab.select(2)
    lab.command("svc:insert-answer")
    expect(lab.markdown()).to_contain_text(["⚠ Not examined."])


@pytest.mark.slow
def test_sessions_are_created_resumed_and_extended_by_commands(lab: Workbench):
    lab.open("sessions.ipynb", LOAD, "%svc session new first-one", "%svc echo in the first", "%svc session")
    for number in range(3):
        lab.run(number)
    lab.command("svc:new-session")
    expect(lab.status).not_to_contain_text("first-one")
    expect(lab.answers).to_have_count(0)
    lab.command("svc:resume-session")
    dialog = lab.page.locator(".jp-Dialog")
    expect(dialog.locator("option")).not_to_have_count(0)
    (row,) = [text for text in dialog.locator("option").all_text_contents() if text.startswith("first-one")]
    dialog.locator("select").select_option(row)
    dialog.get_by_role("button", name="Resume").click()
    expect(lab.status).to_contain_text("first-one")
    expect(lab.answers).to_have_text(["echo in the first (after 0)"])
    lab.run(3)
    expect(lab.output(3)).to_contain_text(["first-one"])
    lab.command("svc:extend-session")
    lab.page.locator(".jp-Notification-Status").click()
    expect(lab.page.locator(".jp-Notification-Center")).to_contain_text(
        re.compile(r"Session extended: 23 h 5\d min left\.")
    )
    lab.page.locator(".jp-Notification-Status").click()


@pytest.mark.slow
def test_a_file_dragged_from_the_browser_is_attached_from_the_notebooks_folder_and_from_elsewhere(lab: Workbench):
    lab.open("sub/drag.ipynb", "1")
    (lab.jupyter.root / "sub" / "near.txt").write_text("near")
    (lab.jupyter.root / "far.txt").write_text("far away")
    lab.open_chat()
    lab.drag("sub", "near.txt")
    expect(lab.chat.locator(".composer")).to_contain_text(re.compile(r"near\.txt\s*4 B"))
    lab.drag("", "far.txt")
    expect(lab.chat.locator(".composer")).to_contain_text(re.compile(r"far\.txt\s*8 B"))
    lab.ask("files")
    expect(lab.answers).to_have_text(["near.txt (4), far.txt (8)"])


@pytest.mark.slow
def test_a_long_turn_that_ends_out_of_sight_is_notified(lab: Workbench):
    lab.open("notice.ipynb", LOAD, "%svc count 7 500", *["#\n" * 40] * 2)
    lab.open_chat()
    lab.command("application:toggle-right-area")
    expect(lab.question).to_be_hidden()
    lab.run(0)
    lab.start(1)
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    lab.cell(1).hover()
    lab.page.mouse.wheel(0, 5_000)  # the user looks elsewhere
    expect(lab.cell(1).locator(".jp-InputArea")).not_to_be_in_viewport()
    lab.page.locator(".jp-Notification-Status").click()
    center = lab.page.locator(".jp-Notification-Center")
    expect(center).to_contain_text(re.compile(r"Answered after \d+ s: count 7 500"))
    center.get_by_role("button", name="Show").first.click()
    expect(lab.question).to_be_visible()
    lab.page.keyboard.press("Escape")


@pytest.mark.slow
def test_the_panel_says_how_to_install_a_missing_svc_jupyter(lab: Workbench, bare_kernel: str):
    lab.open("bare.ipynb", "1", kernel=bare_kernel)
    lab.command("svc:open")
    lab.connect_button.click()
    expect(lab.notice).to_contain_text("svc-jupyter is not installed in this notebook's environment")
    expect(lab.notice.locator("code")).to_have_text("%pip install svc-jupyter")
    expect(lab.notice.get_by_role("button")).to_have_text("Try again")


@pytest.fixture(scope="module")
def bare_kernel(jupyter: JupyterServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A kernel whose Python finds no svc_jupyter."""
    python = tmp_path_factory.mktemp("bare")
    (python / "sitecustomize.py").write_text(
        "import sys\n"
        "class Bare:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'svc_jupyter':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Bare())\n"
    )
    jupyter.add_kernel("bare", {"PYTHONPATH": str(python)})
    return "bare"


@pytest.mark.slow
def test_settings_are_a_form_and_apply_to_new_sessions(lab: Workbench):
    lab.open("settings.ipynb", LOAD, "%svc session new", "%svc session")
    lab.open_chat()
    lab.command("settingeditor:open", query="Svc")
    form = lab.page.locator(".jp-SettingsPanel")
    language = form.locator("input[id$=_language]")
    expect(form.locator("input[id$=_model]")).to_be_visible()
    expect(form.locator("input[id*=key]")).to_have_count(0)
    language.fill("de")
    saved = lab.jupyter.settings / "svc-jupyterlab" / "panel.jupyterlab-settings"
    wait_until(lambda: '"language": "de"' in saved.read_text(), "the form to be saved")
    lab.command("docmanager:open", path="settings.ipynb")
    lab.run(1)
    expect(lab.output(1)).to_contain_text([re.compile(r"language\s*de")])
    lab.command("settingeditor:open", query="Svc")
    language.fill("")
    wait_until(lambda: '"language": "de"' not in saved.read_text(), "the form to be saved")
    lab.page.keyboard.press("Escape")


@pytest.mark.slow
def test_a_chat_opened_while_the_first_cell_runs_connects_at_once(lab: Workbench):
    woken = lab.jupyter.root / "awake"
    lab.open("busy.ipynb", f"{LOAD}\nimport time, pathlib\nwhile not pathlib.Path('awake').exists(): time.sleep(0.05)")
    lab.start(0)
    lab.is_("busy")
    lab.open_chat()
    lab.ask("echo at once")
    expect(lab.answers).to_have_text(["echo at once (after 0)"])
    prompt = lab.cell(0).locator(".jp-InputPrompt")
    expect(prompt).to_have_text("[*]:")  # the kernel calls itself idle after each message of the chat
    woken.touch()
    expect(prompt).to_have_text("[1]:")


@pytest.mark.slow
def test_a_notebook_is_run_again_as_a_report_and_the_page_is_shown(lab: Workbench):
    lab.open("nightly.ipynb", "print('from a fresh kernel', 6 * 7)")
    lab.command("svc:run-report")
    expect(lab.page.locator(".lm-DockPanel-tabBar .jp-mod-current")).to_contain_text("nightly.html", timeout=60_000)
    shown = lab.page.frame_locator(".jp-HTMLViewer iframe")
    expect(shown.get_by_text("from a fresh kernel 42")).to_be_visible()
    expect(lab.output(0)).to_have_count(0)
    assert (lab.jupyter.root / "nightly.html").exists()
    lab.command("docmanager:open", path="nightly.ipynb")
