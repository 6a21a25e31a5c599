"""TLS: the service has a certificate of a private authority, the SDK uses ``SVC_CA_BUNDLE``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from svc import MessageType, Svc, UnreachableError
from svc.messages import Session
from tests.support import ASSISTANTS
from tests.support.live import wait_until


class Secured(NamedTuple):
    """A service that speaks TLS alone, and the file of the authority that vouches for it."""

    base_url: str
    ws_url: str
    key: str
    authority: Path


@contextmanager
def serving(folder: Path, name: str, *options: str) -> Iterator[Secured]:
    """``svc serve`` with a certificate for this name."""
    authority, paths = trustme.CA(), {part: folder / f"{part}.pem" for part in ("cert", "key", "authority")}
    certificate = authority.issue_cert(name)
    certificate.private_key_pem.write_to_path(paths["key"])
    paths["cert"].write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    authority.cert_pem.write_to_path(paths["authority"])
    connection = folder / "connection.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "svc.cli.main", "serve", "--port", "0", "--database", f"sqlite:///{folder}/service.db",
         "--assistant", "scripted:Echo", "--connection-file", str(connection), "--key-file", str(folder / "api.key"),
         "--tls-cert", str(paths["cert"]), "--tls-key", str(paths["key"]), *options],
        env={**os.environ, "PYTHONPATH": str(ASSISTANTS)},
    )  # fmt: skip
    try:
        wait_until(lambda: connection.exists() or process.poll() is not None, "the connection file")
        said = json.loads(connection.read_text())
        yield Secured(said["base_url"], said["ws_url"], (folder / "api.key").read_text().strip(), paths["authority"])
    finally:
        process.terminate()
        assert process.wait(20) == 0


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with serving(tmp_path_factory.mktemp("tls"), "127.0.0.1") as secured:
        yield secured


@pytest.fixture
def trusting(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> Secured:
    monkeypatch.setenv("SVC_CA_BUNDLE", str(secured.authority))
    return secured


def test_the_service_announces_tls(secured: Secured):
    assert (secured.base_url[:8], secured.ws_url[:6]) == ("https://", "wss://")


async def test_a_question_with_a_file_goes_through_https_and_wss(trusting: Secured):
    with Svc(trusting.key, trusting.base_url) as client:
        session = client.create_session()
        session.attach_file("a.log", b"x" * 300_000)
        kinds = [message.message_type async for message in session.stream("who?")]
        assert session.query("and then?").text() == "and then?\n\n1 files, 1 earlier"
        assert kinds[-2:] == [MessageType.RESULT, MessageType.INFO]
        assert isinstance(session.info, Session)


def test_an_unknown_authority_is_rejected_with_the_variable_to_set(secured: Secured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SVC_CA_BUNDLE", raising=False)
    with Svc(secured.key, secured.base_url) as client, pytest.raises(UnreachableError, match="SVC_CA_BUNDLE"):
        client.create_session()


def test_a_certificate_for_another_name_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with serving(tmp_path, "other.example") as secured:
        monkeypatch.setenv("SVC_CA_BUNDLE", str(secured.authority))
        with Svc(secured.key, secured.base_url) as client, pytest.raises(UnreachableError) as caught:
            client.create_session()
    assert "127.0.0.1" in str(caught.value)
    assert secured.key not in str(caught.value)


@pytest.mark.slow
def test_with_a_certificate_it_may_listen_beyond_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with serving(tmp_path, "127.0.0.1", "--host", "0.0.0.0") as secured:
        monkeypatch.setenv("SVC_CA_BUNDLE", str(secured.authority))
        with Svc(secured.key, secured.base_url) as client:
            assert client.create_session().query("who?").text().startswith("who?")
