"""Claims of a model are checked against the evidence of the session."""

import pytest
from msgspec.structs import replace

from svc.assistant.findings import Evidence, Finding
from svc.assistant.model import evidence
from svc.assistant.model.evidence import MARK, EvidenceIndex, Reference, check, references
from tests.support.facts import SOURCE

SHOWN = (
    "Failed password from 10.0.0.12 to hxxp://evil[.]com/a/b, mail to bob@corp.example; T1110.001, "
    "CVE-2021-44228, CWE-79\n"
    r"started C:\Users\bob\evil.exe, 44d88612fea8a8f36de82e1278abb02f, beacon.bad-host.net:8443"
)


def evidence_index(text=SHOWN):
    made = EvidenceIndex()
    made.add(text)
    return made


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("`10.0.0.12`", id="an address"),
        pytest.param("10[.]0[.]0[.]12", id="a defanged address"),
        pytest.param("10.0.0.12:22", id="an address with a port"),
        pytest.param("http://evil.com/a/b", id="a URL"),
        pytest.param("hxxp://evil[.]com/a/b", id="a defanged URL"),
        pytest.param("EVIL[.]com", id="the host of a URL"),
        pytest.param("bad-host[.]net", id="a parent domain"),
        pytest.param("`bob[@]corp[.]example`", id="a mail address"),
        pytest.param("CVE-2021-44228", id="a CVE"),
        pytest.param("cwe-79", id="a CWE"),
        pytest.param("T1110.001", id="a sub-technique"),
        pytest.param("T1110", id="the technique of a sub-technique"),
        pytest.param("44D88612FEA8A8F36DE82E1278ABB02F", id="a hash in capitals"),
        pytest.param(r"`C:\Users\bob\evil.exe`", id="a path"),
        pytest.param("evil.exe", id="a file's name"),
        pytest.param(r"`C:\Users\bo…`", id="a path that a table cut"),
        pytest.param("`http://evil.com/a…` (+2 characters)", id="a URL that a table cut"),
        pytest.param(r"`Image=C:\Users\bob\evil.exe; User=SYSTEM`", id="a path in a list of fields"),
        pytest.param("nothing to look up here", id="words"),
    ],
)
def test_supported_claims_are_not_marked(said):
    checked = check(f"It was {said} today.", evidence_index())
    assert checked.markdown == f"It was {said} today.\n"
    assert checked.missing == ()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        pytest.param("`10.0.0.1`", "ipv4", id="an address that one shown begins with"),
        pytest.param("0.0.0.12", "ipv4", id="an address that one shown ends with"),
        pytest.param("http://evil.com/a", "url", id="a URL that one shown begins with"),
        pytest.param("hxxps://evil[.]com/a/b", "url", id="another scheme"),
        pytest.param("evil[.]com[.]br", "domain", id="a domain that goes on"),
        pytest.param("host[.]net", "domain", id="the end of a label"),
        pytest.param("al@corp[.]example", "email", id="another mail address"),
        pytest.param("CVE-2021-4422", "cve", id="a CVE that one shown begins with"),
        pytest.param("CWE-7", "cwe", id="a CWE that one shown begins with"),
        pytest.param("T1059.001", "attack_technique", id="a technique"),
        pytest.param("T1110.002", "attack_technique", id="a sub-technique of one shown"),
        pytest.param("44d88612fea8a8f36de82e1278abb02e", "md5", id="a hash with one other digit"),
        pytest.param("other.exe", "file_name", id="a file's name"),
        pytest.param("`http://evil.com/b…`", "url", id="another URL that is cut"),
    ],
)
def test_unsupported_claims_are_marked_in_place_and_listed(said, kind):
    checked = check(f"It was {said} today.", evidence_index())
    assert checked.markdown.startswith(f"It was {said} ({MARK}) today.\n\n**1 item")
    assert [reference.kind for reference in checked.missing] == [kind]
    assert checked.markdown.count("\n- `") == 1


def test_every_mention_is_marked_without_breaking_the_text():
    checked = check("Block 9.9.9.9, and again `9.9.9.9`.\n\n| 9[.]9[.]9[.]9 | x |\n", evidence_index())
    text = checked.markdown.partition("**1 item")[0]
    assert text == f"Block 9.9.9.9 ({MARK}), and again `9.9.9.9` ({MARK}).\n\n| 9[.]9[.]9[.]9 ({MARK}) | x |\n\n"


def test_a_block_of_code_is_marked_after_its_end():
    checked = check("Run:\n\n```sh\niptables -A INPUT -s 9.9.9.9 -j DROP\n```\n\nThen rest.", evidence_index())
    assert f"-s 9.9.9.9 -j DROP\n```\n\n({MARK}: `9.9.9.9`)\n\nThen rest." in checked.markdown.replace("\n\n\n", "\n\n")


def test_findings_are_evidence_with_their_facts_excerpts_and_techniques():
    made = EvidenceIndex()
    finding = Finding(
        title="a thing",
        evidence=(Evidence(source="a.log", excerpt="GET /x from 198.51.100.7"),),
        techniques=("T1190",),
        facts=replace(SOURCE, success_accounts=["evil.example"], failures=80),
    )
    made.add_findings([finding])
    checked = check("198.51.100.7 asked evil.example (T1190), see a.log; not 198.51.100.8.", made)
    assert checked.missing == (Reference("ipv4", "198.51.100.8"),)


def test_a_quoted_text_is_recognised_across_line_breaks():
    made = evidence_index("powershell -enc\n  AAAA BBBB")
    assert made.has_text("POWERSHELL -enc AAAA\nBBBB")
    assert not made.has_text("powershell -enc CCCC")


def test_evidence_is_bounded(monkeypatch):
    monkeypatch.setattr(evidence, "MAX_EVIDENCE_CHARS", 10)
    assert not evidence_index("0123456789 9.9.9.9").shows(Reference("ipv4", "9.9.9.9"))


def test_claims_over_the_limit_are_reported(monkeypatch):
    monkeypatch.setattr(evidence, "MAX_REFERENCES", 2)
    checked = check("CVE-2024-1000, CVE-2024-1001, CVE-2024-1002", evidence_index())
    assert (checked.reference_count, checked.unchecked) == (2, 1)
    assert "⚠ 1 further indicator or id not checked." in checked.markdown


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param("All is well.", "the answer names no indicator or id that could be checked", id="none"),
        pytest.param("10.0.0.12", "checked 1 indicator or id of the answer: all in the evidence", id="all shown"),
        pytest.param(
            "10.0.0.12 and 9.9.9.9",
            "checked 2 indicators and ids of the answer: 1 not found in the evidence",
            id="one missing",
        ),
    ],
)
def test_the_outcome_is_reported_with_figures(answer, words):
    assert check(answer, evidence_index()).summary() == words


def test_the_host_of_a_url_is_not_a_claim_of_its_own():
    assert references("see hxxp://evil[.]com/x") == [Reference("url", "http://evil.com/x")]
