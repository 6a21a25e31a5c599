"""The folder of attached files when the service starts: compare it with the database, and lose nothing.

The database is the manifest: it names the files of sessions and those being received or removed. Only these are ever
deleted. A file with a name of the service's kind that the database does not name is moved to ``orphaned-DATE`` in the
same folder, because the database may be the wrong one; a file that the database names comes back from there. Everything
else in the folder is somebody else's and is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from svc.errors import ConfigError
from svc.messages import new_id
from svc.process_safety.private_files import has_owners, make_private_folder
from svc.service.store.records import FileRecord, FileState

log: logging.Logger = logging.getLogger("svc.files")
_PART = ".part"
_ORPHANED = "orphaned-"
FILE_NAME = re.compile(r"[0-9a-f]{32}")  # an id becomes a path, so nothing else does
_SHOWN = 5  # names in a log line


class Manifest(msgspec.Struct, frozen=True):
    """What the database knows of the folder: the ids of attached files, and the journal of the others."""

    attached: frozenset[str]
    journal: Mapping[str, FileState]


class FileFolder:
    """A folder of attached files. An unfinished one has the ending ``.part``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._missing: set[str] = set()  # attached, but not found at the start
        self._lock: int | None = None

    def file(self, file_id: str) -> Path:
        """The path of a complete file."""
        return self.path / file_id

    def part(self, file_id: str) -> Path:
        """The path of a file that is being received."""
        return self.path / f"{file_id}{_PART}"

    def has(self, file_id: str) -> bool:
        """Whether the file is here, complete or not."""
        return self._exists(file_id) or os.path.lexists(self.part(file_id))

    def has_size(self, file: FileRecord) -> bool:
        """Whether the file is here in its full size."""
        try:
            return self.file(file.id).stat().st_size == file.size
        except OSError:
            return False

    def is_whole(self, file: FileRecord) -> bool:
        """Whether the file is here with its own content."""
        try:
            with self.file(file.id).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
        except OSError:
            return False

    def open(self, *, is_shared: bool = False) -> None:
        """Create the folder and, unless services share it, lock it.

        Raises ConfigError if it cannot be used, or another service uses it.
        """
        try:
            make_private_folder(self.path)
            self._check_owner()
            if not is_shared:
                self._take_lock()
            self._probe()
        except OSError as error:
            raise ConfigError(
                f"the folder for attached files {self.path} cannot be used: {error}. Give the service's user access to "
                "it, free space on its disk, or choose another database with --database"
            ) from error

    def _probe(self) -> float:
        """Write a file; returns the time by the clock of the folder's own machine."""
        probe = self.path / f".{new_id()}.probe"
        descriptor = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            return os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)
            probe.unlink()

    def left_behind(self, seconds: float) -> set[str]:
        """The ids of files, complete or not, that nobody has written to for so long; the database may know them."""
        latest = self._probe() - seconds
        found = set()
        for entry in self._entries():
            file_id = entry.name.removesuffix(_PART)
            if FILE_NAME.fullmatch(file_id) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):  # renamed or removed meanwhile
                    if entry.stat(follow_symlinks=False).st_mtime <= latest:
                        found.add(file_id)
        return found

    def name_received(self, file_id: str) -> None:
        """Give an attached file its name, if the service that received it ended before it did."""
        if not self._exists(file_id):
            with contextlib.suppress(OSError):
                self.part(file_id).rename(self.file(file_id))

    def _check_owner(self) -> None:
        if not has_owners():
            return
        status = self.path.stat()  # of the folder that a link leads to
        if status.st_uid not in (os.geteuid(), 0):
            raise ConfigError(
                f"the folder for attached files {self.path} belongs to another user (uid {status.st_uid}), who could "
                "read and replace evidence. Change its owner, or choose another database with --database"
            )
        if stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == os.geteuid():
            log.warning("the folder for attached files was open to others", extra={"folder": str(self.path)})
            self.path.chmod(0o700)

    def _take_lock(self) -> None:
        """Lock the folder itself: two databases may lead to one folder by links."""
        try:
            import fcntl
        except ImportError:  # Windows: the lock of the database has to do
            return
        self._lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise ConfigError(
                f"another service uses the folder for attached files {self.path}. Stop it first, or choose another "
                "database with --database"
            ) from error
        except OSError:  # a file system without locks on folders
            log.info("the folder for attached files cannot be locked", extra={"folder": str(self.path)})

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def reconcile(self, manifest: Manifest) -> list[str]:
        """Finish what a killed process began, move unknown files aside, take known ones back.

        Returns:
            The ids of the journal that are settled.

        Raises:
            ConfigError: The folder cannot be read or changed.
        """
        try:
            settled = [*self._settle_journal(manifest)]
            for file_id in manifest.attached:
                if not self._exists(file_id):
                    self._recover(file_id)
            self._missing = {file_id for file_id in manifest.attached if not self._exists(file_id)}
            self._set_aside(manifest)
        except OSError as error:
            raise ConfigError(f"the folder for attached files {self.path} cannot be used: {error}") from error
        for warning in self.warnings():
            log.error("attached files need attention", extra={"folder": str(self.path), "what": warning})
        return settled

    def _settle_journal(self, manifest: Manifest) -> Iterator[str]:
        for file_id, state in manifest.journal.items():
            if file_id in manifest.attached or not FILE_NAME.fullmatch(file_id):
                continue
            # A complete file was attached, so a journal that calls it unfinished is older than the file: keep it.
            paths = [self.part(file_id), *([self.file(file_id)] if state == "removing" else [])]
            if delete(paths):
                yield file_id

    def has_file(self, file_id: str) -> bool:
        """Whether the complete file is here."""
        return self._exists(file_id)

    def has_any(self, file_id: str) -> bool:
        """Whether the file is here, or a part of it."""
        return self._exists(file_id) or os.path.lexists(self.part(file_id))

    def _exists(self, file_id: str) -> bool:
        return os.path.lexists(self.file(file_id))

    def _recover(self, file_id: str) -> None:
        """Look for an attached file as a complete upload that was not renamed, and among those set aside."""
        if self.part(file_id).is_file():
            self.part(file_id).rename(self.file(file_id))
            return
        for folder in self._orphaned():
            if (folder / file_id).is_file():
                (folder / file_id).rename(self.file(file_id))
                log.warning("attached file restored", extra={"file": file_id, "from": folder.name})
                with contextlib.suppress(OSError):  # not empty yet
                    folder.rmdir()
                return

    def _set_aside(self, manifest: Manifest) -> None:
        unknown: list[str] = []
        strange: list[str] = []
        for entry in self._entries():
            if entry.name in manifest.attached or entry.name.removesuffix(_PART) in manifest.journal:
                continue
            is_ours = bool(FILE_NAME.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False)
            (unknown if is_ours else strange).append(entry.name)
        if strange:
            log.warning("files of others are left untouched", extra={"count": len(strange), "names": strange[:_SHOWN]})
        if unknown:
            folder = self.path / f"{_ORPHANED}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
            folder.mkdir(mode=0o700, exist_ok=True)
            for name in unknown:
                self.file(name).rename(folder / name)

    def _entries(self) -> Iterable[os.DirEntry[str]]:
        with os.scandir(self.path) as entries:
            return [entry for entry in entries if not entry.name.startswith(_ORPHANED)]

    def _orphaned(self) -> list[Path]:
        return sorted(path for path in self.path.glob(f"{_ORPHANED}*") if path.is_dir())

    def warnings(self) -> list[str]:
        """What an operator should look at, until it is repaired; without paths, as anybody may read it."""
        found = []
        for folder in self._orphaned():
            with contextlib.suppress(OSError):
                if count := sum(1 for _ in folder.iterdir()):
                    found.append(
                        f"{count} attached files are in {self.path.name}/{folder.name}: the database does not know "
                        "them (it is new, empty or an older one). To get them back, stop the service, restore the "
                        "database they belong to and start again; or move that folder away if nobody needs them"
                    )
        self._missing = {file_id for file_id in self._missing if not self._exists(file_id)}
        if self._missing:
            found.append(
                f"{len(self._missing)} attached files are missing in {self.path.name}: the folder was moved, or its "
                "disk is not mounted. Put it back and restart the service"
            )
        return found

    def forget_missing(self, file_ids: Iterable[str]) -> None:
        """Do not report these files as missing: they were detached."""
        self._missing.difference_update(file_ids)


def delete(paths: Iterable[Path]) -> bool:
    """Delete the files; False, and a line in the log, if that is impossible for one."""
    is_done = True
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.error("attached file not deleted", extra={"file": path.name, "reason": error.strerror})
            is_done = False
    return is_done


def sizes_in(folder: Path) -> Callable[[str], int | None]:
    """Tells the sizes of the files in a folder; raises ConfigError if it does not exist."""
    if not folder.is_dir():
        raise ConfigError(f"the folder for attached files {folder} does not exist")

    def size(file_id: str) -> int | None:
        for name in (file_id, f"{file_id}{_PART}"):  # received, and its service ended before it gave it its name
            with contextlib.suppress(FileNotFoundError):
                return (folder / name).stat().st_size
        return None

    return size
