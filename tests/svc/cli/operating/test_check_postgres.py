"""``svc check`` of a PostgreSQL database: proven while a service uses it, and each kind of damage is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from svc import Svc
from svc.cli.main import main
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from tests.support.assistants.scripted import Echo
from tests.support.live import ThreadService
from tests.support.postgres import PostgresServer

TABLES = ("sessions", "turns", "messages", "files")


@pytest.fixture(scope="module")
def service(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadService]:
    """A service that was used, and goes on."""
    folder, database = tmp_path_factory.mktemp("written"), PostgresAddress(postgres.new_schema())
    service = ThreadService(folder, Echo(), Settings(stop_seconds=0.2), database=database)
    with Svc(service.key, service.base_url) as client:
        session = client.create_session(name="first")
        session.attach_file("a.log", b"one\n")
        session.query("one")
        session.query("two")
        other = client.create_session(name="second")
        other.attach_file("a.log", b"one\n")
        other.query("three")
        client.create_session(name="gone").delete()
    execute(service, *(f"CREATE TABLE saved_{table} AS TABLE {table}" for table in TABLES))
    yield service
    service.stop()


@pytest.fixture
def damaged(service: ThreadService) -> Iterator[ThreadService]:
    """A database that a test may damage."""
    yield service
    for table in TABLES:
        given = " OVERRIDING SYSTEM VALUE" if table == "files" else ""
        execute(service, f"DELETE FROM {table}", f"INSERT INTO {table}{given} SELECT * FROM saved_{table}")


def execute(service: ThreadService, *statements: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(service.database.url)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(run())


def check(database: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["check", database, *options])


def whole(service: ThreadService) -> Result:
    return check(service.database.url, "--files", f"file://{service.files}")


def test_a_sound_database_has_nothing_wrong(service: ThreadService):
    done = whole(service)
    assert done.output.splitlines()[-1] == "2 sessions, 3 turns, 18 messages, 2 files: nothing is wrong"
    assert done.exit_code == 0


def test_without_the_folder_it_says_that_files_were_not_checked(service: ThreadService):
    assert "contents of files not checked (no --files): nothing is wrong" in check(service.database.url).output


def test_the_address_may_come_from_the_environment(service: ThreadService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_DATABASE_URL", service.database.url)
    assert "nothing is wrong" in CliRunner().invoke(main, ["check"]).output


DAMAGE = {
    "gap": ("DELETE FROM messages WHERE {} AND seq = 4", "message 4 is missing before message 5"),
    "tail": ("DELETE FROM messages WHERE {} AND seq > 11", "the last message is 11, and the session counts 12"),
    "count": ("UPDATE sessions SET last_seq = last_seq + 1 WHERE number = 1", "is 12, and the session counts 13"),
    "result": (
        """UPDATE messages SET body = convert_to(replace(convert_from(body, 'UTF8'), '"result"', '"info"'), 'UTF8')
        WHERE {} AND seq = 5""",
        "its result is missing",
    ),
    "running": ("UPDATE turns SET state = 'running' WHERE number = 1", "with message 6, and is stored as running"),
    "failed": ("UPDATE turns SET state = 'failed' WHERE number = 1", "is stored as failed and ends with info"),
    "turns": ("UPDATE sessions SET turns = 9 WHERE number = 1", "there are 2 turns, and the session counts 9"),
    "of no turn": ("UPDATE messages SET turn_number = 999 WHERE {} AND seq = 3", "message 3 belongs to no turn"),
    "body": ("UPDATE messages SET body = '\\x00' WHERE {} AND seq = 3", "message 3 is not a message"),
    "stray": ("UPDATE turns SET session_number = 999 WHERE number = 1", "1 rows of turns belong to no session"),
    "runs": ("UPDATE sessions SET running_turn = 1 WHERE number = 1", "its running turn is not one that runs"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_each_kind_of_damage_is_named(damaged: ThreadService, kind: str):
    statement, expected = DAMAGE[kind]
    execute(damaged, statement.format("session_number = 1"))
    done = whole(damaged)
    assert expected in done.output
    assert done.exit_code == 1
    assert done.output.splitlines()[-1].endswith("problems")


@pytest.mark.parametrize("how", ["missing", "shorter"])
def test_a_file_without_its_content_is_named(service: ThreadService, how: str, tmp_path: Path):
    if how == "shorter":
        for file in service.files.iterdir():
            (tmp_path / file.name).write_bytes(b"o")
    done = check(service.database.url, "--files", f"file://{tmp_path}")
    assert ("is missing" if how == "missing" else "has 1 bytes; 4 were stored") in done.output
    assert done.exit_code == 1


def test_what_cannot_be_checked_is_said(service: ThreadService, postgres: PostgresServer):
    assert "has no tables of a service" in check(postgres.new_schema()).output
    assert "cannot be read" in check("postgresql://svc@127.0.0.1:1/nothing").output
    assert "does not exist" in check(service.database.url, "--files", "file:///no/such/folder").output
    assert "leave out --files" in check("sqlite:///a.db", "--files", "file:///tmp").output
