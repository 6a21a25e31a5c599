"""Parse one log line about a login: a failure, a success, or an attempt that came to neither.

Message texts: OpenSSH ``auth.c``, ``auth2.c``, ``packet.c`` (5.x to 10.x); Linux-PAM ``pam_unix``, ``pam_sss`` and
similar; sudo, su, login (util-linux, shadow), vsftpd, dovecot; further services: ``services.py``; rsyslog's "message
repeated". Clients choose account names freely, so a pattern takes the last address of a line: the server wrote that.
A message of sshd without a syslog header is read only if it names an address or a port: people write such sentences,
too.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from copy import copy
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from svc.assistant.log_readers.timestamps import Stamp, Stamps
from svc.assistant.skills.logins import services

MAX_NAME_CHARS = 256
MAX_REPEATS = 10_000_000  # of one line; no log daemon writes a higher number
NO_SOURCE = "(not stated)"  # of a login that only PAM's session line reports

# A line without any of these is not about a login; the test is cheap, and most lines of a syslog fail it.
_OWN_MARKS = (
    "ailed ", "ailure", "nvalid user", "Accepted ", "Received disconnect", "session opened for user", "COMMAND=",
    "repeated ", "ting user", "ncorrect password", "(to ", "FAILED ", "LOGIN", "auth failed", "Login: user",
    "authentication error", "llegal user", "su for ", "attempts exceeded", "[preauth]", "Did not receive",
    "Connection closed", "POSSIBLE BREAK-IN", "not map back", "onnection from ",
)  # fmt: skip
_MARKS = (*_OWN_MARKS, *(mark for mark in services.MARKS if not any(own in mark for own in _OWN_MARKS)))
MAX_KNOWN = 5_000  # headers, and messages, that are remembered
MAX_KNOWN_CHARS = 300
_MAX_HEADER_CHARS = 400  # that are searched for the process ID
_MAX_PID_CHARS = 20


class LoginEventKind(StrEnum):
    """What a line reports. OWN, ERROR and PAM may report the same attempt; ``counting`` counts it once."""

    OWN = "failure, as the server logs it"
    ERROR = "failure, as the server's error log has it"
    PAM = "failure, as PAM logs it"
    ATTEMPT = "attempt that may have ended before a password"
    SUCCESS = "success"
    KEY_REFUSED = "refused key"
    NO_ACCOUNT = "connection that named no account"
    SESSION = "session that PAM opened; a login unless the server's own line reports it, too"
    JOB = "session of a scheduled job, or opened by a user who was logged in already"
    ADDRESS = "address of a connection"


class LoginEvent(msgspec.Struct):
    """One parsed line. ``account`` is None if not named; ``source`` is an address, a host name or ``local …``."""

    kind: LoginEventKind
    service: str
    host: str
    pid: str
    source: str
    account: str | None
    port: str = ""
    method: str = ""
    module: str = ""
    count: int = 1
    span: float = 0.0
    """Seconds before the line in which its attempts were made."""
    stamp: Stamp | None = None


_UNKNOWN = LoginEvent(LoginEventKind.JOB, "", "", "", "", None)  # stands for a message that is not remembered
_HEADER = re.compile(
    r"\s{0,20}(?:(?P<host>\S{1,300})\s{1,20})??(?P<login>-- )?(?P<program>[A-Za-z][\w./-]{0,100})\]?"
    r"(?:\((?P<module>pam_\w{1,100})\))?(?:\[(?P<pid>\d{1,20})\])?:\s+"
)
_HEADER_5424 = re.compile(
    r"\s*(?P<host>\S+) (?P<program>[\w./-]+) (?P<pid>\d+|-) \S+ (?:-|\[.*?\]) (?:\ufeff)?(?P<module>)"
)
_HEADER_VSFTPD = re.compile(r"\s*(?P<host>)\[(?P<program>)pid (?P<pid>\d+)\]\s+(?P<module>)")
_REPEATED = re.compile(r"message repeated (\d{1,9}) times: \[ ?(.*)$")
_LAST_REPEATED = re.compile(r"\s*(?:(?P<host>\S+)\s+)??last message repeated (?P<times>\d{1,9}) times?")

_FAILED = re.compile(
    r"Failed (\S+) for (?:(?:invalid|illegal) user )?(.*) from (\S+)(?: port (\d+))?(?: ssh\d?)?(?:: .*)?$"
)
_ACCEPTED = re.compile(r"Accepted (\S+) for (.*) from (\S+)(?: port (\d+))?(?: ssh\d?)?(?:: .*)?$")
_INVALID = re.compile(r"(?:Invalid|Illegal) user (.*) from (\S+)(?: port (\d+))?\s*$")
_PAM_ERROR = re.compile(r"(?:error: )?PAM: \S.*? for (?:(?:invalid|illegal) user )?(.*) from (\S+)")
_MAXIMUM = re.compile(
    r"(?:error: )?maximum authentication attempts exceeded for (?:invalid user )?(.*) from (\S+) port (\d+)"
)
_ENDED = re.compile(
    r"(?:Connection (?:closed|reset) by|Disconnected from|Disconnecting) "
    r"(?:authenticating|invalid) user (.{0,300}) (\S{1,300}) port (\d{1,20})\b[^\[]{0,300}(?:\[preauth\])?\s*$"
)
_UNNAMED = re.compile(
    r"(?:Connection (?:closed|reset) by|Disconnected from|Did not receive identification string from"
    r"|(?:error: )?Received disconnect from) (\S+?):?(?: |$)"
)
_MAPPED = re.compile(
    r"reverse mapping checking getaddrinfo for \S+ \[([^\s\]]+)\] failed"
    r"|Address (\S+) maps to \S+, but this does not map back|Connection from (\S+) port \d"
)
_OPENED = r"session opened for user (\S+?)(?:\(uid=\d+\))?(?: by |$)"
_SESSION = re.compile(rf"pam_\w+\(([\w.+/-]+?)(?:-l)?:session\): {_OPENED}")
_SESSION_OLD = re.compile(_OPENED)
_LOGIN_SERVICES = frozenset(
    ["sshd", "login", "remote", "rlogin", "rsh", "telnet", "ftp", "vsftpd", "proftpd", "pure-ftpd", "gdm",
     "gdm-password", "gdm-autologin", "lightdm", "sddm", "kdm", "xdm"]
)  # fmt: skip
"""PAM services whose sessions are logins of people; those of cron, sudo, su and systemd are not."""
_PAM = re.compile(r"pam_(\w+)\(([\w.+/-]+?)(?:-l)?:auth\): authentication failure; ?(.*)$")
_PAM_OLD = re.compile(r"authentication failure; ?(.*)$")
_PAM_MORE = re.compile(r"PAM (\d{1,6}) more authentication failures?; ?(.*)$")
_RHOST = re.compile(r"\brhost=(\S*)")
_RUSER = re.compile(r"\bruser=(\S*)")
_TTY = re.compile(r"\btty=(\S*)")
_TTY_NAMED = re.compile(r"\btty=/dev/|\btty=(?:tty|pts|:)")
_REMOTE_PAM = frozenset(
    ["smtp", "imap", "pop", "pop3", "sieve", "dovecot", "sshd", "ftp", "vsftpd", "proftpd", "openvpn"]
)
"""PAM services that are reached by network only, even if PAM is not told from where."""
_USER = re.compile(r"\suser=(.*)$")
_SUDO = re.compile(r"\s*(\S+) : (?:(\d{1,4}) incorrect password attempts?\b|(?:.*; )?TTY=.*COMMAND=)")
_SUDO_REFUSED = re.compile(r" : (?:user NOT|command not allowed|a password is required)")
_SU_FAILED = re.compile(r"(?:FAILED [Ss][Uu] \(to (\S+)\) (\S+)|FAILED su for (\S+) by (\S+))")
_SU_DONE = re.compile(r"(?:\(to (\S+)\) (\S+) on |Successful su for (\S+) by (\S+))")
_LOGIN_FAILED = re.compile(
    r"FAILED LOGIN (?:SESSION )?\(?\d*\)? ?(?:on|FROM|from) '?([^' ]+)'? (?:from '[^']*' )?(?:FOR|for) '?([^',]*)'?"
)
_LOGIN_DONE = re.compile(r"(?:ROOT LOGIN (?:ON|on) '?(\S+?)'?(?: .*)?$|LOGIN ON (\S+) BY (\S+))")
_VSFTPD = re.compile(r"\[(.{0,256})\] (OK|FAIL) LOGIN: Client \"([^\"]+)\"")
_FTP_CONNECTION = re.compile(r"connection from (\S+) \(")
_DOVECOT_FAILED = re.compile(
    r"\(auth failed, (\d{1,6}) attempts(?: in (\d{1,6}) secs)?[^)]*\): (?:user=<([^>]*)>, )?(?:.*, )?rip=([^, ]+)"
)
_DOVECOT_DONE = re.compile(r"-login: Login: user=<([^>]*)>, (?:.*, )?rip=([^, ]+)")


class _Header(NamedTuple):
    """What stands between a line's timestamp and its message, but for the process ID."""

    host: str
    service: str
    module: str


class _Headers:
    """Parses the headers of one log; those of a program on a host differ in the process ID only."""

    def __init__(self) -> None:
        self._known: dict[str, _Header] = {}

    def read(self, line: str, end: int) -> tuple[_Header, str, str] | None:
        """Return the header after a timestamp that ends at ``end``, the process ID and the message."""
        at = line.find("[", end, end + _MAX_HEADER_CHARS)
        close = line.find("]: ", at + 1, at + _MAX_PID_CHARS + 4) if at >= 0 else -1
        pid = line[at + 1 : close] if close > 0 else ""
        is_usual = pid.isdecimal()
        if is_usual and (known := self._known.get(line[end:at])) is not None:
            return known, pid, line[close + 2 :].strip()
        found = _HEADER.match(line, end) or _HEADER_5424.match(line, end) or _HEADER_VSFTPD.match(line, end)
        if found is None:
            return None
        is_login = found.re is _HEADER and found["login"]  # login renames itself: "-- root[77]: ROOT LOGIN"
        service = "login" if is_login else _service(found["program"])
        header = _Header(found["host"] or "", service, found["module"] or "")
        if is_usual and found.re is _HEADER and found.start("pid") == at + 1:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[line[end:at]] = header
        return header, found["pid"] or "", line[found.end() :].rstrip()


class AuthLines:
    """Parses the lines of one log in order; keeps the timestamps' state and the previous line."""

    def __init__(self) -> None:
        self.stamps: Stamps = Stamps()
        self._previous = ""
        self._headers = _Headers()
        self._messages: dict[tuple[str, str, str], LoginEvent | None] = {}

    def read(self, line: str) -> LoginEvent | None:
        """Return the event of ``line``, or None if it is not about a login."""
        previous, self._previous = self._previous, line
        for mark in _MARKS:
            if mark in line:
                break
        else:
            return None
        stamp, end = self.stamps.read(line)
        if "last message" in line and (again := _LAST_REPEATED.match(line, end)) is not None:
            self._previous = previous  # several such lines in a row all mean the same one
            return self._repeated(previous, again, stamp)
        return self._parsed(line, stamp, end)

    def _repeated(self, previous: str, again: re.Match[str], stamp: Stamp | None) -> LoginEvent | None:
        """Return the previous line's event for an old syslog daemon's "last message repeated 3 times"."""
        event = self._parsed(previous, stamp, self.stamps.read(previous)[1])
        if event is None or event.host != (again["host"] or ""):
            return None
        return msgspec.structs.replace(event, count=min(int(again["times"]), MAX_REPEATS))

    def _parsed(self, line: str, stamp: Stamp | None, end: int) -> LoginEvent | None:
        """Parse a line whose timestamp ends at ``end``."""
        found = self._headers.read(line, end)
        if found is not None and (event := self._with_header(*found)) is not None:
            event.stamp = stamp
            return event
        message = line[end:].strip()  # from a log without syslog headers, or a line copied without its header
        event = _sshd(message) if found is None else None
        if event is not None and not (event.port or is_address(event.source)):
            event = None
        event = event or _other_service(message)
        return None if event is None else msgspec.structs.replace(event, stamp=stamp)

    def _with_header(self, header: _Header, pid: str, message: str) -> LoginEvent | None:
        times = 1
        if message.startswith("message") and (repeated := _REPEATED.match(message)) is not None:
            times, message = min(int(repeated[1]), MAX_REPEATS), repeated[2].rstrip().removesuffix("]").rstrip()
        host, service, module = header
        event = _sshd(message) if service == "sshd" else self._of_other(message, service, module)
        if event is None and service == "sshd":
            event = _of_any(message, service, module)
        if event is None:
            return None
        event.host, event.pid = host, pid
        event.count *= times
        return event

    def _of_other(self, message: str, service: str, module: str) -> LoginEvent | None:
        """Parse a message of a program other than sshd: these have no ports, and repeat."""
        key = service, module, message
        event = self._messages.get(key, _UNKNOWN)
        if event is _UNKNOWN:
            event = _of_any(message, service, module)
            if len(message) <= MAX_KNOWN_CHARS:
                if len(self._messages) >= MAX_KNOWN:
                    self._messages.clear()
                self._messages[key] = event
        return copy(event)


def _service(program: str) -> str:
    """Return ``sshd`` for all of OpenSSH's processes, otherwise the last part of the program's path."""
    name = program.rsplit("/", 1)[-1]
    return "sshd" if name.startswith("sshd") else name or "vsftpd"


def _of_any(message: str, service: str, module: str) -> LoginEvent | None:
    """Parse a message without its header; host, pid and time are filled in by the caller."""
    return (
        _other_service(message)
        or _pam(message, service, module)
        or _session(message, service, module)
        or _local(message, service)
        or _mail_or_ftp(message, service)
    )


def _session(message: str, service: str, module: str) -> LoginEvent | None:
    """Parse PAM's line about a new session; it does not say from where."""
    if (m := _SESSION.match(message)) is not None:
        service, user = _service(m[1]), m[2]
    elif module and (m := _SESSION_OLD.match(message)) is not None:
        user = m[1]
    else:
        return None
    kind = LoginEventKind.SESSION if service in _LOGIN_SERVICES else LoginEventKind.JOB
    return _event(kind, service, user, NO_SOURCE, method="session")


def _event(
    kind: LoginEventKind,
    service: str,
    account: str | None,
    source: str,
    *,
    port: str = "",
    method: str = "",
    module: str = "",
    count: int = 1,
) -> LoginEvent:
    return LoginEvent(kind, service, "", "", _address(source), _account(account), port or "", method, module, count)


def _account(name: str | None) -> str | None:
    return None if name is None else name.strip()[:MAX_NAME_CHARS]


def _address(source: str) -> str:
    """Return an address in its usual form: IPv4-mapped IPv6 as IPv4, IPv6 in lower case."""
    source = source.strip("[]")[:MAX_NAME_CHARS]
    if ":" in source:
        source = source.lower().removeprefix("::ffff:") if "." in source else source.lower()
    return source


@lru_cache(maxsize=10_000)
def is_address(source: str) -> bool:
    """Whether a source is an IP address, not a host name or a terminal."""
    try:
        ipaddress.ip_address(source)
    except ValueError:
        return False
    return True


def _sshd(message: str) -> LoginEvent | None:
    for parse in _SSHD.get(message.partition(" ")[0], ()):
        event = parse(message)
        if event is not None:
            return event
    return None


def _failed(message: str) -> LoginEvent | None:
    if (m := _FAILED.match(message)) is None:
        return None
    method, user, source, port = m.groups()
    kind = _KIND_OF_FAILED.get(method, LoginEventKind.OWN)
    return LoginEvent(kind, "sshd", "", "", _address(source), _account(user), port or "", method)


def _accepted(message: str) -> LoginEvent | None:
    m = _ACCEPTED.match(message)
    return m and _event(LoginEventKind.SUCCESS, "sshd", m[2], m[3], port=m[4], method=m[1])


def _invalid(message: str) -> LoginEvent | None:
    m = _INVALID.match(message)
    return m and _event(LoginEventKind.ATTEMPT, "sshd", m[1], m[2], port=m[3])


def _pam_error(message: str) -> LoginEvent | None:
    m = _PAM_ERROR.match(message)
    return m and _event(LoginEventKind.ERROR, "sshd", m[1], m[2], method="pam")


def _ended(message: str) -> LoginEvent | None:
    m = _MAXIMUM.match(message) or _ENDED.match(message)
    return m and _event(LoginEventKind.ATTEMPT, "sshd", m[1], m[2], port=m[3])


def _unnamed(message: str) -> LoginEvent | None:
    m = _UNNAMED.match(message)
    return m and _event(LoginEventKind.NO_ACCOUNT, "sshd", None, m[1])


def _mapped(message: str) -> LoginEvent | None:
    m = _MAPPED.match(message)
    return m and _event(LoginEventKind.ADDRESS, "sshd", None, m[1] or m[2] or m[3])


_KIND_OF_FAILED = {"publickey": LoginEventKind.KEY_REFUSED, "none": LoginEventKind.ATTEMPT}
_SSHD: dict[str, tuple[Callable[[str], LoginEvent | None], ...]] = {
    "Failed": (_failed,),
    "Accepted": (_accepted,),
    "Invalid": (_invalid,),
    "Illegal": (_invalid,),
    "PAM:": (_pam_error,),
    "error:": (_pam_error, _ended, _unnamed),
    "maximum": (_ended,),
    "Connection": (_ended, _unnamed, _mapped),
    "Disconnected": (_ended, _unnamed),
    "Disconnecting": (_ended,),
    "Did": (_unnamed,),
    "Received": (_unnamed,),
    "reverse": (_mapped,),
    "Address": (_mapped,),
}
"""What sshd's messages are parsed by, by their first word."""


def _pam(message: str, service: str, module: str) -> LoginEvent | None:
    count, fields = 1, ""
    if (m := _PAM.match(message)) is not None:
        module, service, fields = m[1], _service(m[2]), m[3]
    elif (m := _PAM_MORE.match(message)) is not None:
        count, module, fields = int(m[1]), "unix", m[2]
    elif module and (m := _PAM_OLD.match(message)) is not None:
        module, fields = module.removeprefix("pam_"), m[1]
    else:
        return None
    user = _USER.search(" " + fields)
    name = user[1] if user else None
    remote = _RHOST.search(fields)
    if remote is not None and remote[1]:
        return _event(LoginEventKind.PAM, service, name, remote[1], module=module, count=count)
    if service in _REMOTE_PAM and not _TTY_NAMED.search(fields):
        return _event(LoginEventKind.PAM, service, name, NO_SOURCE, module=module, count=count)
    by, tty = _RUSER.search(fields), _TTY.search(fields)
    if by is not None and by[1]:
        return _event(LoginEventKind.PAM, service, name, f"local user {by[1]}", module=module, count=count)
    return _event(
        LoginEventKind.PAM, service, name, f"local {_terminal(tty[1] if tty else '')}", module=module, count=count
    )


def _terminal(tty: str) -> str:
    return tty.removeprefix("/dev/") or "console"


def _local(message: str, service: str) -> LoginEvent | None:
    """Parse sudo, su and login: the source is the user who was logged in already, or the terminal."""
    if service == "sudo" and (m := _SUDO.match(message)) is not None and not _SUDO_REFUSED.search(message):
        if m[2]:
            return _event(LoginEventKind.OWN, service, m[1], f"local user {m[1]}", method="password", count=int(m[2]))
        return _event(LoginEventKind.SUCCESS, service, m[1], f"local user {m[1]}", method="sudo")
    if service == "su":
        if (m := _SU_FAILED.search(message)) is not None:
            return _event(LoginEventKind.OWN, service, m[1] or m[3], f"local user {m[2] or m[4]}", method="password")
        if (m := _SU_DONE.search(message)) is not None:
            return _event(LoginEventKind.SUCCESS, service, m[1] or m[3], f"local user {m[2] or m[4]}", method="su")
    if service == "login":
        if (m := _LOGIN_FAILED.search(message)) is not None:
            return _event(LoginEventKind.OWN, service, m[2], f"local {_terminal(m[1])}", method="password")
        if (m := _LOGIN_DONE.search(message)) is not None:
            return _event(
                LoginEventKind.SUCCESS, service, m[3] or "root", f"local {_terminal(m[1] or m[2])}", method="password"
            )
    return None


def _other_service(message: str) -> LoginEvent | None:
    """Parse the messages of ``services``: rejected and accepted logins."""
    for mark in services.MARKS:
        if mark in message:
            break
    else:
        return None
    for form in services.PATTERNS:
        if (m := form.pattern.search(message, 0, services.MAX_CHARS)) is not None:
            kind = LoginEventKind.SUCCESS if form.is_success else LoginEventKind.OWN
            named = m.groupdict()
            return _event(
                kind, form.service, named.get("user"), m["source"], port=named.get("port") or "", method="password"
            )
    return None


def _mail_or_ftp(message: str, service: str) -> LoginEvent | None:
    if (m := _VSFTPD.search(message)) is not None:
        kind = LoginEventKind.SUCCESS if m[2] == "OK" else LoginEventKind.OWN
        return _event(kind, "vsftpd", m[1], m[3], method="password")
    if service == "ftpd" and (m := _FTP_CONNECTION.match(message)) is not None:
        return _event(LoginEventKind.NO_ACCOUNT, service, None, m[1])
    if (m := _DOVECOT_FAILED.search(message)) is not None:
        failed = _event(LoginEventKind.OWN, "dovecot", m[3], m[4], method="password", count=int(m[1]))
        return msgspec.structs.replace(failed, span=float(m[2] or 0))
    if (m := _DOVECOT_DONE.search(message)) is not None:
        return _event(LoginEventKind.SUCCESS, "dovecot", m[1], m[2], method="password")
    return None
