"""Read a registry export (``.reg``), as ``reg export`` and the registry editor write it: autostarts and settings. Pure.

It is a copy of some keys, or a file that was made to change them: it states no times. Format: Microsoft, ".reg files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, Item, Records, TraceKind
from svc.assistant.log_readers.lines import Lines, Unread

MAX_VALUES = 300_000
MAX_CONTINUED_LINES = 2_000
_HEADERS = ("Windows Registry Editor Version 5.00", "REGEDIT4")
_KEY = re.compile(r"\[(-?)(HK[A-Z_]{1,30}(?:\\[^\n]{0,1000})?)\]\s{0,40}", re.I)
_VALUE = re.compile(r'(?:@|"((?:[^"\\]|\\.){0,1000})")\s{0,9}=\s{0,9}(.*)', re.DOTALL)
_BYTES = re.compile(r"hex(?:\(([0-9a-f]{1,2})\))?:([0-9a-f, \t]{0,200000})", re.I)
_IS_BYTES = re.compile(r"=\s{0,9}hex(?:\([0-9a-f]{1,2}\))?:", re.I)
_TEXTS = frozenset({"1", "2", "7"})  # REG_SZ, REG_EXPAND_SZ, REG_MULTI_SZ
_RUN = re.compile(
    r"\\CurrentVersion\\(?:Policies\\Explorer\\)?Run(?:Once(?:Ex)?|Services(?:Once)?)?(?:\\[^\\]+)?$", re.I
)
_AUTOSTARTS = (
    (re.compile(r"\\Windows NT\\CurrentVersion\\Winlogon$", re.I), ("shell", "userinit", "taskman", "vmapplet")),
    (re.compile(r"\\Windows NT\\CurrentVersion\\Windows$", re.I), ("appinit_dlls", "load", "run")),
    (re.compile(r"\\Command Processor$", re.I), ("autorun",)),
    (
        re.compile(r"\\(?:Image File Execution Options|SilentProcessExit)\\[^\\]+$", re.I),
        ("debugger", "monitorprocess"),
    ),
    (re.compile(r"\\Services\\[^\\]+$", re.I), ("imagepath",)),
    (re.compile(r"\\Services\\[^\\]+\\Parameters$", re.I), ("servicedll",)),
    (re.compile(r"\\Control\\Lsa$", re.I), ("security packages", "authentication packages", "notification packages")),
    (re.compile(r"\\Session Manager$", re.I), ("bootexecute",)),
    (re.compile(r"\\CLSID\\\{[0-9a-f-]{36}\}\\(?:InprocServer32|LocalServer32)$", re.I), ("",)),
    (re.compile(r"^HKEY_(?:CURRENT_USER|USERS\\[^\\]+)\\Environment$", re.I), ("userinitmprlogonscript",)),
)


def _text(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", errors="replace")
    return head.decode("utf-8-sig", errors="replace")


def is_registry_text(head: bytes) -> bool:
    """Whether it begins with the line that the registry editor requires."""
    return _text(head[:512]).lstrip().startswith(_HEADERS)


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield each value, autostarts as such."""
    lines = Lines(content)
    key, is_deleted, unread, count = "", False, 0, 0
    yield Records((TraceKind.PERSISTS, TraceKind.SETTING))
    for number, offset, line in _joined(lines):
        text = line.strip()
        if not text or text.startswith((";", *_HEADERS)):
            continue
        if (found := _KEY.fullmatch(text)) is not None:
            is_deleted, key = bool(found[1]), found[2]
            if is_deleted:
                count += 1
                yield _row(number, offset, text, key, "", "", detail="the file deletes this key")
        elif key and (value := _VALUE.fullmatch(text)) is not None:
            count += 1
            yield _value(number, offset, text, key, value)
        else:
            unread += 1
        if count > MAX_VALUES:
            yield Gap(text=f"only the first {MAX_VALUES:,} values were read", in_headline=True)
            yield Unread(1)
            break
    if unread:
        yield Gap(text=f"{unread:,} lines are neither a key nor a value and were not read")
        yield Unread(unread)
    yield Gap(text="a registry export states no times, and has only the keys that were exported")
    yield from lines.gaps("lines of a registry export")


def _joined(lines: Lines) -> Iterator[tuple[int, int, str]]:
    """Lines with their continuations, which a backslash at the end announces in a list of bytes."""
    parts: list[str] = []
    begun = 0, 0
    for number, offset, line in lines:
        text = line.strip()
        if not parts:
            begun = number, offset
            parts = [text]
        else:
            parts.append(text)
        if text.endswith("\\") and _IS_BYTES.search(parts[0]) and len(parts) < MAX_CONTINUED_LINES:
            parts[-1] = text[:-1]
            continue
        yield *begun, "".join(parts)
        parts = []
    if parts:
        yield *begun, "".join(parts)


def _value(number: int, offset: int, text: str, key: str, found: re.Match[str]) -> Artefact:
    name = _unescaped(found[1] or "")
    data, detail = _data(found[2].strip())
    return _row(number, offset, text, key, name, data, detail=detail)


def _data(text: str) -> tuple[str, str]:
    """The value as text, and a remark on it."""
    if text == "-":
        return "", "the file deletes this value"
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _unescaped(text[1:-1]), ""
    if (found := _BYTES.fullmatch(text)) is not None and (found[1] or "").lower() in _TEXTS:
        data = bytes(
            int(one, 16) for one in found[2].replace(" ", "").replace("\t", "").split(",") if len(one) in (1, 2)
        )
        return data.decode("utf-16-le", errors="replace").rstrip("\x00").replace("\x00", " "), ""
    return text, ""


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _row(number: int, offset: int, text: str, key: str, name: str, data: str, *, detail: str) -> Artefact:
    target = f"{key}\\{name or '(Default)'}"
    is_autostart = bool(data) and (
        _RUN.search(key) is not None
        or any(pattern.search(key) and name.lower() in names for pattern, names in _AUTOSTARTS)
    )
    return Artefact(
        number=number,
        offset=offset,
        activity=TraceKind.PERSISTS if is_autostart else TraceKind.SETTING,
        what=data[:MAX_TEXT_CHARS] if is_autostart else f"{name or '(Default)'} = {data or detail}"[:MAX_TEXT_CHARS],
        where=target,
        detail=detail,
        excerpt=f"{target} = {data or detail}"[:MAX_TEXT_CHARS],
        product="windows",
        category="registry_set",
        fields={"EventType": "SetValue", "TargetObject": target, "Details": data[:MAX_TEXT_CHARS]} if data else {},
    )
