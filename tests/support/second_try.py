"""Tests that wait for other processes, sockets or browsers are tried once more if they fail, and never silently.

On a busy machine some of some thousands of them meet a pause that no product and no user would notice. What fails twice
in a row fails; the traceback of what failed once is printed at the end
of the run, to be explained.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.terminal import TerminalReporter

from tests.support.fast import FOLDERS, TESTS

_ALONE = tuple(TESTS / folder for folder in FOLDERS)


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark the tests outside of the folders whose tests start nothing."""
    for item in items:
        if not any(item.path.is_relative_to(folder) for folder in _ALONE):
            item.add_marker(pytest.mark.flaky(reruns=1))


def tell(reporter: TerminalReporter) -> None:
    """Print what failed at first and was tried again."""
    reports = reporter.stats.get("rerun", [])
    if reports:
        reporter.section("failed at first, and tried once more")
    for report in reports:
        reporter.write_line(f"{report.nodeid} ({report.when})")
        reporter.write_line(report.longreprtext)
