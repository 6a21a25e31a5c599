"""Loading the extension is light, and it can be loaded twice and unloaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("svc", "msgspec", "httpx2", "websockets", "pandas", "markdown_it", "filelock", "platformdirs", "nbclient")


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


def test_a_reloaded_extension_is_the_one_that_is_configured():
    seen = in_ipython(
        "import json\nfor step in ('load_ext', 'reload_ext'):\n    shell.run_line_magic(step, 'svc_jupyter')\n"
        "shell.run_line_magic('config', 'SvcMagics.ttl = 300')\n"
        "offered = [m for m in shell.Completer.custom_matchers if m.matcher_identifier == 'svc']\n"
        "print(json.dumps([shell.magics_manager.registry['SvcMagics'].ttl, len(offered)]))"
    )

    assert seen == [300, 1]


CONFIGURED = """
c.MagicsManager.lazy_magics = {"svc": "svc_jupyter"}
c.SvcMagics.model = "experimental"
"""


def test_a_configuration_file_sets_defaults_and_loads_at_first_use(tmp_path: Path):
    (tmp_path / "profile_default").mkdir()
    (tmp_path / "profile_default" / "ipython_config.py").write_text(CONFIGURED)
    program = (
        "import json, sys\nseen = ['svc_jupyter' in sys.modules]\n"
        "get_ipython().run_cell_magic('svc', '--help', 'x')\n"
        "print(json.dumps([*seen, get_ipython().magics_manager.registry['SvcMagics'].model]))"
    )
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "-c", program]
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path)}

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    assert json.loads(done.stdout.splitlines()[-1]) == [False, "experimental"], done.stdout + done.stderr


def test_settings_are_traitlets():
    settings = in_ipython(
        "import json\nshell.run_line_magic('load_ext', 'svc_jupyter')\n"
        "shell.run_line_magic('config', 'SvcMagics.model = \"experimental\"')\n"
        "magics = shell.magics_manager.registry['SvcMagics']\n"
        "print(json.dumps([magics.model, magics.language, magics.ttl, magics.log_session, magics.live_lines]))"
    )

    assert settings == ["experimental", "en", 86_400, True, 8]
