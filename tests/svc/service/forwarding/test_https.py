"""Unlogged sessions between services that speak https, with certificates of an authority of their own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
import trustme
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import connect

from svc.service.store.address import PostgresAddress
from tests.support.live import ProcessService, free_port
from tests.support.postgres import PostgresServer
from tests.support.wire_client import ask


class Three(NamedTuple):
    """``home`` holds the session, ``trusting`` knows its authority, ``wary`` knows only the system's."""

    home: ProcessService
    trusting: ProcessService
    wary: ProcessService
    clients: ssl.SSLContext

    def http(self, service: ProcessService) -> httpx2.Client:
        return httpx2.Client(base_url=service.base_url, headers=service.headers, verify=self.clients, trust_env=False)

    def figure(self, service: ProcessService, name: str) -> float:
        with self.http(service) as http:
            families = text_string_to_metric_families(http.get("/metrics").text)
        return next(sample.value for family in families for sample in family.samples if sample.name == name)


@pytest.fixture(scope="module")
def three(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Three]:
    folder = tmp_path_factory.mktemp("https")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    for part in certificate.cert_chain_pems:
        part.write_to_path(folder / "cert.pem", append=True)
    clients = ssl.create_default_context()
    authority.configure_trust(clients)
    database = PostgresAddress(postgres.new_schema())
    with contextlib.ExitStack() as stack:

        def start(name: str, **environment: str) -> ProcessService:
            (folder / name).mkdir()
            port = free_port()
            service = ProcessService(
                folder / name, "Echo", port=port, database=database, common=folder,
                options=["--tls-cert", str(folder / "cert.pem"), "--tls-key", str(folder / "key.pem")],
                SVC_SHARED_DATABASE="yes", SVC_METRICS="yes", SVC_ADVERTISE=f"https://127.0.0.1:{port}", **environment,
            )  # fmt: skip
            stack.callback(service.kill)
            return service

        trusted = {"SSL_CERT_FILE": str(folder / "ca.pem")}
        yield Three(start("home", **trusted), start("trusting", **trusted), start("wary"), clients)


@pytest.fixture
def session_id(three: Three) -> str:
    """An unlogged session at its home."""
    with three.http(three.home) as http:
        return http.post("/session/register", json={"can_log": False}).json()["data"]["id"]


@pytest.mark.slow
async def test_requests_files_and_streams_are_passed_on_over_https(three: Three, session_id: str):
    before = three.figure(three.trusting, "svc_passed_on_total")
    evidence = b"evidence " * 200_000
    with three.http(three.trusting) as http:
        upload = {"session_id": session_id, "filename": "a.log"}
        sent = http.post("/session/upload_file", params=upload, content=evidence).json()["data"]
        assert sent["sha256"] == hashlib.sha256(evidence).hexdigest()
        stored = http.get("/session/file", params={"session_id": session_id, "sha256": sent["sha256"]})
        assert stored.content == evidence

    address = f"{three.trusting.ws_url}/stream?session_id={session_id}&after=0"
    assert address.startswith("wss://")
    headers = three.trusting.headers
    async with connect(address, additional_headers=headers, ssl=three.clients, proxy=None) as socket:
        frames = await ask(socket, "who?")
        assert three.figure(three.trusting, "svc_streams_passed_on") == 1
    assert frames[-2]["content"].startswith("who?")
    with three.http(three.home) as http:
        kept = http.get("/session/get", params={"session_id": session_id}).json()["messages"]
    assert [json.dumps(one) for one in kept] == [json.dumps(one) for one in frames]
    assert three.figure(three.trusting, "svc_passed_on_total") == before + 3
    assert three.figure(three.trusting, "svc_passed_on_failed_total") == 0


def test_a_service_whose_certificate_is_not_trusted_gets_nothing(three: Three, session_id: str):
    with three.http(three.wary) as http:
        refused = http.get("/session/get", params={"session_id": session_id})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
    assert three.figure(three.wary, "svc_passed_on_failed_total") == 1
    assert three.figure(three.wary, "svc_passed_on_total") == 0
    assert "service not reached" in Path(three.wary.log_file).read_text()
