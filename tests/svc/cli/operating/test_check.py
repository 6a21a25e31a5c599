"""``svc check``: a database that a service wrote is proven, and each kind of damage is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from svc import Svc
from svc.cli.main import main
from tests.support.assistants.scripted import Echo
from tests.support.live import ThreadService
from tests.support.wire_client import register


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a service that was used, and stopped in a turn."""
    from svc.service.settings import Settings

    folder = tmp_path_factory.mktemp("written")
    service = ThreadService(folder, Echo(), Settings(stop_seconds=0.2))
    with Svc(service.key, service.base_url) as client:
        session = client.create_session(name="first")
        session.attach_file("a.log", b"one\n")
        session.query("one")
        session.query("two")
        other = client.create_session(name="second")
        other.attach_file("a.log", b"one\n")
        other.query("three")
        client.create_session(name="gone").delete()
    with service.http() as http:
        for n in range(2):
            chat = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
            http.post("/chat/completions", json={"messages": [*chat, {"role": "user", "content": f"c{n}"}]})
        http.post(
            "/session/generate", json={"id": register(service), "messages": [{"message_type": "query", "content": "x"}]}
        )
    service.stop()
    return service.database


@pytest.fixture
def database(written: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(written)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    folder = copy.with_name("copy.db.files")
    folder.mkdir()
    for file in written.with_name(f"{written.name}.files").iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return copy


def check(database: Path) -> Result:
    return CliRunner().invoke(main, ["check", f"sqlite:///{database}"])


def test_a_sound_database_has_nothing_wrong(database: Path):
    done = check(database)

    assert done.output.splitlines()[-1].endswith("2 files: nothing is wrong"), done.output
    assert done.exit_code == 0


_RESULT = '\'"message_type":"info"\', \'"message_type":"result"\''
DAMAGE = {
    "gap": ("DELETE FROM messages WHERE {} AND seq = 4", "message 4 is missing before message 5"),
    "tail": ("DELETE FROM messages WHERE {} AND seq > 11", "the last message is 11, and the session counts 12"),
    "count": ("UPDATE sessions SET last_seq = last_seq + 1 WHERE number = 1", "is 12, and the session counts 13"),
    "result": (
        """UPDATE messages SET body = replace(body, '"result"', '"info"') WHERE {} AND seq = 5""",
        "its result is missing",
    ),
    "second result": (
        f"UPDATE messages SET body = CAST(replace(CAST(body AS TEXT), {_RESULT}) AS BLOB) WHERE {{}} AND seq = 4",
        "has a second result",
    ),
    "running": (
        "UPDATE turns SET state = 'running' WHERE number = 1",
        "ended with message 6, and is stored as running",
    ),
    "failed": ("UPDATE turns SET state = 'failed' WHERE number = 1", "is stored as failed and ends with info"),
    "turns": ("UPDATE sessions SET turns = 9 WHERE number = 1", "there are 2 turns, and the session counts 9"),
    "moved": ("UPDATE messages SET turn_number = 2 WHERE {} AND seq = 3", "message 3 is stored in turn"),
    "of no turn": ("UPDATE messages SET turn_number = 999 WHERE {} AND seq = 3", "message 3 belongs to no turn"),
    "no query": ("UPDATE turns SET query_seq = 2 WHERE number = 1", "the query of turn"),
    "body": ("UPDATE messages SET body = X'00' WHERE {} AND seq = 3", "message 3 is not a message"),
    "stray": ("UPDATE turns SET session_number = 999 WHERE number = 1", "1 rows of turns belong to no session"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_each_kind_of_damage_is_named(database: Path, kind: str):
    statement, expected = DAMAGE[kind]
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DROP INDEX IF EXISTS one_running_turn")
        connection.execute(statement.format("session_number = 1"))
        connection.commit()

    done = check(database)

    assert expected in done.output
    assert done.exit_code == 1
    assert done.output.splitlines()[-1].endswith("problems")


@pytest.mark.parametrize("how", ["missing", "shorter"])
def test_a_file_without_its_content_is_named(database: Path, how: str):
    for file in database.with_name("copy.db.files").iterdir():
        file.unlink() if how == "missing" else file.write_bytes(b"o")

    done = check(database)

    assert ("is missing" if how == "missing" else "has 1 bytes; 4 were stored") in done.output
    assert "'a.log'" in done.output
    assert done.exit_code == 1


def test_what_cannot_be_checked_is_said(database: Path, tmp_path: Path):
    (tmp_path / "none.db").write_bytes(b"not a database at all, but long enough to be read as one" * 100)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 9999")

    assert "does not exist" in check(tmp_path / "absent.db").output
    assert "cannot be read" in check(tmp_path / "none.db").output
    assert "schema version 9999" in check(database).output
    assert not (tmp_path / "absent.db").exists()
