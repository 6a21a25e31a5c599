"""The websocket close codes that the service itself sends (docs/wire.md, "Close codes")."""

from __future__ import annotations

STOPPING = 1001
BAD_KEY = 4401
TOO_SLOW = 4408
HISTORY_LOST = 4409
CLOSED_SESSION = 4410
TOO_MANY = 4429
