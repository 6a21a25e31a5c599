"""Start processes from multiprocessing's forkserver, which has imported the product's libraries once."""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.spawn
import multiprocessing.util
import tempfile

CONTEXT = multiprocessing.get_context("forkserver")
MAX_TEMP_CHARS = 70  # a Unix socket's path has at most 107 characters; multiprocessing adds 32


def choose_socket_folder() -> None:
    """Put the forkserver's socket into /tmp if TMPDIR is too long for a socket path; nothing else is affected."""
    if len(tempfile.gettempdir()) <= MAX_TEMP_CHARS:
        return
    before, tempfile.tempdir = tempfile.tempdir, "/tmp"  # noqa: S108  # multiprocessing creates a new folder of mode 0700 in it
    try:
        multiprocessing.util.get_temp_dir()  # created once per process, then reused
    finally:
        tempfile.tempdir = before


def start(process: multiprocessing.context.ForkServerProcess) -> None:
    """Start a process that does not import the program's main module, which takes longer than most tools.

    multiprocessing has no option for it: the main module is named in the preparation data.
    """
    prepared = multiprocessing.spawn.get_preparation_data

    def without_main(name: str) -> dict[str, object]:
        return {key: value for key, value in prepared(name).items() if not key.startswith("init_main_from_")}

    multiprocessing.spawn.get_preparation_data = without_main
    try:
        process.start()
    finally:
        multiprocessing.spawn.get_preparation_data = prepared


async def exit_code(process: multiprocessing.context.ForkServerProcess, seconds: float) -> int | None:
    """Wait for a process; returns its exit code, or None if it did not end in time."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
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
