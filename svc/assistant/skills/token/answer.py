"""The answer about tokens: what is weak, then header and claims. Kinds: ``tools/token``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from svc.assistant.findings import InputKind, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import READABLE_LABELS, Section, Skill, words
from svc.untrusted.markup import code_block, code_span, escape, plural, table

_SHOWN_TOKENS = 5


def verdict(findings: Sequence[Finding]) -> str:
    """The worst weakness and how many there are; of a sound token, that nothing shows without its key."""
    tokens, weak = _of(findings, "token"), _weaknesses(findings)
    if not tokens:
        return "**No token that can be read.**"
    subject = "The token" if len(tokens) == 1 else f"{len(tokens):,} tokens"
    bad = [finding for finding in weak if finding.severity is not Severity.INFO]
    if not bad:
        return f"**{subject}: no weakness shows.** The signature was not verified: that takes the key."
    worst = bad[0]
    which = f" (token {worst.attributes['number']})" if len(tokens) > 1 else ""
    more = f" {plural(len(bad) - 1, 'further weakness', 'further weaknesses')} below." if bad[1:] else ""
    return f"**{worst.severity.value.capitalize()}:**{which} {escape(str(worst.attributes['words']))}.{more}"


def section(findings: Sequence[Finding]) -> str:
    """Weaknesses, then each token's facts, header and claims."""
    weak, tokens = _weaknesses(findings), _of(findings, "token")
    blocks = []
    if weak:
        rows = [
            [
                finding.severity.value,
                escape(str(finding.attributes["words"])),
                code_span(str(finding.attributes["where"]), limit=60),
                escape(str(finding.attributes["advice"])),
                str(finding.attributes["number"]),
            ]
            for finding in weak
        ]
        blocks.append(table(["Severity", "What", "Field", "What to do", "Token"], rows))
    for damage in _of(findings, "token_damage"):
        blocks.append(f"Token {damage.attributes['number']}: {escape(str(damage.attributes['what']))}.")
    blocks += [_token(token) for token in tokens[:_SHOWN_TOKENS]]
    if len(tokens) > _SHOWN_TOKENS:
        blocks.append(f"… and {plural(len(tokens) - _SHOWN_TOKENS, 'further token')} (all are in the findings).")
    return "\n\n".join(blocks)


def _token(token: Finding) -> str:
    given = token.attributes
    rows = [
        [name, code_span(str(given[key]))]
        for name, key in (
            ("Form", "form"), ("Algorithm", "algorithm"), ("Key id", "key_id"), ("Issuer", "issuer"),
            ("Subject", "subject"), ("Audience", "audience"), ("Issued", "issued"), ("Not before", "not_before"),
            ("Expires", "expires"),
        )
        if given[key]
    ]  # fmt: skip
    head = f"**Token {given['number']}** (line {token.evidence[0].line})"
    parts = [head, table(["Fact", "Value"], rows), "Header", code_block(_pretty(str(given["header"])), "json")]
    if given["claims"]:
        parts += ["Claims", code_block(_pretty(str(given["claims"])), "json")]
    return "\n\n".join(parts)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to try or to change."""
    names = {str(finding.attributes["name"]) for finding in _weaknesses(findings)}
    steps = []
    if names & {"unsigned", "zero_signature"}:
        steps.append("Send the token to a test system of yours: a service that takes it verifies nothing.")
    if "weak_secret" in names:
        steps.append(
            "Replace the secret, end all sessions, and look in the logs for claims that your service never issued."
        )
    if names & {"own_key", "key_address", "confusion", "key_id_path", "key_id_query", "key_id_command"}:
        steps.append("Look in the logs for other tokens with such headers: they are not made by honest clients.")
    if "secret_claim" in names:
        steps.append("Treat the secret in the claims as published: replace it.")
    return steps


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _weaknesses(findings: Sequence[Finding]) -> list[Finding]:
    ranks = list(Severity)
    return sorted(_of(findings, "token_weakness"), key=lambda finding: ranks.index(finding.severity))


SECTION = Section(
    skill=Skill(
        name="token",
        tool="svc.assistant.skills.token.tool:inspect",
        input=InputKind.TEXT,
        title="Token",
        can="take a JWT apart and say what is weak about it (algorithm, secret, key ids, times, claims)",
        loose_kinds=("token", "token_weakness", "token_damage"),
        strong=words(r"\bJW[TSEK]s?\b", r"\b(?:bearer|access|id|refresh|web) tokens?\b", r"\bjson web\b"),
        weak=words(r"\btokens?\b", r"\bclaims?\b"),
        content=words(r"(?<![A-Za-z0-9_.-])ey[A-Za-z0-9][A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+"),
        looks=words(r"\A\W*(?:Authorization: )?(?:Bearer )?ey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_.-]*\W*\Z"),
        labels=READABLE_LABELS,
        takes=frozenset({"now"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
