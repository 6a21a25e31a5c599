"""A tool that only waits, in a module of its own: a worker imports it in no time."""

from __future__ import annotations

import time
from collections.abc import Iterator

from svc.assistant.findings import Coverage, ToolEvent


def wait(content: str, /, *, source: str, seconds: str) -> Iterator[ToolEvent]:
    """A tool that only waits."""
    time.sleep(float(seconds))
    yield Coverage(read_as="text", unit="byte", understood=len(content), total=len(content), looked_for="nothing")
