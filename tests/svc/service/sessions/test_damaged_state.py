"""Whatever happened to the database and the folder of attached files between two runs, no file is erased.

``OPEN`` cases were used while the code was written, ``HELD`` cases were written before it and run after it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from svc.errors import ConfigError
from svc.service.settings import Settings
from tests.support.assistants.scripted import Reading
from tests.support.live import ThreadService
from tests.support.wire_client import register

CONTENTS = {"a.log": b"alpha" * 9_000, "b.log": b"beta\n", "c.bin": bytes(range(256)) * 40}


class State:
    """A state folder with a database, attached files, and a copy of the database that lacks the last two files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "service.db"
        self.files = folder / "service.db.files"
        self.backup = folder / "backup.db"
        self.good = folder / "good.db"
        self.session_id = ""
        self.strangers: dict[Path, bytes] = {}

    def fill(self) -> None:
        with running(self.folder) as service:
            self.session_id = register(service)
            with service.http() as http:
                upload(http, self.session_id, "a.log")
                copy_database(self.database, self.backup)
                upload(http, self.session_id, "b.log")
                upload(http, self.session_id, "c.bin")
                assert self.read(http) == CONTENTS
        copy_database(self.database, self.good)

    def read(self, http: httpx2.Client) -> dict[str, bytes]:
        """The attached files as the service gives them."""
        session = http.get("/session/get", params={"session_id": self.session_id})
        assert session.status_code == 200, session.text
        found = {}
        for file in session.json()["files"]:
            params = {"session_id": self.session_id, "sha256": file["sha256"]}
            found[file["name"]] = http.get("/session/file", params=params).content
        return found

    def stranger(self, path: Path, content: bytes = b"not the service's") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.strangers[path] = content

    def drop_database(self) -> None:
        for end in ("", "-wal", "-shm"):
            self.database.with_name(f"service.db{end}").unlink(missing_ok=True)

    def digests(self) -> set[str]:
        """Of every file below the folder and what its links lead to."""
        paths = [Path(top, name) for top, _, names in os.walk(self.folder, followlinks=True) for name in names]
        return {hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}


def copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as reader, closing(sqlite3.connect(target)) as writer:
        reader.backup(writer)


def upload(http: httpx2.Client, session_id: str, name: str) -> None:
    params = {"session_id": session_id, "filename": name}
    assert http.post("/session/upload_file", params=params, content=CONTENTS[name]).is_success


class Attempt(ThreadService):
    """A service that may refuse to start: ``refusal`` says why."""

    def __init__(self, folder: Path) -> None:
        self.refusal = ""
        with contextlib.suppress(AssertionError):
            super().__init__(folder, Reading(), Settings(stop_seconds=1))

    def _run(self) -> None:
        try:
            super()._run()
        except ConfigError as error:
            self.refusal = str(error)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Attempt]:
    """A service on the folder, stopped at the end."""
    attempt = Attempt(folder)
    try:
        yield attempt
    finally:
        attempt.stop()


class Case(NamedTuple):
    """``damage`` before the second run, ``repair`` before the third. ``is_quiet``: nothing to report."""

    damage: Callable[[State], object]
    repair: Callable[[State], object]
    is_quiet: bool = False


def restore(state: State) -> None:
    state.drop_database()
    shutil.copy(state.good, state.database)


def use_backup(state: State) -> None:
    state.drop_database()
    shutil.copy(state.backup, state.database)


def empty(state: State) -> None:
    state.drop_database()
    state.database.write_bytes(b"")


def add_strangers(state: State) -> None:
    state.stranger(state.files / "notes.txt")
    state.stranger(state.files / ".hidden")
    state.stranger(state.files / "case 12" / "photo.jpg")


OPEN = {
    "the database is missing": Case(State.drop_database, restore),
    "the database is empty": Case(empty, restore),
    "the database is an older one": Case(use_backup, restore),
    "a stranger's files": Case(add_strangers, lambda state: None, is_quiet=True),
}


def of_another_service(state: State) -> None:
    other = state.folder / "other"
    other.mkdir()
    with running(other) as service:
        register(service)
    state.drop_database()
    shutil.copy(other / "service.db", state.database)


def missing_behind_a_link(state: State) -> None:
    state.files.rename(state.folder / "elsewhere")
    state.files.symlink_to(state.folder / "elsewhere")
    state.drop_database()


def cut_in_half(state: State) -> None:
    data = state.database.read_bytes()
    state.database.write_bytes(data[: len(data) // 2])


def scribble(state: State) -> None:
    size = state.database.stat().st_size
    with state.database.open("r+b") as file:
        for at in range(4_096, size, 4_096):
            file.seek(at)
            file.write(b"\xa5" * 2_000)


def no_database_at_all(state: State) -> None:
    state.drop_database()
    state.database.write_bytes(b"this is a text, not a database\n" * 500)


def newer(state: State) -> None:
    with closing(sqlite3.connect(state.database)) as connection:
        connection.execute("PRAGMA user_version = 900")


def files_gone(state: State) -> None:
    state.files.rename(state.folder / "moved")


def files_back(state: State) -> None:
    shutil.rmtree(state.files)
    (state.folder / "moved").rename(state.files)


def hex_strangers(state: State) -> None:
    """Names such as the service makes, by someone else."""
    state.files.joinpath("d" * 32).mkdir()
    state.stranger(state.files / ("d" * 32) / "inner.txt")
    state.stranger(state.folder / "target.txt")
    state.files.joinpath("e" * 32).symlink_to(state.folder / "target.txt")
    state.files.joinpath("f" * 32 + ".part").symlink_to(state.folder / "target.txt")


def twice_lost(state: State) -> None:
    state.drop_database()
    with running(state.folder) as service:
        assert not service.refusal
    state.drop_database()


def stale_log(state: State) -> None:
    """The database was deleted, its write-ahead log was not."""
    state.stranger(state.folder / "service.db-wal", os.urandom(9_000))
    state.strangers.clear()
    state.database.unlink()


def unfinished_of_the_newer(state: State) -> None:
    use_backup(state)
    state.stranger(state.files / ("a" * 32 + ".part"), b"half a file")
    state.strangers.clear()


HELD = {
    "another service's database": Case(of_another_service, restore),
    "missing, and the folder is a link": Case(missing_behind_a_link, restore),
    "cut in half": Case(cut_in_half, restore),
    "overwritten within": Case(scribble, restore),
    "a text": Case(no_database_at_all, restore),
    "of a newer version": Case(newer, restore),
    "the folder is missing": Case(files_gone, files_back),
    "strangers with the service's kind of name": Case(hex_strangers, lambda state: None, is_quiet=True),
    "lost twice": Case(twice_lost, restore),
    "only the log is left": Case(stale_log, restore),
    "older, with an unknown unfinished upload": Case(unfinished_of_the_newer, restore),
}


@pytest.fixture
def state(tmp_path: Path) -> State:
    filled = State(tmp_path)
    filled.fill()
    return filled


@pytest.mark.parametrize("case", (OPEN | HELD).values(), ids=OPEN | HELD)
def test_no_file_is_lost_the_damage_is_reported_and_the_repair_brings_all_back(
    state: State, case: Case, caplog: pytest.LogCaptureFixture
):
    before = {hashlib.sha256(content).hexdigest() for content in CONTENTS.values()}
    case.damage(state)
    caplog.clear()
    with running(state.folder) as service:
        if service.refusal:
            assert not case.is_quiet
            assert str(state.database) in service.refusal
        else:
            health = httpx2.get(f"{service.base_url}/health", trust_env=False).json()
            assert (health["status"] == "ok") == case.is_quiet, health
            assert case.is_quiet or any(record.levelno >= logging.ERROR for record in caplog.records)
    assert before <= state.digests()
    case.repair(state)
    with running(state.folder) as service:
        assert not service.refusal
        with service.http() as http:
            assert state.read(http) == CONTENTS
            assert http.get("/health").json()["status"] == "ok", http.get("/health").text
    assert {path: path.read_bytes() for path in state.strangers} == state.strangers
