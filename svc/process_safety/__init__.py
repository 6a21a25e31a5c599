"""What every process of ours must not do: write its memory to a core dump, or import from the working folder.

``private_files.py`` keeps other users out of its files.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Mapping

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def forbid_core_dumps() -> None:
    """Keep this process's memory out of core dumps: it holds questions and files that must not reach the disk.

    The limit is inherited by child processes. It does not bind a handler that the kernel pipes dumps to, such as
    systemd-coredump; on Linux, a process that is not dumpable is given to none, and no other process of the same user
    can read its memory. That ends with ``exec``, so each program calls this itself.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows; a lower hard limit
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # a C library without it
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def child_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a Python process of ours: PYTHONPATH has no folder that depends on where it runs."""
    kept = dict(environment)
    if "PYTHONPATH" in kept:
        entries = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(entry for entry in entries if os.path.isabs(entry))  # noqa: PTH117
        if not kept["PYTHONPATH"]:
            del kept["PYTHONPATH"]
    return kept


def interpreter() -> tuple[str, dict[str, str]]:
    """Return the program that runs this Python, and the environment of a process of ours.

    In a virtual environment of Windows ``sys.executable`` starts another process, which is not the one that a PID
    would then name. The interpreter itself finds the environment by a variable, as in multiprocessing.
    """
    environment = child_environment()
    program = sys.executable
    original = getattr(sys, "_base_executable", program)
    if sys.platform == "win32" and original and os.path.normcase(original) != os.path.normcase(program):
        environment["__PYVENV_LAUNCHER__"] = program
        program = original
    return program, environment


def protect_children() -> None:
    """Let child processes, such as multiprocessing's, import nothing from the folder that this process runs in."""
    kept = child_environment()
    os.environ["PYTHONSAFEPATH"] = "1"
    if "PYTHONPATH" in os.environ:
        os.environ["PYTHONPATH"] = kept.get("PYTHONPATH", "")
