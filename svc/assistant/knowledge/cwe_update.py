"""Convert the official CWE list to our table: ``cwec_v4.x.xml``, the same in a ZIP, or the CSV of the research view."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from datetime import date

from svc.assistant.knowledge.cwe import Cwe, CweTable

MAX_BYTES = 256 * 1024 * 1024  # of the XML; version 4.15 has 15 MB
RESEARCH_VIEW = "1000"
_LICENCE = "CWE is a trademark of The MITRE Corporation; used under the CWE terms of use."
_CHILD_OF = re.compile(rf"NATURE:ChildOf:CWE ID:(\d+):VIEW ID:{RESEARCH_VIEW}\b")


def read(data: bytes) -> CweTable:
    """Return the table in an official file.

    Raises:
        ValueError: The file is not an official one; the message says why.
    """
    if data.startswith(b"PK\x03\x04"):
        data = _unzipped(data)
    if data.lstrip().startswith(b"<"):
        return _from_xml(data)
    return _from_csv(data)


def _unzipped(data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith((".xml", ".csv"))]
            if len(names) != 1:
                raise ValueError(f"the ZIP has {len(names)} XML or CSV files; the official one has a single one.")
            with archive.open(names[0]) as member:
                content = member.read(MAX_BYTES + 1)
    except zipfile.BadZipFile as error:
        raise ValueError(f"the ZIP is damaged ({error}); download it again.") from error
    if len(content) > MAX_BYTES:
        raise ValueError(f"the unpacked list is larger than {MAX_BYTES:,} bytes; this is not the official file.")
    return content


def _from_xml(data: bytes) -> CweTable:
    from defusedxml import DefusedXmlException, ElementTree  # only updates need it

    try:
        catalog = ElementTree.fromstring(data)
    except (ElementTree.ParseError, DefusedXmlException) as error:
        raise ValueError(f"the XML cannot be parsed ({error}); download it again.") from error
    if not catalog.tag.endswith("Weakness_Catalog"):
        raise ValueError(f"the XML is a {catalog.tag.rpartition('}')[2]}, not CWE's Weakness_Catalog.")
    space = catalog.tag.removesuffix("Weakness_Catalog")
    weaknesses = [
        Cwe(
            id=int(entry.get("ID", "0")),
            name=entry.get("Name", ""),
            level=entry.get("Abstraction", "").lower(),
            status=entry.get("Status", "").lower(),
            parents=sorted(
                {
                    int(relation.get("CWE_ID", "0"))
                    for relation in entry.iter(f"{space}Related_Weakness")
                    if relation.get("Nature") == "ChildOf" and relation.get("View_ID") == RESEARCH_VIEW
                }
            ),
        )
        for entry in catalog.iter(f"{space}Weakness")
    ]
    stated = catalog.get("Date", "")
    return _table(
        weaknesses, catalog.get("Version", "not stated"), date.fromisoformat(stated) if stated else None, "official XML"
    )


def _from_csv(data: bytes) -> CweTable:
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig", errors="replace"), newline=""))
    if not {"CWE-ID", "Name", "Weakness Abstraction", "Status", "Related Weaknesses"} <= set(rows.fieldnames or ()):
        raise ValueError("neither CWE's XML nor its CSV: the columns CWE-ID, Name and others are missing.")
    weaknesses = [
        Cwe(
            id=int(row["CWE-ID"]),
            name=row["Name"],
            level=row["Weakness Abstraction"].lower(),
            status=row["Status"].lower(),
            parents=sorted({int(number) for number in _CHILD_OF.findall(row["Related Weaknesses"] or "")}),
        )
        for row in rows
        if (row["CWE-ID"] or "").isdigit()
    ]
    return _table(weaknesses, "not stated (CSV)", None, "official CSV")


def _table(weaknesses: list[Cwe], version: str, dated: date | None, form: str) -> CweTable:
    if not weaknesses:
        raise ValueError("the file has no weaknesses.")
    return CweTable(
        source=f"MITRE CWE {version}, {form}", licence=_LICENCE, version=version, date=dated, weaknesses=weaknesses
    )
