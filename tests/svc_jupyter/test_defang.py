"""Which words are indicators, and how they are written."""

from __future__ import annotations

import pytest

from svc_jupyter.defang import defang


@pytest.mark.parametrize(
    ("word", "written"),
    [
        pytest.param("http://evil.com/x.php?a=1", "hxxp://evil[.]com/x.php?a=1", id="http"),
        pytest.param("HTTPS://Evil.COM:8443/", "hxxps://Evil[.]COM:8443/", id="https in capitals"),
        pytest.param("ftp://evil.com", "fxp://evil[.]com", id="ftp"),
        pytest.param("smb://evil.com/share", "smb[:]//evil[.]com/share", id="other scheme"),
        pytest.param("http://user:pw@evil.com", "hxxp://user:pw[@]evil[.]com", id="credentials"),
        pytest.param("<!--http://x", "<!--hxxp://x", id="behind other characters"),
        pytest.param("http:\\\\evil.com", "hxxp:\\\\evil[.]com", id="backslashes"),
        pytest.param("www.evil.zip", "www[.]evil[.]zip", id="www"),
        pytest.param("evil.com", "evil[.]com", id="domain"),
        pytest.param("a.b.evil.co.uk:443", "a[.]b[.]evil[.]co[.]uk:443", id="subdomain and port"),
        pytest.param("xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd[.]xn--p1ai", id="punycode"),
        pytest.param("203.0.113.9:22", "203[.]0[.]113[.]9:22", id="address and port"),
        pytest.param("10.0.0.0/8", "10[.]0[.]0[.]0/8", id="network"),
        pytest.param("a.b@evil.com", "a.b[@]evil[.]com", id="mail"),
        pytest.param("mailto:a@evil.com", "mailto:a[@]evil[.]com", id="mailto"),
        pytest.param("2001:db8::1", "2001:db8::1", id="IPv6 is code as it is"),
        pytest.param("javascript:alert(1)", "javascript:alert(1)", id="what runs is code as it is"),
        pytest.param("setup.py", "setup.py", id="file name like a domain is code as it is"),
        pytest.param("evil[.]com", "evil[.]com", id="defanged is code as it is"),
    ],
)
def test_an_indicator_is_written_harmless(word: str, written: str):
    assert defang(word) == written
    assert defang(written) == written


@pytest.mark.parametrize("word", ["auth.log", "e.g", "3.1", "999.1.1.1", "1.2.3.4.5", "12:30:45", "svc.messages", "a"])
def test_other_words_are_none(word: str):
    assert defang(word) is None
