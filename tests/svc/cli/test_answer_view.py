"""How an answer looks: Markdown or data in a pipe; on a terminal rendered, whole, and inert."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter

import pytest

from svc.cli.answer_view import data_of, show_answer
from tests.svc.cli.test_terminal_payloads import OBEYED, PAYLOADS

WIDE = """\
| File | Account | Source | First | Last | SHA-256 | Command |
|---|---|---|---|---|---|---|
| auth.log | deploy | 203.0.113.77 | 03:00 | 03:06 | {hash} | {command} |
""".format(hash="ab" * 32, command="powershell -enc " + "A" * 90)
FOLDED = "Verdict.\n\n<details>\n<summary>2 rows</summary>\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n</details>\n"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    """Show an answer on a terminal of that many columns; what was written."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def show(answer: str, columns: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        terminal = Terminal()
        monkeypatch.setattr("sys.stdout", terminal)
        show_answer(answer)
        return terminal.getvalue()

    return show


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        pytest.param('```json\n[{"a": 1}]\n```\n', '[{"a": 1}]', id="open: json"),
        pytest.param("```csv\na,b\n1,2\n```", "a,b\n1,2", id="open: csv"),
        pytest.param("Two rows:\n\n```json\n[]\n```\n", None, id="open: text before"),
        pytest.param("```json\n[]\n```\n\n```json\n{}\n```\n", None, id="open: two blocks"),
        pytest.param("```python\nprint()\n```", None, id="open: code"),
        pytest.param('````json\n["```"]\n````', '["```"]', id="held: longer fence"),
        pytest.param("~~~yaml\na: 1\n~~~\n", "a: 1", id="held: tildes"),
        pytest.param("```jsonl\n{}\n{}\n```\n```\ntext\n```", None, id="held: text block after"),
        pytest.param("\n```JSON\n1\n```\n\n", "1", id="held: capitals"),
        pytest.param("```json\n1\n```\nNot all files were read.", None, id="held: text after"),
        pytest.param("```json\n```", None, id="held: nothing"),
    ],
)
def test_only_an_answer_that_is_one_block_of_data_loses_its_fence(answer: str, data: str | None):
    assert data_of(answer) == data


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_data_stays_data_and_inert(payload: str, capsys: pytest.CaptureFixture[str]):
    text = payload.encode("utf-8", "replace").decode()
    rows = io.StringIO()
    csv.writer(rows).writerow([text, "b"])

    show_answer(f"```json\n{json.dumps([text], ensure_ascii=False)}\n```")
    as_json = capsys.readouterr().out
    show_answer(f"```csv\na,b\n{rows.getvalue()}\n```")
    as_csv = capsys.readouterr().out

    assert OBEYED.search(as_json + as_csv) is None
    assert json.loads(as_json) == [text]


def test_in_a_pipe_the_answer_is_markdown(capsys: pytest.CaptureFixture[str]):
    show_answer(FOLDED)

    assert capsys.readouterr().out == "Verdict.\n\n## 2 rows\n\n| A | B |\n|---|---|\n| 1 | 2 |\n"


def test_on_a_terminal_sections_are_open_and_marks_are_gone(shown):
    text = ESCAPES.sub("", shown(f"**Critical**: `deploy`\n\n- one\n\n{FOLDED}\n```bash\nid  # 1\n```\n"))

    assert "Critical: deploy" in text
    assert " • one" in text
    assert "2 rows\n──────\n" in text
    assert "    id  # 1" in text
    assert not re.search(r"[*`#|]|<details>| +$", text.replace("    id  # 1", ""), re.MULTILINE)


@pytest.mark.parametrize("columns", [20, 40, 80, 120, 200])
def test_a_wide_table_is_shown_whole_within_the_width(columns: int, shown):
    text = ESCAPES.sub("", shown(WIDE, columns))

    cells = "deploy" + "ab" * 32 + "A" * 90 + "03:00" + "03:06" + "auth.log" + "powershell"
    assert not Counter(cells) - Counter(text)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize(
    ("environ", "has_colour", "has_escapes"),
    [({}, True, True), ({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False)],
    ids=["colour", "NO_COLOR", "dumb"],
)
def test_the_terminal_is_asked_for_no_more_than_it_can(
    environ: dict[str, str], has_colour: bool, has_escapes: bool, shown, monkeypatch: pytest.MonkeyPatch
):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    text = shown("# Title\n\n`code`")

    assert ("\x1b" in text) == has_escapes
    assert (re.search(r"\x1b\[(?:\d+;)*3\d", text) is not None) == has_colour


def entities(payload: str) -> str:
    return "".join(f"&#{ord(c)};" for c in payload)


WRAPPED = (
    "{}", "`{}`", "```\n{}\n```", "| a | {} |\n|---|---|\n| {} | b |", "- {}", "## {}", "> {}", "<b>{}</b>",
    "[a](http://x.example/{})", "{}</kbd> <kbd>", "<details>\n<summary>{}</summary>\n\n{}\n\n</details>",
    "![{}](x)", "[a]: {}\n\n[a]",
)  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_nothing_in_an_answer_is_obeyed(payload: str, shown):
    for wrapped in WRAPPED:
        for text in (payload, entities(payload)):
            assert OBEYED.search(ESCAPES.sub("", shown(wrapped.replace("{}", text)))) is None, wrapped


def test_no_link_is_clickable(shown):
    text = shown("[safe](https://evil.example/x) <https://evil.example> ![i](https://evil.example/i.png)")

    assert "\x1b]8" not in text
    assert "https://evil.example" not in text
