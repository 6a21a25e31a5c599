"""Expand the archives among a turn's files into their members, before the question is planned.

Each archive, nested ones included, is read by a worker process of its own; this module stores what the workers send
and keeps account of every member.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from svc.assistant.collections.expanded import ArchiveContent, ExpandedFiles, NotExamined
from svc.assistant.collections.layouts import kind_words, layouts_of, rank
from svc.assistant.collections.request import (
    CLOSED_CONTAINERS,
    CONTAINERS,
    IN_MEMORY,
    NESTING,
    USUAL_PASSWORD,
    UnpackLimits,
    UnpackRequest,
)
from svc.assistant.collections.spool import DiskSpool
from svc.assistant.findings import Finding, InputKind, Progress, ToolFailure
from svc.assistant.turn import TurnFile
from svc.assistant.workers.frames import ArchiveEnd, MemberEnd, MemberPiece
from svc.assistant.workers.pool import Job, Workers
from svc.errors import UnavailableError
from svc.messages import TaskProgress

FLUSH_BYTES = 8 * 1024 * 1024  # of members in memory, before they are written
FLUSH_MEMBERS = 256
UNPACKING_MODULE = "svc.assistant.collections.unpacking"


def is_collection(file: TurnFile) -> bool:
    """Whether the file may be an archive that can be opened."""
    return file.label in CONTAINERS


class Expansion:
    """The expansion of one turn's archives. ``close`` deletes what was unpacked."""

    def __init__(
        self,
        workers: Workers,
        *,
        labels: frozenset[str],
        root: Path,
        limits: UnpackLimits | None = None,
        memory_limits: UnpackLimits = IN_MEMORY,
    ) -> None:
        self._workers = workers
        self._labels = labels
        self._root = root
        self._limits = limits or UnpackLimits()
        self._memory_limits = memory_limits
        self._spool: DiskSpool | None = None
        self._members = self._bytes = self._memory_members = self._memory_bytes = 0
        self._with_password: dict[str, int] = {}
        self._archives: list[ArchiveContent] = []
        self._not_examined: list[NotExamined] = []
        self._notes: list[tuple[str, str]] = []
        self._layouts: list[tuple[str, str]] = []

    async def close(self) -> None:
        """Delete the unpacked members."""
        if self._spool is not None:
            await self._spool.close()

    async def expand(self, files: Sequence[TurnFile]) -> AsyncGenerator[str | TaskProgress | ExpandedFiles, None]:
        """Yield progress as text or as a count, then the result."""
        expanded: list[TurnFile] = []
        for file in files:
            if not is_collection(file):
                expanded.append(file)
                continue
            found: list[TurnFile] = []
            async with aclosing(self._archive(file, found)) as steps:
                async for step in steps:
                    yield step
            expanded += found
        yield ExpandedFiles(
            files=tuple(expanded),
            archives=tuple(self._archives),
            not_examined=tuple(self._not_examined),
            notes=(*self._notes, *self._password_notes()),
            layouts=tuple(self._layouts),
        )

    def _password_notes(self) -> list[tuple[str, str]]:
        return [
            (name, f"opened with the usual password `{USUAL_PASSWORD}`: {count:,} members")
            for name, count in self._with_password.items()
        ]

    async def _archive(self, file: TurnFile, found: list[TurnFile]) -> AsyncGenerator[str | TaskProgress, None]:
        """Fill ``found`` with the archive, relabelled as such, and its members; or with the file alone."""
        names: list[str] = []
        members: list[TurnFile] = []
        waiting = deque([(file, 1)])
        while waiting:
            archive, depth = waiting.popleft()
            reader = _MemberReader(self, archive)
            async with aclosing(reader.read()) as steps:
                async for step in steps:
                    yield step
            if not reader.form:
                (found if archive is file else members).append(archive)
                continue
            (found if archive is file else members).append(_as_archive(archive))
            names += reader.names
            for member in reader.members:
                self._sort(member, depth, members, waiting)
            self._account(archive, reader, depth)
            yield f"{archive.name}: {len(reader.names):,} members, {self._bytes + self._memory_bytes:,} bytes unpacked"
        layouts = await asyncio.to_thread(layouts_of, names)  # as the sorting, seconds for 100,000 names
        self._layouts += [(file.name, layout) for layout in layouts]
        found += await asyncio.to_thread(_by_importance, members)

    def _sort(
        self, member: TurnFile, depth: int, members: list[TurnFile], waiting: deque[tuple[TurnFile, int]]
    ) -> None:
        """Put a member among the files, among the archives that are opened next, or among what is not examined."""
        if (form := CLOSED_CONTAINERS.get(member.label)) is not None:
            self._refuse(member, f"{form} archives are not supported", f"{form} archive")
        elif member.label in CONTAINERS and depth < NESTING:
            waiting.append((member, depth + 1))
        elif member.label in ("zip", "tar", "sevenzip"):
            self._refuse(member, f"it is nested more than {NESTING} levels deep", "archive")
        else:
            members.append(member)

    def _refuse(self, member: TurnFile, reason: str, kind: str) -> None:
        self._not_examined.append(NotExamined(name=member.name, reason=reason, size=member.size, kind=kind))

    def _account(self, archive: TurnFile, reader: _MemberReader, depth: int) -> None:
        self._not_examined += reader.not_examined
        self._notes += [(archive.name, note) for note in reader.notes]
        if reader.with_password:
            self._with_password[archive.name] = reader.with_password
        self._archives.append(
            ArchiveContent(
                name=archive.name,
                form=reader.form,
                members=len(reader.names),
                examinable=len(reader.members),
                depth=depth,
            )
        )

    def limits_left(self, *, in_memory: bool) -> UnpackLimits:
        """What may still be unpacked."""
        limits = self._memory_limits if in_memory else self._limits
        members, used = (self._memory_members, self._memory_bytes) if in_memory else (self._members, self._bytes)
        return msgspec.structs.replace(
            limits, members=max(0, limits.members - members), total_bytes=max(0, limits.total_bytes - used)
        )

    def count(self, size: int, *, in_memory: bool) -> None:
        """Count a kept member."""
        if in_memory:
            self._memory_members += 1
            self._memory_bytes += size
        else:
            self._members += 1
            self._bytes += size

    def job(self, archive: TurnFile) -> Job:
        """The job that unpacks an archive."""
        request = UnpackRequest(
            limits=self.limits_left(in_memory=isinstance(archive.source, bytes)), labels=self._labels
        )
        return Job(
            tool=f"{UNPACKING_MODULE}:unpack",
            input=InputKind.RAW,
            name=archive.name,
            source=archive.source,
            options=request.to_options(),
        )

    @property
    def workers(self) -> Workers:
        """The pool that reads the archives."""
        return self._workers

    def spool(self) -> DiskSpool:
        """The folder of this turn; created when it is needed."""
        if self._spool is None:
            self._spool = DiskSpool(self._root)
        return self._spool


def _by_importance(members: list[TurnFile]) -> list[TurnFile]:
    return sorted(members, key=lambda member: (rank(member.name), member.name))


def _as_archive(file: TurnFile) -> TurnFile:
    """A compressed TAR is an archive from now on, not a compressed text that tools for logs would read."""
    if file.label in ("zip", "sevenzip"):
        return file
    return msgspec.structs.replace(file, label="tar", mime_type="application/x-tar")


class _MemberReader:
    """Reads one archive by one job."""

    def __init__(self, expansion: Expansion, archive: TurnFile) -> None:
        self._expansion = expansion
        self._archive = archive
        self._in_memory = isinstance(archive.source, bytes)
        self._pieces: list[bytes] = []
        self._path: Path | None = None
        self._pending: list[tuple[Path, list[bytes]]] = []
        self._pending_bytes = 0
        self.form = ""
        self.names: list[str] = []
        self.members: list[TurnFile] = []
        self.not_examined: list[NotExamined] = []
        self.notes: list[str] = []
        self.with_password = 0

    async def read(self) -> AsyncGenerator[str | TaskProgress, None]:
        """Yield progress; the attributes hold the result."""
        problem = "it could not be read"
        async with aclosing(self._expansion.workers.unpack(self._expansion.job(self._archive))) as items:
            async for item in items:
                match item:
                    case MemberPiece(data=data):
                        await self._keep(data)
                    case MemberEnd():
                        await self._end(item)
                    case ArchiveEnd():
                        self.form, problem = item.form, item.unfinished
                        self.notes += item.notes
                    case Progress(counted=TaskProgress() as counted):
                        yield counted
                    case Progress(text=text):
                        yield text
                    case Finding(facts=ToolFailure(reason=reason)):
                        problem = f"unpacking did not finish: {reason}"
        await self._flush()
        if problem:
            self.form = self.form or "archive"
            which = "the rest of its members" if self.names else "its members"
            name = f"{self._archive.name} ({which})"
            self.not_examined.append(NotExamined(name=name, reason=problem, size=self._archive.size, kind="archive"))

    async def _keep(self, data: bytes) -> None:
        self._pieces.append(data)
        self._pending_bytes += len(data)
        if not self._in_memory and self._pending_bytes >= FLUSH_BYTES:
            self._path = self._path or self._expansion.spool().new_path()
            self._pending.append((self._path, self._pieces))
            self._pieces = []
            await self._flush()

    async def _flush(self) -> None:
        try:
            if self._pending:
                await self._expansion.spool().write(self._pending)
        except OSError as error:
            raise UnavailableError(
                f"the members of the archive could not be stored ({error.strerror}); free space in SVC_STATE_DIR",
                retry_after=60,
            ) from error
        self._pending, self._pending_bytes = [], 0

    async def _end(self, member: MemberEnd) -> None:
        """File the member whose pieces are complete."""
        self.names.append(member.name)
        name = f"{self._archive.name}/{member.name}"
        pieces, path = self._pieces, self._path
        self._pieces, self._path = [], None
        if member.reason or not member.sha256:
            self._pending_bytes -= sum(map(len, pieces))
            if path is not None:
                await self._expansion.spool().remove(path)
            kind = "" if member.label == "empty" else kind_words(member.name, member.label, member.mime_type)
            reason = member.reason or _no_tool(member, kind)
            self.not_examined.append(NotExamined(name=name, reason=reason, size=member.size, kind=kind))
            return
        if member.cut is not None:
            self.notes.append(f"{member.name}: only the first {member.cut:,} bytes were unpacked")
        self.with_password += member.is_opened_with_password
        kept = member.size if member.cut is None else member.cut
        self._expansion.count(kept, in_memory=self._in_memory)
        source: Path | bytes = b"".join(pieces)
        if not self._in_memory:
            source = path or self._expansion.spool().new_path()
            self._pending.append((source, pieces))
            if len(self._pending) >= FLUSH_MEMBERS:
                await self._flush()
        self.members.append(
            TurnFile(
                name=name,
                size=kept,
                sha256=member.sha256,
                mime_type=member.mime_type,
                label=member.label,
                source=source,
                is_new=self._archive.is_new,
                results=self._archive.results,  # so what a worker says about a member stays with its archive
            )
        )


def _no_tool(member: MemberEnd, kind: str) -> str:
    if member.label == "empty":
        return "it is empty"
    return f"no tool reads this kind of file ({kind})" if kind else "its type is unknown"
