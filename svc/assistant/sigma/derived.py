"""Fields that no product logs but that rules over several products need; their names begin with ``derived.``.

``account`` and ``target_account`` are the actor and the account that is changed, ``source_address`` is the actor's
address, ``bytes_sent`` what the source sent, ``query_domain`` the registered domain of a DNS name, ``host_account`` the
computer account of the host that logged the event, ``action_words``
what an audit log's event says was done (``action_words.py``), ``direction`` is "looser" if it states a setting that
is looser than before (``direction.py``). An event's own field of that name wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from svc.assistant.sigma.action_words import action_words
from svc.assistant.sigma.direction import is_looser
from svc.assistant.sigma.event import Event

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

PREFIX = "derived."
_ACCOUNT = ("TargetUserName", "User", "cs-username", "SubjectUserName", "userIdentity.arn", "userIdentity.userName")
_TARGET = (
    "target.alternateId", "targetResources.userPrincipalName", "target.userPrincipalName", "TargetUserPrincipalName",
    "target_user", "targetUser", "ObjectId", "requestParameters.userName",
)  # fmt: skip
_SOURCE = ("IpAddress", "SourceIp", "c-ip", "src_ip", "sourceIPAddress")
_SENT = frozenset(
    {
        "bytesout", "bytessent", "sentbytes", "sentbyte", "origbytes", "flowbytestoserver", "bytestoserver", "out",
        "sourcebytes", "srcbytes", "networkbytesout", "requestsize", "requestbytes", "csbytes", "clientbytes",
        "uploadbytes", "bytesuploaded", "totalbytessent", "outbytes", "sbytes", "bytestoserversum",
    }
)  # fmt: skip
_NOT_NAME = re.compile(r"[^a-z0-9]+")
_IS_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,6})?")


def derived(event: Event, field: str) -> str | None:
    """Return the value of a field that begins with ``PREFIX``; None if the event has nothing that it is made of."""
    read = derived_reader(field)
    return read(event) if read is not None else None


def derived_reader(field: str) -> Callable[[Event], str | None] | None:
    """Return what makes a field that begins with ``PREFIX`` of an event; None if there is no such field."""
    return _DERIVED.get(field)


def _account(event: Event) -> str | None:
    return _first(event.fields, _ACCOUNT)


def _target_account(event: Event) -> str | None:
    return _first(event.fields, _TARGET) or _first(event.fields, _ACCOUNT)


def _source_address(event: Event) -> str | None:
    return _first(event.fields, _SOURCE)


def _bytes_sent(event: Event) -> str | None:
    fields = event.fields
    for name in _sent_names(tuple(fields)):
        if _IS_NUMBER.fullmatch(value := fields[name]):
            return value
    return None


def _host_account(event: Event) -> str | None:
    return f"{event.host.partition('.')[0]}$" if event.host else None


def _action_words(event: Event) -> str | None:
    return action_words(event.fields)


def _direction(event: Event) -> str | None:
    return "looser" if "Action" in event.fields and is_looser(event.fields) else None


def _query_domain(event: Event) -> str | None:
    name = event.fields.get("QueryName") or event.fields.get("query") or ""
    return _suffixes().privatesuffix(name.rstrip(".").lower()[:255]) if name else None


_DERIVED: dict[str, Callable[[Event], str | None]] = {
    f"{PREFIX}account": _account,
    f"{PREFIX}target_account": _target_account,
    f"{PREFIX}source_address": _source_address,
    f"{PREFIX}bytes_sent": _bytes_sent,
    f"{PREFIX}host_account": _host_account,
    f"{PREFIX}action_words": _action_words,
    f"{PREFIX}direction": _direction,
    f"{PREFIX}query_domain": _query_domain,
}


def _first(fields: dict[str, str], names: tuple[str, ...]) -> str | None:
    for name in names:
        if (value := fields.get(name)) and value != "-":
            return value
    return None


@lru_cache(maxsize=1_000)
def _sent_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a record that say how much was sent: records of a log have the same names."""
    return tuple(name for name in names if _is_sent(name))


@lru_cache(maxsize=5_000)
def _is_sent(name: str) -> bool:
    return _NOT_NAME.sub("", name.lower()) in _SENT


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
