"""Inspect a Windows shortcut (LNK): what it starts, with which arguments, and how it hides that. Nothing is run.

The structure is read by ``link_file.py``. Targets are reported as written, whether or not they exist.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, Literal

from svc.assistant.file_types.signatures import describe, starts_as
from svc.assistant.findings import Confidence, Coverage, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.file_traits import FilePart, Inspection, digests, entropy, read, reading
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.script.embedded import code_traits
from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.techniques import rank_techniques
from svc.assistant.skills.shortcut.findings import SHORTCUT, ShortcutFacts
from svc.assistant.skills.shortcut.link_file import HEADER_BYTES, Shortcut, read_shortcut

MAX_COMMAND_CHARS = 8_000  # of target and arguments together, examined for behaviour
PADDING_CHARS = 100  # of white space in arguments; Windows shows only the first 255 characters
LONG_ARGUMENTS = 260
LARGE_BYTES = 16 * 1024  # an ordinary shortcut has one or two thousand
MAX_TECHNIQUES = 5
MAX_TEXT_CHARS = 1_000  # of one of its texts among the facts
_WINDOWS: dict[int, Literal["normal", "maximised", "minimised"]] = {1: "normal", 3: "maximised", 7: "minimised"}
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


def inspect(content: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the shortcut's facts, traits and indicators; its verdict last."""
    data, gap = read(content)
    inspection = Inspection(SHORTCUT, source)
    yield reading(source, data, "a shortcut")
    if gap is not None:
        yield gap
    if not starts_as(data, "lnk"):
        yield Gap(text="not a Windows shortcut")
        yield _coverage("file that is not a Windows shortcut", 0, len(data))
        return
    shortcut = read_shortcut(data)
    for damage in shortcut.damage[:1]:
        yield from inspection.damaged("structure", damage.reason, offset=damage.offset)
    yield inspection.facts("Windows shortcut", _facts(data, shortcut))
    arguments = shortcut.words.get("arguments", "")
    command = f"{shortcut.target or shortcut.words.get('relative_path', '')} {arguments}".strip()
    yield inspection.part(
        "command", shortcut.target or "without a target", text=command, note="what a double click runs"
    )
    yield Progress(text="examining its command")
    yield from _target_traits(shortcut, command, inspection)
    yield from _argument_traits(shortcut, inspection)
    yield from _disguise_traits(data, shortcut, inspection, source)
    yield from _appended(data, shortcut, inspection)
    yield from _technique_traits(command[:MAX_COMMAND_CHARS], inspection)
    decoded: list[str] = []
    if arguments:
        language = Language.POWERSHELL if _POWERSHELL.search(command) else Language.BATCH
        for finding in code_traits(inspection, command[:MAX_COMMAND_CHARS], language, is_judged=False):
            if isinstance(finding.facts, FilePart):
                decoded.append(finding.facts.text)
            yield finding
    yield from _indicators([command, *shortcut.words.values(), *decoded], source)
    yield inspection.verdict()
    whole = min([len(data), *(damage.offset for damage in shortcut.damage)])
    yield _coverage("Windows shortcut", whole, len(data))


def _coverage(read_as: str, understood: int, total: int) -> Coverage:
    return Coverage(
        read_as=read_as,
        unit="byte",
        understood=understood,
        total=total,
        looked_for="shells and script hosts, hidden arguments, disguises, remote addresses and appended data",
        not_covered="the target is not on this machine and was not examined",
    )


def _facts(data: bytes, shortcut: Shortcut) -> ShortcutFacts:
    padded = data[:HEADER_BYTES].ljust(HEADER_BYTES, b"\x00")
    created, accessed, modified, size = struct.unpack_from("<QQQI", padded, 28)
    texts = {name: text[:MAX_TEXT_CHARS] for name, text in shortcut.words.items() if text}
    return ShortcutFacts(
        format="LNK",
        **digests(data),
        target=shortcut.target or None,
        description=texts.get("description"),
        relative_path=texts.get("relative_path"),
        working_folder=texts.get("working_folder"),
        arguments=texts.get("arguments"),
        icon=texts.get("icon"),
        window=_WINDOWS.get(struct.unpack_from("<I", padded, 60)[0], "normal"),
        target_size=size,
        created=_time(created),
        modified=_time(modified),
        accessed=_time(accessed),
        machine=shortcut.machine or None,
        mac_address=shortcut.mac_address or None,
    )


_YEAR_10000 = 2_650_467_744_000_000_000  # ticks; Python has no later date


def _time(ticks: int) -> str | None:
    """Return Windows' time (100 ns ticks since 1601) as ISO 8601, or None if there is none."""
    if not 0 < ticks < _YEAR_10000:
        return None
    return (datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _target_traits(shortcut: Shortcut, command: str, inspection: Inspection) -> Iterator[ToolEvent]:
    target = shortcut.target or shortcut.words.get("relative_path", "")
    arguments = shortcut.words.get("arguments", "").strip()
    is_script_host = _SCRIPT_HOSTS.search(target) is not None
    if is_script_host and arguments:
        yield from inspection.trait(
            "starts_shell",
            "Starts a shell or script host with arguments",
            severity=Severity.HIGH,
            why="ordinary shortcuts point to programs and documents",
            value=command,
            techniques=("T1204.002", "T1059"),
        )
    elif is_script_host:
        yield from inspection.trait(
            "opens_shell",
            "Opens a shell",
            severity=Severity.INFO,
            why="Windows itself ships such shortcuts",
            value=target,
        )
    if _HOSTS.search(arguments):
        yield from inspection.trait(
            "arguments_start_program",
            "Arguments start another program",
            severity=Severity.MEDIUM,
            why="starting a shell or script host through another program conceals it",
            value=arguments,
            techniques=("T1202",),
        )
    for name, text in (("target", target), ("arguments", arguments), ("icon", shortcut.words.get("icon", ""))):
        if _REMOTE.search(text):
            yield from inspection.trait(
                f"remote_{name}",
                f"Remote address in its {name}",
                severity=Severity.HIGH if name == "icon" else Severity.MEDIUM,
                why="displaying the icon sends the user's NTLM response there"
                if name == "icon"
                else "loaded when the shortcut is opened",
                value=text,
                techniques=("T1187",) if name == "icon" else ("T1105",),
            )


def _argument_traits(shortcut: Shortcut, inspection: Inspection) -> Iterator[ToolEvent]:
    arguments = shortcut.words.get("arguments", "")
    if re.search(rf"\s{{{PADDING_CHARS},}}", arguments):
        yield from inspection.trait(
            "padded_arguments",
            "Arguments padded out of sight",
            severity=Severity.HIGH,
            why="they follow white space, and the properties dialog shows only the beginning",
            value=arguments.strip(),
            techniques=("T1027.012",),
        )
    if len(arguments) > LONG_ARGUMENTS:
        yield from inspection.trait(
            "long_arguments",
            "Arguments longer than Windows shows",
            severity=Severity.MEDIUM,
            why=f"{len(arguments):,} characters; ordinary shortcuts have few",
            value=arguments.strip(),
            techniques=("T1027.012",),
        )


def _disguise_traits(data: bytes, shortcut: Shortcut, inspection: Inspection, source: str) -> Iterator[ToolEvent]:
    target = shortcut.target or shortcut.words.get("relative_path", "")
    if struct.unpack_from("<I", data.ljust(76, b"\x00"), 60)[0] == 7 and _SCRIPT_HOSTS.search(target):
        yield from inspection.trait(
            "hidden_window",
            "Shell window is minimised",
            severity=Severity.MEDIUM,
            why="the user does not see it run",
            value="SW_SHOWMINNOACTIVE",
            techniques=("T1564.003",),
        )
    icon = shortcut.words.get("icon", "")
    if (_SCRIPT_HOSTS.search(target) and _DOCUMENT_ICON.search(icon)) or _DOCUMENT_NAME.search(
        source.removesuffix(".lnk")
    ):
        yield from inspection.trait(
            "disguised",
            "Disguised as a document",
            severity=Severity.HIGH,
            why="it has the icon or the name of a document but starts a program",
            value=f"{source}, icon {icon or 'of its target'}",
            techniques=("T1036.007", "T1036.008"),
        )


def _appended(data: bytes, shortcut: Shortcut, inspection: Inspection) -> Iterator[ToolEvent]:
    rest = data[shortcut.end :]
    if len(rest) < 256 and len(data) < LARGE_BYTES:
        return
    content_type = describe(rest)
    yield from inspection.trait(
        "appended",
        f"A {content_type} is appended" if content_type else "Data is appended",
        severity=Severity.HIGH,
        why="malicious shortcuts carry their payload: the command extracts it from the file",
        value=f"{len(rest):,} bytes after the end of the shortcut, entropy {entropy(rest):.2f}",
        techniques=("T1027.009",),
        offset=shortcut.end,
    )


def _technique_traits(command: str, inspection: Inspection) -> Iterator[ToolEvent]:
    ranked = rank_techniques(command)[:MAX_TECHNIQUES] if command else []
    if ranked:
        yield from inspection.trait(
            "command_techniques",
            "Command resembles known attacks",
            severity=Severity.LOW,
            why="; ".join(why for _, _, why in ranked),
            value=command,
            techniques=tuple(technique for technique, _, _ in ranked),
            confidence=Confidence.MEDIUM,
        )


def _indicators(texts: list[str], source: str) -> Iterator[Finding[IndicatorFacts]]:
    for item in indicators.indicators_of("\n".join(texts), source=source):
        if item.facts.type in ("url", "ipv4", "domain", "email"):
            yield item
