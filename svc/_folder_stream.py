"""Bodies of uploads: a folder as one file, and bodies that report how much of them was sent.

A folder is a TAR that is produced while it is sent, so that it takes no space on disk. Links and devices are left out,
and folders on the way are not followed by links. A file that cannot be read is listed with the reason, so that the
answer can name it.
"""

from __future__ import annotations

import inspect
import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, TypeAlias, cast

from svc.errors import InvalidRequestError

UNREADABLE_FIELD = "SVC.unreadable"
"""PAX field of a member that could not be read: why. The service reads it (docs/collections.md, "Folders")."""
_PIECE_BYTES = 256 * 1024
_ANNOUNCED_BYTES = 1024 * 1024  # files of the kernel, whose size is not that of their content, are smaller
OnProgress = Callable[[int, int], None]
"""Called with the bytes sent and the bytes of the whole, in the thread that sends."""


FileContent: TypeAlias = bytes | bytearray | memoryview | str | os.PathLike[str] | IO[bytes] | IO[str]
"""What can be attached: content, text, a path, or an open file."""


class Upload(NamedTuple):
    """A file name, and the content or what opens it for each attempt to send it."""

    name: str
    body: bytes | Callable[[], BinaryIO]


def upload_of(name: str | FileContent, content: FileContent | None, on_progress: OnProgress | None) -> Upload:
    """What ``attach_file`` sends. Asks the disk whether a path is a folder.

    Raises:
        InvalidRequestError: The content cannot be attached, or it has no name.
    """
    if content is None:
        if isinstance(name, str | bytes | bytearray | memoryview):
            raise InvalidRequestError(
                "attach_file got a name without content. Pass both, or a Path or an open file; "
                "attach_file_from_disk takes a path as text.",
                param="content",
            )
        name, content = _own_name(name), name
    if not isinstance(name, str):
        raise InvalidRequestError(f"the file name is {_kind(name)}. Pass it as text.", param="name")
    return Upload(name, _body(content, on_progress))


def path_body(path: Path, on_progress: OnProgress | None) -> Callable[[], BinaryIO]:
    """What opens a file or a folder on disk."""
    return _counted(lambda: open_path(path), lambda: size_of_path(path), on_progress)


def _body(content: object, on_progress: OnProgress | None) -> bytes | Callable[[], BinaryIO]:
    if isinstance(content, os.PathLike):
        return path_body(Path(content).expanduser(), on_progress)
    if callable(getattr(content, "read", None)):
        _check_readable(content)
        source = _OpenFile(cast("IO[bytes] | IO[str]", content))
        return _counted(source.open, source.size, on_progress)
    if isinstance(content, str):
        data = content.encode("utf-8", errors="replace")
    elif isinstance(content, bytes | bytearray | memoryview):
        data = bytes(content)
    else:
        raise InvalidRequestError(
            f"the content is {_kind(content)}, which cannot be attached. Pass bytes, text, a path or an open file; "
            "convert data first, such as a DataFrame with to_csv().",
            param="content",
        )
    return data if on_progress is None else _counted(lambda: io.BytesIO(data), lambda: len(data), on_progress)


def _counted(
    opener: Callable[[], BinaryIO], size: Callable[[], int], on_progress: OnProgress | None
) -> Callable[[], BinaryIO]:
    return opener if on_progress is None else lambda: counted(opener, size, on_progress)


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _check_readable(file: object) -> None:
    problem = ""
    if inspect.iscoroutinefunction(getattr(file, "read", None)):
        problem = "is read asynchronously. Await its content and pass that, or pass its `file`"
    elif getattr(file, "closed", False):
        problem = "is closed. Pass it while it is open"
    elif not getattr(file, "readable", lambda: True)():
        problem = "is not open for reading. Open it with mode 'rb'"
    if problem:
        raise InvalidRequestError(f"the file ({_kind(file)}) {problem}.", param="content")


def _own_name(content: object) -> str:
    if isinstance(content, os.PathLike):
        path = Path(content).expanduser()
        return archive_name(path) if path.is_dir() else path.name
    name = getattr(content, "name", None)
    if isinstance(name, str) and Path(name).name:
        return Path(name).name
    raise InvalidRequestError(
        f"{_kind(content)} has no file name. Pass one first: attach_file(name, content).", param="name"
    )


class _OpenFile:
    """A user's open file. Each attempt reads it from its position at the start; it stays open."""

    def __init__(self, file: IO[bytes] | IO[str]) -> None:
        self._file = file
        self._start = file.tell() if self._can_seek() else None
        self._was_opened = False

    def _can_seek(self) -> bool:
        seekable = getattr(self._file, "seekable", None)
        return bool(seekable is not None and seekable())

    def open(self) -> BinaryIO:
        """The rest of the file as bytes."""
        if self._start is not None:
            self._file.seek(self._start)
        elif self._was_opened:
            raise InvalidRequestError(
                "the upload was interrupted, and this file cannot be read from its start again. Attach it by its path, "
                "or its content as bytes.",
                param="content",
            )
        self._was_opened = True
        return cast(BinaryIO, io.BufferedReader(_Borrowed(self._file), _PIECE_BYTES))

    def size(self) -> int:
        """The bytes to read, as far as they are known; of text about the number of characters."""
        if self._start is None:
            return 0
        end = self._file.seek(0, io.SEEK_END)
        self._file.seek(self._start)
        return max(0, end - self._start)


class _Borrowed(io.RawIOBase):
    """Reads another's file, whose closing is not its business."""

    def __init__(self, file: IO[bytes] | IO[str]) -> None:
        self._file = file
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            piece = self._file.read(len(buffer))
            self._rest = piece.encode("utf-8", errors="replace") if isinstance(piece, str) else piece or b""
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def archive_name(folder: Path) -> str:
    """The name under which a folder is attached: ``case.tar``."""
    return f"{folder.resolve().name or 'folder'}.tar"


def open_path(path: Path) -> BinaryIO:
    """Open a file, or a folder as a TAR.

    Raises:
        OSError: It cannot be read.
        InvalidRequestError: The folder contains no file.
    """
    if not path.is_dir():
        return _open_file(path)
    files = list(_files(path))
    if not files:
        raise InvalidRequestError(f"{path} contains no file. Attach a folder with files in it.")
    return cast(BinaryIO, io.BufferedReader(_TarStream(path, files), _PIECE_BYTES))


def _open_file(path: Path) -> BinaryIO:
    file = path.open("rb")
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode) or state.st_size < _ANNOUNCED_BYTES:
        return file
    return cast(BinaryIO, _SizedFile(file, path.name, state.st_size))


class _SizedFile(io.RawIOBase):
    """A file as long as it was when it was opened, because ``length`` is announced: a log may grow meanwhile."""

    def __init__(self, file: BinaryIO, name: str, length: int) -> None:
        self._file = file
        self._name = name
        self.length: int = length
        self._left = length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._file.read(min(len(buffer), self._left))
        if self._left and not piece and len(buffer):
            raise InvalidRequestError(
                f"{self._name} became shorter while it was sent: {self._left:,} of {self.length:,} bytes are gone. "
                "Attach it again, or a copy of it.",
                param="content",
            )
        buffer[: len(piece)] = piece
        self._left -= len(piece)
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()


def length_of(body: object) -> int | None:
    """Return how many bytes a body has, if that is certain: a file on disk; None for anything else."""
    length = getattr(body, "length", None)
    return length if isinstance(length, int) else None


def size_of_path(path: Path) -> int:
    """The bytes that ``open_path`` gives; of a folder, about: a file may change, and long names take more.

    Raises OSError if it cannot be read.
    """
    if not path.is_dir():
        return path.stat().st_size
    sizes = (file.lstat().st_size for file, problem in _files(path) if not problem)
    block = tarfile.BLOCKSIZE
    return sum(block + -(-size // block) * block for size in sizes) + 2 * block


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """The regular files below a folder in the order of their names, each with "" or why it cannot be listed."""
    problems: list[OSError] = []
    for root, folders, names in os.walk(folder, onerror=problems.append):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path, ""
        while problems:
            problem = problems.pop()
            yield Path(problem.filename or root), problem.strerror or "it cannot be listed"


class _TarStream(io.RawIOBase):
    """The TAR's bytes, as they are read."""

    def __init__(self, folder: Path, files: list[tuple[Path, str]]) -> None:
        self._pieces = _tar(folder, files)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _tar(folder: Path, files: list[tuple[Path, str]]) -> Iterator[bytes]:
    for path, problem in files:
        yield from _member(path, path.relative_to(folder).as_posix(), problem)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _member(path: Path, name: str, problem: str) -> Iterator[bytes]:
    info = tarfile.TarInfo(name.encode(errors="replace").decode())
    try:
        if problem:
            raise PermissionError(0, problem)
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            info.size, info.mtime, info.mode = state.st_size, int(state.st_mtime), state.st_mode & 0o777
            yield info.tobuf(tarfile.PAX_FORMAT)
            yield from _content(file, info.size)
    except OSError as error:
        info.pax_headers = {UNREADABLE_FIELD: error.strerror or type(error).__name__}
        info.size = 0
        yield info.tobuf(tarfile.PAX_FORMAT)


def _content(file: io.BufferedReader, size: int) -> Iterator[bytes]:
    """Exactly ``size`` bytes and the padding: a log may grow or shrink while it is read."""
    left = size
    while left and (piece := _read(file, min(left, _PIECE_BYTES))):
        left -= len(piece)
        yield piece
    while left:
        piece = bytes(min(left, _PIECE_BYTES))
        left -= len(piece)
        yield piece
    yield bytes(-size % tarfile.BLOCKSIZE)


def _read(file: io.BufferedReader, size: int) -> bytes:
    """The next bytes, or b"" if the file can no longer be read; its header has been sent by then."""
    try:
        return file.read(size)
    except OSError:
        return b""


class _CountedBody:
    def __init__(self, body: BinaryIO, total: int, on_progress: OnProgress) -> None:
        self._body = body
        self._total = total
        self._on_progress = on_progress
        self._sent = 0
        self.length: int | None = length_of(body)

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes; those before were sent."""
        self._on_progress(min(self._sent, self._total), self._total)
        piece = self._body.read(size)
        self._sent += len(piece)
        if not piece:
            self._on_progress(self._total, self._total)
        return piece

    def close(self) -> None:
        """Close the body."""
        self._body.close()


def counted(open_body: Callable[[], BinaryIO], size: Callable[[], int], on_progress: OnProgress) -> BinaryIO:
    """Open a body whose reads are reported. Raises what opening it raises, OSError for example."""
    body = open_body()
    try:
        return cast(BinaryIO, _CountedBody(body, size(), on_progress))
    except OSError:
        body.close()
        raise
