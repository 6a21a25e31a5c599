"""A clock that jumps: nothing is erased, no session ends, no key is locked out; and time goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from svc.service.clock import MAX_DOWN_SECONDS, SavedClock, SteadyClock
from svc.service.settings import Settings
from tests.support.assistants.scripted import Echo
from tests.support.live import ThreadService, wait_until
from tests.support.wire_client import register

NOW = 1_800_000_000.0
YEAR = 365 * 86_400.0
GRACE = 3_600.0


class Time:
    """A wall clock that may be set, and the seconds that pass whatever it says."""

    def __init__(self) -> None:
        self.wall = NOW
        self.elapsed = 500.0

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.elapsed += seconds

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall, lambda: self.elapsed, grace_seconds=GRACE)


@pytest.mark.parametrize("jump", [10 * YEAR, -10 * YEAR, 120.0, -120.0, 86_400.0])
def test_a_jump_is_not_believed_before_its_grace_period_is_over(jump: float):
    time = Time()
    clock = time.clock()
    time.wall += jump
    assert (clock.steady(), clock.is_settled) == (NOW, False)
    assert clock.expiry() == min(NOW, NOW + jump)
    assert clock.stamp() == max(NOW, NOW + jump)
    time.pass_(GRACE - 1)
    assert (clock.steady(), clock.is_settled) == (NOW + GRACE - 1, False)
    time.pass_(2)
    clock.steady()
    assert (clock.steady(), clock.is_settled) == (time.wall, True)


@pytest.mark.parametrize("step", [0.0, 5.0, -5.0, 59.0, -59.0])
def test_small_corrections_are_followed(step: float):
    time = Time()
    clock = time.clock()
    time.pass_(100)
    time.wall += step
    assert (clock.steady(), clock.is_settled) == (time.wall, True)


def test_a_clock_that_is_put_right_again_has_cost_nothing_but_the_grace_period():
    time = Time()
    clock = time.clock()
    time.wall += 10 * YEAR
    clock.steady()
    time.pass_(60)
    time.wall -= 10 * YEAR
    assert (clock.steady(), clock.stamp(), clock.expiry(), clock.is_settled) == (*[NOW + 60] * 3, False)
    time.pass_(GRACE + 1)
    assert clock.is_settled


def test_time_goes_on_while_the_clock_is_not_believed():
    """What ends in ten minutes ends in ten minutes, whatever the wall clock says."""
    time = Time()
    clock = time.clock()
    time.wall -= 10 * YEAR
    clock.steady()
    time.pass_(600)
    assert clock.steady() == NOW + 600


@pytest.mark.parametrize("seed", range(40))
def test_repeated_jumps_never_reach_the_steady_time(seed: int):
    """Jumps by up to twenty years, again before each grace period is over, and restarts in between."""
    chance = random.Random(seed)
    time = Time()
    clock = time.clock()
    true = NOW
    for _ in range(50):
        if chance.random() < 0.3:
            saved = clock.save()
            clock = time.clock()
            clock.resume(saved)
        time.wall = true + chance.choice([-1, 1]) * chance.uniform(20 * 86_400, 20 * YEAR)
        seconds = chance.uniform(0, GRACE * 0.9)
        before = clock.steady()
        time.pass_(seconds)
        true += seconds
        assert clock.steady() == pytest.approx(before + seconds)
        assert not clock.is_settled
    assert clock.steady() == pytest.approx(true, abs=1)


@pytest.mark.parametrize("jump", [10 * YEAR, -10 * YEAR, MAX_DOWN_SECONDS + 1, -61.0])
def test_a_clock_set_while_the_service_was_down_is_noticed_at_its_start(jump: float):
    time = Time()
    saved = time.clock().save()
    time.wall += jump
    clock = time.clock()
    clock.resume(saved)
    assert (clock.steady(), clock.is_settled) == (NOW, False)


@pytest.mark.parametrize("gap", [0.0, 3_600.0, 86_400.0 * 3, MAX_DOWN_SECONDS - 1, -5.0])
def test_a_usual_pause_is_no_jump(gap: float):
    time = Time()
    saved = time.clock().save()
    time.wall += gap
    clock = time.clock()
    clock.resume(saved)
    assert (clock.steady(), clock.is_settled) == (time.wall, True)


def test_the_grace_period_goes_on_across_restarts_and_ends():
    time = Time()
    clock = time.clock()
    time.wall += 10 * YEAR
    clock.steady()
    for _ in range(4):
        saved = clock.save()
        time.pass_(GRACE / 3)  # while the service is down
        clock = time.clock()
        clock.resume(saved)
        clock.steady()
    assert (clock.steady(), clock.is_settled) == (time.wall, True)


def test_a_suspended_machine_is_no_jump():
    """Where the system counts the seconds of a suspended machine, as Linux does."""
    time = Time()
    clock = time.clock()
    time.pass_(8 * 3_600)
    assert (clock.steady(), clock.is_settled) == (time.wall, True)


def test_the_saved_clock_is_plain_figures():
    assert Time().clock().save() == SavedClock(NOW, NOW, 0.0)


class Service:
    """A service under a ``Time``, with a session, a file and keys."""

    def __init__(self, folder: Path, time: Time) -> None:
        self.folder = folder
        self.time = time
        self.live = self._start()
        self.session_id = register(self.live)
        with self.live.http() as http:
            params = {"session_id": self.session_id, "filename": "a"}
            assert http.post("/session/upload_file", params=params, content=b"evidence").is_success
        self.expiring = self.live.make_key("local", expires=NOW + 1_000.0)[1]
        self.limited = self.live.make_key("local", rpm=5)[1]

    def _start(self) -> ThreadService:
        settings = Settings(
            clock_grace_seconds=GRACE,
            purge_interval_seconds=0.02,
            retention_seconds=0,
            watch_seconds=0.02,
            stop_seconds=1,
        )
        return ThreadService(self.folder, Echo(), settings, lambda: self.time.wall, lambda: self.time.elapsed)

    def restart(self) -> None:
        self.live.stop()
        self.live = self._start()

    def ask(self, key: str | None = None) -> int:
        with self.live.http(key) as http:
            query = {"message_type": "query", "content": "x"}
            return http.post("/session/generate", json={"id": self.session_id, "messages": [query]}).status_code

    def has_file(self) -> bool:
        return bool([path for path in (self.folder / "service.db.files").iterdir() if len(path.name) == 32])

    def health(self) -> str:
        with self.live.http() as http:
            return http.get("/health").json()["status"]

    def wait_for_purges(self) -> None:
        """Until the clock was seen by a purge that began after now."""
        seen: list[int] = []
        save = self.live.running.service.save_clock

        async def count() -> None:
            seen.append(1)
            await save()

        self.live.running.service.save_clock = count
        wait_until(lambda: len(seen) >= 3, "the purges", 10)
        self.live.running.service.save_clock = save


@pytest.mark.slow
@pytest.mark.parametrize("is_restarted", [False, True], ids=["running", "across a restart"])
@pytest.mark.parametrize("jump", [10 * YEAR, -10 * YEAR])
def test_neither_sessions_nor_files_nor_keys_are_lost_by_a_jump(tmp_path: Path, jump: float, is_restarted: bool):
    time = Time()
    service = Service(tmp_path, time)
    try:
        for _ in range(3):  # there and back, three times
            time.wall += jump
            if is_restarted:
                service.restart()
            service.wait_for_purges()
            assert (service.ask(), service.ask(service.expiring), service.has_file()) == (200, 200, True)
            assert service.health() == "degraded"
            time.wall -= jump
            if is_restarted:
                service.restart()
            service.wait_for_purges()
            assert (service.ask(), service.ask(service.expiring), service.has_file()) == (200, 200, True)
        time.pass_(1_001)
        assert (service.ask(), service.ask(service.expiring)) == (200, 401)  # the key's own end
        time.pass_(90_000)
        assert service.ask() in (404, 410)
        wait_until(lambda: not service.has_file(), "the purge after the session's own end", 10)
        wait_until(lambda: service.health() == "ok", "the warning's end", 10)
    finally:
        service.live.stop()


def test_an_expired_key_is_not_revived_by_a_clock_that_is_set_back(tmp_path: Path):
    time = Time()
    service = Service(tmp_path, time)
    try:
        time.pass_(1_001)
        assert service.ask(service.expiring) == 401
        time.wall -= 10 * YEAR
        assert service.ask(service.expiring) == 401
        service.restart()
        assert service.ask(service.expiring) == 401
    finally:
        service.live.stop()


@pytest.mark.parametrize("jump", [10 * YEAR, -10 * YEAR])
def test_a_session_made_while_the_clock_is_wrong_outlives_its_correction(tmp_path: Path, jump: float):
    time = Time()
    service = Service(tmp_path, time)
    try:
        time.wall += jump
        service.wait_for_purges()
        service.session_id = register(service.live)
        assert service.ask() == 200
        time.wall -= jump
        service.wait_for_purges()
        assert service.ask() == 200
    finally:
        service.live.stop()


@pytest.mark.parametrize("jump", [10 * YEAR, -10 * YEAR])
def test_rate_limits_count_the_seconds_that_pass(tmp_path: Path, jump: float):
    time = Time()
    service = Service(tmp_path, time)
    try:
        assert [service.ask(service.limited) for _ in range(6)] == [200] * 5 + [429]
        time.wall += jump
        assert service.ask(service.limited) == 429
    finally:
        service.live.stop()
