"""Windows' remote administration in a flow: SMB shares, pipes and files, DCE/RPC calls, NTLM logins. Pure.

Only requests that state an operation are read: [MS-SMB2] tree connect, create, write, ioctl; [MS-CIFS] likewise; C706
bind and request, whose operation number is in cleartext even if the rest is encrypted; the arguments of a call as far
as they are not. Also read are three exploits that a single message shows: Zerologon, EternalBlue, SMBGhost.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.knowledge.network import interfaces, objects
from svc.assistant.skills.pcap.findings import RemoteAction
from svc.assistant.skills.pcap.windows.ntlm import ntlm_challenge, ntlm_login

SMB1, SMB2, SMB3_SEALED, SMB3_COMPRESSED = b"\xffSMB", b"\xfeSMB", b"\xfdSMB", b"\xfcSMB"
MAX_MESSAGE_BYTES = 65_536  # kept of one message: a write's data beyond it is skipped
MAX_PIPES = 100  # open at once in one flow
MAX_CONTEXTS = 64  # interfaces bound on one connection
MAX_COMPOUND = 32  # requests in one message
MAX_NAME_CHARS = 260  # Windows' MAX_PATH
MAX_CALLS = 500  # different ones of one connection
MAX_WORDS_CHARS = 300  # of the arguments of a call
MAX_UNPACKED_BYTES = 16 * 1024 * 1024  # of a compressed message: SMB's own limit is 8 MiB
SCRIPTS = (".bat", ".cmd", ".ps1", ".vbs", ".js", ".hta", ".dll", ".exe", ".scr", ".msi")
_SESSION_SETUP, _TREE_CONNECT, _CREATE = 1, 3, 5
_MORE_PROCESSING = 0xC0000016  # the status of a login's first round
_BIND, _REQUEST, _ALTER = 11, 0, 14
RPC_HEAD_BYTES = 16
_PRIVACY = 6  # the level of authentication at which arguments are encrypted
_CHALLENGE_CALL = ("netlogon", 4)  # NetrServerReqChallenge
_MACHINE_LOGINS = frozenset({("netlogon", 15), ("netlogon", 26)})  # NetrServerAuthenticate2 and 3
ZEROLOGON_TRIES = 20  # machine logins on one connection, whose arguments may be encrypted: a member needs one
_CREATES = frozenset({0, 2, 5})  # dispositions of SMB 2 that make a file new or replace it
_SESSION_SETUP_2 = 0x000E  # a subcommand of Trans2 that no client uses: EternalBlue and DoublePulsar do
_ACTIVATORS = frozenset({"IRemoteSCMActivator", "IActivation"})
_WORD = re.compile(rb"(?:[\x20-\x7e]\x00){3,200}")

NoteChallenge = Callable[[bytes, int, float], None]
"""Takes the challenge of an NTLM server, the packet and its time."""


class Remote(msgspec.Struct):
    """One action on another host."""

    what: RemoteAction
    detail: str
    number: int
    seconds: float
    operation: int | None = None
    result: str = ""
    words: str = ""
    """The readable arguments of a call, or the share in which a file is."""


def is_rpc(data: bytes) -> bool:
    """Whether a flow's first bytes are a DCE/RPC bind, or a call on a connection that was bound before."""
    return len(data) >= RPC_HEAD_BYTES and data[:2] == b"\x05\x00" and data[2] in (_BIND, _REQUEST, _ALTER, 12, 15, 2)


def is_smb(data: bytes) -> bool:
    """Whether a flow's first bytes are an SMB message after its four bytes of length."""
    return data[:1] == b"\x00" and data[4:8] in (SMB1, SMB2, SMB3_SEALED, SMB3_COMPRESSED)


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
        self._seen: set[tuple[str, int | None, str]] = set()
        self._tries = 0

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
            arguments = b"" if _is_encrypted(data, order) else body[8:]
            self._note(self._contexts.get(context, b""), operation, number, seconds, arguments)

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

    def _note(self, uuid: bytes, operation: int | None, number: int, seconds: float, arguments: bytes = b"") -> None:
        interface = interfaces().get(uuid)
        if interface is None or (operation is not None and str(operation) not in interface.operations):
            return
        if (interface.name, operation) in _MACHINE_LOGINS:
            self._tries += 1
            if self._tries == ZEROLOGON_TRIES:
                self._note_call(Remote("exploit", "Zerologon", number, seconds))
        words = _words(arguments)
        if (interface.name, operation, words) in self._seen or len(self._seen) >= MAX_CALLS:
            return
        self._seen.add((interface.name, operation, words))
        self._note_call(Remote("call", interface.uuid, number, seconds, operation, words=words))
        if (interface.name, operation) == _CHALLENGE_CALL and len(arguments) > 8 and not any(arguments[-8:]):
            self._note_call(Remote("exploit", "Zerologon", number, seconds, words=words))
        if interface.name in _ACTIVATORS:
            for key, name in objects().items():
                if key in arguments:
                    self._note_call(Remote("object", name, number, seconds))


def _is_encrypted(data: bytes, order: str) -> bool:
    """Whether the arguments of a call are: its trailer states the level of authentication."""
    size, signed = (int(number) for number in struct.unpack_from(f"{order}HH", data, 8))
    at = size - signed - 8
    return bool(signed) and RPC_HEAD_BYTES <= at < len(data) - 1 and data[at + 1] == _PRIVACY


def _words(arguments: bytes) -> str:
    """The readable words in the arguments of a call."""
    found = (match[0].decode("utf-16-le") for match in _WORD.finditer(arguments[:4_096]))
    return " | ".join(found)[:MAX_WORDS_CHARS]


class Rpc:
    """A flow of DCE/RPC over TCP (port 135 and the ports that it assigns)."""

    def __init__(self, note: Callable[[Remote], None], note_challenge: NoteChallenge) -> None:
        self.is_done: bool = False
        self._rpc = _Rpc(note)
        self._note, self._note_challenge = note, note_challenge
        self._buffer = b""

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Read the client's fragments, and the challenge of the server."""
        if not from_client:
            if challenge := ntlm_challenge(data):
                self._note_challenge(challenge, number, seconds)
            return
        self._buffer += data
        while size := _rpc_size(self._buffer):
            if len(self._buffer) < size:
                return
            fragment, self._buffer = self._buffer[:size], self._buffer[size:]
            if (account := ntlm_login(fragment)) is not None:
                self._note(Remote("login", account, number, seconds))
            self._rpc.read(fragment, number, seconds)
        self.is_done = len(self._buffer) >= RPC_HEAD_BYTES


class Smb:
    """A flow of SMB: messages, each after four bytes of length."""

    def __init__(self, note: Callable[[Remote], None], note_challenge: NoteChallenge) -> None:
        self.is_done: bool = False
        self._keep, self._note_challenge = note, note_challenge
        self._buffers = {True: b"", False: b""}
        self._skips = {True: 0, False: 0}
        self._pipes: dict[bytes, _Rpc] = {}
        self._created: dict[int, str] = {}  # message id to name, until the reply gives the file id
        self._files: dict[bytes, str] = {}
        self._share = ""  # the one that was opened last
        self._written: set[str] = set()
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
        elif data[:4] == SMB1:
            if challenge := ntlm_challenge(data):
                self._note_challenge(challenge, number, seconds)
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
        elif data[:4] == SMB3_COMPRESSED and len(data) >= 16:
            unpacked, offset = struct.unpack_from("<I4xI", data, 4)
            if unpacked + offset > MAX_UNPACKED_BYTES:
                self._note("exploit", "SMBGhost", number, seconds)

    def _command(self, data: bytes, number: int, seconds: float, *, from_client: bool) -> None:
        status, command = struct.unpack_from("<IH", data, 8)
        identity = struct.unpack_from("<Q", data, 24)[0]
        body = data[64:]
        if not from_client:
            self._reply(command, status, identity, body)
            if command == _SESSION_SETUP and (challenge := ntlm_challenge(body)):
                self._note_challenge(challenge, number, seconds)
            return
        match command:
            case 1:  # session setup
                if (account := ntlm_login(data)) is not None:
                    login = Remote("login", account, number, seconds)
                    self._logins.append(login)
                    self._keep(login)
            case 3 if len(body) >= 8:  # tree connect
                self._share = _wide(data, *struct.unpack_from("<HH", body, 4))
                self._note("share", self._share, number, seconds)
            case 5 if len(body) >= 48:  # create
                name = _wide(data, *struct.unpack_from("<HH", body, 44))
                if name and len(self._created) < MAX_PIPES:
                    self._created[identity] = name
                self._note("file", name, number, seconds)
                if struct.unpack_from("<I", body, 36)[0] in _CREATES:
                    self._note_program(name, number, seconds)
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
        name = self._files.get(file, "")
        if offset == 0 and starts_as(data, "mz"):
            self._note_once("program", name or "a file that was opened before the capture", number, seconds)
        elif offset == 0 and not is_rpc(data):
            self._note_program(name, number, seconds)
        self._pipe(file, data, number, seconds)

    def _note_program(self, name: str, number: int, seconds: float) -> None:
        """A program or script by its name."""
        if name.lower().endswith(SCRIPTS):
            self._note_once("program", name, number, seconds)

    def _note_once(self, what: RemoteAction, name: str, number: int, seconds: float) -> None:
        if name not in self._written and len(self._written) < MAX_PIPES:
            self._written.add(name)
            self._note(what, name, number, seconds)

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
        if command == 0x73 and (account := ntlm_login(data)) is not None:
            self._note("login", account, number, seconds)
        elif command == 0x32 and len(data) > 63 and int.from_bytes(data[61:63], "little") == _SESSION_SETUP_2:
            self._note("exploit", "EternalBlue", number, seconds)
        elif command in (0x75, 0xA2):
            self._note("share" if command == 0x75 else "file", _wide_name(data[32:]), number, seconds)
        elif command in (0x25, 0x2F) and (at := _rpc_start(data)) >= 0:
            self._pipe(data[28:30], data[at:], number, seconds)

    def _note(self, what: RemoteAction, detail: str, number: int, seconds: float) -> None:
        if detail:
            words = self._share if what in ("file", "program") else ""
            self._keep(Remote(what, detail, number, seconds, words=words))


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
