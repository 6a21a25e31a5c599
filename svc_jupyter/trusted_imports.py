"""Import svc-jupyter and its libraries from the environment, never from the notebook's folder.

A kernel searches the notebook's folder before the installed packages, and its author may have put a
``svc_jupyter.py`` or ``httpx2.py`` into it. There are two uses:

- JupyterLab sends the source of this file to the kernel when the user connects the chat, and calls ``connect``.
- The loaded extension does its work inside ``trusted()``. Code of the user's, such as tools, runs outside of it.

As a script it has nothing but the interpreter's own modules, which are loaded before any folder is searched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, PathFinder

_NAMES = ("svc", "svc_jupyter")
_AT_START = ("sitecustomize", "usercustomize")
_is_trusted: ContextVar[bool] = ContextVar("svc_trusted_imports", default=False)


class WorkingFolderError(ImportError):
    """What the chat needs is, or was, imported from the notebook's folder."""


def working_folders() -> list[str]:
    """Return the folders that hold the user's files: the kernel's, now and at its start, and the notebook's."""
    folders = {os.path.dirname(os.environ.get("JPY_SESSION_NAME", ""))}
    with suppress(OSError):  # it was deleted
        folders.add(os.getcwd())
    shell = getattr(sys.modules.get("IPython.core.interactiveshell"), "InteractiveShell", None)
    folders.add(getattr(getattr(shell, "_instance", None), "starting_dir", "") or "")
    return [os.path.realpath(folder) for folder in folders if os.path.isabs(folder)]


class Places:
    """Tells what may be imported: everything but the working folders, except for the interpreter's own packages there.

    ``trusted`` are further folders that may be used, wherever they are.
    """

    def __init__(self, trusted: tuple[str, ...] = ()) -> None:
        self._folders = working_folders()
        self._trusted = tuple(trusted)
        self._installed = [os.path.realpath(path) for path in _installed() if path]

    def allow(self, path: object) -> bool:
        """Whether a file or folder may be imported from."""
        if not isinstance(path, str) or not os.path.isabs(path):
            return False
        real = os.path.realpath(path)
        if any(_is_in(real, place) for place in (*self._installed, *self._trusted)):
            return True
        return not any(_is_in(real, folder) for folder in self._folders)

    def search(self) -> list[str]:
        """Return the folders of ``sys.path`` that may be used."""
        kept = [entry for entry in sys.path if self.allow(entry)]
        return kept + [place for place in self._trusted if place not in kept]


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _installed() -> list[str]:
    """Return the folders of the interpreter's own modules and of its site-packages; a home folder may hold them."""
    site = sys.modules.get("site")
    users = site.getusersitepackages() if site and site.ENABLE_USER_SITE else ""
    packages = site.getsitepackages() if site else []
    return [os.path.dirname(os.__file__), users, *packages]


def find(name: str, path: Sequence[str] | None, places: Places) -> ModuleSpec | None:
    """Return the spec of a module as the import system finds it in the places that may be used, or None."""
    for finder in sys.meta_path:
        if finder is PathFinder or type(finder).__name__ == TrustedFinder.__name__:  # also of another copy of this file
            spec = PathFinder.find_spec(name, places.search() if path is None else [*filter(places.allow, path)])
        else:
            spec = finder.find_spec(name, path) if hasattr(finder, "find_spec") else None
        if spec is not None and (not spec.has_location or places.allow(spec.origin)):
            return spec
    return None


class TrustedFinder:
    """Takes the place of the import system's ``PathFinder``: the same outside of ``trusted()``.

    It says "not found" as every finder does, since libraries look for optional modules without importing them.
    """

    def __getattr__(self, name: str) -> object:
        """Have what ``PathFinder`` has at this moment: ``importlib_metadata`` takes its ``find_distributions`` away."""
        return getattr(PathFinder, name)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """See ``importlib.abc.MetaPathFinder``."""
        if _is_trusted.get():
            if path is None:
                path = Places(_own_place()).search()
            elif not getattr(sys.modules.get(name.rpartition(".")[0]), "__file__", None):
                path = [*filter(Places(_own_place()).allow, path)]  # a namespace package may be in several folders
        return PathFinder.find_spec(name, path, target)  # type: ignore[arg-type]


FINDER = TrustedFinder()


def install() -> None:
    """Make ``trusted`` effective; may be repeated."""
    if PathFinder in sys.meta_path:
        sys.meta_path[sys.meta_path.index(PathFinder)] = FINDER


@contextmanager
def trusted() -> Iterator[None]:
    """Import nothing from the working folder in this block, and in what it starts with its context."""
    before = _is_trusted.get()
    _is_trusted.set(True)
    try:
        yield
    finally:
        _is_trusted.set(before)


@contextmanager
def as_usual() -> Iterator[None]:
    """Import as the user's own code does."""
    before = _is_trusted.get()
    _is_trusted.set(False)
    try:
        yield
    finally:
        _is_trusted.set(before)


def trust_thread() -> None:
    """Make the rest of this thread ``trusted``: a new thread does not inherit it."""
    _is_trusted.set(True)


def _own_place() -> tuple[str, ...]:
    """Where this package was imported from: if that is the working folder, its developer chose so."""
    file = getattr(sys.modules.get("svc_jupyter"), "__file__", None)
    return (os.path.dirname(os.path.dirname(os.path.realpath(file))),) if file else ()


def check_loaded(places: Places) -> None:
    """Raise WorkingFolderError if a module of the working folder is loaded under the name of an installed one."""
    for name, module in list(sys.modules.items()):
        file = getattr(getattr(module, "__spec__", None), "origin", None) or getattr(module, "__file__", None)
        if not isinstance(file, str) or not os.path.isabs(file) or places.allow(file):
            continue
        if name in _AT_START:
            raise WorkingFolderError(
                f"Python ran {file} when the kernel started, because the notebook's folder is in PYTHONPATH. "
                "Remove it from PYTHONPATH and restart the kernel."
            )
        top = name.partition(".")[0]
        if top in _NAMES or (top == name and find(name, None, places) is not None):
            raise WorkingFolderError(
                f"{name} was imported from {file}, which is in this notebook's folder. The chat uses only installed "
                "packages. Rename the file and restart the kernel; to develop svc-jupyter, open a notebook elsewhere."
            )


@contextmanager
def _searching(places: Places) -> Iterator[None]:
    """Leave the working folders out of ``sys.path`` in this block, which must be short: other threads see it."""
    before = sys.path[:]
    sys.path[:] = places.search()
    try:
        yield
    finally:
        sys.path[:] = before


@contextmanager
def _checked() -> Iterator[None]:
    """Import svc-jupyter in this block from outside the working folder, and nothing else from there.

    Raises:
        WorkingFolderError: It is only there, or something of that folder is in the way.
        ModuleNotFoundError: It is nowhere.
    """
    places = Places()
    check_loaded(places)
    if find("svc_jupyter", None, places) is None:
        spec = PathFinder.find_spec("svc_jupyter", [*working_folders(), *sys.path])
        if spec is None:
            raise ModuleNotFoundError("No module named 'svc_jupyter'", name="svc_jupyter")
        raise WorkingFolderError(
            f"svc_jupyter is only in this notebook's folder ({spec.origin}), from which it is never loaded. "
            "Install svc-jupyter in this kernel's environment; to develop it, open a notebook elsewhere."
        )
    with _searching(places):  # this file as a module: it imports nothing that is not loaded
        installed = __import__("svc_jupyter.trusted_imports", fromlist=["trusted"])
    installed.install()
    with installed.trusted():
        yield


def connect() -> None:
    """Register the comm target of the chat. Raises as ``_checked``."""
    with _checked():
        module = __import__("svc_jupyter.panel.comm_target", fromlist=["register"])
        check_loaded(Places())
        module.register()


def remember_secrets(values: list[str]) -> None:
    """Pass a report's secrets to the kernel's svc-jupyter, which does not store them; nothing without svc-jupyter."""
    try:
        with _checked():
            __import__("svc_jupyter.answers.named_secrets", fromlist=["remember"]).remember(values)
    except ModuleNotFoundError as error:
        if error.name != "svc_jupyter":
            raise


def run_report(notebook: str) -> int:
    """Run ``svc report run`` on the notebook, print its progress, and return its exit code."""
    places = Places()
    with _searching(places):
        subprocess = __import__("subprocess")
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(entry for entry in entries if places.allow(entry))
    code = "from svc.cli.main import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-P", "-c", code, "report", "run", "--", notebook],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    for line in running.stdout:
        print(line, end="", flush=True)
    return int(running.wait())
