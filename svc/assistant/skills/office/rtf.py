"""Inspect RTF: embedded objects (hex), links, templates, fields, and how they are hidden.

An object's data is hex between ``\\objdata`` and the end of its group. Word ignores control words, spaces and groups in
between, which hide objects from simpler parsers; so does this reader. Formats: Rich Text Format 1.9.1, MS-OLEDS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.file_types.signatures import signature
from svc.assistant.findings import Gap, Severity, ToolEvent
from svc.assistant.skills.file_traits import Inspection, clean_text
from svc.assistant.skills.office.document import OfficeDocument
from svc.assistant.skills.office.ole import is_storage, native, objects_of
from svc.assistant.skills.office.traits import (
    class_traits,
    embedded_file,
    field_traits,
    lure_traits,
    relationship_traits,
)

MAX_OBJECTS = 60
MAX_OBJECT_CHARS = 32 * 1024 * 1024  # of hex
MAX_LINKS = 300
MAX_CONTROLS = 40  # in the hex of one object; Word writes none
_OBJECT = re.compile(rb"(?<!\\)\\objdata\b", re.IGNORECASE)
_CONTROL = re.compile(rb"\\(?:'[0-9a-fA-F]{2}|\*|[a-zA-Z]{1,32}-?\d{0,10} ?|[^a-zA-Z])")
_NOT_HEX = re.compile(rb"[^0-9a-fA-F]+")
_TEMPLATE = re.compile(rb"\\\*\\template\s+([^{}]{1,2000})")
_FIELD = re.compile(rb"(?<!\\)\\fldinst\b((?:[^{}]|\{[^{}]{0,2000}\}){1,4000})")
_HYPERLINK = re.compile(r"HYPERLINK\s+\"?([^\"\s]{4,2000})")
_OLE_CLASS = re.compile(rb"^.{8}(.{4})", re.DOTALL)
_UNICODE = re.compile(r"\\u(-?\d{1,6}) ?\??")


def inspect_rtf(data: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    """Inspect objects, templates, fields and links."""
    document.application = "RTF document"
    if not data.lstrip().startswith(b"{\\rtf1"):
        yield from inspection.trait(
            "odd_head",
            "Unusual RTF header",
            severity=Severity.MEDIUM,
            why="Word opens it anyway, but scanners may not recognise RTF",
            value=data.lstrip()[:12].decode("latin-1"),
            techniques=("T1036.008",),
        )
    for count, match in enumerate(_OBJECT.finditer(data)):
        if count >= MAX_OBJECTS:
            yield Gap(text=f"only the first {MAX_OBJECTS} objects were examined")
            break
        yield from _object(data, match.end(), inspection, document)
    if re.search(rb"(?<!\\)\\objupdate\b", data) and _OBJECT.search(data):
        yield from inspection.trait(
            "objects_on_open",
            "Objects are updated on opening",
            severity=Severity.HIGH,
            why="\\objupdate activates an object without a click",
            value="\\objupdate",
            techniques=("T1203",),
        )
    yield from _text(data, inspection, document)


def _group(data: bytes, start: int) -> bytes:
    """Return the data from ``start`` to the end of the enclosing group."""
    depth = 0
    for match in re.finditer(rb"[{}]", data[start : start + MAX_OBJECT_CHARS]):
        depth += 1 if match[0] == b"{" else -1
        if depth < 0:
            return data[start : start + match.start()]
    return data[start : start + MAX_OBJECT_CHARS]


def _object(data: bytes, start: int, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    raw = _group(data, start)
    controls = len(_CONTROL.findall(raw))
    digits = _NOT_HEX.sub(b"", _CONTROL.sub(b"", raw))
    content = bytes.fromhex(digits[: len(digits) & ~1].decode("ascii"))
    if controls > MAX_CONTROLS:
        yield from inspection.trait(
            "hidden_object",
            "Object data obfuscated with control words",
            severity=Severity.HIGH,
            why="Word writes plain hex; control words hide the object from simple parsers",
            value=f"{controls:,} control words among {len(digits):,} digits",
            techniques=("T1027",),
            offset=start,
        )
    name, payload = _embedded(content)
    yield inspection.part(
        "object", name or "unknown class", size=len(content), offset=start, note="embedded in the RTF"
    )
    yield from class_traits(inspection, name, content, where=f"object at offset {start:,}")
    if is_storage(payload):
        yield from objects_of(payload, inspection, document, where=f"object at {start:,}")
    elif name.lower() == "package":
        file_name, packed = native(len(payload).to_bytes(4, "little") + payload)
        document.add_text(file_name)
        yield from embedded_file(inspection, file_name, packed, where=f"object at {start:,}")
    document.add_text(_readable(content))


def _embedded(content: bytes) -> tuple[str, bytes]:
    """Return class and data of an OLE 1.0 object (MS-OLEDS 2.2.5); the data starts at a storage if it contains one."""
    storage = content.find(signature("ole"))
    match = _OLE_CLASS.match(content)
    size = int.from_bytes(match[1], "little") if match else 0
    if not 0 < size <= 255 or len(content) < 12 + size:
        return "", content[storage:] if storage >= 0 else content
    name = clean_text(content[12 : 12 + size])
    position = 12 + size
    for _ in range(2):  # topic and item
        length = int.from_bytes(content[position : position + 4], "little")
        position += 4 + (length if length < 4_096 else 0)
    payload = content[position + 4 :]
    return name, content[storage:] if storage >= 0 else payload


def _readable(content: bytes) -> str:
    narrow = re.findall(rb"[\x20-\x7e]{6,2000}", content)
    wide = re.findall(rb"(?:[\x20-\x7e]\x00){6,2000}", content)
    return "\n".join([piece.decode("latin-1") for piece in narrow] + [piece.decode("utf-16-le") for piece in wide])


def _plain(piece: bytes) -> str:
    """Return the text of some RTF: escapes as characters, without control words and braces."""
    text = re.sub(r"\\'([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), piece.decode("latin-1"))
    text = _UNICODE.sub(lambda m: chr(int(m[1]) % 65_536), text)
    text = re.sub(r"\\[a-zA-Z]{1,32}-?\d{0,10} ?", "", text)
    return re.sub(r"[{}\r\n]", "", text.replace("\\\\", "\x00").replace("\\", "")).replace("\x00", "\\")


def _text(data: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    for match in list(_TEMPLATE.finditer(data))[:20]:
        target = _plain(match[1]).strip()
        document.add_text(target)
        yield from relationship_traits(inspection, "attachedTemplate", target, where="\\*\\template")
    fields = [_plain(match[1]).strip() for match in list(_FIELD.finditer(data))[:2_000]]
    document.add_text("\n".join(fields))
    yield from field_traits(inspection, "\n".join(fields))
    links = [match[1] for field in fields for match in [_HYPERLINK.search(field)] if match and ":" in match[1]]
    for link in list(dict.fromkeys(links))[:MAX_LINKS]:
        yield from relationship_traits(inspection, "hyperlink", link, where="a field")
    yield from lure_traits(inspection, _plain(data[: 1024 * 1024]))
