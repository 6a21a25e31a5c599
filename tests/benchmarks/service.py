"""The service measured against what it is compared with, in one interleaved run; prints ratios and whether they do.

    python -m tests.benchmarks.service [--rounds 5] [--quick] [--peers FOLDER]

Run it by hand on a quiet Linux machine; no test runs it and nothing fails on its figures. The peers (picows, LiteLLM's
proxy) are installed from PyPI into a temporary virtual environment, or into ``--peers FOLDER``, to be kept for the next
time. The service is ``svc serve`` as users run it, SQLite with ``synchronous=FULL``, with an assistant that says what
the prompt asks for. Every server runs throughout, one process each; in each round each row measures both sides, one
after the other, the order turned round from round to round. A row's ratio is the median of its rounds' ratios.

The rows:

- **durable push**: INFOs of one turn that arrive at a client in a second, each stored before it is sent; a picows
  server sends the same bytes and stores nothing. Two rows, by the client that counts on both sides: picows, which costs
  next to nothing, so that the servers are compared; and the SDK's library, ``websockets``, which is what users have.
- **first INFO**: from sending a query until its first INFO is there, stored with the query in one commit (all queries
  are of one session, so that its history is in memory); a raw echo of the same query. The same two clients. A commit
  cannot take less than the fdatasync that the first line shows, and an echo takes hardly more than a wake-up.
- **chat requests**, **chat latency**: POST /chat/completions with a key over kept connections, a stored session and
  turn each; LiteLLM's proxy with a master key and a mock answer, no database. Latency is the median, under that load,
  and with one connection.
- **chat memory**: proportional memory after the load; beside it, what the service takes with the embedded analyst and
  its worker processes.
- **sessions a GiB**: proportional memory of the service with 5,000 idle streams, each of its own session, less that of
  a service with none; how many such sessions a GiB carries.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import msgspec
import psutil

from svc.messages import Message, MessageType
from tests.benchmarks.http_load import load, post
from tests.benchmarks.processes import PEERS, free_port, listening, peer_environment, proportional_bytes
from tests.support.live import LiveService, ProcessService, live_process

HERE = Path(__file__).parent
GIB = 1_073_741_824
MIB = 1_048_576
CHAT_CONNECTIONS = 32
LITELLM_KEY = "sk-benchmark"
ANSWER = "0 steps"  # what ``Chatty`` answers to "0", and LiteLLM's mock


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much a round does."""

    rounds: int
    pushed: int = 40_000
    queries: int = 200
    chat_seconds: float = 5.0
    connections: int = 5_000


QUICK = Scale(rounds=1, pushed=10_000, queries=50, chat_seconds=2.0, connections=1_000)


@dataclass(kw_only=True)
class Row:
    """One comparison; ``at_least`` or ``at_most`` is the target of the ratio of ours to theirs."""

    name: str
    unit: str
    peer: str
    at_least: float | None = None
    at_most: float | None = None
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    @property
    def is_met(self) -> bool:
        ratio = statistics.median(self.ratios)
        return (self.at_least is None or ratio >= self.at_least) and (self.at_most is None or ratio <= self.at_most)


class StreamClient:
    """Runs a client as a process of its own."""

    def __init__(self, python: Path | str, program: Path) -> None:
        self._command = [str(python), str(program)]

    def run(self, action: str, **job: object) -> object:
        done = subprocess.run(
            [*self._command, action], input=json.dumps(job) + "\n", capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def idle(self, urls: list[str], key: str) -> Iterator[None]:
        """All of them open; fails where one was closed meanwhile."""
        client = subprocess.Popen([*self._command, "idle"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert client.stdin is not None
        assert client.stdout is not None
        try:
            client.stdin.write(json.dumps({"urls": urls, "key": key}) + "\n")
            client.stdin.flush()
            assert int(client.stdout.readline()) == len(urls)
            yield
            client.stdin.close()
            assert int(client.stdout.readline()) == len(urls), "connections were lost"
        finally:
            client.kill()
            client.wait()


@dataclass(kw_only=True)
class Bench:
    """Everything that runs, and what was measured."""

    scale: Scale
    clients: dict[str, StreamClient]  # by what a row says of it
    service: ProcessService
    picows_url: str
    echo_url: str
    litellm_url: str
    litellm: psutil.Process
    rows: dict[str, Row] = field(default_factory=dict)

    def both(self, row: Row, ours: Callable[[], float], theirs: Callable[[], float], number: int) -> None:
        """Measure both sides once; in odd rounds the peer first."""
        kept = self.rows.setdefault(row.name, row)
        sides = [(kept.ours, ours), (kept.theirs, theirs)]
        for figures, measure in reversed(sides) if number % 2 else sides:
            figures.append(measure())

    def round(self, number: int) -> None:
        """Every row but the last, once."""
        for name, client in self.clients.items():
            self._push(number, name, client)
            self._first(number, name, client)
        self._chat(number)

    def _push(self, number: int, client: str, stream: StreamClient) -> None:
        count = self.scale.pushed

        def ours() -> float:
            job = {"urls": [stream_url(self.service)], "key": self.service.key, "texts": [query(str(count))]}
            seconds = stream.run("push", **job, frames=count + 2)  # with the RESULT and the end
            return count / float(str(seconds))

        def theirs() -> float:
            seconds = stream.run("push", urls=[self.picows_url], texts=[str(count)], frames=count)
            return count / float(str(seconds))

        row = Row(name=f"durable push, {client}", unit="messages/s", peer="picows", at_least=0.2)
        self.both(row, ours, theirs, number)

    def _first(self, number: int, client: str, stream: StreamClient) -> None:
        texts = [query("1") for _ in range(self.scale.queries)]

        def median_ms(url: str, key: str, frames: int, marker: str) -> float:
            seconds = stream.run("first", urls=[url], key=key, texts=texts, frames=frames, marker=marker)
            assert isinstance(seconds, list)
            return statistics.median(seconds) * 1000

        self.both(
            Row(name=f"first INFO, {client}", unit="ms", peer="raw echo", at_most=10),
            lambda: median_ms(stream_url(self.service), self.service.key, 3, '"message_type":"info"'),
            lambda: median_ms(self.echo_url, "", 1, "message_type"),
            number,
        )

    def _chat(self, number: int) -> None:
        many = Row(name="chat requests", unit="requests/s", peer="LiteLLM", at_least=10)
        latency = Row(name="chat latency", unit="ms", peer="LiteLLM", at_most=1 / 8)
        alone = Row(name="… one connection", unit="ms", peer="LiteLLM", at_most=1 / 8)
        medians: dict[str, float] = {}

        def rate(url: str, key: str) -> float:
            found = load(url, post(url, CHAT, key=key), connections=CHAT_CONNECTIONS, seconds=self.scale.chat_seconds)
            medians[url] = found.median * 1000
            return found.rate

        def one(url: str, key: str) -> float:
            return load(url, post(url, CHAT, key=key), connections=1, seconds=self.scale.chat_seconds / 2).median * 1000

        ours = (f"{self.service.base_url}/chat/completions", self.service.key)
        theirs = (f"{self.litellm_url}/chat/completions", LITELLM_KEY)
        self.both(many, lambda: rate(*ours), lambda: rate(*theirs), number)
        self.both(latency, lambda: medians[ours[0]], lambda: medians[theirs[0]], number)
        self.both(alone, lambda: one(*ours), lambda: one(*theirs), number)
        self.both(
            Row(name="chat memory", unit="MiB", peer="LiteLLM", at_most=1 / 3),
            lambda: proportional_bytes(psutil.Process(self.service.process.pid)) / MIB,
            lambda: proportional_bytes(self.litellm) / MIB,
            number,
        )


CHAT = json.dumps({"model": "svc-1.1", "messages": [{"role": "user", "content": "0"}]}).encode()


def query(prompt: str) -> str:
    """A query with an id of its own, as text."""
    return msgspec.json.encode(Message(message_type=MessageType.QUERY, content=prompt)).decode()


def stream_url(service: LiveService) -> str:
    """The stream of a new session."""
    with service.http() as http:
        session_id = http.post("/session/register", json={}).raise_for_status().json()["data"]["id"]
    return f"{service.ws_url}/stream?session_id={session_id}"


def sample_info(service: LiveService) -> str:
    """An INFO of the push as the service sends it."""
    with service.http() as http:
        session_id = http.post("/session/register", json={}).raise_for_status().json()["data"]["id"]
        asked = {"id": session_id, "messages": [{"message_type": "query", "content": "20000"}]}
        http.post("/session/generate", json=asked).raise_for_status()
        messages = http.get("/session/get", params={"session_id": session_id}).json()["messages"]
    return msgspec.json.encode(msgspec.convert(messages[-3], Message)).decode()


def connection_bytes(client: StreamClient, scale: Scale, folder: Path) -> list[float]:
    """The memory of one idle connection of its own session, in each round of a fresh service."""
    found = []
    for number in range(scale.rounds):
        where = folder / f"idle{number}"
        where.mkdir()
        with live_process(where, "Chatty", SVC_KEY_STREAMS="0") as service:
            process = psutil.Process(service.process.pid)
            stream_url(service)
            before = proportional_bytes(process)
            urls = stream_urls(service, scale.connections)
            with client.idle(urls, service.key):
                time.sleep(2)  # the last handshakes' garbage
                found.append((proportional_bytes(process) - before) / scale.connections)
    return found


def stream_urls(service: LiveService, number: int) -> list[str]:
    """The streams of as many new sessions."""
    with service.http() as http:
        answers = [http.post("/session/register", json={}).raise_for_status().json() for _ in range(number)]
    return [f"{service.ws_url}/stream?session_id={answer['data']['id']}" for answer in answers]


def analyst_bytes(folder: Path) -> int:
    """The memory of the service with the embedded analyst and its workers, after a question."""
    folder.mkdir()
    with live_process(folder, "svc.assistant.analyst:Analyst") as service, service.http() as http:
        session_id = http.post("/session/register", json={}).raise_for_status().json()["data"]["id"]
        asked = {"id": session_id, "messages": [{"message_type": "query", "content": "decode aGVsbG8="}]}
        http.post("/session/generate", json=asked).raise_for_status()
        return proportional_bytes(psutil.Process(service.process.pid))


@contextlib.contextmanager
def everything(scale: Scale, python: Path, folder: Path) -> Iterator[Bench]:
    """Start the service and its peers."""
    config = folder / "litellm.yaml"
    mock = {"model": "openai/gpt-4o", "api_key": "none", "mock_response": ANSWER}
    models = {"model_list": [{"model_name": "svc-1.1", "litellm_params": mock}]}
    config.write_text(json.dumps(models | {"general_settings": {"master_key": LITELLM_KEY}}))  # JSON is YAML
    picows_port, echo_port, litellm_port = free_port(), free_port(), free_port()
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}
    proxy = [str(python.with_name("litellm")), "--config", str(config), "--host", "127.0.0.1"]
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(live_process(folder, "Chatty"))
        sample = folder / "info.json"
        sample.write_text(sample_info(service))

        def start(command: list[str], port: int, name: str, **environment: str) -> psutil.Process:
            return stack.enter_context(listening(command, port, folder / f"{name}.log", **environment))

        start([str(python), str(PEERS / "picows_push.py"), str(picows_port), str(sample)], picows_port, "picows")
        start([sys.executable, str(PEERS / "raw_echo.py"), str(echo_port)], echo_port, "echo")
        litellm = start([*proxy, "--port", str(litellm_port), "--telemetry", "False"], litellm_port, "litellm", **quiet)
        yield Bench(
            scale=scale,
            clients={
                "picows": StreamClient(python, PEERS / "stream_client.py"),
                "SDK's": StreamClient(sys.executable, HERE / "library_client.py"),
            },
            service=service,
            picows_url=f"ws://127.0.0.1:{picows_port}/",
            echo_url=f"ws://127.0.0.1:{echo_port}/",
            litellm_url=f"http://127.0.0.1:{litellm_port}",
            litellm=litellm,
        )


def fsync_ms(folder: Path) -> float:
    """The median time of an fdatasync of 4 KiB there."""
    taken = []
    with (folder / "fsync").open("wb") as sink:
        for _ in range(200):
            sink.write(bytes(4_096))
            sink.flush()
            started = time.perf_counter()
            os.fdatasync(sink.fileno())
            taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000


def machine_line(folder: Path) -> str:
    """What the figures were measured on."""
    processors = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return (
        f"{processors[0].partition(': ')[2] if processors else platform.machine()}, {os.cpu_count()} processors, "
        f"{psutil.virtual_memory().total / GIB:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; fdatasync {fsync_ms(folder):.2f} ms"
    )


def machine(folder: Path, python: Path) -> str:
    """What the figures were measured on and with."""
    program = "import importlib.metadata as m; print(*(m.version(n) for n in ('picows', 'litellm')))"
    picows, litellm = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    return (
        f"{machine_line(folder)}\n"
        f"svc-jupyter {version('svc-jupyter')}, uvicorn {version('uvicorn')}, picows {picows}, litellm {litellm}"
    )


def figures(values: Sequence[float]) -> str:
    """Median and spread."""
    return f"{statistics.median(values):,.4g} ({min(values):,.4g} … {max(values):,.4g})"


def print_table(rows: Sequence[Row]) -> None:
    """Each row with its target."""
    line = "{:<21} {:<11} {:<30} {:<30} {:<9} {:<26} {:<9} {}"
    print(line.format("what", "unit", "service", "peer", "", "ratio", "target", ""))
    for row in rows:
        target = f"≥ {row.at_least:g}" if row.at_least is not None else f"≤ {row.at_most:.3g}"
        verdict = "met" if row.is_met else "MISSED"
        cells = (row.name, row.unit, figures(row.ours), figures(row.theirs), row.peer, figures(row.ratios), target)
        print(line.format(*cells, verdict))


def run(scale: Scale, python: Path, folder: Path, *, only: str) -> None:
    """Measure and print."""
    print(machine(folder, python))
    load_before = os.getloadavg()[0]
    rows: list[Row] = []
    analyst = 0
    if only in ("", "peers"):
        with everything(scale, python, folder) as bench:
            for number in range(scale.rounds):
                bench.round(number)
                print(f"round {number + 1} of {scale.rounds} done", file=sys.stderr)
        rows += bench.rows.values()
        analyst = analyst_bytes(folder / "analyst")
    if only in ("", "connections"):
        each = connection_bytes(StreamClient(python, PEERS / "stream_client.py"), scale, folder)
        sessions = Row(name="sessions a GiB", unit="sessions", peer="(1)", at_least=20_000)
        sessions.ours, sessions.theirs = [GIB / one for one in each], [1.0] * len(each)
        rows.append(sessions)
        print(f"an idle connection: {figures([one / 1024 for one in each])} KiB of {scale.connections:,}")
    print(f"{scale.rounds} rounds, load {load_before:.2f} before; median (least … most)\n")
    print_table(rows)
    if analyst:
        print(f"\nwith the embedded analyst and its workers the service takes {analyst / MIB:.0f} MiB")


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="the service against its peers; see the module's docstring")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that all of it works")
    parser.add_argument("--peers", type=Path, help="keep the peers' virtual environment in this folder")
    parser.add_argument("--only", choices=("peers", "connections"), default="", help="a part of the rows")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 20_000)), hard))  # the service and client get it
    scale = QUICK if options.quick else Scale(rounds=options.rounds)
    with peer_environment(options.peers) as python, tempfile.TemporaryDirectory(prefix="svc-benchmark-") as folder:
        run(scale, python, Path(folder), only=options.only)


if __name__ == "__main__":
    main()
