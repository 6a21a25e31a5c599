"""Tools that wait, compute without end or find much, in a module of their own: a worker imports it in no time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from svc.assistant.findings import Coverage, Finding, Progress, ToolEvent
from svc.assistant.skills.cvss.findings import CvssBroken

_TITLE = "x" * 10_000


def wait(content: str, /, *, source: str, seconds: str) -> Iterator[ToolEvent]:
    """A tool that only waits."""
    time.sleep(float(seconds))
    yield Coverage(read_as="text", unit="byte", understood=len(content), total=len(content), looked_for="nothing")


def spin(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """A tool that says which process it is and never ends."""
    yield Progress(text=str(os.getpid()))
    while True:
        sum(range(1_000))


def flood(content: str, /, *, source: str, megabytes: str) -> Iterator[ToolEvent]:
    """A tool with so many megabytes of findings."""
    facts = CvssBroken(
        vector="", version="3.1", problems=["a"], at_fault=[], lowest_score=None, highest_score=2.5, count=1
    )
    for _ in range(int(megabytes) * 100):
        yield Finding(title=_TITLE, facts=facts)
