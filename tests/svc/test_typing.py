"""A user's program is clean under ``mypy --strict``: the public names carry their types."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.npm_workspace import PATH, WORKSPACE, install

BLOCKING = """
from svc import MessageType, Svc, SvcError


def ask(prompt: str) -> tuple[str, int]:
    with Svc() as client:
        session = client.create_session(name="Ticket 4711", log_session=False)
        file = session.attach_file("note.txt", "call back 203.0.113.9", mime_type_hint="text/plain")
        response = session.query(prompt, timeout_seconds=60.0)
        results = [m for m in response.messages if m.message_type == MessageType.RESULT]
        session.send_feedback(5, "right", group_id=results[0].group)
        size = len(session.read_file(file)) + file.size
        session.detach_file(file)
        history = client.resume_session(session.session_id).history()
        return response.text(), len(history) + size


try:
    answer, count = ask("Extract the indicators")
    print(answer.upper(), count + 1)
except SvcError as error:
    print(error)
"""
AWAITED = """
import asyncio

from svc import AsyncSvc, Message, MessageType


async def ask(prompt: str) -> list[str]:
    seen: list[Message] = []
    async with AsyncSvc() as client:
        session = await client.create_session(model="stable", ttl=3_600)
        with session.watch(seen.append) as watch:
            async for message in session.stream(prompt):
                if message.message_type == MessageType.RESULT:
                    print(message.get_content())
            watch.stop()
        names = [listed.name for listed in await client.list_sessions()]
        await session.delete()
    return names


print(len(asyncio.run(ask("Decode aGVsbG8="))) + 1)
"""
WRONG = """
from svc import Svc

answer: int = Svc().create_session().query("?").text()
Svc().create_session(can_log=False)
"""


def test_user_programs_type_check_and_mistakes_are_found(tmp_path: Path):
    for name, program in {"blocking": BLOCKING, "awaited": AWAITED, "wrong": WRONG}.items():
        (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
    cache = ["--config-file", "", "--cache-dir", str(tmp_path / "cache")]

    done = subprocess.run(
        [*command, *cache, "blocking.py", "awaited.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True
    )

    found = [line for line in done.stdout.splitlines() if ": note:" not in line]
    assert [line.partition(" error: ")[0] for line in found] == ["wrong.py:4:", "wrong.py:5:"], done.stdout
    assert "[assignment]" in found[0]
    assert "[call-arg]" in found[1]


UNTYPED = {"svc_jupyter.ChatPanel", "svc_jupyter.panel.widget.ChatPanel"}  # a base class of ipywidgets has no types


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("package", ["svc", "svc_jupyter"])
def test_pyright_knows_the_type_of_every_public_name(package: str, tmp_path: Path):
    install()
    node, pyright = shutil.which("node", path=PATH), WORKSPACE / "node_modules" / "pyright" / "index.js"
    assert node is not None
    options = ["--pythonpath", sys.executable, "--verifytypes", package, "--ignoreexternal", "--outputjson"]
    done = subprocess.run([node, pyright, *options], cwd=tmp_path, capture_output=True, text=True, timeout=600)

    report = json.loads(done.stdout)["typeCompleteness"]
    unknown = {one["name"] for one in report["symbols"] if one["isExported"] and not one["isTypeKnown"]}
    assert len(report["symbols"]) > 1_000
    assert unknown <= UNTYPED
