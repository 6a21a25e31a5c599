"""Parse lines of a web server's error log that are about a client: rejected logins, missing pages, refused requests.

A message of a web application firewall also names an attack: ModSecurity 2 and 3 and Coraza (``ModSecurity: Warning. …
[msg "…"] [severity "…"]``), NAXSI (``NAXSI_FMT: …&block=1&cscore0=$SQL``).

Message texts: Apache httpd's core, mod_auth_basic, mod_auth_digest, mod_authz_core, mod_autoindex and mod_security
(2.2 to 2.4); nginx's auth_basic and static modules; PHP's "script not found".
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from svc.assistant.sigma.event import Verdict

MAX_MESSAGE_CHARS = 2_000


class WebErrorKind(StrEnum):
    """Kinds of error that say what a client did."""

    LOGIN = "login"
    MISSING = "missing"
    REFUSED = "refused"


class WebError(msgspec.Struct, frozen=True):
    """One error; ``account`` was rejected, ``path`` requested; "" if the line does not name it."""

    kind: WebErrorKind
    account: str = ""
    path: str = ""


_MESSAGES: tuple[tuple[WebErrorKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (WebErrorKind.LOGIN, r"\buser (?P<account>.{0,256}?): authentication failure for \"(?P<path>[^\"]*)\""),
        (WebErrorKind.LOGIN, r"\buser (?P<account>.{0,256}?) not found: (?P<path>\S+)"),
        (WebErrorKind.LOGIN, r"\buser \"(?P<account>[^\"]{0,256})\":? (?:password mismatch|was not found in )"),
        (WebErrorKind.LOGIN, r"\buser `(?P<account>[^']{0,256})' in realm .{0,200}?(?:not found|password mismatch)"),
        (WebErrorKind.LOGIN, r"\buser (?P<account>.{0,256}?): password mismatch: (?P<path>\S+)"),
        (WebErrorKind.MISSING, r"File does not exist: (?P<path>[^,]+)"),
        (WebErrorKind.MISSING, r"script ['\"](?P<path>[^'\"]+)['\"] not found or unable to stat"),
        (WebErrorKind.MISSING, r"script not found or unable to stat: (?P<path>\S+)"),
        (WebErrorKind.MISSING, r"\"(?P<path>[^\"]+)\" (?:failed|is not found) \(2: No such file or directory\)"),
        (WebErrorKind.REFUSED, r"client denied by server configuration: (?P<path>\S+)"),
        (WebErrorKind.REFUSED, r"Cannot serve directory (?P<path>\S+?):|directory index of \"(?P<other>[^\"]+)\" is"),
        (WebErrorKind.REFUSED, r"ModSecurity: (?:Warning|Access denied).{0,1500}?\[uri \"(?P<path>[^\"]*)\"\]"),
        (WebErrorKind.REFUSED, r"invalid URI path \((?P<path>[^)\s]+)\)"),
        (WebErrorKind.REFUSED, r"Invalid (?:URI|method) in request (?P<path>.+)|access forbidden by rule"),
    )
)


def web_error(message: str) -> WebError | None:
    """Parse a message of an error log; None if it is not about a client's request."""
    message = message[:MAX_MESSAGE_CHARS]
    for kind, pattern in _MESSAGES:
        if (found := pattern.search(message)) is not None:
            named = found.groupdict()
            return WebError(kind, named.get("account") or "", (named.get("path") or named.get("other") or "").strip())
    return None


_FIREWALL = re.compile(r"\b(ModSecurity|Coraza): (Access denied|Warning)?")
_FIREWALL_RULE = re.compile(r"\[msg \"([^\"]{1,200})\"\]")
_FIREWALL_RATING = re.compile(r"\[severity \"(\w{1,20})\"\]")
_RATINGS = {"0": "EMERGENCY", "1": "ALERT", "2": "CRITICAL", "3": "ERROR", "4": "WARNING", "5": "NOTICE"}
_NAXSI = re.compile(r"\bNAXSI_FMT: .{0,1500}?&cscore0=\$?(\w{1,40})")


def firewall_verdict(message: str) -> Verdict | None:
    """The attack that a web application firewall names in a message of an error log; None if it names none."""
    message = message[:MAX_MESSAGE_CHARS]
    if (firewall := _FIREWALL.search(message)) is not None:
        name, rating = _FIREWALL_RULE.search(message), _FIREWALL_RATING.search(message)
        if name is None:
            return None
        return Verdict(
            product=firewall[1],
            name=name[1],
            level=_RATINGS.get(rating[1], rating[1]) if rating is not None else "",
            is_denied=firewall[2] == "Access denied",
        )
    if (naxsi := _NAXSI.search(message)) is not None:
        return Verdict(product="NAXSI", name=f"score of {naxsi[1]}", level="", is_denied="&block=1" in message)
    return None
