"""The local service: one per user, found again, replaced when it is dead, and never a hang."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

import svc
from svc import MessageType, Svc
from svc.local import LOG_LIMIT_BYTES, _ServiceFiles, find_or_start, serve_command
from tests.support import IS_ROOT
from tests.support.live import wait_until
from tests.support.local_services import KILL, local_service_pid, stop_local_service

ASK = "from svc.local import find_or_start; print(find_or_start().base_url)"


def test_without_configuration_a_private_service_is_started(scripted_local: Path):
    with Svc() as client:
        assert client.is_local
        assert client.create_session().query("echo a").text() == "echo a (after 0)"

    assert stat.S_IMODE(scripted_local.stat().st_mode) == 0o700
    for name in ("service.json", "key", "service.log", "service.db"):
        assert stat.S_IMODE((scripted_local / name).stat().st_mode) == 0o600, name


def test_the_next_client_finds_the_same_service(scripted_local: Path):
    assert find_or_start() == find_or_start()


def test_processes_that_start_at_the_same_instant_get_the_same_service(scripted_local: Path):
    starting = [subprocess.Popen([sys.executable, "-c", ASK], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    found = {process.communicate(timeout=60)[0].strip() for process in starting}

    assert len(found) == 1
    assert "127.0.0.1" in found.pop()


def test_a_process_that_exits_before_its_service_prints_no_warning(scripted_local: Path):
    done = subprocess.run([sys.executable, "-X", "dev", "-c", ASK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_killed_service_is_replaced_and_the_sessions_are_still_there(scripted_local: Path):
    with Svc() as client:
        session = client.create_session()
        session.query("echo a")
        stop_local_service(scripted_local, KILL)

        assert session.query("echo b").text() == "echo b (after 1)"
        assert client.resume_session(session.session_id).history()


def test_an_internal_error_of_the_local_service_names_the_log(scripted_local: Path):
    with Svc() as client, pytest.raises(svc.InternalServiceError) as caught:
        client.create_session().query("break")

    log = scripted_local / "service.log"
    assert str(caught.value).endswith(f"That log is {log}")
    fault = str(caught.value).split()[2].rstrip(":")
    assert fault in log.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("how", [KILL, signal.SIGTERM], ids=["kill", "stop"])
def test_a_service_that_stops_during_a_turn_loses_no_message(scripted_local: Path, how: signal.Signals):
    with Svc() as client:
        session = client.create_session()
        killer = threading.Timer(0.3, stop_local_service, (scripted_local, how))
        killer.start()
        response = session.query("count 40 20", timeout_seconds=60)
        killer.join()
        history = session.history()

    if how == KILL:
        assert "started again after a service restart" in [m.content for m in response.messages]
    assert response.text() == "count 40 20 (after 0)"
    assert [m.seq for m in response.messages] == list(range(2, len(history) + 1))
    assert len([m for m in history if m.message_type == MessageType.QUERY]) == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param("{}", id="no-fields"),
        pytest.param('{"pid": 1, "base_url": "http://127.0.0.1:1", "ws_url": "ws://x", "version": "0"}', id="stale"),
        pytest.param('{"pid": 1, "base_url": "http://x:y:z", "ws_url": "", "version": "0"}', id="no-port"),
    ],
)  # fmt: skip
def test_a_stale_service_file_is_ignored(scripted_local: Path, content: str):
    scripted_local.mkdir(mode=0o700)
    (scripted_local / "service.json").write_text(content, encoding="utf-8")

    find_or_start()

    assert psutil.pid_exists(local_service_pid(scripted_local))


def test_a_new_service_reuses_the_old_port_if_it_is_free(scripted_local: Path):
    first = find_or_start().base_url
    stop_local_service(scripted_local, KILL)
    assert find_or_start().base_url == first

    stop_local_service(scripted_local, KILL)
    with socket.create_server(("127.0.0.1", int(first.rpartition(":")[2]))):
        assert find_or_start().base_url != first


def test_a_service_of_another_version_is_replaced(scripted_local: Path, monkeypatch: pytest.MonkeyPatch):
    find_or_start()
    old = local_service_pid(scripted_local)
    file = scripted_local / "service.json"
    connection = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(connection | {"version": "0.0.1"}), encoding="utf-8")

    find_or_start()

    assert local_service_pid(scripted_local) != old


def test_a_service_that_cannot_start_shows_the_end_of_its_log(local_state: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_LOCAL_SERVE_ARGS", "--assistant no_such_module:Nothing")

    with pytest.raises(svc.LocalServiceError) as caught:
        Svc()

    assert str(local_state / "service.log") in str(caught.value)
    assert "no_such_module" in str(caught.value)


def test_a_service_file_with_a_remote_address_is_not_trusted(scripted_local: Path):
    find_or_start()
    file = scripted_local / "service.json"
    good = file.read_text(encoding="utf-8")
    address = {"base_url": "https://evil.example.org", "ws_url": "wss://evil.example.org"}
    file.write_text(json.dumps(json.loads(good) | address), encoding="utf-8")

    with pytest.raises(svc.LocalServiceError, match="outside this machine"):
        find_or_start()

    file.write_text(good, encoding="utf-8")


@pytest.mark.posix("owners and modes of files")
def test_a_folder_that_others_can_read_is_closed_to_them(scripted_local: Path):
    scripted_local.mkdir(mode=0o755)

    find_or_start()

    assert stat.S_IMODE(scripted_local.stat().st_mode) == 0o700


@pytest.mark.posix("owners and modes of files")
def test_a_folder_under_one_that_everybody_can_write_to_is_refused(scripted_local: Path, tmp_path: Path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)

    with pytest.raises(svc.LocalServiceError, match="can be changed by other users"):
        find_or_start(tmp_path / "shared" / "state")

    (tmp_path / "shared").chmod(0o1777)  # as /tmp
    _ServiceFiles(tmp_path / "shared" / "state").make()


@pytest.mark.posix("owners and modes of files")
@pytest.mark.skipif(not IS_ROOT, reason="only root can make another user's files")
@pytest.mark.parametrize("what", ["link", "key", "service.json"])
def test_what_another_user_put_there_is_refused(scripted_local: Path, tmp_path: Path, what: str):
    mine = tmp_path / "mine"
    mine.mkdir()
    mine.chmod(0o777)
    if what == "link":
        folder = tmp_path / "link"
        folder.symlink_to(mine)
        os.lchown(folder, 65_534, 65_534)
    else:
        folder = mine
        (mine / what).write_text("svc_known-to-another", encoding="ascii")
        os.chown(mine / what, 65_534, 65_534)

    with pytest.raises(svc.LocalServiceError, match=r"other user|another user"):
        find_or_start(folder)


@pytest.mark.posix("owners and modes of files")
def test_a_link_of_ones_own_is_followed(scripted_local: Path, tmp_path: Path):
    (tmp_path / "target").mkdir()
    scripted_local.symlink_to(tmp_path / "target")

    _ServiceFiles(scripted_local).make()

    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o700


def test_a_recycled_process_id_is_not_stopped(scripted_local: Path):
    """A stale file names a process that is now another program, while a service of an old version starts."""
    scripted_local.mkdir(mode=0o700)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        stale = {"pid": bystander.pid, "base_url": "http://127.0.0.1:1", "ws_url": "ws://127.0.0.1:1", "version": "0"}
        (scripted_local / "service.json").write_text(json.dumps(stale), encoding="utf-8")
        command = serve_command(scripted_local, 0)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as service:
            file = scripted_local / "service.json"
            wait_until(lambda: str(service.pid) in file.read_text("utf-8") if file.exists() else False, "it to listen")
            find_or_start()

            assert local_service_pid(scripted_local) == service.pid
            assert bystander.poll() is None
            stop_local_service(scripted_local)
        bystander.communicate(b"")


def test_a_folder_that_cannot_be_created_says_what_to_do(tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(svc.LocalServiceError, match="Set SVC_STATE_DIR to a folder that you own"):
        find_or_start(tmp_path / "file" / "state")


def test_a_file_in_the_way_says_what_to_do(scripted_local: Path):
    (scripted_local / "start.lock").mkdir(parents=True)

    with pytest.raises(svc.LocalServiceError, match="Set SVC_STATE_DIR to a folder that you own"):
        find_or_start()


def test_an_unused_service_exits(scripted_local: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_LOCAL_SERVE_ARGS", "--assistant scripted_assistants:Scripted --exit-when-idle 0.2")
    with contextlib.suppress(svc.LocalServiceError):  # it may have exited before it was found
        find_or_start()

    with FileLock(scripted_local / "service.json.lock", timeout=60):  # free once it has exited
        assert not (scripted_local / "service.json").exists()
    events = [json.loads(line)["event"] for line in (scripted_local / "service.log").read_text("utf-8").splitlines()]
    assert [event for event in events if event in ("listening", "idle", "stopped")] == ["listening", "idle", "stopped"]


def test_a_client_restarts_a_service_that_exited_when_idle(scripted_local: Path):
    with Svc() as client:
        session = client.create_session()
        stop_local_service(scripted_local)

        assert session.query("echo a").text() == "echo a (after 0)"


def test_the_key_is_not_on_the_command_line_and_other_services_keys_are_not_passed_on(
    scripted_local: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SVC_API_KEY", "svc_team_secret")
    key = find_or_start().api_key
    process = psutil.Process(local_service_pid(scripted_local))

    assert key not in " ".join(process.cmdline())
    assert "svc_team_secret" not in " ".join(process.environ().values())
    assert key not in (scripted_local / "service.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(("own", "limit"), [(None, "68719476736"), ("1000", "1000")])
def test_large_files_are_taken_unless_the_user_has_set_a_limit(
    scripted_local: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, limit: str
):
    monkeypatch.delenv("SVC_MAX_UPLOAD_BYTES", raising=False)
    if own is not None:
        monkeypatch.setenv("SVC_MAX_UPLOAD_BYTES", own)
    find_or_start()

    assert psutil.Process(local_service_pid(scripted_local)).environ()["SVC_MAX_UPLOAD_BYTES"] == limit


def test_a_long_log_is_rotated(scripted_local: Path):
    scripted_local.mkdir(mode=0o700)
    (scripted_local / "service.log").write_bytes(b"x" * (LOG_LIMIT_BYTES + 1))

    find_or_start()

    assert (scripted_local / "service.log.1").stat().st_size == LOG_LIMIT_BYTES + 1
    assert (scripted_local / "service.log").stat().st_size < LOG_LIMIT_BYTES


def test_options_for_the_service_come_from_one_variable():
    words = serve_command(Path("/state"), 0, {"SVC_LOCAL_SERVE_ARGS": "--assistant 'a b:C'"})

    assert words[-2:] == ["--assistant", "a b:C"]
    assert words[words.index("--port") + 1] == "0"
    assert words[words.index("--exit-when-idle") + 1] == "3600"
