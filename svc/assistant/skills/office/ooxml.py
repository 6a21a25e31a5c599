"""Inspect Office Open XML and OpenDocument files: relationships, macros, formulas, fields, objects.

XML is searched for the few elements that matter instead of parsed: entities cannot expand, nesting cannot overflow, and
damaged XML still yields findings. Members are unpacked up to a limit, whatever size they state. Formats: ECMA-376,
MS-XLSB for binary workbooks (only links and macro sheets).
"""

from __future__ import annotations

import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator

from svc.assistant.file_types.signatures import describe
from svc.assistant.file_types.xml_entities import entity_dangers
from svc.assistant.findings import Gap, Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection
from svc.assistant.skills.office.document import OfficeDocument
from svc.assistant.skills.office.ole import is_storage, objects_of
from svc.assistant.skills.office.traits import (
    class_traits,
    embedded_file,
    field_traits,
    formula_traits,
    lure_traits,
    macro_traits,
    relationship_traits,
)
from svc.assistant.skills.office.vba import VbaModule

MAX_MEMBERS = 4_000
MAX_MEMBER_BYTES = 24 * 1024 * 1024  # unpacked, of one member
MAX_TOTAL_BYTES = 200 * 1024 * 1024  # unpacked, of all
BOMB_RATIO = 300  # XML compresses 20 to 1
MAX_LINKS = 400
MAX_EMBEDDED = 60
_DAMAGE = (zipfile.BadZipFile, zlib.error, *DAMAGE)
_APPLICATIONS = (
    ("word/", "Word document"),
    ("xl/", "Excel workbook"),
    ("ppt/", "PowerPoint presentation"),
    ("visio/", "Visio drawing"),
    ("content.xml", "OpenDocument"),
    ("AppxManifest.xml", "Windows package"),
)
_ARCHIVE = "ZIP archive"
_DOCUMENT_MEMBERS = frozenset({"[Content_Types].xml", "mimetype", "_rels/.rels"})
"""Members that an Office document has, whatever the folder of its parts is called."""
_RELATION = re.compile(r"<(?:\w+:)?Relationship\b([^>]{0,8000})>")
_ATTRIBUTE = re.compile(r"\b([\w:]{1,100})\s{0,20}=\s{0,20}(?:\"([^\"]*)\"|'([^']*)')")
_FIELD_PIECE = re.compile(
    r"<w:instrText\b[^>]*>([^<]*)</w:instrText>|w:fldCharType=\"(begin|end|separate)\"|w:instr=\"([^\"]*)\""
)
_FORMULA = re.compile(r"<f\b[^>]*>([^<]+)</f>|<definedName\b([^>]*)>([^<]*)</definedName>")
_DDE_LINK = re.compile(r"<(?:\w+:)?ddeLink\b([^>]*)>")
_SHEET = re.compile(r"<sheet\b([^<>]*+)>")
_TEXT = re.compile(r"<(?:w:t|t|a:t|text:p|text:span)(?: [^>]{0,300})?>([^<]{1,4000})<")
_PROPERTIES = {
    "dc:creator": "author",
    "cp:lastModifiedBy": "last_author",
    "dcterms:created": "created",
    "dcterms:modified": "modified",
    "dc:title": "title",
    "Application": "program",
    "Template": "template",
    "Company": "company",
}
_ODF_SCRIPT = re.compile(r"<script:event-listener\b([^>]*)>|<script:module\b[^>]*>(.*?)</script:module>", re.DOTALL)


class _Archive:
    """The members, unpacked within limits; keeps the names of those that were not read."""

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self.members = self._archive.infolist()
        self.names = [member.filename.replace("\\", "/") for member in self.members[:MAX_MEMBERS]]
        self.unread: list[str] = []
        self.bombs: list[str] = []
        self._left = MAX_TOTAL_BYTES

    def read(self, name: str, member: zipfile.ZipInfo) -> bytes:
        """Return the content, at most MAX_MEMBER_BYTES; notes the name of a member that cannot be read whole."""
        limit = min(MAX_MEMBER_BYTES, self._left)
        try:
            with self._archive.open(member) as stream:
                content = stream.read(limit + 1)
        except _DAMAGE:
            self.unread.append(name)
            return b""
        self._left = max(0, self._left - len(content))
        if len(content) > limit:
            self.unread.append(name)
        if len(content) > 1_000_000 and len(content) > BOMB_RATIO * max(1, member.compress_size):
            self.bombs.append(name)
        return content[:limit]

    def each(self) -> Iterator[tuple[str, bytes]]:
        """Yield every member with its content."""
        for name, member in zip(self.names, self.members, strict=False):
            if not name.endswith("/"):
                yield name, self.read(name, member)


def inspect_archive(data: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    """Inspect every member of the document."""
    try:
        archive = _Archive(data)
    except _DAMAGE as error:
        document.application = "Office document, damaged"
        document.is_readable = False
        yield from inspection.damaged("archive", error)
        return
    starts = tuple(_APPLICATIONS)
    document.application = next(
        (what for start, what in starts if any(name.startswith(start) for name in archive.names)), _ARCHIVE
    )
    document.members = len(archive.members)
    if document.application == _ARCHIVE and not set(archive.names) & _DOCUMENT_MEMBERS:
        document.is_office = False
        yield Gap(text="a ZIP archive that is not an Office document: its members were not examined")
        return
    links = embedded = 0
    for name, content in archive.each():
        if name.endswith(".rels"):
            for kind, target in _outside(content):
                links += 1
                if links <= MAX_LINKS:
                    document.add_text(target)
                    yield from relationship_traits(inspection, kind, target, where=name)
        elif _is_embedded(name):
            embedded += 1
            if embedded <= MAX_EMBEDDED:
                yield from _embedded(name, content, inspection, document)
        else:
            yield from _member(name, content, inspection, document)
    document.unread = len(archive.unread) + max(0, len(archive.members) - MAX_MEMBERS)
    yield from _limits(archive, links, embedded, inspection)


def _limits(archive: _Archive, links: int, embedded: int, inspection: Inspection) -> Iterator[ToolEvent]:
    if len(archive.members) > MAX_MEMBERS:
        yield Gap(
            text=f"only the first {MAX_MEMBERS:,} of {len(archive.members):,} members were examined", in_headline=True
        )
    if links > MAX_LINKS or embedded > MAX_EMBEDDED:
        yield Gap(
            text=f"at most {MAX_LINKS} of {links:,} links and {MAX_EMBEDDED} of {embedded:,} embedded files are listed"
        )
    if archive.unread:
        yield from inspection.damaged(
            "members", f"{len(archive.unread):,} not read completely, the first one is {archive.unread[0]}"
        )
    if archive.bombs:
        yield from inspection.trait(
            "bomb",
            "Decompression bomb",
            severity=Severity.MEDIUM,
            why=f"a part unpacks to more than {BOMB_RATIO} times its size, to exhaust the program that unpacks it",
            value=archive.bombs[0],
            techniques=("T1499.004",),
        )


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    return content.decode("utf-8-sig", errors="replace")


def _attributes(text: str) -> dict[str, str]:
    return {key: html.unescape(double or single) for key, double, single in _ATTRIBUTE.findall(text)}


def _outside(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield type and target of the relationships that lead out of the document."""
    for match in _RELATION.finditer(_decoded(content)):
        attributes = _attributes(match[1])
        if attributes.get("TargetMode", "").lower() == "external":
            yield attributes.get("Type", ""), attributes.get("Target", "")


def _is_embedded(name: str) -> bool:
    folder = name.rsplit("/", 1)[0].lower()
    return (folder.endswith(("embeddings", "activex")) and not name.endswith((".xml", ".rels"))) or name.startswith(
        ("Object ", "ObjectReplacements/")
    )


def _embedded(name: str, content: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    if is_storage(content):
        yield from objects_of(content, inspection, document, where=name)
    else:
        yield from embedded_file(inspection, name.rsplit("/", 1)[-1], content, where=name)
    yield from class_traits(inspection, "", content, where=name)


def _member(name: str, content: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    lower = name.lower()
    if lower.endswith((".xml", ".rels", ".vml")):
        yield from _entity_traits(name, _decoded(content), inspection)
    if lower.endswith("vbaproject.bin") or (describe(content) == "OLE document" and lower.endswith(".bin")):
        yield from objects_of(content, inspection, document, where=name)
    elif lower.startswith("docprops/") or lower == "meta.xml":
        document.properties |= _properties(_decoded(content))
    elif "macrosheets/" in lower:
        yield from _macro_sheet(name, content, inspection, document)
    elif "externallinks/" in lower and lower.endswith(".bin"):
        yield from _binary_link(name, content, inspection)
    elif lower.endswith(".xml"):
        yield from _xml(lower, _decoded(content), inspection, document)
    elif describe(content) in ("Windows program", "ELF program"):
        yield from embedded_file(inspection, name, content, where="the archive")


def _entity_traits(name: str, text: str, inspection: Inspection) -> Iterator[ToolEvent]:
    """Document types, which Office never writes; nothing is expanded."""
    for danger in entity_dangers(text):
        yield from inspection.trait(
            f"xml_{danger.attack}",
            f"{danger.title} in {name}",
            severity=danger.severity,
            why=danger.why,
            value=danger.value,
        )


def _properties(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for tag, word in _PROPERTIES.items():
        match = re.search(rf"<(?:\w+:)?{tag.split(':')[-1]}\b[^>]*>([^<]{{1,300}})<", text)
        if match is not None:
            found[word] = html.unescape(match[1])
    return found


def _macro_sheet(name: str, content: bytes, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    is_xml = name.lower().endswith(".xml")
    text = "\n".join(_formulas(_decoded(content))) if is_xml else _wide_texts(content)
    document.add_text(text)
    yield inspection.part("macro sheet", name, size=len(content), text=text, note="Excel 4 macro")
    yield from _macro_sheet_trait(inspection, name)
    yield from formula_traits(inspection, text)
    if not is_xml:
        yield Gap(text="only the strings of a binary macro sheet were examined, not the formulas")


def _binary_link(name: str, content: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    """Inspect a link of a binary workbook: BrtBeginSupBook of type 1 leads to another program (MS-XLSB)."""
    if content.startswith(b"\xe8\x02") and content[3:5] == b"\x01\x00":
        yield from _dde(inspection, " ".join(_wide_texts(content).split("\n")[:3]), name)


def _dde(inspection: Inspection, what: str, where: str) -> Iterator[ToolEvent]:
    yield from inspection.trait(
        "dde_link",
        "DDE link to another program",
        severity=Severity.HIGH,
        why="starts the program that it names when links are updated",
        value=f"{what} in {where}",
        techniques=("T1559.002",),
    )


def _macro_sheet_trait(inspection: Inspection, name: str) -> Iterator[ToolEvent]:
    yield from inspection.trait(
        "macro_sheet",
        "Contains Excel 4 macros",
        severity=Severity.MEDIUM,
        why="Excel disables these 1992-era macros by default; today they are used almost only in attacks",
        value=name,
        techniques=("T1059",),
    )


_WIDE_TEXT = re.compile(rb"(?:[\x20-\x7e]\x00){4,2000}")


def _wide_texts(content: bytes) -> str:
    return "\n".join(match[0].decode("utf-16-le") for match in _WIDE_TEXT.finditer(content))


def _formulas(text: str) -> list[str]:
    found = []
    for match in _FORMULA.finditer(text):
        found.append(html.unescape(match[1] or f"{_attributes(match[2] or '').get('name', '')}: {match[3]}"))
    return found[:20_000]


def _xml(name: str, text: str, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    """Inspect Word fields, Excel formulas and sheets, OpenDocument scripts, and the visible text."""
    if name.startswith("word/"):
        fields = "\n".join(_fields(text))
        yield from field_traits(inspection, fields)
        document.add_text(fields)
    if name.startswith("xl/"):
        formulas = "\n".join(_formulas(text))
        yield from formula_traits(inspection, formulas)
        document.add_text(formulas)
        yield from _workbook(name, text, inspection)
    if name == "content.xml" or name.startswith("basic/"):
        yield from _open_document(name, text, inspection, document)
    words = "\n".join(html.unescape(piece) for piece in _TEXT.findall(text))
    document.add_text(words)
    yield from lure_traits(inspection, words.replace("\n", " "))


def _fields(text: str) -> list[str]:
    """Return the field codes; Word splits a code into runs up to the end mark of the field."""
    found, pieces = [], []
    for piece, mark, whole in _FIELD_PIECE.findall(text):
        if whole:
            found.append(html.unescape(whole))
        elif piece:
            pieces.append(html.unescape(piece))
        elif mark == "begin" and not pieces:
            continue
        elif mark in ("separate", "end") and pieces:
            found.append("".join(pieces))
            pieces = []
    return [*found, *(["".join(pieces)] if pieces else [])]


def _workbook(name: str, text: str, inspection: Inspection) -> Iterator[ToolEvent]:
    for match in _DDE_LINK.finditer(text):
        attributes = _attributes(match[1])
        service, topic = attributes.get("ddeService", ""), attributes.get("ddeTopic", "")
        yield from _dde(inspection, f"{service} {topic}", name)
    for match in _SHEET.finditer(text) if name.startswith("xl/workbook") else ():
        attributes = _attributes(match[1])
        state = attributes.get("state", "visible")
        if state != "visible":
            yield inspection.part("hidden sheet", attributes.get("name", ""), note=state)


def _open_document(name: str, text: str, inspection: Inspection, document: OfficeDocument) -> Iterator[ToolEvent]:
    for listener, source in _ODF_SCRIPT.findall(text):
        if source:
            document.macros += 1
            module = VbaModule(name, html.unescape(source))
            document.add_text(module.source)
            yield from macro_traits(inspection, [module])
        else:
            attributes = _attributes(listener)
            yield from inspection.trait(
                "event_listener",
                "Macro bound to an event",
                severity=Severity.MEDIUM,
                why="runs on opening or on a click",
                value=f"{attributes.get('script:event-name', '')} {attributes.get('xlink:href', '')}",
                techniques=("T1204.002",),
            )
