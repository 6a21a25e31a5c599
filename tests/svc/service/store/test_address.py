"""The address of the database: a password is never shown, and never accepted where others see it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from svc.cli.main import main
from svc.errors import ConfigError
from svc.service.store.address import PostgresAddress, parse_address, url_of

SECRET = "hunter2secret"
WITH_PASSWORD = (
    f"postgresql://svc:{SECRET}@127.0.0.1/svc",
    f"postgresql://svc@127.0.0.1/svc?password={SECRET}",
    f"postgres://svc:{SECRET}@db.example.org:5433,db2.example.org/svc?sslmode=require",
    f"postgresql://svc@127.0.0.1/svc?sslpassword={SECRET}",
    f"postgresql://svc:{SECRET}%40x@[::1]:5432/svc",
)


@pytest.mark.parametrize("url", WITH_PASSWORD)
def test_a_password_is_refused_in_an_option_and_never_shown(url: str):
    with pytest.raises(ConfigError, match="SVC_DATABASE_URL") as refused:
        parse_address(url, is_visible=True)
    address = parse_address(url)
    assert isinstance(address, PostgresAddress)
    assert SECRET not in f"{refused.value} {address} {address!r} {url_of(address)} {[address]}"


@pytest.mark.parametrize(
    "url",
    [f"postgresql://svc:{SECRET}@[oops/svc", f"postgresql://svc:{SECRET}@db.example.org/svc",
     f"postgres:/svc:{SECRET}@host", f"mysql://svc:{SECRET}@host/db", f"postgresql://u:{SECRET}@127.0.0.1/d?novalue"],
)  # fmt: skip
def test_an_address_that_is_refused_is_not_repeated_with_its_password(url: str):
    with pytest.raises(ConfigError) as refused:
        parse_address(url)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["postgresql://svc@db.example.org/svc", "postgresql:///svc?host=db", "postgresql://127.0.0.1,db/svc"]
)
def test_another_machine_needs_a_word_about_tls(url: str):
    with pytest.raises(ConfigError, match="sslmode=verify-full"):
        parse_address(url)
    assert parse_address(f"{url}{'&' if '?' in url else '?'}sslmode=disable")


def test_this_machine_needs_none():
    for url in ("postgresql://svc@127.0.0.1:5433/svc", "postgresql:///svc", "postgresql:///svc?host=/run/postgresql"):
        assert str(parse_address(url)).startswith("postgresql://")


def test_passwords_leave_the_environment():
    environment = {"SVC_DATABASE_URL": "x", "PGPASSWORD": SECRET, "PGPASSFILE": "/file", "OTHER": "1"}
    address = PostgresAddress("postgresql://svc@127.0.0.1/svc")
    address.take_password(environment)
    assert environment == {"PGPASSFILE": "/file", "OTHER": "1"}
    assert (address.password, SECRET in repr(address)) == (SECRET, False)


def test_a_path_is_a_file(tmp_path: Path):
    assert parse_address(f"sqlite:///{tmp_path}/a.db") == tmp_path / "a.db"


def test_the_driver_of_postgresql_is_not_imported_without_such_a_database(tmp_path: Path):
    program = """
import asyncio, sys
from pathlib import Path
from svc.service.app import build
from tests.support.assistants.scripted import Echo
import svc.cli.main, svc.cli.serve, svc.cli.keys, svc.service.server.serve
running = build(Echo(), database=Path(sys.argv[1]))
asyncio.run(running.close())
print([name for name in sys.modules if name.startswith(("asyncpg", "svc.service.store.postgres"))])
"""
    result = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.db")], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")


def svc(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "svc.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def test_the_command_line_refuses_a_password_in_an_option_and_takes_it_from_the_variable(tmp_path: Path):
    url = f"postgresql://svc:{SECRET}@127.0.0.1:1/svc"
    refused = svc("serve", "--database", url, "--files", f"file://{tmp_path}")
    assert (refused.returncode, SECRET in refused.stderr, "Traceback" in refused.stderr) == (1, False, False)
    assert "SVC_DATABASE_URL" in refused.stderr
    no_folder = svc("serve", SVC_DATABASE_URL=url)
    assert (no_folder.returncode, SECRET in no_folder.stderr) == (1, False)
    assert "--files file:///PATH" in no_folder.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "only line"), (b"one\ntwo\n", "only line"), (b"\xff", "cannot be read"), (None, "cannot be read")],
    ids=["empty", "two lines", "no text", "missing"],
)
def test_a_password_file_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, said: str
):
    path = tmp_path / "password"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("SVC_DATABASE_PASSWORD_FILE", str(path))
    monkeypatch.setenv("SVC_DATABASE_URL", "postgresql://svc@127.0.0.1:1/svc")
    refused = CliRunner().invoke(main, ["keys", "list"])
    assert refused.exit_code == 1
    assert all(word in refused.output for word in ("SVC_DATABASE_PASSWORD_FILE", str(path), said))


def test_two_passwords_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "password").write_text(f"{SECRET}\n")
    monkeypatch.setenv("SVC_DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    monkeypatch.setenv("SVC_DATABASE_URL", f"postgresql://svc:{SECRET}@127.0.0.1:1/svc")
    refused = CliRunner().invoke(main, ["keys", "list"])
    assert refused.exit_code == 1
    assert "keep one of them" in refused.output
    assert SECRET not in refused.output


def test_a_missing_extra_is_named(tmp_path: Path):
    (tmp_path / "asyncpg.py").write_text("raise ImportError('no asyncpg here')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    result = svc("keys", "list", "--database", "postgresql://svc@127.0.0.1/svc", PYTHONPATH=path)
    assert result.returncode == 1
    assert 'pip install "svc-jupyter[postgres]"' in result.stderr
    assert "Traceback" not in result.stderr
