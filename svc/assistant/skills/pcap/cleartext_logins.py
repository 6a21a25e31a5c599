"""Cleartext logins: FTP, POP3, IMAP, SMTP, Telnet. A password is never kept. Pure.

Commands: RFC 959 (FTP), 1939 (POP3), 9051 (IMAP), 4954 (SMTP AUTH). Telnet has none: the text typed at a prompt counts.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

import msgspec

MAX_LINES = 400  # of one flow: a login comes at its beginning, and so do many in a guessing run
MAX_LINE_BYTES = 1_024
MAX_NAME_CHARS = 200


class Credential(msgspec.Struct):
    """A cleartext login. ``secret`` is only the length of the password; ``result``: accepted, refused or ""."""

    protocol: str
    user: str
    secret: str
    number: int
    server: str = ""
    result: str = ""


class Transfer(msgspec.Struct, frozen=True):
    """A file sent by FTP, or a mail after a login in cleartext: its name or subject."""

    protocol: str
    name: str
    number: int
    seconds: float


def masked(secret: str) -> str:
    """Return the length of a password in words, which is all that may be shown of it."""
    return f"{len(secret)} characters" if secret else "empty"


_GREETINGS = (
    (re.compile(rb"220[ -][^\r\n]{0,200}(?:SMTP|[Mm]ail|Postfix|Exim|Sendmail)"), "SMTP"),
    (re.compile(rb"220[ -]"), "FTP"),
    (re.compile(rb"\+OK\b"), "POP3"),
    (re.compile(rb"\* (?:OK|PREAUTH)\b"), "IMAP"),
)
_COMMANDS = (
    (re.compile(rb"USER [^\r\n]{1,200}\r?\n"), "FTP"),
    (re.compile(rb"(?:EHLO|HELO) "), "SMTP"),
    (re.compile(rb"[A-Za-z0-9.]{1,12} LOGIN \S", re.IGNORECASE), "IMAP"),
)
TELNET_PORT = 23
_OPTIONS = frozenset({0xFB, 0xFC, 0xFD, 0xFE})
_OPTION = re.compile(rb"\xff[\xfb-\xfe].|\xff\xfa.*?\xff\xf0|\xff[\xf0-\xf9]", re.DOTALL)
_USER_PROMPT = re.compile(rb"(?:login|user ?name|user|account)\s*:\s*$", re.IGNORECASE)
_SECRET_PROMPT = re.compile(rb"pass(?:word|code|wd)?[^:\r\n]{0,40}:\s*$", re.IGNORECASE)
_IMAP_LOGIN = re.compile(r"(\S{1,12}) LOGIN (\"(?:[^\"\\]|\\.)*\"|\S+) (.+)$", re.IGNORECASE)
_REFUSED = re.compile(r"(?:530|535|430|-ERR|\S{1,12} (?:NO|BAD)\b)")
_ACCEPTED = re.compile(r"(?:230|235|\+OK|\S{1,12} OK\b)")


def login_protocol(data: bytes, *, from_client: bool, server_port: int) -> str:
    """Return the cleartext login protocol of a flow by its first bytes, or "" for any other."""
    if server_port == TELNET_PORT or (data[:1] == b"\xff" and len(data) > 2 and data[1] in _OPTIONS):
        return "Telnet"
    shapes = _COMMANDS if from_client else _GREETINGS
    name = next((name for shape, name in shapes if shape.match(data)), "")
    return "POP3" if name == "FTP" and server_port in (110, 1110) else name


class Logins:
    """A flow of FTP, POP3, IMAP or SMTP: names, masked passwords, and whether the server accepted them."""

    def __init__(
        self, protocol: str, note: Callable[[Credential], None], note_transfer: Callable[[Transfer], None]
    ) -> None:
        self.is_done: bool = False
        self._protocol, self._note_login, self._note_transfer = protocol, note, note_transfer
        self._in_mail = False
        self._partial = {True: b"", False: b""}
        self._lines = 0
        self._user = ""
        self._last: Credential | None = None
        self._awaits = ""  # of SMTP AUTH LOGIN: "user", "secret" or "plain"

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Read whole lines; stop when the flow becomes encrypted or long."""
        *lines, rest = (self._partial[from_client] + data).split(b"\n")
        self._partial[from_client] = rest[:MAX_LINE_BYTES]
        for raw in lines:
            self._lines += 1
            line = raw[:MAX_LINE_BYTES].decode("utf-8", errors="replace").strip()
            if from_client and self._in_mail:
                self._mail(line, number, seconds)
            elif from_client:
                self._command(line, number)
                self._note_file(line, number, seconds)
            elif self._last is not None and not self._last.result:
                self._last.result = _result(line)
        self.is_done = self.is_done or self._lines > MAX_LINES

    def _command(self, line: str, number: int) -> None:
        verb, _, rest = line.partition(" ")
        verb = verb.upper()
        if verb in ("STARTTLS", "STLS") or line.upper() == "AUTH TLS":
            self.is_done = True
        elif self._awaits:
            self._answer(line, number)
        elif verb == "USER":
            self._user = rest[:MAX_NAME_CHARS]
        elif verb == "PASS":
            self._note(self._user, rest, number)
        elif verb == "AUTH" and self._protocol == "SMTP":
            self._begin_auth(rest, number)
        elif self._protocol == "IMAP" and (login := _IMAP_LOGIN.match(line)) is not None:
            self._note(login[2].strip('"'), login[3].strip('"'), number)

    def _note_file(self, line: str, number: int, seconds: float) -> None:
        """A file that FTP stores; the beginning of a mail after a login."""
        verb, _, rest = line.partition(" ")
        if self._protocol == "FTP" and verb.upper() in ("STOR", "STOU", "APPE"):
            self._note_transfer(Transfer("FTP", rest[:MAX_NAME_CHARS], number, seconds))
        elif self._protocol == "SMTP" and verb.upper() == "DATA" and self._last is not None:
            self._in_mail = True

    def _mail(self, line: str, number: int, seconds: float) -> None:
        """The subject of a mail, up to its end."""
        name, _, value = line.partition(":")
        if name.lower() == "subject":
            self._note_transfer(Transfer("SMTP", value.strip()[:MAX_NAME_CHARS], number, seconds))
        self._in_mail = line != "."

    def _begin_auth(self, rest: str, number: int) -> None:
        """SMTP AUTH: PLAIN sends all at once, LOGIN asks for the name and then for the password."""
        mechanism, _, initial = rest.partition(" ")
        self._awaits = {"PLAIN": "plain", "LOGIN": "user"}.get(mechanism.upper(), "")
        if self._awaits and initial:
            self._answer(initial, number)

    def _answer(self, line: str, number: int) -> None:
        decoded = _decoded(line)
        if self._awaits == "plain":
            parts = decoded.split("\x00")
            self._awaits = ""
            if len(parts) == 3:
                self._note(parts[1], parts[2], number)
        elif self._awaits == "user":
            self._user, self._awaits = decoded[:MAX_NAME_CHARS], "secret"
        else:
            self._awaits = ""
            self._note(self._user, decoded, number)

    def _note(self, user: str, secret: str, number: int) -> None:
        self._last = Credential(self._protocol, user[:MAX_NAME_CHARS], masked(secret), number)
        self._note_login(self._last)


def _result(line: str) -> str:
    if _REFUSED.match(line):
        return "refused"
    return "accepted" if _ACCEPTED.match(line) else ""


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError):
        return ""


class Telnet:
    """A Telnet flow: the text typed at the prompts for name and password."""

    def __init__(self, note: Callable[[Credential], None]) -> None:
        self.is_done: bool = False
        self._note_login = note
        self._prompt = self._typed = b""
        self._asked = ""
        self._user = ""
        self._pieces = 0

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Follow prompts and typed keys; stop after MAX_LINES pieces."""
        self._pieces += 1
        self.is_done = self._pieces > MAX_LINES
        text = _OPTION.sub(b"", data)
        if not from_client:
            self._prompt = (self._prompt + text)[-200:]
            if _SECRET_PROMPT.search(self._prompt):
                self._asked = "secret"
            elif _USER_PROMPT.search(self._prompt):
                self._asked = "user"
            return
        self._typed = (self._typed + text)[:MAX_LINE_BYTES]
        if b"\r" not in self._typed and b"\n" not in self._typed:
            return
        typed = re.split(rb"[\r\n]", self._typed)[0].decode("utf-8", errors="replace").strip("\x00")
        asked, self._asked, self._typed, self._prompt = self._asked, "", b"", b""
        if asked == "user":
            self._user = typed[:MAX_NAME_CHARS]
        elif asked == "secret":
            self._note_login(Credential("Telnet", self._user, masked(typed), number))
