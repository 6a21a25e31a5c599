"""JupyterLab as users start it, with all its files in a separate folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import nbformat

from tests.support.live import free_port, wait_until
from tests.support.local_services import stop_local_service

SETTINGS: dict[str, dict[str, object]] = {
    "@jupyterlab/apputils-extension:notification": {  # a toast about updates would lie over the sidebar
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/completer-extension:manager": {"providerTimeout": 30_000},  # a kernel beside others takes its time
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
        self.settings = folder / "settings"
        self.workspaces = folder / "w"
        self.state = folder / "state"  # the folder of what the kernels ask
        first = folder / "first"  # before the kernels of the environment, as only JUPYTER_PATH is
        self.kernels = first / "kernels"
        self._set_defaults()
        workspaces = {
            "JUPYTERLAB_SETTINGS_DIR": str(self.settings),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.workspaces),
        }
        self._environment = {
            **os.environ, "IPYTHONDIR": str(folder / "ipython"), **places, **workspaces, **environment,
            "JUPYTER_PATH": os.pathsep.join(filter(None, (str(first), environment.get("JUPYTER_PATH")))),
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
        try:
            wait_until(self._is_up, "JupyterLab to answer", 110)
        except AssertionError:
            self.stop()
            raise
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

    @contextmanager
    def turn(self, state: Path, **environment: str) -> Iterator[None]:
        """Kernels get this environment and a service of their own, in that folder; nothing of them stays.

        A server would keep its kernels, and JupyterLab would open what was open before.
        """
        self.state = state
        if self.process.poll() is not None:
            self._start()  # a test that ran out of time while it was restarted
        nothing = {"SVC_API_KEY": "", "SVC_BASE_URL": "", "SVC_WS_URL": ""}
        self.add_kernel("python3", {**nothing, "SVC_STATE_DIR": str(state), **environment})
        try:
            yield
        finally:
            self._clear()
            stop_local_service(state)

    def add_kernel(self, name: str, environment: dict[str, str]) -> None:
        """A kernel of this Python, which has that environment."""
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": name, "language": "python", "env": environment}
        (self.kernels / name).mkdir(parents=True, exist_ok=True)
        (self.kernels / name / "kernel.json").write_text(json.dumps(spec))

    def _clear(self) -> None:
        with httpx2.Client(
            base_url=f"{self.origin}/api", headers={"Authorization": f"token {self.token}"}, trust_env=False, timeout=30
        ) as api:
            for kind in ("sessions", "kernels"):
                for one in api.get(f"/{kind}").json():
                    api.delete(f"/{kind}/{one['id']}")
        for folder in (self.root, self.workspaces, self.settings, self.kernels):
            shutil.rmtree(folder, ignore_errors=True)
        self.root.mkdir()
        self._set_defaults()

    def _set_defaults(self) -> None:
        for plugin, values in SETTINGS.items():
            self.set(plugin, values)

    def stop(self) -> None:
        """Its kernels end with it."""
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(60)

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
