"""Several services on one PostgreSQL with their attached files in one bucket: as users and operators see it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from click.testing import CliRunner

from svc.assistant.analyst import Analyst
from svc.cli.main import main
from svc.service.sessions.database_mark import MARK
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from tests.support.live import ProcessService, ThreadService, wait_until
from tests.support.object_stores import BUCKET, PREFIX, s3_bucket
from tests.support.postgres import PostgresServer
from tests.support.s3_server import SECRET_KEY, S3Object, S3Server, s3_server
from tests.support.wire_client import register

LOG = b"".join(
    b"Nov 20 03:%02d:%02d h sshd[7]: Failed password for root from 203.0.113.9 port 22 ssh2\n" % divmod(second, 60)
    for second in range(300)
)
QUESTION = "Is there a brute-force attack in this log?"
URL = f"s3://{BUCKET}/{PREFIX}"


class Services:
    """The services, each with a machine of its own, and what is in the bucket."""

    def __init__(self, server: S3Server, objects: dict[str, S3Object], services: list[ThreadService]) -> None:
        self.server = server
        self.objects = objects
        self.services = services
        self.machines = [service.folder for service in services]

    @property
    def files(self) -> set[str]:
        """The ids of the stored files."""
        return {key.rpartition("/")[2] for key in self.objects} - {MARK}

    def fetched(self, number: int) -> list[Path]:
        """What a service has fetched."""
        return [path for path in (self.machines[number] / "state").rglob("*") if path.parent.name == "files"]

    def http(self, number: int, key: str | None = None) -> httpx2.Client:
        return self.services[number].http(key or self.services[0].key)


@pytest.fixture(scope="module")
def three(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    database = PostgresAddress(postgres.new_schema())
    settings = Settings(shared_database=True, purge_interval_seconds=0.2, stop_seconds=0.2)
    with s3_server() as server, pytest.MonkeyPatch.context() as environment:
        objects = server.make_bucket(BUCKET)
        services = []
        for number in range(3):
            folder = tmp_path_factory.mktemp(f"service{number}")
            environment.setenv("SVC_STATE_DIR", str(folder / "state"))
            services.append(
                ThreadService(
                    folder,
                    Analyst(),
                    settings,
                    database=database,
                    bucket=s3_bucket(server, retries=1),
                    is_advertised=number == 2,  # else it takes no unlogged sessions
                )
            )
        yield Services(server, objects, services)
        for service in services:
            service.stop()


@pytest.fixture(autouse=True)
def no_fault(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "three" in request.fixturenames:
        request.getfixturevalue("three").server.fault = lambda _: None


def attach(http: httpx2.Client, session_id: str, content: bytes = LOG, name: str = "auth.log") -> httpx2.Response:
    return http.post("/session/upload_file", params={"session_id": session_id, "filename": name}, content=content)


def ask(http: httpx2.Client, session_id: str, question: str = QUESTION) -> str:
    message = {"message_type": "query", "content": question}
    reply = http.post("/session/generate", json={"id": session_id, "messages": [message]})
    assert reply.status_code == 200, reply.text
    return next(one["content"] for one in reply.json()["messages"] if one["message_type"] == "result")


def test_what_is_attached_at_one_service_is_read_at_the_other_until_its_session_is_deleted(three: Services):
    session_id = register(three.services[0])
    with three.http(0) as first, three.http(1) as second:
        assert attach(first, session_id).status_code == 200
        (file_id,) = three.files
        answer = ask(second, session_id)
        assert "203.0.113.9" in answer
        assert "300" in answer
        assert [path.name.partition("-")[0] for path in three.fetched(1)] == [file_id]
        assert three.fetched(0) == []  # it was never read there
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in three.fetched(1))
        assert first.post("/session/delete", json={"id": session_id}).status_code == 200
        assert three.files == set()
        wait_until(lambda: not three.fetched(1), "the other service to erase its copy")


def test_only_what_the_question_is_about_is_fetched(three: Services):
    session_id = register(three.services[0])
    with three.http(0) as first, three.http(1) as second:
        attach(first, session_id, b"never asked about " * 1_000, "other.bin")
        attach(first, session_id)
        message = {"message_type": "query", "content": QUESTION, "files": ["auth.log"]}
        reply = second.post("/session/generate", json={"id": session_id, "messages": [message]})
        assert reply.status_code == 200
        assert [path.stat().st_size for path in three.fetched(1)] == [len(LOG)]
        first.post("/session/delete", json={"id": session_id})


def test_a_further_question_needs_no_request(three: Services):
    session_id = register(three.services[0])
    with three.http(0) as http:
        attach(http, session_id)
        before = ask(http, session_id)
        three.server.requests.clear()
        assert ask(http, session_id) == before
        assert [one for one in three.server.requests if one.key.rpartition("/")[2] in three.files] == []
        http.post("/session/delete", json={"id": session_id})


def test_an_unlogged_session_never_touches_the_bucket(three: Services):
    service = three.services[2]
    _, key = service.make_key("mara")
    session_id = register(service, key, can_log=False)
    three.server.requests.clear()
    with service.http(key) as http:
        assert attach(http, session_id).status_code == 200
        assert "203.0.113.9" in ask(http, session_id)
        assert http.post("/session/delete", json={"id": session_id}).status_code == 200
    assert three.server.requests == []
    assert three.fetched(2) == []


def test_an_upload_while_the_store_is_away_is_answered_with_503(three: Services):
    session_id = register(three.services[0])
    three.server.fault = lambda _: "slow_down"
    with three.http(0) as http:
        reply = attach(http, session_id)
    assert reply.status_code == 503
    assert float(reply.headers["retry-after"]) >= 1
    assert reply.json()["error"]["message"] == (
        "the file could not be stored in the object store: it cannot be reached (status 503, SlowDown); try again"
    )


def test_a_question_while_the_store_is_away_says_so_and_is_answered_later(three: Services):
    session_id = register(three.services[0])
    with three.http(0) as http:
        attach(http, session_id)
        three.server.fault = lambda _: "slow_down"
        answer = ask(http, session_id)
        assert "auth.log could not be fetched from the object store: it cannot be reached" in answer
        assert "No brute" not in answer
        health = http.get("/health").json()
        assert "cannot be reached" in str(health)
        three.server.fault = lambda _: None
        assert "203.0.113.9" in ask(http, session_id)
        http.post("/session/delete", json={"id": session_id})


def test_a_file_that_is_not_what_was_attached_is_not_read(three: Services):
    session_id = register(three.services[0])
    with three.http(0) as http:
        attach(http, session_id)
        (key,) = [key for key in three.objects if MARK not in key]
        three.objects[key] = S3Object(LOG.replace(b"203.0.113.9", b"203.0.113.8"))
        answer = ask(http, session_id)
        assert "its SHA-256 differs" in answer
        assert "203.0.113.8" not in answer
        sha256 = http.get("/session/get", params={"session_id": session_id}).json()["files"][0]["sha256"]
        reply = http.get("/session/file", params={"session_id": session_id, "sha256": sha256})
        assert reply.status_code == 503
        http.post("/session/delete", json={"id": session_id})


def test_a_lost_object_is_named(three: Services):
    session_id = register(three.services[0])
    with three.http(0) as http:
        attach(http, session_id)
        (key,) = [key for key in three.objects if MARK not in key]
        del three.objects[key]
        assert "is missing in the object store" in ask(http, session_id)
        assert "the content of 1 attached files is missing" in str(http.get("/health").json())
        attach(http, session_id, name="again.log")  # the same content brings it back
        assert "203.0.113.9" in ask(http, session_id)
        http.post("/session/delete", json={"id": session_id})


def test_the_process_of_a_service_keeps_its_keys_to_itself(postgres: PostgresServer, tmp_path: Path):
    """Started as an operator starts it; then proven by ``svc check``."""
    database = PostgresAddress(postgres.new_schema())
    with s3_server() as server:
        objects = server.make_bucket(BUCKET)
        environment = {**server.environment, "SVC_STATE_DIR": str(tmp_path / "state")}
        service = ProcessService(tmp_path, "svc.assistant.analyst:Analyst", database=database, files=URL, **environment)
        try:
            session_id = register(service)
            with service.http() as http:
                assert attach(http, session_id).status_code == 200
                assert "203.0.113.9" in ask(http, session_id)
            children = psutil.Process(service.process.pid).children(recursive=True)
            assert children
            assert all(SECRET_KEY not in str(child.environ()) for child in children)
            assert SECRET_KEY not in service.log_file.read_text()
            assert len(objects_of(objects)) == 1
            assert (tmp_path / "state" / "fetched").stat().st_mode & 0o777 == 0o700
        finally:
            service.terminate()
        check = CliRunner().invoke(
            main, ["check", database.url, "--files", URL], env=server.environment, catch_exceptions=False
        )
        assert (check.exit_code, "1 files: nothing is wrong" in check.output) == (0, True)
        (key,) = objects_of(objects)
        objects[key] = S3Object(b"cut")
        check = CliRunner().invoke(main, ["check", database.url, "--files", URL], env=server.environment)
        assert re.search(r"the file 'auth.log' \(\w+\) has 3 bytes; 24,600 were stored", check.output), check.output
        del objects[key]
        check = CliRunner().invoke(main, ["check", database.url, "--files", URL], env=server.environment)
        assert "is missing" in check.output
        assert check.exit_code == 1


def objects_of(objects: dict[str, S3Object]) -> list[str]:
    return [key for key in objects if MARK not in key]
