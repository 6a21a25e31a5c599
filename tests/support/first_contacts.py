"""The mails of ``first_contacts.toml``: lures by strangers, and ordinary mails about the same subjects."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from tests.support.mails import made


@cache
def first_contacts(kind: str) -> dict[str, bytes]:
    """Return the mails of a kind (``open_lures``, ``held_ordinary``, …), by name."""
    table = tomllib.loads(Path(__file__).with_name("first_contacts.toml").read_text(encoding="utf-8"))
    return {str(mail.pop("name")): made(**mail) for mail in table[kind]}
