"""``ChatPanel`` in real kernels: what it shows, what stays of it, and whom it answers while a cell runs."""

from __future__ import annotations

import time
from pathlib import Path
from queue import Empty
from types import SimpleNamespace

import nbformat
import pytest
from nbconvert import HTMLExporter, MarkdownExporter
from nbformat import NotebookNode

from svc import Message
from svc_jupyter.answers import transcript
from svc_jupyter.errors import AskError
from svc_jupyter.panel import widget
from tests.support.kernels import Kernel, execute, notebook_of

VIEW = "application/vnd.jupyter.widget-view+json"


class Comm:
    """A front end's comm, on a subshell of its own as JupyterLab opens it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.client = kernel.client
        self.told: list[NotebookNode] = []
        reply = self._control("create_subshell_request")
        self.subshell = reply["content"]["subshell_id"]
        self._post("comm_open", target_name="svc_jupyter", data={})

    def post(self, **request: object) -> None:
        self._post("comm_msg", data=request)

    def wait_for(self, key: str, value: object) -> NotebookNode:
        """The first thing told with that value. Iopub is this test's alone meanwhile."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except Empty:
                continue
            if message["msg_type"] == "comm_msg":
                self.told.append(message["content"]["data"])
                if self.told[-1].get(key) == value:
                    return self.told[-1]
        raise AssertionError(f"nothing with {key} {value!r} arrived: {self.told}")

    def _post(self, kind: str, **content: object) -> None:
        message = self.client.session.msg(kind, {"comm_id": "c1", **content})
        message["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(message)

    def _control(self, kind: str) -> NotebookNode:
        message = self.client.session.msg(kind, {})
        self.client.control_channel.send(message)
        while True:
            reply = self.client.get_control_msg(timeout=20)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return reply


def test_a_page_is_answered_while_a_cell_runs(kernel: Kernel, tmp_path: Path):
    assert kernel.run("import svc_jupyter.panel.comm_target as t; t.register(); t.register()").status == "ok"
    comm = Comm(kernel)
    comm.post(id="1", do="send", content="echo first")
    comm.wait_for("is_busy", False)
    asked = kernel.client.execute(
        f"import pathlib, time\nwhile not pathlib.Path({str(tmp_path / 'go')!r}).exists(): time.sleep(0.05)"
    )
    while kernel.client.get_iopub_msg(timeout=20)["msg_type"] != "execute_input":
        pass
    comm.post(id="2", do="send", content="echo meanwhile")
    comm.wait_for("id", "2")
    comm.wait_for("is_busy", False)
    results = [
        m["content"]
        for e in comm.told
        if e.get("event") == "messages"
        for m in e["messages"]
        if m["message_type"] == "result"
    ]
    assert results == ["echo first (after 0)", "echo meanwhile (after 1)"]
    (tmp_path / "go").touch()
    while kernel.client.get_shell_msg(timeout=20)["parent_header"].get("msg_id") != asked:
        pass


def test_nothing_of_a_widget_is_loaded_before_a_panel_is_made(kernel: Kernel):
    shown = kernel.run(
        "import sys; 'x'\n%svc echo hi\nprint([m for m in ('ipywidgets', 'anywidget') if m in sys.modules])"
    )
    assert shown.text.strip().endswith("[]")


def test_a_panel_shows_a_widget_and_a_transcript_and_its_state_holds_neither_key_nor_history(
    kernel: Kernel, scripted_local: Path
):
    kernel.run("%svc echo a first question")
    shown = kernel.run("from svc_jupyter import ChatPanel\npanel = ChatPanel()\npanel")
    widget, told = shown.displays
    assert VIEW in widget["data"]
    assert "a first question (after 0)" in told["data"]["text/markdown"]
    state = kernel.run("state = panel.get_state(); print({**state, '_esm': len(state['_esm'])})").text
    assert (scripted_local / "key").read_text().strip() not in state
    assert "first question" not in state


def test_an_installation_without_the_built_script_says_how_to_get_the_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(widget, "SCRIPT", tmp_path / "panel.js")
    monkeypatch.setattr(widget, "loaded_extension", lambda: SimpleNamespace(shell=SimpleNamespace(kernel=object())))

    with pytest.raises(AskError, match="pip install --force-reinstall svc-jupyter"):
        widget.ChatPanel()


@pytest.mark.slow
def test_a_batch_run_shows_the_transcript_alone_and_brings_it_up_to_date(scripted_local: Path, tmp_path: Path):
    executed = execute(notebook_of("%svc panel", "%svc echo <script>alert(1)</script>"), tmp_path)
    (told,) = executed.cells[1].outputs
    assert "Chat panel: 1 question" in told.data["text/markdown"]
    assert VIEW not in nbformat.writes(executed)
    assert "svc-transcript" not in told.data["text/markdown"]  # nothing in it differs from run to run
    for exporter in (HTMLExporter(), MarkdownExporter()):
        assert "Question 1" in exporter.from_notebook_node(executed)[0]


def message(kind: str, content: str, turn: str = "t", **fields: object) -> Message:
    return Message(message_type=kind, content=content, turn=turn, **fields)


@pytest.mark.parametrize(
    ("messages", "shows"),
    [
        pytest.param([message("query", "q")], "Not answered yet.", id="running"),
        pytest.param([message("query", "q"), message("result", "**a**")], "**a**", id="answered"),
        pytest.param([message("query", "q"), message("error", "too long")], "No answer: too long", id="failed"),
        pytest.param([message("query", "q"), message("result", "![x](https://e.example/p.png)")], "hxxps", id="image"),
        pytest.param([message("query", "a ```` b\n< c")], "`````text\na ```` b\n< c\n`````", id="fence"),
        pytest.param([message("query", "a ```` b\n</pre>")], "\n`a ```` b`  \n`</pre>`\n", id="markup"),
        pytest.param(
            [message("query", "q"), message("result", "x" * 200_000)], "100,000 more characters omitted", id="long"
        ),
    ],
)
def test_a_transcript_says_what_came_of_a_question(messages: list[Message], shows: str):
    assert shows in transcript.bundle(messages, css_class="c")["text/markdown"]


def test_a_transcript_keeps_the_last_fifty_questions():
    messages = [message("query", f"number {n}.", str(n)) for n in range(60)]
    text = transcript.bundle(messages, css_class="c")["text/plain"]
    assert "60 questions" in text
    assert "The first 10 are omitted." in text
    assert "number 10." in text
    assert "number 9." not in text
