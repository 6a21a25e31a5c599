"""Whether what a tool found says anything about a clause that names the tool, if other clauses name it, too. Pure.

A question with several clauses has one report. That it was written for one of them does not make it an answer to
another that asks the same tool for something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from svc.assistant.analyst.clause_words import GENERAL_WORDS, content_words, stems
from svc.assistant.analyst.clauses import ASKS, CLAUSE_CHARS, Clause, ClauseKind, ClauseState, particular_names
from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.particulars import Particular
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.analyst.render import shown
from svc.assistant.findings import columns
from svc.assistant.skills.catalogue import section_of
from svc.assistant.skills.skill import Skill
from svc.assistant.spool import worst_first
from svc.untrusted.markup import code_span

MAX_FINDINGS = 500  # that are compared with the words of a clause
NAMED = 3
LONG_WORD = 5  # letters
_OF_LOGS = ("auth_log", "events")
_ASKS_WHAT = re.compile(r"\A\W*(?:and )?(?:who\w*|which|what|when|where|how)\b", re.IGNORECASE)


def unaddressed(clause: Clause, named: Sequence[SkillResult], *, is_only: bool = False) -> Particular | None:
    """That no word of what was found is about the clause; None if one is, or if the clause asks nothing more.

    Args:
        clause: One of several of a question.
        named: What the tools found that its words name.
        is_only: Whether the question has no other clause: then only what is asked of logs, with a long word, counts.
    """
    if is_only and not (_ASKS_WHAT.match(clause.text) and all(one.skill.name in _OF_LOGS for one in named)):
        return None
    is_asked = clause.kind is ClauseKind.NAMED and not (clause.is_foreign or particular_names(clause.text))
    if not (is_asked and named) or window_of(clause.text):
        return None
    rest = clause.text
    for result in named:
        rest = _without_own_words(rest, result.skill)
    rest = GENERAL_WORDS.sub(" ", ASKS.sub(" ", rest))
    words = [word for word in content_words(rest) if not is_only or len(word) >= LONG_WORD]
    if not words or any(stems(rest) & stems(text) for result in named for text in _texts(result)):
        return None
    listed = ", ".join(code_span(word, limit=40) for word in words[:NAMED])
    sentence = (
        f"**Cannot tell** {code_span(clause.text, limit=CLAUSE_CHARS)} in full: nothing that was found is about "
        f"{listed}. What was found otherwise is below."
    )
    reason = f"nothing that was found is about {', '.join(words[:NAMED])}"
    return Particular(clause=clause, sentence=sentence, state=ClauseState.PARTLY_ANSWERED, reason=reason)


def _without_own_words(text: str, skill: Skill) -> str:
    """The text without the words that name the skill."""
    for words in (skill.strong, skill.weak, skill.file_words):
        text = words.sub(" ", text)
    return text


def _texts(result: SkillResult) -> list[str]:
    """What the skill says, and what its findings hold."""
    section, findings = section_of(result.skill), shown(result)
    if not findings:
        return [one.looked_for for _, one in result.coverage]
    said = [section.verdict(findings), *section.facts(findings)]
    for one in islice(worst_first(findings), MAX_FINDINGS):
        said += [one.title, one.why, *(f"{name} {value}" for name, value in columns(one).items())]
    return said
