"""Read ModSecurity's audit log in its serial form: transactions in sections, each after a line like ``--a1b2c3d4-A--``.

A transaction becomes a web request with the firewall's verdict. Read are the sections A (time, client), B (request line
and headers), F (status) and H (messages). Source: ModSecurity's reference manual, "Audit Log".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.log_readers.lines import Lines, ReadItem
from svc.assistant.log_readers.web_errors import firewall_verdict
from svc.assistant.log_readers.web_server import add_request, clf_time
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event, Verdict

_SECTION = re.compile(r"--(?P<id>[A-Za-z0-9]{6,40})-(?P<letter>[A-Z])--")
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,10}--[A-Za-z0-9]{6,40}-A--\r?\n\[")
_TRANSACTION = re.compile(r"\[(?P<time>[^\]]{1,40})\] \S{1,100} (?P<client>\S{2,60}) ")
_HEADERS = {"user-agent": "cs-user-agent", "host": "cs-host", "referer": "cs-referer"}
_STATUS = re.compile(r"HTTP/\S{1,5} (?P<status>\d{3})")
_MAX_LINES = 200  # kept of a section


def is_modsecurity_audit(head: bytes) -> bool:
    """Return whether a file's first bytes begin a transaction of an audit log."""
    return _BEGIN.match(head) is not None


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the transactions in the file's order, each with the number of its first line."""
    lines = Lines(content)
    sections: dict[str, list[str]] = {}
    at = begun = 0
    letter = ""
    for number, offset, line in lines:
        found = _SECTION.fullmatch(line.strip())
        if found is None:
            if not letter:
                lines.foreign.append(number)
            elif len(sections[letter]) < _MAX_LINES:
                sections[letter].append(line)
            continue
        letter = found["letter"]
        if letter == "A":
            yield from _transaction(sections, begun, at)
            sections, begun, at = {}, number, offset
        sections.setdefault(letter, [])
    yield from _transaction(sections, begun, at)
    yield from lines.gaps("lines of a transaction")


def _verdict(message: str) -> Verdict | None:
    return firewall_verdict(f"ModSecurity: {message}")


def _transaction(sections: dict[str, list[str]], number: int, offset: int) -> Iterator[Event]:
    head = next((found for line in sections.get("A", ()) if (found := _TRANSACTION.match(line))), None)
    request = sections.get("B", [])
    if head is None or not request:
        return
    fields = {"c-ip": head["client"]}
    add_request(fields, request[0])
    for line in request[1:]:
        name, _, value = line.partition(":")
        if (mine := _HEADERS.get(name.lower())) is not None:
            fields[mine] = value.strip()
    status = next((found for line in sections.get("F", ()) if (found := _STATUS.match(line))), None)
    if status is not None:
        fields["sc-status"] = status["status"]
    event = Event(
        number=number,
        offset=offset,
        time=clf_time(head["time"]),
        product="",
        service="",
        category="webserver",
        host=fields.get("cs-host", ""),
        event_id=None,
        fields=fields,
        excerpt=f"{head[0]}{request[0]}"[:MAX_EXCERPT_CHARS],
    )
    said = [line.removeprefix("Message: ") for line in sections.get("H", ()) if line.startswith("Message: ")]
    verdicts = [one for one in map(_verdict, said) if one is not None]
    denied = [one for one in verdicts if one.is_denied]
    event.verdict = next(iter(denied or verdicts), None)
    yield event
