"""Which tests share a process, in which order, and how many processes a run has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).parents[1]
IN_JUPYTERLAB = "in JupyterLab"  # these share one Chromium and one JupyterLab
IN_BROWSER = "in a browser"  # these share one Chromium
_TOGETHER = {
    IN_JUPYTERLAB: ("tests/lab/", "tests/adversarial/test_jupyterlab.py"),
    IN_BROWSER: (
        "tests/browser/", "tests/adversarial/test_pages.py", "tests/svc_jupyter/report/test_hostile_page_in_browser.py",
    ),
}  # fmt: skip
_LONGEST_FIRST = (  # a long file that begins last keeps one processor busy while the others have nothing left to do
    *_TOGETHER[IN_JUPYTERLAB], *_TOGETHER[IN_BROWSER], "tests/labextension/", "tests/docs/test_build.py",
    "tests/test_packaging.py", "tests/packaging/", "tests/test_without_posix.py", "tests/docs/test_examples.py",
    "tests/svc_jupyter/", "tests/notebooks/", "tests/svc/cli/", "tests/svc/service/", "tests/svc/test_",
    "tests/svc/assistant/skills/events/test_exports.py", "tests/svc/assistant/skills/decode/test_tool.py",
    "tests/docs/",
)  # fmt: skip
_FEW_FILES = 8
_MOST_PROCESSES = 8


def scope_of(nodeid: str) -> str:
    """Tests of one scope run in one process, one after another: those of a file, or all that share a browser."""
    path = nodeid.split("::", 1)[0]
    return next((scope for scope, starts in _TOGETHER.items() if path.startswith(starts)), path)


def rank_of(nodeid: str) -> int:
    """The place of a test among the scopes: the longest come first."""
    return next((rank for rank, start in enumerate(_LONGEST_FIRST) if nodeid.startswith(start)), len(_LONGEST_FIRST))


class ScopeScheduling(LoadScopeScheduling):
    """Give each process whole scopes, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def processes_for(arguments: Sequence[str], root: Path, *, is_watched: bool) -> int:
    """How many processes a run has: 0, this one, for few files or for somebody who watches.

    Else one more than there are processors, because tests also wait for services and kernels that they started.
    """
    named = [root / argument.split("::", 1)[0] for argument in arguments]
    files = [file for path in named for file in ([path] if path.is_file() else path.rglob("test_*.py"))]
    if is_watched or len({scope_of(file.relative_to(TESTS.parent).as_posix()) for file in files}) < _FEW_FILES:
        return 0
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable + 1, _MOST_PROCESSES) if usable > 1 else 0


def is_watched(config: pytest.Config) -> bool:
    """Whether somebody sits before it: at a debugger, at the output, or at what failed last time."""
    names = ("usepdb", "trace", "lf", "failedfirst", "stepwise", "setupplan", "setuponly")
    return config.option.capture == "no" or any(config.getoption(name, default=False) for name in names)
