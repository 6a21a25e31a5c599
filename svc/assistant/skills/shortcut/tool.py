"""Inspect a Windows shortcut (LNK): what it starts, with which arguments, and how it hides that. Nothing runs.

Own parser by MS-SHLLINK; every part is optional and read for itself. Names and arguments are what the file holds,
whether or not the target exists.
Kinds: ``shortcut_facts``, ``shortcut_part``, ``shortcut_trait``, ``shortcut_verdict`` (attributes:
``inspection.py``) and ``indicator``. Facts: target, arguments, working_folder, icon, description, relative_path,
window, machine, mac_address, created, modified, accessed (str or null), target_size (int).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO
from uuid import UUID

import msgspec

from svc.assistant.findings import Confidence, Gap, Progress, Scalar, Severity, ToolEvent
from svc.assistant.findings import Finding as TypedFinding
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.file_traits import DAMAGE, Inspection, clean_text, digests, entropy, kind_of, read, started
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.script.embedded import from_code
from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.techniques import rank_techniques

HEAD = b"L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46"
MAX_BLOCKS = 60
MAX_COMMAND_CHARS = 8_000  # of target and arguments together that are judged
PADDING_CHARS = 100  # of white space in arguments: Windows shows the first 255 characters
LONG_ARGUMENTS = 260
LARGE_BYTES = 16 * 1024  # a shortcut has one or two thousand
TECHNIQUES = 5
_WINDOWS = {1: "normal", 3: "maximised", 7: "minimised"}
_NAMES = ("description", "relative_path", "working_folder", "arguments", "icon")
_HAS_LIST, _HAS_INFORMATION, _FIRST_STRING, _IS_WIDE = 1, 2, 4, 0x80
_ENVIRONMENT, _TRACKER = 0xA0000001, 0xA0000003
_HOSTS = re.compile(
    r"\b(?:cmd|powershell|pwsh|mshta|wscript|cscript|rundll32|regsvr32|msiexec|certutil|bitsadmin|conhost|forfiles|pcalua"
    r"|explorer|ftp|curl|ssh|wmic|msbuild|installutil|cmstp|schtasks|hh|control|odbcconf|msedge|python\w*|node)(?:\.exe)?\b",
    re.IGNORECASE,
)
_SCRIPT_HOSTS = re.compile(
    r"\b(?:cmd|powershell|pwsh|mshta|wscript|cscript|rundll32|regsvr32|certutil|bitsadmin|conhost|forfiles|pcalua|wmic|msbuild"
    r"|cmstp|ftp|odbcconf)(?:\.exe)?\"?\s*$",
    re.IGNORECASE,
)
_POWERSHELL = re.compile(r"\b(?:powershell|pwsh)\b", re.IGNORECASE)
_DOCUMENT_ICON = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|rtf|txt|jpe?g|png|zip)\b|acro(?:rd32|bat)|winword|excel|powerpnt|wordicon|xlicons|msedge"
    r"|chrome|firefox|notepad|wordpad|imageres\.dll|shell32\.dll",
    re.IGNORECASE,
)
_DOCUMENT_NAME = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|rtf|txt|csv|jpe?g|png|mp4|zip|html?)(?:\.lnk)?$", re.IGNORECASE
)
_REMOTE = re.compile(r"(?:\\\\|//)[\w.-]+[\\/@]|https?://", re.IGNORECASE)


class _Shortcut(msgspec.Struct):
    """What has been read so far; ``end`` is where the known parts end."""

    words: dict[str, str] = {}
    target: str = ""
    machine: str = ""
    mac_address: str = ""
    end: int = 76


def inspect(feed: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """The shortcut's facts, traits and indicators; its verdict last."""
    data, gap = read(feed)
    inspection = Inspection("shortcut", source)
    yield started(source, data, "a shortcut")
    if gap is not None:
        yield gap
    if not data.startswith(HEAD):
        yield Gap(text="it is no Windows shortcut")
        return
    shortcut = _Shortcut()
    try:
        _parse(data, shortcut)
    except DAMAGE as error:
        yield from inspection.damaged("structure", error, offset=shortcut.end)
    yield inspection.facts("Windows shortcut", {"format": "LNK", **digests(data), **_facts(data, shortcut)})
    arguments = shortcut.words.get("arguments", "")
    command = f"{shortcut.target or shortcut.words.get('relative_path', '')} {arguments}".strip()
    yield inspection.part(
        "command", shortcut.target or "without a target", text=command, note="what a double click runs"
    )
    yield Progress(text="judging its command")
    yield from _target_traits(shortcut, command, inspection)
    yield from _hidden_arguments(shortcut, inspection)
    yield from _hidden_looks(data, shortcut, inspection, source)
    yield from _appended(data, shortcut, inspection)
    yield from _techniques(command[:MAX_COMMAND_CHARS], inspection)
    decoded: list[str] = []
    if arguments:
        language = Language.POWERSHELL if _POWERSHELL.search(command) else Language.BATCH
        for finding in from_code(inspection, command[:MAX_COMMAND_CHARS], language, is_judged=False):
            decoded.append(str(finding.attributes.get("text", "")))
            yield finding
    yield from _indicators([command, *shortcut.words.values(), *decoded], source)
    yield inspection.verdict()


def _parse(data: bytes, shortcut: _Shortcut) -> None:
    flags = struct.unpack_from("<I", data, 20)[0]
    position = 76
    if flags & _HAS_LIST:
        size = struct.unpack_from("<H", data, position)[0]
        shortcut.target = _from_list(data[position + 2 : position + 2 + size])
        position += 2 + size
    shortcut.end = position
    if flags & _HAS_INFORMATION:
        size = struct.unpack_from("<I", data, position)[0]
        shortcut.target = _from_information(data[position : position + size]) or shortcut.target
        position += size
    shortcut.end = position
    for number, name in enumerate(_NAMES):
        if flags & (_FIRST_STRING << number):
            count = struct.unpack_from("<H", data, position)[0]
            size = count * (2 if flags & _IS_WIDE else 1)
            raw = data[position + 2 : position + 2 + size]
            shortcut.words[name] = raw.decode("utf-16-le" if flags & _IS_WIDE else "cp1252", errors="replace")
            position += 2 + size
            shortcut.end = position
    for _ in range(MAX_BLOCKS):
        size = int.from_bytes(data[position : position + 4], "little")
        if size < 8:
            shortcut.end = min(position + 4, len(data))
            return
        _block(data[position : position + size], shortcut)
        position += size
        shortcut.end = position


def _from_list(items: bytes) -> str:
    """A path out of the shell's items: the short names, or the wide ones where there are."""
    pieces = []
    position = 0
    while position + 2 <= len(items):
        size = struct.unpack_from("<H", items, position)[0]
        if size < 3:
            break
        pieces.append(_item(items[position + 2 : position + size]))
        position += size
    return "\\".join(piece.rstrip("\\") for piece in pieces if piece)


def _item(item: bytes) -> str:
    """One level of the path: a drive, or a file or folder with its long name; ``""`` for places of the shell."""
    kind = item[0] & 0x70
    if kind == 0x20:
        return clean_text(item[1:]) if len(item) > 2 and item[2:3] == b":" else ""
    if kind != 0x30:
        return ""
    at = item.find(b"\x04\x00\xef\xbe")
    if at >= 4:
        wide = re.findall(rb"((?:[^\x00].|.[^\x00]){2,260})\x00\x00", item[at + 14 :], re.DOTALL)
        names = [one.decode("utf-16-le", errors="replace") for one in wide if len(one) % 2 == 0]
        named = next((name for name in names if name.isprintable() and ("." in name or name.isascii())), "")
        if named:
            return named
    return clean_text(item[12:])


def _from_information(block: bytes) -> str:
    """The local path, or the share and the path on it (MS-SHLLINK 2.3)."""
    head, flags, _, local_at, network_at, suffix_at = struct.unpack_from("<6I", block, 4)
    if flags & 1 and local_at:
        if head >= 0x24:
            wide_at, wide_suffix_at = struct.unpack_from("<2I", block, 28)
            local = _wide(block[wide_at:]) + (_wide(block[wide_suffix_at:]) if wide_suffix_at else "")
            if local:
                return local
        return clean_text(block[local_at:]) + clean_text(block[suffix_at:])
    if flags & 2 and network_at:
        name_at = struct.unpack_from("<I", block, network_at + 8)[0]
        suffix = clean_text(block[suffix_at:])
        return clean_text(block[network_at + name_at :]) + (f"\\{suffix}" if suffix else "")
    return ""


def _wide(data: bytes) -> str:
    return data[:4_096].decode("utf-16-le", errors="replace").split("\x00")[0]


def _block(block: bytes, shortcut: _Shortcut) -> None:
    signature = int.from_bytes(block[4:8], "little")
    if signature == _ENVIRONMENT and len(block) >= 788:
        path = _wide(block[268:788]) or clean_text(block[8:268])
        shortcut.target = shortcut.target or path
    elif signature == _TRACKER and len(block) >= 96:
        shortcut.machine = clean_text(block[16:32])
        node = UUID(bytes_le=block[48:64])
        if node.version == 1:
            shortcut.mac_address = ":".join(f"{byte:02x}" for byte in node.node.to_bytes(6, "big"))


def _facts(data: bytes, shortcut: _Shortcut) -> dict[str, Scalar | list[Scalar]]:
    padded = data[:76].ljust(76, b"\x00")
    created, accessed, modified, size = struct.unpack_from("<QQQI", padded, 28)
    return {
        "target": shortcut.target or None,
        **{name: shortcut.words.get(name, "")[:1_000] or None for name in _NAMES},
        "window": _WINDOWS.get(struct.unpack_from("<I", padded, 60)[0], "normal"),
        "target_size": size,
        "created": _time(created),
        "modified": _time(modified),
        "accessed": _time(accessed),
        "machine": shortcut.machine or None,
        "mac_address": shortcut.mac_address or None,
    }


_YEAR_10000 = 2_650_467_744_000_000_000  # ticks; later is no date that Python or anybody writes


def _time(ticks: int) -> str | None:
    """Windows' time (100 ns since 1601) as ISO 8601; None for none."""
    if not 0 < ticks < _YEAR_10000:
        return None
    return (datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _target_traits(shortcut: _Shortcut, command: str, inspection: Inspection) -> Iterator[Finding]:
    target = shortcut.target or shortcut.words.get("relative_path", "")
    arguments = shortcut.words.get("arguments", "").strip()
    is_script_host = _SCRIPT_HOSTS.search(target) is not None
    if is_script_host and arguments:
        yield from inspection.trait(
            "starts_shell",
            "It starts a shell or a script host with arguments",
            severity=Severity.HIGH,
            why="shortcuts that people make lead to programs and documents",
            value=command,
            techniques=("T1204.002", "T1059"),
        )
    elif is_script_host:
        yield from inspection.trait(
            "opens_shell",
            "It opens a shell",
            severity=Severity.INFO,
            why="Windows has such shortcuts, too",
            value=target,
        )
    if _HOSTS.search(arguments):
        yield from inspection.trait(
            "arguments_start_program",
            "Its arguments start another program",
            severity=Severity.MEDIUM,
            why="a program that starts a shell or a script host hides behind the first",
            value=arguments,
            techniques=("T1202",),
        )
    for name, text in (("target", target), ("arguments", arguments), ("icon", shortcut.words.get("icon", ""))):
        if _REMOTE.search(text):
            yield from inspection.trait(
                f"remote_{name}",
                f"Its {name} lead{'' if name == 'arguments' else 's'} to another machine",
                severity=Severity.HIGH if name == "icon" else Severity.MEDIUM,
                why="showing the icon sends the user's login there" if name == "icon" else "fetched when it is opened",
                value=text,
                techniques=("T1187",) if name == "icon" else ("T1105",),
            )


def _hidden_arguments(shortcut: _Shortcut, inspection: Inspection) -> Iterator[Finding]:
    arguments = shortcut.words.get("arguments", "")
    if re.search(rf"\s{{{PADDING_CHARS},}}", arguments):
        yield from inspection.trait(
            "padded_arguments",
            "Its arguments are pushed out of sight",
            severity=Severity.HIGH,
            why="white space before them: the window of properties shows the beginning alone",
            value=arguments.strip(),
            techniques=("T1027.012",),
        )
    if len(arguments) > LONG_ARGUMENTS:
        yield from inspection.trait(
            "long_arguments",
            "Its arguments are longer than Windows shows",
            severity=Severity.MEDIUM,
            why=f"{len(arguments):,} characters; shortcuts that people make have few",
            value=arguments.strip(),
            techniques=("T1027.012",),
        )


def _hidden_looks(data: bytes, shortcut: _Shortcut, inspection: Inspection, source: str) -> Iterator[Finding]:
    target = shortcut.target or shortcut.words.get("relative_path", "")
    if struct.unpack_from("<I", data.ljust(76, b"\x00"), 60)[0] == 7 and _SCRIPT_HOSTS.search(target):
        yield from inspection.trait(
            "hidden_window",
            "The shell's window is minimised",
            severity=Severity.MEDIUM,
            why="nobody sees it run",
            value="SW_SHOWMINNOACTIVE",
            techniques=("T1564.003",),
        )
    icon = shortcut.words.get("icon", "")
    if (_SCRIPT_HOSTS.search(target) and _DOCUMENT_ICON.search(icon)) or _DOCUMENT_NAME.search(
        source.removesuffix(".lnk")
    ):
        yield from inspection.trait(
            "disguised",
            "It looks like a document",
            severity=Severity.HIGH,
            why="its icon, or its name, is that of a document, and it starts a program",
            value=f"{source}, icon {icon or 'of its target'}",
            techniques=("T1036.007", "T1036.008"),
        )


def _appended(data: bytes, shortcut: _Shortcut, inspection: Inspection) -> Iterator[Finding]:
    rest = data[shortcut.end :]
    if len(rest) < 256 and len(data) < LARGE_BYTES:
        return
    held = kind_of(rest)
    yield from inspection.trait(
        "appended",
        f"A {held} is appended to it" if held else "Data is appended to it",
        severity=Severity.HIGH,
        why="shortcuts that carry what they start: the command cuts it out of the file",
        value=f"{len(rest):,} bytes after the shortcut's end, entropy {entropy(rest):.2f}",
        techniques=("T1027.009",),
        offset=shortcut.end,
    )


def _techniques(command: str, inspection: Inspection) -> Iterator[Finding]:
    ranked = rank_techniques(command)[:TECHNIQUES] if command else []
    if ranked:
        yield from inspection.trait(
            "command_techniques",
            "Its command is known from attacks",
            severity=Severity.LOW,
            why="; ".join(why for _, _, why in ranked),
            value=command,
            techniques=tuple(technique for technique, _, _ in ranked),
            confidence=Confidence.MEDIUM,
        )


def _indicators(texts: list[str], source: str) -> Iterator[TypedFinding[IndicatorFacts]]:
    for item in indicators.inspect("\n".join(texts), source=source):
        if isinstance(item, TypedFinding) and item.facts.type in ("url", "ipv4", "domain", "email"):
            yield item
