"""Every quota: reached, refused with an error that helps, free again, and never another key's matter."""

from __future__ import annotations

import re

import msgspec
import pytest

from svc.errors import QuotaExceededError, RateLimitedError
from svc.service.access.user_keys import derive_key
from svc.service.observability.metrics import Metrics
from svc.service.quotas.counters import MemoryCounters
from svc.service.quotas.ledger import Quotas
from svc.service.quotas.table import QUOTAS, QuotaName
from svc.service.settings import Settings, describe
from svc.service.store.records import KeyRecord

EVE = KeyRecord(id="k-eve", user_id="eve", rpm=0)
BOB = KeyRecord(id="k-bob", user_id="bob", rpm=0)
OF_TIME = [quota.name for quota in QUOTAS.values() if quota.window_seconds]
KEPT = [quota.name for quota in QUOTAS.values() if quota.is_kept]
HELD = [name for name in QUOTAS if name not in (*OF_TIME, *KEPT)]


class Desk:
    """Quotas of ten of each."""

    def __init__(self, **settings: int) -> None:
        self.now = 1_000.0
        self.metrics = Metrics()
        chosen = {quota.setting: 10 for quota in QUOTAS.values()} | settings
        self.quotas = Quotas(
            msgspec.structs.replace(Settings(), **chosen), self.metrics, MemoryCounters(lambda: self.now)
        )

    def figure(self, name: str, quota: QuotaName, key: KeyRecord) -> float:
        pattern = rf'^{name}{{key="{key.id}",quota="{quota}"}} (\S+)$'
        found = re.search(pattern, self.metrics.exposition().decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0


def test_every_quota_has_a_setting_with_a_default_and_a_place_in_the_enum():
    settings = {row.name: row.value for row in describe(Settings())}
    assert set(QUOTAS) == set(QuotaName)
    for quota in QUOTAS.values():
        assert int(settings[quota.setting].replace(",", "")) > 0
    assert {name for name in settings if name.startswith("key_")} == {quota.setting for quota in QUOTAS.values()}


@pytest.mark.parametrize("name", OF_TIME)
async def test_a_quota_of_time(name: QuotaName):
    desk = Desk()
    await desk.quotas.spend(name, EVE, 4)
    await desk.quotas.spend(name, EVE, 6)
    with pytest.raises(RateLimitedError) as refused:
        await desk.quotas.spend(name, EVE)
    with pytest.raises(RateLimitedError):
        await desk.quotas.check(EVE, name)
    window = QUOTAS[name].window_seconds
    assert 1 <= refused.value.retry_after <= window
    assert f"its limit of 10 {QUOTAS[name].unit}" in str(refused.value)
    assert f"SVC_{QUOTAS[name].setting.upper()}" in str(refused.value)
    await desk.quotas.spend(name, BOB, 10)
    assert desk.figure("svc_quota_used_total", name, EVE) == 10
    assert desk.figure("svc_quota_refused_total", name, EVE) == 2
    assert desk.figure("svc_quota_refused_total", name, BOB) == 0
    desk.now += refused.value.retry_after
    await desk.quotas.spend(name, EVE)


@pytest.mark.parametrize("name", OF_TIME)
async def test_what_is_known_only_afterwards_is_counted_over_the_limit(name: QuotaName):
    desk = Desk()
    await desk.quotas.check(EVE, name)
    desk.quotas.count(name, EVE, 500)
    with pytest.raises(RateLimitedError) as refused:
        await desk.quotas.check(EVE, name)
    desk.now += refused.value.retry_after
    await desk.quotas.check(EVE, name)


@pytest.mark.parametrize("name", HELD)
def test_a_quota_of_what_is_in_use(name: QuotaName):
    desk = Desk()
    holds = [desk.quotas.hold(name, EVE) for _ in range(10)]
    with pytest.raises(RateLimitedError) as refused:
        desk.quotas.hold(name, EVE)
    with pytest.raises(RateLimitedError):
        holds[0].grow(1)
    assert f"this key has 10 {QUOTAS[name].unit}; the limit is 10 (SVC_{QUOTAS[name].setting.upper()})" in str(
        refused.value
    )
    assert QUOTAS[name].advice in str(refused.value)
    assert refused.value.retry_after
    desk.quotas.hold(name, BOB, 10)
    assert desk.figure("svc_quota_held", name, EVE) == 10
    holds[0].close()
    holds[0].close()
    again = desk.quotas.hold(name, EVE)
    for hold in (*holds, again):
        hold.close()
    assert desk.figure("svc_quota_held", name, EVE) == 0
    assert desk.figure("svc_quota_refused_total", name, EVE) == 2


@pytest.mark.parametrize("name", KEPT)
def test_a_quota_of_what_is_kept(name: QuotaName):
    desk = Desk()
    uploading = desk.quotas.hold(name, EVE, 3, kept=6)
    with pytest.raises(QuotaExceededError) as refused:
        desk.quotas.hold(name, EVE, 2, kept=6)
    assert f"this user has 9 {QUOTAS[name].unit}; the limit is 10" in str(refused.value)
    assert (refused.value.status, refused.value.code) == (507, "quota_exceeded")
    desk.quotas.hold(name, BOB, 10).close()
    uploading.close()
    desk.quotas.hold(name, EVE, 2, kept=6).close()


@pytest.mark.parametrize("name", QuotaName)
async def test_0_is_no_limit(name: QuotaName):
    desk = Desk(**{QUOTAS[name].setting: 0})
    if QUOTAS[name].window_seconds:
        await desk.quotas.spend(name, EVE, 10**12)
        await desk.quotas.check(EVE, name)
    else:
        desk.quotas.hold(name, EVE, 10**12, kept=10**12)


@pytest.mark.parametrize("name", QuotaName)
async def test_derived_keys_share_the_quotas_of_their_original(name: QuotaName):
    desk = Desk()
    child = derive_key(EVE, now=0, ttl=0, name="page")
    grandchild = derive_key(child, now=0, ttl=0, name="another")
    for key in (EVE, child, grandchild):
        if QUOTAS[name].window_seconds:
            await desk.quotas.spend(name, key, 3)
        else:
            desk.quotas.hold(name, key, 3)
    fresh = derive_key(grandchild, now=0, ttl=0, name="one more")
    with pytest.raises((RateLimitedError, QuotaExceededError)):
        await desk.quotas.spend(name, fresh, 2) if QUOTAS[name].window_seconds else desk.quotas.hold(name, fresh, 2)


@pytest.mark.parametrize(("name", "own"), [(QuotaName.REQUESTS, "rpm"), (QuotaName.TOKENS, "tpm")])
async def test_a_keys_own_limit_wins(name: QuotaName, own: str):
    desk = Desk()
    key = msgspec.structs.replace(EVE, **{own: 20})
    await desk.quotas.spend(name, key, 20)
    with pytest.raises(RateLimitedError, match=r"its limit of 20 \w+ per minute; try again in \d+ s$"):
        await desk.quotas.spend(name, key)
