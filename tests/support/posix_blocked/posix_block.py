"""Take away what Windows lacks from the code of this project and of its tests; libraries keep what they have.

A library has an implementation for Windows that cannot run here, so only our own callers are refused. uvloop is refused
to everybody: uvicorn must do without. Nobody can delete or replace a file that is open in the process. Everything
reaches subprocesses through ``sitecustomize.py`` in this folder, which is kept in their PYTHONPATH.
"""

from __future__ import annotations

import asyncio
import asyncio.unix_events
import builtins
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # runs before pathlib is imported
OURS = frozenset({"svc", "svc_jupyter", "tests", "__main__", "conftest", "scripted", "scripted_tools"})
MODULES = frozenset({"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"})
ABSENT = {
    os: (
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "PRIO_PROCESS", "WNOHANG", "chown", "fchmod", "fchown",
        "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpriority",
        "getuid",
        "killpg", "lchown", "mkfifo", "mknod", "nice", "openpty", "pread", "pwrite", "register_at_fork",
        "sched_getaffinity", "setpgid", "setpriority", "setsid", "statvfs", "sysconf", "uname",
    ),
    signal: (
        "ITIMER_PROF", "ITIMER_REAL", "ITIMER_VIRTUAL", "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE",
        "SIGPROF", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGXFSZ", "alarm", "getitimer", "pause",
        "pthread_kill", "pthread_sigmask", "setitimer", "sigwait",
    ),
    select: ("epoll", "poll"),
    asyncio: ("open_unix_connection", "start_unix_server"),
}  # fmt: skip


def block() -> None:
    """Take it away, in this process and in those that it starts."""
    for module, names in ABSENT.items():
        _hide(module, names)
    _refuse_imports()
    _refuse_loop_methods()
    _replace_sockets()
    _keep_open_files()
    _reach_subprocesses()


def _is_ours(frame: FrameType | None) -> bool:
    return frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in OURS


def _hide(module: ModuleType, names: Iterable[str]) -> None:
    kept = {name: vars(module)[name] for name in names if name in vars(module)}
    before: Callable[[str], object] | None = vars(module).get("__getattr__")

    def find(name: str) -> object:
        if name in kept and not _is_ours(sys._getframe(1)):
            return kept[name]
        if name not in kept and before is not None:
            return before(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r} (it is blocked)")

    for name in kept:
        delattr(module, name)
    module.__getattr__ = find  # type: ignore[method-assign]


def _refuse_imports() -> None:
    usual = builtins.__import__

    def import_(name: str, *args: object, **kwargs: object) -> ModuleType:
        root = name.partition(".")[0]
        if root == "uvloop" or (root in MODULES and _is_ours(sys._getframe(1))):
            raise ModuleNotFoundError(f"No module named {name!r} (it is blocked)", name=name)
        return usual(name, *args, **kwargs)  # type: ignore[arg-type]

    builtins.__import__ = import_
    sys.modules["uvloop"] = None  # type: ignore[assignment]  # for importlib, too


def _refuse_loop_methods() -> None:
    loop = asyncio.unix_events._UnixSelectorEventLoop
    for name in ("add_reader", "remove_reader", "add_writer", "remove_writer", "add_signal_handler"):
        _refuse_method(loop, name)


def _refuse_method(kind: type, name: str) -> None:
    usual = getattr(kind, name)

    def refused(self: object, *args: object) -> object:
        if _is_ours(sys._getframe(1)):
            raise NotImplementedError
        return usual(self, *args)

    setattr(kind, name, refused)


def _replace_sockets() -> None:
    """Make pairs of sockets connections of loopback."""
    usual_pair = socket.socketpair

    def pair(*args: int) -> tuple[socket.socket, socket.socket]:
        if args or not _is_ours(sys._getframe(1)):
            return usual_pair(*args)  # type: ignore[arg-type]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            one = socket.create_connection(listener.getsockname())
            return one, listener.accept()[0]

    socket.socketpair = pair  # type: ignore[assignment]


def _keep_open_files() -> None:
    """Refuse to delete, rename or replace a file that this process has open, as Windows does."""
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # else it names files by descriptor
    for name in ("unlink", "remove", "rename", "replace"):
        _check_open(name)


def _check_open(name: str) -> None:
    usual = getattr(os, name)

    def checked(*paths: object, **kwargs: object) -> object:
        if not kwargs and not _is_library_of_locks(sys._getframe(1)):
            for path in paths:
                _refuse_if_open(path)
        return usual(*paths, **kwargs)

    setattr(os, name, checked)


def _is_library_of_locks(frame: FrameType | None) -> bool:
    """filelock deletes its files in one way here and in another on Windows."""
    for _ in range(4):
        if frame is None:
            return False
        if str(frame.f_globals.get("__name__", "")).startswith("filelock"):
            return True
        frame = frame.f_back
    return False


def _refuse_if_open(path: object) -> None:
    try:
        wanted = os.lstat(path)  # type: ignore[arg-type]
    except (OSError, TypeError, ValueError):
        return
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208  # not a path of anybody's
        try:
            found = os.fstat(int(number))
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            raise PermissionError(
                13, "The process cannot access the file because it is open (as on Windows)", str(path)
            )


def _reach_subprocesses() -> None:
    os.environ["PYTHONPATH"] = _with_folder(os.environ.get("PYTHONPATH", ""))
    usual = subprocess.Popen.__init__

    def start(self: object, args: object, *rest: object, **kwargs: object) -> None:
        environment = kwargs.get("env")
        if isinstance(environment, dict):
            kwargs["env"] = environment | {"PYTHONPATH": _with_folder(environment.get("PYTHONPATH", ""))}
        usual(self, args, *rest, **kwargs)  # type: ignore[arg-type]

    subprocess.Popen.__init__ = start  # type: ignore[method-assign, assignment]


def _with_folder(python_path: str) -> str:
    kept = [entry for entry in python_path.split(os.pathsep) if entry and entry != FOLDER]
    return os.pathsep.join([FOLDER, *kept])
