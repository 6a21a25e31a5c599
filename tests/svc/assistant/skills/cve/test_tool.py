"""CVE details come from the loaded catalog; without one the answer says so."""

import json

import msgspec
import pytest

from svc.assistant import knowledge
from svc.assistant.findings import Finding, Gap, Severity
from svc.assistant.knowledge import kev
from svc.assistant.skills.cve import tool as cve

CATALOG = {
    "title": "CISA Catalog of Known Exploited Vulnerabilities",
    "catalogVersion": "2026.11.20",
    "dateReleased": "2026-11-20T15:00:00.0000Z",
    "count": 1,
    "vulnerabilities": [
        {
            "cveID": "CVE-2099-1234",
            "vendorProject": "Example",
            "product": "Gateway",
            "vulnerabilityName": "Example Gateway Command Injection",
            "dateAdded": "2099-01-02",
            "shortDescription": "A command injection.",
            "requiredAction": "Apply updates.",
            "dueDate": "2099-01-23",
            "knownRansomwareCampaignUse": "Known",
            "notes": "",
            "cwes": ["CWE-78"],
        }
    ],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(knowledge, "_chosen", tmp_path)
    cve._table.cache_clear()
    cve._by_cve.cache_clear()
    yield tmp_path
    cve._table.cache_clear()
    cve._by_cve.cache_clear()


def look_up(text):
    return [item for item in cve.inspect(text, source="prompt") if isinstance(item, (Finding, Gap))]


def test_without_a_catalog_there_is_no_verdict():
    finding, gap = look_up("is CVE-2099-1234 exploited?")
    assert finding.facts.is_exploited is None
    assert "svc rules update --kev" in gap.text


def test_the_catalog_decides_and_is_named(folder):
    (folder / kev.FILE_NAME).write_bytes(msgspec.json.encode(kev.read(json.dumps(CATALOG).encode())))
    other, exploited = sorted(look_up("cve-2099-1234\nCVE-2099-9999\nCVE-2099-1234")[:2], key=lambda f: f.severity)[
        ::-1
    ]
    assert (exploited.severity, exploited.facts.is_exploited) == (Severity.HIGH, True)
    assert (exploited.facts.count, exploited.evidence[0].line) == (2, 1)
    assert exploited.facts.table_version == "2026.11.20"
    assert (other.facts.id, other.facts.is_exploited) == ("CVE-2099-9999", False)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"vulnerabilities": 3}', b"<html>", b"\xff\xfe"])
def test_another_file_is_rejected_with_a_reason(data):
    with pytest.raises(ValueError, match="known_exploited_vulnerabilities"):
        kev.read(data)
