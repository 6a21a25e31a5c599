"""The output folder of a run: pages, ``index.html``, ``run.json``, ``manifest.json``. Files are written atomically.

One run at a time: a lock in the folder. Without --resume, what a run of before wrote and this one did not is removed
at the end, as far as its ``run.json`` lists it; other files are never touched.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from filelock import FileLock, Timeout

from svc._atomic_file import replace, write_atomic
from svc_jupyter.report.record import FILE_NAME, VERSION, CaseRecord, RunRecord

MANIFEST_NAME = "manifest.json"
INDEX_NAME = "index.html"
CASES_FOLDER = "cases"
_LOCK_NAME = ".svc-report.lock"
_SHOWN_CHARACTERS = 100  # of a name, in that of its temporary file


class FolderError(Exception):
    """The folder cannot be used; the text says why."""


class ReportFolder:
    """The output folder. Entering raises FolderError if it cannot be written or another run uses it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / _LOCK_NAME, timeout=0)

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise FolderError(
                f"another run is writing to {self.path}. Wait for it, or use a different --out."
            ) from error
        except OSError as error:
            raise FolderError(f"cannot write to {self.path}: {error.strerror or error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        (self.path / _LOCK_NAME).unlink(missing_ok=True)

    def before(self) -> RunRecord | None:
        """Return the record of the previous run, or None if there is none or it cannot be read."""
        return load(self.path)

    def is_done(self, case: CaseRecord) -> bool:
        """Whether all files of the case exist and are unchanged."""
        return bool(case.files) and all(self._sha256(name) == digest for name, digest in case.files.items())

    def write_case(self, stem: str, files: Mapping[str, bytes]) -> dict[str, str]:
        """Write a case's files; return their paths and digests.

        All are written before the first takes its place, so that the case's earlier files stay until the new ones are
        complete. Raises OSError.
        """
        targets = {self.path / f"{stem}{ending}": content for ending, content in files.items()}
        write_together(targets)
        return {f"{stem}{ending}": hashlib.sha256(content).hexdigest() for ending, content in files.items()}

    def keep_earlier(self, before: RunRecord, cases: Sequence[CaseRecord]) -> None:
        """Let each case have the unchanged files of an earlier run until it writes its own."""
        known = {case.name: case for case in before.cases}
        for case in cases:
            old = known.get(case.name)
            if not case.files and old is not None and self.is_done(old):
                case.files, case.files_from = dict(old.files), old.files_from or old.started or before.started

    def write_record(self, record: RunRecord) -> None:
        """Write ``run.json`` and the manifest. Raises OSError."""
        write(self.path / FILE_NAME, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        files = {name: digest for case in record.cases for name, digest in case.files.items()}
        manifest = {"version": VERSION, "sha256": dict(sorted(files.items()))}
        write(self.path / MANIFEST_NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")

    def remove_stale(self, before: RunRecord, now: RunRecord) -> None:
        """Delete the files of ``before`` that ``now`` does not have."""
        kept = {name for case in now.cases for name in case.files}
        root = self.path.resolve()
        for name in {name for case in before.cases for name in case.files} - kept:
            path = (root / name).resolve()
            if path.is_relative_to(root) and path != root:
                path.unlink(missing_ok=True)

    def _sha256(self, name: str) -> str:
        try:
            return hashlib.sha256((self.path / name).read_bytes()).hexdigest()
        except OSError:
            return ""


def load(folder: Path) -> RunRecord | None:
    """Return the record of a report's folder, or None if there is no readable one."""
    try:
        record = msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=RunRecord)
    except (OSError, msgspec.MsgspecError):
        return None
    return record if record.version == VERSION else None


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files so that either all have their new content, or all the content from before. Raises OSError."""
    staged: dict[Path, Path] = {}
    replaced: dict[Path, bytes | None] = {}
    try:
        for number, (target, content) in enumerate(files.items()):
            part = target.with_name(f".{target.name[:_SHOWN_CHARACTERS]}.{number}.new")
            staged[target] = part
            write(part, content)
        for target, part in staged.items():
            old = target.read_bytes() if target.exists() else None
            replace(part, target)
            replaced[target] = old
    except BaseException:
        for target, old in replaced.items():
            _put_back(target, old)
        for part in staged.values():
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        raise


def _put_back(target: Path, content: bytes | None) -> None:
    with contextlib.suppress(OSError):
        if content is None:
            target.unlink(missing_ok=True)
        else:
            write(target, content)


def write(target: Path, content: bytes) -> None:
    """Write a file atomically, with the permissions of a new file. Raises OSError."""
    write_atomic(target, content, mode=None)
