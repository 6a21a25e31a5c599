"""What the message of a program's log says, as fields: a web request, a file transfer, another product's verdict.

Formats: HAProxy's HTTP log (configuration manual, 8.2.3), Envoy's and Istio's default access log, Rails, vsftpd,
Pure-FTPd, ``xferlog(5)`` (wu-ftpd, ProFTPD, vsftpd), OpenSSH's ``sftp-server``; Fail2ban's bans, ClamAV's ``FOUND``,
detections in Microsoft Defender's support log (MPLog), whose names follow Microsoft's scheme ``Type:Platform/Family``.
"""

from __future__ import annotations

import re

from svc.assistant.log_readers.web_server import add_request, add_target
from svc.assistant.sigma.event import Event, Verdict

MAX_REQUEST_CHARS = 8_192
_METHOD = re.compile(
    r"(?<![\w/])(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|TRACK|PATCH|PROPFIND|MKCOL|MOVE|COPY|SEARCH) "
)
_VERSION = " HTTP/"
_RAILS = re.compile(
    r"(?:#\d{1,9}\]\s{1,9}[A-Z]{4,6} -- [^:]{0,100}: )?Started (?P<method>[A-Z]{3,8}) \"(?P<target>[^\"]{1,4096})\""
    r" for (?P<client>\S{2,60})"
)
_STATUS_AFTER = re.compile(r"\d(?:\.\d)?\"? (?P<status>\d{3})\b")
_HAPROXY = re.compile(
    r"(?P<client>[0-9A-Fa-f.:]{2,45}):\d{1,5} \[[^\]]{1,40}\] \S{1,200} \S{1,400} [-\d/+]{5,80} (?P<status>\d{3}|-1) "
    r"\+?(?P<size>\d{1,18}) "
)
_CLIENT = re.compile(
    r"(?:\[client |\bclient(?:_?ip)?[=: ]{1,2}|\bfrom |\bremote_?(?:addr|ip)[=: ]{1,2}|^)"
    r"\"?\[?(?P<client>\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.:])"
)
_ADDRESS = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_QUOTED = re.compile(r"\"([^\"]{0,2000})\"")
_ENVOY_QUOTED = 5  # X-Forwarded-For, user agent, request's ID, authority, upstream
_TRANSFERS = (
    re.compile(
        r"\[pid \d{1,10}\] \[(?P<user>[^\]]{1,100})\] (?P<result>OK|FAIL) (?P<action>UPLOAD|DOWNLOAD|DELETE|RENAME): "
        r"Client \"(?P<client>[^\"]{2,60})\", \"(?P<path>[^\"]{1,4096})\"(?:, (?P<size>\d{1,18}) bytes)?"
    ),
    re.compile(
        r"\d{1,10} (?P<client>\S{1,255}) (?P<size>\d{1,18}) (?P<path>\S{1,4096}) [ab] \S{1,5} (?P<action>[oid]) [agr] "
        r"(?P<user>\S{1,255}) \S{1,50} [01] \S{1,255} (?P<result>[ci])\b"
    ),
    re.compile(
        r"\((?P<user>[^@()\s]{1,100})@(?P<client>[^)\s]{1,100})\) \[\w{1,10}\] (?P<path>\S{1,4096}) "
        r"(?P<action>uploaded|downloaded) {1,4}\((?P<size>\d{1,18}) bytes"
    ),
    re.compile(r"close \"(?P<path>[^\"]{1,4096})\" bytes read (?P<read>\d{1,18}) written (?P<size>\d{1,18})"),
)
_TRANSFER_BEGINS = frozenset("[(c0123456789")
_ACTIONS = {"i": "upload", "o": "download", "d": "delete", "uploaded": "upload", "downloaded": "download"}
_BAN = re.compile(r"\[(?P<jail>[\w.-]{1,50})\] (?:Restore )?Ban (?P<client>[0-9A-Fa-f:.]{3,45})")
_MALWARE = re.compile(r"\b[A-Z][A-Za-z]{2,24}:[A-Za-z0-9_]{2,20}/[A-Za-z][\w.!#-]{1,120}")
_FOUND = " FOUND"


def describe(event: Event) -> None:
    """Add what an event's ``message`` says, and set category and verdict by it."""
    message = event.fields.get("message", "")
    if _transfer(event, message):
        return
    if _request(event, message):
        return
    event.verdict = _verdict(event, message)


def _request(event: Event, message: str) -> bool:
    """Make a message about an HTTP request one of a web server; returns whether it is one."""
    if (rails := _RAILS.match(message)) is not None:
        event.category, event.product, event.service = "webserver", "", ""
        event.fields |= {"cs-method": rails["method"], "c-ip": rails["client"]}
        add_target(event.fields, rails["target"])
        return True
    end = message.find(_VERSION, 0, MAX_REQUEST_CHARS)
    if end < 0:
        return False
    methods = list(_METHOD.finditer(message, 0, end))
    if not methods:
        return False
    quoted = [one for one in methods if message[one.start() - 1 : one.start()] == '"']
    start = (quoted[-1] if quoted else methods[0]).start()
    version = end + len(_VERSION)
    event.category, event.product, event.service = "webserver", "", ""
    add_request(event.fields, f"{message[start:end]}{_VERSION}{message[version : version + 1]}")
    if (proxied := _HAPROXY.search(message, 0, start)) is not None:
        event.fields |= {"c-ip": proxied["client"], "sc-status": proxied["status"], "sc-bytes": proxied["size"]}
        return True
    if (after := _STATUS_AFTER.match(message, version)) is not None:
        event.fields["sc-status"] = after["status"]
    rest = _QUOTED.findall(message[version:].partition('"')[2])
    if len(rest) >= _ENVOY_QUOTED:
        client, agent, _, host, _ = rest[-_ENVOY_QUOTED:]
        named = {"c-ip": client.partition(",")[0], "cs-user-agent": agent, "cs-host": host}
        event.fields |= {name: value for name, value in named.items() if value not in ("", "-")}
    elif client := _client(message[:start], message):
        event.fields["c-ip"] = client
    return True


def _client(before: str, message: str) -> str:
    """The address of who sent a request: the one that is called so, or the only one before the request."""
    if (named := _CLIENT.search(message)) is not None:
        return named["client"]
    addresses = set(_ADDRESS.findall(before))
    return addresses.pop() if len(addresses) == 1 else ""


def _transfer(event: Event, message: str) -> bool:
    """Make a message about a file that was sent or received a file transfer; returns whether it is one."""
    if message[:1] not in _TRANSFER_BEGINS:
        return False
    found = next((one for pattern in _TRANSFERS if (one := pattern.match(message)) is not None), None)
    if found is None:
        return False
    named = found.groupdict()
    if "read" in named:
        action = "upload" if named["size"] != "0" else "download"
        named["size"] = named["size"] if action == "upload" else named["read"]
    else:
        action = _ACTIONS.get(named["action"], named["action"].lower())
    values = {
        "action": action,
        "TargetFilename": named["path"],
        "User": named.get("user"),
        "SourceIp": named.get("client"),
        "size": named.get("size"),
        "outcome": "failure" if named.get("result") in ("FAIL", "i") else "success",
    }
    event.category = "file_transfer"
    event.fields |= {name: value for name, value in values.items() if value}
    return True


def _verdict(event: Event, message: str) -> Verdict | None:
    """What a scanner or a guard says in a message of its log."""
    if "fail2ban" in event.fields.get("program", message[:80]) and (ban := _BAN.search(message)) is not None:
        event.fields["SourceIp"] = ban["client"]
        return Verdict("Fail2ban", f"address banned ({ban['jail']})", "medium", is_denied=True)
    if message.startswith("DETECTION") and (named := _MALWARE.search(message)) is not None:
        return Verdict("Microsoft Defender", named[0], "high")
    return found_by_clamav(event, message)


def found_by_clamav(event: Event, message: str) -> Verdict | None:
    """ClamAV's verdict in a line such as ``/tmp/x: Php.Webshell.C99-1 FOUND``; None for any other."""
    if not message.endswith(_FOUND):
        return None
    path, _, name = message.removesuffix(_FOUND).rpartition(": ")
    if not path or not name or " " in name:
        return None
    event.fields["TargetFilename"] = path.removeprefix("-> ").strip()
    return Verdict("ClamAV", name, "high")
