"""The answer about a program: its type, its capabilities, and what is unusual about it."""

from __future__ import annotations

from svc.assistant.findings import InputKind
from svc.assistant.skills.answer_parts import as_folds
from svc.assistant.skills.file_answer import LOOK_AT, body, facts, next_steps, verdict
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.program.findings import ProgramFacts, ProgramPart, ProgramTrait, ProgramVerdict
from svc.assistant.skills.skill import Section, Skill, words

LABELS = frozenset({"pebin", "elf", "macho", "dosmbr"})

SECTION = Section(
    skill=Skill(
        name="program",
        tool="svc.assistant.skills.program.tool:inspect",
        input=InputKind.BINARY,
        title="Program",
        can="inspect a program (PE, ELF, Mach-O): hashes, sections, imports, capabilities, packers, indicators",
        facts=(ProgramFacts, ProgramPart, ProgramTrait, ProgramVerdict, IndicatorFacts),
        strong=words(
            r"\b(?:this|these|the|attached) (?:PE|ELF|Mach-?O)\b",
            r"\b(?:PE|ELF|Mach-?O) (?:files?|binar\w+|header\w*|executables?|samples?|sections?|imports?)\b",
            rf"\b{LOOK_AT}\b[^.?!\n]{{0,60}}\b(?:executables?|binar(?:y|ies)|programs?|malware|exe|dlls?|samples?|firmware)\b",
            r"\b(?:imphash|import table|section entropy)\b",
            r"\bis (?:it|this|the \w+) packed\b",
        ),
        labels=LABELS,
        claims=LABELS,
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
