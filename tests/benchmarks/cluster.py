"""Services on PostgreSQL against what they are compared with, in one interleaved run: ratios, and whether they do.

    python -m tests.benchmarks.cluster [--rounds 5] [--quick] [--only appends|service|idle|sqlite] [--before FOLDER]
        [--peers FOLDER]

Run it by hand on a quiet Linux machine; no test runs it and nothing fails on its figures. PostgreSQL is the one that
the tests use (``tests/support/postgres.py``), with ``fsync``; ``pgbench`` is the one beside it. In each round each row
measures both sides, one after the other, the order turned round from round to round. A row's ratio is the median of its
rounds' ratios. Beside each rate is the processor time of the clients and of the servers (PostgreSQL with all its
processes, and the services), because a rate depends on what else the machine does.

The rows:

- **appends**: messages of 16 turns, each turn waiting for its last one, through ``PostgresStore.append``; pgbench with
  16 clients does the same work in one prepared statement. Processor time a message, of client and PostgreSQL together.
- **batches**: the same with 20 messages an append; COPY of 200 encoded rows a commit into the same table, which checks
  nothing.
- **INFOs**: of one turn at its reader, a second, by the whole service; the same on SQLite.
- **elsewhere**: the same if one service runs the turn and the reader is connected to the other; if one does both.
- **later**: how much later the reader at another service has an INFO than the one at the same, 500 a second; the median
  and the 99th percentile of a round.
- **first INFO**: from sending a query until its first INFO, of a session whose history is in memory; the same on
  SQLite.
- **chat**: POST /chat/completions over 16 kept connections; the same on SQLite.
- **idle**: connections and statements a second of a service with 1,000 open streams and nothing to do; the server's
  autovacuum is off meanwhile. The streams' client (picows) is installed into a temporary virtual environment, or into
  ``--peers FOLDER``, to be kept.
- **SQLite**: the default on SQLite against another checkout (``--before``), by processor time of the service.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import psutil

from svc.messages import Message, MessageType
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.store import PostgresStore
from svc.service.store.records import TurnRecord
from svc.service.turns.message_builder import MessageBuilder
from tests.benchmarks.http_load import load, post
from tests.benchmarks.processes import CLIENT_PACKAGES, PEERS, peer_environment
from tests.benchmarks.service import CHAT, StreamClient, figures, machine_line, query, stream_url, stream_urls
from tests.support.cluster import live_cluster
from tests.support.live import LiveService, ProcessService, live_process
from tests.support.postgres import PostgresServer, postgres_server, programs
from tests.support.store_records import session
from tests.support.wire_client import opened, register, send

HERE = Path(__file__).parent
TURNS = 16
BATCH = 20
COPIED = 200  # rows a commit
PACE_MILLISECONDS = 2
IDLE_SECONDS = 20.0
SETTLE_SECONDS = 15.0  # PostgreSQL counts the last statements of a connection that became idle up to 10 s later
TEXT = "step 12345"
COLUMNS = ("session_number", "seq", "turn_number", "message_type", "id", "body")
# What an append does, for one turn: pgbench's client N has the turn of the session number FIRST + N.
PGBENCH = """
WITH moved AS (
  UPDATE sessions SET last_seq = last_seq + 1, bytes = bytes + {size}
  WHERE number = {first} + :client_id AND running_turn = {turn} + :client_id AND fence = 1
  RETURNING number, last_seq, running_turn
)
INSERT INTO messages (session_number, seq, turn_number, message_type, id, body)
SELECT number, last_seq, running_turn, 'info', '{group}' || lpad(last_seq::text, 8, '0'), '\\x{body}'::bytea FROM moved;
"""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much a round does."""

    rounds: int
    appends: int = 800  # of each turn
    infos: int = 10_000
    paced: int = 1_500
    queries: int = 100
    chat_seconds: float = 4.0
    streams: int = 1_000


QUICK = Scale(rounds=1, appends=30, infos=2_000, paced=200, queries=20, chat_seconds=1.0, streams=100)


@dataclass(frozen=True)
class Figure:
    """What was measured, and the processor time of both ends for each message, in microseconds."""

    value: float
    client_us: float = 0.0
    server_us: float = 0.0


@dataclass(kw_only=True)
class Row:
    """One comparison; ``at_least`` or ``at_most`` is the goal of the ratio, or of the value if there is no peer."""

    name: str
    unit: str
    peer: str = ""
    at_least: float | None = None
    at_most: float | None = None
    ours: list[Figure] = field(default_factory=list)
    theirs: list[Figure] = field(default_factory=list)

    @property
    def judged(self) -> list[float]:
        if not self.peer:
            return [one.value for one in self.ours]
        return [ours.value / theirs.value for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    @property
    def is_met(self) -> bool:
        judged = statistics.median(self.judged)
        return (self.at_least is None or judged >= self.at_least) and (self.at_most is None or judged <= self.at_most)


class Processors:
    """Processor time since it was made: of this process and its clients that have ended, and of servers."""

    def __init__(self, *servers: int) -> None:
        self._servers = servers
        self._client, self._server = self._now()

    def _now(self) -> tuple[float, float]:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        client = time.process_time() + ended.ru_utime + ended.ru_stime
        return client, sum(map(seconds_of, self._servers))

    def figure(self, count: int, value: float | None = None) -> Figure:
        """The times for each of ``count`` messages; their sum is the value if none is given."""
        client, server = self._now()
        each = [(now - before) / count * 1e6 for now, before in ((client, self._client), (server, self._server))]
        return Figure(sum(each) if value is None else value, *each)


def seconds_of(pid: int) -> float:
    """Processor time of a process, of its children, and of those that have ended."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total += times.user + times.system
    return total


@dataclass(kw_only=True)
class Bench:
    """What runs, and what was measured."""

    scale: Scale
    rows: dict[str, Row] = field(default_factory=dict)

    async def both(
        self, row: Row, ours: Callable[[], Awaitable[Figure]], theirs: Callable[[], Awaitable[Figure]], number: int
    ) -> None:
        """Measure both sides once; in odd rounds the peer first."""
        kept = self.rows.setdefault(row.name, row)
        sides = [(kept.ours, ours), (kept.theirs, theirs)]
        for found, measure in reversed(sides) if number % 2 else sides:
            found.append(await measure())

    def alone(self, row: Row, figure: Figure) -> None:
        self.rows.setdefault(row.name, row).ours.append(figure)


class Appends:
    """Turns of an open store, and the same number for its peers."""

    def __init__(self, server: PostgresServer, store: PostgresStore, url: str, ours: list[TurnRecord]) -> None:
        self.server = server
        self.store = store
        self.url = url
        self.ours = ours
        self._builder = MessageBuilder(Message(message_type=MessageType.QUERY, content="q"), Settings())
        self._copied = 0

    def _messages(self, count: int) -> list[Message]:
        return [self._builder.info(f"{TEXT} {number}", time.time()) for number in range(count)]

    async def append(self, each: int, size: int) -> Figure:
        """So many appends of each turn, of so many messages, one after the other."""
        made = [[self._messages(size) for _ in range(each)] for _ in self.ours]

        async def run(turn: TurnRecord, batches: list[list[Message]]) -> None:
            for batch in batches:
                await self.store.append(turn, batch)

        processors = Processors(self.server.process.pid)
        await asyncio.gather(*(run(turn, batches) for turn, batches in zip(self.ours, made, strict=True)))
        return processors.figure(len(self.ours) * each * size)

    async def pgbench(self, each: int, script: Path) -> Figure:
        """The same by pgbench, one message an append."""
        processors = Processors(self.server.process.pid)
        command = [
            str(programs() / "pgbench"), "-n", "-M", "prepared", "-f", str(script), "-c", str(TURNS), "-j", "1",
            "-t", str(each), "-h", "127.0.0.1", "-p", str(self.server.port), "-U", "svc", "postgres",
        ]  # fmt: skip
        options = {"PGOPTIONS": f"-c search_path={self.url.rpartition('=')[2]}"}
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, env=os.environ | options
        )
        assert done.returncode == 0, done.stderr
        assert f"{TURNS * each}/{TURNS * each}" in done.stdout, done.stdout
        return processors.figure(TURNS * each)

    async def copy(self, rows: int) -> Figure:
        """So many encoded messages by COPY."""
        body = encoded()
        connection = await asyncpg.connect(self.url)
        try:
            processors = Processors(self.server.process.pid)
            for _ in range(rows // COPIED):
                first, self._copied = self._copied + 1, self._copied + COPIED
                records = [(0, seq, 0, "info", f"{seq:032x}", body) for seq in range(first, first + COPIED)]
                await connection.copy_records_to_table("messages", records=records, columns=COLUMNS)
            return processors.figure(rows)
        finally:
            await connection.close()


def encoded() -> bytes:
    """A message as it is stored."""
    message = MessageBuilder(Message(message_type=MessageType.QUERY, content="q"), Settings()).info(TEXT, time.time())
    return json.dumps(message.to_dict(), separators=(",", ":")).encode()


async def measure_appends(bench: Bench, server: PostgresServer, folder: Path) -> None:
    """Both rows of the append path, with no service around it."""
    url = server.new_schema()
    store = PostgresStore(PostgresAddress(url))
    await store.open()
    turns = []
    for number in range(2 * TURNS):
        await store.add_session(session(f"s{number}"))
        asked = Message(message_type=MessageType.QUERY, id=f"q{number}", turn=f"t{number}", content="q")
        turns.append((await store.begin_turn(f"s{number}", asked, owner="bench")).turn)
    peers = turns[TURNS:]
    first = await store.run(lambda c: c.fetchval("SELECT number FROM sessions WHERE id = $1", peers[0].session_id))
    script = folder / "append.sql"
    body = encoded()
    script.write_text(
        PGBENCH.format(first=first, turn=peers[0].number, group="a" * 24, size=len(body), body=body.hex())
        .replace("\n", " ")
        .strip()
    )
    appends = Appends(server, store, url, turns[:TURNS])
    each = bench.scale.appends
    for number in range(bench.scale.rounds):
        await bench.both(
            Row(name="appends", unit="µs/message", peer="pgbench", at_most=0.8),
            lambda: appends.append(each, 1), lambda: appends.pgbench(each, script), number,
        )  # fmt: skip
        await bench.both(
            Row(name="batches", unit="µs/message", peer="COPY", at_most=1.6),
            lambda: appends.append(each // 4, BATCH), lambda: appends.copy(TURNS * each * BATCH // 4), number,
        )  # fmt: skip
    await store.close()


async def read_infos(asked: LiveService, read: LiveService, count: int, servers: Sequence[int]) -> Figure:
    """INFOs a second of a turn that runs at one service and is read at another."""
    session_id = register(asked)
    processors = Processors(*servers)
    async with opened(read, session_id, max_queue=None) as reader:
        async with opened(asked, session_id, max_queue=None) as asking:
            await send(asking, message_type="query", content=f"{count} 0")
        await reader.recv()
        started = time.perf_counter()
        for _ in range(count + 2):  # with the RESULT and the end
            await reader.recv()
        return processors.figure(count, count / (time.perf_counter() - started))


async def read_late(near: LiveService, far: LiveService, count: int) -> list[float]:
    """By how many milliseconds each INFO came later to the reader at the other service."""
    session_id = register(near)

    async def times(service: LiveService) -> list[float]:
        found = []
        async with opened(service, session_id, max_queue=None) as reader:
            for _ in range(count + 3):
                await reader.recv()
                found.append(time.perf_counter())
        return found

    readers = [asyncio.create_task(times(service)) for service in (near, far)]
    await asyncio.sleep(0.5)
    async with opened(near, session_id, max_queue=None) as asking:
        await send(asking, message_type="query", content=f"{count} {PACE_MILLISECONDS}")
        here, there = await asyncio.gather(*readers)
    return sorted((late - soon) * 1_000 for soon, late in zip(here, there, strict=True))


async def first_info(client: StreamClient, service: LiveService, queries: int, servers: Sequence[int]) -> Figure:
    """The median time until the first INFO of a query, in milliseconds."""
    texts = [query("1 0") for _ in range(queries)]
    job = {"urls": [stream_url(service)], "key": service.key, "texts": texts}
    processors = Processors(*servers)
    seconds = await asyncio.to_thread(client.run, "first", frames=3, marker='"message_type":"info"', **job)
    assert isinstance(seconds, list)
    return processors.figure(queries, statistics.median(seconds) * 1_000)


async def chat(service: LiveService, seconds: float, servers: Sequence[int]) -> Figure:
    """Completions a second over 16 connections."""
    url = f"{service.base_url}/chat/completions"
    processors = Processors(*servers)
    found = await asyncio.to_thread(load, url, post(url, CHAT, key=service.key), connections=16, seconds=seconds)
    return processors.figure(len(found.seconds), found.rate)


_UNLIMITED = {"SVC_KEY_SESSIONS": "0", "SVC_KEY_RPM": "0"}
"""Each request makes a session, thousands a minute."""


async def measure_services(bench: Bench, server: PostgresServer, folder: Path) -> None:
    """The rows of the whole service."""
    scale, client = bench.scale, StreamClient(sys.executable, HERE / "library_client.py")
    (folder / "sqlite").mkdir()
    (folder / "cluster").mkdir()
    with (
        live_process(folder / "sqlite", "Ticking", **_UNLIMITED) as sqlite,
        live_cluster(folder / "cluster", server, "Ticking", count=2, **_UNLIMITED) as cluster,
    ):
        near, far = cluster.services
        file, shared = [sqlite.process.pid], [server.process.pid, near.process.pid, far.process.pid]
        for number in range(scale.rounds):
            await bench.both(
                Row(name="INFOs", unit="messages/s", peer="SQLite", at_least=0.4),
                lambda: read_infos(near, near, scale.infos, shared),
                lambda: read_infos(sqlite, sqlite, scale.infos, file), number,
            )  # fmt: skip
            await bench.both(
                Row(name="elsewhere", unit="messages/s", peer="same service", at_least=0.7),
                lambda: read_infos(near, far, scale.infos, shared),
                lambda: read_infos(near, near, scale.infos, shared), number,
            )  # fmt: skip
            late = await read_late(near, far, scale.paced)
            bench.alone(Row(name="later, median", unit="ms", at_most=5), Figure(statistics.median(late)))
            bench.alone(Row(name="later, p99", unit="ms", at_most=50), Figure(late[int(len(late) * 0.99)]))
            await bench.both(
                Row(name="first INFO", unit="ms", peer="SQLite", at_most=2.5),
                lambda: first_info(client, near, scale.queries, shared),
                lambda: first_info(client, sqlite, scale.queries, file), number,
            )  # fmt: skip
            await bench.both(
                Row(name="chat", unit="requests/s", peer="SQLite", at_least=0.7),
                lambda: chat(near, scale.chat_seconds, shared),
                lambda: chat(sqlite, scale.chat_seconds, file), number,
            )  # fmt: skip
            print(f"round {number + 1} of {scale.rounds} done", file=sys.stderr)


async def measure_idle(bench: Bench, server: PostgresServer, folder: Path, peers: Path | None) -> None:
    """What a service with open streams does to the database while nothing happens."""
    (folder / "idle").mkdir()
    # The server's own work on the tables counts as transactions, too.
    await administer(server, "ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()")
    with (
        peer_environment(peers, CLIENT_PACKAGES) as python,
        live_cluster(folder / "idle", server, "Ticking", count=1, SVC_KEY_STREAMS="0", SVC_KEY_RPM="0") as cluster,
    ):
        client = StreamClient(python, PEERS / "stream_client.py")
        urls = stream_urls(cluster.services[0], bench.scale.streams)
        with client.idle(urls, cluster.services[0].key):
            await asyncio.sleep(SETTLE_SECONDS)
            before = await database_counts(server)
            await asyncio.sleep(IDLE_SECONDS)
            after = await database_counts(server)
    bench.alone(Row(name="idle: connections", unit="", at_most=10), Figure(after[0]))
    each = (after[1] - before[1] - 2) / IDLE_SECONDS  # but for the two that count
    bench.alone(Row(name="idle: statements", unit="/s", at_most=10), Figure(each))


async def administer(server: PostgresServer, *statements: str) -> None:
    """Run statements that change the server's settings."""
    connection = await asyncpg.connect(server.url())
    try:
        for sql in statements:
            await connection.execute(sql)
    finally:
        await connection.close()


async def database_counts(server: PostgresServer) -> tuple[int, int]:
    """Connections of services, and transactions so far."""
    connection = await asyncpg.connect(server.url())
    try:
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'svc'"
        ended = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        return await connection.fetchval(count), await connection.fetchval(ended)
    finally:
        await connection.close()


async def measure_sqlite(bench: Bench, before: Path, folder: Path) -> None:
    """The default on SQLite against another checkout: processor time of the service, theirs over ours."""
    client = StreamClient(sys.executable, HERE / "library_client.py")
    old_path = os.pathsep.join(map(str, (before, before / "tests" / "support" / "assistants")))
    for name in ("now", "before"):
        (folder / name).mkdir()
    with (
        live_process(folder / "now", "Chatty") as now,
        live_process(folder / "before", "Chatty", PYTHONPATH=old_path) as old,
    ):

        async def push(service: ProcessService) -> Figure:
            count, processors = bench.scale.infos, Processors(service.process.pid)
            job = {"urls": [stream_url(service)], "key": service.key, "texts": [query(str(count))]}
            await asyncio.to_thread(client.run, "push", frames=count + 2, **job)
            return cost(processors.figure(count))

        async def ask(service: ProcessService) -> Figure:
            texts, processors = [query("1") for _ in range(bench.scale.queries * 3)], Processors(service.process.pid)
            job = {"urls": [stream_url(service)], "key": service.key, "texts": texts}
            await asyncio.to_thread(client.run, "first", frames=3, marker='"message_type":"info"', **job)
            return cost(processors.figure(len(texts)))

        async def complete(service: ProcessService) -> Figure:
            return cost(await chat(service, bench.scale.chat_seconds, [service.process.pid]))

        for number in range(bench.scale.rounds):
            for name, measure in (("push", push), ("first INFO", ask), ("chat", complete)):
                row = Row(name=f"SQLite: {name}", unit="messages/cpu s", peer="before", at_least=0.97)
                await bench.both(row, lambda m=measure: m(now), lambda m=measure: m(old), number)


def cost(figure: Figure) -> Figure:
    """How many messages a second of the server's processor time is enough for."""
    return Figure(1e6 / figure.server_us, figure.client_us, figure.server_us)


def print_table(rows: Sequence[Row]) -> None:
    """Each row with its goal."""
    line = "{:<19} {:<15} {:<30} {:<14} {:<30} {:<14} {:<13} {:<24} {:<7} {}"
    print(line.format("what", "unit", "here", "cpu µs c + s", "peer", "cpu µs c + s", "", "ratio", "goal", ""))
    for row in rows:
        goal = f"≥ {row.at_least:g}" if row.at_least is not None else f"≤ {row.at_most:g}"
        ours, theirs = ([one.value for one in side] for side in (row.ours, row.theirs))
        cells = (
            row.name, row.unit, figures(ours), costs(row.ours), figures(theirs) if theirs else "", costs(row.theirs),
            row.peer, figures(row.judged) if row.peer else "", goal, "met" if row.is_met else "MISSED",
        )  # fmt: skip
        print(line.format(*cells))


def costs(side: Sequence[Figure]) -> str:
    """The medians of the processor times of client and servers."""
    if not side or not side[0].server_us:
        return ""
    ends = ([one.client_us for one in side], [one.server_us for one in side])
    return " + ".join(f"{statistics.median(end):.0f}" for end in ends)


async def run(scale: Scale, only: str, before: Path | None, peers: Path | None) -> None:
    """Measure and print."""
    bench, load_before = Bench(scale=scale), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="svc-benchmark-") as name, postgres_server(is_durable=True) as server:
        folder = Path(name)
        if only in ("", "appends"):
            await measure_appends(bench, server, folder)
        if only in ("", "service"):
            await measure_services(bench, server, folder)
        if only in ("", "idle"):
            await measure_idle(bench, server, folder, peers)
        if before is not None:
            await measure_sqlite(bench, before, folder)
        version = await asyncio.to_thread(
            subprocess.check_output, [str(programs() / "postgres"), "--version"], text=True
        )
        print(machine_line(folder), version.strip(), sep="\n")
    print(f"{scale.rounds} rounds, load {load_before:.1f} before; median (least … most)\n")
    print_table([*bench.rows.values()])


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="services on PostgreSQL; see the module's docstring")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that all of it works")
    parser.add_argument("--only", choices=("appends", "service", "idle", "sqlite"), default="", help="some of the rows")
    parser.add_argument("--before", type=Path, help="another checkout, for the rows on SQLite")
    parser.add_argument("--peers", type=Path, help="keep the stream client's virtual environment in this folder")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 20_000)), hard))
    asyncio.run(
        run(QUICK if options.quick else Scale(rounds=options.rounds), options.only, options.before, options.peers)
    )


if __name__ == "__main__":
    main()
