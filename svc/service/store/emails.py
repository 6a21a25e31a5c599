"""What counts as a user's email address. Pure.

A user's name that is an address is the user's email. The rule accepts the addresses that mail systems use, not every
form of RFC 5322: one word without quotes, an at sign, and a domain with a dot.
"""

from __future__ import annotations

import re

MAX_CHARS = 254  # RFC 5321: a path of 256 octets without its brackets
_LABEL = r"[^\W_](?:(?:[^\W_]|-){0,61}[^\W_])?"
_ADDRESS = re.compile(rf"(?!\.)[\w.!#$%&'*+/=?^`{{|}}~-]{{1,64}}(?<!\.)@(?:{_LABEL}\.){{1,20}}{_LABEL}")


def is_email(text: str) -> bool:
    """Whether the text is an email address."""
    return len(text) <= MAX_CHARS and text.isprintable() and _ADDRESS.fullmatch(text) is not None
