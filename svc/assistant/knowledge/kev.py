"""The catalog of known exploited vulnerabilities (KEV): our schema, and the conversion of CISA's JSON file.

None is shipped, because it changes weekly; ``svc rules update --kev`` loads it.
"""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "kev.json"


class KevEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A vulnerability; ``added`` and ``due`` are dates, ``ransomware`` is "Known" or "Unknown"."""

    cve: str
    vendor: str
    product: str
    name: str
    added: str
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
    """Return the table in CISA's ``known_exploited_vulnerabilities.json``.

    Raises:
        ValueError: The file is another one.
    """
    try:
        catalog = msgspec.json.decode(data, type=_CisaCatalog)
        released = date.fromisoformat(catalog.date_released[:10])
    except (msgspec.DecodeError, ValueError) as error:
        raise ValueError(f"not CISA's known_exploited_vulnerabilities.json: {error}.") from error
    return KevTable(
        source="CISA Known KevEntry Vulnerabilities Catalog",
        version=catalog.catalog_version,
        date=released,
        vulnerabilities=[
            KevEntry(
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
            for entry in catalog.vulnerabilities
        ],
    )
