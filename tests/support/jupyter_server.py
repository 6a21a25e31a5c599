"""JupyterLab as users start it, with all its files in a separate folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import nbformat

from tests.support.live import free_port, wait_until

SETTINGS = {  # a toast about updates would lie over the sidebar
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    }
}


class JupyterServer:
    """``url`` opens JupyterLab and signs in; ``root`` is the folder that it shows."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.root = folder / "notebooks"
        self.log_file = folder / "jupyter.log"
        self.token = "a-token-of-the-tests"
        self.root.mkdir(parents=True)
        self.port = free_port()
        places = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
        workspaces = {
            "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(folder / "w"),
        }
        self.settings = folder / "settings"
        self.state = Path(environment.get("SVC_STATE_DIR") or folder)
        for plugin, values in SETTINGS.items():
            self.set(plugin, values)
        self._environment = {
            **os.environ, "IPYTHONDIR": str(folder / "ipython"), **places, **workspaces, **environment,
        }  # fmt: skip
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log_file.open("ab") as log:
            process = self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={self.port}",
                 "--ServerApp.port_retries=0", "--LabApp.expose_app_in_browser=True",
                 "--JupyterNotebookApp.expose_app_in_browser=True",
                 f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.root}", "--allow-root",
                 "--LabApp.extension_manager=readonly", "--LabApp.news_url=None",
                 "--ServerApp.terminals_enabled=True"],
                env=self._environment,
                stdout=log,
                stderr=log,
            )  # fmt: skip
        wait_until(self._is_up, "JupyterLab to answer", 60)
        return process

    def restart(self) -> None:
        """Its kernels end; its files, its address and its token stay."""
        self.stop()
        self._start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def lab(self, notebook: str) -> str:
        """The address of a notebook in JupyterLab."""
        return f"{self.origin}/lab/tree/{notebook}?token={self.token}"

    def notebook7(self, notebook: str) -> str:
        """The address of a notebook in Notebook 7."""
        return f"{self.origin}/notebooks/{notebook}?token={self.token}"

    def write(self, name: str, *cells: str) -> Path:
        """A notebook with these cells."""
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        path = self.root / name
        nbformat.write(notebook, path)
        return path

    def set(self, plugin: str, values: dict[str, object]) -> None:
        """A plugin's settings, as the settings editor saves them; pages that are loaded later read them."""
        package, _, name = plugin.partition(":")
        path = self.settings / package / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def stop(self) -> None:
        """Its kernels end with it."""
        self.process.terminate()
        self.process.wait(20)

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.log_file.read_text()
        try:
            return httpx2.get(f"{self.origin}/api", trust_env=False, timeout=2).status_code == 200
        except httpx2.TransportError:
            return False


@contextmanager
def jupyter_server(folder: Path, **environment: str) -> Iterator[JupyterServer]:
    """A running one; it ends with the block."""
    server = JupyterServer(folder, environment)
    try:
        yield server
    finally:
        server.stop()
