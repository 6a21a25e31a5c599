"""The tests for while one writes, ``pytest -m fast``: no kernel, no browser, no service, no process, a minute at most.

The mark is given by folder, not by hand. A test that has it proves that it deserves it: it fails if it starts a process
or opens a connection.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
CASES = 2  # of each parametrised test
FOLDERS = (
    "docs", "svc/assistant/analyst", "svc/assistant/file_types", "svc/assistant/knowledge", "svc/assistant/log_readers",
    "svc/assistant/sigma", "svc/assistant/skills",
)  # fmt: skip
_HAVE_PROCESSES = (
    *(f"svc/assistant/analyst/test_{name}.py" for name in ("analyst", "collections", "requested_formats")),
    *(f"docs/test_{name}.py" for name in ("build", "examples", "pre_commit", "readme", "schedulers")),
)
_STARTS_SOMETHING = {
    "browser", "chromium", "built", "installed", "client", "jupyter", "jupyterlab", "kernel", "shared_kernel",
    "local_state", "proxy", "scripted_local", "scripted_service", "service", "start_service",
}  # fmt: skip
_FORBIDDEN = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "socket.bind", "socket.connect"}


@cache
def is_outside(path: Path) -> bool:
    """Whether a file or folder of tests has no fast test, so that nobody needs to import it for them."""
    if not path.is_relative_to(TESTS) or path.name == "conftest.py":
        return False
    name = path.relative_to(TESTS).as_posix()
    is_on_the_way = path.is_dir() and any(f"{folder}/".startswith(f"{name}/") for folder in FOLDERS)
    is_inside = name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) or name in FOLDERS
    return name != "." and not is_on_the_way and (not is_inside or name in _HAVE_PROCESSES)


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark the fast ones: of each parametrised test the first cases."""
    cases: Counter[tuple[Path, str]] = Counter()
    for item in items:
        test = (item.path, getattr(item, "originalname", item.name))
        is_fast = (
            not is_outside(item.path)
            and not _STARTS_SOMETHING.intersection(getattr(item, "fixturenames", ()))
            and not any(item.get_closest_marker(name) for name in ("long", "slow"))
            and cases[test] < CASES
        )
        if is_fast:
            cases[test] += 1
            item.add_marker("fast")


class Guard:
    """Lets the test that runs start nothing, if it is a fast one."""

    def __init__(self) -> None:
        self.is_on = False
        sys.addaudithook(self._see)

    def _see(self, event: str, _: tuple[Any, ...]) -> None:
        if self.is_on and event in _FORBIDDEN:
            pytest.fail(f"a fast test must start nothing, and this one uses {event} (tests/support/fast.py)")
