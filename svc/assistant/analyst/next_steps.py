"""What an analyst would do next with these findings, worst first. Pure; advice in our own words."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.analyst.markup import code_span, defang
from svc.assistant.tools import Finding, Severity
from svc.assistant.workers import FAILED_KIND

NAMED = 3
_BAD = (Severity.CRITICAL, Severity.HIGH)


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """Lines of Markdown; empty where the findings ask for nothing."""
    kinds = {finding.kind for finding in findings}
    steps = _about_logins(findings)
    if "cvss_broken" in kinds:
        steps.append("Correct the broken vector at its source; a score of a guessed vector is no score.")
    if "cvss_score" in kinds:
        steps.append(
            "Check the metrics against your own installation (environmental metrics) before you rank by the score."
        )
    if any(f.kind == "indicator" and f.attributes.get("scope") in ("public", "", "tor") for f in findings):
        steps.append(
            "Search proxy, DNS and endpoint logs for the indicators; no reputation data was used (none offline)."
        )
    if kinds & {"decoded", "decoded_layer"}:
        steps.append("Look for the decoded text, or what it starts and contacts, on the host where it was found.")
    if FAILED_KIND in kinds:
        steps.append("Keep the file that stopped a parser: a file that does so may have been made for it.")
    return steps


def _about_logins(findings: Sequence[Finding]) -> list[str]:
    entered = [f for f in findings if f.kind == "auth_success" and f.severity in _BAD]
    attackers = [f for f in findings if f.kind == "auth_source" and f.attributes.get("pattern") != "few failures"]
    steps = []
    if entered:
        accounts = _named(sorted({str(f.attributes["account"]) for f in entered}))
        steps.append(f"Lock {accounts} and end the sessions; then read what they did from the time of the login on.")
        steps.append("Look for new keys in authorized_keys, new accounts, sudo rules and scheduled jobs since then.")
    if attackers:
        sources = _named([defang(str(f.attributes["source"])) for f in attackers])
        steps.append(f"Block {sources}, and search other hosts' logs for the same sources.")
        steps.append("Allow keys only (PasswordAuthentication no), or limit the rate (MaxAuthTries, fail2ban).")
    return steps


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(code_span(name, limit=60) for name in names[:NAMED])
    return shown + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")
