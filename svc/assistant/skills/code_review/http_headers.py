"""Review the headers of an HTTP response: missing and weak headers, cookies, cross-origin access.

Sources: RFC 6265bis (cookies), the Fetch standard (CORS), Content Security Policy 3, RFC 6797 (HSTS). The table of
headers is part of ``weaknesses.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Evidence, Finding, Severity
from svc.assistant.skills.code_review.findings import CodeWeakness

MAX_LINES = 2_000
EXCERPT_CHARS = 240
_HEADER = re.compile(r"\s*([A-Za-z][\w-]{0,80})\s*:\s?(.*)")
_SESSION = re.compile(r"sess|sid|auth|token|jwt|login|remember|csrf|xsrf", re.IGNORECASE)


class HeaderRule(msgspec.Struct, frozen=True):
    """What a finding about a header says."""

    rule: str
    cwe: int
    severity: Severity
    title: str
    why: str
    fix: str


class WeakHeader(HeaderRule, frozen=True):
    """A header that is weak if ``pattern`` is in its value."""

    name: str
    pattern: str


class HeaderTable(msgspec.Struct, frozen=True):
    """Headers that should be set, by name in lower case, and values that should not."""

    required: dict[str, HeaderRule]
    bad: list[WeakHeader]


_COOKIE_SECURE = HeaderRule(
    rule="cookie-secure", cwe=614, severity=Severity.MEDIUM, title="Cookie without Secure",
    why="it is also sent over unencrypted connections", fix="Add Secure.",
)  # fmt: skip
_COOKIE_HTTPONLY = HeaderRule(
    rule="cookie-httponly", cwe=1004, severity=Severity.MEDIUM, title="Cookie without HttpOnly",
    why="an injected script can read it", fix="Add HttpOnly unless a script needs the cookie.",
)  # fmt: skip
_COOKIE_SAMESITE = HeaderRule(
    rule="cookie-samesite", cwe=1275, severity=Severity.LOW, title="Cookie with SameSite missing or None",
    why="requests from other sites include it (browsers default to Lax)", fix="Add SameSite=Lax or Strict.",
)  # fmt: skip
_CORS_CREDENTIALS = HeaderRule(
    rule="cors-credentials", cwe=942, severity=Severity.HIGH, title="CORS allows any origin with credentials",
    why="any site can read the user's data; browsers reject * here, but the server may echo the origin",
    fix="List the allowed origins; allow credentials for those only.",
)  # fmt: skip
_CORS_ANY = HeaderRule(
    rule="cors-any", cwe=942, severity=Severity.LOW, title="CORS allows any origin",
    why="any site can read the response; this is correct for public data only", fix="List the allowed origins.",
)  # fmt: skip
OWN_HEADER_RULES = 5
"""The rules above, which are not in the table."""


def header_findings(text: str, table: HeaderTable, source: str, first_line: int) -> Iterator[Finding[CodeWeakness]]:
    """Yield the weaknesses of one response: those in its headers, then the missing headers."""
    headers: dict[str, list[tuple[int, str]]] = {}
    status = 0
    for number, line in enumerate(text.split("\n")[:MAX_LINES], start=first_line):
        match = _HEADER.match(line)
        if match:
            headers.setdefault(match[1].lower(), []).append((number, match[2].strip()))
        elif line.upper().startswith("HTTP/"):
            status = number
    for bad in table.bad:
        for number, value in headers.get(bad.name, []):
            if re.search(bad.pattern, value, re.IGNORECASE):
                yield _finding(bad, source, number, f"{bad.name}: {value}")
    for number, value in headers.get("set-cookie", []):
        yield from _cookie(value, source, number)
    yield from _cross_origin(headers, source)
    for name, rule in table.required.items():
        if name not in headers and not _is_covered_otherwise(name, headers):
            yield _finding(rule, source, status or first_line, f"{name}: (missing)")


def _is_covered_otherwise(name: str, headers: dict[str, list[tuple[int, str]]]) -> bool:
    policies = " ".join(value for _, value in headers.get("content-security-policy", []))
    return name == "x-frame-options" and "frame-ancestors" in policies


def _cookie(value: str, source: str, line: int) -> Iterator[Finding[CodeWeakness]]:
    pair, *attributes = (part.strip() for part in value.split(";"))
    name = pair.partition("=")[0]
    given = {part.partition("=")[0].lower(): part.partition("=")[2].lower() for part in attributes}
    shown = "; ".join([f"{name}=…", *attributes])
    excerpt = f"Set-Cookie: {shown}"
    if "secure" not in given:
        yield _finding(_COOKIE_SECURE, source, line, excerpt)
    if "httponly" not in given:
        is_session = _SESSION.search(name) is not None
        rule = _COOKIE_HTTPONLY if is_session else msgspec.structs.replace(_COOKIE_HTTPONLY, severity=Severity.LOW)
        yield _finding(rule, source, line, excerpt)
    if given.get("samesite", "none") == "none":
        yield _finding(_COOKIE_SAMESITE, source, line, excerpt)


def _cross_origin(headers: dict[str, list[tuple[int, str]]], source: str) -> Iterator[Finding[CodeWeakness]]:
    allows = headers.get("access-control-allow-origin", [])
    has_credentials = any(value.lower() == "true" for _, value in headers.get("access-control-allow-credentials", []))
    for number, value in allows:
        if value in ("*", "null"):
            rule = _CORS_CREDENTIALS if has_credentials else _CORS_ANY
            yield _finding(rule, source, number, f"Access-Control-Allow-Origin: {value}")


def _finding(rule: HeaderRule, source: str, line: int, excerpt: str) -> Finding[CodeWeakness]:
    return Finding(
        title=rule.title,
        severity=rule.severity,
        why=rule.why,
        evidence=(Evidence(source=source, excerpt=excerpt[:EXCERPT_CHARS], line=line),),
        facts=CodeWeakness(rule=rule.rule, cwe=f"CWE-{rule.cwe}", language="headers", fix=rule.fix, from_input=False),
    )
