"""What a line of a web server's error log says of its client: a refused login, a missing page, a refused request. Pure.

Texts: Apache httpd's core, mod_auth_basic, mod_auth_digest, mod_authz_core, mod_autoindex and mod_security (2.2 to
2.4); nginx's auth_basic and static modules; PHP's "script not found".
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

MAX_MESSAGE_CHARS = 2_000


class ComplaintKind(StrEnum):
    """What the server complains about."""

    LOGIN = "login"
    MISSING = "missing"
    REFUSED = "refused"


class Complaint(msgspec.Struct, frozen=True):
    """One complaint. ``account`` is who was refused, ``path`` what was asked for; "" where the line names none."""

    kind: ComplaintKind
    account: str = ""
    path: str = ""


_FORMS: tuple[tuple[ComplaintKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (ComplaintKind.LOGIN, r"\buser (?P<account>.{0,256}?): authentication failure for \"(?P<path>[^\"]*)\""),
        (ComplaintKind.LOGIN, r"\buser (?P<account>.{0,256}?) not found: (?P<path>\S+)"),
        (ComplaintKind.LOGIN, r"\buser \"(?P<account>[^\"]{0,256})\":? (?:password mismatch|was not found in )"),
        (ComplaintKind.LOGIN, r"\buser `(?P<account>[^']{0,256})' in realm .{0,200}?(?:not found|password mismatch)"),
        (ComplaintKind.LOGIN, r"\buser (?P<account>.{0,256}?): password mismatch: (?P<path>\S+)"),
        (ComplaintKind.MISSING, r"File does not exist: (?P<path>[^,]+)"),
        (ComplaintKind.MISSING, r"script ['\"](?P<path>[^'\"]+)['\"] not found or unable to stat"),
        (ComplaintKind.MISSING, r"script not found or unable to stat: (?P<path>\S+)"),
        (ComplaintKind.MISSING, r"\"(?P<path>[^\"]+)\" (?:failed|is not found) \(2: No such file or directory\)"),
        (ComplaintKind.REFUSED, r"client denied by server configuration: (?P<path>\S+)"),
        (ComplaintKind.REFUSED, r"Cannot serve directory (?P<path>\S+?):|directory index of \"(?P<other>[^\"]+)\" is"),
        (ComplaintKind.REFUSED, r"ModSecurity: (?:Warning|Access denied).{0,1500}?\[uri \"(?P<path>[^\"]*)\"\]"),
        (ComplaintKind.REFUSED, r"Invalid (?:URI|method) in request (?P<path>.+)|access forbidden by rule"),
    )
)


def complaint(message: str) -> Complaint | None:
    """What the message complains about; None where it tells nothing about a client's doing."""
    message = message[:MAX_MESSAGE_CHARS]
    for kind, pattern in _FORMS:
        if (found := pattern.search(message)) is not None:
            named = found.groupdict()
            return Complaint(kind, named.get("account") or "", (named.get("path") or named.get("other") or "").strip())
    return None
