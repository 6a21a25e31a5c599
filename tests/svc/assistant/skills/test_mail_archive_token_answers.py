"""Sections on mail, archives, tokens and certificates: verdict first, evidence that cannot break out, next steps."""

from __future__ import annotations

import base64
import io
import json
import zipfile

import pytest
from markdown_it import MarkdownIt

from svc.assistant.findings import AnyFinding, Finding
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.archive import answer as archive_section
from svc.assistant.skills.archive import tool as archive
from svc.assistant.skills.certificate import answer as certificate_section
from svc.assistant.skills.certificate import tool as certificate
from svc.assistant.skills.mail import answer as mail_section
from svc.assistant.skills.mail import tool as mail
from svc.assistant.skills.token import answer as token_section
from svc.assistant.skills.token import tool as token
from tests.support.mails import ORDINARY, TRAPS, made

NOW = "2026-01-15T00:00:00+00:00"


def of(items) -> list[AnyFinding]:
    return [item for item in items if isinstance(item, Finding)]


def triaged(raw: bytes) -> list[AnyFinding]:
    return of(mail.inspect(io.BytesIO(raw), source="a.eml"))


def zipped(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in members:
            written.writestr(name, data)
    return packed.getvalue()


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_phishing_is_reported_with_reasons_checks_and_route():
    found = triaged(TRAPS["bank, plain text, foreign domain"])
    verdict = mail_section.verdict(found)
    assert verdict.startswith("**Phishing** (high, high confidence; score ")
    body = mail_section.body(found)
    assert "`softfail`" in body
    assert "as recorded" in body
    assert "hxxp://wellsfargo[.]com[.]secure-id-check" in body
    assert mail_section.next_steps(found)


def test_two_mails_in_separate_files_are_reported_separately():
    trap, other = TRAPS["bank, plain text, foreign domain"], ORDINARY["personal mail"]
    found = of(mail.inspect(io.BytesIO(other), source="b.eml")) + triaged(trap)
    body = mail_section.body(found)
    assert "**Mail 1 of `a.eml`, the one with the highest score**" in body
    assert "| `b.eml` | 1 | ordinary |" in body
    of_one = mail_section.body(triaged(trap))
    assert body.endswith(of_one[of_one.index("| Points |") :])


def test_ordinary_mail_is_reported_without_next_steps():
    found = triaged(ORDINARY["personal mail"])
    assert mail_section.verdict(found).startswith("**Ordinary**")
    assert mail_section.next_steps(found) == []


def test_several_mails_are_counted_and_the_worst_is_shown_in_detail():
    head = b"From x@y.example Tue Mar 11 09:30:00 2025\n"
    found = triaged(b"\n\n".join(head + raw for raw in (ORDINARY["personal mail"], TRAPS["inheritance"])))
    assert mail_section.verdict(found) == "**2 mails:** 1 fraud, 1 ordinary."
    assert "**Mail 2, the one with the highest score**" in mail_section.body(found)


def test_the_worst_member_of_an_archive_leads():
    found = of(archive.inspect(io.BytesIO(zipped(("bill.pdf.js", b"var a = 1"))), source="a.zip"))
    assert archive_section.verdict(found).startswith(
        "**Dangerous:** 2 signs of danger in 1 member, 9 bytes unpacked; `bill.pdf.js`:"
    )
    assert "bill.pdf.js" in archive_section.body(found)
    assert archive_section.next_steps(found)


def test_an_archive_without_indicators_is_reported_as_such():
    found = of(archive.inspect(io.BytesIO(zipped(("a.txt", b"hello"))), source="a.zip"))
    assert archive_section.verdict(found).startswith("**No sign of danger")


def test_the_worst_weakness_of_a_token_leads():
    found = of(token.inspect(f"{part({'alg': 'none'})}.{part({'sub': '7'})}.", source="prompt", now=NOW))
    assert token_section.verdict(found).startswith("**Critical:** not signed (alg is none)")
    assert '"sub": "7"' in token_section.body(found)


def test_an_unreadable_certificate_is_reported_as_such():
    raw = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
    found = of(certificate.inspect(io.BytesIO(raw), source="a.pem", now=NOW))
    assert certificate_section.verdict(found).startswith("**Not examined:** no certificate")
    assert "cannot be read" in certificate_section.body(found)


HOSTILE = "`![x](http://evil.top/p.png) <img src=x onerror=alert(1)> ``` | [a](javascript:alert(1)) **b**"


def links_images_and_html(markdown: str) -> list[str]:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    kinds = {"link_open", "image", "html_inline", "html_block"}
    tokens = parser.parse(markdown)
    return [child.type for found in tokens for child in [found, *(found.children or [])] if child.type in kinds]


def hostile_mail() -> list[AnyFinding]:
    html = f'<p>verify your account</p><a href="http://203.0.113.9/{HOSTILE}">{HOSTILE}</a>'
    raw = made(
        sender=f'"PayPal {HOSTILE}" <x@evil.example>',
        subject=HOSTILE,
        html=html,
        files=[(HOSTILE, "text/html", "page")],
    )
    raw = f"Authentication-Results: {HOSTILE}; spf=fail smtp.mailfrom={HOSTILE}\n".encode() + raw
    return triaged(f"Received: from {HOSTILE} by {HOSTILE}; {HOSTILE}\n".encode() + raw)


def hostile_archive() -> list[AnyFinding]:
    raw = zipped((f"../{HOSTILE}.pdf.exe", b"MZ"), (HOSTILE, b"x"))
    return of(archive.inspect(io.BytesIO(raw), source=HOSTILE))


def hostile_token() -> list[AnyFinding]:
    header = {"alg": HOSTILE, "kid": f"../{HOSTILE}", "jku": HOSTILE}
    return of(
        token.inspect(f"{part(header)}.{part({'iss': HOSTILE, f'{HOSTILE}_password': HOSTILE})}.AAAA", source=HOSTILE)
    )


@pytest.mark.parametrize(
    ("section", "found"),
    [(mail_section, hostile_mail()), (archive_section, hostile_archive()), (token_section, hostile_token())],
    ids=["mail", "archive", "token"],
)
def test_evidence_cannot_create_links_images_or_html(section, found: list[AnyFinding]):
    assert len(found) > 2
    markdown = "\n\n".join(
        [section.verdict(found), as_sections(section.SECTION.folds(found)), *section.next_steps(found)]
    )
    assert links_images_and_html(markdown) == []
