"""Messages that reach a page for 8,000 steps, and naive sending: `python -m tests.benchmarks.panel [ROUNDS]`.

A real Jupyter Server with its limits, a kernel, the local service with an assistant that makes the steps as fast as it
can, and a page's end of the kernel's websocket. Naive is one comm message for each message of the session. Printed:
comm messages, the most in one second, bytes, how many of the session's messages came, whether the RESULT did, whether
the server dropped any ("rate exceeded"), and seconds until the end of the turn arrived.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
import tempfile
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from websockets.asyncio.client import ClientConnection, connect

from tests.support import ASSISTANTS
from tests.support.jupyter_server import JupyterServer, jupyter_server
from tests.support.local_services import stop_local_service

STEPS = 8_000
LIMIT_SECONDS = 90.0
OURS = "import svc_jupyter.panel.comm_target as target; target.register()"
NAIVE = """
%load_ext svc_jupyter
import msgspec
from comm import get_comm_manager
from svc_jupyter.extension import loaded_extension
class Naive:
    def __init__(self, comm): self.comm = comm
    def on_message(self, session_id, message):
        self.comm.send({"event": "message", "message": msgspec.to_builtins(message)})
    def on_session(self, session): pass
    def on_busy(self, *, is_busy): pass
    def on_waiting(self, caller, waiting_for): pass
get_comm_manager().register_target("svc_jupyter", lambda comm, _: loaded_extension().kernel.observers.add(Naive(comm)))
"""


@dataclass
class Heard:
    """What came to the page."""

    events: int = 0
    size: int = 0
    messages: int = 0
    has_result: bool = False
    has_end: bool = False
    was_dropped: bool = False
    seconds: float = 0.0
    by_second: Counter[int] = field(default_factory=Counter)

    def take(self, message: dict, size: int, seconds: float) -> None:
        if message["msg_type"] == "stream" and "rate exceeded" in message["content"]["text"]:
            self.was_dropped = True
        if message["msg_type"] != "comm_msg":
            return
        event = message["content"]["data"]
        told = event.get("messages") or ([event["message"]] if "message" in event else [])
        self.events += 1
        self.size += size
        self.messages += len(told)
        self.by_second[int(seconds)] += 1
        for one in told:
            self.has_result |= one["message_type"] == "result"
            if one["message_type"] == "info" and one.get("state") == "end":
                self.has_end, self.seconds = True, seconds

    def __str__(self) -> str:
        peak = max(self.by_second.values(), default=0)
        came = f"{self.messages:,} of {STEPS + 3:,}"
        end = f"{self.seconds:.1f} s" if self.has_end else "never"
        dropped, result = "yes" if self.was_dropped else "no", "yes" if self.has_result else "LOST"
        return f"{self.events:>7,} {peak:>9,} {self.size:>12,} {came:>16} {result:>7} {dropped:>8} {end:>8}"


async def run(server: JupyterServer, setup: str) -> Heard:
    """One kernel, one page, one question of a cell."""
    headers = {"Authorization": f"token {server.token}"}
    async with httpx2.AsyncClient(base_url=server.origin, headers=headers, trust_env=False) as http:
        kernel = (await http.post("/api/kernels", json={"name": "python3"})).json()["id"]
        address = f"ws://127.0.0.1:{server.port}/api/kernels/{kernel}/channels"
        async with connect(address, additional_headers=headers, max_size=None, proxy=None) as socket:
            await execute(socket, setup)
            await execute(socket, "%load_ext svc_jupyter\n%svc count 1")
            await send(socket, "comm_open", {"comm_id": "c", "target_name": "svc_jupyter", "data": {}})
            heard = await question(socket)
        await http.delete(f"/api/kernels/{kernel}")
    return heard


async def question(socket: ClientConnection) -> Heard:
    heard = Heard()
    started = time.monotonic()
    asked = await send(socket, "execute_request", {"code": f"%svc count {STEPS}", "silent": False})
    is_done = False
    while not heard.has_end or not is_done:
        try:
            frame = await asyncio.wait_for(socket.recv(), 10.0 if is_done else LIMIT_SECONDS)
        except TimeoutError:
            break
        message = json.loads(frame)
        heard.take(message, len(frame), time.monotonic() - started)
        is_done |= message["msg_type"] == "execute_reply" and message["parent_header"].get("msg_id") == asked
    return heard


async def execute(socket: ClientConnection, code: str) -> None:
    asked = await send(socket, "execute_request", {"code": code, "silent": False})
    while True:
        message = json.loads(await socket.recv())
        if message["msg_type"] == "execute_reply" and message["parent_header"].get("msg_id") == asked:
            assert message["content"]["status"] == "ok", message["content"]
            return


async def send(socket: ClientConnection, kind: str, content: dict) -> str:
    identity = uuid.uuid4().hex
    header = {"msg_id": identity, "msg_type": kind, "session": "bench", "username": "", "version": "5.3"}
    message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
    await socket.send(json.dumps(message))
    return identity


def main() -> None:
    rounds = int(sys.argv[1]) if sys.argv[1:] else 3
    print(f"{STEPS:,} steps, {rounds} rounds; {platform.platform()}, {os.cpu_count()} processors")
    columns = (
        ("events", 7),
        ("in a s", 9),
        ("bytes", 12),
        ("messages came", 16),
        ("RESULT", 7),
        ("dropped", 8),
        ("end", 8),
    )
    print(" ".join([" " * 7, *(f"{name:>{width}}" for name, width in columns)]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            "SVC_LOCAL_SERVE_ARGS": "--assistant scripted_assistants:Scripted",
            "PYTHONPATH": str(ASSISTANTS),
            "SVC_STATE_DIR": str(folder / "state"),
        }
        with jupyter_server(folder / "jupyter", **environment) as server:
            for _ in range(rounds):
                for label, setup in (("panel", OURS), ("naive", NAIVE)):
                    print(f"{label:7} {asyncio.run(run(server, setup))}", flush=True)
        stop_local_service(folder / "state")


if __name__ == "__main__":
    main()
