"""The websocket close codes of the wire page, "Websocket", 7."""

from __future__ import annotations

STOPPING = 1001
BAD_KEY = 4401
TOO_SLOW = 4408
CLOSED_SESSION = 4410
