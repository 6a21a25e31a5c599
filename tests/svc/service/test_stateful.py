"""Sessions, files and ttl against a simple model: any order of operations by two users, while the clock is moved."""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from svc.service.settings import Settings
from tests.support.assistants.scripted import Echo
from tests.support.live import ThreadService, wait_until

RETENTION = 2_000
MAX_FILES = 3
MAX_BYTES = 40
MESSAGES_OF_A_TURN = 6


@dataclass
class Modelled:
    """What a session must be."""

    user: str
    name: str
    description: str
    ttl: int
    created: int
    can_log: bool
    updated: int = 0
    expires: int = 0
    turns: int = 0
    files: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.updated, self.expires = self.created, self.created + self.ttl


class World:
    """One service for all examples, its clock, and the model of every session that it should know."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_000_000.0
        chosen = Settings(
            retention_seconds=RETENTION, purge_interval_seconds=0.02, max_session_files=MAX_FILES,
            max_upload_bytes=MAX_BYTES, stop_seconds=0.3,
        )  # fmt: skip
        self.service = ThreadService(folder, Echo(), chosen, clock=lambda: self.now)
        self.sessions: dict[str, Modelled] = {}
        self.numbers = itertools.count()
        self.keys = {user: self.service.make_key(user)[1] for user in ("anna", "bert")}
        self.clients = {user: self.service.http(key) for user, key in self.keys.items()}

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.service.stop()

    def advance(self, seconds: float) -> None:
        """Move the clock, and wait until what is kept no longer is gone."""
        self.now += seconds
        for session_id, session in list(self.sessions.items()):
            if self.now >= session.expires + RETENTION:
                params = {"session_id": session_id}
                client = self.clients[session.user]
                wait_until(lambda c=client, p=params: c.get("/session/get", params=p).status_code == 404, "the purge")
                del self.sessions[session_id]

    def is_expired(self, session: Modelled) -> bool:
        return self.now >= session.expires


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("stateful"))
    yield world
    world.close()


USERS = st.sampled_from(["anna", "bert"])
CALLERS = st.sampled_from(["owner", "owner", "owner", "stranger"])
TARGETS = st.integers(0, 5)
TTLS = st.sampled_from([None, 299, 300, 301, 600, 2_592_000, 2_592_001])
NAMES = st.sampled_from([None, "", "Fall 7", "n" * 200, "n" * 201])
FILES = st.sampled_from(["a.txt", "b.txt", "c", "d", "../x", ""])
SOME = [b"", b"alpha", b"beta", b"x" * MAX_BYTES, b"x" * (MAX_BYTES + 1)]
CONTENTS = st.sampled_from(SOME)
SECONDS = st.sampled_from([0.25, 0.75, 1, 50, 298.5, 299, 300, 700, RETENTION])


class Sessions(RuleBasedStateMachine):
    """Each rule sends one request, says what the model expects, and changes the model if the request succeeded."""

    world: World

    @initialize()
    def begin(self) -> None:
        number = next(self.world.numbers)
        self.ids = [f"own-{number}-{name}" for name in "ab"]

    def refusal(self, user: str, session_id: str) -> int | None:
        session = self.world.sessions.get(session_id)
        if session is None or session.user != user:
            return 404
        return 410 if self.world.is_expired(session) else None

    def target(self, number: int) -> str:
        return self.ids[number % len(self.ids)]

    def user(self, caller: str, session_id: str) -> str:
        session = self.world.sessions.get(session_id)
        owner = session.user if session else "anna"
        return owner if caller == "owner" else {"anna": "bert", "bert": "anna"}[owner]

    def post(self, user: str, path: str, **body: object) -> httpx2.Response:
        given = {name: value for name, value in body.items() if value is not None}
        return self.world.clients[user].post(path, json=given)

    @rule(user=USERS, number=TARGETS, is_own=st.booleans(), ttl=TTLS, name=NAMES, can_log=st.booleans())
    def register(self, user, number, is_own, ttl, name, can_log) -> None:
        session_id = self.target(number) if is_own else None
        reply = self.post(user, "/session/register", id=session_id, ttl=ttl, name=name, can_log=can_log)
        known = self.world.sessions.get(session_id or "")
        if not 300 <= (ttl or 300) <= 2_592_000 or len(name or "") > 200:
            assert reply.status_code == 400
        elif known and known.user != user:
            assert (reply.status_code, reply.json()["error"]["code"]) == (409, "session_id_taken")
        elif known and self.world.is_expired(known):
            assert reply.status_code == 410
        else:
            data = reply.json()["data"]
            if known is None:
                made = Modelled(user, name or data["name"], "", ttl or 86_400, int(self.world.now), can_log)
                self.world.sessions[data["id"]] = made
                self.ids += [] if is_own else [data["id"]]
            self.check(data)

    @rule(caller=CALLERS, number=TARGETS, ttl=st.sampled_from([None, 0, 299, 300, 500]), name=NAMES, text=NAMES)
    def update(self, caller, number, ttl, name, text) -> None:
        session_id = self.target(number)
        user = self.user(caller, session_id)
        reply = self.post(user, "/session/update", id=session_id, ttl=ttl, name=name, description=text)
        if refused := self.refusal(user, session_id):
            assert reply.status_code == refused
        elif ttl == 299 or len(name or "") > 200:
            assert reply.status_code == 400
        else:
            session = self.world.sessions[session_id]
            session.name, session.description = name or session.name, text or session.description
            session.updated = int(self.world.now)
            if ttl:
                session.ttl, session.expires = ttl, int(self.world.now) + ttl
            self.check(reply.json()["data"])

    @rule(caller=CALLERS, number=TARGETS)
    def delete(self, caller, number) -> None:
        session_id = self.target(number)
        user = self.user(caller, session_id)
        reply = self.post(user, "/session/delete", id=session_id)
        assert reply.status_code == (self.refusal(user, session_id) or 200)
        if reply.is_success:
            del self.world.sessions[session_id]

    @rule(caller=CALLERS, number=TARGETS)
    def get(self, caller, number) -> None:
        session_id = self.target(number)
        user = self.user(caller, session_id)
        reply = self.world.clients[user].get("/session/get", params={"session_id": session_id})
        assert reply.status_code == (self.refusal(user, session_id) or 200)
        if reply.is_success:
            self.check(reply.json())
            assert [m["seq"] for m in reply.json()["messages"]] == list(range(1, reply.json()["num_messages"] + 1))

    @rule(user=USERS)
    def list(self, user) -> None:
        listed = self.world.clients[user].get("/session/list").json()
        own = {key for key, s in self.world.sessions.items() if s.user == user and not self.world.is_expired(s)}
        assert {session["id"] for session in listed} == own
        assert len(listed) == len(own)
        assert [s["create_time"] for s in listed] == sorted(s["create_time"] for s in listed)
        for session in listed:
            self.check(session)

    @rule(caller=CALLERS, number=TARGETS, name=FILES, content=CONTENTS, is_streamed=st.booleans())
    def attach(self, caller, number, name, content, is_streamed) -> None:
        session_id = self.target(number)
        user = self.user(caller, session_id)
        if is_streamed:
            params = {"session_id": session_id, "filename": name}
            reply = self.world.clients[user].post("/session/upload_file", params=params, content=content)
        else:
            encoded = base64.b64encode(content).decode()
            reply = self.post(user, "/session/attach_file", session_id=session_id, filename=name, content=encoded)
        assert reply.status_code in self.expected_of_file(user, session_id, name, content)
        file = (name, hashlib.sha256(content).hexdigest())
        if reply.is_success:
            assert (reply.json()["data"]["name"], reply.json()["data"]["sha256"]) == file
            files = self.world.sessions[session_id].files
            files += [] if file in files else [file]

    @rule(number=TARGETS)
    def fill(self, number) -> None:
        for name in ("a.txt", "b.txt", "c")[:MAX_FILES]:
            self.attach("owner", number, name, b"alpha", is_streamed=True)

    @rule(number=TARGETS, index=st.integers(0, MAX_FILES - 1))
    def attach_again(self, number, index) -> None:
        session = self.world.sessions.get(session_id := self.target(number))
        if session is not None and index < len(session.files) and not self.world.is_expired(session):
            name, sha256 = session.files[index]
            content = next(content for content in SOME if hashlib.sha256(content).hexdigest() == sha256)
            params = {"session_id": session_id, "filename": name}
            reply = self.world.clients[session.user].post("/session/upload_file", params=params, content=content)
            assert reply.json()["data"]["sha256"] == sha256

    def expected_of_file(self, user: str, session_id: str, name: str, content: bytes) -> set[int]:
        refused = self.refusal(user, session_id)
        faults = {refused} if refused else set()
        faults |= {400} if "/" in name or not name else set()
        faults |= {413} if len(content) > MAX_BYTES else set()
        if faults:
            return faults
        files = self.world.sessions[session_id].files
        is_there = (name, hashlib.sha256(content).hexdigest()) in files
        return {200} if is_there or len(files) < MAX_FILES else {413}

    @rule(caller=CALLERS, number=TARGETS, index=st.integers(-1, 3))
    def detach(self, caller, number, index) -> None:
        session_id = self.target(number)
        user = self.user(caller, session_id)
        reply = self.post(user, "/session/detach_file", session_id=session_id, file_idx=index)
        if refused := self.refusal(user, session_id):
            assert reply.status_code == refused
        elif 0 <= index < len(files := self.world.sessions[session_id].files):
            assert reply.is_success
            del files[index]
        else:
            assert (reply.status_code, reply.json()["error"]["code"]) == (404, "file_not_found")

    @rule(caller=CALLERS, number=TARGETS)
    def generate(self, caller, number) -> None:
        session_id = self.target(number)
        user = self.user(caller, session_id)
        reply = self.post(
            user, "/session/generate", id=session_id, messages=[{"message_type": "query", "content": "who?"}]
        )
        assert reply.status_code == (self.refusal(user, session_id) or 200)
        if reply.is_success:
            session = self.world.sessions[session_id]
            result = reply.json()["messages"][-2]["content"]
            assert result == f"who?\n\n{len(session.files)} files, {session.turns} earlier"
            session.turns += 1
            session.updated = int(self.world.now)

    @rule(caller=CALLERS, number=TARGETS)
    def give_feedback(self, caller, number) -> None:
        session_id = self.target(number)
        user = self.user(caller, session_id)
        reply = self.post(user, "/session/feedback", session_id=session_id, type="user_feedback", score=1)
        assert reply.status_code == (self.refusal(user, session_id) or 200)

    @rule(seconds=SECONDS)
    def wait(self, seconds) -> None:
        self.world.advance(seconds)

    @rule(number=TARGETS, before=st.sampled_from([0, 0.001, 1]))
    def wait_for_the_end(self, number, before) -> None:
        session = self.world.sessions.get(self.target(number))
        if session is not None and session.expires - before > self.world.now:
            self.world.advance(session.expires - before - self.world.now)

    @invariant()
    def the_disk_has_the_files_of_logged_sessions_and_no_other(self) -> None:
        folder = self.world.service.files
        logged = [session for session in self.world.sessions.values() if session.can_log]
        kept = {(session.user, sha256) for session in logged for _, sha256 in session.files}  # each content of a user
        wait_until(lambda: len([*folder.iterdir()]) == len(kept), "the files to be those of the sessions", 5)

    def check(self, data: dict[str, object]) -> None:
        session = self.world.sessions[data["id"]]
        assert {
            "name": session.name, "description": session.description, "ttl": session.ttl, "can_log": session.can_log,
            "create_time": session.created, "update_time": session.updated, "expire_time": session.expires,
            "turns": session.turns, "num_messages": session.turns * MESSAGES_OF_A_TURN, "user_id": session.user,
            "state": "agent_done" if session.turns else "start",
        }.items() <= data.items()  # fmt: skip
        assert [(file["name"], file["sha256"]) for file in data["files"]] == session.files


def run(world: World, examples: int, steps: int) -> None:
    machine = type("SessionsOfThisWorld", (Sessions,), {"world": world})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_any_sequence_of_operations_matches_the_model(world: World):
    run(world, examples=60, steps=50)


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_any_long_sequence_of_operations_matches_the_model(world: World):
    run(world, examples=600, steps=80)
