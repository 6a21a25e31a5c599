"""The answer about a PDF: automatic actions, scripts, links and embedded files."""

from __future__ import annotations

from svc.assistant.findings import InputKind
from svc.assistant.skills.answer_parts import as_folds
from svc.assistant.skills.file_answer import LOOK_AT, body, facts, next_steps, verdict
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.pdf.findings import PdfFacts, PdfPart, PdfTrait, PdfVerdict
from svc.assistant.skills.skill import Section, Skill, words

LABELS = frozenset({"pdf"})

SECTION = Section(
    skill=Skill(
        name="pdf",
        tool="svc.assistant.skills.pdf.tool:inspect",
        input=InputKind.BINARY,
        title="PDF",
        can="inspect a PDF: actions on opening, scripts, links, embedded files, hidden names",
        facts=(PdfFacts, PdfPart, PdfTrait, PdfVerdict, IndicatorFacts),
        strong=words(
            r"\b(?:this|these|the|my|attached) (?:attached )?PDFs?\b",
            rf"\b{LOOK_AT}\b[^.?!\n]{{0,60}}\bPDFs?\b",
            r"\bPDFs?\b[^.?!\n]{0,40}\b(?:malicious|safe|suspicious|contains?|javascript|embedded)\b",
        ),
        labels=LABELS,
        claims=LABELS,
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
