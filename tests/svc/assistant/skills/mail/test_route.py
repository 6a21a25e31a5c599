"""Authentication results: each form of the field, and fields of the sender that must not count."""

from __future__ import annotations

import time

import pytest

from svc.assistant.skills.mail.message import Mail
from svc.assistant.skills.mail.route import read_auth

RECORDED = {
    "by the standard": (
        "example.com 1; spf=pass smtp.mailfrom=example.net; dkim=fail (bad) header.d=b.example",
        [("spf", "pass", "example.net"), ("dkim", "fail", "b.example")],
        "example.com",
    ),
    "none": ("example.org 1; none", [], ""),
    "Gmail": (
        (
            "mx.google.com; dkim=pass header.i=@a.example; spf=pass (of x@b.a.example) smtp.mailfrom=x@b.a.example; "
            "dmarc=pass (p=REJECT) header.from=a.example"
        ),
        [("dkim", "pass", "a.example"), ("spf", "pass", "b.a.example"), ("dmarc", "pass", "a.example")],
        "mx.google.com",
    ),
    "Microsoft, which does not name its server": (
        (
            "spf=pass (sender IP is 192.0.2.7) smtp.mailfrom=a.example; dkim=pass (signature was verified) "
            "header.d=a.example;dmarc=pass action=none header.from=a.example;compauth=pass reason=100"
        ),
        [
            ("spf", "pass", "a.example"),
            ("dkim", "pass", "a.example"),
            ("dmarc", "pass", "a.example"),
            ("compauth", "pass", ""),
        ],
        "",
    ),
    "Yahoo, without a space": (
        "atlas.yahoo.com; dmarc=pass(p=REJECT) header.from=a.example;",
        [("dmarc", "pass", "a.example")],
        "atlas.yahoo.com",
    ),
    "comments everywhere": (
        "foo.example (foobar) 1 (baz); dkim (Because I like it) / 1 (One yay) = (wait for it) fail",
        [("dkim", "fail", "")],
        "foo.example",
    ),
    "results in a comment": (
        (
            "mx.example; dkim=fail (dkim=pass header.d=bank.example) header.d=evil.example; spf=fail (a; spf=pass) "
            "smtp.mailfrom=evil.example"
        ),
        [("dkim", "fail", "evil.example"), ("spf", "fail", "evil.example")],
        "mx.example",
    ),
    "results in a nested comment": (
        "mx.example (a (b; spf=pass) c); spf=fail smtp.mailfrom=evil.example",
        [("spf", "fail", "evil.example")],
        "mx.example",
    ),
    "results in a quoted reason": (
        'mx.example; dkim=fail reason="x\\"; dkim=pass header.d=bank.example" header.d=evil.example',
        [("dkim", "fail", "evil.example")],
        "mx.example",
    ),
    "a comment that is never closed": (
        "mx.example; spf=fail (for a(b@evil.example) smtp.mailfrom=evil.example; dmarc=fail header.from=bank.example",
        [("spf", "fail", "evil.example"), ("dmarc", "fail", "bank.example")],
        "mx.example",
    ),
    "a quotation that is never closed": (
        'mx.example; spf=fail smtp.mailfrom="evil.example; dmarc=fail header.from=bank.example',
        [("spf", "fail", "evil.example"), ("dmarc", "fail", "bank.example")],
        "mx.example",
    ),
    "a quoted address": (
        'mx.example; spf=pass smtp.mailfrom="a b"@c.example',
        [("spf", "pass", "c.example")],
        "mx.example",
    ),
    "a domain before its parts": (
        "mx.example; dkim=pass header.i=@mail.a.example header.d=a.example",
        [("dkim", "pass", "a.example")],
        "mx.example",
    ),
}


@pytest.mark.parametrize(("value", "results", "server"), RECORDED.values(), ids=RECORDED)
def test_results_are_read(value: str, results: list[tuple[str, str, str]], server: str):
    found = read_auth(Mail(fields=[("Authentication-Results", value)]))
    assert [(one.method, one.result, one.domain) for one in found] == results
    assert {one.server for one in found} <= {server}


def test_an_arc_field_names_its_server_after_its_instance():
    [found] = read_auth(Mail(fields=[("ARC-Authentication-Results", "i=1; mx.example; arc=none")]))
    assert (found.method, found.result, found.server) == ("arc", "none", "mx.example")


@pytest.mark.parametrize("piece", ["(", "(()", '"', '\\"', ";", "spf=pass;", "a=", "x ", 'a="'], ids=repr)
def test_a_field_crafted_to_be_slow_is_read_quickly(piece: str):
    begun = time.perf_counter()
    read_auth(Mail(fields=[("Authentication-Results", "a; spf=pass " + piece * 50_000)]))
    assert time.perf_counter() - begun < 2
