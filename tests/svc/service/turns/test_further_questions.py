"""A further question about a file is answered from what was found in it, for those who may have it, and for as long."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from svc.assistant.analyst import Analyst
from svc.assistant.workers.machine import memory_bytes, processors, share_of_memory
from svc.assistant.workers.pool import LANES, Limits, Workers
from tests.support.live import StartService, ThreadService
from tests.support.wire_client import register

LOG = b"".join(
    b"Nov 20 03:%02d:%02d h sshd[7]: Failed password for root from 203.0.113.9 port 22 ssh2\n" % divmod(second, 60)
    for second in range(300)
)
QUESTION = "Is there a brute-force attack in this log?"
EARLIER = "read for an earlier question"


class Asker:
    """A user's sessions of a service; each has the log."""

    def __init__(self, service: ThreadService, user: str) -> None:
        self.service = service
        _, self.key = service.make_key(user)

    def session(self, *, can_log: bool = True) -> str:
        session_id = register(self.service, self.key, can_log=can_log)
        with self.http() as http:
            where = {"session_id": session_id, "filename": "auth.log"}
            assert http.post("/session/upload_file", params=where, content=LOG).status_code == 200
        return session_id

    def http(self) -> httpx2.Client:
        return self.service.http(self.key)

    def ask(self, session_id: str) -> tuple[bool, str]:
        """Whether what was found earlier was used, and the answer."""
        message = {"message_type": "query", "content": QUESTION}
        with self.http() as http:
            reply = http.post("/session/generate", json={"id": session_id, "messages": [message]})
        messages = reply.json()["messages"]
        is_known = any(EARLIER in (message["content"] or "") for message in messages)
        return is_known, next(message["content"] for message in messages if message["message_type"] == "result")

    def delete(self, session_id: str) -> None:
        with self.http() as http:
            assert http.post("/session/delete", json={"id": session_id}).status_code == 200


def results_of(service: ThreadService) -> list[Path]:
    return [path for path in service.files.with_suffix(".results").rglob("*") if path.is_file()]


def test_a_further_question_is_answered_the_same_without_reading_until_the_last_session_is_deleted(start_service):
    service: ThreadService = start_service(Analyst)
    asker = Asker(service, "mara")
    first, second = asker.session(), asker.session()
    is_known, answer = asker.ask(first)
    assert not is_known
    assert asker.ask(second) == (True, answer)
    other = Asker(service, "eve")
    theirs = other.session()
    assert other.ask(theirs) == (False, answer), "another account's work is never seen, not even by its speed"
    assert len({path.parent for path in results_of(service)}) == 2
    asker.delete(first)
    assert asker.ask(second)[0]
    for one, session_id in ((asker, second), (other, theirs)):
        one.delete(session_id)
    assert results_of(service) == []


def test_a_damaged_result_is_read_again_and_the_answer_is_the_same(start_service: StartService):
    service = start_service(Analyst)
    asker = Asker(service, "mara")
    session_id = asker.session()
    _, answer = asker.ask(session_id)
    for path in results_of(service):
        path.write_bytes(path.read_bytes()[:-1])
    assert asker.ask(session_id) == (False, answer)
    assert asker.ask(session_id) == (True, answer)


@pytest.mark.one_service("looks into the memory of one service")
def test_results_of_unlogged_sessions_are_in_memory_and_their_own(start_service: StartService):
    service = start_service(Analyst)
    asker = Asker(service, "mara")
    logged, first, second = asker.session(), asker.session(can_log=False), asker.session(can_log=False)
    assert not asker.ask(logged)[0]
    on_disk = len(results_of(service))
    assert [asker.ask(session_id)[0] for session_id in (first, second, first)] == [False, False, True]
    assert len(results_of(service)) == on_disk
    kept = service.running.service.session_stores.memory._results
    assert kept.used_bytes > 0
    asker.delete(first)
    asker.delete(second)
    assert kept.used_bytes == 0


@pytest.mark.one_service("looks into the memory of one service")
def test_with_no_room_for_results_each_question_reads_the_file(start_service: StartService):
    service = start_service(Analyst, kept_results_bytes=0, kept_results_memory_bytes=0)
    asker = Asker(service, "mara")
    for session_id in (asker.session(), asker.session(can_log=False)):
        assert [asker.ask(session_id)[0] for _ in range(2)] == [False, False]


@pytest.mark.parametrize(("setting", "expected"), [(0, processors()), (1, 1), (3, 3)])
def test_the_setting_says_how_many_tools_run_at_the_same_time(start_service, setting: int, expected: int):
    analyst = Analyst()
    start_service(lambda: analyst, workers=setting)
    assert analyst._workers._slot_count == expected
    assert analyst._workers.idle + analyst._workers._processes.launches <= expected


def test_workers_share_the_memory_of_the_machine(tmp_path: Path):
    gib = 1 << 30
    assert share_of_memory(4, gib, available=64 * gib) == gib
    assert share_of_memory(10, gib, available=5 * gib) == 4 * gib // 10
    assert share_of_memory(256, gib, available=gib) == gib // 4, "less is of no use to a tool"
    (tmp_path / "memory.max").write_text("123456\n")
    assert memory_bytes(tmp_path) == 123_456
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_bytes(tmp_path) == memory_bytes(tmp_path / "none") > 123_456
    workers = Workers(slots=4, limits=Limits(memory_bytes=1 << 40))
    assert workers._limits.memory_bytes == share_of_memory(4 + LANES, 1 << 40)
