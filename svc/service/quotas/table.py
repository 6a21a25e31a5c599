"""The quotas: what each counts, its setting, and what a refusal says. No quota is written down anywhere else.

Quotas of time count what was used within a window. Quotas of things held count what is open or kept now. Those that
count per user do so because sessions belong to a user, all of whose keys open them; the others count per original key,
whose derived keys share them (``KeyRecord.rate_id``).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from svc.service.settings import Settings
from svc.service.store.records import KeyRecord

MINUTE, DAY = 60.0, 86_400.0


class QuotaName(StrEnum):
    """The quotas, as metrics name them."""

    REQUESTS = "requests_per_minute"
    TOKENS = "tokens_per_minute"
    TOKENS_PER_DAY = "tokens_per_day"
    BYTES = "bytes_per_day"
    WORKER_SECONDS = "worker_seconds_per_day"
    REQUESTS_AT_ONCE = "requests_at_once"
    BODIES = "bodies"
    STREAMS = "streams"
    TURNS = "turns"
    SESSIONS = "sessions"
    DISK = "disk"
    MEMORY = "memory"


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """One quota.

    ``unit`` completes "N …" in a refusal, ``advice`` says what to do about it. ``window_seconds`` is 0 if it counts
    what is held now. ``own_limit`` is the limit that the key itself has, if that is not 0.
    """

    name: QuotaName
    setting: str
    unit: str
    advice: str = ""
    window_seconds: float = 0.0
    is_kept: bool = False  # until the user deletes it, so waiting does not help
    own_limit: Callable[[KeyRecord], int] | None = None

    def limit(self, key: KeyRecord, settings: Settings) -> int:
        """The limit for this key; 0 means no limit."""
        own = self.own_limit(key) if self.own_limit is not None else 0
        return own or int(getattr(settings, self.setting))

    def has_own_limit(self, key: KeyRecord) -> bool:
        """Whether the limit is the key's, not the service's."""
        return self.own_limit is not None and self.own_limit(key) > 0

    def account(self, key: KeyRecord) -> str:
        """Who shares the quota."""
        return key.user_id if self.is_kept else key.rate_id


QUOTAS = {
    quota.name: quota
    for quota in (
        Quota(
            name=QuotaName.REQUESTS,
            setting="key_requests_per_minute",
            unit="requests per minute",
            window_seconds=MINUTE,
            own_limit=lambda key: key.rpm,
        ),
        Quota(
            name=QuotaName.TOKENS,
            setting="key_tokens_per_minute",
            unit="tokens per minute",
            window_seconds=MINUTE,
            own_limit=lambda key: key.tpm,
        ),
        Quota(
            name=QuotaName.TOKENS_PER_DAY,
            setting="key_tokens_per_day",
            unit="tokens per day",
            window_seconds=DAY,
        ),
        Quota(
            name=QuotaName.BYTES,
            setting="key_bytes_per_day",
            unit="bytes of requests and files per day",
            window_seconds=DAY,
        ),
        Quota(
            name=QuotaName.WORKER_SECONDS,
            setting="key_worker_seconds_per_day",
            unit="seconds of workers per day",
            window_seconds=DAY,
        ),
        Quota(
            name=QuotaName.REQUESTS_AT_ONCE,
            setting="key_requests_at_once",
            unit="requests in progress",
            advice="Wait for some of them to end",
        ),
        Quota(
            name=QuotaName.BODIES,
            setting="key_body_bytes",
            unit="bytes of request bodies in memory",
            advice="Send fewer requests at once, and large files with /session/upload_file",
        ),
        Quota(
            name=QuotaName.STREAMS,
            setting="key_streams",
            unit="open streams",
            advice="Close one first",
        ),
        Quota(
            name=QuotaName.TURNS,
            setting="key_turns",
            unit="running turns",
            advice="Wait until one ends, or cancel one",
        ),
        Quota(
            name=QuotaName.SESSIONS,
            setting="key_sessions",
            unit="live sessions",
            advice="Delete some, or register sessions with a smaller ttl",
            is_kept=True,
        ),
        Quota(
            name=QuotaName.DISK,
            setting="key_disk_bytes",
            unit="bytes of messages and files on disk",
            advice="Delete sessions or detach files",
            is_kept=True,
        ),
        Quota(
            name=QuotaName.MEMORY,
            setting="key_memory_bytes",
            unit="bytes of messages and files of unlogged sessions in memory",
            advice="Delete sessions or detach files, or use logged sessions",
            is_kept=True,
        ),
    )
}
"""Every quota by its name."""
