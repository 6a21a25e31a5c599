"""How questions ask about ATT&CK, and how answers name a technique.

Shared by the two skills that a question with an ATT&CK word may be for: this one looks entries up, ``attack_mapping``
maps a text.
"""

from __future__ import annotations

from svc.untrusted.markup import escape

ID = r"\bT(?:A\d{4}|\d{4}(?:\.\d{3})?)\b"
TACTIC = (
    r"(?:reconnaissance|resource development|initial access|execution|persistence|privilege escalation|"
    r"(?:defen[cs]e )?(?:evasion|impairment)|stealth|credential access|discovery|lateral movement|collection|"
    r"command and control|c2|exfiltration|impact)"
)
ID_OF = r"\b(?:id|ids|identifier|number)s? (?:of|for)\b"
IN_TACTIC = rf"\b(?:in|of|under|for|to|has|have)\b[^.?!\n]{{0,20}}\b(?:tactics?\b|TA\d{{4}}|{TACTIC}\b)"
NOT_USED = r"(?:(?!\bused?\b)[^.?!\n])"  # "which were used for persistence" asks about a text
NO_LOOKUP = rf"(?!{NOT_USED}{{0,80}}(?:{ID_OF}|{IN_TACTIC}|{ID}))"
"""Fails if an ID or a tactic follows: such a question looks ATT&CK up, and does not ask to map a text."""


def technique_label(technique_id: str, name: str) -> str:
    """Return ``T1059.001 Command and …`` as Markdown; the ID is plain text, so that a search finds it."""
    return f"{technique_id} {escape(name)}".rstrip()
