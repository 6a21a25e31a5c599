"""What Tab offers, from the text before the cursor; and that IPython's completer shows it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from svc_jupyter.magics.completion import Known, offers
from tests.support.kernels import Kernel

KNOWN = Known(variables=("frame", "log"), models=("svc-1.1", "svc-1.2-experimental"), sessions=("0a1b2c", "0d1e2f"))


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        pytest.param("%%svc --at", ("--attach",), id="option"),
        pytest.param("%%svc --attach a.log --i", ("--into",), id="option after a value"),
        pytest.param("%%svc --attach a.log --at", ("--attach",), id="attach again"),
        pytest.param("%%svc --new --n", None, id="switch once"),
        pytest.param("%%svc --attach {", ("{frame}", "{log}"), id="variable"),
        pytest.param("%%svc --attach {fr", ("{frame}",), id="beginning of a variable"),
        pytest.param("%%svc --attach=", None, id="file"),
        pytest.param("%%svc --attach au", None, id="beginning of a file"),
        pytest.param("%svc --fill is {l", ("{log}",), id="variable in a question"),
        pytest.param("%svc is {l", None, id="braces are text without --fill"),
        pytest.param("%%svc --into ", ("frame", "log"), id="variable to fill"),
        pytest.param("%%svc --model ", ("stable", "experimental", *KNOWN.models), id="model"),
        pytest.param("%%svc --timeout ", ("60", "300", "900"), id="timeout"),
        pytest.param("%%svc --answers re", ("replay", "refresh"), id="answers"),
        pytest.param("%svc se", ("session",), id="command"),
        pytest.param("%%svc se", None, id="no command in a cell magic"),
        pytest.param("%svc session re", ("resume", "rename"), id="command's second word"),
        pytest.param("%svc session resume 0a", ("0a1b2c",), id="session"),
        pytest.param("%svc session extend 1", ("1h", "1d"), id="duration"),
        pytest.param("%svc model s", ("stable", "svc-1.1", "svc-1.2-experimental"), id="command's model"),
        pytest.param("%svc key ", ("delete",), id="key"),
        pytest.param("%svc what se", None, id="question"),
        pytest.param("%svc -- se", None, id="question after --"),
        pytest.param("%svcx se", None, id="another magic"),
        pytest.param("x = 1", None, id="Python"),
    ],
)
def test_offers(line: str, texts: tuple[str, ...] | None):
    offer = offers(line, KNOWN)

    assert (offer and offer.texts) == texts
    assert offer is None or line.endswith(offer.fragment)


def complete(kernel: Kernel, code: str) -> list[str]:
    request = kernel.client.complete(code)
    while True:
        reply = kernel.client.get_shell_msg(timeout=30)
        if reply["parent_header"].get("msg_id") == request:
            break
    content = reply["content"]
    return [code[: content["cursor_start"]] + match for match in content["matches"]]


def test_jupyter_shows_the_offers(shared_kernel: Kernel):
    shared_kernel.run("my_frame, my_log = 1, 2")

    assert complete(shared_kernel, "%%svc --mo") == ["%%svc --model"]
    assert complete(shared_kernel, "%svc --attach {my_f") == ["%svc --attach {my_frame}"]
    assert complete(shared_kernel, "x = 1\n%svc session l") == ["x = 1\n%svc session list"]
    assert "%svc model stable" in complete(shared_kernel, "%svc model ")
    assert complete(shared_kernel, "%%svc --new\nwhat --mo") == []


def test_models_and_sessions_are_offered_once_they_are_known(shared_kernel: Kernel):
    shared_kernel.run("%svc session list\n%svc session new known\n%svc session list\n%svc model")

    assert "%%svc --model svc-1.1" in complete(shared_kernel, "%%svc --model ")
    [session] = [text for text in complete(shared_kernel, "%svc session resume ") if "resume " in text][-1:]
    assert shared_kernel.run(session).status == "ok"


def test_the_rest_of_a_cell_is_pythons(shared_kernel: Kernel):
    assert "import json\njson.dumps" in complete(shared_kernel, "import json\njson.du")


def test_a_terminal_shows_the_offers():
    program = (
        "import json\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "from IPython.core.completer import provisionalcompleter\n"
        "shell = InteractiveShell.instance()\nshell.run_line_magic('load_ext', 'svc_jupyter')\n"
        "with provisionalcompleter():\n"
        "    print(json.dumps([c.text for c in shell.Completer.completions('%svc --ti', 9)]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert json.loads(done.stdout.splitlines()[-1]) == ["--timeout"], done.stderr
