"""A program of another user that takes a service's port and records everything that it receives."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

Manner = Literal["silent", "page", "json", "unknown key", "relay", "relay6", "drip", "redirect"]
NOBODY = 65_534

_PROGRAM = r"""
import json, socket, sys, threading, time
port, manner, target, ready, record = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5]
BODIES = {
    "page": (200, b"<html>It works!</html>"),
    "json": (200, b'{"status": "ok", "version": "0.1.0", "proof": "' + b"0" * 64 + b'", "address": "127.0.0.1:1"}'),
    "unknown key": (401, b'{"error": {"code": "invalid_api_key", "message": "no", "type": "a", "param": null}}'),
    "redirect": (307, b""),
}
lock = threading.Lock()
def note(data):
    with lock, open(record, "ab") as sink:
        sink.write(data)
def pump(source, sink, noted):
    while data := source.recv(65536):
        if noted:
            note(data)
        sink.sendall(data)
def serve(connection):
    if manner.startswith("relay"):
        upstream = socket.create_connection(tuple([target.rpartition(":")[0], int(target.rpartition(":")[2])]))
        threading.Thread(target=pump, args=(upstream, connection, False), daemon=True).start()
        pump(connection, upstream, True)
        return
    while data := connection.recv(65536):
        note(data)
        if manner == "silent":
            continue
        if manner == "drip":
            for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Slow: " + b"a" * 600:
                connection.sendall(bytes([byte]))
                time.sleep(0.05)
            continue
        status, body = BODIES[manner]
        head = f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        connection.sendall((head + "Location: http://127.0.0.2:1/elsewhere\r\n\r\n").encode() + body)
def serve_quietly(connection):
    try:
        serve(connection)
    except OSError:
        pass
is_6 = manner == "relay6"
family = socket.AF_INET6 if is_6 else socket.AF_INET
def listen():
    end = time.monotonic() + 30
    while True:
        try:
            return socket.create_server(("::1" if is_6 else "127.0.0.1", port), family=family)
        except OSError:  # a connection of another program may have the port for a moment
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
listener = listen()
open(ready, "w").write(str(listener.getsockname()[1]))
while True:
    threading.Thread(target=serve_quietly, args=(listener.accept()[0],), daemon=True).start()
"""


class Impostor:
    """The running program: ``port``, and what it ``received``. It runs as another user if the tests run as root."""

    def __init__(self, folder: Path, manner: Manner, *, port: int = 0, target: str = "") -> None:
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        for parent in folder.parents:
            if parent.stat().st_uid == os.getuid() and not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
        ready, self._record = folder / "ready", folder / "received"
        is_root = os.getuid() == 0
        self.process = subprocess.Popen(
            ["/usr/bin/python3" if is_root and Path("/usr/bin/python3").exists() else sys.executable, "-I", "-S", "-c",
             _PROGRAM, str(port), manner, target, str(ready), str(self._record)],
            cwd="/", user=NOBODY if is_root else None, group=NOBODY if is_root else None,
            extra_groups=[] if is_root else None, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not (ready.exists() and ready.read_text()):
            assert self.process.poll() is None, "the impostor could not start"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.port = int(ready.read_text())

    @property
    def received(self) -> bytes:
        return self._record.read_bytes() if self._record.exists() else b""

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(60)


def assert_learned_nothing(impostor: Impostor, *secrets: str) -> None:
    """Neither a key nor a question, in no encoding of HTTP, reached the program."""
    received = impostor.received
    assert received, "nothing reached the program: the test attacks nothing"
    for secret in secrets:
        assert secret.encode() not in received, "the program received a secret"
    assert b"uthorization" not in received
    for path in (b"/session", b"/stream", b"/user", b"/health", b"/key"):
        assert path not in received, path
