"""The catalogue of vulnerabilities that are known to be exploited: its form. None ships: it changes each week.

Source: CISA, Known Exploited Vulnerabilities Catalog (JSON); ``svc rules update --kev`` reads it.
"""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "kev.json"


class Exploited(msgspec.Struct, frozen=True, kw_only=True):
    """One vulnerability; ``added`` and ``due`` are dates of the catalogue, ``ransomware`` is "Known" or "Unknown"."""

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
    vulnerabilities: list[Exploited]


class _Entry(msgspec.Struct, rename="camel"):
    """As CISA writes it."""

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


class _Catalogue(msgspec.Struct, rename="camel"):
    catalog_version: str
    date_released: str
    vulnerabilities: list[_Entry]


def read(data: bytes) -> KevTable:
    """The table in the bytes of CISA's ``known_exploited_vulnerabilities.json``. Raises ValueError for another file."""
    try:
        catalogue = msgspec.json.decode(data, type=_Catalogue)
        released = date.fromisoformat(catalogue.date_released[:10])
    except (msgspec.DecodeError, ValueError) as error:
        raise ValueError(f"this is not CISA's known_exploited_vulnerabilities.json: {error}.") from error
    return KevTable(
        source="CISA Known Exploited Vulnerabilities Catalog",
        version=catalogue.catalog_version,
        date=released,
        vulnerabilities=[
            Exploited(
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
            for entry in catalogue.vulnerabilities
        ],
    )
