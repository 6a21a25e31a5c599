"""``svc serve`` and ``svc keys`` as users run them: processes, files, signals, refusals."""

from __future__ import annotations

import asyncio
import json
import os
import socket as sockets
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from svc.service.server.serve import listen
from tests.support import ASSISTANTS
from tests.support.live import ProcessService, live_process, process_that_dies, wait_until
from tests.support.wire_client import ask, opened, read, read_turn, register, send, seqs, until_closed


def svc(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "svc.cli.main", *arguments],
        env={**os.environ, "PYTHONPATH": str(ASSISTANTS), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def lines_of(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


async def test_a_service_announces_its_address_and_leaves_only_its_data(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        said = json.loads(service.connection_file.read_text())
        assert set(said) == {"pid", "base_url", "ws_url", "version", "started"}
        assert said["pid"] == service.process.pid
        private = ["connection.json", "service.key", "service.db", "service.db-wal", "service.db-shm"]
        assert {name: mode_of(tmp_path / name) for name in private} == dict.fromkeys(private, 0o600)
        async with opened(service, register(service)) as socket:
            assert len(await ask(socket, "one")) == 6
        assert service.terminate() == 0
        assert not service.connection_file.exists()
        assert not (tmp_path / "service.db-wal").exists()


def test_replies_do_not_wait_for_an_acknowledgement():
    with listen("127.0.0.1", 0) as listener, sockets.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY)


async def test_a_service_without_uvloop_answers(tmp_path: Path):
    (tmp_path / "uvloop.py").write_text("raise ImportError('not installed')")
    with live_process(tmp_path, "Echo", PYTHONPATH=f"{tmp_path}{os.pathsep}{ASSISTANTS}") as service:
        async with opened(service, register(service)) as connection:
            assert len(await ask(connection, "one")) == 6


async def test_the_log_is_json_without_keys_or_content(tmp_path: Path):
    with live_process(tmp_path, "Crash") as service:
        session_id = register(service, name="zorkname")
        async with opened(service, session_id) as socket:
            (*_, error) = await ask(socket, "zorkprompt")
        with service.http() as http:
            http.get("/session/get", params={"session_id": service.key})
            http.post("/session/register", content=b'{"name": zorkbody')
        service.terminate()
        text = service.log_file.read_text()

    fault = error["content"].split()[2].rstrip(":")
    events = lines_of(service.log_file)
    (logged,) = [event for event in events if event["event"] == "internal error"]
    assert logged["fault"] == fault
    assert (logged["exception"], "scripted.py" in str(logged["frames"])) == ("ValueError", True)
    assert "zork" not in text
    assert service.key not in text
    assert [e["path"] for e in events if e["event"] == "request"][:1] == ["/session/register"]


async def test_sigterm_closes_streams_with_1001_and_the_turn_continues_after_a_restart(tmp_path: Path):
    with live_process(tmp_path, "Slow", SVC_STOP_SECONDS="0.2") as service:
        session_id = register(service)
        async with opened(service, session_id) as socket:
            await send(socket, message_type="query", content="one", id="q1")
            assert seqs([await read(socket), await read(socket)]) == [1, 2]
            service.process.terminate()
            assert await until_closed(socket) == []
        assert socket.close_code == 1001
        assert await asyncio.to_thread(service.process.wait, 20) == 0
    with live_process(tmp_path, "Echo") as service:
        async with opened(service, session_id, 2) as socket:
            rest = await read_turn(socket)

    assert seqs(rest) == list(range(3, 9))
    assert rest[0]["content"] == "started again after a service restart"
    assert rest[-2]["content"].startswith("one")


async def test_a_turn_whose_process_dies_twice_ends_in_internal_error(tmp_path: Path):
    with live_process(tmp_path, "Crash") as service:
        session_id = register(service)
        async with opened(service, session_id) as socket:
            await send(socket, message_type="query", content="exit", id="q1")
            await asyncio.to_thread(service.process.wait, 20)
    with process_that_dies(tmp_path, "Crash") as second:
        await asyncio.to_thread(second.wait, 20)
    with live_process(tmp_path, "Crash") as service:
        async with opened(service, session_id, 0) as socket:
            frames = await read_turn(socket)
            await send(socket, message_type="query", content="again", id="q2")
            assert (await read(socket))["message_type"] == "query"

    assert (frames[-1]["message_type"], frames[-1]["status_message"]) == ("error", "internal_error")
    assert seqs(frames) == list(range(1, len(frames) + 1))


def test_the_key_of_the_key_file_is_kept_for_a_new_database(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        first = service.key
    for file in tmp_path.glob("service.db*"):
        if file.is_file():
            file.unlink()
    with live_process(tmp_path, "Echo") as service:
        assert service.key == first
        register(service)


def test_a_second_process_on_the_same_files_is_rejected(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        arguments = ["serve", "--port", "0", "--assistant", "scripted:Echo", "--database"]
        same_database = svc(*arguments, f"sqlite:///{tmp_path}/service.db")
        same_connection = svc(
            *arguments, f"sqlite:///{tmp_path}/other.db", "--connection-file", str(service.connection_file)
        )
        register(service)

    assert (same_database.returncode, same_connection.returncode) == (1, 1)
    assert "another service is using this database" in same_database.stderr
    assert "another local service is already running" in same_connection.stderr
    assert "Traceback" not in same_database.stderr + same_connection.stderr


@pytest.mark.slow
def test_an_idle_service_exits_unless_a_stream_is_open(tmp_path: Path):
    async def hold_a_stream(service: ProcessService) -> None:
        async with opened(service, register(service)) as socket:
            await asyncio.sleep(1.2)  # longer than the idle limit: what is tested is time itself
            assert len(await ask(socket, "still there?")) == 6

    with live_process(tmp_path, "Echo") as first:
        first.terminate()
    service = subprocess.Popen(
        [sys.executable, "-m", "svc.cli.main", "serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/service.db",
         "--assistant", "scripted:Echo", "--connection-file", str(tmp_path / "connection.json"),
         "--key-file", str(tmp_path / "service.key"), "--exit-when-idle", "0.8"],
        env={**os.environ, "PYTHONPATH": str(ASSISTANTS)},
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until((tmp_path / "connection.json").exists, "the connection file")
    said = json.loads((tmp_path / "connection.json").read_text())
    first.base_url, first.ws_url = said["base_url"], said["ws_url"]
    asyncio.run(hold_a_stream(first))
    assert service.wait(20) == 0
    assert not (tmp_path / "connection.json").exists()


REFUSALS = {
    "plain http beyond loopback": (["--host", "0.0.0.0"], "--behind-proxy"),
    "half of a pair": (["--tls-cert", __file__], "--tls-key"),
    "another database": (["--database", "mysql://x"], "sqlite:///PATH"),
    "no assistant": (["--assistant", "nowhere:Nothing"], "nowhere"),
    "assistant without a name": (["--assistant", "scripted"], "MODULE:NAME"),
    "a file that is not a database": (["--database", f"sqlite:///{__file__}"], "database"),
    "a key file that holds none": (["--key-file", __file__], "contains no valid key"),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSALS.values(), ids=REFUSALS)
def test_invalid_options_are_rejected_in_one_line(tmp_path: Path, arguments: list[str], words: str):
    base = ["serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/a.db", "--assistant", "scripted:Echo"]
    if __file__ in arguments or f"sqlite:///{__file__}" in arguments:
        copy = tmp_path / "not_a_database_nor_a_key"
        copy.write_text("just text " * 200)
        arguments = [argument.replace(__file__, str(copy)) for argument in arguments]
    result = svc(*base, *arguments)

    assert result.returncode == 1
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_a_setting_that_is_not_a_number_is_rejected(tmp_path: Path):
    result = svc("serve", "--database", f"sqlite:///{tmp_path}/a.db", SVC_TURN_SECONDS="soon")
    assert result.returncode == 1
    assert "SVC_TURN_SECONDS='soon'" in result.stderr


def test_a_port_in_use_is_reported(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        port = service.base_url.rpartition(":")[2]
        result = svc(
            "serve", "--port", port, "--database", f"sqlite:///{tmp_path}/b.db", "--assistant", "scripted:Echo"
        )
    assert result.returncode == 1
    assert f"port {port}" in result.stderr


def test_keys_are_created_listed_and_revoked_while_the_service_runs(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        database = ["--database", f"sqlite:///{service.database}"]
        made = svc("keys", "create", "alice", *database, "--logging", "never", "--experimental", "--rpm", "7")
        key = made.stdout.splitlines()[-1]
        with service.http(key) as http:
            user = http.get("/user/info").json()["user"]
            listed = svc("keys", "list", *database).stdout
            key_id = next(line.split()[0] for line in listed.splitlines() if " alice " in line)
            revoked = svc("keys", "revoke", key_id, *database)
            status = http.get("/user/info").status_code
        listed_after = svc("keys", "list", *database).stdout

    assert (user["id"], user["never_log"], user["allow_experimental"], user["rpm"], user["tpm"]) == (
        "alice", True, True, 7, 0,
    )  # fmt: skip
    assert key not in listed
    assert (revoked.returncode, status) == (0, 401)
    assert "revoked" in next(line for line in listed_after.splitlines() if key_id in line)


def test_key_commands_do_not_create_a_missing_database(tmp_path: Path):
    result = svc("keys", "list", "--database", f"sqlite:///{tmp_path}/nowhere.db")
    assert result.returncode == 1
    assert "nowhere.db" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_revoking_an_unknown_key_fails(tmp_path: Path):
    database = ["--database", f"sqlite:///{tmp_path}/a.db"]
    svc("keys", "create", "alice", *database)
    assert svc("keys", "revoke", "nope", *database).returncode == 1
