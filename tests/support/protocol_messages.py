"""Messages of Windows' protocols for captures in tests: Kerberos, LDAP, DCE/RPC, SMB 2, NTLM, names, RDP."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import ip_address
from uuid import UUID

ETYPES = (18, 17, 23, 24, -135)
"""What Windows offers."""


def der(tag: int, *parts: bytes) -> bytes:
    data = b"".join(parts)
    size = len(data)
    length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + length + data


def integer(value: int, tag: int = 2) -> bytes:
    return der(tag, value.to_bytes(max(1, (value.bit_length() + 8) // 8), "big", signed=True))


def context(number: int, data: bytes) -> bytes:
    return der(0xA0 + number, data)


def text(value: str) -> bytes:
    return der(0x1B, value.encode())


def principal(kind: int, *parts: str) -> bytes:
    return der(0x30, context(0, integer(kind)), context(1, der(0x30, *map(text, parts))))


def sealed(etype: int, size: int = 180) -> bytes:
    return der(0x30, context(0, integer(etype)), context(2, der(4, b"\xa5" * size)))


def kdc_request(
    user: str,
    service: Sequence[str],
    *,
    kind: int = 10,
    etypes: Sequence[int] = ETYPES,
    stamp: int | None = None,
    pac: bool | None = True,
    realm: str = "CORP.EXAMPLE",
) -> bytes:
    """AS-REQ (10) or TGS-REQ (12). ``stamp``: the encryption type of a pre-authentication, None for none."""
    padata = []
    if kind == 12:
        padata.append(der(0x30, context(1, integer(1)), context(2, der(4, b"\x6e" * 300))))
    if stamp is not None:
        padata.append(der(0x30, context(1, integer(2)), context(2, der(4, sealed(stamp, 52)))))
    if pac is not None and kind == 10:
        flag = der(0x30, context(0, der(1, b"\xff" if pac else b"\x00")))
        padata.append(der(0x30, context(1, integer(128)), context(2, der(4, flag))))
    body = [context(0, der(3, b"\x00\x40\x81\x00\x10"))]
    if user:
        body.append(context(1, principal(1, user)))
    body += [
        context(2, text(realm)),
        context(3, principal(2, *service)),
        context(5, der(0x18, b"20370913024805Z")),
        context(7, integer(77_123)),
        context(8, der(0x30, *map(integer, etypes))),
    ]
    parts = [context(1, integer(5)), context(2, integer(kind))]
    if padata:
        parts.append(context(3, der(0x30, *padata)))
    return der(0x60 + kind, der(0x30, *parts, context(4, der(0x30, *body))))


def kdc_reply(
    user: str, service: Sequence[str], *, kind: int = 11, ticket: int = 18, part: int = 18, realm: str = "CORP.EXAMPLE"
) -> bytes:
    """AS-REP (11) or TGS-REP (13)."""
    issued = der(
        0x61,
        der(
            0x30,
            context(0, integer(5)),
            context(1, text(realm)),
            context(2, principal(2, *service)),
            context(3, sealed(ticket, 900)),
        ),
    )
    return der(
        0x60 + kind,
        der(
            0x30,
            context(0, integer(5)),
            context(1, integer(kind)),
            context(3, text(realm)),
            context(4, principal(1, user)),
            context(5, issued),
            context(6, sealed(part)),
        ),
    )


def kdc_error(code: int, service: Sequence[str], realm: str = "CORP.EXAMPLE") -> bytes:
    return der(
        0x7E,
        der(
            0x30,
            context(0, integer(5)),
            context(1, integer(30)),
            context(4, der(0x18, b"20261123010101Z")),
            context(5, integer(1)),
            context(6, integer(code)),
            context(9, text(realm)),
            context(10, principal(2, *service)),
        ),
    )


def sized(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


# LDAP


def ldap(operation: bytes, number: int = 3) -> bytes:
    return der(0x30, integer(number), operation)


def octets(value: str) -> bytes:
    return der(4, value.encode())


def equal(name: str, value: str) -> bytes:
    return der(0xA3, octets(name), octets(value))


def present(name: str) -> bytes:
    return der(0x87, name.encode())


def both(*filters: bytes) -> bytes:
    return der(0xA0, *filters)


def either(*filters: bytes) -> bytes:
    return der(0xA1, *filters)


def bits(name: str, value: str, rule: str = "1.2.840.113556.1.4.803") -> bytes:
    return der(0xA9, der(0x81, rule.encode()), der(0x82, name.encode()), der(0x83, value.encode()), der(0x84, b"\xff"))


def search(base: str, wanted: bytes, attributes: Sequence[str] = (), scope: int = 2) -> bytes:
    return ldap(
        der(
            0x63, octets(base), integer(scope, 10), integer(0, 10), integer(0), integer(0), der(1, b"\x00"), wanted,
            der(0x30, *map(octets, attributes)),
        )
    )  # fmt: skip


def modify(dn: str, attribute: str, value: str, operation: int = 0) -> bytes:
    change = der(0x30, integer(operation, 10), der(0x30, octets(attribute), der(0x31, octets(value))))
    return ldap(der(0x66, octets(dn), der(0x30, change)))


def add_entry(dn: str, attributes: Sequence[tuple[str, str]]) -> bytes:
    listed = [der(0x30, octets(name), der(0x31, octets(value))) for name, value in attributes]
    return ldap(der(0x68, octets(dn), der(0x30, *listed)))


def simple_bind(dn: str, secret: str) -> bytes:
    return ldap(der(0x60, integer(3), octets(dn), der(0x80, secret.encode())), 1)


# DCE/RPC, SMB 2 and NTLM


def rpc(kind: int, body: bytes, *, big: bool = False) -> bytes:
    if big:
        return struct.pack(">BBBBIHHI", 5, 0, kind, 3, 0, 16 + len(body), 0, 1) + body
    return struct.pack("<BBBBIHHI", 5, 0, kind, 3, 0x10, 16 + len(body), 0, 1) + body


def rpc_bind(uuid: str, *, kind: int = 11, context_id: int = 0) -> bytes:
    entry = struct.pack("<HBx", context_id, 1) + UUID(uuid).bytes_le + bytes(4) + bytes(20)
    return rpc(kind, struct.pack("<HHIB3x", 4280, 4280, 0, 1) + entry)


def rpc_call(operation: int, stub: bytes = b"", *, context_id: int = 0) -> bytes:
    return rpc(0, struct.pack("<IHH", len(stub), context_id, operation) + stub)


def wide(value: str) -> bytes:
    """A counted string as in a call's arguments."""
    size = len(value) + 1
    data = value.encode("utf-16-le") + b"\x00\x00"
    return struct.pack("<III", size, 0, size) + data.ljust(-(-len(data) // 4) * 4, b"\x00")


def smb(command: int, body: bytes, *, message: int = 1, status: int = 0, reply: bool = False) -> bytes:
    head = (
        b"\xfeSMB" + struct.pack("<HHIHHIIQIIQ", 64, 0, status, command, 1, int(reply), 0, message, 0, 1, 1) + bytes(16)
    )
    data = head + body
    return b"\x00" + len(data).to_bytes(3, "big") + data


def smb_name(layout: str, value: str, size: int) -> bytes:
    name = value.encode("utf-16-le")
    return struct.pack(layout, 64 + size, len(name)).ljust(size, b"\x00") + name


def tree(path: str, message: int = 1) -> bytes:
    return smb(3, smb_name("<4xHH", path, 8), message=message)


def create(name: str, message: int = 2, *, disposition: int = 1) -> bytes:
    """Open a file (1), or create it or replace it (5)."""
    body = bytearray(smb_name("<44xHH", name, 56))
    body[36:40] = disposition.to_bytes(4, "little")
    return smb(5, bytes(body), message=message)


def created(file: bytes, message: int = 2) -> bytes:
    return smb(5, bytes(64) + file + bytes(8), message=message, reply=True)


def write(file: bytes, data: bytes, message: int = 3, offset: int = 0) -> bytes:
    return smb(9, struct.pack("<HHIQ", 49, 64 + 48, len(data), offset) + file + bytes(16) + data, message=message)


def ioctl(file: bytes, data: bytes, message: int = 4) -> bytes:
    body = struct.pack("<HHI", 57, 0, 0x11C017) + file + struct.pack("<IIIIIIII", 64 + 56, len(data), 0, 0, 0, 0, 1, 0)
    return smb(11, body + data, message=message)


def ntlm_challenge(value: bytes, name: str = "CORP") -> bytes:
    target = name.encode("utf-16-le")
    return (
        b"NTLMSSP\x00\x02\x00\x00\x00"
        + struct.pack("<HHII", len(target), len(target), 56, 0xE2898215)
        + value
        + bytes(24)
        + target
    )


def ntlm_login(domain: str, user: str, host: str) -> bytes:
    names = [part.encode("utf-16-le") for part in (domain, user, host)]
    fields, at, data = [], 88, b""
    for part in (b"\x01" * 24, b"\x02" * 60, *names, b""):
        fields.append(struct.pack("<HHI", len(part), len(part), at))
        data += part
        at += len(part)
    return b"NTLMSSP\x00\x03\x00\x00\x00" + b"".join(fields) + bytes(24) + data


def session_setup(token: bytes, message: int = 1) -> bytes:
    return smb(1, struct.pack("<HBBIIHHQ", 25, 0, 1, 0, 0, 64 + 24, len(token), 0) + token, message=message)


def session_reply(status: int, token: bytes = b"", message: int = 1) -> bytes:
    return smb(1, struct.pack("<HHHH", 9, 0, 64 + 8, len(token)) + token, message=message, status=status, reply=True)


MORE_PROCESSING = 0xC0000016
LOGON_FAILURE = 0xC000006D


def smb_login(domain: str, user: str, host: str, challenge: bytes, status: int = 0) -> list[tuple[str, bytes]]:
    return [
        (">", session_setup(b"NTLMSSP\x00\x01\x00\x00\x00" + bytes(24), 1)),
        ("<", session_reply(MORE_PROCESSING, ntlm_challenge(challenge), 1)),
        (">", session_setup(ntlm_login(domain, user, host), 2)),
        ("<", session_reply(status, b"", 2)),
    ]


def name_answer(name: str, address: str, *, question: bool = False) -> bytes:
    """An LLMNR or mDNS message: the question or the answer with an address."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\x00"
    packed = ip_address(address).packed
    kind = 1 if len(packed) == 4 else 28
    asked = labels + struct.pack(">HH", kind, 1)
    if question:
        return struct.pack(">HHHHHH", 9, 0, 1, 0, 0, 0) + asked
    record = labels + struct.pack(">HHIH", kind, 1, 30, len(packed)) + packed
    return struct.pack(">HHHHHH", 9, 0x8000, 1, 1, 0, 0) + asked + record


def netbios_name(name: str, suffix: int = 0x20) -> bytes:
    padded = name.upper().ljust(15).encode() + bytes([suffix])
    return b"\x20" + b"".join(bytes([0x41 + (byte >> 4), 0x41 + (byte & 15)]) for byte in padded) + b"\x00"


def netbios_message(name: str, address: str = "", suffix: int = 0x20) -> bytes:
    if not address:
        return struct.pack(">HHHHHH", 8, 0x0110, 1, 0, 0, 0) + netbios_name(name, suffix) + struct.pack(">HH", 32, 1)
    record = netbios_name(name, suffix) + struct.pack(">HHIHH", 32, 1, 165, 6, 0) + ip_address(address).packed
    return struct.pack(">HHHHHH", 8, 0x8500, 0, 1, 0, 0) + record


def rdp_request(user: str, protocols: int = 3) -> bytes:
    cookie = f"Cookie: mstshash={user}\r\n".encode()
    body = b"\xe0\x00\x00\x00\x00\x00" + cookie + struct.pack("<BBHI", 1, 0, 8, protocols)
    return b"\x03\x00" + (5 + len(body)).to_bytes(2, "big") + bytes([len(body)]) + body


def rdp_confirm(protocol: int = 2) -> bytes:
    body = b"\xd0\x00\x00\x12\x34\x00" + struct.pack("<BBHI", 2, 0, 8, protocol)
    return b"\x03\x00" + (5 + len(body)).to_bytes(2, "big") + bytes([len(body)]) + body
