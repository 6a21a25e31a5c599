"""What a tool found in a file, kept so that a further question need not read the file again.

A result is kept only if the tool ran to its end, as the events that it yielded, gaps and coverage included: an answer
made of them is the same. Its name is a digest of everything that decides it: the content, the tool and its options, and
the program and the tables that read it. A change of any of these is another name.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from svc._version import __version__
from svc.assistant.findings import AnyFinding, Finding, Gap, ToolEvent, ToolFailure
from svc.assistant.turn import KeptResults

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_RESULT_BYTES = 64 * 1024 * 1024  # of one result before it is compressed; a larger one is not kept
_PROGRAM = Path(__file__).parents[2]
_LEVEL = 1
_HEADER_BYTES = 4
_encoder = msgspec.msgpack.Encoder()


class ResultName(msgspec.Struct, frozen=True, kw_only=True):
    """What decides a result. ``tool`` is "" for the search for text that addresses an analyst or a model.

    ``program`` is the state of the program and its tables (``program_state``).
    """

    program: str
    content: str
    source: str
    tool: str = ""
    input: str = ""
    options: dict[str, str] = {}
    looks_for_instructions: bool = False

    def digest(self) -> str:
        """The name, in hex."""
        return hashlib.sha256(msgspec.msgpack.encode(self, order="deterministic")).hexdigest()


def program_state(own_tables: Path) -> str:
    """A digest of the program and of the user's own tables. It reads folders, so it belongs into a thread."""
    return hashlib.sha256(f"{_code_state()} {_state_of([own_tables])}".encode()).hexdigest()


@lru_cache
def _code_state() -> str:
    """The program with its rules and tables. A process has the code that it started with, so this is read once."""
    return f"{__version__} {sys.version} {_state_of([_PROGRAM])}"


def _state_of(folders: Iterable[Path]) -> str:
    known = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            if file.suffix in ("", ".pyc"):
                continue
            try:
                status = file.stat()
            except FileNotFoundError:  # replaced in this moment
                continue
            known.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}\n".encode())
    return known.hexdigest()


class Recording:
    """The events of a run, as long as they may be kept."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._may_be_kept = True

    def add(self, event: ToolEvent) -> None:
        """Record an event; a run that failed, or that had too little time, is not kept."""
        if not self._may_be_kept:
            return
        if isinstance(event, Gap) and event.is_passing:
            self._may_be_kept, self._pieces = False, []
            return
        body = _encoder.encode(event)
        self._size += len(body)
        if self._size > MAX_RESULT_BYTES or (isinstance(event, Finding) and isinstance(event.facts, ToolFailure)):
            self._may_be_kept, self._pieces = False, []
            return
        self._pieces += (len(body).to_bytes(_HEADER_BYTES, "big"), body)

    async def keep(self, results: KeptResults, name: str) -> None:
        """Keep what was recorded, if it may be kept."""
        if self._may_be_kept:
            await results.keep(name, await asyncio.to_thread(_packed, self._pieces))


def _packed(pieces: Iterable[bytes]) -> bytes:
    return zstd.compress(b"".join(pieces), _LEVEL)


class KeptRun:
    """The encoded events of an earlier run."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    @classmethod
    async def find(cls, results: KeptResults, *names: str) -> KeptRun | None:
        """The run that is kept under the first of these names that there is."""
        for name in names:
            if (data := await results.find(name)) is not None:
                return cls(await asyncio.to_thread(zstd.decompress, data))
        return None

    def events(self) -> Iterator[memoryview]:
        """The events, in their order."""
        at = 0
        while at < len(self._data):
            start = at + _HEADER_BYTES
            at = start + int.from_bytes(self._data[at:start], "big")
            yield self._data[start:at]


def for_question(finding: AnyFinding, answers: Mapping[str, object]) -> AnyFinding:
    """The finding with the fields that depend on the question alone as they are for this one."""
    fields = {name: value for name, value in answers.items() if name in type(finding.facts).__struct_fields__}
    if not fields:
        return finding
    return msgspec.structs.replace(finding, facts=msgspec.structs.replace(finding.facts, **fields))


Asks = Callable[[str], Mapping[str, object]]
"""The fields of a tool's findings that depend on the question alone."""
