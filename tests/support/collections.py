"""Collections of evidence in every form of archive, each with what must become of its members.

``CASES`` are thirty; those of ``HELD`` were written together with the others, but not used during development.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import py7zr
import pyzipper

from tests.support import incident

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Members = Iterable[tuple[str, bytes]]
READ = ""
"""What a member's expectation is if a tool must get it, byte for byte."""


@dataclass(frozen=True)
class Case:
    """An archive, and for each member READ or a part of the reason why it is not examined.

    ``notes`` are parts of what must be reported about the archive. ``contents`` are those of the members to be read.
    """

    name: str
    make: Callable[[], bytes]
    expected: dict[str, str]
    contents: dict[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def evidence() -> list[tuple[str, bytes]]:
    """Four stories: logins that succeeded, an LSASS dump, a beacon, and a phishing mail."""
    return [
        ("var/log/auth.log", incident.logins()),
        ("ws-17/security.jsonl", incident.events()),
        ("capture.pcap", incident.packets()),
        ("mail/notice.eml", incident.mail()),
    ]


def zipped(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP."""
    packed = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(packed, "w", method) as archive:  # of equal names
        for name, data in members:
            info = zipfile.ZipInfo(name, (2026, 11, 20, 9, 30, 0))
            archive.writestr(info, data, method)
    return packed.getvalue()


def aes_zipped(members: Members, password: bytes) -> bytes:
    """A ZIP whose members are encrypted with AES."""
    packed = io.BytesIO()
    with pyzipper.AESZipFile(packed, "w", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(password)
        for name, data in members:
            archive.writestr(name, data)
    return packed.getvalue()


def crypto_zipped(members: Members, password: bytes) -> bytes:
    """A ZIP whose members are encrypted in the traditional way of PKWARE (stored, not compressed)."""
    packed, directory = io.BytesIO(), io.BytesIO()
    count = 0
    for name, data in members:
        crc = zlib.crc32(data)
        content = _zip_crypto(bytes(11) + bytes([crc >> 24]) + data, password)
        sizes = crc.to_bytes(4, "little") + len(content).to_bytes(4, "little") + len(data).to_bytes(4, "little")
        common = b"\x01\x00\x00\x00\x00\x00\x21\x5b" + sizes + len(name).to_bytes(2, "little")
        directory.write(b"PK\x01\x02\x14\x00\x14\x00" + common + bytes(12))
        directory.write(packed.tell().to_bytes(4, "little") + name.encode())
        packed.write(b"PK\x03\x04\x14\x00" + common + bytes(2) + name.encode() + content)
        count += 1
    at = packed.tell()
    packed.write(directory.getvalue())
    packed.write(b"PK\x05\x06" + bytes(4) + count.to_bytes(2, "little") * 2)
    packed.write(len(directory.getvalue()).to_bytes(4, "little") + at.to_bytes(4, "little") + bytes(2))
    return packed.getvalue()


def _zip_crypto(data: bytes, password: bytes) -> bytes:
    table = [_crc_entry(number) for number in range(256)]
    keys = [0x12345678, 0x23456789, 0x34567890]

    def update(byte: int) -> None:
        keys[0] = (keys[0] >> 8) ^ table[(keys[0] ^ byte) & 0xFF]
        keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134_775_813 + 1) & 0xFFFFFFFF
        keys[2] = (keys[2] >> 8) ^ table[(keys[2] ^ (keys[1] >> 24)) & 0xFF]

    for byte in password:
        update(byte)
    encrypted = bytearray()
    for byte in data:
        word = (keys[2] | 2) & 0xFFFF
        encrypted.append(byte ^ (((word * (word ^ 1)) >> 8) & 0xFF))
        update(byte)
    return bytes(encrypted)


def _crc_entry(number: int) -> int:
    for _ in range(8):
        number = (number >> 1) ^ (0xEDB88320 if number & 1 else 0)
    return number


def sevenzipped(members: Members, password: str | None = None, *, header: bool = False) -> bytes:
    """A 7z archive; ``header`` encrypts its list of members, too."""
    packed = io.BytesIO()
    with py7zr.SevenZipFile(packed, "w", password=password, header_encryption=header) as archive:
        for name, data in members:
            archive.writestr(data, name)
    return packed.getvalue()


def tarred(members: Members, extra: Iterable[tarfile.TarInfo] = ()) -> bytes:
    """A TAR; ``extra`` are links and devices."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_795_000_000
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info)
    return packed.getvalue()


def link(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """An entry of a TAR that is no file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def nested(depth: int) -> bytes:
    """A ZIP in a ZIP, ``depth`` levels deep, with a log on each level."""
    content = zipped(
        [("deep.log", b"Nov 20 09:31:04 h sshd[1]: Failed password for root from 192.0.2.1 port 1 ssh2\n")]
    )
    for level in range(depth - 1, 0, -1):
        content = zipped([(f"level{level}.log", _line(level)), ("inner.zip", content)])
    return content


def _line(number: int) -> bytes:
    return b"Nov 20 09:31:%02d h sshd[1]: Failed password for root from 192.0.2.1 port 1 ssh2\n" % number


def _many() -> list[tuple[str, bytes]]:
    return [(f"var/log/app/{number}.log", _line(number % 60)) for number in range(3_000)]


def _cut(data: bytes, share: float) -> bytes:
    return data[: int(len(data) * share)]


def _broken_in_the_middle() -> bytes:
    members = [
        ("first.log", _line(1)),
        ("second.log", random.Random(1).randbytes(20) + _line(2)),
        ("third.log", _line(3)),
    ]
    packed = bytearray(zipped(members, zipfile.ZIP_STORED))
    packed[packed.index(_line(2)) + 5] ^= 0xFF
    return bytes(packed)


def _docx() -> bytes:
    return zipped([("[Content_Types].xml", b"<Types/>"), ("word/document.xml", b"<w:document/>" * 20)])


_LOG = {"a.log": READ}
_ONE = [("a.log", _line(1))]
_FOUR = dict.fromkeys((name for name, _ in evidence()), READ)
_ENCRYPTED = "encrypted"
_LONG = "x" * 120 + "/" + "y" * 120 + ".log"
_HIVE = ("NTUSER.DAT", b"regf" + bytes(8_000))
_IMAGE = ("memory.raw", bytes(300_000))

OPEN: tuple[Case, ...] = (
    Case("case.zip", lambda: zipped(evidence()), _FOUR, dict(evidence())),
    Case("case.tar", lambda: tarred(evidence()), _FOUR, dict(evidence())),
    Case("case.tar.gz", lambda: gzip.compress(tarred(evidence())), _FOUR, dict(evidence())),
    Case("case.tar.bz2", lambda: bz2.compress(tarred(evidence())), _FOUR, dict(evidence())),
    Case("case.tar.xz", lambda: lzma.compress(tarred(evidence())), _FOUR, dict(evidence())),
    Case("case.tar.zst", lambda: zstd.compress(tarred(evidence())), _FOUR, dict(evidence())),
    Case("case.7z", lambda: sevenzipped(evidence()), _FOUR, dict(evidence())),
    Case("sample.zip", lambda: aes_zipped(_ONE, b"infected"), _LOG, dict(_ONE), ("usual password `infected`",)),
    Case("secret.zip", lambda: aes_zipped(_ONE, b"other"), {"a.log": _ENCRYPTED}),
    Case(
        "sample.7z",
        lambda: sevenzipped(_ONE, "infected", header=True),
        _LOG,
        dict(_ONE),
        ("usual password `infected`",),
    ),
    Case(
        "deep.zip",
        lambda: nested(5),
        {
            "level1.log": READ,
            "inner.zip/level2.log": READ,
            "inner.zip/inner.zip/level3.log": READ,
            "inner.zip/inner.zip/inner.zip": "nested more than 3 levels deep",
        },
    ),
    Case(
        "bomb.zip",
        lambda: zipped([("zeros.txt", b"A" * 120_000_000), ("a.log", _line(1))]),
        {"zeros.txt": "decompression bomb", "a.log": READ},
    ),
    Case(
        "paths.zip",
        lambda: zipped([("../../etc/a.log", _line(1)), ("/b.log", _line(2))]),
        {"../../etc/a.log": READ, "b.log": READ},
    ),
    Case(
        "empty.zip",
        lambda: zipped([("nothing.log", b""), ("a.log", _line(1))]),
        {"nothing.log": "it is empty", "a.log": READ},
    ),
    Case(
        "cut.tar.gz",
        lambda: _cut(gzip.compress(tarred(evidence())), 0.7),
        {"var/log/auth.log": READ, "ws-17/security.jsonl": READ, "capture.pcap": "damaged"},
        notes=("the archive is damaged after",),
    ),
)

HELD: tuple[Case, ...] = (
    Case("secret.7z", lambda: sevenzipped(_ONE, "other"), {"a.log": _ENCRYPTED}),
    Case("old.zip", lambda: crypto_zipped(_ONE, b"infected"), _LOG, dict(_ONE), ("usual password `infected`",)),
    Case("older.zip", lambda: crypto_zipped(_ONE, b"other"), {"a.log": _ENCRYPTED}),
    Case(
        "mixed.7z",
        lambda: sevenzipped(
            [("host.tar.gz", gzip.compress(tarred([("logs.zip", zipped(_ONE)), ("b.log", _line(2))])))]
        ),
        {"host.tar.gz/logs.zip/a.log": READ, "host.tar.gz/b.log": READ},
    ),
    Case(
        "host.tar",
        lambda: tarred(
            [(_LONG, _line(1))],
            [link("l", tarfile.SYMTYPE, "/etc/passwd"), link("h", tarfile.LNKTYPE, _LONG), link("d", tarfile.CHRTYPE)],
        ),
        {_LONG: READ},
        notes=("3 links and devices were not followed",),
    ),
    Case("twice.zip", lambda: zipped([("a.log", _line(1)), ("a.log", _line(2))]), {"a.log": READ, "a.log (2)": READ}),
    Case(
        "office.zip",
        lambda: zipped([("a.log", _line(1)), ("report.docx", _docx())], zipfile.ZIP_STORED),
        {"a.log": READ, "report.docx": READ},
    ),
    Case("windows.zip", lambda: zipped([("C\\Windows\\a.log", _line(1))]), {"C/Windows/a.log": READ}),
    Case("cut.zip", lambda: _cut(zipped(evidence()), 0.6), {"": "damaged"}),
    Case("cut.7z", lambda: _cut(sevenzipped(evidence()), 0.6), {"": "damaged"}),
    Case(
        "bomb.tar.gz",
        lambda: gzip.compress(tarred([("a.log", _line(1)), ("zeros.txt", b"A" * 120_000_000)])),
        {"a.log": READ, "zeros.txt": "decompression bomb"},
        notes=("as a decompression bomb does",),
    ),
    Case("many.zip", lambda: zipped(_many()), dict.fromkeys((name for name, _ in _many()), READ), dict(_many())),
    Case(
        "closed.tar.xz",
        lambda: lzma.compress(
            tarred(
                [
                    ("a.rar", b"Rar!\x1a\x07\x01\x00" + bytes(99)),
                    ("b.cab", b"MSCF" + bytes(99)),
                    _HIVE,
                    _IMAGE,
                    ("a.log", _line(1)),
                ]
            )
        ),
        {
            "a.rar": "RAR archives are not supported",
            "b.cab": "CAB archives are not supported",
            "NTUSER.DAT": READ,
            "memory.raw": "memory image",
            "a.log": READ,
        },
    ),
    Case("broken.zip", _broken_in_the_middle, {"first.log": READ, "second.log": "damaged", "third.log": READ}),
    Case(
        "rotated.tar",
        lambda: tarred([("auth.log.2.gz", gzip.compress(_line(1))), ("ünï\u202ecode\x1b.log", _line(2))]),
        {"auth.log.2.gz": READ, "ünï\u202ecode\x1b.log": READ},
    ),
)
CASES = (*OPEN, *HELD)
