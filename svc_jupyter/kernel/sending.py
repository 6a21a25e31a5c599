"""Convert large variables and send files, with progress, and stop at once when the question is interrupted.

The work runs in threads, so that the cell draws meanwhile and an interrupt is seen; a thread that nobody waits for any
longer stops at its next piece, and what it was sending is not attached.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Generic, TypeVar

from svc import InteractiveSession
from svc.progress import Meter
from svc_jupyter.attachments import Attached, Attachment
from svc_jupyter.question import StatusNote, TaskReport

T = TypeVar("T")
CONVERTING, CHECKING, SENDING = "converting", "checking", "sending"
REPORT_SECONDS = 0.2
POLL_SECONDS = 0.1
STREAMED_BYTES = 1024 * 1024  # smaller values are sent at once


class _StoppedError(Exception):
    """Nobody waits for the work any longer."""


class _CountedWork(Generic[T]):
    """Work in a thread that counts what it did; ``result`` is its result once ``reports`` has ended."""

    def __init__(self, who: str, task: str, total: int) -> None:
        self.result: T | None = None
        self._who = who
        self._done = 0
        self._total = total
        self._meter = Meter(task, "byte", clock=time.monotonic, every_seconds=REPORT_SECONDS)
        self._is_stopped = False

    def set(self, done: int, total: int) -> None:
        """Count, in the thread."""
        if self._is_stopped:
            raise _StoppedError
        self._done, self._total = done, total

    def add(self, count: int) -> None:
        """Count some more, in the thread."""
        self.set(self._done + count, self._total)

    async def reports(self, function: Callable[[], T]) -> AsyncGenerator[TaskReport, None]:
        """Run the function in a thread and report on it. Raises what it raises."""
        running = asyncio.create_task(asyncio.to_thread(function))
        try:
            while not running.done():
                await asyncio.wait([running], timeout=POLL_SECONDS)
                done, total = (self._total, self._total) if running.done() else (self._done, self._total)
                if (due := self._meter.report(done, total)) is not None:
                    yield TaskReport(self._who, due)
            self.result = running.result()
        finally:
            self._is_stopped = True
            running.cancel()


async def convert(files: Sequence[Attached]) -> AsyncGenerator[TaskReport | list[Attachment], None]:
    """Yield reports, then the attachments. Raises AskError if a value cannot be sent."""
    converted: list[Attachment] = []
    for file in files:
        if isinstance(file, Attachment):
            converted.append(file)
            continue
        meter = Meter(file.name, file.unit, clock=time.monotonic, every_seconds=REPORT_SECONDS, first_seconds=0.0)
        pieces: list[bytes] = []
        if (due := meter.report(0, file.total)) is not None:
            yield TaskReport(CONVERTING, due)
        waiting = file.pieces()
        while (piece := await asyncio.to_thread(next, waiting, None)) is not None:
            done, content = piece
            pieces.append(content)
            if (due := meter.report(done, file.total)) is not None:
                yield TaskReport(CONVERTING, due)
        converted.append(file.converted(pieces))
    yield list(dict.fromkeys(converted))


async def send(session: InteractiveSession, file: Attachment) -> AsyncGenerator[TaskReport | StatusNote, None]:
    """Attach a file that the session does not have. A file whose content changed replaces the old one."""
    replaced = [old for old in session.files if old.name == file.name]
    size = await asyncio.to_thread(lambda: file.size)
    checking = _CountedWork[str](CHECKING, file.name, size)
    async for report in checking.reports(lambda: file.sha256(checking.add)):
        yield report
    if any(old.sha256 == checking.result for old in replaced):
        return
    if isinstance(file.content, bytes):
        yield StatusNote(f"sending {file.preview()}")
    sending = _CountedWork[None](SENDING, file.name, size)
    async for report in sending.reports(lambda: _attach(session, file, sending.set)):
        yield report
    for old in replaced:
        await asyncio.to_thread(session.detach_file, old)
        yield StatusNote(f"{file.name} changed since it was attached; using the new version")


def _attach(session: InteractiveSession, file: Attachment, on_progress: Callable[[int, int], None]) -> None:
    if isinstance(file.content, bytes):
        is_large = len(file.content) >= STREAMED_BYTES
        session.attach_file(file.name, file.content, on_progress=on_progress if is_large else None)
    else:
        session.attach_file_from_disk(file.content, file.name, on_progress=on_progress)
