"""The answer about tokens: the worst weakness, all weaknesses, then each token's header and claims."""

from __future__ import annotations

import json
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, listed, worst_findings
from svc.assistant.skills.skill import READABLE_LABELS, Section, Skill, words
from svc.assistant.skills.token.findings import JsonWebToken, TokenDamage, TokenWeakness
from svc.untrusted.markup import code_block, code_span, escape, plural, table

MAX_SHOWN = 5  # tokens whose header and claims are shown
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The worst weakness and how many there are; of a token without one, that its signature was not verified."""
    tokens = with_facts(findings, JsonWebToken)
    if not tokens:
        return "**Not examined:** the text has no readable token."
    bad = [finding for finding in _weaknesses(findings) if finding.severity is not Severity.INFO]
    if not bad:
        subject = "token" if len(tokens) == 1 else f"{len(tokens):,} tokens"
        return (
            f"**None of the known weaknesses in the {subject}:** algorithm, common secrets, header, times and claims "
            "were checked. The signature was not verified: that needs the key."
        )
    worst = bad[0]
    which = f" (token {worst.facts.number})" if len(tokens) > 1 else ""
    more = f" {plural(len(bad) - 1, 'further weakness', 'further weaknesses')} below." if bad[1:] else ""
    return f"**{worst.severity.value.capitalize()}:**{which} {escape(worst.facts.words)}.{more}"


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """What the first token says, then the weaknesses that the verdict does not name."""
    tokens = with_facts(findings, JsonWebToken)
    told = []
    for token in tokens[:1]:
        parts = (
            ("issuer", token.facts.issuer),
            ("subject", token.facts.subject),
            ("audience", token.facts.audience),
            ("issued", token.facts.issued),
            ("expires", token.facts.expires),
        )
        said = listed([f"{name} {code_span(value, limit=60)}" for name, value in parts if value], limit=5)
        algorithm = code_span(token.facts.algorithm, limit=40) if token.facts.algorithm else "no algorithm"
        told.append(f"**{algorithm}** (line {token.evidence[0].line}){f': {said}' if said else ''}.")
    bad = [one for one in _weaknesses(findings) if one.severity is not Severity.INFO]
    return told + worst_findings(bad[1:])[: MAX_FACTS - len(told)]


def body(findings: Sequence[AnyFinding]) -> str:
    """Weaknesses, damage, then each token's facts, header and claims."""
    weaknesses, tokens = _weaknesses(findings), with_facts(findings, JsonWebToken)
    blocks = []
    if weaknesses:
        rows = [
            (
                finding.severity.value,
                escape(finding.facts.words),
                code_span(finding.facts.where, limit=60),
                escape(finding.facts.advice),
                str(finding.facts.number),
            )
            for finding in weaknesses
        ]
        headers = ("Severity", "Weakness", "Field", "Recommendation", "Token")
        blocks.append("**Weaknesses**\n\n" + table(headers, rows))
    for damage in with_facts(findings, TokenDamage):
        blocks.append(f"Token {damage.facts.number}: {escape(damage.facts.what)}.")
    blocks += [_token(token) for token in tokens[:MAX_SHOWN]]
    if len(tokens) > MAX_SHOWN:
        blocks.append(f"… and {plural(len(tokens) - MAX_SHOWN, 'further token')} (all are in the findings).")
    return "\n\n".join(blocks)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to test, to replace and to search for."""
    names = {finding.facts.name for finding in with_facts(findings, TokenWeakness)}
    steps = []
    if names & {"unsigned", "zero_signature"}:
        steps.append("Send the token to a test system: a service that accepts it does not verify signatures.")
    if "weak_secret" in names:
        steps.append(
            "Replace the secret, end all sessions, and search the logs for claims that your service never issued."
        )
    if names & {"own_key", "key_address", "confusion", "key_id_path", "key_id_query", "key_id_command"}:
        steps.append("Search the logs for other tokens with such headers: legitimate clients do not create them.")
    if "secret_claim" in names:
        steps.append("Treat the secret in the claims as disclosed: replace it.")
    return steps


def _weaknesses(findings: Sequence[AnyFinding]) -> list[Finding[TokenWeakness]]:
    """Return the weaknesses, worst first."""
    return sorted(with_facts(findings, TokenWeakness), key=lambda finding: _RANK[finding.severity])


def _token(token: Finding[JsonWebToken]) -> str:
    facts = token.facts
    properties = (
        ("Form", facts.form),
        ("Algorithm", facts.algorithm),
        ("Key ID", facts.key_id),
        ("Issuer", facts.issuer),
        ("Subject", facts.subject),
        ("Audience", facts.audience),
        ("Issued", facts.issued),
        ("Not before", facts.not_before),
        ("Expires", facts.expires),
    )
    rows = [(name, code_span(value)) for name, value in properties if value]
    parts = [
        f"**Token {facts.number}**",
        f"line {token.evidence[0].line}",
        table(("Property", "Value"), rows),
        "Header",
        code_block(_indented(facts.header), "json"),
    ]
    if facts.claims:
        parts += ["Claims", code_block(_indented(facts.claims), "json")]
    return "\n\n".join(parts)


def _indented(text: str) -> str:
    """Return JSON with one name a line, or the text unchanged if it was cut or is not JSON."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


_JWT_TEXT = r"(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"  # "decode eyJ…" means this skill

SECTION = Section(
    skill=Skill(
        name="token",
        tool="svc.assistant.skills.token.tool:inspect",
        input=InputKind.TEXT,
        title="Token",
        can="decode a JWT and report its weaknesses (algorithm, secret, key IDs, times, claims)",
        facts=(JsonWebToken, TokenWeakness, TokenDamage),
        strong=words(r"\bJW[TSEK]s?\b", r"\b(?:bearer|access|id|refresh|web) tokens?\b", r"\bjson web\b", _JWT_TEXT),
        weak=words(r"\btokens?\b", r"\bclaims?\b"),
        content=words(r"(?<![A-Za-z0-9_.-])ey[A-Za-z0-9][A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+"),
        looks=words(r"\A\W*(?:Authorization: )?(?:Bearer )?ey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_.-]*\W*\Z"),
        labels=READABLE_LABELS,
        takes=frozenset({"now"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
