"""Windows' remote administration in a flow: SMB shares, pipes and files, DCE/RPC calls, NTLM logins. Pure.

Only requests that state an operation are read: [MS-SMB2] tree connect, create, write, ioctl; [MS-CIFS] likewise; C706
bind and request, whose operation number is in cleartext even if the rest is encrypted; [MS-NLMP] the name in
AUTHENTICATE.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.knowledge.network import interfaces
from svc.assistant.skills.pcap.findings import RemoteAction

SMB1, SMB2, SMB3_SEALED = b"\xffSMB", b"\xfeSMB", b"\xfdSMB"
MAX_MESSAGE_BYTES = 65_536  # kept of one message: a write's data beyond it is skipped
MAX_PIPES = 100  # open at once in one flow
MAX_CONTEXTS = 64  # interfaces bound on one connection
MAX_COMPOUND = 32  # requests in one message
MAX_NAME_CHARS = 260  # Windows' MAX_PATH
_SESSION_SETUP, _CREATE = 1, 5
_MORE_PROCESSING = 0xC0000016  # the status of a login's first round
_BIND, _REQUEST, _ALTER = 11, 0, 14
RPC_HEAD_BYTES = 16
_NTLM_AUTHENTICATE = b"NTLMSSP\x00\x03\x00\x00\x00"


class Remote(msgspec.Struct):
    """One action on another host."""

    what: RemoteAction
    detail: str
    number: int
    seconds: float
    operation: int | None = None
    result: str = ""


def is_rpc(data: bytes) -> bool:
    """Whether a flow's first bytes are a DCE/RPC bind, or a call on a connection that was bound before."""
    return len(data) >= RPC_HEAD_BYTES and data[:2] == b"\x05\x00" and data[2] in (_BIND, _REQUEST, _ALTER, 12, 15, 2)


def is_smb(data: bytes) -> bool:
    """Whether a flow's first bytes are an SMB message after its four bytes of length."""
    return data[:1] == b"\x00" and data[4:8] in (SMB1, SMB2, SMB3_SEALED)


def _rpc_size(data: bytes) -> int:
    """The length of the fragment that begins here; 0 if there is none, or its header is incomplete."""
    if len(data) < RPC_HEAD_BYTES or data[0] != 5:
        return 0
    size = int(struct.unpack_from(f"{_rpc_order(data)}H", data, 8)[0])
    return size if size >= RPC_HEAD_BYTES else 0


def _rpc_order(data: bytes) -> str:
    return "<" if data[4:5] and data[4] & 0x10 else ">"


class _Rpc:
    """One bound connection: which interface each context means, and the calls on it."""

    def __init__(self, note: Callable[[Remote], None]) -> None:
        self._note_call = note
        self._contexts: dict[int, bytes] = {}
        self._seen: set[tuple[str, int | None]] = set()

    def read(self, data: bytes, number: int, seconds: float) -> None:
        """Read one fragment; other bytes are skipped."""
        size = _rpc_size(data)
        body = data[RPC_HEAD_BYTES:size]
        order = _rpc_order(data)
        if not size:
            return
        if data[2] in (_BIND, _ALTER):
            self._bind(body, order, number, seconds)
        elif data[2] == _REQUEST and len(body) >= 8:
            context, operation = struct.unpack_from(f"{order}HH", body, 4)
            self._note(self._contexts.get(context, b""), operation, number, seconds)

    def _bind(self, body: bytes, order: str, number: int, seconds: float) -> None:
        if len(body) < 12:
            return
        at = 12
        for _ in range(min(body[8], MAX_CONTEXTS)):
            if at + 24 > len(body):
                return
            context, transfers = struct.unpack_from(f"{order}HB", body, at)
            if len(self._contexts) < MAX_CONTEXTS:
                self._contexts[context] = body[at + 4 : at + 20]
            self._note(body[at + 4 : at + 20], None, number, seconds)
            at += 24 + transfers * 20

    def _note(self, uuid: bytes, operation: int | None, number: int, seconds: float) -> None:
        interface = interfaces().get(uuid)
        if interface is None or (interface.name, operation) in self._seen:
            return
        if operation is not None and str(operation) not in interface.operations:
            return
        self._seen.add((interface.name, operation))
        self._note_call(Remote("call", interface.uuid, number, seconds, operation))


class Rpc:
    """A flow of DCE/RPC over TCP (port 135 and the ports that it assigns)."""

    def __init__(self, note: Callable[[Remote], None]) -> None:
        self.is_done = False
        self._rpc = _Rpc(note)
        self._note = note
        self._buffer = b""

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Read the client's fragments."""
        if not from_client:
            return
        self._buffer += data
        while size := _rpc_size(self._buffer):
            if len(self._buffer) < size:
                return
            fragment, self._buffer = self._buffer[:size], self._buffer[size:]
            if (login := _ntlm_login(fragment, number, seconds)) is not None:
                self._note(login)
            self._rpc.read(fragment, number, seconds)
        self.is_done = len(self._buffer) >= RPC_HEAD_BYTES


class Smb:
    """A flow of SMB: messages, each after four bytes of length."""

    def __init__(self, note: Callable[[Remote], None]) -> None:
        self.is_done = False
        self._keep = note
        self._buffers = {True: b"", False: b""}
        self._skips = {True: 0, False: 0}
        self._pipes: dict[bytes, _Rpc] = {}
        self._created: dict[int, str] = {}  # message id to name, until the reply gives the file id
        self._files: dict[bytes, str] = {}
        self._logins: list[Remote] = []
        self._is_old_noted = False

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Split the messages; of a long one only the beginning is kept."""
        skipped = min(self._skips[from_client], len(data))
        self._skips[from_client] -= skipped
        buffer = self._buffers[from_client] + data[skipped:]
        while len(buffer) >= 4 and not self.is_done:
            size = int.from_bytes(buffer[1:4], "big")
            wanted = min(size, MAX_MESSAGE_BYTES)
            if len(buffer) < 4 + wanted:
                break
            self._message(buffer[4 : 4 + wanted], number, seconds, from_client=from_client)
            self._skips[from_client] = max(0, 4 + size - len(buffer))
            buffer = buffer[4 + size :]
        self._buffers[from_client] = buffer

    def _message(self, data: bytes, number: int, seconds: float, *, from_client: bool) -> None:
        if data[:4] == SMB1 and from_client:
            self._old_message(data, number, seconds)
        elif data[:4] == SMB2:
            for _ in range(MAX_COMPOUND):
                if len(data) < 66 or data[:4] != SMB2:
                    return
                following = struct.unpack_from("<I", data, 20)[0]
                self._command(data[: following or len(data)], number, seconds, from_client=from_client)
                if not following:
                    return
                data = data[following:]
        elif data[:4] == SMB3_SEALED:
            self._note("dialect", "encrypted SMB 3: operations are not visible", number, seconds)
            self.is_done = True

    def _command(self, data: bytes, number: int, seconds: float, *, from_client: bool) -> None:
        status, command = struct.unpack_from("<IH", data, 8)
        identity = struct.unpack_from("<Q", data, 24)[0]
        body = data[64:]
        if not from_client:
            self._reply(command, status, identity, body)
            return
        match command:
            case 1:  # session setup
                if (login := _ntlm_login(data, number, seconds)) is not None:
                    self._logins.append(login)
                    self._keep(login)
            case 3 if len(body) >= 8:  # tree connect
                self._note("share", _wide(data, *struct.unpack_from("<HH", body, 4)), number, seconds)
            case 5 if len(body) >= 48:  # create
                name = _wide(data, *struct.unpack_from("<HH", body, 44))
                if name and len(self._created) < MAX_PIPES:
                    self._created[identity] = name
                self._note("file", name, number, seconds)
            case 9 if len(body) >= 32:  # write
                start, size, offset = struct.unpack_from("<HIQ", body, 2)
                self._write(body[16:32], data[start : start + size], offset, number, seconds)
            case 11 if len(body) >= 32:  # ioctl
                start, size = struct.unpack_from("<II", body, 24)
                self._pipe(body[8:24], data[start : start + size], number, seconds)

    def _reply(self, command: int, status: int, identity: int, body: bytes) -> None:
        if command == _CREATE and (name := self._created.pop(identity, "")) and not status and len(body) >= 80:
            if len(self._files) >= MAX_PIPES:
                self._files.clear()
            self._files[body[64:80]] = name
        elif command == _SESSION_SETUP and self._logins and status != _MORE_PROCESSING:
            self._logins.pop().result = "refused" if status else "accepted"

    def _write(self, file: bytes, data: bytes, offset: int, number: int, seconds: float) -> None:
        if offset == 0 and starts_as(data, "mz"):
            self._note("program", self._files.get(file, "a file that was opened before the capture"), number, seconds)
        else:
            self._pipe(file, data, number, seconds)

    def _pipe(self, file: bytes, data: bytes, number: int, seconds: float) -> None:
        if not is_rpc(data):
            return
        if file not in self._pipes and len(self._pipes) < MAX_PIPES:
            self._pipes[file] = _Rpc(self._keep)
        if file in self._pipes:
            self._pipes[file].read(data, number, seconds)

    def _old_message(self, data: bytes, number: int, seconds: float) -> None:
        """SMB 1: names are found by a pattern, calls by the first bytes of DCE/RPC."""
        if not self._is_old_noted and data[4] != 0x72:  # a negotiation offers SMB 1 and may agree on SMB 2
            self._is_old_noted = True
            self._note("dialect", "SMB 1", number, seconds)
        command = data[4]
        if command == 0x73 and (login := _ntlm_login(data, number, seconds)) is not None:
            self._keep(login)
        elif command in (0x75, 0xA2):
            self._note("share" if command == 0x75 else "file", _wide_name(data[32:]), number, seconds)
        elif command in (0x25, 0x2F) and (at := _rpc_start(data)) >= 0:
            self._pipe(data[28:30], data[at:], number, seconds)

    def _note(self, what: RemoteAction, detail: str, number: int, seconds: float) -> None:
        if detail:
            self._keep(Remote(what, detail, number, seconds))


def _wide(data: bytes, start: int, size: int) -> str:
    return data[start : start + min(size, 2 * MAX_NAME_CHARS)].decode("utf-16-le", errors="replace")


_WIDE_NAME = re.compile(rb"(?:[\x20-\x7e]\x00){2,260}")
_NARROW_NAME = re.compile(rb"[\x20-\x7e]{3,260}")


def _wide_name(data: bytes) -> str:
    found = _WIDE_NAME.search(data)
    if found is not None:
        return found[0].decode("utf-16-le")
    narrow = _NARROW_NAME.search(data)
    return narrow[0].decode("ascii") if narrow else ""


def _rpc_start(data: bytes) -> int:
    return min((at for kind in (b"\x05\x00\x0b\x03", b"\x05\x00\x00\x03") if (at := data.find(kind)) >= 0), default=-1)


def _ntlm_login(data: bytes, number: int, seconds: float) -> Remote | None:
    """Domain, user and workstation of an NTLM AUTHENTICATE message; an anonymous one has no user."""
    at = data.find(_NTLM_AUTHENTICATE)
    if at < 0 or len(data) < at + 52:
        return None
    message = data[at:]
    domain, user, workstation = (
        _wide(message, *reversed(struct.unpack_from("<H2xI", message, field)))[:MAX_NAME_CHARS]
        if struct.unpack_from("<I", message, field + 4)[0] + struct.unpack_from("<H", message, field)[0] <= len(message)
        else ""
        for field in (28, 36, 44)
    )
    account = f"{domain}\\{user}" if user else "(anonymous)"
    return Remote("login", f"{account} from {workstation}" if workstation else account, number, seconds)
