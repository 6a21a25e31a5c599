"""The answer about certificates and keys: what is weak, then the fields. Kinds: ``tools/certificate``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.markup import code_span, defang, escape, plural, table

_SHOWN = 10  # certificates whose fields are shown
_NAMES_SHOWN = 12


def verdict(findings: Sequence[Finding]) -> str:
    """The worst thing, and how many there are."""
    bad = [finding for finding in _bad(findings) if finding.severity is not Severity.INFO]
    count = len(_of(findings, "certificate"))
    held = plural(count, "certificate") if count else plural(len(findings), "entry", "entries")
    if not bad:
        return (
            f"**No weakness shows** in {held}."
            if count
            else f"**{held.capitalize()}**, no certificate that can be read."
        )
    worst = bad[0]
    which = f" (number {worst.attributes['number']})" if len({f.attributes["number"] for f in findings}) > 1 else ""
    more = f" {plural(len(bad) - 1, 'further weakness', 'further weaknesses')} in {held}." if bad[1:] else ""
    return f"**{worst.severity.value.capitalize()}:**{which} {escape(worst.title)}.{more}"


def section(findings: Sequence[Finding]) -> str:
    """Weaknesses and keys, then the fields of each certificate and request."""
    blocks = []
    rows = [
        [
            finding.severity.value,
            escape(finding.title),
            escape(str(finding.attributes.get("field") or finding.attributes.get("label"))),
            escape(str(finding.attributes.get("advice") or finding.why)),
            str(finding.attributes["number"]),
            str(finding.evidence[0].line or ""),
        ]
        for finding in _bad(findings)
    ]
    if rows:
        blocks.append(table(["Severity", "What", "Field", "What to do", "Number", "Line"], rows))
    for damage in _of(findings, "certificate_damage"):
        blocks.append(f"Not readable: {escape(str(damage.attributes['what']))} (line {damage.evidence[0].line or 1}).")
    blocks += [_certificate(finding) for finding in _of(findings, "certificate")[:_SHOWN]]
    blocks += [_request(finding) for finding in _of(findings, "certificate_request")[:_SHOWN]]
    rest = len(_of(findings, "certificate")) - _SHOWN
    if rest > 0:
        blocks.append(f"… and {plural(rest, 'further certificate')} (all are in the findings).")
    return "\n\n".join(blocks)


def _certificate(finding: Finding) -> str:
    given = finding.attributes
    names = [code_span(defang(str(name)), limit=80) for name in _list(finding, "names")]
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    issuer = code_span(defang(str(given["issuer"])))
    if given["is_self_signed"]:
        issuer = "itself"
    elif given["issued_by"] is not None:
        issuer += f" (number {given['issued_by']} here; its signature fits)"
    rows = [
        ["Subject", code_span(defang(str(given["subject"])))],
        ["Issuer", issuer],
        ["Valid", f"{given['not_before']} to {given['not_after']} ({given['days']:,} days)"],
        ["Key", code_span(str(given["key"]))],
        ["Signed with", code_span(str(given["signature"]))],
        ["Serial", code_span(str(given["serial"]))],
        ["Names", ", ".join(names[:_NAMES_SHOWN]) + more if names else "none"],
        ["Usage", escape(", ".join(str(usage) for usage in _list(finding, "usages"))) or "not limited"],
        ["Authority", "yes" if given["is_ca"] else "no"],
        ["SHA-256", code_span(str(given["sha256"]))],
    ]
    limits = [escape(str(limit)) for limit in _list(finding, "constraints")]
    if limits:
        rows.append(["Limited to", ", ".join(limits)])
    return f"**Certificate {given['number']}**\n\n" + table(["Field", "Value"], rows)


def _request(finding: Finding) -> str:
    given = finding.attributes
    rows = [
        ["Subject", code_span(defang(str(given["subject"])))],
        ["Key", code_span(str(given["key"]))],
        ["Signed with", code_span(str(given["signature"]))],
        [
            "Names",
            ", ".join(code_span(defang(str(name)), limit=80) for name in _list(finding, "names")[:_NAMES_SHOWN])
            or "none",
        ],
        ["Signature fits", "yes" if given["is_valid"] else "no"],
    ]
    return f"**Request {given['number']}**\n\n" + table(["Field", "Value"], rows)


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do about keys and weak certificates."""
    steps = []
    if any(not finding.attributes["is_encrypted"] for finding in _of(findings, "private_key")):
        steps.append("Treat the private key as known to others: make a new one, and have its certificates revoked.")
    names = {str(finding.attributes["name"]) for finding in _of(findings, "certificate_weakness")}
    if names & {"short_key", "broken_hash", "small_exponent", "expired"}:
        steps.append("Have the certificate issued again with a new key, and find every place that uses it.")
    if "known_name" in names or "self_signed" in names:
        steps.append("Look for the SHA-256 in captures and scans: which hosts show this certificate.")
    return steps


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _bad(findings: Sequence[Finding]) -> list[Finding]:
    ranks = list(Severity)
    found = [finding for finding in findings if finding.kind in ("certificate_weakness", "private_key")]
    return sorted(found, key=lambda finding: ranks.index(finding.severity))


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes[name]
    return value if isinstance(value, list) else []


SECTION = Section(
    skill=Skill(
        name="certificate",
        tool="svc.assistant.skills.certificate.tool:inspect",
        input=InputKind.BINARY,
        title="Certificate",
        can="read X.509 certificates, requests and keys (PEM, DER) and say what is weak about them",
        loose_kinds=(
            "certificate", "certificate_request", "private_key", "certificate_weakness", "certificate_damage",
        ),
        strong=words(
            r"\bcert(?:ificate)?s?\b", r"\bx\.?509\b", r"\bCSRs?\b", r"\b(?:private|PEM) keys?\b",
            r"\.(?:pem|crt|cer|der)\b",
        ),
        content=words(r"-----BEGIN [A-Z0-9 ]*(?:CERTIFICATE|PRIVATE KEY|REQUEST)"),
        looks=words(r"\A\s*-----BEGIN [A-Z0-9 ]*(?:CERTIFICATE|PRIVATE KEY|REQUEST)"),
        labels=frozenset({"pem", "der", "txt", "unknown"}) | PACKED_LABELS,
        claims=frozenset({"pem", "der"}),
        takes=frozenset({"now"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)  # fmt: skip
