"""One key does its worst, and another key's small questions are answered: ``tests/support/attacks.py``."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.attacks import ANALYST, ATTACKS, ask_meanwhile
from tests.support.live import ProcessService, live_process
from tests.support.sampling import sampled

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # the attacker's connections, cut in their handshake
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessService]:
    with live_process(tmp_path_factory.mktemp("neighbour"), ANALYST) as service:
        yield service


@pytest.mark.parametrize("attack", sampled(ATTACKS, 4))
async def test_another_key_is_answered_during_an_attack(service: ProcessService, attack: str):
    seconds = await ask_meanwhile(service, attack, questions=2, pause=0.0, warm_up=0.5, limit=60.0)
    assert len(seconds) == 2
    assert service.process.poll() is None


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("attack", ATTACKS)
async def test_how_long_another_key_waits_during_an_attack(tmp_path: Path, attack: str):
    with live_process(tmp_path, ANALYST) as service:
        seconds = await ask_meanwhile(service, attack, questions=20, pause=1.0, warm_up=3.0, limit=120.0)
    print({"attack": attack, "median": round(statistics.median(seconds), 2), "worst": round(max(seconds), 2)})
