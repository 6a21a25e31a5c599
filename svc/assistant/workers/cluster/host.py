"""A process beside a dask worker that starts worker processes, one for each job that it is connected for.

    python -m svc.assistant.workers.cluster.host FOLDER MEMORY_BYTES MODULE…

dask's workers are daemonic under a nanny and may start no processes by multiprocessing, so this one is started as a
program; its worker processes start quickly, from a forkserver that has imported the MODULEs. It listens on a Unix
socket in FOLDER, prints ``ready``, and ends with its standard input, when it was idle for long, or by a signal.
Whatever it leaves in FOLDER is its own, and removed when it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import threading
from pathlib import Path

import msgspec

from svc.assistant.findings import Progress
from svc.assistant.workers import own_limits
from svc.assistant.workers.cluster.messages import (
    MAX_DOWN_BYTES,
    Accepted,
    ProcessEnd,
    Refused,
    RemoteJob,
    TablesWanted,
    pack_host,
    pack_process,
)
from svc.assistant.workers.cluster.shared_files import CheckedFiles, CheckStoppedError, OtherFileError
from svc.assistant.workers.cluster.tables import Tables, unpack
from svc.assistant.workers.local_processes import LocalProcess, LocalProcesses
from svc.assistant.workers.process import COUNT_SECONDS, HEADER_BYTES, STOP_REASONS, JobRequest
from svc.errors import UnavailableError
from svc.process_safety import forbid_core_dumps, protect_children

SOCKET = "jobs"
READY = b"ready\n"
PATIENCE_SECONDS = 1.0  # after that a job gives way to younger ones, as in the pool
IDLE_SECONDS = 600.0
CHECKING = "checking its content"
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(RemoteJob)


class ProcessHost:
    """Runs jobs.

    Args:
        folder: Its own folder, for its socket and the tables of users.
        memory_bytes: The most memory of one worker process, whatever the job allows.
        preload: Modules that a worker process has imported before its job.
    """

    def __init__(self, folder: Path, memory_bytes: int, preload: tuple[str, ...]) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._processes = LocalProcesses(preload)
        self._files = CheckedFiles()
        self._connections: set[asyncio.Task[None]] = set()
        self._unpacking = asyncio.Lock()

    async def serve(self, ended: asyncio.Event) -> None:
        """Run jobs until ``ended`` is set, or no job came for IDLE_SECONDS."""
        self._processes.start()
        server = await asyncio.start_unix_server(self._connected, self._folder / SOCKET)
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()
        async with server:
            while not ended.is_set():
                busy = bool(self._connections)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(IDLE_SECONDS):
                        await ended.wait()
                if not busy and not self._connections:
                    break
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._processes.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await _Job(self, reader, writer).run()
        except (ConnectionError, asyncio.IncompleteReadError):  # nobody waits for the job any more
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def unpack(self, tables: Tables) -> None:
        """Write the folder of these tables, if it is not there yet."""
        folder = self.tables_folder(tables.digest)
        async with self._unpacking:
            if not folder.is_dir():
                made = folder.with_suffix(".part")
                await asyncio.to_thread(unpack, tables, made)
                made.rename(folder)

    def tables_folder(self, digest: str) -> Path:
        """Where tables are; without a digest, a folder that is not there."""
        return self._folder / f"tables-{digest or 'none'}"

    async def process(self) -> LocalProcess:
        """A process for a job; raises UnavailableError."""
        return await self._processes.take()

    def discard(self, process: LocalProcess) -> None:
        """End a process."""
        self._processes.discard(process)

    def check(self, job: RemoteJob, on_read: CountedReading) -> Path:
        """As ``CheckedFiles.check``."""
        return self._files.check(job, on_read.count, on_read.stopped.is_set)

    def confined(self, request: JobRequest, *, path: Path, knowledge: Path) -> JobRequest:
        """The request as the process gets it."""
        limits = request.limits
        limits = msgspec.structs.replace(limits, memory_bytes=min(limits.memory_bytes, self._memory_bytes))
        return msgspec.structs.replace(request, limits=limits, path=str(path), knowledge=str(knowledge))


class CountedReading:
    """Reports how far the check of a file is, from the thread that reads it."""

    def __init__(self, name: str, writer: asyncio.StreamWriter) -> None:
        self.stopped: threading.Event = threading.Event()
        self._name = name
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + COUNT_SECONDS

    def count(self, done: int, total: int) -> None:
        """So many bytes of ``total`` are read."""
        if self._loop.time() >= self._due and not self.stopped.is_set():
            self._due = self._loop.time() + COUNT_SECONDS
            progress = Progress.of(self._name, done, total, "byte", work=CHECKING)
            self._loop.call_soon_threadsafe(self._write, pack_process(_encoder.encode(progress)))

    def _write(self, frame: bytes) -> None:
        if not self.stopped.is_set():
            self._writer.write(frame)


class _Job:
    """One connection: it ends when the job does, and the job ends with it."""

    def __init__(self, host: ProcessHost, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer
        self._process: LocalProcess | None = None
        self._stop_reason = ""

    async def run(self) -> None:
        job = _decoder.decode(await self._frame())
        has_state = job.request.part is not None and job.request.part.has_state
        state = await self._frame() if has_state else b""
        knowledge = self._host.tables_folder(job.tables)
        if job.tables and not knowledge.is_dir():
            await self._send(pack_host(TablesWanted()))
            await self._host.unpack(Tables(await self._frame(), job.tables))
        await self._send(pack_host(Accepted()))
        reading = CountedReading(job.request.name, self._writer)
        work = asyncio.create_task(self._work(job, state, knowledge, reading))
        listening = asyncio.create_task(self._listen())
        try:
            await asyncio.wait((work, listening), return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.stopped.set()
            if self._process is not None:
                self._host.discard(self._process)
            for task in (work, listening):
                task.cancel()
            await asyncio.gather(work, listening, return_exceptions=True)
        if work.done() and not work.cancelled():
            work.result()

    async def _work(self, job: RemoteJob, state: bytes, knowledge: Path, reading: CountedReading) -> None:
        try:
            path = await asyncio.to_thread(self._host.check, job, reading)
            self._process = process = await self._host.process()
        except CheckStoppedError:
            return
        except (OtherFileError, UnavailableError) as error:
            await self._send(pack_host(Refused(str(error))))
            return
        await self._run_process(process, self._host.confined(job.request, path=path, knowledge=knowledge), state)

    async def _run_process(self, process: LocalProcess, request: JobRequest, state: bytes) -> None:
        patience = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, process.give_way)
        try:
            with contextlib.suppress(ConnectionError):  # it died already; the first frame says how
                await process.send_request(request, None, state)
            if self._stop_reason:
                process.stop_reading(self._stop_reason)
            while (body := await process.receive_body()) is not None:
                await self._send(pack_process(body))
            code = await process.reap()
            await self._send(pack_host(ProcessEnd(code=code, excess=process.excess)))
        finally:
            patience.cancel()

    async def _listen(self) -> None:
        """Obey the service until it is gone."""
        while reason := STOP_REASONS.get(byte := await self._reader.read(1)):
            self._stop_reason = reason
            if self._process is not None:
                self._process.stop_reading(reason)
        assert not byte

    async def _frame(self) -> bytes:
        length = int.from_bytes(await self._reader.readexactly(HEADER_BYTES), "big")
        if length > MAX_DOWN_BYTES:
            raise ConnectionError(f"a frame of {length:,} bytes")
        return await self._reader.readexactly(length)

    async def _send(self, frame: bytes) -> None:
        self._writer.write(frame)
        await self._writer.drain()


async def _serve(folder: Path, memory_bytes: int, preload: tuple[str, ...]) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_parent() -> None:
        sys.stdin.buffer.read()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_parent, daemon=True).start()
    await ProcessHost(folder, memory_bytes, preload).serve(ended)


def main(arguments: list[str]) -> None:
    """Serve as the arguments say."""
    own_limits.ignore_interrupts()
    forbid_core_dumps()
    protect_children()
    folder, memory, *preload = arguments
    try:
        asyncio.run(_serve(Path(folder), int(memory), tuple(preload)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
