"""What a request and a turn use of a key's quotas, from their start to their end."""

from __future__ import annotations

from svc.assistant.workers.payer import Payer
from svc.messages import Usage
from svc.service.quotas.ledger import Quotas, SharedHold
from svc.service.quotas.table import QuotaName
from svc.service.store.records import KeyRecord

ACCOUNT = "account"
"""Key of the authenticated key's account in the scope's ``state``, which ``server/`` reads."""
STEP_BYTES = 1_048_576  # of a body, between two looks at the limit, which may be one in a database


class RequestUse:
    """One HTTP request; ``close`` ends it."""

    def __init__(self, quotas: Quotas, key: KeyRecord) -> None:
        self._quotas = quotas
        self._key = key
        self._uncounted = 0  # bytes received
        self._is_first = True
        self._request = quotas.hold(QuotaName.REQUESTS_AT_ONCE, key)
        self._body = quotas.hold(QuotaName.BODIES, key, 0)

    @classmethod
    async def begin(cls, quotas: Quotas, key: KeyRecord) -> RequestUse:
        """Count the request; raises RateLimitedError."""
        await quotas.spend(QuotaName.REQUESTS, key)
        return cls(quotas, key)

    async def receive(self, size: int, *, in_memory: bool) -> None:
        """Count a part of the body; raises RateLimitedError. A long body is counted in steps."""
        self._uncounted += size
        if self._is_first or self._uncounted >= STEP_BYTES:
            self._is_first, amount, self._uncounted = False, self._uncounted, 0
            await self._quotas.spend(QuotaName.BYTES, self._key, amount)
        if in_memory:
            self._body.grow(size)

    def close(self) -> None:
        """The response was sent, or the client has gone."""
        self._quotas.count(QuotaName.BYTES, self._key, self._uncounted)
        self._uncounted = 0
        self._request.close()
        self._body.close()


COSTS = (QuotaName.TOKENS, QuotaName.TOKENS_PER_DAY, QuotaName.WORKER_SECONDS)
"""What turns cost: none begins once one of these is used up."""


async def check_turn(quotas: Quotas, key: KeyRecord) -> None:
    """Raise RateLimitedError if what turns cost is used up; for what is stored before the turn begins."""
    await quotas.check(key, *COSTS)


class TurnUse:
    """One turn: tokens, a place among the running turns, and the seconds of workers."""

    def __init__(self, quotas: Quotas, key: KeyRecord, *, prompt_tokens: int) -> None:
        self._quotas = quotas
        self._key = key
        self._prompt_tokens = prompt_tokens
        self._turn: SharedHold | None = None
        self.payer: Payer = Payer(key.rate_id, self._spend_seconds)

    @property
    def key_id(self) -> str:
        """The key that asked."""
        return self._key.id

    async def begin(self) -> None:
        """Count the turn and what it is asked; raises RateLimitedError."""
        self._turn = await self._quotas.hold_shared(QuotaName.TURNS, self._key, unless_used=COSTS)
        self._count_tokens(self._prompt_tokens)

    async def begin_again(self) -> None:
        """Count a turn that another process was asked, or that is run again; its prompt was counted before."""
        self._turn = await self._quotas.hold_again(QuotaName.TURNS, self._key)

    def end(self, usage: Usage | None = None) -> None:
        """The turn has ended; ``usage`` is what it cost altogether, None if it did not run."""
        if self._turn is not None:
            self._turn.close()
        if usage is not None:
            self._count_tokens(max(usage.generated_tokens, usage.total_tokens - self._prompt_tokens))

    def _count_tokens(self, tokens: int) -> None:
        self._quotas.count(QuotaName.TOKENS, self._key, tokens)
        self._quotas.count(QuotaName.TOKENS_PER_DAY, self._key, tokens)

    def _spend_seconds(self, seconds: float) -> None:
        self._quotas.count(QuotaName.WORKER_SECONDS, self._key, seconds)
