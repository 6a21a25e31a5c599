"""Which fields the recipient's own servers wrote. Pure.

A sender may write any field, and servers put theirs above what arrives. So the header is the recipient's own down to
the first ``Received`` field whose client was an outside host; what is below it was there when the mail arrived. Two
large providers put their results right below that field: theirs count if they name the server that took the mail in,
and only the first of a method, as they always write one themselves (``hosts.toml``: recorders_below).
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address

from svc.assistant.skills.mail.links import hosts, organisation
from svc.assistant.skills.mail.message import Mail

_FIELDS_KEPT = 200  # Received fields: each is asked about several times
RESULT_FIELDS = frozenset(["authentication-results", "received-spf"])
_FROM = re.compile(r"\bfrom\s{1,20}(\S{1,300})", re.IGNORECASE)
_BY = re.compile(r"\bby\s{1,20}([\w.:\[\]-]{1,300})", re.IGNORECASE)
_CLIENT = re.compile(
    r"\((?:(?:HELO|EHLO)[ =]{1,3}\S{1,300}\s{1,20})?([A-Za-z0-9][\w.-]{0,250}\.[A-Za-z]{2,60})\.?[\s\[(]", re.IGNORECASE
)
_IP = re.compile(r"(?:IPv6:)?((?:\d{1,3}\.){3}\d{1,3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})", re.IGNORECASE)
_RESULT = re.compile(r"\b(?:spf|dkim|dmarc)\s{0,9}=", re.IGNORECASE)
_SENDERS_OWN = frozenset(["from", "to", "subject", "date", "message-id", "dkim-signature", "mime-version", "sender"])


def boundary(mail: Mail) -> int | None:
    """The index of the ``Received`` field with which the mail came in from outside; None without such a field."""
    received = [index for index, (name, _) in enumerate(mail.fields) if name.lower() == "received"]
    outside = (index for index in received if not _is_inside(mail.fields[index][1]))
    return next(outside, received[-1] if received else None)


def own_results(mail: Mail) -> list[int]:
    """The indices of the result fields that the recipient's own servers wrote, topmost first."""
    found = [index for index, (name, _) in enumerate(mail.fields) if name.lower() in RESULT_FIELDS]
    border = boundary(mail)
    if border is None:  # a header whose hops were cut off: what stands before anything of the sender's
        first = next((i for i, (name, _) in enumerate(mail.fields) if name.lower() in _SENDERS_OWN), len(mail.fields))
        return [index for index in found if index < first]
    above = [index for index in found if index < border]
    return above or _below(mail, border, found)


def client_name(mail: Mail) -> str:
    """The name by which the outside host introduced itself; "" if no field says or it gave an address or one label."""
    border = boundary(mail)
    if border is None or _is_inside(mail.fields[border][1]):
        return ""
    said = _FROM.search(re.split(r"\sby\s", mail.fields[border][1], maxsplit=1)[0])
    name = said[1].lower().strip("()[].") if said else ""
    return "" if _IP.fullmatch(name) else name


def _below(mail: Mail, border: int, found: list[int]) -> list[int]:
    by = _host_by(mail.fields[border][1])
    if organisation(by) not in hosts().recorders_below:
        return []
    first = next((i for i, (name, _) in enumerate(mail.fields) if name.lower() in _SENDERS_OWN), len(mail.fields))
    named = [index for index in found if border < index < first and _names(mail.fields[index], by)]
    is_complete = bool(named) and len(_RESULT.findall(mail.fields[named[0]][1])) > 1
    return named[:1] if is_complete else named


def _names(field: tuple[str, str], host: str) -> bool:
    """Whether a result field names the host as the one that wrote it."""
    return field[0].lower() == "authentication-results" and field[1].lower().lstrip().startswith(host)


def _host_by(value: str) -> str:
    match = _BY.search(value)
    return match[1].lower().strip("[].") if match else ""


@lru_cache(maxsize=_FIELDS_KEPT)
def _is_inside(value: str) -> bool:
    """Whether the client of a hop was a server of the same operator. A client may call itself anything."""
    origin = re.split(r"\sby\s", value, maxsplit=1)[0]
    said = _FROM.search(origin)
    if said is None:
        return True  # handed on within one machine
    by = _host_by(value)
    seen = [match[1] for match in _IP.finditer(origin[:2_000])]
    if seen and _is_private(seen[-1]):  # the address that the server saw follows what the client said
        return True
    client = _CLIENT.search(origin)
    if client is not None:
        return _operator(client[1]) == _operator(by)
    if "." in by and by.endswith(hosts().inner_servers) and not by.endswith(hosts().border_servers):
        return said[1].lower().strip("()[].").endswith(hosts().inner_servers)
    return False


def _operator(host: str) -> str:
    return organisation(host.lower().strip("."))


def _is_private(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return address.is_loopback or (address.is_private and not _is_documentation(text))


def _is_documentation(text: str) -> bool:
    return text.startswith(("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"))
