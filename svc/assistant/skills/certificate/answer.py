"""The answer about certificates and keys: the worst weakness, all weaknesses, then the fields of each certificate."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, worst_findings
from svc.assistant.skills.certificate.findings import (
    Certificate,
    CertificateDamage,
    CertificateRequest,
    CertificateWeakness,
    PrivateKey,
)
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural, table

MAX_SHOWN = 10  # certificates whose fields are shown
MAX_NAMES = 12
MAX_NAMED = 2  # certificates among the facts
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The worst weakness, and how many there are."""
    bad = [finding for finding in _weaknesses(findings) if finding.severity is not Severity.INFO]
    counts = (
        (len(with_facts(findings, Certificate)), "certificate"),
        (len(with_facts(findings, CertificateRequest)), "request"),
        (len(with_facts(findings, PrivateKey)), "private key"),
    )
    subject = " and ".join(plural(count, word) for count, word in counts if count)
    if not subject:
        return "**Not examined:** no certificate, request or key could be read."
    if not bad:
        return (
            f"**None of the known weaknesses** in {subject}: keys, hashes, dates, names and marks were checked. "
            "Revocation and trust in the root were not."
        )
    worst = bad[0]
    which = f" (number {worst.facts.number})" if len(_numbers(findings)) > 1 else ""
    more = f" {plural(len(bad) - 1, 'further weakness', 'further weaknesses')} in {subject}." if bad[1:] else ""
    return f"**{worst.severity.value.capitalize()}:**{which} {escape(worst.title)}.{more}"


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The first certificates with their dates, then the weaknesses that the verdict does not name."""
    told = [
        f"**Certificate{f' {one.facts.number}' if len(with_facts(findings, Certificate)) > 1 else ''}** for "
        f"{code_span(defang_text(one.facts.subject), limit=80)}, {code_span(one.facts.key, limit=40)}, valid "
        f"{one.facts.not_before} to {one.facts.not_after}"
        for one in with_facts(findings, Certificate)[:MAX_NAMED]
    ]
    bad = [one for one in _weaknesses(findings) if one.severity is not Severity.INFO]
    return told + worst_findings(bad[1:])[: MAX_FACTS - len(told)]


def body(findings: Sequence[AnyFinding]) -> str:
    """Weaknesses and private keys, blocks that cannot be read, then the fields of each certificate and request."""
    certificates = with_facts(findings, Certificate)
    weaknesses = _weaknesses(findings)
    blocks = []
    if weaknesses:
        header = ("Severity", "Weakness", "Field", "Recommendation", "Number", "Line")
        blocks.append("**Weaknesses**\n\n" + table(header, [_weakness_row(finding) for finding in weaknesses]))
    for damage in with_facts(findings, CertificateDamage):
        blocks.append(f"Not readable: {escape(damage.facts.what)} (line {damage.evidence[0].line or 1}).")
    blocks += [_certificate_table(finding.facts) for finding in certificates[:MAX_SHOWN]]
    blocks += [_request_table(finding.facts) for finding in with_facts(findings, CertificateRequest)[:MAX_SHOWN]]
    if len(certificates) > MAX_SHOWN:
        further = plural(len(certificates) - MAX_SHOWN, "further certificate")
        blocks.append(f"… and {further} (all are in the findings).")
    return "\n\n".join(blocks)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about readable keys and weak certificates."""
    steps = []
    if any(not finding.facts.is_encrypted for finding in with_facts(findings, PrivateKey)):
        steps.append("Treat the private key as compromised: create a new one and revoke its certificates.")
    names = {finding.facts.name for finding in with_facts(findings, CertificateWeakness)}
    if names & {"short_key", "broken_hash", "small_exponent", "expired"}:
        steps.append("Reissue the certificate with a new key, and find every service that uses it.")
    if names & {"known_name", "self_signed"}:
        steps.append("Search captures and scans for the SHA-256 fingerprint to find the hosts that use it.")
    return steps


def _weaknesses(findings: Sequence[AnyFinding]) -> list[Finding[CertificateWeakness] | Finding[PrivateKey]]:
    """Return weaknesses and private keys, worst first."""
    found: list[Finding[CertificateWeakness] | Finding[PrivateKey]] = []
    found += with_facts(findings, CertificateWeakness)
    found += with_facts(findings, PrivateKey)
    return sorted(found, key=lambda finding: _RANK[finding.severity])


def _numbers(findings: Sequence[AnyFinding]) -> set[int]:
    kinds = Certificate | CertificateRequest | PrivateKey | CertificateWeakness | CertificateDamage
    return {f.facts.number for f in findings if isinstance(f, Finding) and isinstance(f.facts, kinds)}


def _weakness_row(finding: Finding[CertificateWeakness] | Finding[PrivateKey]) -> tuple[str, ...]:
    match finding.facts:
        case CertificateWeakness(field=field, advice=advice):
            pass
        case PrivateKey(label=field):
            advice = finding.why
    return (
        finding.severity.value,
        escape(finding.title),
        escape(field),
        escape(advice),
        str(finding.facts.number),
        str(finding.evidence[0].line or ""),
    )


def _certificate_table(facts: Certificate) -> str:
    issuer = code_span(defang_text(facts.issuer))
    if facts.is_self_signed:
        issuer = "itself"
    elif facts.issued_by is not None:
        issuer += f" (number {facts.issued_by} in this input; the signature matches)"
    rows = [
        ("Subject", code_span(defang_text(facts.subject))),
        ("Issuer", issuer),
        ("Valid", f"{facts.not_before} to {facts.not_after} ({facts.days:,} days)"),
        ("Key", code_span(facts.key)),
        ("Signature", code_span(facts.signature)),
        ("Serial", code_span(facts.serial)),
        ("Names", _names(facts.names)),
        ("Usage", escape(", ".join(facts.usages)) or "not limited"),
        ("CA", "yes" if facts.is_ca else "no"),
        ("SHA-256", code_span(facts.sha256)),
    ]
    if facts.constraints:
        rows.append(("Name constraints", ", ".join(map(escape, facts.constraints))))
    return f"**Certificate {facts.number}**\n\n" + table(("Field", "Value"), rows)


def _request_table(facts: CertificateRequest) -> str:
    rows = [
        ("Subject", code_span(defang_text(facts.subject))),
        ("Key", code_span(facts.key)),
        ("Signature", code_span(facts.signature)),
        ("Names", _names(facts.names)),
        ("Signature valid", "yes" if facts.is_valid else "no"),
    ]
    return f"**Request {facts.number}**\n\n" + table(("Field", "Value"), rows)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(code_span(defang_text(name), limit=80) for name in names[:MAX_NAMES])
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return shown + more if names else "none"


SECTION = Section(
    skill=Skill(
        name="certificate",
        tool="svc.assistant.skills.certificate.tool:inspect",
        input=InputKind.BINARY,
        title="Certificate",
        can="read X.509 certificates, requests and keys (PEM, DER) and report their weaknesses",
        facts=(Certificate, CertificateRequest, PrivateKey, CertificateWeakness, CertificateDamage),
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
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)  # fmt: skip
