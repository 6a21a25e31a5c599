"""Start processes: from multiprocessing's forkserver, which has imported the product's libraries once, or by spawning.

Windows has no forkserver: there each process imports what it needs. ``SVC_WORKERS=spawn`` does the same elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.process
import multiprocessing.spawn
import multiprocessing.util
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, get_args

from svc.errors import ConfigError

Process = multiprocessing.process.BaseProcess

VARIABLE = "SVC_WORKERS"
StartMethod = Literal["forkserver", "spawn"]
MAX_TEMP_CHARS = 70  # a Unix socket's path has at most 107 characters; multiprocessing adds 32
_ONE_START = threading.Lock()  # a start changes multiprocessing for its duration


def start_method(environment: Mapping[str, str] = os.environ) -> StartMethod:
    """How processes start here: as ``SVC_WORKERS`` says, else by the forkserver if the platform has one.

    Raises:
        ConfigError: The variable names a method that the platform lacks.
    """
    named = environment.get(VARIABLE, "").strip()
    methods: list[StartMethod] = [method for method in get_args(StartMethod) if method in available_methods()]
    if named in get_args(StartMethod) and named not in methods:
        raise ConfigError(f"{VARIABLE}={named} is not possible on this platform; it must be {' or '.join(methods)}")
    return next((method for method in methods if method == named), methods[0])


def available_methods() -> list[str]:
    """The start methods of multiprocessing on this platform."""
    return multiprocessing.get_all_start_methods()


class Starter:
    """Starts processes by one method.

    Args:
        preload: Modules that a process has imported before its first job.
    """

    def __init__(self, preload: tuple[str, ...] = ()) -> None:
        self._preload = preload
        self._method = start_method()
        self._context = multiprocessing.get_context(self._method)
        # of a spawned process, which nothing else lets import them ahead of its first job
        self.child_imports: tuple[str, ...] | tuple[()] = preload if self._method == "spawn" else ()

    def prepare(self) -> None:
        """Say what the forkserver imports; no process starts yet."""
        if self._method == "forkserver":
            _choose_socket_folder()
            self._context.set_forkserver_preload(list(self._preload))

    def process(self, target: Callable[..., object], *args: object) -> Process:
        """Make a process that is not started yet."""
        made: Process = self._context.Process(target=target, args=args, daemon=True)  # type: ignore[attr-defined]
        return made


def _choose_socket_folder() -> None:
    """Put the forkserver's socket into /tmp if TMPDIR is too long for a socket path; nothing else is affected."""
    if len(tempfile.gettempdir()) <= MAX_TEMP_CHARS:
        return
    before, tempfile.tempdir = tempfile.tempdir, "/tmp"  # noqa: S108  # multiprocessing creates a new folder of mode 0700 in it
    try:
        multiprocessing.util.get_temp_dir()  # created once per process, then reused
    finally:
        tempfile.tempdir = before


def start(process: Process) -> None:
    """Start a process that does not import the program's main module, which takes longer than most tools.

    multiprocessing has no option for it: the main module is named in the preparation data.

    Raises:
        RuntimeError: This process is daemonic, as the children of a ``multiprocessing.Pool`` are.
    """
    if multiprocessing.process.current_process().daemon:
        raise RuntimeError("a daemonic process cannot start others; run this in one that was started with daemon=False")
    with _ONE_START, _interrupts_blocked():
        prepared = multiprocessing.spawn.get_preparation_data

        def without_main(name: str) -> dict[str, object]:
            return {key: value for key, value in prepared(name).items() if not key.startswith("init_main_from_")}

        multiprocessing.spawn.get_preparation_data = without_main
        try:
            process.start()
        finally:
            multiprocessing.spawn.get_preparation_data = prepared


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """What is started here never sees Ctrl-C, which a terminal sends to all: its owner stops it in order.

    A process ignores interrupts itself, but only after its imports, which take seconds.
    """
    if sys.platform == "win32" or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its own start ends with interrupts allowed
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def connect(ours: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The streams of our end of a pair of sockets: Unix sockets, but on Windows a connection of loopback."""
    if sys.platform != "win32" and ours.family == socket.AF_UNIX:
        return await asyncio.open_unix_connection(sock=ours)
    return await asyncio.open_connection(sock=ours)


async def exit_code(process: Process, seconds: float) -> int | None:
    """Wait for a process; returns its exit code, or None if it did not end in time."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        loop.add_reader(process.sentinel, ended.set)
    except NotImplementedError:  # Windows: the sentinel is a handle of the process
        if not await asyncio.to_thread(multiprocessing.connection.wait, [process.sentinel], seconds):
            return None
    else:
        try:
            async with asyncio.timeout(seconds):
                await ended.wait()
        except TimeoutError:
            return None
        finally:
            loop.remove_reader(process.sentinel)
    process.join()
    code = process.exitcode
    process.close()
    return code
