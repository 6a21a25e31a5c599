"""Read OLE documents (Office 97 to 2003) and embedded storages: macros, files, Excel 4 macro sheets, encryption.

Parses storages with olefile. Formats: MS-CFB, MS-XLS (the records of the workbook's globals), MS-DOC (header and
fields), MS-PPT (macros and objects compressed in its stream).
"""

from __future__ import annotations

import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from uuid import UUID

import olefile

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Gap, Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection, clean_text
from svc.assistant.skills.office.document import OfficeDocument
from svc.assistant.skills.office.traits import (
    class_traits,
    embedded_file,
    field_traits,
    formula_traits,
    lure_traits,
    macro_traits,
)
from svc.assistant.skills.office.vba import MAX_MODULES, code_page, decompress, modules

MAX_STREAMS = 2_000
MAX_STREAM_BYTES = 48 * 1024 * 1024
MAX_DEPTH = 3  # of storages within storages
MAX_RECORDS = 400_000  # of a workbook
MAX_PACKED = 60  # objects in a presentation
_APPLICATIONS = (
    ("worddocument", "Word document (97 to 2003)"),
    ("workbook", "Excel workbook (97 to 2003)"),
    ("book", "Excel workbook (5 or 95)"),
    ("powerpoint document", "PowerPoint presentation (97 to 2003)"),
    ("encryptedpackage", "encrypted Office document"),
    ("__properties_version1.0", "Outlook message"),
    ("visiodocument", "Visio drawing"),
)
_METADATA = {
    "author": "author",
    "last_saved_by": "last_author",
    "create_time": "created",
    "last_saved_time": "modified",
    "template": "template",
    "creating_application": "program",
    "title": "title",
}
_FIELD = re.compile(r"\x13([^\x13\x14\x15]{3,2000})[\x14\x15]")
_BOUND_SHEET, _NAME, _FILE_PASS, _FORMULA, _STRING = 0x85, 0x18, 0x2F, 0x06, 0xFC
_FUNCTIONS = {
    53: "HLINK(",
    110: "EXEC(",
    149: "REGISTER(",
    150: "CALL(",
    96: "FORMULA(",
    132: "FOPEN(",
    136: "FWRITELN(",
    138: "FWRITE(",
    88: "SET.NAME(",
    89: "CALLER(",
    187: "GET.WINDOW(",
    268: "GET.WORKSPACE(",
    185: "GET.CELL(",
    267: "REGISTER.ID(",
}


def is_storage(content: bytes) -> bool:
    """Whether the content is an OLE storage."""
    return starts_as(content, "ole")


def inspect_storage(data: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    """Inspect a whole file that is a storage."""
    try:
        storage = olefile.OleFileIO(io.BytesIO(data))
    except DAMAGE as error:
        document.application = "OLE document, damaged"
        document.is_readable = False
        yield from inspection.damaged("storage", error)
        return
    names = {"/".join(path).lower() for path in storage.listdir()}
    document.application = next((what for name, what in _APPLICATIONS if name in names), "OLE document")
    document.streams = len(names)
    document.properties = _metadata(storage)
    if "encryptedpackage" in names:
        document.is_encrypted = True
        document.unread = len(names)
        yield Gap(text="the document is encrypted with a password: its content was not examined")
    yield from _streams(storage, inspection, document, where="the document", depth=0)


def objects_of(
    content: bytes, inspection: Inspection, document: OfficeDocument, *, where: str, depth: int = 1
) -> Iterator[ToolEvent]:
    """Inspect an embedded storage: macros, packaged files, classes."""
    try:
        storage = olefile.OleFileIO(io.BytesIO(content))
    except DAMAGE as error:
        yield from _loose_modules(content, inspection, document, where)
        yield from inspection.damaged(f"storage {where}", error)
        return
    yield from _streams(storage, inspection, document, where=where, depth=depth)


def _loose_modules(content: bytes, inspection: Inspection, document: OfficeDocument, where: str) -> Iterator[ToolEvent]:
    """Inspect modules found in the bytes of a damaged storage."""
    found = list(modules(iter([(where, content)])))
    document.macros += len(found)
    for module in found:
        document.add_text(module.source)
    yield from macro_traits(inspection, found)


def _metadata(storage: olefile.OleFileIO) -> dict[str, str]:
    try:
        metadata = storage.get_metadata()
    except DAMAGE:
        return {}
    found: dict[str, str] = {}
    for name, word in _METADATA.items():
        value = getattr(metadata, name, None)
        if value:
            found[word] = clean_text(value)[:300] if isinstance(value, bytes) else str(value)[:300]
    return found


def _contents(storage: olefile.OleFileIO) -> tuple[list[tuple[str, bytes]], Counter[str]]:
    """Return the streams by path, and how many were not read (whole), by reason."""
    contents: list[tuple[str, bytes]] = []
    notes: Counter[str] = Counter()
    paths = storage.listdir()
    for path in paths[:MAX_STREAMS]:
        try:
            with storage.openstream(path) as stream:
                content = stream.read(MAX_STREAM_BYTES + 1)
        except DAMAGE:
            notes["are damaged and could not be read"] += 1
            content = b""
        if len(content) > MAX_STREAM_BYTES:
            notes[f"are larger than {MAX_STREAM_BYTES:,} bytes; only that much was examined"] += 1
        contents.append(("/".join(path), content[:MAX_STREAM_BYTES]))
    if len(paths) > MAX_STREAMS:
        notes[f"after the first {MAX_STREAMS:,} were not examined"] += len(paths) - MAX_STREAMS
    return contents, notes


def _streams(
    storage: olefile.OleFileIO, inspection: Inspection, document: OfficeDocument, *, where: str, depth: int
) -> Iterator[ToolEvent]:
    contents, notes = _contents(storage)
    if depth == 0 and not document.is_encrypted:
        document.unread += sum(notes.values())
    for what, count in notes.items():
        yield Gap(text=f"{count:,} streams of {where} {what}")
    encoding = next(
        (code_page(decompress(content)) for name, content in contents if name.lower().endswith("vba/dir")), "cp1252"
    )
    found = list(modules(((name, content) for name, content in contents if not _is_directory(name)), encoding))
    document.macros += len(found)
    for module in found:
        document.add_text(module.source)
    yield from macro_traits(inspection, found)
    if len(found) >= MAX_MODULES:
        yield Gap(text=f"only the first {MAX_MODULES} macro modules were examined")
    _add_forms(contents, document)
    for name, content in contents:
        yield from _stream(name, content, inspection, document, where, depth)
    for root, clsid in _classes(storage):
        yield from class_traits(inspection, "", clsid, where=root or where)


def _is_directory(name: str) -> bool:
    return name.lower().endswith(("vba/dir", "_vba_project"))


def _add_forms(contents: list[tuple[str, bytes]], document: OfficeDocument) -> None:
    """Keep the texts of forms for the search for indicators: macros hide strings there."""
    for name, content in contents:
        if name.lower().endswith(("/o", "/f")):
            document.add_text(content.decode("latin-1"))


def _classes(storage: olefile.OleFileIO) -> Iterator[tuple[str, bytes]]:
    """Yield path and class ID (as bytes) of the storages that have one."""
    for path in storage.listdir(streams=False, storages=True)[:MAX_STREAMS]:
        try:
            text = storage.getclsid(path)
        except DAMAGE:
            continue
        if text:
            yield "/".join(path), _clsid(text)


def _clsid(text: str) -> bytes:
    try:
        return UUID(text).bytes_le
    except ValueError:
        return b""


def _stream(
    name: str, content: bytes, inspection: Inspection, document: OfficeDocument, where: str, depth: int
) -> Iterator[ToolEvent]:
    last = name.rsplit("/", 1)[-1].lower()
    if last.endswith("ole10native"):
        file_name, payload = native(content)
        document.add_text(file_name)
        yield from embedded_file(inspection, file_name, payload, where=f"{where}, stream {name}")
        if is_storage(payload) and depth < MAX_DEPTH:
            yield from objects_of(payload, inspection, document, where=name, depth=depth + 1)
    elif last == "equation native":
        yield from class_traits(inspection, "Equation.3", b"", where=name)
    elif last in ("workbook", "book"):
        yield from _workbook(content, inspection, document, is_new=last == "workbook")
    elif last == "worddocument":
        yield from _word(content, inspection, document)
    elif last == "powerpoint document":
        yield from _presentation(content, inspection, document, depth)
    elif last == "package" and depth < MAX_DEPTH:
        yield from embedded_file(inspection, "package", content, where=name)
    elif last.endswith("\x01ole") or last == "\x01ole":
        yield from _link(content, inspection, document, name)


def native(content: bytes) -> tuple[str, bytes]:
    """Return name and content of a packaged file (OLE 1.0 native data), as much as there is."""
    position = 6  # total size, then a type
    pieces = []
    for _ in range(2):  # the label, then the path on the author's machine
        end = content.find(b"\x00", position, position + 1_024)
        if end < 0:
            return "", content[4:]
        pieces.append(content[position:end])
        position = end + 1
    position += 4
    length = int.from_bytes(content[position : position + 4], "little")
    temporary = content[position + 4 : position + 4 + length] if length < 1_024 else b""
    position += 4 + len(temporary)
    size = int.from_bytes(content[position : position + 4], "little")
    name = clean_text(pieces[0]) or clean_text(pieces[1]).replace("\\", "/").rsplit("/", 1)[-1]
    return name, content[position + 4 : position + 4 + size]


_URL_MONIKER = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")


def _link(content: bytes, inspection: Inspection, document: OfficeDocument, name: str) -> Iterator[ToolEvent]:
    """Inspect a linked object: the URL follows the class ID of a URL moniker (MS-OSHARED 2.3.7.6)."""
    at = content.find(_URL_MONIKER)
    if at < 0:
        return
    target = content[at + 20 :].decode("utf-16-le", errors="replace").split("\x00")[0]
    document.add_text(target)
    yield inspection.part("relationship", target, note=f"linked object in {name}")
    yield from inspection.trait(
        "relation_oleobject",
        "Remote linked object",
        severity=Severity.HIGH,
        why="loaded when the document is opened",
        value=target,
        techniques=("T1221", "T1203"),
    )


def _word(content: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    if len(content) > 12 and content[11] & 1:
        document.is_encrypted = True
        document.unread += 1
        yield Gap(text="the document is encrypted: its text was not examined")
        return
    text = content.decode("latin-1")
    wide = content.decode("utf-16-le", errors="replace")
    fields = "\n".join(field for form in (text, wide) for field in _FIELD.findall(form) if field.isascii())
    document.add_text(fields)
    yield from field_traits(inspection, fields)
    for form in (text, wide):
        yield from lure_traits(inspection, form)
        document.add_text(re.sub(r"[^\x20-\x7e\n]+", "\n", form))


def _presentation(content: bytes, inspection: Inspection, document: OfficeDocument, depth: int) -> Iterator[ToolEvent]:
    """Inspect objects and macros: storages compressed with zlib in records of type 0x1011 (MS-PPT 2.10.34)."""
    position = content.find(b"\x11\x10")
    tries = 0
    while position >= 2 and tries < MAX_PACKED:
        instance = int.from_bytes(content[position - 2 : position], "little") >> 4
        size = int.from_bytes(content[position + 2 : position + 6], "little")
        body = content[position + 6 : position + 6 + size]
        packed = body[4:] if instance == 1 else b""
        try:
            plain = zlib.decompressobj().decompress(packed, MAX_STREAM_BYTES) if packed else body
        except zlib.error:
            plain = b""
        if is_storage(plain) and depth < MAX_DEPTH:
            tries += 1
            yield from objects_of(plain, inspection, document, where=f"object at {position:,}", depth=depth + 1)
        position = content.find(b"\x11\x10", position + 2)


def _workbook(content: bytes, inspection: Inspection, document: OfficeDocument, *, is_new: bool) -> Iterator[ToolEvent]:
    """Inspect sheets, names that run automatically, and the functions that Excel 4 macros call."""
    functions: list[str] = []
    texts: list[str] = []
    has_macro_sheet = False
    for kind, body in _records(content):
        if kind == _FILE_PASS:
            document.is_encrypted = True
            document.unread += 1
            yield Gap(text="the workbook is encrypted: its cells and macros were not examined")
            return
        if kind == _BOUND_SHEET and len(body) > 7:
            has_macro_sheet |= body[5] == 1
            yield from _sheet(body, inspection, has_flags=is_new)
        elif kind == _NAME and len(body) > 15 and body[0] & 0x20 and body[15 if is_new else 14] in (1, 2):
            yield from _starts(inspection, "Auto_Open" if body[15 if is_new else 14] == 1 else "Auto_Close")
        elif kind == _FORMULA and has_macro_sheet:
            functions += _called(body[22:], texts)
        elif kind == _STRING:
            texts.append(re.sub(r"[^\x20-\x7e]+", "\n", body.decode("latin-1")))
    joined = "\n".join(texts)
    document.add_text(joined)
    if has_macro_sheet:
        called = ", ".join(dict.fromkeys(name.rstrip("(") for name in functions))
        yield inspection.part(
            "macro sheet", "Excel 4 macro", text=joined, note=f"calls {called or 'no known function'}"
        )
        yield Gap(
            text="in Excel 4 macros of the old format, only functions and strings were examined, not whole formulas"
        )
    yield from formula_traits(inspection, "\n".join(functions) + "\n" + joined)
    yield from lure_traits(inspection, joined)


def _records(content: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    for _ in range(MAX_RECORDS):
        if position + 4 > len(content):
            return
        kind = int.from_bytes(content[position : position + 2], "little")
        size = int.from_bytes(content[position + 2 : position + 4], "little")
        yield kind, content[position + 4 : position + 4 + size]
        position += 4 + size


def _sheet(body: bytes, inspection: Inspection, *, has_flags: bool) -> Iterator[ToolEvent]:
    """Inspect one entry of the sheet list; Excel 5 writes the name without the byte for its width."""
    state = {0: "visible", 1: "hidden", 2: "very hidden"}.get(body[4] & 3, "hidden")
    is_wide = has_flags and body[7] & 1
    raw = body[8 if has_flags else 7 :][: body[6] * (2 if is_wide else 1)]
    name = raw.decode("utf-16-le" if is_wide else "latin-1", errors="replace")
    if state != "visible":
        yield inspection.part("hidden sheet", name, note=state)
    if body[5] == 1:
        yield from inspection.trait(
            "macro_sheet",
            "Contains Excel 4 macros",
            severity=Severity.MEDIUM,
            why="Excel disables these 1992-era macros by default; today they are used almost only in attacks",
            value=f"{name} ({state})",
            techniques=("T1059",),
        )


def _starts(inspection: Inspection, name: str) -> Iterator[ToolEvent]:
    yield from inspection.trait(
        "formula_starts",
        "An Excel 4 macro starts automatically",
        severity=Severity.HIGH,
        why="Excel runs this defined name on opening or closing",
        value=name,
        techniques=("T1204.002",),
    )


def _called(tokens: bytes, texts: list[str]) -> list[str]:
    """Return the functions in a formula's tokens, and collect its strings: a scan, not a parse (MS-XLS 2.5.198)."""
    found = []
    for position, token in enumerate(tokens):
        if token in (0x22, 0x42, 0x62):
            number = int.from_bytes(tokens[position + 2 : position + 4], "little") & 0x7FFF
            if number in _FUNCTIONS:
                found.append(_FUNCTIONS[number])
        elif token == 0x17 and position + 3 < len(tokens):
            size, is_wide = tokens[position + 1], tokens[position + 2] & 1
            raw = tokens[position + 3 : position + 3 + size * (2 if is_wide else 1)]
            text = raw.decode("utf-16-le" if is_wide else "latin-1", errors="replace")
            if len(text) > 2 and text.isprintable():
                texts.append(text)
    return found
