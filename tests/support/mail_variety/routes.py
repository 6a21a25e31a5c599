"""The header that providers and senders give a mail: hops, recorded checks, filters' verdicts, list fields."""

from __future__ import annotations

import base64
from random import Random

import msgspec

_DATE = "Tue, 11 Mar 2025 09:30:00 +0000"
_OLD_DATE = "Fri, 23 Aug 2002 11:06:04 +0100"
_ESP_DOMAINS = {
    "mailchimp": "mail42.atl61.mcsv.net", "sendgrid": "sendgrid.net", "klaviyo": "klaviyomail.com", "hubspot": "hubspotemail.net",  # noqa: E501
    "ses": "eu-west-1.amazonses.com", "salesforce": "bounce.exacttarget.com", "substack": "mg-d0.substack.com",
    "mailgun": "mailgun.net", "customerio": "customeriomail.com", "clicks": "bounce.track-centre-example.net",
    "lists": "lists.listserv-example.com", "groups": "returns.groups.yahoo.com",
}  # fmt: skip


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Who took the mail in (``_received``), what it recorded, and who sent for the sender."""

    provider: str
    checks: str
    reader: str
    esp: str = "none"
    is_marked: bool = False


def delivered(sender: str, subject: str, route: Route, extra: dict[str, str], content: bytes, random: Random) -> bytes:
    """The whole mail."""
    domain = sender.rpartition("@")[2].strip("> ")
    bounce = f"bounce-{random.randrange(10**6)}@{_ESP_DOMAINS.get(route.esp, domain)}"
    fields = [*_received(domain, bounce, route, random)]
    if route.is_marked:
        fields += _verdicts(route.provider)
    fields += _esp_fields(domain, route, random)
    fields += [("From", _encoded(sender)), ("To", route.reader), ("Subject", _encoded(subject))]
    fields += [("Date", _OLD_DATE if route.provider == "old" else _DATE)]
    fields += [("Message-ID", f"<{random.randrange(10**12)}@{bounce.partition('@')[2]}>"), ("MIME-Version", "1.0")]
    fields += list(extra.items())
    return "".join(f"{name}: {value}\n" for name, value in fields).encode() + content + b"\n"


def _encoded(text: str) -> str:
    name, bracket, rest = text.rpartition(" <")
    if bracket and not name.isascii():
        return f"{_encoded(name)} <{rest}"
    return text if text.isascii() else f"=?utf-8?B?{base64.b64encode(text.encode()).decode()}?="


def _results(domain: str, bounce: str, route: Route) -> str:
    envelope = bounce.partition("@")[2]
    match route.checks:
        case "pass" if route.esp == "ses":
            return f"spf=pass smtp.mailfrom={bounce}; dkim=pass header.d=amazonses.com; dmarc=none header.from={domain}"
        case "pass":
            return f"spf=pass smtp.mailfrom={bounce}; dkim=pass header.d={domain}; dmarc=pass (p=NONE) header.from={domain}"  # noqa: E501
        case "esp":  # the platform's own domain passes, the one in From has no record
            esp = random_esp(domain)
            return f"spf=pass smtp.mailfrom=bounces@{esp}; dkim=pass header.d={esp}; dmarc=none header.from={domain}"
        case "fail":
            return f"spf=softfail smtp.mailfrom={envelope}; dkim=none; dmarc=fail (p=NONE) header.from={domain}"
        case _:
            return f"spf=none smtp.mailfrom={envelope}; dkim=none; dmarc=none header.from={domain}"


def random_esp(domain: str) -> str:
    """A platform that sends for anybody, always the same one for a domain."""
    return ("sendgrid.net", "amazonses.com", "mailgun.org", "brevosend.com")[len(domain) % 4]


def _received(domain: str, bounce: str, route: Route, random: Random) -> list[tuple[str, str]]:
    """The top of the header, in the order in which each provider writes it."""
    out, results = f"out.{domain}", _results(domain, bounce, route)
    match route.provider:
        case "bare":  # as in collections that leave out what servers wrote
            return []
        case "exchange":
            return [
                ("Received", f"from A1.prod.outlook.com (2603:10b6:8:60::12) by B2.prod.outlook.com with HTTPS; {_DATE}"),  # noqa: E501
                ("Received", f"from C3.eop-nam12.prod.protection.outlook.com (2603:10b6:1::7) by D4.outlook.office365.com (2603:10b6:3::6) with Microsoft SMTP Server; {_DATE}"),  # noqa: E501
                ("Authentication-Results", results.replace("; dmarc", ";dmarc") + ";"),
                ("Received", f"from {out} (203.0.113.8) by C3.mail.protection.outlook.com (10.13.1.8) with Microsoft SMTP Server; {_DATE}"),  # noqa: E501
                ("Return-Path", bounce),
            ]  # fmt: skip
        case "gmail":
            return [
                ("Delivered-To", route.reader), ("Received", f"by 2002:a17:906:4705:b0:abc:2b0f with SMTP id y5; {_DATE}"),  # noqa: E501
                ("Return-Path", f"<{bounce}>"),
                ("Received", f"from {out} ({out}. [203.0.113.8]) by mx.google.com with ESMTPS id d9; {_DATE}"),
                ("Authentication-Results", f"mx.google.com; {results}"),
            ]  # fmt: skip
        case "proton":
            return [
                ("Return-Path", f"<{bounce}>"), ("X-Original-To", route.reader),
                *(("Authentication-Results", f"mailin014.protonmail.ch; {one}") for one in results.split("; ")),
                ("Received", f"from {out} ({out} [203.0.113.8]) by mailin014.protonmail.ch (Postfix) with ESMTPS id 4; {_DATE}"),  # noqa: E501
            ]  # fmt: skip
        case "postfix":
            return [
                ("Return-Path", f"<{bounce}>"), ("Authentication-Results", f"mx.example.org; {results}"),
                ("Received", f"from {out} ({out} [203.0.113.8]) by mx.example.org (Postfix) with ESMTPS id 4; {_DATE}"),
            ]  # fmt: skip
    hops = [
        ("Return-Path", f"<{bounce}>"),
        ("Received", f"from localhost (localhost [127.0.0.1]) by phobos.example.org (Postfix) with ESMTP id 4; {_OLD_DATE}"),  # noqa: E501
        ("Received", f"from {out} ({out} [203.0.113.8]) by dogma.example.org (8.11.6/8.11.6) with ESMTP id g7; {_OLD_DATE}"),  # noqa: E501
    ]  # fmt: skip
    return hops if random.random() < 0.9 else hops[:1]


def _verdicts(provider: str) -> list[tuple[str, str]]:
    if provider == "exchange":
        return [
            ("X-MS-Exchange-Organization-SCL", "5"),
            ("X-Microsoft-Antispam-Mailbox-Delivery", "ucf:0;dest:J;OFR:SpamFilterAuthJ"),
        ]
    return [("X-Spam-Status", "Yes, score=7.1 required=5.0")] if provider != "gmail" else []


def _esp_fields(domain: str, route: Route, random: Random) -> list[tuple[str, str]]:
    if route.esp == "none":
        return []
    esp, token = _ESP_DOMAINS[route.esp], f"{random.randrange(16**10):x}"
    if route.provider == "old":
        fields = [("Precedence", "bulk"), ("Errors-To", f"<bounce@{esp}>"), ("X-Mailer", "ListManager 4.1")]
        return random.sample(fields, random.randrange(3))
    signer = "amazonses.com" if route.esp == "ses" else domain
    fields = [
        ("DKIM-Signature", f"v=1; a=rsa-sha256; d={signer}; s=k1; h=From:To:Subject; b={token}"),
        ("List-Unsubscribe", f"<https://{esp}/u/{token}>, <mailto:u-{token}@{esp}>"), ("Feedback-ID", f"{token}:{route.esp}"),  # noqa: E501
    ]  # fmt: skip
    return fields if random.random() < 0.8 else fields[:1]
