"""Real kernels on a local service with a scripted assistant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels import Kernel

SCRIPTED = Path(__file__).parents[1] / "svc"  # scripted_assistants.py


@pytest.fixture
def scripted_local(local_state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local service of the test's own that answers by script, not started yet: its state folder."""
    monkeypatch.setenv("SVC_LOCAL_SERVE_ARGS", "--assistant scripted_assistants:Scripted")
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTED))
    return local_state


@pytest.fixture
def kernel(scripted_local: Path, tmp_path: Path) -> Iterator[Kernel]:
    """A kernel whose questions go to the scripted local service."""
    with Kernel(tmp_path / "kernel") as kernel:
        yield kernel
