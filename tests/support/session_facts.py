"""A session as the service may report it, for tests that need no service."""

from __future__ import annotations

from svc.messages import ModelInfo, Session, State, Usage


def session(**changes: object) -> Session:
    """One with these fields changed."""
    facts: dict[str, object] = {
        "id": "s", "user_id": "u", "org_id": "o", "model": ModelInfo(model_name="svc", version="1.1"), "ttl": 300,
        "language": "en", "turns": 1, "name": "n", "description": "", "create_time": 1, "update_time": 2,
        "expire_time": 301, "num_messages": 2, "messages": [], "usage": Usage(total_tokens=10), "log_session": True,
        "state": State.AGENT_DONE, "files": [],
    }  # fmt: skip
    return Session(**(facts | changes))
