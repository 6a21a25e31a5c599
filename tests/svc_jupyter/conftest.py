"""Real kernels on a local service with a scripted assistant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ASSISTANTS
from tests.support.kernels import Kernel
from tests.support.local_services import stop_local_service

SCRIPTED = {
    "SVC_LOCAL_SERVE_ARGS": "--assistant scripted_assistants:Scripted",
    "PYTHONPATH": str(ASSISTANTS),
}
NOT_CONFIGURED = {"SVC_API_KEY": "", "SVC_BASE_URL": "", "SVC_WS_URL": ""}


@pytest.fixture(autouse=True, scope="session")
def no_state_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The key of stored answers is in the state folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        patch.delenv("SVC_ANSWERS_KEY_FILE", raising=False)
        yield


@pytest.fixture
def scripted_local(local_state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own local service, which answers by script, not started yet: its state folder."""
    for name, value in SCRIPTED.items():
        monkeypatch.setenv(name, value)
    return local_state


@pytest.fixture
def kernel(scripted_local: Path, tmp_path: Path) -> Iterator[Kernel]:
    """A kernel whose questions go to the scripted local service."""
    with Kernel(tmp_path / "kernel") as kernel:
        yield kernel


@pytest.fixture(scope="module")
def shared_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for the tests of a module that ask nothing of its session."""
    folder = tmp_path_factory.mktemp("shared")
    with Kernel(folder / "kernel", {**SCRIPTED, **NOT_CONFIGURED, "SVC_STATE_DIR": str(folder / "state")}) as kernel:
        yield kernel
    stop_local_service(folder / "state")
