"""The answer about a Windows shortcut: what it starts, and how it hides that."""

from __future__ import annotations

from svc.assistant.findings import InputKind
from svc.assistant.skills.answer_parts import as_folds
from svc.assistant.skills.file_answer import body, facts, next_steps, verdict
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.shortcut.findings import ShortcutFacts, ShortcutPart, ShortcutTrait, ShortcutVerdict
from svc.assistant.skills.skill import Section, Skill, words

LABELS = frozenset({"lnk"})

SECTION = Section(
    skill=Skill(
        name="shortcut",
        tool="svc.assistant.skills.shortcut.tool:inspect",
        input=InputKind.BINARY,
        title="Shortcut",
        can="inspect a Windows shortcut (LNK): target, arguments, disguises",
        facts=(ShortcutFacts, ShortcutPart, ShortcutTrait, ShortcutVerdict, IndicatorFacts),
        strong=words(r"\b(?:this|these|the|attached) (?:windows )?(?:\.?lnk|shortcuts?)\b", r"\blnk files?\b"),
        labels=LABELS,
        claims=LABELS,
        is_experimental=True,
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
