"""Further questions about one large log, a small question beside large ones, and the state that attachments take.

    python -m tests.benchmarks.second_questions [--megabytes 100] [--sessions 15]

Run it by hand; no test runs it and nothing fails on its figures. A service in its own process is asked over HTTP, as
``svc ask`` does. Printed: seconds of each question about a generated auth.log, and the first one's as a multiple of
it; seconds of a question without a file, alone and while two turns of the same user read large logs; the size of the
state folder after the same log was attached in many sessions, in all and as a multiple of the log.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

import httpx2

from tests.support.live import ProcessService, live_process
from tests.support.wire_client import register

ANALYST = "svc.assistant.analyst:Analyst"
FIRST = "Which accounts were brute-forced, and did anyone get in?"
FURTHER = (FIRST, "Did any attack succeed?", "Is 203.0.113.77 in the log?", "Show the failed logins of root.")
ELSEWHERE = ("Failed logins between 02:00 and 04:00?", "List the indicators in the log.")
SMALL = "Decode this: aGVsbG8gd29ybGQgZnJvbSBhIGJlbmNobWFyaw=="
_ACCOUNTS = ("root", "admin", "mara", "deploy", "oracle", "test", "ubuntu", "git")
_MEGABYTE = 1_000_000
_SECONDS = 3_600


def auth_log(path: Path, size: int, seed: int) -> Path:
    """A log of sshd: failures from four hundred addresses, and the logins of one account."""
    chance, seconds, written = random.Random(seed), 0.0, 0
    with path.open("w", encoding="ascii") as file:
        while written < size:
            seconds += chance.random() * 3
            day, rest = divmod(int(seconds), 86_400)
            month, day = ("Jul", "Aug", "Sep", "Oct")[day // 28 % 4], day % 28 + 1
            line = f"{month} {day:2d} {rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d} web-3 sshd"
            line += f"[{chance.randint(1_000, 60_000)}]: {_event(chance)}\n"
            written += file.write(line)
    return path


def _event(chance: random.Random) -> str:
    source = f"{chance.choice(('203.0.113', '198.51.100'))}.{chance.randint(1, 199)}"
    port, kind = chance.randint(1_024, 65_000), chance.random()
    if kind < 0.85:
        invalid = chance.choice(("", "invalid user "))
        return f"Failed password for {invalid}{chance.choice(_ACCOUNTS)} from {source} port {port} ssh2"
    if kind < 0.9:
        return f"Accepted publickey for mara from 10.0.0.{chance.randint(2, 40)} port {port} ssh2: RSA SHA256:abcdef"
    return f"Connection closed by {source} port {port} [preauth]"


class Asking:
    """One session of a service."""

    def __init__(self, service: ProcessService) -> None:
        self.session_id = register(service)
        self._http = httpx2.Client(
            base_url=service.base_url,
            headers={"Authorization": f"Bearer {service.key}"},
            timeout=_SECONDS,
            trust_env=False,
        )

    def attach(self, log: Path) -> None:
        """Attach a file."""
        path = f"/session/upload_file?session_id={self.session_id}&filename={quote(log.name)}"
        with log.open("rb") as content:
            self._http.post(path, content=content).raise_for_status()

    def ask(self, question: str) -> float:
        """The seconds that a question takes."""
        start = time.perf_counter()
        body = {"id": self.session_id, "messages": [{"message_type": "query", "content": question}]}
        self._http.post("/session/generate", json=body).raise_for_status()
        return time.perf_counter() - start


def size_of(folder: Path) -> int:
    """The bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def further_questions(service: ProcessService, log: Path) -> None:
    """One log, one question after the other."""
    asking = Asking(service)
    asking.attach(log)
    first = asking.ask(FIRST)
    print(f"{first:8.2f} s         first: {FIRST}", flush=True)
    for question in (*FURTHER, *ELSEWHERE, *ELSEWHERE):
        seconds = asking.ask(question)
        print(f"{seconds:8.2f} s {first / seconds:6.0f}x {question}", flush=True)


def beside_large_ones(service: ProcessService, logs: list[Path]) -> None:
    """A question without a file while two others of the same user read large logs."""
    small = Asking(service)
    small.ask(SMALL)
    alone = small.ask(SMALL)
    large = [Asking(service) for _ in logs]
    for asking, log in zip(large, logs, strict=True):
        asking.attach(log)
    threads = [threading.Thread(target=asking.ask, args=(FIRST,)) for asking in large]
    for thread in threads:
        thread.start()
    time.sleep(2)
    beside = max(small.ask(SMALL) for _ in range(3))
    running = sum(thread.is_alive() for thread in threads)
    print(f"{alone:8.2f} s         a question without a file, alone")
    print(f"{beside:8.2f} s {beside / alone:6.1f}x the slowest of three beside {running} large ones", flush=True)
    for thread in threads:
        thread.join()


def state_of_many(service: ProcessService, log: Path, sessions: int) -> None:
    """The same log in many sessions."""
    folder = service.folder
    before = size_of(folder)
    for _ in range(sessions):
        Asking(service).attach(log)
    grown = size_of(folder) - before
    print(
        f"{grown / _MEGABYTE:8.1f} MB {grown / log.stat().st_size:5.2f}x the log, after {sessions} sessions attached it"
    )


def main() -> None:
    """Generate the logs and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--sessions", type=int, default=15)
    options = parser.parse_args()
    size = options.megabytes * _MEGABYTE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "state").mkdir()
        logs = [auth_log(folder / f"auth-{seed}.log", size if not seed else size // 5, seed) for seed in range(3)]
        state = auth_log(folder / "attached.log", size, 9)
        with live_process(folder / "state", ANALYST) as service:
            further_questions(service, logs[0])
            beside_large_ones(service, logs[1:])
            state_of_many(service, state, options.sessions)


if __name__ == "__main__":
    main()
