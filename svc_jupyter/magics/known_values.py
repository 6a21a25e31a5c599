"""What completion may offer: the user's variables, paths for ``--attach``, sessions. Imported with the first Tab."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from svc_jupyter.magics.magics import SvcMagics

MAX_PATHS = 500  # more are of no use in a list
SESSION_SECONDS = 1.0  # for the service to list them; the next Tab shows what came later
LABEL_CHARS = 60
_NO_VALUES = (ModuleType, FunctionType, BuiltinFunctionType, MethodType, type)
_ATTACHABLE = (str, bytes, bytearray, list, tuple, Mapping, os.PathLike)
_NEEDS_QUOTES = re.compile(r"[\s\"']")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def variables(shell: InteractiveShell) -> list[str]:
    """Return the names of the user's variables; modules, functions and IPython's own names are left out."""
    names = shell.user_ns
    hidden = shell.user_ns_hidden
    return sorted(
        name
        for name, value in list(names.items())
        if not name.startswith("_")
        and not (name in hidden and hidden[name] is value)
        and not isinstance(value, _NO_VALUES)
    )


def attachable(shell: InteractiveShell) -> list[str]:
    """Return the names of variables whose values ``--attach`` takes."""
    return [name for name in variables(shell) if _is_attachable(shell.user_ns.get(name))]


def _is_attachable(value: object) -> bool:
    return isinstance(value, _ATTACHABLE) or (hasattr(type(value), "to_csv") and hasattr(value, "shape"))


def paths(fragment: str) -> list[str]:
    """Return the paths that the beginning of a value of ``--attach`` may become, quoted if necessary."""
    quote = fragment[:1] if fragment[:1] in ("'", '"') else ""
    typed = fragment[len(quote) :]
    folder, _, start = typed.rpartition("/")
    folder = f"{folder}/" if "/" in typed else ""
    try:
        with os.scandir(Path(folder or ".").expanduser()) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if _may_follow(entry.name, start))
    except (OSError, RuntimeError, ValueError):  # no such folder, no such user, a NUL
        return []
    written = (_written(f"{folder}{name}", quote, is_folder=is_folder) for name, is_folder in found[:MAX_PATHS])
    return [text for text in written if text]


def _may_follow(name: str, start: str) -> bool:
    return name.startswith(start) and (not name.startswith(".") or start.startswith(".")) and not _CONTROL.search(name)


def _written(path: str, quote: str, *, is_folder: bool) -> str:
    """The path as a value; "" if no quoting can write it. A folder's quote stays open, so that Tab can go on."""
    path = f"./{path}" if path.startswith(("-", "{")) and not quote else path
    if not quote and _NEEDS_QUOTES.search(path):
        quote = "'" if '"' in path else '"'
    if quote and quote in path:
        return ""
    return f"{quote}{path}/" if is_folder else f"{quote}{path}{quote}"


def sessions(magics: SvcMagics) -> Iterable[tuple[str, str]]:
    """Return the IDs of the user's sessions with what they are about; asks the service if none is known yet."""
    from svc.untrusted.characters import one_line

    kernel = magics.kernel
    if not kernel.known_sessions:
        asking = threading.Thread(target=_ask, args=(magics,), name="svc-completion", daemon=True)
        asking.start()
        asking.join(SESSION_SECONDS)
    return [
        (session.id, one_line(" · ".join(filter(None, (session.name, session.title))), limit=LABEL_CHARS) or "session")
        for session in kernel.known_sessions
    ]


def _ask(magics: SvcMagics) -> None:
    from svc import SvcError
    from svc.client import newest_first
    from svc_jupyter.trusted_imports import trust_thread

    trust_thread()
    try:
        magics.kernel.known_sessions = tuple(newest_first(magics.kernel.client(magics.ask_options()).list_sessions()))
    except (SvcError, OSError):  # completion offers nothing; the command says why
        return
