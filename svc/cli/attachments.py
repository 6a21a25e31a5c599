"""What ``--attach`` names: files, folders, patterns, pipes such as ``<(zcat x)``; and files that a question names.

A file that is only a word of the question is never attached: the user gets a hint how to attach it.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from svc._folder_stream import archive_name
from svc.cli.stdin_file import stdin_file

STDIN = "-"
MAX_HINTS = 5
_MAX_WORDS = 2_000  # of a question, to look at
_WORD = re.compile(r"[^\s\"'`<>(){}\[\],;“”«»]+")
_MAGIC = re.compile(r"[*?\[]")


@contextmanager
def attachments(words: Sequence[str], *, is_stdin_wanted: bool) -> Iterator[list[tuple[Path, str]]]:
    """Yield the files to attach with their names; copies of what is piped in are deleted afterwards.

    Args:
        words: The values of ``--attach``.
        is_stdin_wanted: Attach what is piped in, if nothing else is attached.

    Raises:
        click.UsageError: A file cannot be found or read, or a pattern matches none.
    """
    found = [path for word in words if word != STDIN for path in paths_of(word)]
    is_explicit = STDIN in words
    with (
        stdin_file(is_explicit=is_explicit, is_wanted=is_stdin_wanted and not words) as piped,
        tempfile.TemporaryDirectory(prefix="svc-") as folder,
    ):
        paths = [_stored(path, Path(folder, str(number))) for number, path in enumerate(dict.fromkeys(found))]
        yield named([*paths, *([piped] if piped else [])])


def paths_of(word: str) -> list[Path]:
    """The files and folders that a value of ``--attach`` names: a path, or a pattern (``*``, ``?``, ``[…]``, ``**``).

    Raises:
        click.UsageError: There is none, or it cannot be read.
    """
    whole = Path(word).expanduser()
    if _exists(whole):
        return [_readable(whole)]
    if not _MAGIC.search(word):
        raise click.UsageError(f"--attach: {word} does not exist")
    found = [Path(name) for name in sorted(glob.glob(str(whole), recursive=True))]  # noqa: PTH207 - a Path cannot be absolute there
    if "**" in word:  # that matches folders and their files; each file is attached once
        found = [path for path in found if not path.is_dir()]
    if not found:
        raise click.UsageError(f"--attach: no file matches {word}")
    return [_readable(path) for path in found]


def named(files: Sequence[Path]) -> list[tuple[Path, str]]:
    """The names to attach files by: their own, after as many of their folders as make them different."""
    unique = list(dict.fromkeys(files))
    names = [_name(file, 0) for file in unique]
    most = max((len(file.absolute().parts) for file in unique), default=0)
    for parents in range(1, most):
        counts = Counter(names)
        names = [_name(file, parents) if counts[name] > 1 else name for file, name in zip(unique, names, strict=True)]
    return list(zip(unique, names, strict=True))


def unattached_files(question: str, attached: Sequence[str]) -> list[str]:
    """The words of a question that name a file here which is not among the names of the attached ones.

    A word counts if it has a dot or a folder, or is the whole question: a file "who" is no hint for "who got in".
    """
    candidates = dict.fromkeys(word.rstrip(".?!:") for word in _WORD.findall(question)[:_MAX_WORDS])
    found = [word for word in candidates if _is_named(word, question) and Path(word).name not in attached]
    return found[:MAX_HINTS]


def attach_hint(word: str) -> str:
    """The option that attaches a file, as a shell takes it."""
    return f'--attach "{word}"' if re.search(r"[^\w./~@%+=:-]", word) else f"--attach {word}"


def is_file_here(word: str) -> bool:
    """Whether a word of the command line or a question names something to attach.

    Network paths are never looked up: on Windows that alone would send the user's credentials there.
    """
    if not word or len(word) > 1_000 or "://" in word or word.startswith(("\\\\", "//")):
        return False
    return _exists(Path(word).expanduser())


def _is_named(word: str, question: str) -> bool:
    if not word.strip("./\\") or not (word == question.strip() or re.search(r"[./\\]", word)):
        return False
    return is_file_here(word) and (not Path(word).expanduser().is_dir() or bool(re.search(r"[/\\]", word)))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _readable(path: Path) -> Path:
    mode = path.stat().st_mode if path.exists() else 0
    if not os.access(path, os.R_OK):
        raise click.UsageError(f"--attach: {path} cannot be read. Check its permissions")
    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode):
        raise click.UsageError(f"--attach: {path} is a device or a socket. Attach a file, a folder or a pipe")
    return path


def _stored(path: Path, folder: Path) -> Path:
    """The path itself, or of a pipe a copy of what comes out of it: its size is needed first."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return path
    folder.mkdir(mode=0o700)
    copy = folder / (path.name if not path.name.isdecimal() else f"pipe-{path.name}")
    with path.open("rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def _name(file: Path, parents: int) -> str:
    name = archive_name(file) if file.is_dir() else file.name
    folders = [part for part in file.absolute().parts[:-1] if part not in (file.anchor, "/", "\\")]
    return "-".join([*folders[len(folders) - parents :], name]) if parents else name
