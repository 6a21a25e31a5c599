"""CVE details come from the newer of the shipped catalog and the user's; the answer states which."""

import gzip
import json
import re
from collections import Counter
from importlib import resources

import msgspec
import pytest

from svc.assistant import knowledge
from svc.assistant.findings import Finding, Gap, Severity
from svc.assistant.knowledge import kev
from svc.assistant.skills.cve import tool as cve
from svc.assistant.skills.cve.answer import SECTION

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
    kev.kev_table.cache_clear()
    kev.kev_by_cve.cache_clear()
    yield tmp_path
    kev.kev_table.cache_clear()
    kev.kev_by_cve.cache_clear()


def look_up(text):
    return [item for item in cve.inspect(text, source="prompt") if isinstance(item, (Finding, Gap))]


def answer(text):
    return SECTION.verdict([item for item in look_up(text) if isinstance(item, Finding)])


def load(folder, catalog=CATALOG):
    (folder / kev.FILE_NAME).write_bytes(msgspec.json.encode(kev.read(json.dumps(catalog).encode())))


def test_the_shipped_catalog_answers_with_its_dates():
    finding, gap = look_up("is cve-2021-44228 exploited?")
    facts = finding.facts
    assert (facts.is_exploited, facts.vendor, facts.product) == (True, "Apache", "Log4j2")
    assert (facts.added, facts.due, facts.ransomware) == ("2021-12-10", "2021-12-24", "Known")
    assert facts.table_date == "2026-07-27"
    assert "version 2026.07.27" in gap.text


def test_the_answer_states_since_when_and_by_which_catalog():
    assert answer("CVE-2021-44228") == (
        "**Known to be exploited:** `CVE-2021-44228`, listed since 2021-12-10, used in ransomware campaigns "
        "(1 of 1 CVE in CISA's KEV catalog of 2026-07-27)."
    )
    several = answer("CVE-2021-44228, CVE-2026-16812 and CVE-2020-99999")
    assert (
        "`CVE-2021-44228`, `CVE-2026-16812` (2 of 3 CVEs in CISA's KEV catalog of 2026-07-27, 1 of them in" in several
    )


def test_absence_from_the_catalog_is_not_called_safe():
    said = answer("CVE-2020-99999")
    assert said.startswith("**Not listed as exploited:** `CVE-2020-99999` is not in CISA's KEV catalog of 2026-07-27.")
    assert "does not rule out exploitation" in said
    assert "not exploited" not in said


def test_the_users_newer_catalog_decides_and_is_named(folder):
    load(folder)
    other, exploited = sorted(look_up("cve-2099-1234\nCVE-2099-9999\nCVE-2099-1234")[:2], key=lambda f: f.severity)[
        ::-1
    ]
    assert (exploited.severity, exploited.facts.is_exploited) == (Severity.HIGH, True)
    assert (exploited.facts.count, exploited.evidence[0].line) == (2, 1)
    assert exploited.facts.table_version == "2026.11.20"
    assert (other.facts.id, other.facts.is_exploited) == ("CVE-2099-9999", False)


def test_an_older_catalog_of_the_user_does_not_hide_newer_entries(folder):
    load(folder, CATALOG | {"dateReleased": "2024-01-01T00:00:00Z"})
    assert look_up("CVE-2026-16812")[0].facts.is_exploited


def test_the_shipped_catalog_is_whole():
    table = kev.kev_table()
    years = Counter(entry.added[:4] for entry in table.vulnerabilities)
    assert years == {"2021": 311, "2022": 555, "2023": 187, "2024": 186, "2025": 245, "2026": 171}
    assert len(kev.kev_by_cve()) == len(table.vulnerabilities)
    assert all(re.fullmatch(r"CVE-\d{4}-\d{4,7}", entry.cve) for entry in table.vulnerabilities)
    assert all(entry.vendor and entry.product and entry.added < entry.due for entry in table.vulnerabilities)
    assert max(entry.added for entry in table.vulnerabilities) == table.date.isoformat()
    shipped = resources.files(knowledge).joinpath(kev.FILE_NAME).read_bytes()
    assert len(gzip.compress(shipped)) < 150_000


CSV = (
    "cveID,vendorProject,product,vulnerabilityName,dateAdded,shortDescription,requiredAction,dueDate,"
    "knownRansomwareCampaignUse,notes,cwes\n"
    'CVE-2099-0001,Example,"Gateway, and more",A name,2099-01-02,"A ""quoted"" text",Update,2099-01-23,Known,,'
    "\"['CWE-78', 'CWE-20']\"\n"
    "CVE-2098-0002,Other,Thing,A name,2098-01-02,Text,Update,2098-01-23,Unknown,,[]\n"
)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_csv_is_read_too(mark):
    table = kev.read((mark + CSV).encode())
    first, second = table.vulnerabilities
    assert (table.date.isoformat(), table.version) == ("2099-01-02", "not stated (CSV)")
    assert (first.product, first.description, first.cwes) == (
        "Gateway, and more",
        'A "quoted" text',
        ["CWE-78", "CWE-20"],
    )
    assert (second.ransomware, second.cwes) == ("Unknown", [])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("cveID,product\nCVE-2099-0001,x\n", id="other columns"),
        pytest.param(CSV[: CSV.index("2098-01-02")], id="cut off"),
        pytest.param(CSV.replace("2099-01-02", "yesterday"), id="no date"),
        pytest.param(CSV.splitlines()[0], id="no rows"),
    ],
)
def test_a_damaged_csv_is_rejected(data):
    with pytest.raises(ValueError, match=r"known_exploited_vulnerabilities\.csv"):
        kev.read(data.encode())


@pytest.mark.parametrize("data", [b"", b"[]", b'{"vulnerabilities": 3}', b"<html>", b"\xff\xfe"])
def test_another_file_is_rejected_with_a_reason(data):
    with pytest.raises(ValueError, match="known_exploited_vulnerabilities"):
        kev.read(data)
