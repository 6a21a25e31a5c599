"""The answer about an Office document: macros, objects, links, and what they do."""

from __future__ import annotations

from svc.assistant.findings import InputKind
from svc.assistant.skills.answer_parts import as_folds
from svc.assistant.skills.file_answer import LOOK_AT, body, facts, next_steps, verdict
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.office.findings import OfficeFacts, OfficePart, OfficeTrait, OfficeVerdict
from svc.assistant.skills.skill import Section, Skill, words

LABELS = frozenset({"docx", "xlsx", "pptx", "doc", "xls", "ppt", "ole", "rtf", "one", "odt", "ods"})
_DOCUMENTS = (
    r"(?:documents?|spreadsheets?|workbooks?|presentations?|word|excel|powerpoint|onenote|docm?x?|xlsm?x?|pptm?x?|rtf"
    r"|office)"
)

SECTION = Section(
    skill=Skill(
        name="office",
        tool="svc.assistant.skills.office.tool:inspect",
        input=InputKind.BINARY,
        title="Office document",
        can="inspect an Office document (Word, Excel, PowerPoint, RTF, OneNote): macros, objects, remote links",
        facts=(OfficeFacts, OfficePart, OfficeTrait, OfficeVerdict, IndicatorFacts),
        strong=words(
            rf"\b{LOOK_AT}\b[^.?!\n]{{0,60}}\b{_DOCUMENTS} (?:files?|documents?|attachments?)\b",
            rf"\b(?:this|these|the|attached) (?:{_DOCUMENTS}) (?:file|document|attachment)s?\b",
            r"\b(?:extract|show|list|dump|read|find|any|has|have|contains?|what do)\b[^.?!\n]{0,40}\bmacros?\b",
            r"\bmacros?\b[^.?!\n]{0,40}\b(?:malicious|suspicious|safe|document|in (?:this|it|the))\b",
        ),
        labels=LABELS,
        claims=LABELS,
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
