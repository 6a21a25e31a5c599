"""Loading the extension is light, and it can be loaded twice and unloaded."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = ("svc", "msgspec", "httpx", "websockets", "pandas", "markdown_it", "filelock", "platformdirs", "nbclient")


def in_ipython(program: str) -> list[str]:
    code = f"from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n{program}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_loading_imports_nothing_heavy():
    loaded = in_ipython(
        "import sys, json\nbefore = set(sys.modules)\nshell.run_line_magic('load_ext', 'svc_jupyter')\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules and name not in before]))"
    )

    assert loaded == []


def test_the_magics_come_and_go_with_the_extension():
    seen = in_ipython(
        "import json\nfound = lambda: [bool(shell.find_line_magic('svc')), bool(shell.find_cell_magic('svc')),"
        " len(shell.input_transformer_manager.token_transformers)]\nseen = [found()]\n"
        "for step in ('load_ext', 'reload_ext', 'unload_ext', 'load_ext'):\n"
        "    shell.run_line_magic(step, 'svc_jupyter')\n    seen.append(found())\nprint(json.dumps(seen))"
    )

    without, loaded = [False, False, 4], [True, True, 5]
    assert seen == [without, loaded, loaded, without, loaded]


def test_settings_are_traitlets():
    settings = in_ipython(
        "import json\nshell.run_line_magic('load_ext', 'svc_jupyter')\n"
        "shell.run_line_magic('config', 'SvcMagics.model = \"experimental\"')\n"
        "magics = shell.magics_manager.registry['SvcMagics']\n"
        "print(json.dumps([magics.model, magics.language, magics.ttl, magics.log_session, magics.live_lines]))"
    )

    assert settings == ["experimental", "en", 86_400, True, 8]
