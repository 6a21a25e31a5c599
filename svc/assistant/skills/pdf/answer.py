"""The answer about a PDF: what it does by itself, its scripts, links and embedded files. Kinds: ``tools/pdf``."""

from __future__ import annotations

from svc.assistant.findings import InputKind
from svc.assistant.skills.file_answer import LOOK_AT, body, kinds, next_steps, verdict
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.skill import Section, Skill, words

LABELS = frozenset({"pdf"})

SECTION = Section(
    skill=Skill(
        name="pdf",
        tool="svc.assistant.skills.pdf.tool:inspect",
        input=InputKind.BINARY,
        title="PDF",
        can="inspect a PDF: actions on opening, scripts, links, embedded files, hidden names",
        facts=(IndicatorFacts,),
        loose_kinds=kinds("pdf"),
        strong=words(
            r"\b(?:this|these|the|my|attached) (?:attached )?PDFs?\b",
            rf"\b{LOOK_AT}\b[^.?!\n]{{0,60}}\bPDFs?\b",
            r"\bPDFs?\b[^.?!\n]{0,40}\b(?:malicious|safe|suspicious|contains?|javascript|embedded)\b",
        ),
        labels=LABELS,
        claims=LABELS,
    ),
    verdict=verdict,
    body=body,
    next_steps=next_steps,
)
