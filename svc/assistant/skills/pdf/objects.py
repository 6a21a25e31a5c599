"""Inspect the objects of a PDF with pypdf: actions, scripts, links and embedded files.

Walks every object that the file's tables list, reachable or not, instead of the tree of pages: a loop in the tree
cannot stop it. Bounded by MAX_OBJECTS and by pypdf's own limits, which are set lower here.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from itertools import islice

import pypdf
from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError
from pypdf.generic import (
    ArrayObject,
    ByteStringObject,
    DictionaryObject,
    IndirectObject,
    NameObject,
    PdfObject,
    StreamObject,
    TextStringObject,
)

from svc.assistant.file_types.signatures import describe
from svc.assistant.findings import Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection, is_runnable
from svc.assistant.skills.pdf.traits import ACTIONS, PdfDocument, script_traits, target_traits

MAX_OBJECTS = 20_000  # of one document; a book of 1,000 pages has about as many
MAX_LINKS = 300
MAX_SCRIPTS = 50
MAX_FILES = 50
MAX_DEPTH = 6  # of a value within its object
MANY_FILTERS = 3
STREAM_BYTES = 16 * 1024 * 1024  # unpacked, of one stream; a filter that yields more is stopped
PROGRESS_EVERY = 2_000  # objects
_DAMAGE = (PyPdfError, DependencyError, *DAMAGE)
_METADATA = {
    "/Producer": "producer",
    "/Creator": "creator",
    "/Author": "author",
    "/Title": "title",
    "/CreationDate": "created",
    "/ModDate": "modified",
}


def walk(data: bytes, inspection: Inspection, document: PdfDocument) -> Iterator[ToolEvent]:
    """Yield parts and traits of every object, and fill ``document``."""
    with pypdf.apply_configuration(
        zlib_maximum_output_length=STREAM_BYTES,
        lzw_maximum_output_length=STREAM_BYTES,
        run_length_maximum_output_length=STREAM_BYTES,
        array_based_stream_maximum_output_length=STREAM_BYTES,
        stream_decoding_work_maximum_length=4 * STREAM_BYTES,
        disable_legacy_handling=True,
        jbig2dec_binary=None,
    ):
        try:
            reader = PdfReader(io.BytesIO(data))
        except _DAMAGE as error:
            yield from inspection.damaged("object table", error)
            yield Gap(text="the objects could not be read; only the names in the bytes were counted")
            return
        document.is_encrypted = bool(reader.is_encrypted)
        yield from _read_document(reader, inspection, document)
        yield from _objects(reader, inspection, document)


def _read_document(reader: PdfReader, inspection: Inspection, document: PdfDocument) -> Iterator[ToolEvent]:
    """Read what concerns the whole document: encryption, pages, metadata and the action on opening."""
    if document.is_encrypted:
        yield inspection.part(
            "protection", "encryption", note="the document is encrypted; opened with the empty password"
        )
    try:
        root = reader.root_object
        document.runs_on_open = _opens_script(root)
        document.metadata = _metadata(reader)
        document.pages = len(reader.pages)
    except PyPdfError as error:
        if "decrypt" in str(error).lower():
            yield Gap(text="encrypted with an unknown password: scripts, links and texts were not examined")
        else:
            yield from inspection.damaged("document catalogue", error)
    except _DAMAGE as error:
        yield from inspection.damaged("document catalogue", error)


def _opens_script(root: DictionaryObject) -> bool:
    action = root.get("/OpenAction")
    action = action.get_object() if isinstance(action, IndirectObject) else action
    names = root.get("/Names")
    names = names.get_object() if isinstance(names, IndirectObject) else names
    is_named = isinstance(names, DictionaryObject) and "/JavaScript" in names
    return is_named or (isinstance(action, DictionaryObject) and (action.get("/S") == "/JavaScript" or "/JS" in action))


def _metadata(reader: PdfReader) -> dict[str, str]:
    information = reader.trailer.get("/Info")
    information = information.get_object() if isinstance(information, IndirectObject) else information
    if not isinstance(information, DictionaryObject):
        return {}
    return {word: _text(information[key])[:300] for key, word in _METADATA.items() if key in information}


def _text(value: PdfObject | None) -> str:
    """Return a string or a stream as text."""
    value = value.get_object() if isinstance(value, IndirectObject) else value
    if isinstance(value, StreamObject):
        raw = value.get_data()
        return raw.decode("utf-16" if raw.startswith((b"\xfe\xff", b"\xff\xfe")) else "latin-1", errors="replace")
    if isinstance(value, ByteStringObject):
        return bytes(value).decode("latin-1")
    return str(value) if isinstance(value, TextStringObject | NameObject) else ""


def _objects(reader: PdfReader, inspection: Inspection, document: PdfDocument) -> Iterator[ToolEvent]:
    numbers = {(number, generation) for generation, table in reader.xref.items() for number in table}
    numbers |= {(number, 0) for number in reader.xref_objStm}
    document.all_objects = len(numbers)
    unread: list[int] = []
    for number, generation in islice(sorted(numbers), MAX_OBJECTS):
        document.objects += 1
        if document.objects % PROGRESS_EVERY == 0:
            yield Progress(text=f"{document.objects:,} of {len(numbers):,} objects")
        try:
            value = reader.get_object(IndirectObject(number, generation, reader))
            if isinstance(value, StreamObject):
                yield from _stream(value, number, inspection)
            yield from _value(value, number, inspection, document, 0)
        except _DAMAGE:
            unread.append(number)
    if len(numbers) > MAX_OBJECTS:
        yield Gap(text=f"only the first {MAX_OBJECTS:,} of {len(numbers):,} objects were examined")
    document.unread = len(unread)
    document.is_read = document.objects > len(unread)
    if unread and not document.is_encrypted:
        yield from inspection.damaged("objects", f"{len(unread):,} cannot be read, the first one is object {unread[0]}")


def _stream(stream: StreamObject, number: int, inspection: Inspection) -> Iterator[ToolEvent]:
    filters = stream.get("/Filter")
    names = [str(name) for name in filters] if isinstance(filters, ArrayObject) else []
    if len(names) >= MANY_FILTERS:
        yield from inspection.trait(
            "many_filters",
            "Stream encoded several times",
            severity=Severity.MEDIUM,
            why=f"one filter is common, two are rare (object {number})",
            value=" ".join(names),
            techniques=("T1027",),
        )


def _value(
    value: object, number: int, inspection: Inspection, document: PdfDocument, depth: int
) -> Iterator[ToolEvent]:
    """Inspect one value; references are not followed, since every object is visited anyway."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, DictionaryObject):
        yield from _dictionary(value, number, inspection, document)
        for key in value:
            inner = value.raw_get(key)
            if isinstance(inner, DictionaryObject | ArrayObject):
                yield from _value(inner, number, inspection, document, depth + 1)
    elif isinstance(value, ArrayObject):
        for inner in islice(list.__iter__(value), 1_000):
            if isinstance(inner, DictionaryObject | ArrayObject):
                yield from _value(inner, number, inspection, document, depth + 1)


def _dictionary(
    value: DictionaryObject, number: int, inspection: Inspection, document: PdfDocument
) -> Iterator[ToolEvent]:
    action = str(value.get("/S") or "").lstrip("/")
    if "/JS" in value:
        yield from _script(_text(value["/JS"]), number, inspection, document)
    if value.get("/Type") in ("/Page", "/Catalog") and "/AA" in value:
        document.runs_on_open = True
    if action in ACTIONS:
        document.actions.add(action)
        yield from _action(value, action, number, inspection, document)
    if "/EF" in value or value.get("/Type") == "/Filespec":
        yield from _file(value, number, inspection, document)


def _script(script: str, number: int, inspection: Inspection, document: PdfDocument) -> Iterator[ToolEvent]:
    document.scripts += 1
    if document.scripts > MAX_SCRIPTS or not script.strip():
        return
    document.texts.append(script)
    yield inspection.part("script", f"object {number}", size=len(script), text=script, note="JavaScript")
    yield from script_traits(inspection, script, number)


def _action(
    value: DictionaryObject, action: str, number: int, inspection: Inspection, document: PdfDocument
) -> Iterator[ToolEvent]:
    document.links += 1
    target = _target(value, action)
    if document.links > MAX_LINKS or not target:
        return
    document.texts.append(target)
    part = "link" if action == "URI" else "action"
    yield inspection.part(part, target, note=f"/{action} in object {number}")
    yield from target_traits(inspection, action, target, number)


def _target(value: DictionaryObject, action: str) -> str:
    """Return the target of an action: a URL, or a file with its arguments."""
    if action == "URI":
        return _text(value.get("/URI"))
    pieces = [_path(value.get(key)) for key in ("/F", "/Win", "/Unix", "/Mac")]
    return " ".join(piece for piece in pieces if piece)


def _path(value: PdfObject | None) -> str:
    value = value.get_object() if isinstance(value, IndirectObject) else value
    if isinstance(value, DictionaryObject):
        keys = ("/UF", "/F", "/DOS", "/Unix", "/P", "/D")
        return " ".join(dict.fromkeys(_text(value.get(key)) for key in keys if value.get(key)))
    return _text(value)


def _file(value: DictionaryObject, number: int, inspection: Inspection, document: PdfDocument) -> Iterator[ToolEvent]:
    holder = value.get("/EF")
    holder = holder.get_object() if isinstance(holder, IndirectObject) else holder
    if not isinstance(holder, DictionaryObject):
        return
    document.files += 1
    if document.files > MAX_FILES:
        return
    name = _text(value.get("/UF") or value.get("/F")) or "unnamed"
    stream = next((holder[key] for key in ("/UF", "/F", "/DOS", "/Unix") if key in holder), None)
    stream = stream.get_object() if isinstance(stream, IndirectObject) else stream
    content = stream.get_data() if isinstance(stream, StreamObject) else b""
    content_type = describe(content)
    note = f"{content_type or 'unknown type'}, sha256 {hashlib.sha256(content).hexdigest()}, object {number}"
    yield inspection.part("embedded file", name, size=len(content), note=note)
    if is_runnable(name, content_type):
        yield from inspection.trait(
            "embedded_program",
            "Contains a program or a script",
            severity=Severity.HIGH,
            why="documents do not need one; opening the attachment would run it",
            value=f"{name} ({content_type or 'by its name'})",
            techniques=("T1027.009", "T1204.002"),
        )
