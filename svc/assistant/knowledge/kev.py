"""The catalog of known exploited vulnerabilities (KEV): our schema, the look-up, and the conversion of CISA's files.

The table that is shipped has identifiers, products, dates and the use in ransomware campaigns. It changes weekly:
``svc rules update --kev`` loads CISA's current file, which also has descriptions.
"""

from __future__ import annotations

import csv
import io
from datetime import date
from functools import cache

import msgspec

from svc.assistant.knowledge import load, load_shipped

FILE_NAME = "kev.json"
_NOT_STATED = "not stated (CSV)"
_CSV_COLUMNS = {
    "cveID",
    "vendorProject",
    "product",
    "vulnerabilityName",
    "dateAdded",
    "dueDate",
    "knownRansomwareCampaignUse",
}


class KevEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A vulnerability; ``added`` and ``due`` are dates, ``ransomware`` is "Known" or "Unknown"."""

    cve: str
    vendor: str
    product: str
    added: str
    name: str = ""
    description: str = ""
    action: str = ""
    due: str = ""
    ransomware: str = "Unknown"
    cwes: list[str] = []


class KevTable(msgspec.Struct, frozen=True, kw_only=True):
    """``kev.json``."""

    source: str
    version: str
    date: date
    vulnerabilities: list[KevEntry]


@cache
def kev_table() -> KevTable:
    """Return the newer of the user's catalog and the one that is shipped."""
    return max(load_shipped(FILE_NAME, KevTable), load(FILE_NAME, KevTable), key=lambda table: table.date)


@cache
def kev_by_cve() -> dict[str, KevEntry]:
    """Return the entries of the catalog by CVE."""
    return {entry.cve: entry for entry in kev_table().vulnerabilities}


def kev_note(cve: str) -> str:
    """Return ``in CISA's KEV catalog since 2021-12-10, used in ransomware campaigns``; "" if it is not in there."""
    entry = kev_by_cve().get(cve.upper())
    if entry is None:
        return ""
    ransomware = ", used in ransomware campaigns" if entry.ransomware == "Known" else ""
    return f"in CISA's KEV catalog since {entry.added}{ransomware}"


class _CisaEntry(msgspec.Struct, rename="camel"):
    cve: str = msgspec.field(name="cveID")
    vendor_project: str
    product: str
    vulnerability_name: str
    date_added: str
    short_description: str = ""
    required_action: str = ""
    due_date: str = ""
    known_ransomware_campaign_use: str = "Unknown"
    cwes: list[str] = []


class _CisaCatalog(msgspec.Struct, rename="camel"):
    catalog_version: str
    date_released: str
    vulnerabilities: list[_CisaEntry]


def read(data: bytes) -> KevTable:
    """Return the table in CISA's ``known_exploited_vulnerabilities``, JSON or CSV.

    The CSV states no version; its date is that of the newest entry.

    Raises:
        ValueError: The file is another one.
    """
    if data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"cveID,"):
        return _from_csv(data)
    try:
        catalog = msgspec.json.decode(data, type=_CisaCatalog)
        released = date.fromisoformat(catalog.date_released[:10])
    except (msgspec.DecodeError, ValueError) as error:
        raise ValueError(f"not CISA's known_exploited_vulnerabilities.json or .csv: {error}.") from error
    return _table([_entry(entry) for entry in catalog.vulnerabilities], catalog.catalog_version, released)


def _from_csv(data: bytes) -> KevTable:
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig", errors="replace"), newline=""))
    missing = _CSV_COLUMNS - set(rows.fieldnames or ())
    if missing:
        raise ValueError(f"not CISA's known_exploited_vulnerabilities.csv: it lacks {', '.join(sorted(missing))}.")
    try:
        entries = [_row(row) for row in rows]
        newest = max(date.fromisoformat(entry.added) for entry in entries)
    except (csv.Error, ValueError, TypeError) as error:
        raise ValueError(
            f"CISA's known_exploited_vulnerabilities.csv is damaged ({error}); download it again."
        ) from error
    return _table(entries, _NOT_STATED, newest)


def _row(row: dict[str, str]) -> KevEntry:
    """Convert a row; a row that was cut off has None in its last columns."""
    if not row["cveID"].upper().startswith("CVE-") or row["knownRansomwareCampaignUse"] not in ("Known", "Unknown"):
        raise ValueError(f"a row is not an entry: {str(row['cveID'])[:40]!r}")
    return KevEntry(
        cve=row["cveID"].upper(),
        vendor=row["vendorProject"].strip(),
        product=row["product"].strip(),
        name=row["vulnerabilityName"].strip(),
        added=row["dateAdded"],
        description=(row.get("shortDescription") or "").strip(),
        action=(row.get("requiredAction") or "").strip(),
        due=row["dueDate"],
        ransomware=row["knownRansomwareCampaignUse"],
        cwes=[one for part in (row.get("cwes") or "").split(",") if (one := part.strip(" []'\""))],
    )


def _entry(entry: _CisaEntry) -> KevEntry:
    return KevEntry(
        cve=entry.cve.upper(),
        vendor=entry.vendor_project,
        product=entry.product,
        name=entry.vulnerability_name,
        added=entry.date_added,
        description=entry.short_description,
        action=entry.required_action,
        due=entry.due_date,
        ransomware=entry.known_ransomware_campaign_use,
        cwes=entry.cwes,
    )


def _table(entries: list[KevEntry], version: str, dated: date) -> KevTable:
    return KevTable(
        source="CISA Known Exploited Vulnerabilities Catalog", version=version, date=dated, vulnerabilities=entries
    )
