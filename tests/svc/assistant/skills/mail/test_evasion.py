"""Nothing that a sender writes makes a verdict milder: games with the header, the HTML, encodings, what is attached."""

from __future__ import annotations

import base64
import io
from functools import cache

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.mail.findings import MailAttachment, MailAuth, MailSender, MailUrl, MailVerdict
from svc.assistant.skills.mail.mailbox import split_mails
from svc.assistant.skills.mail.tool import inspect

FLAGGED = ("phishing", "fraud", "suspicious")
READER = "jana@novak-keramik-example.org"
TOP = (
    "Return-Path: <b@gasthof-lind-example.at>\n"
    "Received: from out.gasthof-lind-example.at (out.gasthof-lind-example.at [203.0.113.8])\n"
    " by mx.novak-keramik-example.org (Postfix) with ESMTPS id 4; Tue, 11 Mar 2025 09:30:00 +0000\n"
)
OWN = "From: Service Team <info@gasthof-lind-example.at>\nTo: jana@novak-keramik-example.org\n"
REST = "Subject: Your mailbox is almost full\nDate: Tue, 11 Mar 2025 09:30:00 +0000\nMessage-ID: <1@gasthof-lind-example.at>\n"  # noqa: E501
ASK = "Your mailbox exceeded its storage limit. Verify your account within 24 hours or it will be suspended."
BODY = f'<p>{ASK}</p><a href="https://vinyl-example.co/x1">Verify now</a>'


def mail(
    fields: str = "", *, top: str = "", own: str = OWN, body: str = BODY, kind: str = "text/html; charset=utf-8"
) -> bytes:
    return f"{top}{TOP}{own}{REST}{fields}MIME-Version: 1.0\nContent-Type: {kind}\n\n{body}\n".encode()


def events(raw: bytes) -> list[ToolEvent]:
    return list(inspect(io.BytesIO(raw), source="a.eml"))


def found(raw: bytes) -> MailVerdict:
    [verdict] = with_facts([one for one in events(raw) if isinstance(one, Finding)], MailVerdict)
    return verdict.facts


@cache
def plain() -> MailVerdict:
    """The verdict on the mail without any game."""
    return found(mail())


PASS = "spf=pass smtp.mailfrom=gasthof-lind-example.at; dkim=pass header.d=gasthof-lind-example.at; dmarc=pass header.from=gasthof-lind-example.at"  # noqa: E501

FIELDS = {
    "a list's identifier": "List-Id: <news.gasthof-lind-example.at>\nPrecedence: list\n",
    "a list's address": "List-Post: <mailto:list@gasthof-lind-example.at>\n",
    "unsubscribing": "List-Unsubscribe: <https://vinyl-example.co/u>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n",  # noqa: E501
    "a list manager": "X-BeenThere: list@x-example.org\nX-Mailman-Version: 2.1\nMailing-List: list x\nX-Loop: x\n",
    "a conversation": "In-Reply-To: <1@novak-keramik-example.org>\nReferences: <1@novak-keramik-example.org>\n",
    "bulk": "Precedence: bulk\nFeedback-ID: 1:2:3:mc\nX-Mailer: Mailchimp Mailer\n",
    "results by the recipient's server": f"Authentication-Results: mx.novak-keramik-example.org; {PASS}\n",
    "results by a large provider": f"Authentication-Results: mx.google.com; {PASS}\n",
    "results without a server": f"Authentication-Results: {PASS}\n",
    "a sealed chain": f"ARC-Authentication-Results: i=1; mx.novak-keramik-example.org; {PASS}\n",
    "an SPF field": "Received-SPF: pass (mx.novak-keramik-example.org: domain of b@gasthof-lind-example.at designates)\n",  # noqa: E501
    "a hop with results": (
        "Received: from a ([10.0.0.1]) by mx.novak-keramik-example.org; Tue, 11 Mar 2025 09:20:00 +0000\n"
        f"Authentication-Results: mx.novak-keramik-example.org; {PASS}\n"
    ),
    "a filter's praise": "X-Spam-Status: No, score=-9\nX-MS-Exchange-Organization-SCL: -1\nX-Spam-Flag: NO\n",
    "a certificate in a field": "X-Key: -----BEGIN CERTIFICATE-----\n MIIB\n -----END CERTIFICATE-----\n",
    "a line that is no field": "-----BEGIN CERTIFICATE-----\n",
}  # fmt: skip


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_no_field_of_the_sender_lowers_or_replaces_the_verdict(fields: str):
    for raw in (mail(fields), mail(own=fields + OWN)):
        verdict = found(raw)
        assert verdict.score >= plain().score
        assert verdict.verdict == plain().verdict
        assert not verdict.is_confirmed
        assert not verdict.for_it
        assert identify(raw, "a.eml")[1] == "eml"
        assert identify(raw, "a.txt")[1] == "eml"


def test_results_of_the_recipients_own_server_count():
    verdict = found(mail(top=f"Authentication-Results: mx.novak-keramik-example.org; {PASS}\n"))
    assert verdict.is_confirmed
    assert verdict.score < plain().score


def test_a_client_that_calls_itself_the_recipients_server_is_still_outside():
    hop = "Received: from mx.novak-keramik-example.org (unknown [203.0.113.66]) by mx.novak-keramik-example.org; Tue, 11 Mar 2025 09:20:00 +0000\n"  # noqa: E501
    raw = f"{hop}Authentication-Results: mx.novak-keramik-example.org; {PASS}\n{OWN}{REST}\n{ASK}".encode()
    assert not found(raw).is_confirmed
    local = hop.replace("unknown [203.0.113.66]", "[10.0.0.9] (unknown [203.0.113.66])")
    assert not found(raw.replace(hop.encode(), local.encode())).is_confirmed


def test_the_second_result_of_a_providers_mail_is_the_senders():
    top = (
        "Delivered-To: x@gmail.com\nReceived: from out.a-example.com (out.a-example.com. [203.0.113.8]) by mx.google.com with ESMTPS;"  # noqa: E501
        " Tue, 11 Mar 2025 09:30:00 +0000\nAuthentication-Results: mx.google.com; spf=fail smtp.mailfrom=a-example.com; dkim=none\n"  # noqa: E501
        f"Authentication-Results: mx.google.com; {PASS}\n"
    )  # fmt: skip
    raw = f"{top}{OWN}{REST}\n{ASK}".encode()
    assert not found(raw).is_confirmed
    findings = [one for one in events(raw) if isinstance(one, Finding)]
    latest = {(one.facts.method, one.facts.result) for one in with_facts(findings, MailAuth) if one.facts.is_latest}
    assert latest == {("spf", "fail"), ("dkim", "none")}


SENDERS = {
    "two From fields": "From: Jana <jana@novak-keramik-example.org>\nFrom: Service <info@gasthof-lind-example.at>\n",
    "several addresses": "From: PayPal <service@paypal.com>, <info@gasthof-lind-example.at>\n",
    "an address as a name": 'From: "service@paypal.com" <info@gasthof-lind-example.at>\n',
    "a folded name": "From: Pay\n Pal Service\n <info@gasthof-lind-example.at>\n",
    "an encoded name": "From: =?utf-8?B?UGF5UGFs?= <info@gasthof-lind-example.at>\n",
    "an encoded name in pieces": "From: =?utf-8?Q?Pay?= =?utf-8?Q?Pal?= <info@gasthof-lind-example.at>\n",
    "a name with a comma": "From: PayPal Service ,_ <info@gasthof-lind-example.at>\n",
    "a look-alike name": "From: =?utf-8?B?" + base64.b64encode("P\u0430yPal".encode()).decode() + "?= <info@gasthof-lind-example.at>\n",  # noqa: E501
    "invisible letters": "From: =?utf-8?B?" + base64.b64encode("Pay\u200bPal".encode()).decode() + "?= <info@gasthof-lind-example.at>\n",  # noqa: E501
    "a look-alike domain": "From: Service <info@paypa1.com>\n",
    "an international domain": "From: Service <info@xn--pypal-4ve.com>\n",
    "somebody else to answer": "From: Service <info@gasthof-lind-example.at>\nReply-To: <help.desk77@gmail.com>\n",
}  # fmt: skip


@pytest.mark.parametrize("own", SENDERS.values(), ids=SENDERS)
def test_games_with_the_sender_are_named(own: str):
    raw = mail(own=own + "To: jana@novak-keramik-example.org\n")
    notes = with_facts([one for one in events(raw) if isinstance(one, Finding)], MailSender)
    assert max(one.facts.points for one in notes) >= 2
    assert found(raw).score > plain().score


LINK = '<a href="https://vinyl-example.co/x1">Verify now</a>'
PADDING = (
    "The committee met on Tuesday, approved minutes, bought bicycles, lamps, maps and walked along rivers with friends. "  # noqa: E501
    * 30
)
WORDS = (
    "committee tuesday approved minutes bicycle lamps coast river museum garden bread winter coffee paper window music bridge forest "  # noqa: E501
    * 9
)
PAGES = {
    "a base": f'<base href="https://vinyl-example.co/"><p>{ASK}</p><a href="x1">Verify now</a>',
    "slashes turned": f'<p>{ASK}</p><a href="https:\\\\vinyl-example.co\\x1">Verify now</a>',
    "a slash too many": f'<p>{ASK}</p><a href="https:///vinyl-example.co/x1">Verify now</a>',
    "blanks in the address": f'<p>{ASK}</p><a href=" ht\ntps://vinyl\t-example.co/x1">Verify now</a>',
    "data": f'<p>{ASK}</p><a href="data:text/html;base64,PGI+">Verify now</a>',
    "a form": f'<p>{ASK}</p><form action="https://vinyl-example.co/p"><input type=password name=p></form>',
    "a refresh": f'<p>{ASK}</p><meta http-equiv=refresh content="0;url=https://vinyl-example.co/x1">',
    "an image map": f'<p>{ASK}</p><map><area href="https://vinyl-example.co/x1" alt="Verify now"></map>',
    "hidden padding": f'<div style="display:none">{WORDS}</div>{BODY}',
    "padding of size zero": f'<span style="font-size:0">{WORDS}</span>{BODY}',
    "white padding": f'<font color="#ffffff">{WORDS}</font>{BODY}',
    "padding before": f"<p>{PADDING * 20}</p>{BODY}",
    "padding behind": f"{BODY}<p>{PADDING * 20}</p>",
    "empty links": BODY + '<a href="https://www.gasthof-lind-example.at/a"></a>' * 30,
    "thousands of empty links": "".join(f'<a href="https://www.kitchen-example.com/{n}"></a>' for n in range(2_500))
    + BODY,
    "comments": f"<!-- {PADDING} -->{BODY}",
    "words taken apart": f'<p>{ASK.replace("mailbox", "mail<span></span>box").replace("account", "acc<!-- x -->ount")}</p>{LINK}',  # noqa: E501
    "references": "".join(f"&#{ord(char)};" for char in ASK) + LINK,
    "quoted": f"<p>&gt; {ASK}</p>{LINK}",
    "a reply's mark": f"<p>On Mon, 10 Mar 2025 at 09:12, Jana wrote:</p>{BODY}",
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_tricks_of_html_do_not_hide_a_lure(page: str):
    for fields in ("", "In-Reply-To: <9@x-example.org>\n"):
        assert found(mail(fields, body=page)).verdict in FLAGGED


def test_links_of_a_newsletter_around_a_lure_do_not_hide_it():
    news = "".join(
        f'<p>Bread, soup and rain.</p><a href="https://www.kitchen-example.com/{n}">Read {n}</a>' for n in range(40)
    )
    assert found(mail(body=BODY + news)).verdict in FLAGGED
    assert found(mail(body=news + BODY)).verdict in FLAGGED


ENCODED = {
    "base64": ("base64", base64.encodebytes(BODY.encode())),
    "quoted-printable": ("quoted-printable", "".join(f"={byte:02X}" for byte in BODY.encode()).encode()),
    "UTF-16": ("base64", base64.encodebytes(BODY.encode("utf-16"))),
    "an encoding that does not exist": ("x-none", BODY.encode()),
}  # fmt: skip


@pytest.mark.parametrize(("encoding", "data"), ENCODED.values(), ids=ENCODED)
def test_encodings_do_not_hide_a_lure(encoding: str, data: bytes):
    charset = "utf-16" if data == ENCODED["UTF-16"][1] else "utf-8"
    head = f"{TOP}{OWN}{REST}Content-Type: text/html; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n".encode()  # noqa: E501
    assert found(head + data).verdict in FLAGGED


def attached(kind: str, name: str, data: bytes, text: str = "See the attached file.") -> bytes:
    part = base64.encodebytes(data).decode()
    body = (
        f"--b\nContent-Type: text/plain\n\n{text}\n--b\nContent-Type: {kind}; name={name}\n"
        f"Content-Disposition: attachment; filename={name}\nContent-Transfer-Encoding: base64\n\n{part}\n--b--"
    )
    return mail(body=body, kind="multipart/mixed; boundary=b")


def files(raw: bytes) -> list[MailAttachment]:
    return [one.facts for one in with_facts([one for one in events(raw) if isinstance(one, Finding)], MailAttachment)]


def test_an_attached_mail_is_judged_by_itself():
    inner = mail().decode()
    body = f"--b\nContent-Type: text/plain\n\nSee below.\n--b\nContent-Type: message/rfc822\n\n{inner}\n--b--"
    outer = f"{TOP}{OWN}Subject: Fw\n\n".encode()
    raw = mail(body=body, kind="multipart/mixed; boundary=b").replace(b"Your mailbox is almost full", b"Fw: note", 1)
    assert outer
    assert [danger.name for danger in files(raw)[0].dangers] == ["attached_mail"]
    assert found(raw).verdict in FLAGGED


def test_an_invitations_text_and_link_count():
    event = f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Mailbox\r\nDESCRIPTION:{ASK[:40]}\r\n {ASK[40:]} https://vinyl-example.co/x1\r\nEND:VEVENT\r\nEND:VCALENDAR"
    raw = attached("text/calendar", "invite.ics", event.encode(), "Invitation").replace(
        b"Your mailbox is almost full", b"Invitation"
    )
    assert found(raw).verdict in FLAGGED
    assert any(
        one.facts.host == "vinyl-example.co"
        for one in with_facts([e for e in events(raw) if isinstance(e, Finding)], MailUrl)
    )


@pytest.mark.parametrize(("kind", "name"), [("text/html", "page.html"), ("image/svg+xml", "page.svg")])
def test_a_page_that_is_attached_is_read(kind: str, name: str):
    page = b'<svg xmlns="http://www.w3.org/2000/svg"><script>location.href=atob("aHR0cHM6Ly8=")</script></svg>'
    raw = attached(kind, name, page if "svg" in kind else b"<html><form><input type=password></form></html>")
    assert found(raw).verdict in FLAGGED
    assert files(raw)[0].examined == "read"


def test_documents_are_opened_by_their_skills():
    pdf = b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>>>\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF"  # noqa: E501
    [file] = files(attached("application/pdf", "a.pdf", pdf))
    assert file.examined.startswith("opened")
    assert "content" in {danger.name for danger in file.dangers}


def test_a_document_too_many_is_named_as_not_examined(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("svc.assistant.skills.mail.documents.MAX_DOCUMENTS", 0)
    [file] = files(attached("application/pdf", "a.pdf", b"%PDF-1.4\n%%EOF"))
    assert file.examined.startswith("not examined")


def test_attachments_too_many_are_named_as_not_examined():
    part = "--b\nContent-Type: application/octet-stream; name=a.bin\nContent-Disposition: attachment; filename=a.bin\n\nx\n"  # noqa: E501
    raw = mail(body=part * 103 + "--b--", kind="multipart/mixed; boundary=b")
    assert "mail 1: 3 of its attachments were not examined" in [one.text for one in events(raw) if isinstance(one, Gap)]


def test_an_image_with_a_code_is_named_as_unread():
    png = b"\x89PNG\r\n\x1a\n" + bytes(64)
    raw = attached("image/png", "code.png", png, "Scan the QR code with your phone to keep access to your account.")
    assert files(raw)[0].examined.startswith("not examined")
    assert any("not read" in one.text for one in events(raw) if isinstance(one, Gap))


def test_a_from_line_in_a_mails_text_does_not_divide_it():
    raw = mail(body=f"Hello\n\nFrom x@y.example Tue Mar 11 09:30:00 2025\nSubject: hello\n\n{BODY}")
    assert len(split_mails(raw)) == 1


RECORDS = {
    "none": ("spf=none; dkim=none; dmarc=none header.from=gasthof-lind-example.at", False),
    "no DMARC result": ("spf=fail smtp.mailfrom=x-example.com; dkim=fail", False),
    "permanent error": ("spf=pass smtp.mailfrom=x-example.com; dmarc=permerror header.from=x-example.com", False),
    "composite": ("spf=none; dkim=none; dmarc=none header.from=x-example.com;compauth=fail reason=001", False),
    "pass": (PASS, False),
    "fail": ("spf=pass smtp.mailfrom=x-example.com; dmarc=fail header.from=gasthof-lind-example.at", True),
}


@pytest.mark.parametrize(("record", "is_said"), RECORDS.values(), ids=RECORDS)
def test_dmarc_is_said_to_fail_only_if_the_record_says_so(record: str, is_said: bool):
    verdict = found(mail(top=f"Authentication-Results: mx.novak-keramik-example.org; {record}\n"))
    said = [row.reason for row in verdict.reasons if "DMARC fail" in row.reason]
    assert bool(said) == is_said
    forged = found(mail(f"Authentication-Results: mx.novak-keramik-example.org; {record}\n"))
    assert not [row.reason for row in forged.reasons if "DMARC" in row.reason]
