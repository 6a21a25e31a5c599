"""The path of a mail and what servers recorded about its sender. Pure; verifies nothing itself.

``Received`` fields come newest first, and only those of the recipient's own servers can be trusted: a sender may write
any number below. Forms: RFC 5321 (4.4), RFC 8601 (Authentication-Results), RFC 7208 (Received-SPF), RFC 8617 (ARC).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address

import msgspec

from svc.assistant.skills.indicators.patterns import scope_of
from svc.assistant.skills.mail.message import Mail
from svc.assistant.skills.mail.trust import own_results

MAX_HOPS = 100
SLOW_HOP_SECONDS = 3_600
CLOCK_SLACK_SECONDS = 120  # ordinary difference between the clocks of two servers
BACKWARDS = "earlier than the previous hop"
_DATE_MINUTES = 24 * 60

_FROM = re.compile(r"\bfrom\s+(\S+)", re.IGNORECASE)
_BY = re.compile(r"\bby\s+([\w.:\[\]-]+)", re.IGNORECASE)
_WITH = re.compile(r"\bwith\s+([A-Za-z0-9-]+)", re.IGNORECASE)
_RDNS = re.compile(
    r"\(\s{0,20}(?:HELO\s{1,20}\S{1,300}\s{0,20}|EHLO\s{1,20}\S{1,300}\s{0,20})?([A-Za-z0-9][\w.-]{0,100}\.[A-Za-z]{2,100})\s{0,20}[\[(.]",
    re.IGNORECASE,
)
_IP = re.compile(
    r"\[?(?:IPv6:)?((?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,100}:[0-9A-Fa-f:.]{0,100}:[0-9A-Fa-f:.]{0,100})\]?",
    re.IGNORECASE,
)


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One server that took the mail; ``number`` 1 is the first after the sender. What a field does not state is ""."""

    number: int
    sender: str
    reverse: str
    ip: str
    by: str
    protocol: str
    time: str
    delay_seconds: int | None
    notes: tuple[str, ...]
    field: str


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """One result that a server recorded. ``is_latest``: by the server that wrote the topmost such field."""

    method: str
    result: str
    domain: str
    server: str
    field: str
    value: str
    is_latest: bool


def read_hops(mail: Mail) -> list[Hop]:
    """Return the hops of the mail, oldest first."""
    hops: list[Hop] = []
    before: datetime | None = None
    for number, value in enumerate(reversed(mail.all("Received")[:MAX_HOPS]), start=1):
        path, _, stamp = value.rpartition(";")
        time = read_date(stamp)
        delay = round((time - before).total_seconds()) if time and before else None
        hops.append(_hop(number, path or value, value, time, delay))
        before = time or before
    return hops


def _hop(number: int, path: str, value: str, time: datetime | None, delay: int | None) -> Hop:
    origin = path.partition(" by ")[0]
    ip = _address(origin)
    notes = []
    if time is None:
        notes.append("no readable date")
    if delay is not None and delay < -CLOCK_SLACK_SECONDS:
        notes.append(BACKWARDS)
    if delay is not None and delay > SLOW_HOP_SECONDS:
        notes.append("slow")
    if ip and number == 1 and _is_private(ip):
        notes.append("sent from a private address")
    return Hop(
        number=number, sender=_group(_FROM, origin).strip("()[]"), reverse=_group(_RDNS, origin), ip=ip,
        by=_group(_BY, path), protocol=_group(_WITH, path), time=time.isoformat() if time else "",
        delay_seconds=delay, notes=tuple(notes), field=value,
    )  # fmt: skip


def _group(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _address(text: str) -> str:
    """The last address in the text: the one that the server saw follows the one that the client claimed."""
    for match in reversed(list(_IP.finditer(text))[:20]):
        try:
            return str(ip_address(match[1]))
        except ValueError:
            continue
    return ""


def _is_private(ip: str) -> bool:
    """Whether it is an address inside a network; ``is_private`` alone includes the documentation ranges."""
    return ip_address(ip).is_private and scope_of(ip) != "documentation"


def read_date(text: str) -> datetime | None:
    """Return a field's date with its zone (UTC if it has none), or None if it is not a date."""
    try:
        found = parsedate_to_datetime(re.sub(r"\(.*", "", text).strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def date_mismatch_hours(mail: Mail, hops: Sequence[Hop]) -> int | None:
    """Return how far Date is from the last server's timestamp, or None if it is less than a day."""
    date = read_date(mail.first("Date"))
    stamps = [hop.time for hop in hops if hop.time]
    if date is None or not stamps:
        return None
    minutes = (datetime.fromisoformat(stamps[-1]) - date).total_seconds() / 60
    return round(minutes / 60) if abs(minutes) > _DATE_MINUTES else None


MAX_FIELD_CHARS = 20_000
MAX_RESULTS = 30  # of one field
_METHODS = frozenset(["spf", "dkim", "dmarc", "arc", "compauth", "domainkeys", "sender-id"])
_DOMAINS = {
    "spf": ("smtp.mailfrom", "smtp.mail", "smtp.helo", "envelope-from"),
    "dkim": ("header.d", "header.i"),
    "dmarc": ("header.from",),
}
"""The properties that name the domain, best first."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_PLAIN = re.compile(r'[^"(]+')
_INSIDE_COMMENT = re.compile(r"\\.|[()]", re.DOTALL)
_CLAUSE = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|[^;])+', re.DOTALL)
_PAIR = re.compile(
    r'([A-Za-z][\w.-]{0,100})\s{0,20}(?:/\s{0,20}\d{1,20}\s{0,20})?=\s{0,20}((?:"(?:[^"\\]|\\.)*+"|[^\s";])*+)',
    re.DOTALL,
)
_SPF_FIELD = re.compile(r"\s*(pass|fail|softfail|neutral|none|temperror|permerror|error)\b(.*)", re.IGNORECASE)
_SPF_DOMAIN = re.compile(
    r"(?:domain of (?:transitioning )?|envelope-from=\"?<?|domain of\s+)([^\s\"<>;]+)", re.IGNORECASE
)


def read_auth(mail: Mail) -> list[Auth]:
    """Return what servers recorded about SPF, DKIM, DMARC and ARC, topmost field first.

    ``is_latest`` are results of the recipient's own servers (``trust.py``), of each method those of the first field.
    """
    own = own_results(mail)
    found: list[Auth] = []
    known: set[str] = set()
    for index in own[:20]:
        name, value = mail.fields[index]
        results = _of_field(name, value, is_latest=True)
        found += [msgspec.structs.replace(one, is_latest=one.method not in known) for one in results]
        known |= {one.method for one in results}
    others = [field for index, field in enumerate(mail.fields) if index not in set(own)]
    for wanted in ("authentication-results", "arc-authentication-results", "received-spf"):
        for name, value in [field for field in others if field[0].lower() == wanted][:20]:
            found += _of_field(name, value, is_latest=False)
    return found


def _of_field(name: str, value: str, *, is_latest: bool) -> list[Auth]:
    read = _spf if name.lower() == "received-spf" else _results
    return read(name, value, is_latest=is_latest)


def _results(name: str, value: str, *, is_latest: bool) -> list[Auth]:
    """What one field says. A comment or a quoted text in it may be the sender's own words, so neither counts."""
    server = ""
    found: list[tuple[str, str, str]] = []
    for number, clause in enumerate(_CLAUSE.findall(_without_comments(value[:MAX_FIELD_CHARS]))):
        pairs = list(_PAIR.finditer(clause))
        if not server and number < 2 and (not pairs or clause[: pairs[0].start()].strip()):
            server = clause.split()[0] if clause.strip() else ""
        if not pairs or len(found) >= MAX_RESULTS:
            continue
        method, result = pairs[0][1].lower(), re.match(r"[a-z]*", pairs[0][2].lower())
        if method in _METHODS and result and result[0]:
            properties = {pair[1].lower(): pair[2] for pair in reversed(pairs[1:])}
            found.append((method, result[0], _domain(method, properties)))
    return [
        Auth(
            method=method, result=result, domain=domain, server=server[:200], field=name, value=value,
            is_latest=is_latest,
        )
        for method, result, domain in found
    ]  # fmt: skip


def _domain(method: str, properties: dict[str, str]) -> str:
    named = next((properties[name] for name in _DOMAINS.get(method, ()) if properties.get(name)), "")
    return named.strip('"<>').rpartition("@")[2].lower().strip(".")


def _without_comments(text: str) -> str:
    """The text with a space for each comment (RFC 5322), and without quotation marks that are never closed.

    A comment that is never closed ends at the next parenthesis: a sender's address in it must not hide later results.
    """
    kept = []
    position = 0
    can_quote = can_nest = True  # false after the first that is never closed: no second search to the end
    while position < len(text):
        if text[position] == "(":
            end = _end_of_comment(text, position) if can_nest else None
            can_nest = end is not None
            position = end or text.find(")", position) + 1 or len(text)
            kept.append(" ")
        elif text[position] == '"':
            quoted = _QUOTED.match(text, position) if can_quote else None
            can_quote = quoted is not None
            kept.append(quoted[0] if quoted else " ")
            position = quoted.end() if quoted else position + 1
        else:
            plain = _PLAIN.match(text, position)
            kept.append(plain[0] if plain else "")
            position = plain.end() if plain else position + 1
    return "".join(kept)


def _end_of_comment(text: str, start: int) -> int | None:
    depth = 0
    for match in _INSIDE_COMMENT.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0 and match[0] == ")":
            return match.end()
    return None


def _spf(name: str, value: str, *, is_latest: bool) -> list[Auth]:
    match = _SPF_FIELD.match(value)
    if match is None:
        return []
    server = re.search(r"receiver=([^\s;]+)", value) or re.search(r"\(([\w.-]+):", value)
    domain = _group(_SPF_DOMAIN, value).rpartition("@")[2].lower()
    return [
        Auth(
            method="spf", result=match[1].lower(), domain=domain, server=server[1] if server else "",
            field=name, value=value, is_latest=is_latest,
        )
    ]  # fmt: skip
