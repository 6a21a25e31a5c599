"""HTTP/1 requests and replies in a flow, with the type and the hash of each body. Pure.

Framing: RFC 9112. A body is not kept: its type comes from the first bytes (``file_types``), its SHA-256 from all.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from collections import deque
from collections.abc import Callable
from functools import lru_cache

import msgspec

from svc.assistant.file_types.identify import identify
from svc.assistant.knowledge.network import Mark, mark_of_body, mark_of_head
from svc.assistant.skills.pcap.cleartext_logins import Credential, masked
from svc.assistant.skills.pcap.windows.ntlm import ntlm_challenge, ntlm_login

REQUEST = re.compile(
    rb"(?:GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH|CONNECT|PROPFIND|TRACE|SEARCH|MOVE|COPY|LOCK) [^\r\n]{1,8000}"
)
MAX_HEAD_BYTES = 32_768  # of one message: servers take 8 to 16 KiB
MAX_FIELDS = 100
MAX_VALUE_CHARS = 500
KIND_BYTES = 1_024  # of a body, from which its type is identified
MAX_WAITING = 100  # requests that no reply has come to: pipelining
MAX_CHUNK_LINE = 1_024
MAX_MARKED_CHARS = 8_192  # of a head, in which attacks are looked for
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_FILE_NAME = re.compile(r"filename\*?=\"?([^\";]{1,200})")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")


class HttpExchange(msgspec.Struct, kw_only=True):
    """One request with its reply. ``status`` 0: no reply in the capture. Bodies: bytes, type, SHA-256 if whole.

    ``scheme`` and ``account`` are of the login (NTLM states the account), ``marks`` what head and body indicate.
    """

    number: int
    seconds: float
    method: str
    target: str
    host: str
    agent: str
    referer: str
    sent: int = 0
    status: int = 0
    server: str = ""
    content_type: str = ""
    received: int = 0
    label: str = ""
    file_name: str = ""
    sha256: str = ""
    reply_number: int = 0
    scheme: str = ""
    account: str = ""
    sent_type: str = ""
    marks: list[Mark] = []


class _Body:
    """A message's body as it arrives: counted, hashed, first bytes kept. ``left`` None: until the flow ends."""

    def __init__(self, left: int | None, *, is_chunked: bool) -> None:
        self.size = 0
        self.start = b""
        self._digest = hashlib.sha256()
        self._left = 0 if is_chunked else left
        self._is_chunked = is_chunked
        self._line = b""  # the begun line with a chunk's size

    @property
    def sha256(self) -> str:
        """Of what came so far."""
        return self._digest.hexdigest()

    def take(self, data: bytes) -> bytes | None:
        """Return what follows the body in ``data``, or None while the body continues."""
        if self._is_chunked:
            return self._take_chunks(self._line + data)
        if self._left is None:
            self._count(data)
            return None
        self._count(data[: self._left])
        rest = data[self._left :]
        self._left -= len(data) - len(rest)
        return rest if self._left == 0 else None

    def _take_chunks(self, data: bytes) -> bytes | None:
        at, self._line = 0, b""
        while at < len(data):
            if self._left:
                piece = data[at : at + self._left]
                self._count(piece)
                self._left -= len(piece)
                at += len(piece)
                continue
            end = data.find(b"\n", at)
            if end < 0:
                self._line = data[at : at + MAX_CHUNK_LINE]
                return None
            line = data[at:end].split(b";")[0].strip()
            at = end + 1
            if not _CHUNK_SIZE.fullmatch(line):
                continue  # the line end after a chunk, or damage
            self._left = int(line, 16)
            if self._left == 0:
                return data[at:]
        return None

    def _count(self, data: bytes) -> None:
        self.size += len(data)
        if len(self.start) < KIND_BYTES:
            self.start += data[: KIND_BYTES - len(self.start)]
        self._digest.update(data)


class _HttpSide:
    """One direction: the incomplete head, or the body after the last one, and its exchange."""

    def __init__(self) -> None:
        self.head = b""
        self.body: _Body | None = None
        self.exchange: HttpExchange | None = None
        self.encoding = ""


class Http:
    """A flow that speaks HTTP. An exchange is noted with its request and completed as the reply comes."""

    def __init__(
        self,
        note: Callable[[HttpExchange], None],
        note_login: Callable[[Credential], None],
        note_challenge: Callable[[bytes, int, float], None],
    ) -> None:
        self.is_done: bool = False
        self._note, self._note_login, self._note_challenge = note, note_login, note_challenge
        self._client, self._server = _HttpSide(), _HttpSide()
        self._waiting: deque[HttpExchange] = deque()

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Read heads and skip bodies until the bytes are used up."""
        side = self._client if from_client else self._server
        rest: bytes | None = data
        while rest and not self.is_done:
            if side.body is not None:
                rest = side.body.take(rest)
                self._note_body(side, is_whole=rest is not None, from_client=from_client)
                continue
            side.head += rest
            head, end, rest = _split_head(side.head)
            if not end:
                self.is_done = len(side.head) > MAX_HEAD_BYTES
                return
            side.head = b""
            if from_client:
                self._request(head, number, seconds)
            else:
                self._reply(head, number, seconds)

    def _note_body(self, side: _HttpSide, *, is_whole: bool, from_client: bool) -> None:
        exchange, body = side.exchange, side.body
        if exchange is not None and body is not None:
            if from_client:
                if not exchange.sent or exchange.sent < KIND_BYTES:
                    _mark_body(exchange, body.start)
                exchange.sent = body.size
            else:
                exchange.received = body.size
                if body.size and not exchange.label and (is_whole or len(body.start) == KIND_BYTES):
                    exchange.label = _kind(body.start, side.encoding)
                exchange.sha256 = body.sha256 if is_whole else ""
        if is_whole:
            side.body = None

    def _request(self, head: bytes, number: int, seconds: float) -> None:
        if REQUEST.match(head) is None:
            self.is_done = True
            return
        method, _, rest = _text(head.split(b"\n", 1)[0]).partition(" ")
        fields = _fields(head)
        exchange = HttpExchange(
            number=number,
            seconds=seconds,
            method=method,
            target=rest.rsplit(" HTTP/", 1)[0].strip()[: MAX_VALUE_CHARS * 4],
            host=fields.get("host", ""),
            agent=fields.get("user-agent", ""),
            referer=fields.get("referer", ""),
        )
        mark = mark_of_head(_text(head[:MAX_MARKED_CHARS]))
        exchange.marks = [mark] if mark is not None else []
        exchange.sent_type = fields.get("content-type", "")
        self._note(exchange)
        self._waiting.append(exchange)
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
        self._note_credentials(fields, exchange)
        self._begin_body(self._client, fields, exchange, has_body=True, default=0)

    def _note_credentials(self, fields: dict[str, str], exchange: HttpExchange) -> None:
        for name in ("authorization", "proxy-authorization"):
            scheme, _, value = fields.get(name, "").partition(" ")
            exchange.scheme = exchange.scheme or scheme[:20]
            exchange.account = exchange.account or ntlm_login(_decoded(value)) or ""
            if scheme.lower() == "basic":
                user, secret = _basic(value)
                self._note_login(Credential("HTTP Basic", user, masked(secret), exchange.number, exchange.host))

    def _reply(self, head: bytes, number: int, seconds: float) -> None:
        status = _STATUS.match(head)
        if status is None:
            self.is_done = True
            return
        code = int(status[1])
        if 100 <= code < 200 and code != 101:
            return  # a preliminary reply; the real one follows
        exchange = self._waiting.popleft() if self._waiting else None
        fields = _fields(head)
        if challenge := ntlm_challenge(_decoded(fields.get("www-authenticate", "").partition(" ")[2])):
            self._note_challenge(challenge, number, seconds)
        if exchange is not None:
            exchange.status, exchange.reply_number = code, number
            exchange.server, exchange.content_type = fields.get("server", ""), fields.get("content-type", "")
            named = _FILE_NAME.search(fields.get("content-disposition", ""))
            exchange.file_name = named[1].strip() if named else ""
        if code == 101 or (exchange is not None and exchange.method == "CONNECT" and code == 200):
            self.is_done = True  # from here on another protocol
            return
        is_bare = code in (204, 304) or (exchange is not None and exchange.method == "HEAD")
        self._begin_body(self._server, fields, exchange, has_body=not is_bare, default=None)

    @staticmethod
    def _begin_body(
        side: _HttpSide, fields: dict[str, str], exchange: HttpExchange | None, *, has_body: bool, default: int | None
    ) -> None:
        """How the body is framed; ``default`` bytes if the head does not state it."""
        side.exchange, side.encoding = exchange, fields.get("content-encoding", "")
        length = fields.get("content-length", "")
        is_chunked = "chunked" in fields.get("transfer-encoding", "").lower()
        left = int(length) if length.isascii() and length.isdigit() and len(length) < 16 else default
        if has_body and (is_chunked or left != 0):
            side.body = _Body(left, is_chunked=is_chunked)


def _split_head(data: bytes) -> tuple[bytes, bool, bytes]:
    """A message's head, whether it is whole, and what follows it."""
    data = data.lstrip(b"\r\n")
    found = _HEAD_END.search(data)
    return (data[: found.start()], True, data[found.end() :]) if found else (data, False, b"")


def _fields(head: bytes) -> dict[str, str]:
    """The header fields by their lower-case names; the first of each."""
    fields: dict[str, str] = {}
    for line in head.split(b"\n")[1 : MAX_FIELDS + 1]:
        name, colon, value = line.partition(b":")
        if colon:
            fields.setdefault(_text(name).strip().lower(), _text(value).strip()[:MAX_VALUE_CHARS])
    return fields


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").rstrip("\r")


def _mark_body(exchange: HttpExchange, start: bytes) -> None:
    """Add what the first bytes of a request's body indicate."""
    mark = mark_of_body(start.decode("utf-8", errors="replace"))
    if mark is not None and mark not in exchange.marks:
        exchange.marks = [*exchange.marks, mark]


def _decoded(value: str) -> bytes:
    """Base64 as bytes; b"" for any other text."""
    try:
        return base64.b64decode(value.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _basic(value: str) -> tuple[str, str]:
    """User and password of a Basic authorization; ("", "") if it is malformed."""
    try:
        decoded = base64.b64decode(value.strip(), validate=True).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError):
        return "", ""
    user, _, secret = decoded.partition(":")
    return user[:MAX_VALUE_CHARS], secret


@lru_cache(maxsize=1_000)
def _kind(start: bytes, encoding: str) -> str:
    """The label of a body by its first bytes, decompressed if necessary; "" if that fails."""
    name = encoding.strip().lower()
    if name in ("gzip", "deflate", "x-gzip"):
        try:
            start = zlib.decompressobj(47).decompress(start, KIND_BYTES)
        except zlib.error:
            return ""
    elif name not in ("", "identity"):
        return ""
    return identify(start)[1]
