"""JupyterLab and Notebook 7, as they are installed: no error in the console, a question is answered, no key is taken.

The same test runs with another JupyterLab (4.2 is the oldest) in an environment that has it.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.jupyter_server import JupyterServer
from tests.support.workbench import Workbench

LAB_SCHEMAS = Path(sys.prefix, "share", "jupyter", "lab", "schemas")
NOTEBOOK_SCHEMAS = LAB_SCHEMAS / "@jupyter-notebook"
OURS = Path(__file__).parents[2] / "labextension" / "packages" / "lab" / "schema" / "panel.json"
CODE_MIRROR = [
    r"Alt-A",
    r"Alt-I",
    r"Alt-L",
    r"Alt-U",
    r"Alt-V",
    r"Alt-Enter",
    r"Alt-ArrowLeft",
    r"Alt-ArrowRight",
    r"Alt-ArrowUp",
    r"Alt-ArrowDown",
    r"Alt-Backspace",
    r"Alt-Delete",
    r"Shift-Alt-A",
    r"Shift-Alt-M",
    r"Shift-Alt-ArrowUp",
    r"Shift-Alt-ArrowDown",
    r"Shift-Alt-ArrowLeft",
    r"Shift-Alt-ArrowRight",
]
"""The default keymaps of CodeMirror 6 with Alt (its ``Alt-A`` is Shift and Alt); ours all have Alt."""
OF_OTHERS = (
    "favicon",
    "Failed to load resource",  # such as a language server or news, which the tests' server lacks
    "reading 'schema'",  # Notebook 7 alone, without any extension
    "'filebrowser:open-path' not registered",  # a command of JupyterLab that Notebook 7 lacks; not ours
    "widget model not found",  # ipywidgets, of a notebook that was opened again
)


def is_ours(line: str) -> bool:
    """Whether a line of the console is an error or warning that our extension may have caused."""
    return line.startswith(("error", "pageerror")) and not any(text in line for text in OF_OTHERS)


@pytest.mark.parametrize("frontend", ["lab", pytest.param("notebook7", marks=pytest.mark.slow)])
def test_a_question_is_answered_and_the_console_is_clean(page: Page, jupyter: JupyterServer, frontend: str):
    if frontend == "notebook7" and find_spec("notebook") is None:
        pytest.skip("Notebook 7 is not installed")
    jupyter.write(f"{frontend}.ipynb", "%load_ext svc_jupyter", "%svc echo in this front end")
    bench = Workbench(page, jupyter)
    page.goto(getattr(jupyter, frontend)(f"{frontend}.ipynb"))
    bench.wait()
    bench.run(0)
    bench.run(1)
    expect(bench.cell(1)).to_contain_text("echo in this front end (after ")  # the kernel may have been asked before
    bench.command("svc:open")
    expect(bench.chat).to_be_visible()
    expect(page.locator(".svc-Status")).to_have_count(1 if frontend == "lab" else 0)  # Notebook 7 has no status bar
    assert [line for line in bench.said if is_ours(line)] == []
    plugins = {line for line in bench.said if "svc-jupyterlab" in line and not line.startswith(("log", "debug"))}
    assert plugins == set()


def shortcuts(schema: Path) -> Iterator[tuple[str, str, str]]:
    """Keys, command and selector of each shortcut that a plugin has by default."""
    content = json.loads(schema.read_text(encoding="utf-8"))
    for shortcut in content.get("jupyter.lab.shortcuts", []):
        for name in ("keys", "macKeys", "winKeys", "linuxKeys"):
            if keys := shortcut.get(name):
                yield normal(" ".join(keys)), shortcut["command"], shortcut["selector"]


def normal(keys: str) -> str:
    """A combination with its modifiers in one order; on macOS Accel is Cmd, elsewhere Ctrl, so both are taken."""
    *modifiers, key = re.split(r"\s+|(?<=[^-])-(?=.)", keys.replace("Control", "Ctrl"))
    named = {"M": "Accel", "A": "Alt", "S": "Shift", "Ctrl": "Accel", "Cmd": "Accel"}
    return " ".join([*sorted({named.get(one, one) for one in modifiers}), key.capitalize()])


def test_the_shortcuts_of_the_extension_are_nobody_elses():
    taken: dict[str, set[str]] = defaultdict(set)
    for schema in LAB_SCHEMAS.glob("@*/**/*.json"):
        if not schema.name.startswith("package.json"):
            for keys, command, _ in shortcuts(schema):
                taken[keys].add(command)
    assert len(taken) > 50, "JupyterLab's schemas are not where they were"
    for keys in CODE_MIRROR:
        taken[normal(keys)].add(f"CodeMirror {keys}")
    own = [(keys, command) for keys, command, _ in shortcuts(OURS)]
    assert own
    assert all("Alt" in keys.split() for keys, _ in own)
    assert [(keys, command, sorted(taken[keys])) for keys, command in own if taken[keys]] == []
    assert len({keys for keys, _ in own}) == len({command for _, command in own})
