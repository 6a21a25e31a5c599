"""No command prints what a terminal obeys, in any field, on either output; JSON stays JSON and means the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import nbformat
import pytest
from click.testing import CliRunner

from svc import Message, MessageType, SvcError, TaskProgress
from svc.cli import ask as ask_module
from svc.cli.activity import Activity
from svc.cli.answer_document import AnswerDocument, answer_document
from svc.cli.conversation import ask_in
from svc.cli.main import main
from svc.messages import NOTICE_TITLE
from svc.untrusted.terminal import print_exception, visible_json
from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.store import Entry
from svc_jupyter.errors import AnswerMissingError, AskError, ServiceUnreachableError
from tests.support.sampling import sampled

PAYLOADS = {
    "open: colour": "\x1b[31mred\x1b[0m",
    "open: clear and move": "\x1b[2J\x1b[1;1H",
    "open: clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "open: link": "\x1b]8;;http://x.example\x1b\\click\x1b]8;;\x1b\\",
    "open: C1": "\x9b31m\x9d52;c;eA==\x9c",
    "open: carriage return": "bad\rgood",
    "open: direction": "\u202egnp.exe\u2066",
    "open: backspace": "bad\b\b\bgood",
    "held: device control": "\x1bP$q\"p\x1b\\",
    "held: title": "\x1b]0;owned\x1b\\",
    "held: alternate screen": "\x1b[?1049h",
    "held: report": "\x1b[6n\x05",
    "held: vertical tab and form feed": "a\x0bb\x0cc",
    "held: delete and null": "a\x7fb\x00c",
    "held: next line": "a\x85b\u2028c\u2029d",
    "held: tags": "".join(chr(0xE0000 + ord(c)) for c in "run"),
    "held: zero width": "pay\u200bpal\ufeff\u2060",
    "held: shift": "\x0e\x0f",
    "held: APC and PM": "\x1b_Gx\x1b\\\x1b^x\x1b\\",
    "held: lone surrogate": "a\udc9bb",
    "held: tag of a language and joiners": "\U000e0001\u034f\u061c\u180e",
}  # fmt: skip
OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff"
    r"\ud800-\udfff]"
)


def run(*arguments: str, **settings: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, list(arguments), **settings)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def assert_quiet(*texts: str) -> None:
    for text in texts:
        assert OBEYED.search(text) is None, ascii(text)


@pytest.fixture(params=PAYLOADS.values(), ids=PAYLOADS)
def payload(request: pytest.FixtureRequest) -> str:
    return str(request.param)


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "an unknown command": lambda p: [p],
    "an unknown option": lambda p: [f"--x{p}"],
    "a file that is missing": lambda p: ["ask", "--attach", f"/none/{p}", "q"],
    "an option that is no number": lambda p: ["ask", "--timeout", p, "q"],
    "an option of a command": lambda p: ["ask", f"--y{p}", "q"],
    "too many words": lambda p: ["ask", "q", p],
    "a notebook that is missing": lambda p: ["report", "run", f"/none/{p}.ipynb"],
    "a parameter": lambda p: ["report", "run", "n.ipynb", "-p", f"{p}=1"],
    "a parameter's name": lambda p: ["report", "run", "n.ipynb", "-p", p],
    "a format": lambda p: ["report", "run", "n.ipynb", "--to", p],
    "an executor": lambda p: ["report", "run", "n.ipynb", "--executor", p],
    "a choice": lambda p: ["report", "run", "n.ipynb", "--answers", p],
    "a redacted name": lambda p: ["report", "run", "n.ipynb", "--redact", p],
    "a key of an answer": lambda p: ["report", "answers", "show", p, "--store", "store"],
    "a store that is missing": lambda p: ["report", "answers", "list", "--store", f"/none/{p}"],
    "a subcommand": lambda p: ["report", p],
    "a set of rules": lambda p: ["rules", "remove", p],
    "a folder of rules": lambda p: ["rules", "add", f"/none/{p}"],
    "rules for a file": lambda p: ["rules", "check", f"/none/{p}"],
    "a key's id": lambda p: ["keys", "revoke", p],
    "a session": lambda p: ["sessions", "delete", p],
    "a shell": lambda p: ["completion", p],
    "a command to help with": lambda p: ["help", p],
    "a file that is not attached": lambda p: ["ask", "q", "n.ipynb", p],
    "a pattern": lambda p: ["ask", "--attach", f"{p}*", "q"],
    "a comparison": lambda p: ["report", "diff", f"/none/{p}", "n.ipynb"],
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "state"))
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]), tmp_path / "n.ipynb")
    (tmp_path / "store").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", sampled(COMMANDS, 7))
def test_an_error_that_quotes_the_command_line_is_visible(name: str, payload: str, work: Path):
    if "\x00" in payload:
        payload = payload.replace("\x00", "")  # no command line can hold it

    code, *outputs = run(*COMMANDS[name](payload))

    assert code in (1, 2)
    assert_quiet(*outputs)


def test_a_service_reaches_the_terminal_with_no_field(payload: str, work: Path, monkeypatch: pytest.MonkeyPatch):
    async def answers(*_: object, **__: object) -> AnswerDocument:
        with Activity() as activity:
            await ask_in(Session(), "q", [], activity)
        messages = [Message(message_type=MessageType.RESULT, content=payload, title=payload, turn=payload)]
        facts = {"kind": "indicator", "type": payload, "value": payload, payload: [payload]}
        return answer_document(payload, payload, messages, [{"title": payload, "severity": payload, "facts": facts}])

    class Session:
        async def stream(self, question: str, **_: object):
            yield Message(message_type=MessageType.INFO, content=payload)
            progress = TaskProgress(task=payload, done=1, total=2)
            yield Message(message_type=MessageType.INFO, content=payload, actor=payload, progress=progress)
            yield Message(message_type=MessageType.INFO, content=payload, title=NOTICE_TITLE)

    monkeypatch.setattr(ask_module, "_ask", answers)

    code, *outputs = run("ask", "q")
    assert code == 0
    assert_quiet(*outputs)
    if OBEYED.search(payload) and not re.search("[\ud800-\udfff]", payload):
        as_json = run("ask", "--json", "q")[1]
        assert_quiet(as_json)
        assert json.loads(as_json)["answer"] == payload
        assert json.loads(as_json)["messages"][0]["title"] == payload
        assert json.loads(as_json)["findings"][0]["facts"][payload] == [payload]
        assert json.loads(as_json)["indicators"][0]["value"] == payload


def test_an_error_of_a_service_is_visible(payload: str, work: Path, monkeypatch: pytest.MonkeyPatch):
    async def fails(*_: object, **__: object) -> None:
        raise SvcError(payload)

    monkeypatch.setattr(ask_module, "_ask", fails)

    code, *outputs = run("ask", "q")

    assert code == 1
    assert_quiet(*outputs)


def test_a_store_is_listed_and_shown_visibly(payload: str, work: Path):
    text = payload.encode("utf-8", "replace").decode()
    entry = Entry(
        key="ab" * 32, before=text, question=text, asked_model=text, language=text, files=[(text, text)], model=text,
        session_id=text, saved=1.0, notes=[text], messages=[Message(message_type=MessageType.RESULT, content=text)],
    )  # fmt: skip
    answer_store.save(work / "store", entry)

    for arguments in (["list"], ["list", "--json"], ["show", "ab"], ["prune", "--days", "0"]):
        code, *outputs = run("report", "answers", *arguments, "--store", "store")
        assert code == 0
        assert_quiet(*outputs)
        if "--json" in arguments:
            assert json.loads(outputs[0])["question"] == text


def test_a_comparison_is_printed_visibly(payload: str, work: Path):
    data = {"application/vnd.svc.answer+json": {"key": payload, "model": payload, "text": payload, "findings": [
        {"id": payload, "kind": payload, "severity": payload, "title": payload}]}}  # fmt: skip
    metadata = {"application/vnd.svc.answer+json": {"question": payload}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    (work / "old.ipynb").write_text(json.dumps(notebook))
    notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", data=data, metadata=metadata)]
    (work / "new.ipynb").write_text(json.dumps(notebook))

    for to in ("md", "html", "json"):
        code, *outputs = run("report", "diff", "old.ipynb", "new.ipynb", "--to", to)
        assert code == 0
        assert_quiet(*outputs)
        if to == "json":
            json.loads(outputs[0])


def test_an_exception_is_printed_visibly(payload: str, capsys: pytest.CaptureFixture[str]):
    error = RuntimeError(payload)

    print_exception(RuntimeError, error, None)

    assert_quiet(capsys.readouterr().err)


@pytest.mark.parametrize("kind", [AskError, AnswerMissingError, ServiceUnreachableError])
def test_an_error_of_a_cell_is_visible_in_ipython(kind: type[AskError], payload: str):
    error = kind(f"could not read {payload}")

    assert_quiet(str(error), repr(error), *map(str, error.args), *error._render_traceback_())


def test_visible_json_means_the_same(payload: str):
    text = payload.encode("utf-8", "replace").decode()
    value = {text: [text, {"a": text}]}

    shown = visible_json(msgspec.json.encode(value).decode())

    assert_quiet(shown)
    assert json.loads(shown) == value


def test_help_stays_help():
    assert run("report", "--help")[0] == 0
    assert "Usage:" in run("report")[1] + run("report")[2]
    assert isinstance(main, click.Group)
