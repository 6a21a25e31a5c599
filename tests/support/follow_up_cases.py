"""Forty further questions about eight kinds of evidence, half of them held out, and a judge for each.

They were written before the analyst could answer them. A question is a template over what is planted in the evidence
(``follow_up_evidence``), and its judge knows from there what a right answer contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from tests.support.follow_up_evidence import Patterns, Planted

RIGHT, PARTLY, WRONG = "right", "partly", "wrong"
SCREEN_LINES = 40
SCREEN_CHARS = 3_600
REPEATED = 0.35  # of the first answer's lines, from which on an answer is the old report again
CANNOT = (
    r"cannot tell|not answered|not recorded|records? no|no (?:logins?|accounts?|times?)\b|nicht feststellbar"
    r"|nicht beantwortet|impossible à dire|sans réponse|no se puede determinar|sin respuesta|判断できません|回答なし"
)
NO = r"\*\*(?:no|none)\b|\bno\b.{0,60}\bmention|none of"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a right answer contains, never contains, and how long it may be; some of ``parts`` make it partly right."""

    parts: Patterns
    never: str = r"(?!)"
    max_lines: int = SCREEN_LINES


Judge = Callable[[Planted], Wanted]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """``text`` is a template over ``Planted``; ``before`` are questions asked in between, in the same session."""

    name: str
    text: str
    judge: Judge
    language: str = "en"
    before: tuple[str, ...] = ()
    is_without_evidence: bool = False
    """Whether the answer may not use the evidence at all."""


def _who(planted: Planted) -> Wanted:
    return Wanted(parts=planted.winners or (CANNOT,))


def _start(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.start,), max_lines=15)


def _end(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.end,), max_lines=15)


def _actor_count(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.actor_count, re.escape(planted.actor)), max_lines=12)


def _other_count(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.other_count, re.escape(planted.other)), max_lines=12)


def _actor(planted: Planted) -> Wanted:
    return Wanted(parts=planted.actor_facts)


def _other(planted: Planted) -> Wanted:
    return Wanted(parts=planted.other_facts)


def _absent(planted: Planted) -> Wanted:
    return Wanted(parts=(NO, planted.extent), never=r"\*\*yes", max_lines=8)


def _absent_too(planted: Planted) -> Wanted:
    return Wanted(parts=(NO, planted.extent), never=r"\*\*yes", max_lines=8)


def _quiet(planted: Planted) -> Wanted:
    return Wanted(parts=(r"\*\*yes|\*\*found", planted.quiet[1]), never=NO, max_lines=12)


def _quiet_too(planted: Planted) -> Wanted:
    return Wanted(parts=(r"\*\*yes|\*\*found", planted.quiet_too[1]), never=NO, max_lines=12)


def _entities(planted: Planted) -> Wanted:
    return Wanted(parts=planted.entity_values)


def _more_entities(planted: Planted) -> Wanted:
    return Wanted(parts=planted.more_values)


def _timeline(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.actor_start, re.escape(planted.actor)))


def _chronology(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.start, planted.actor_start))


def _compare(planted: Planted) -> Wanted:
    names = tuple(map(re.escape, (planted.actor, planted.other)))
    return Wanted(parts=(*names, planted.actor_count, planted.other_count), max_lines=25)


def _next(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.step, r"(?m)^(?:- |\d+\. )"), max_lines=15)


def _sentences(count: int) -> Judge:
    def judge(planted: Planted) -> Wanted:
        return Wanted(parts=(planted.gist, rf"\A(?:[^\n]*?[.!?](?:\*\*)?(?:\s|\Z)){{{count}}}\Z"), max_lines=count)

    return judge


def _polite(planted: Planted) -> Wanted:
    return Wanted(parts=(r"\A[^\n]{3,120}\s*\Z",), never=re.escape(planted.file[0]), max_lines=2)


def _lookup(*parts: str) -> Judge:
    def judge(planted: Planted) -> Wanted:
        return Wanted(parts=parts, never=re.escape(planted.file[0]))

    return judge


def _external(planted: Planted) -> Wanted:
    return Wanted(parts=planted.external or (CANNOT + r"|\bnone\b|\b0 of",))


def _unknown(planted: Planted) -> Wanted:
    """What was not understood, and what can be asked: with a name that is in the evidence."""
    named = "|".join((*planted.entity_values, *planted.more_values, *(planted.winners or ()), re.escape(planted.actor)))
    return Wanted(parts=(r"not (?:understood|answered)", named), max_lines=4)


def _second(planted: Planted) -> Wanted:
    return Wanted(parts=("|".join(planted.entity_values),), max_lines=15)


def _count(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.entity_count,), max_lines=25)


def _evidence(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.place, re.escape(planted.actor)))


def _late(planted: Planted) -> Wanted:
    return Wanted(parts=planted.late or (CANNOT,))


def _top(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.top,), max_lines=15)


def _reason(planted: Planted) -> Wanted:
    return Wanted(parts=(planted.reason,), max_lines=20)


OPEN = (
    Question(name="who", text="who logged in successfully?", judge=_who),
    Question(name="start", text="when did it start?", judge=_start),
    Question(name="how many", text="how many {noun} for {actor}?", judge=_actor_count),
    Question(name="what did", text="what did {actor} do?", judge=_actor),
    Question(name="absent", text="is {absent} in it?", judge=_absent),
    Question(name="quiet", text="is {quiet} in it?", judge=_quiet),
    Question(name="list", text="list the {entities}", judge=_entities),
    Question(name="timeline of", text="timeline of {actor}", judge=_timeline),
    Question(name="compare", text="compare {actor} and {other}", judge=_compare),
    Question(name="next", text="what next?", judge=_next),
    Question(name="manager", text="summarise in two sentences for my manager", judge=_sentences(2)),
    Question(name="thanks", text="thanks", judge=_polite, is_without_evidence=True),
    Question(name="technique", text="what is T1059.001?", judge=_lookup("PowerShell"), is_without_evidence=True),
    Question(name="external", text="which of these are external?", judge=_external),
    Question(name="wer", text="wer hat sich erfolgreich angemeldet?", judge=_who, language="de"),
    Question(name="wann", text="wann hat es angefangen?", judge=_start, language="de"),
    Question(name="nonsense", text="blorp the frobnicator with maximal zest", judge=_unknown),
    Question(name="second", text="and the second one?", judge=_second, before=("list the {entities}",)),
    Question(name="number", text="how many {entities} are there?", judge=_count),
    Question(name="evidence", text="show me the evidence for {actor}", judge=_evidence),
)
HELD = (
    Question(name="anybody in", text="did anybody get in, and who?", judge=_who),
    Question(name="last", text="what's the time of the last event?", judge=_end),
    Question(name="count by", text="count of {other_noun} by {other}", judge=_other_count),
    Question(name="everything", text="tell me everything about {other}", judge=_other),
    Question(name="anywhere", text="does {absent_too} appear anywhere?", judge=_absent_too),
    Question(name="mention", text="any mention of {quiet_too}?", judge=_quiet_too),
    Question(name="involved", text="which {more_entities} were involved?", judge=_more_entities),
    Question(name="chronology", text="give me the chronology", judge=_chronology),
    Question(name="versus", text="{actor} vs {other}?", judge=_compare),
    Question(name="do now", text="what should I do now?", judge=_next),
    Question(name="board", text="one sentence for the board please", judge=_sentences(1)),
    Question(name="ok", text="ok great, thank you!", judge=_polite, is_without_evidence=True),
    Question(
        name="cve", text="and CVE-2021-44228?", judge=_lookup("CVE-2021-44228", "Log4|not (?:known|in)|no data|kev"),
        is_without_evidence=True,
    ),
    Question(name="after", text="only after {clock}", judge=_late),
    Question(name="qué hizo", text="¿qué hizo {actor}?", judge=_actor, language="es"),
    Question(name="いつ", text="いつ始まりましたか？", judge=_start, language="ja"),  # noqa: RUF001
    Question(name="combien", text="combien de {noun} pour {actor} ?", judge=_actor_count, language="fr"),
    Question(
        name="what about", text="what about {other}?", judge=_other_count, before=("how many {noun} for {actor}?",)
    ),
    Question(name="most", text="which one has the most {noun}?", judge=_top),
    Question(name="why", text="why is that bad?", judge=_reason),
)  # fmt: skip


def filled(template: str, planted: Planted) -> str:
    """The question about this evidence."""
    values = {name: getattr(planted, name) for name in planted.__struct_fields__}
    return template.format(**values | {"quiet": planted.quiet[0], "quiet_too": planted.quiet_too[0]})


def plain(markdown: str) -> str:
    """The words of an answer as a reader sees them: addresses whole, no escapes."""
    return re.sub(r"\\?\[\\?([.@:])\\?\]", r"\1", markdown).replace("\\_", "_").replace("\\.", ".").replace("`", "")


def is_repeated(answer: str, first: str) -> bool:
    """Whether an answer is the first answer again: many of its lines."""
    lines = [line for line in first.splitlines() if len(line) > 20]
    again = set(answer.splitlines())
    return sum(line in again for line in lines) >= max(3, REPEATED * len(lines))


def judged(answer: str, wanted: Wanted) -> tuple[str, str]:
    """The mark of an answer, and what is missing."""
    text = plain(answer)
    if re.search(wanted.never, text, re.IGNORECASE):
        return WRONG, f"has {wanted.never}"
    missing = [part for part in wanted.parts if not re.search(part, text, re.IGNORECASE)]
    lines = len([line for line in text.splitlines() if line.strip()])
    if lines > wanted.max_lines or len(text) > SCREEN_CHARS:
        missing.append(f"at most {wanted.max_lines} lines, not {lines} ({len(text)} characters)")
    if not missing:
        return RIGHT, ""
    return (PARTLY if len(missing) <= len(wanted.parts) / 2 else WRONG), "; ".join(missing)
