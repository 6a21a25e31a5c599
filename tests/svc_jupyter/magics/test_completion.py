"""What Tab offers, from the text before the cursor; and that IPython's completer shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from svc_jupyter.magics.completion import Known, offers
from tests.support.kernels import Kernel

MODELS = ("svc-1.1", "svc-1.2-experimental")
KNOWN = Known(
    variables=lambda: ("count", "frame", "log"),
    attachable=lambda: ("frame", "log"),
    models=lambda: MODELS,
    sessions=lambda: (("0a1b2c", "who?"), ("0d1e2f", "session")),
    files=lambda: ("a b.log", "auth.log"),
    paths=lambda start: [path for path in ("audit/", "auth.log") if path.startswith(start)],
)
OPTIONS_AFTER_A_FILE = (
    "--attach", "--all", "--into", "--cell", "--new", "--model", "--timeout", "--answers", "--fill", "--help",
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        pytest.param("%%svc --at", ("--attach",), id="option"),
        pytest.param("%%svc --attach a.log --i", ("--into",), id="option after a value"),
        pytest.param("%%svc --attach a.log --at", ("--attach",), id="attach again"),
        pytest.param("%%svc --new --n", (), id="switch once"),
        pytest.param("%%svc --attach {", ("{frame}", "{log}"), id="variable"),
        pytest.param("%%svc --attach {fr", ("{frame}",), id="beginning of a variable"),
        pytest.param("%%svc --attach=", ("audit/", "auth.log"), id="file"),
        pytest.param("%%svc --attach au", ("audit/", "auth.log"), id="beginning of a file"),
        pytest.param("%svc --attach x.log --attach aut", ("auth.log",), id="second file"),
        pytest.param("%%svc --attach no", (), id="no file"),
        pytest.param("%%svc --attach auth.log ", OPTIONS_AFTER_A_FILE, id="after a file"),
        pytest.param('%%svc --attach "a b.log" --in', ("--into",), id="after a quoted file"),
        pytest.param("%svc --fill is {l", ("{log}",), id="variable in a question"),
        pytest.param("%svc is {l", (), id="braces are text without --fill"),
        pytest.param("%%svc --into ", ("count", "frame", "log"), id="variable to fill"),
        pytest.param("%%svc --model ", ("stable", "experimental", *MODELS), id="model"),
        pytest.param("%%svc --timeout ", ("60", "300", "900"), id="timeout"),
        pytest.param("%%svc --answers re", ("replay", "refresh"), id="answers"),
        pytest.param("%svc se", ("session",), id="command"),
        pytest.param("%%svc se", (), id="no command in a cell magic"),
        pytest.param("%svc session re", ("resume", "rename"), id="command's second word"),
        pytest.param("%svc session resume 0a", ("0a1b2c",), id="session"),
        pytest.param("%svc session extend 1", ("1h", "1d"), id="duration"),
        pytest.param("%svc model s", ("stable", "svc-1.1", "svc-1.2-experimental"), id="command's model"),
        pytest.param("%svc key ", ("delete",), id="key"),
        pytest.param("%svc what se", (), id="question"),
        pytest.param("%svc what does os.pa", (), id="attribute in a question"),
        pytest.param("%svc session resume", ("resume",), id="whole word"),
        pytest.param("%svc files remove a", ("auth.log",), id="attached file"),
        pytest.param("%svc history 3 ", ("--show",), id="show an answer"),
        pytest.param("%svc -- se", (), id="question after --"),
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
    shared_kernel.run("my_frame, my_log = [1], 2")

    assert complete(shared_kernel, "%%svc --mo") == ["%%svc --model"]
    assert complete(shared_kernel, "%svc --attach {my_f") == ["%svc --attach {my_frame}"]
    assert complete(shared_kernel, "x = 1\n%svc session l") == ["x = 1\n%svc session list"]
    assert "%svc model stable" in complete(shared_kernel, "%svc model ")
    assert complete(shared_kernel, "%%svc --new\nwhat --mo") == []


SETUPS = {
    "as installed": "",
    "without Jedi": "get_ipython().Completer.use_jedi = False",
    "with Jedi": "get_ipython().Completer.use_jedi = True",
    "one line at a time": "get_ipython().kernel.use_experimental_completions = False",
}


@pytest.mark.parametrize("setup", SETUPS)
def test_nothing_of_pythons_is_in_the_list(shared_kernel: Kernel, tmp_path: Path, setup: str):
    folder = tmp_path / "evidence"
    folder.mkdir()
    for name in ("auth.log", "a b.log", "importance.txt", ".hidden"):
        (folder / name).write_text("x")
    (folder / "audit").mkdir()
    defaults = "k = get_ipython(); k.kernel.use_experimental_completions = True; jedi = k.Completer.use_jedi"
    shared_kernel.run(
        f"{defaults}\n{SETUPS[setup]}\nimport os, json\nimportant, auth = 'text', [1]\nos.chdir({str(folder)!r})"
    )

    def offered(code: str) -> list[str]:
        return [text[len(code.rpartition(" ")[0]) + 1 :] for text in complete(shared_kernel, code)]

    try:
        assert offered("%%svc --attach ") == ['"a b.log"', "audit/", "auth.log", "importance.txt"]
        assert offered("%svc --attach au") == ["audit/", "auth.log"]
        assert offered("%svc --attach ./au") == ["./audit/", "./auth.log"]
        assert offered("%%svc --attach .") == [".hidden"]
        assert offered("%%svc --attach no_such") == []
        assert offered("%%svc --attach {im") == ["{important}"]
        assert "{json}" not in offered("%%svc --attach {")
        assert offered("%svc what is impor") == []
        assert offered("%svc what does os.pa") == []
        assert offered("%svc how often does json.du") == []
        assert offered("%svc is it in ./au") == []
        assert offered("%svc show %tim") == []
        assert offered("%%svc --fill\nis {im") == (
            ["{important}"] if setup != "one line at a time" else offered("is {im")
        )
        assert offered("%svc session resume zzz") == []
        if setup != "one line at a time":  # then the kernel sees no cell
            assert offered("%%svc\nwhat is impor") == []
            assert offered("%%svc --attach auth.log\nis it in ./au") == []
            assert "important" in offered("x = impor")
        assert "importance.txt" not in offered("%svc session resume ")
    finally:
        shared_kernel.run("os.chdir('/'); k.Completer.use_jedi = jedi; k.kernel.use_experimental_completions = True")


def test_a_session_is_offered_with_what_it_is_about(shared_kernel: Kernel):
    shared_kernel.run("%svc --new echo who got in?")
    shared_kernel.run("get_ipython().magics_manager.registry['SvcMagics'].kernel.known_sessions = ()")
    request = shared_kernel.client.complete("%svc session resume ")
    while True:
        reply = shared_kernel.client.get_shell_msg(timeout=30)
        if reply["parent_header"].get("msg_id") == request:
            break

    labels = [one["type"] for one in reply["content"]["metadata"]["_jupyter_types_experimental"]]
    assert any("echo who got in?" in label for label in labels), labels


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
        "    print(json.dumps([c.text for line in ('%svc --ti', '%svc is impor', '%svc what does os.pa')"
        " for c in shell.Completer.completions(line, len(line))]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert json.loads(done.stdout.splitlines()[-1]) == ["--timeout"], done.stderr
