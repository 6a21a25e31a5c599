"""A PostgreSQL server with TLS and a password: how the service signs in, and that nobody sees the password."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import trustme

from svc.errors import ConfigError
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.store import PostgresStore
from tests.support.live import live_process
from tests.support.postgres import USER, PostgresServer, postgres_server
from tests.support.tls_front import tls_front
from tests.support.wire_client import register

PASSWORD = "correct-horse-4711"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server(password=PASSWORD) as started:
        yield started


@pytest.fixture(scope="module")
def port(server: PostgresServer, authority: trustme.CA) -> Iterator[int]:
    """Where the server speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with tls_front(context, server.port) as own:
        yield own


@pytest.fixture
def address(server: PostgresServer, port: int, authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    url = server.new_schema().replace(f":{server.port}/", f":{port}/")
    return f"{url}&sslmode=verify-full&sslrootcert={tmp_path / 'ca.pem'}"


def password_file(port: int, folder: Path) -> Path:
    path = folder / "pgpass"
    path.write_text(f"127.0.0.1:{port}:*:{USER}:{PASSWORD}\n")
    path.chmod(0o600)
    return path


def test_the_password_of_a_file_opens_a_service_that_shows_it_nowhere(port: int, address: str, tmp_path: Path):
    environment = {"PGPASSFILE": str(password_file(port, tmp_path))}
    with live_process(tmp_path, "Echo", database=PostgresAddress(address), **environment) as service:
        register(service)
        seen = " ".join(psutil.Process(service.process.pid).cmdline())
    assert PASSWORD not in seen + service.log_file.read_text()


async def test_a_certificate_of_another_authority_and_a_wrong_password_are_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(ConfigError, match="InvalidPasswordError"):
        await PostgresStore(PostgresAddress(address)).open()
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.pem")
    with pytest.raises(ConfigError, match="certificate") as refused:
        await PostgresStore(PostgresAddress(address)).open()
    assert "wrong" not in str(refused.value)


def test_tables_are_made_by_a_command_with_the_url_of_the_variable(address: str):
    url = address.replace(f"{USER}@", f"{USER}:{PASSWORD}@")
    command = [sys.executable, "-m", "svc.cli.main", "migrate"]
    environment = {**os.environ, "SVC_DATABASE_URL": url}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("is up to date\n")
    assert PASSWORD not in done.stdout
