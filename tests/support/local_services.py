"""End local services that tests started."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from filelock import FileLock

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no signals: any of them kills


def local_service_pid(folder: Path) -> int:
    """The process that the folder's connection file names."""
    pid: int = json.loads((folder / "service.json").read_text(encoding="utf-8"))["pid"]
    return pid


def stop_local_service(folder: Path, signal_number: int = signal.SIGTERM) -> None:
    """End the local service of this folder, if it runs, and wait until it has gone."""
    try:
        os.kill(local_service_pid(folder), signal_number)
    except (FileNotFoundError, ProcessLookupError):
        return
    with FileLock(folder / "service.json.lock", timeout=20):
        pass
