"""Read web server logs: access logs of Apache and nginx (also through syslog), error logs, IIS's W3C format.

Field names are Sigma's for web servers. Its rules also search ``cs-uri-query`` for paths, and attackers encode, so
this field holds the whole target followed by the decoded target if that differs. If a proxy's log ends with the
client in X-Forwarded-For, that client is ``c-ip``, and the proxy is ``s-proxy``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import BinaryIO
from urllib.parse import unquote_plus

from svc.assistant.log_readers.lines import Lines, ReadItem, split_lines
from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.timestamps import MONTHS
from svc.assistant.log_readers.web_errors import firewall_verdict
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_COLUMNS = 100  # of a W3C log
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_ACCESS = re.compile(
    rf'\A(?:(?P<host>[\w.-]+)(?::\d+)? )?(?P<client>\S+) \S+ (?P<user>\S+|"[^"]*") '
    rf"\[(?P<time>[^\]]{{1,40}})\] {_QUOTED} (?P<status>\d{{3}}|-) (?P<size>\d+|-)"
    rf"(?: {_QUOTED} {_QUOTED})?(?P<rest>.*)"
)
_SYSLOG_HEAD = re.compile(
    r"(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\w:.+-]+) \S+ [\w./-]+(?:\[\d+\])?: "
)
_FORWARDED = re.compile(r'"((?:[0-9A-Fa-f:.]{7,45})(?:, ?[0-9A-Fa-f:.]{7,45})*)"')
_REQUEST = re.compile(r"([A-Z_-]{2,20}) (.*?)(?: (HTTP/[\d.]+))?")
_CLF_TIME = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([+-])(\d\d)(\d\d)")
_NGINX_ERROR = re.compile(r"\A(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d) \[(\w+)\] \d+#\d+: (.*)")
_APACHE_ERROR = re.compile(r"\A\[\w{3} (\w{3}) ( ?\d{1,2}) (\d\d:\d\d:\d\d)(?:\.\d+)? (\d{4})\] \[([\w:-]+)\] (.*)")
_CLIENT = re.compile(r"(?:\[client |\bclient: )\[?([0-9A-Fa-f.:]*[0-9A-Fa-f])\]?")
_ERROR_REQUEST = re.compile(r'\brequest: "([^"]*)"')
_W3C_NAMES = {
    "cs(user-agent)": "cs-user-agent",
    "cs(referer)": "cs-referer",
    "cs(cookie)": "cs-cookie",
    "cs(host)": "cs-host",
    "x-forwarded-for": "x-forwarded-for",
}


def is_access_line(line: str) -> bool:
    """Return whether a line is one of an access log."""
    return _ACCESS.match(line) is not None


def _without_syslog_header(line: str) -> str:
    """Return a line without its syslog header: web servers can log through syslog."""
    head = _SYSLOG_HEAD.match(line)
    return line[head.end() :] if head else line


def is_web_log(head: bytes) -> bool:
    """Return whether a file's first lines are a web server's."""
    lines = [line for line in split_lines(head.decode("utf-8", errors="replace"))[:50] if line.strip()]
    if any(line.startswith("#Fields:") and " cs-method" in line for line in lines):
        return True
    shapes = (_ACCESS, _NGINX_ERROR, _APACHE_ERROR)
    mine = sum(1 for line in lines if any(shape.match(_without_syslog_header(line)) for shape in shapes))
    return bool(lines) and mine >= 0.6 * len(lines)


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order."""
    part = part_of(content)
    lines, columns = Lines.in_parts(content), part.carry(_Columns)
    for number, offset, line in lines:
        event: Event | None = None
        if line.startswith("#"):
            if line.startswith("#Fields:"):
                columns[:] = [_W3C_NAMES.get(name, name) for name in line[8:].lower().split()[:MAX_COLUMNS]]
            continue
        if columns:
            event = _w3c(columns, line, number, offset)
        else:
            bare = _without_syslog_header(line)
            event = _access(bare, number, offset) or _error(bare, number, offset)
        if event is None:
            lines.foreign.append(number)
        else:
            yield event
    if not part.is_paused:
        yield from lines.gaps("web server lines")


class _Columns(list[str]):
    """The columns that the last ``#Fields`` line named."""


def _event(number: int, offset: int, line: str, time: str, host: str, fields: dict[str, str]) -> Event:
    return Event(
        number=number,
        offset=offset,
        time=time,
        product="",
        service="",
        category="webserver",
        host=host,
        event_id=None,
        fields=fields,
        excerpt=line[:MAX_EXCERPT_CHARS],
    )


def _access(line: str, number: int, offset: int) -> Event | None:
    found = _ACCESS.match(line)
    if found is None:
        return None
    host, client, user, time, request, status, size, referer, agent, rest = found.groups()
    fields = {"c-ip": client, "sc-status": status, "sc-bytes": size}
    if user != "-":
        fields["cs-username"] = user.strip('"')
    if rest and (forwarded := _FORWARDED.search(rest)) is not None:
        fields["s-proxy"], fields["x-forwarded-for"] = client, forwarded[1]
        fields["c-ip"] = forwarded[1].split(",")[0]
    add_request(fields, request)
    _add_plain(fields, "cs-referer", referer)
    _add_plain(fields, "cs-user-agent", agent)
    if host:
        fields["cs-host"] = host
    return _event(number, offset, line, clf_time(time), host or "", fields)


def _add_plain(fields: dict[str, str], name: str, value: str | None) -> None:
    if value and value != "-":
        fields[name] = value


def add_request(fields: dict[str, str], request: str) -> None:
    """Add the fields of a request line (``GET /a?b HTTP/1.1``)."""
    found = _REQUEST.fullmatch(request)
    if found is None:  # not HTTP: bytes of a scanner or a TLS handshake
        fields["cs-uri"] = fields["cs-uri-query"] = request
        return
    fields["cs-method"] = found[1]
    if found[3]:
        fields["cs-version"] = found[3]
    add_target(fields, found[2])


def add_target(fields: dict[str, str], target: str) -> None:
    """Add the fields of a request's target, also decoded."""
    decoded = unquote_plus(target) if "%" in target or "+" in target else target
    fields["cs-uri"] = fields["c-uri"] = target
    fields["cs-uri-stem"] = target.partition("?")[0]
    fields["cs-uri-query"] = target if decoded == target else f"{target} {decoded}"


@lru_cache(maxsize=4_096)
def clf_time(text: str) -> str:
    """Return ``20/Nov/2026:03:12:45 +0100`` in UTC; any other text unchanged."""
    found = _CLF_TIME.fullmatch(text)
    if found is None or found[2] not in MONTHS:
        return text
    day, month, year, clock, sign, hours, minutes = found.groups()
    if hours == minutes == "00":
        return f"{year}-{MONTHS[month]:02}-{day}T{clock}.000Z"
    try:
        local = datetime.fromisoformat(f"{year}-{MONTHS[month]:02}-{day}T{clock}{sign}{hours}:{minutes}")
        return local.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    except (ValueError, OverflowError):
        return text


def _w3c(columns: list[str], line: str, number: int, offset: int) -> Event | None:
    """Parse a line of IIS's W3C format, whose times are UTC."""
    values = line.split(" ")
    if len(values) != len(columns):
        return None
    fields = {name: value for name, value in zip(columns, values, strict=True) if value != "-"}
    day, clock = fields.pop("date", ""), fields.pop("time", "")
    stem, query = fields.get("cs-uri-stem", ""), fields.get("cs-uri-query", "")
    if stem:
        add_target(fields, f"{stem}?{query}" if query else stem)
    if "cs-user-agent" in fields:
        fields["cs-user-agent"] = fields["cs-user-agent"].replace("+", " ")
    time = f"{day}T{clock}.000Z" if day and clock else ""
    return _event(number, offset, line, time, fields.get("s-computername", ""), fields)


def _error(line: str, number: int, offset: int) -> Event | None:
    """Parse a line of an error log; its times have no time zone."""
    if (nginx := _NGINX_ERROR.match(line)) is not None:
        year, month, day, clock, level, message = nginx.groups()
        time, product = f"{year}-{month}-{day}T{clock}", "nginx"
    elif (apache := _APACHE_ERROR.match(line)) is not None:
        name, day, clock, year, level, message = apache.groups()
        time, product = f"{year}-{MONTHS.get(name, 0):02}-{int(day):02}T{clock}", "apache"
    else:
        return None
    fields = {"message": message, "level": level}
    if (client := _CLIENT.search(message)) is not None:
        fields["c-ip"] = client[1].rpartition(":")[0] if client[1].count(":") == 1 else client[1]
    if (request := _ERROR_REQUEST.search(message)) is not None:
        add_request(fields, request[1])
    event = _event(number, offset, line, time, "", fields)
    event.product, event.service = product, "error"
    event.verdict = firewall_verdict(message)
    return event
