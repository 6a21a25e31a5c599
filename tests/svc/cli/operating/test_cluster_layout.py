"""The processes of ``svc deploy compose --cluster``, run without containers: its own commands and variables.

Only what a container would provide is replaced: host names, ports, the folder of a volume, the file of a secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import trustme

from svc import AsyncSvc
from svc.messages import Message
from tests.support import ASSISTANTS
from tests.support.live import free_port, wait_until
from tests.support.postgres import PostgresServer
from tests.support.tcp_link import Balancer
from tests.svc.cli.operating.test_deploy import Container, of_compose

PASSWORD = "a password of a test"
ASSISTANT = ["--assistant", "scripted_assistants:Scripted"]


class Layout:
    """The services and the worker; ``processes`` by the name in the compose file."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self._folder = folder
        self._server = urlsplit(server.new_schema())
        (folder / "password").write_text(f"{PASSWORD}\n")
        (folder / "password").chmod(0o644)  # as it comes into a container
        self.ports = {name: free_port() for name in ("svc-1", "svc-2", "worker")}
        self.containers = {one.name: one for one in of_compose("compose --cluster")}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def command(self, one: Container) -> list[str]:
        """The command line of the container, on this machine."""
        text = " ".join(one.command).replace("0.0.0.0", "127.0.0.1").replace("/data", str(self._folder / "data"))
        for name, port in self.ports.items():
            text = text.replace(f"http://{name}:8460", f"http://127.0.0.1:{port}")
        words = text.split()
        if "--port" in words:
            words[words.index("--port") + 1] = str(self.ports[one.name])
        return words

    def environment(self, one: Container) -> dict[str, str]:
        """Its variables, with the address of the tests' server."""
        query = f"{self._server.query}&sslmode=disable" if self._server.query else "sslmode=disable"
        url = f"postgresql://svc@{self._server.hostname}:{self._server.port}{self._server.path}?{query}"
        replaced = {
            "SVC_DATABASE_URL": url,
            "SVC_DATABASE_PASSWORD_FILE": str(self._folder / "password"),
            "SVC_STATE_DIR": str(self._folder / one.name),
            "SVC_TURNS_AT_ONCE": "1",  # of each, so that the worker gets its share of three questions
        }
        assert set(replaced) <= set(one.environment)
        return {**os.environ, "PYTHONPATH": str(ASSISTANTS), **one.environment, **replaced}

    def run(self, *arguments: str) -> str:
        """``docker compose exec svc-1 svc …``."""
        command = [sys.executable, "-m", "svc.cli.main", *arguments]
        environment = self.environment(self.containers["svc-1"])
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def start(self, name: str) -> None:
        """Start a service or the worker, and wait until its health check passes."""
        one = self.containers[name]
        command = [sys.executable, "-m", "svc.cli.main", *self.command(one), *ASSISTANT]
        with (self._folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(command, env=self.environment(one), stdout=log, stderr=log)
        [path] = one.probes
        wait_until(lambda: self._answers(name, path), f"{name} to be ready")

    def _answers(self, name: str, path: str) -> bool:
        assert self.processes[name].poll() is None, (self._folder / f"{name}.log").read_text()
        with contextlib.suppress(httpx2.TransportError):
            return httpx2.get(f"http://127.0.0.1:{self.ports[name]}{path}", trust_env=False).status_code == 200
        return False

    def kill(self, name: str) -> None:
        """kill -9."""
        self.processes[name].kill()
        self.processes[name].wait(60)

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def close(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is None:
                self.kill(name)


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    """All of them, started in the order of the compose file."""
    with contextlib.ExitStack() as stack:
        server = PostgresServer(password=PASSWORD)
        stack.callback(server.close)
        made = Layout(tmp_path, server)
        stack.callback(made.close)
        made.run(*made.containers["migrate"].command)
        for name in made.ports:
            made.start(name)
        yield made


@pytest.mark.slow
async def test_clients_go_on_while_a_service_of_the_cluster_is_killed_and_another_one_upgraded(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SVC_CA_BUNDLE", str(tmp_path / "ca.pem"))
    balancer = Balancer([("127.0.0.1", layout.ports[name]) for name in ("svc-1", "svc-2")], context)
    key = layout.run("keys", "create", "alice@example.org").split()[-1]
    try:
        address = f"https://127.0.0.1:{balancer.port}"
        async with AsyncSvc(key, address) as client:
            asked = [asyncio.create_task(ask(client)) for _ in range(3)]
            while "turn recovered" not in layout.log("worker"):
                await asyncio.sleep(0.05)
            layout.kill("svc-1")
            await asyncio.to_thread(layout.start, "svc-1")
            layout.processes["svc-2"].terminate()
            assert await asyncio.to_thread(layout.processes["svc-2"].wait, 60) == 0
            for seen, history in await asyncio.gather(*asked):
                assert [message.seq for message in history] == list(range(1, len(history) + 1))
                assert [message.id for message in history if message.message_type != "query"] == [
                    one.id for one in seen
                ]
                assert [message.message_type for message in seen].count("result") == 1
    finally:
        balancer.close()


async def ask(client: AsyncSvc) -> tuple[list[Message], list[Message]]:
    """What a client saw of an answer that takes a while, and what is stored."""
    session = await client.create_session()
    seen = [message async for message in session.stream("count 200 40")]
    return seen, await session.history()
