"""Which notebook a kernel belongs to, by what front ends say."""

from __future__ import annotations

from pathlib import Path

import pytest

from svc_jupyter.kernel.notebook_path import find_notebook


@pytest.mark.parametrize(
    ("environment", "names", "found"),
    [
        pytest.param({"JPY_SESSION_NAME": "/home/ana/a b.ipynb"}, {}, Path("/home/ana/a b.ipynb"), id="Jupyter"),
        pytest.param({"JPY_SESSION_NAME": "cases/a.ipynb"}, {}, Path.cwd() / "a.ipynb", id="relative to the server"),
        pytest.param({}, {"__vsc_ipynb_file__": "/w/b.ipynb"}, Path("/w/b.ipynb"), id="VS Code"),
        pytest.param({"JPY_SESSION_NAME": "/home/ana/console-1"}, {}, None, id="console"),
        pytest.param({"JPY_SESSION_NAME": ""}, {"__vsc_ipynb_file__": 1}, None, id="nothing of use"),
        pytest.param({}, {}, None, id="terminal"),
    ],
)
def test_the_notebook_is_found(environment: dict[str, str], names: dict[str, object], found: Path | None):
    assert find_notebook(environment, names) == found
