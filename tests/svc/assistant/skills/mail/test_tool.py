"""Mail: verdicts on traps and on ordinary mail, the way, the records of checks, links, attachments, broken input."""

from __future__ import annotations

import io
import time
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Coverage, FactsT, Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.mail.brands import imitated_brand
from svc.assistant.skills.mail.findings import MailAttachment, MailAuth, MailHop, MailSender, MailUrl, MailVerdict
from svc.assistant.skills.mail.html import read_page
from svc.assistant.skills.mail.links import organisation
from svc.assistant.skills.mail.tool import inspect
from svc.assistant.skills.mail.wording import disguised_words
from tests.support.mail_corpus import corpus
from tests.support.mails import CONTENTS, ORDINARY, READER, TRAPS, made

BAD = ("phishing", "fraud", "suspicious")


def run(raw: bytes) -> list[ToolEvent]:
    return list(inspect(io.BytesIO(raw), source="a.eml"))


def found(raw: bytes, facts: type[FactsT]) -> list[Finding[FactsT]]:
    return with_facts((item for item in run(raw) if isinstance(item, Finding)), facts)


def verdict(raw: bytes) -> Finding[MailVerdict]:
    [finding] = found(raw, MailVerdict)
    return finding


@pytest.mark.parametrize("raw", TRAPS.values(), ids=TRAPS)
def test_phishing_mail_is_detected(raw: bytes):
    assert verdict(raw).facts.verdict in BAD, verdict(raw).facts.reasons


@pytest.mark.parametrize("raw", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_mail_is_not_suspicious(raw: bytes):
    found = verdict(raw).facts
    wanted = "needs_check" if any("DMARC fail" in row.reason for row in found.reasons) else "ordinary"
    assert found.verdict == wanted, found.reasons


def called_suspicious(kind: str) -> list[bool]:
    return [verdict(raw).facts.verdict in BAD for _, raw in corpus(kind)]


def test_nine_of_ten_phishing_mails_of_every_age_and_form_are_suspicious():
    called = called_suspicious("traps")
    assert len(called) > 240
    assert sum(called) / len(called) >= 0.9


def test_at_most_one_of_twenty_ordinary_mails_is_suspicious():
    called = called_suspicious("ordinary")
    assert len(called) > 220
    assert sum(called) / len(called) <= 0.05


def test_a_personal_name_that_is_also_a_brand_is_not_impersonation():
    sent = made(sender="Fiona Apple <fiona@concerts.example.net>", subject="Saturday", text="See you there.")
    assert verdict(sent).facts.verdict == "ordinary"
    [note] = [note for note in found(sent, MailSender) if note.facts.name == "name_brand"]
    assert note.facts.points == 1.0


def test_business_wording_between_colleagues_is_not_fraud():
    text = (
        "The transfer of the funds closes on Friday. The sum of $35 million goes to the account. Strictly confidential."
    )
    colleague = made(sender="Kay <kay@firm.example>", to="Lee <lee@firm.example>", subject="Closing", text=text)
    assert verdict(colleague).facts.verdict == "ordinary"


def test_japanese_phishing_wording_is_recognised():
    html = "<p>お客様のアカウントは一時停止されています。</p><a href='https://vinyl-hut-77.cn/x/'>ログインはこちら</a>"
    mail = made(sender="Amazon.co.jp <info@vinyl-hut-77.cn>", subject="お支払い方法の確認", html=html)
    assert verdict(mail).facts.verdict == "phishing"


def test_a_pasted_mail_is_read_under_the_question():
    raw = b"Is this phishing?\n\n" + TRAPS["bank, plain text, foreign domain"]
    assert verdict(raw).facts.verdict == "phishing"
    assert verdict(raw).facts.sender == "alerts@wellsfargo.com"


def test_a_text_without_fields_is_judged_by_its_words_and_links():
    raw = (
        b"Dear customer, your account has been suspended. Verify your account within 24 hours: http://203.0.113.9/login"
    )
    assert verdict(raw).facts.verdict in BAD


def test_a_question_alone_is_not_a_mail():
    assert [type(item) for item in run(b"is this phishing?")][1:] == [Gap, Coverage]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"name: web\nimage: nginx\nreplicas: 3\n", id="settings"),
        pytest.param(b"HTTP/1.1 200 OK\r\nDate: Mon, 1 Jan 2026 10:00:00 GMT\r\n\r\n", id="a response"),
        pytest.param(
            b"Nov 20 03:12:00 h sshd[1]: Failed password for root from 192.0.2.7 port 22 ssh2\n" * 9, id="a log"
        ),
    ],
)
def test_a_text_with_other_fields_is_not_judged_as_a_mail(text: bytes):
    *_, coverage = run(text)
    assert not [item for item in run(text) if isinstance(item, Finding)]
    assert (coverage.understood, coverage.total, coverage.unit) == (0, 1, "mail")


@pytest.mark.parametrize(
    "fields",
    [
        b"Received: from a.example ([192.0.2.1]) by b.example; Tue, 11 Mar 2025 12:00:00 +0000\r\n",
        b"Authentication-Results: mx.example; spf=fail smtp.mailfrom=a.example\r\n",
        b"Subject: hello\r\nTo: a@b.example\r\n",
    ],
)
def test_pasted_header_fields_alone_are_a_mail(fields: bytes):
    *_, coverage = run(fields + b"\r\n")
    assert (coverage.understood, coverage.total) == (1, 1)


def test_each_mail_of_an_mbox_is_judged_with_the_lines_of_the_file():
    one, two = TRAPS["inheritance"], ORDINARY["personal mail"]
    head = b"From x@y.example Tue Mar 11 09:30:00 2025\n"
    verdicts = found(head + one + b"\n\n" + head + two, MailVerdict)
    assert [mail.facts.mail for mail in verdicts] == [1, 2]
    assert [mail.facts.verdict for mail in verdicts] == ["fraud", "ordinary"]
    lines = (head + one + b"\n\n" + head + two).split(b"\n")
    assert lines[verdicts[1].evidence[0].line - 1].startswith(b"Subject: Saturday?")


HOPS = b"""Received: from b.example (b.example [198.51.100.2]) by mx.example.org with ESMTPS;
 Tue, 11 Mar 2025 12:00:00 +0000
Received: from a.example ([203.0.113.4]) by b.example with SMTP; Tue, 11 Mar 2025 12:30:00 +0100
Received: from pc ([192.168.1.5]) by a.example; Tue, 11 Mar 2025 13:00:00 +0100
From: x@a.example
To: y@example.org
Subject: z
Date: Sun, 02 Mar 2025 10:00:00 +0000

text
"""


def test_hops_are_listed_oldest_first_with_delays_and_anomalies():
    hops = [hop.facts for hop in found(HOPS, MailHop)]
    assert [hop.ip for hop in hops] == ["192.168.1.5", "203.0.113.4", "198.51.100.2"]
    assert [hop.delay_seconds for hop in hops] == [None, -1800, 1800]
    assert hops[0].notes == ["sent from a private address"]
    assert hops[1].notes == ["earlier than the previous hop"]
    assert hops[2].protocol == "ESMTPS"
    assert any(note.facts.name == "date" for note in found(HOPS, MailSender))


def test_a_documentation_address_is_not_called_private():
    hop = found(HOPS.replace(b"192.168.1.5", b"203.0.113.45"), MailHop)[0]
    assert (hop.facts.ip, hop.facts.notes) == ("203.0.113.45", [])


CHECKS = b"""Authentication-Results: mx.example.org; spf=softfail (no) smtp.mailfrom=bounce@b.example;
 dkim=pass (2048-bit)
 header.d=a.example header.s=s1; dmarc=fail (p=none) header.from=a.example
Authentication-Results: forged.example; dkim=pass header.d=bank.example
ARC-Authentication-Results: i=1; relay.example; spf=pass smtp.mailfrom=a.example
Received-SPF: softfail (mx.example.org: domain of bounce@b.example does not designate) client-ip=198.51.100.2
From: x@a.example
Subject: z

text
"""


def test_authentication_results_are_reported_with_their_server():
    checks = [one.facts for one in found(CHECKS, MailAuth)]
    latest = {(one.method, one.result, one.domain, one.server) for one in checks if one.is_latest}
    assert latest == {
        ("spf", "softfail", "b.example", "mx.example.org"),
        ("dkim", "pass", "a.example", "mx.example.org"),
        ("dmarc", "fail", "a.example", "mx.example.org"),
    }
    assert ("dkim", "bank.example") in {(one.method, one.domain) for one in checks if not one.is_latest}
    assert "relay.example" in {one.server for one in checks}


def sign_names(html: str) -> set[str]:
    raw = made(sender="Jo <jo@firm.example>", subject="x", html=html)
    return {sign.name for url in found(raw, MailUrl) for sign in url.facts.signs}


@pytest.mark.parametrize(
    ("link", "sign"),
    [
        ('<a href="http://203.0.113.7/x">here</a>', "ip"),
        ('<a href="http://3405803783/x">here</a>', "ip"),
        ('<a href="http://bank.example@evil.example.net/">here</a>', "userinfo"),
        ('<a href="http://evil.example.net:8443/">here</a>', "port"),
        ('<a href="http://bit.ly/1aB">here</a>', "shortener"),
        ('<a href="http://x.example.zip/">here</a>', "tld"),
        ('<a href="http://xn--pypal-4ve.example/">here</a>', "punycode"),
        ('<a href="http://paypa1.com/">here</a>', "look_alike"),
        ('<a href="http://www.paypal.com.evil.example.net/">here</a>', "look_alike"),
        ('<a href="https://me.weebly.com/">here</a>', "free_hosting"),
        ('<a href="https://www.google.com/url?q=http://evil.example.net/">here</a>', "redirect"),
        ('<a href="http://evil.example.net/wp-includes/a/">here</a>', "compromised"),
        ('<a href="http://evil.example.net/paypal/login">here</a>', "brand_path"),
        ('<a href="http://evil.example.net/">https://www.bank-of-nowhere.com/login</a>', "mismatch"),
        (f'<a href="http://evil.example.net/#{READER}">here</a>', "recipient"),
        ('<a href="javascript:alert(1)">here</a>', "scheme"),
        ('<form action="http://203.0.113.7/p"><input type=password></form>', "ip"),
        ('<map><area href="http://203.0.113.7/p"></map>', "ip"),
    ],
)
def test_indicators_of_a_suspicious_link_are_named(link: str, sign: str):
    assert sign in sign_names(f"<p>hello</p>{link}")


@pytest.mark.parametrize(
    "link",
    [
        '<a href="https://www.firm.example/account/login">firm.example</a>',
        '<a href="https://click.firm.example/u?x=1">www.firm.example</a>',
        '<a href="https://en.wikipedia.org/wiki/Clay">en.wikipedia.org</a>',
        '<a href="http://www.nytimes.com/2025/03/11/x.html">read</a>',
    ],
)
def test_an_ordinary_link_has_no_indicators(link: str):
    assert sign_names(f"<p>hello</p>{link}") == set()


@pytest.mark.parametrize(
    ("host", "brand"),
    [
        ("paypa1.com", "PayPal"),
        ("rnicrosoft.com", "Microsoft"),
        ("secure-paypal.example.net", "PayPal"),
        ("netfl1x-billing.example", "Netflix"),
        ("facebok.com", "Facebook"),
        ("p\u0430ypal.com", "PayPal"),
        ("www.paypal.com", ""),
        ("amazon.co.uk", ""),
        ("example.org", ""),
        ("microscope.com", ""),
    ],
)
def test_lookalike_domains_are_recognised(host: str, brand: str):
    assert imitated_brand(host, organisation(host)) == brand


def zipped(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "danger"),
    [
        ("a.pdf.exe", CONTENTS["program"], "double_ending"),
        ("photo.jpg", CONTENTS["program"], "disguise"),
        ("a\u202efdp.exe", CONTENTS["program"], "disguise"),
        ("run.js", b"var a = 1;", "script"),
        ("bill.docm", zipped(("word/document.xml", b"<a/>"), ("word/vbaProject.bin", b"x")), "macros"),
        ("disk.iso", b"x" * 10, "disk_image"),
        ("login.html", CONTENTS["page"], "login_page"),
        ("bill.zip", zipped(("bill.pdf.js", b"var a = 1;")), "double_ending"),
        ("bill.rar", b"Rar!\x1a\x07\x01\x00" + bytes(20), "archive"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_indicators_of_a_suspicious_attachment_are_named(name: str, data: bytes, danger: str):
    CONTENTS["given"] = data
    mail = made(
        sender="Jo <jo@firm.example>", subject="x", text="hello", files=[(name, "application/octet-stream", "given")]
    )
    [attachment] = found(mail, MailAttachment)
    assert danger in {row.name for row in attachment.facts.dangers}
    assert attachment.facts.size == len(data)


def test_a_harmless_attachment_is_only_hashed():
    [attachment] = found(ORDINARY["work mail about money"], MailAttachment)
    assert attachment.facts.label == "pdf"
    assert attachment.facts.dangers == []
    assert len(attachment.facts.sha256) == 64


def test_hidden_text_is_not_part_of_the_wording():
    page = read_page(
        '<p>seen</p><div style="display:none">never</div><font color="#ffffff">white</font>'
        '<span style="font-size:0px">tiny</span><table bgcolor=black><tr><td style="color:#fff">also seen</table>'
    )
    assert page.text.split() == ["seen", "also", "seen"]
    assert page.hidden.split() == ["neverwhitetiny"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("p\u0430ypal and Y\u043eur", 2),
        ("pass\u200bword", 1),
        ("Привет, мир", 0),
        ("naïve café", 0),
        ("\u03b1-version \u03b2", 0),
    ],
)
def test_words_obfuscated_to_evade_filters_are_counted(text: str, count: int):
    assert len(disguised_words(text)) == count


BROKEN = {
    "nothing": b"",
    "white space": b" \r\n\r\n",
    "only a field": b"Subject: x",
    "fields cut": b"Received: from x\nFrom: a@b.exa",
    "boundary that never comes": b'From: a@b.example\nSubject: s\nContent-Type: multipart/mixed; boundary="x"\n\n--y\n\ntext',  # noqa: E501
    "boundary of nothing": b'From: a@b.example\nSubject: s\nContent-Type: multipart/mixed; boundary=""\n\n--\n\ntext',
    "unknown charset": b"From: a@b.example\nSubject: =?nonsense?B?/////w==?=\nContent-Type: text/plain; charset=nonsense\n\n\xff\xfe",  # noqa: E501
    "bad base64": b"From: a@b.example\nSubject: =?utf-8?B?a?=\nContent-Transfer-Encoding: base64\n\n!!!!a",
    "bad date": b"From: a@b.example\nSubject: s\nDate: Mon, 99 Foo 99999 99:99:99 +9999\nReceived: by x; Mon, 99 Foo\n\nx",  # noqa: E501
    "bytes beyond ASCII in the fields": b"From: \xe9\xff <a@b.example>\nSubject: \xfc\xfc\nTo: \x80\n\nx",
    "nulls": b"From: a\x00@b.example\nSubject: s\x00\n\n\x00\x00",
    "deep": b"From: a@b.example\nSubject: s\n"
    + b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(1500)),
    "many parts": b'From: a@b.example\nSubject: s\nContent-Type: multipart/mixed; boundary="b"\n\n' + b"--b\n\nx\n" * 2_000,  # noqa: E501
    "many fields": b"X-A: b\n" * 20_000 + b"Subject: s\n\nx",
    "one long line": b"From: a@b.example\nSubject: " + b"A" * 2_000_000 + b"\n\n" + b"B" * 2_000_000,
    "unclosed tags": b"From: a@b.example\nSubject: s\nContent-Type: text/html\n\n" + b"<a " * 100_000,
    "broken address": b"From: <<<>>>@@,,;:(((\nTo: (((((((\nSubject: s\n\nx",
    "rfc822 in rfc822": b"From: a@b.example\nContent-Type: message/rfc822\n\n" * 300 + b"x",
    "invalid hosts": b"From: a@b.example\nSubject: s\n\nhttp://[::1 http://[x]/ http://a:99999/ http://\xff/ http://%/ http://.../",
}  # fmt: skip


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_malformed_mail_is_read_as_far_as_possible_and_quickly(raw: bytes):
    start = time.process_time()
    items = run(raw)
    assert time.process_time() - start < 5
    assert any(isinstance(item, Finding | Gap) for item in items)


@given(st.binary(max_size=2_000))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_read(raw: bytes):
    run(raw)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_mail_with_bytes_changed_is_read(data: st.DataObject):
    raw = bytearray(data.draw(st.sampled_from([*TRAPS.values(), *ORDINARY.values()])))
    for position in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=30)):
        raw[position] = data.draw(st.integers(0, 255))
    run(bytes(raw))


@pytest.mark.long
@given(st.binary(max_size=20_000))
@settings(max_examples=3_000, deadline=None)
def test_any_bytes_are_read_at_length(raw: bytes):
    run(b"From: a@b.example\nSubject: s\nContent-Type: text/html\n\n" + raw)
