"""A session that may not be logged leaves nothing on disk: not while it lives, not after its end, not after kill -9."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.live import ProcessService, live_process, wait_until
from tests.support.wire_client import opened, read, register, send

ANALYST = "svc.assistant.analyst:Analyst"
LOG_LINE = "Nov 20 03:04:05 host sshd[7]: Failed password for {word} from 203.0.113.9 port 22 ssh2\n"


class Traces:
    """Unique words, and where under a folder any of them stands, plain or as base64."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.words: list[str] = []

    def word(self) -> str:
        self.words.append(f"zork{uuid.uuid4().hex[:12]}")
        return self.words[-1]

    def found(self) -> list[str]:
        needles = [form for word in self.words for form in forms(word)]
        return [f"{name}: {needle!r}" for name, data in self._files() for needle in needles if needle in data]

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for path in [*self.folder.rglob("*"), *Path("/dev/shm").glob("*")]:
            yield str(path), str(path).encode()
            try:
                yield str(path), path.read_bytes() if path.is_file() else b""
            except (FileNotFoundError, PermissionError):  # another program's, or gone meanwhile
                continue


def forms(word: str) -> list[bytes]:
    """The word, and what stays the same of its base64 wherever it begins in a text."""
    plain = word.encode()
    aligned = [base64.b64encode(b"x" * shift + plain)[4 * bool(shift) : -4] for shift in range(3)]
    return [plain, plain.upper(), plain.hex().encode(), *aligned]


@pytest.fixture
def traces(tmp_path: Path) -> Traces:
    (tmp_path / "tmp").mkdir()
    return Traces(tmp_path)


def environment(traces: Traces) -> dict[str, str]:
    return {"TMPDIR": str(traces.folder / "tmp"), "SVC_PURGE_INTERVAL_SECONDS": "0.05", "SVC_MIN_TTL_SECONDS": "1"}


async def use_everything(service: ProcessService, traces: Traces, key: str | None = None, **fields: object) -> str:
    """A session whose every part that a user can word has a word; its id."""
    wanted = {"name": traces.word(), "description": traces.word(), "can_log": False} | fields
    session_id = register(service, key, **wanted)
    with service.http(key) as http:
        is_logged = http.get("/session/get", params={"session_id": session_id}).json()["can_log"]
    log = LOG_LINE.format(word=traces.word()).encode() * 50
    with service.http(key) as http:
        upload = {"session_id": session_id, "filename": f"{traces.word()}.log"}
        assert http.post("/session/upload_file", params=upload, content=log).is_success
        content = base64.b64encode(f"a note on {traces.word()}".encode()).decode()
        attach = {"session_id": session_id, "filename": f"{traces.word()}.txt", "content": content}
        assert http.post("/session/attach_file", json=attach).is_success
        body = {"id": session_id, "messages": [{"message_type": "query", "content": f"who is {traces.word()}?"}]}
        answered = http.post("/session/generate", json=body)
        assert answered.is_success, answered.text
        comment = {"session_id": session_id, "type": "bug_report", "comment": traces.word()}
        assert http.post("/session/feedback", json=comment).is_success
        refuse_some(http, session_id, traces)
    async with opened(service, session_id, None, key=key) as socket:
        await send(socket, message_type="query", content=f"Who was brute-forced? {traces.word()}", title=traces.word())
        while (await read(socket))["state"] != "end":
            assert is_logged or traces.found() == []
        await socket.send(f'{{"message_type": "{traces.word()}", "content": "{traces.word()}"}}')
        await socket.send(traces.word())
        assert [(await read(socket))["seq"] for _ in range(2)] == [0, 0]
    return session_id


def refuse_some(http: httpx2.Client, session_id: str, traces: Traces) -> None:
    """Requests that fail carry words, too."""
    http.post("/session/register", json={"language": traces.word()})
    http.post("/session/register", content=f'{{"name": {traces.word()}'.encode())
    http.post("/session/upload_file", params={"session_id": session_id, "filename": f"../{traces.word()}"})
    http.get(f"/{traces.word()}")
    http.get("/session/get", params={"session_id": traces.word()})


@pytest.mark.parametrize("assistant", ["Echo", ANALYST], ids=["echo", "analyst"])
async def test_nothing_is_on_disk_during_the_session_or_after_kill_9_and_restart(traces: Traces, assistant: str):
    with live_process(traces.folder, assistant, **environment(traces)) as service:
        session_id = await use_everything(service, traces)
        assert traces.found() == []
        service.kill()
        assert traces.found() == []
    with live_process(traces.folder, assistant, **environment(traces)) as service:
        with service.http() as http:
            assert http.get("/session/get", params={"session_id": session_id}).status_code == 404
        assert service.terminate() == 0
    assert traces.found() == []


@pytest.mark.parametrize("end", ["delete", "expiry"])
async def test_nothing_is_on_disk_after_its_end_and_a_stop(traces: Traces, end: str):
    with live_process(traces.folder, "Echo", **environment(traces)) as service:
        session_id = await use_everything(service, traces, ttl=60)
        with service.http() as http:
            if end == "delete":
                assert http.post("/session/delete", json={"id": session_id}).is_success
            else:
                assert http.post("/session/update", json={"id": session_id, "ttl": 1}).is_success
                params = {"session_id": session_id}
                wait_until(lambda: http.get("/session/get", params=params).status_code == 410, "the session's end")
        assert traces.found() == []
        assert service.terminate() == 0
    assert traces.found() == []


async def test_the_text_of_a_failed_turn_is_not_in_the_log(traces: Traces):
    with live_process(traces.folder, "Crash", **environment(traces)) as service:
        session_id = register(service, can_log=False)
        async with opened(service, session_id) as socket:
            await send(socket, message_type="query", content=traces.word())
            while (await read(socket))["state"] != "end":
                continue
        assert "internal error" in service.log_file.read_text()
        assert traces.found() == []


LOGGING = {
    "required, asked not to": ("required", False, True),
    "required": ("required", True, True),
    "optional, asked not to": ("optional", False, False),
    "optional": ("optional", True, True),
    "never, asked to": ("never", True, False),
    "never": ("never", False, False),
}


@pytest.mark.parametrize(("logging", "asked", "is_logged"), LOGGING.values(), ids=LOGGING)
async def test_the_session_states_whether_it_is_logged(traces: Traces, logging, asked, is_logged):
    with live_process(traces.folder, "Echo", **environment(traces)) as service:
        _, key = service.make_key("ann", logging=logging)
        session_id = await use_everything(service, traces, key, can_log=asked)
        with service.http(key) as http:
            session = http.get("/session/get", params={"session_id": session_id}).json()
            user = http.get("/user/info").json()["user"]
        found = {line.partition(": ")[0] for line in traces.found()}
        assert not any("service.log" in name for name in found)

    assert session["can_log"] is is_logged
    assert (user["never_log"], user["can_disable_logging"]) == (logging == "never", logging == "optional")
    assert bool(found) is is_logged
    assert json.dumps(session["messages"]).count("zork") >= 4
