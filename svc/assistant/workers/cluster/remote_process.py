"""A worker process on a machine of the cluster, as the pool sees it: our end of the connection to its dask worker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from svc.assistant.findings import Progress
from svc.assistant.workers.cluster.messages import (
    FROM_HOST,
    Accepted,
    HostFrame,
    ProcessEnd,
    Refused,
    RemoteJob,
    TablesWanted,
    unpack_host,
)
from svc.assistant.workers.cluster.tables import Tables
from svc.assistant.workers.frames import PartEnd
from svc.assistant.workers.part_runs import JobRun
from svc.assistant.workers.places import ProcessLostError, request_of
from svc.assistant.workers.process import HEADER_BYTES, Crashed, Done, Frame, pack, stop_byte
from svc.assistant.workers.seen_frames import OtherFramesError, SeenFrames
from svc.assistant.workers.watch import Excess

SEND_BYTES = 256 * 1024  # of one message to a dask worker
_encoder = msgspec.msgpack.Encoder()


class Comm(Protocol):
    """What is needed of a connection of dask's."""

    async def read(self) -> Any:  # noqa: ANN401  # a message of dask's
        """The next message; raises OSError."""

    async def write(self, message: dict[str, object]) -> object:
        """Send a message; raises OSError."""
        ...

    def abort(self) -> None:
        """Close it now."""


class RemoteProcess:
    """One job on another machine.

    Args:
        comm: The connection to the dask worker.
        machine: The dask worker in words.
        folder: The folder of attached files.
        file: The name of the job's input in it.
        tables: The user's own tables.
        seen: What earlier runs of the same part have yielded.
        on_end: Called once when the process is killed.
    """

    def __init__(
        self,
        comm: Comm,
        machine: str,
        *,
        folder: str,
        file: str,
        tables: Tables,
        seen: SeenFrames,
        on_end: Callable[[], None],
    ) -> None:
        self._comm = comm
        self._machine = machine
        self._folder, self._file = folder, file
        self._tables = tables
        self._seen = seen
        self._on_end = on_end
        self._buffer = bytearray()
        self._end: ProcessEnd | None = None
        self._is_accepted = self._is_killed = False
        self._stop_reason = ""
        self._sending: asyncio.Task[None] | None = None
        seen.begin()

    @property
    def excess(self) -> Excess | None:
        """The limit for which the process was killed from outside."""
        found = self._end.excess if self._end is not None else None
        return "memory" if found == "memory" else "cpu" if found == "cpu" else None

    async def send(self, run: JobRun) -> None:
        """Give the next part of a job to the host; raises ProcessLostError."""
        request = msgspec.structs.replace(request_of(run), path="", knowledge="")
        job = RemoteJob(
            request=request,
            folder=self._folder,
            file=self._file,
            size=run.size,
            sha256=run.job.content,
            tables=self._tables.digest,
        )
        await self._write(pack(_encoder.encode(job)))
        if request.part is not None and request.part.has_state:
            await self._write(pack(run.state))
        answer = await self._host_frame()
        if isinstance(answer, TablesWanted):
            await self._write(pack(self._tables.data))
            answer = await self._host_frame()
        if not isinstance(answer, Accepted):
            raise ProcessLostError(f"{self._machine} answered {type(answer).__name__} to a job")
        self._is_accepted = True
        if self._stop_reason:
            await self._write(stop_byte(self._stop_reason))

    async def receive(self, decoder: msgspec.msgpack.Decoder[Frame]) -> Frame | None:
        """The next frame that no earlier run has yielded, or None if the process ended without one.

        Raises:
            ProcessLostError: The machine is gone, cannot run the job, or yields other things than the one before.
        """
        try:
            while True:
                body = await self._body()
                if body[:1] == FROM_HOST:
                    self._take(unpack_host(body[1:]))
                    return None
                frame = decoder.decode(body[1:])
                if isinstance(frame, Done | PartEnd | Crashed):
                    self._seen.end()
                    return frame
                if isinstance(frame, Progress) or self._seen.is_new(body):
                    return frame
        except OtherFramesError:
            raise ProcessLostError(
                f"a machine of the cluster was lost, and {self._machine}, which read it again, found other things"
            ) from None

    def _take(self, frame: HostFrame) -> None:
        if isinstance(frame, ProcessEnd):
            self._end = frame
        elif isinstance(frame, Refused):
            raise ProcessLostError(f"{self._machine} cannot read it: {frame.reason}")
        else:
            raise ProcessLostError(f"{self._machine} sent {type(frame).__name__} within a job")

    def stop_reading(self, reason: str) -> None:
        """Ask the process to report soon what it has found so far."""
        self._stop_reason = reason
        if self._is_accepted and not self._is_killed:
            self._sending = asyncio.create_task(self._send_stop())

    async def _send_stop(self) -> None:
        with contextlib.suppress(ProcessLostError):  # the next frame says so
            await self._write(stop_byte(self._stop_reason))

    def give_way(self) -> None:
        """Its host lowers its priority."""

    def kill(self) -> None:
        """Close the connection: the host kills the process, and the task of the cluster ends."""
        if not self._is_killed:
            self._is_killed = True
            self._comm.abort()
            self._on_end()

    async def reap(self) -> int | None:
        """The exit code; None if the process was killed before it ended."""
        return self._end.code if self._end is not None else None

    async def _host_frame(self) -> HostFrame:
        body = await self._body()
        if body[:1] != FROM_HOST:
            raise ProcessLostError(f"{self._machine} sent a finding before it had the job")
        frame = unpack_host(body[1:])
        if isinstance(frame, Refused):
            self._take(frame)
        return frame

    async def _body(self) -> bytes:
        """The next frame without its length."""
        length = int.from_bytes(await self._take_bytes(HEADER_BYTES), "big")
        return await self._take_bytes(length)

    async def _take_bytes(self, size: int) -> bytes:
        while len(self._buffer) < size:
            message = await self._message()
            if "problem" in message:
                raise ProcessLostError(f"{self._machine} cannot run the job: {message['problem']}")
            if "data" not in message:
                raise self._lost()
            self._buffer += message["data"]
            await self._tell({"taken": len(message["data"])})
        taken = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return taken

    async def _message(self) -> dict[str, Any]:
        try:
            message = await self._comm.read()
        except OSError as error:
            raise self._lost() from error
        if not isinstance(message, dict):
            raise ProcessLostError(f"{self._machine} sent something other than a message")
        return message

    async def _write(self, data: bytes) -> None:
        for start in range(0, len(data), SEND_BYTES):
            await self._tell({"data": data[start : start + SEND_BYTES]})

    async def _tell(self, message: dict[str, object]) -> None:
        try:
            await self._comm.write(message)
        except OSError as error:
            raise self._lost() from error

    def _lost(self) -> ProcessLostError:
        return ProcessLostError(f"the connection to {self._machine} was lost")
