"""The payloads that can be a question, and what a page must not have done with them."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.support.hostile_text import HELD, HOST, OPEN

BLANK = "\x00"  # the protocol refuses it in a question


def _is_a_question(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return BLANK not in text and bool(text.strip())


PAYLOADS = tuple(text for text in (*OPEN.values(), *HELD.values()) if _is_a_question(text))


def every(step: int) -> list[str]:
    """Each n-th payload: a sample that has both halves."""
    return list(PAYLOADS[::step])


def was_hit(page: Page) -> bool:
    """Whether a payload's script has run."""
    return bool(page.evaluate("() => window.svcHit !== undefined"))


def asked_by_payloads(requests: list[str]) -> list[str]:
    """Requests for an address that only a payload names: elsewhere, or its image ``x``."""
    return [url for url in requests if HOST in url or url.rsplit("/", 1)[-1] in {"x", "k", "z"}]
