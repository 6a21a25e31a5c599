"""The headers of an HTTP answer: what is missing, what is weak, cookies and cross-origin rules. Pure.

Sources: RFC 6265bis (cookies), the Fetch standard (CORS), Content Security Policy 3, RFC 6797 (HSTS). The table of
headers is part of ``skills/code_review/weaknesses.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Evidence, Severity
from svc.assistant.findings import LooseFinding as Finding

MAX_LINES = 2_000
EXCERPT_CHARS = 240
_HEADER = re.compile(r"\s*([A-Za-z][\w-]{0,80})\s*:\s?(.*)")
_SESSION = re.compile(r"sess|sid|auth|token|jwt|login|remember|csrf|xsrf", re.IGNORECASE)


class HeaderRule(msgspec.Struct, frozen=True):
    """What to say of a header."""

    rule: str
    cwe: int
    severity: Severity
    title: str
    why: str
    fix: str


class BadHeader(HeaderRule, frozen=True):
    """A header whose value is weak where ``pattern`` is found in it."""

    name: str
    pattern: str


class Headers(msgspec.Struct, frozen=True):
    """Headers that should be there, by name in lower case, and values that should not."""

    required: dict[str, HeaderRule]
    bad: list[BadHeader]


_COOKIE_SECURE = HeaderRule(
    rule="cookie-secure", cwe=614, severity=Severity.MEDIUM, title="a cookie without Secure",
    why="it also travels over unencrypted connections", fix="Add Secure.",
)  # fmt: skip
_COOKIE_HTTPONLY = HeaderRule(
    rule="cookie-httponly", cwe=1004, severity=Severity.MEDIUM, title="a cookie without HttpOnly",
    why="script that gets into the page reads it", fix="Add HttpOnly where no script needs it.",
)  # fmt: skip
_COOKIE_SAMESITE = HeaderRule(
    rule="cookie-samesite", cwe=1275, severity=Severity.LOW, title="a cookie without SameSite, or with None",
    why="other sites' requests carry it (browsers take Lax where it is missing)", fix="Add SameSite=Lax or Strict.",
)  # fmt: skip
_CORS_CREDENTIALS = HeaderRule(
    rule="cors-credentials", cwe=942, severity=Severity.HIGH, title="pages of any site may ask with the user's cookies",
    why="a page elsewhere reads what the user may; browsers refuse * here, but a server may echo the origin",
    fix="Name the origins that may; allow credentials for those alone.",
)  # fmt: skip
_CORS_ANY = HeaderRule(
    rule="cors-any", cwe=942, severity=Severity.LOW, title="pages of any site may read the answer",
    why="that is right for public data alone", fix="Name the origins that may.",
)  # fmt: skip


def header_findings(text: str, table: Headers, source: str, first_line: int) -> Iterator[Finding]:
    """The weaknesses of one answer's headers: those that stand there by line, then what is missing."""
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
        if name not in headers and not _is_given_otherwise(name, headers):
            yield _finding(rule, source, status or first_line, f"{name}: (missing)")


def _is_given_otherwise(name: str, headers: dict[str, list[tuple[int, str]]]) -> bool:
    policies = " ".join(value for _, value in headers.get("content-security-policy", []))
    return name == "x-frame-options" and "frame-ancestors" in policies


def _cookie(value: str, source: str, line: int) -> Iterator[Finding]:
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


def _cross_origin(headers: dict[str, list[tuple[int, str]]], source: str) -> Iterator[Finding]:
    allows = headers.get("access-control-allow-origin", [])
    has_credentials = any(value.lower() == "true" for _, value in headers.get("access-control-allow-credentials", []))
    for number, value in allows:
        if value in ("*", "null"):
            rule = _CORS_CREDENTIALS if has_credentials else _CORS_ANY
            yield _finding(rule, source, number, f"Access-Control-Allow-Origin: {value}")


def _finding(rule: HeaderRule, source: str, line: int, excerpt: str) -> Finding:
    return Finding(
        kind="code_weakness",
        title=rule.title,
        severity=rule.severity,
        why=rule.why,
        evidence=(Evidence(source=source, excerpt=excerpt[:EXCERPT_CHARS], line=line),),
        attributes={
            "rule": rule.rule,
            "cwe": f"CWE-{rule.cwe}",
            "language": "headers",
            "fix": rule.fix,
            "from_input": False,
        },
    )
