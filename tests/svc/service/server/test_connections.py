"""Which connections are cut."""

from __future__ import annotations

import asyncio
import errno
import resource
from pathlib import Path

import pytest

from svc.service.observability.metrics import Metrics
from svc.service.server.connections import ConnectionLimits, network_of
from svc.service.server.open_files import connection_limit, raise_limit, report_accept_failures
from tests.support.attacks import Attacker
from tests.support.live import live_process, wait_until
from tests.support.wire_client import ask, opened, register


class Connection:
    def __init__(self, peer: str = "192.0.2.1", account: str = "", *, is_silent: bool = True) -> None:
        self.peer = peer
        self.account = account
        self.is_silent = is_silent
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True


class Desk:
    def __init__(self, *, limit: int = 100, keyless: int = 100, per_peer: int | None = 100) -> None:
        self.now = 0.0
        self.metrics = Metrics()
        self.limits = ConnectionLimits(
            limit=limit, keyless_limit=keyless, keyless_per_peer=per_peer, metrics=self.metrics, clock=lambda: self.now
        )
        self.all: list[Connection] = []

    def add(self, number: int = 1, **fields: object) -> list[Connection]:
        made = [Connection(**fields) for _ in range(number)]
        for one in made:
            self.limits.add(one)
        self.all += made
        return made

    def cut(self) -> list[int]:
        return [number for number, one in enumerate(self.all) if one.is_cut]


def test_the_oldest_without_a_key_is_cut():
    desk = Desk(keyless=3)
    desk.add(5)
    assert desk.cut() == [0, 1]
    assert 'svc_connections_cut_total{limit="max_keyless_connections"} 2.0' in desk.metrics.exposition().decode()


def test_a_connection_that_has_shown_a_key_or_sends_a_request_is_not_cut():
    desk = Desk(keyless=3)
    desk.add(account="eve")
    desk.add(is_silent=False)
    desk.add(4)
    assert desk.cut() == [2, 3]


def test_one_address_has_a_share():
    desk = Desk(per_peer=3)
    desk.add(3)
    desk.now += 1
    desk.add(3, peer="192.0.2.2")
    desk.add(2)
    assert desk.cut() == [0, 1]


def test_streams_whose_keys_became_known_make_room_for_young_ones():
    desk = Desk(limit=1_000, per_peer=100)
    for _ in range(5):
        for one in desk.add(50):
            one.account = "idler"  # known before the limits learn it
    assert desk.cut() == []


def test_behind_a_proxy_addresses_do_not_count():
    desk = Desk(per_peer=None)
    desk.add(50)
    assert desk.cut() == []


def test_young_connections_of_one_address_have_time_to_send_their_request():
    desk = Desk(per_peer=3)
    desk.add(6)
    assert desk.cut() == []
    desk.add(2)
    assert desk.cut() == [6, 7]
    desk.now += 1
    desk.add()
    assert desk.cut() == [0, 6, 7]


def test_at_the_limit_of_all_the_key_with_the_most_gives_way():
    desk = Desk(limit=7)
    desk.add(2, account="bob")
    desk.add(5, account="eve")
    desk.add(account="bob")
    assert desk.cut() == [2]
    desk.add()
    assert desk.cut() == [2, 3], "the newcomer may have a key"
    desk.add()
    assert desk.cut() == [2, 3, 8], "the one before it has shown none"


def test_what_ended_counts_no_more():
    desk = Desk(limit=2, keyless=2, per_peer=2)
    for one in desk.add(2):
        desk.limits.discard(one)
        desk.limits.discard(one)
    desk.add(2)
    assert (desk.cut(), len(desk.limits), desk.limits._keyless_of_peer.total()) == ([], 2, 2)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("", "", True),
    ],
)
def test_an_ipv6_client_is_its_network(one: str, other: str, is_same: bool):
    assert (network_of(one) == network_of(other)) == is_same


@pytest.mark.parametrize(
    ("configured", "files", "limit"), [(10_000, 65_536, 10_000), (10_000, 1_024, 448), (10, 1_024, 10), (10, 50, 1)]
)
def test_connections_leave_files_for_everything_else(configured: int, files: int, limit: int):
    assert connection_limit(configured, files) == limit


def test_the_soft_limit_is_raised_to_the_hard_one(monkeypatch: pytest.MonkeyPatch):
    set_to: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1_024, 4_096))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_to.append(limits))
    assert raise_limit() == 4_096
    assert set_to == [(4_096, 4_096)]


async def test_a_connection_that_cannot_be_accepted_is_counted_and_logged_once(caplog: pytest.LogCaptureFixture):
    loop, metrics, other = asyncio.get_running_loop(), Metrics(), []
    before = loop.get_exception_handler()
    report_accept_failures(loop, metrics)
    try:
        for _ in range(3):
            error = OSError(errno.EMFILE, "Too many open files")
            loop.call_exception_handler({"message": "socket.accept() out of system resource", "exception": error})
        loop.default_exception_handler = other.append  # type: ignore[method-assign]
        loop.call_exception_handler({"message": "something else", "exception": ValueError()})
    finally:
        loop.set_exception_handler(before)
    assert "svc_accept_failures_total 3.0" in metrics.exposition().decode()
    assert [record.message for record in caplog.records] == ["out of files"]
    assert [context["message"] for context in other] == ["something else"]


async def test_a_service_with_few_files_still_answers_while_one_key_opens_all_it_can(tmp_path: Path):
    with live_process(tmp_path, "Echo", SVC_KEY_STREAMS="0", SVC_MAX_CONNECTIONS="60") as service:
        _, hostile = await asyncio.to_thread(service.make_key, "hostile")
        _, key = await asyncio.to_thread(service.make_key, "neighbour")
        theirs = await asyncio.to_thread(register, service, hostile)
        own = await asyncio.to_thread(register, service, key)
        attacker = Attacker(service, hostile)
        streams = [attacker.stream(theirs) for _ in range(100)]
        opened_streams = await asyncio.gather(*(one.__aenter__() for one in streams), return_exceptions=True)
        assert len(opened_streams) == 100
        async with opened(service, own, key=key) as socket:
            assert len(await ask(socket, "hello")) > 2
        await asyncio.gather(*(one.__aexit__(None, None, None) for one in streams), return_exceptions=True)
        await attacker.http.aclose()
        wait_until(lambda: "connections cut" in service.log_file.read_text(), "the log line")
