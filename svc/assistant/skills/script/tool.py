"""Explain a script or a command: its commands in words, its stages decoded, its behaviours, and a verdict.

This is static analysis: nothing is executed and nothing is fetched. Languages: ``language.py``; stages: ``stages.py``;
behaviours and the verdict: ``behaviours.py``; techniques: ``techniques.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from svc.assistant.file_types.text_shape import data_form, has_field_lines, is_prose, readable_lines
from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.script.behaviours import (
    BehaviourMatch,
    BehaviourRule,
    ScriptVerdict,
    behaviour_count,
    behaviours_in,
    verdict_on,
)
from svc.assistant.skills.script.commands import parts_of
from svc.assistant.skills.script.explain import program_of, words_for
from svc.assistant.skills.script.findings import (
    CommandTechnique,
    ScriptBehaviour,
    ScriptPart,
    ScriptStage,
    ScriptSummary,
)
from svc.assistant.skills.script.language import (
    Language,
    called_command,
    ending_language,
    is_documented,
    language_of,
    looks_like_script,
    script_in,
)
from svc.assistant.skills.script.stages import MAX_STAGE_CHARS, MAX_STAGES, Stage, stages_of
from svc.assistant.skills.script.techniques import MAX_COMMAND_CHARS, shown_by, table

PROMPT = "prompt"  # the source of evidence from the prompt
MAX_PARTS = 120  # commands that are explained, in all stages together
MAX_RANKED = 10
MAX_RANKED_CHARS = 1_000  # of one command that are searched for techniques
MAX_RANKED_PARTS = 400  # commands of long stages that are searched for techniques
MAX_REASONS = 4  # in a finding's ``why``
MAX_PROGRAM_CHARS = 80
TEXT_CHARS = 20_000
EXCERPT_CHARS = 300
MAX_SHORT_LINES, MAX_SHORT_CHARS = 8, 6_000  # of a script that does little else than one behaviour
_SEVERITIES = tuple(Severity)  # the worst first
_RELEVANT = _SEVERITIES[:3]  # severities that are reasons for a verdict
_SEVERITY = {
    ScriptVerdict.MALICIOUS: Severity.CRITICAL,
    ScriptVerdict.SUSPICIOUS: Severity.HIGH,
    ScriptVerdict.UNUSUAL: Severity.MEDIUM,
    ScriptVerdict.ORDINARY: Severity.INFO,
}


class FoundBehaviour(msgspec.Struct, frozen=True):
    """A behaviour and the number of the first stage that has it."""

    match: BehaviourMatch
    stage: int
    is_hidden: bool

    @property
    def rule(self) -> BehaviourRule:
        """The rule that matched."""
        return self.match.behaviour


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield a ScriptSummary, then the behaviours, stages, commands and indicators; a Gap if there is no script."""
    yield Progress(text=f"reading {source} as a script")
    script, first_line = script_in(content) if source == PROMPT else (content, 1)
    is_called_command = source == PROMPT and called_command(content) is not None
    if reason := "" if is_called_command and script.strip() else _reason_not_to_read(script, source):
        yield Gap(text=reason)
        yield _coverage("text without a script or command", 0, readable_lines(script)[1])
        return
    if len(script) > MAX_STAGE_CHARS:
        yield Gap(text=f"only the first {MAX_STAGE_CHARS:,} characters were examined")
    language = language_of(script, name="" if source == PROMPT else source)
    read, total = readable_lines(script[:MAX_STAGE_CHARS])[0], readable_lines(script)[1]
    stages = []
    for stage in stages_of(script, language):
        stages.append(stage)
        yield Progress(text=f"stage {len(stages)}: {stage.how} ({stage.language}, {len(stage.text):,} characters)")
    if len(stages) >= MAX_STAGES:
        yield Gap(text=f"stopped after {MAX_STAGES} stages")
    behaviours = list(_behaviours(stages))
    parts, is_cut, unparsed = _parts(stages, source, first_line)
    yield Progress(text=f"commands and calls: {len(parts):,}, behaviours: {len(behaviours):,}")
    yield _summary_finding(stages, behaviours, len(parts), source, first_line)
    yield from (_behaviour_finding(one, source, first_line) for one in behaviours)
    yield from (_stage_finding(stages[index], index, source) for index in range(1, len(stages)))
    yield from parts
    if is_cut:
        yield Gap(text=f"only the first {MAX_PARTS} commands and calls are explained")
    for number in unparsed:
        yield Gap(text=f"stage {number} took too long to parse: its commands were split line by line")
    yield from _indicators(stages)
    yield _coverage(_KINDS.get(language, f"{language} script"), read, total)


_KINDS = {
    Language.POWERSHELL: "PowerShell script or command",
    Language.SHELL: "Unix shell script or command",
    Language.BATCH: "Windows command shell script or command",
    Language.VBA: "Visual Basic script",
    Language.JAVASCRIPT: "JavaScript",
    Language.UNKNOWN: "command or script of an unclear language",
}


def _reason_not_to_read(script: str, source: str) -> str:
    """Why ``script`` is not examined; "" if it is a script in a language that is understood."""
    if not looks_like_script(script):
        return "no command or script to explain was found"
    if script.lstrip().startswith("#!") or (source != PROMPT and ending_language(source) is not None):
        return ""
    if form := data_form(script):
        return f"{form}, not a script: paste a command from it to have it explained"
    if has_field_lines(script):
        return "name-value pairs, as in headers or settings, not a script"
    if is_prose(script):
        return "prose, not a script: paste a command from it to have it explained"
    return ""


def _coverage(read_as: str, understood: int, total: int) -> Coverage:
    return Coverage(
        read_as=read_as,
        unit="line",
        understood=understood,
        total=total,
        looked_for=f"{behaviour_count()} suspicious behaviours, encoded stages and techniques of ATT&CK",
        not_covered="what the script downloads or receives at run time is unknown; nothing was executed",
    )


def _behaviours(stages: Sequence[Stage]) -> Iterator[FoundBehaviour]:
    """Yield each behaviour once, the worst first; obfuscation is one of them."""
    found: dict[str, FoundBehaviour] = {}
    for number, stage in enumerate(stages, start=1):
        if stage.undone and stage.is_hidden:
            match = BehaviourMatch(_obfuscation(stage.undone), 1, stage.text.strip())
            found.setdefault(match.behaviour.name, FoundBehaviour(match, number, is_hidden=False))
    for number, stage in enumerate(stages, start=1):
        is_hidden = any(one.is_hidden for one in _with_parents(stages, stage))
        for match in behaviours_in(stage.text, stage.language):
            is_about_hiding = match.behaviour.does == "obfuscation"
            found.setdefault(match.behaviour.name, FoundBehaviour(match, number, is_hidden and not is_about_hiding))
    yield from sorted(found.values(), key=lambda one: _SEVERITIES.index(one.rule.severity))


def _obfuscation(undone: Sequence[str]) -> BehaviourRule:
    return BehaviourRule(
        name="is obfuscated",
        does="obfuscation",
        severity=Severity.MEDIUM,
        techniques=["T1027.010"],
        why=f"it uses {', '.join(undone)}",
    )


def _with_parents(stages: Sequence[Stage], stage: Stage) -> Iterator[Stage]:
    """Yield the stage and those that it comes from."""
    current: Stage | None = stage
    while current is not None:
        yield current
        current = None if current.parent is None else stages[current.parent]


def _summary_finding(
    stages: Sequence[Stage], behaviours: Sequence[FoundBehaviour], parts: int, source: str, first_line: int
) -> Finding[ScriptSummary]:
    programs = [stage for stage in stages if not stage.text and stage.form != "text"]
    relevant = [one for one in behaviours if one.rule.severity in _RELEVANT]
    rules = [one.rule for one in behaviours]
    is_hidden = any(one.is_hidden for one in relevant)
    verdict = verdict_on(rules, is_hidden=is_hidden, is_short=_is_short(stages[0].text))
    verdict = ScriptVerdict.MALICIOUS if programs else verdict
    ranked = _ranked(stages)
    reasons = [f"contains an embedded file: {stage.form}" for stage in programs]
    reasons += [one.rule.name for one in relevant]
    return Finding(
        title=f"{_named(stages[0].language)}: {verdict}",
        severity=_severity(verdict, rules),
        confidence=Confidence.HIGH if verdict is ScriptVerdict.MALICIOUS else Confidence.MEDIUM,
        why="; ".join(reasons[:MAX_REASONS]),
        evidence=(_evidence(source, stages[0].text.strip(), first_line),),
        techniques=tuple(one.id for one in ranked[:3]),
        facts=ScriptSummary(
            verdict=verdict.value,
            language=str(stages[0].language),
            stages=len(stages),
            hidden_stages=sum(1 for stage in stages if stage.is_hidden),
            parts=parts,
            reasons=reasons,
            ranked=ranked,
            table_version=table().version,
            table_date=table().date.isoformat(),
        ),
    )


def _named(language: Language) -> str:
    return "Script or command" if language is Language.UNKNOWN else f"{language} script"


def _is_short(script: str) -> bool:
    """Whether a script has so few lines that a single behaviour is most of what it does, and explains none of them."""
    lines = sum(1 for line in script.split("\n") if line.strip(" \t\r{}();"))
    return lines <= MAX_SHORT_LINES and len(script) <= MAX_SHORT_CHARS and not is_documented(script)


def _severity(verdict: ScriptVerdict, rules: Sequence[BehaviourRule]) -> Severity:
    """A script that is suspicious by what administrators do, too, is unusual and no more."""
    is_plain = all(one.own_severity not in (Severity.CRITICAL, Severity.HIGH) for one in rules)
    return Severity.MEDIUM if verdict is ScriptVerdict.SUSPICIOUS and is_plain else _SEVERITY[verdict]


def _ranked(stages: Sequence[Stage]) -> list[CommandTechnique]:
    """Return the techniques that any stage shows, the most likely first."""
    best: dict[str, CommandTechnique] = {}
    for text in _searched_texts(stages):
        for one in shown_by(text):
            if one.behaviour.id not in best or one.score > best[one.behaviour.id].score:
                best[one.behaviour.id] = CommandTechnique(one.behaviour.id, one.score, one.words[:EXCERPT_CHARS])
    return sorted((one for one in best.values() if one.score > 0), key=lambda one: -one.score)[:MAX_RANKED]


def _searched_texts(stages: Sequence[Stage]) -> Iterator[str]:
    """Yield short stages whole, and long ones by their commands: words that are far apart mean nothing together."""
    left = MAX_RANKED_PARTS
    for stage in stages:
        if len(stage.text) <= MAX_COMMAND_CHARS // 4:
            yield stage.text
            continue
        for part in parts_of(stage.text, stage.language).commands:
            if left <= 0:
                return
            left -= 1
            yield part.text[:MAX_RANKED_CHARS]


def _evidence(source: str, excerpt: str, line: int | None) -> Evidence:
    return Evidence(source=source, excerpt=excerpt[:EXCERPT_CHARS], line=line)


def _location(source: str, stage: int, line: int, first_line: int) -> tuple[str, int]:
    """Return the source and line of a stage's line: in the input for stage 1, else in the decoded text."""
    return (source, first_line + line - 1) if stage == 1 else (f"{source}, stage {stage}", line)


def _behaviour_finding(found: FoundBehaviour, source: str, first_line: int) -> Finding[ScriptBehaviour]:
    rule = found.rule
    location, line = _location(source, found.stage, found.match.line, first_line)
    return Finding(
        title=rule.name,
        severity=rule.severity if found.is_hidden else rule.own_severity,
        confidence=Confidence.MEDIUM if rule.within == "script" else Confidence.HIGH,
        why=rule.why,
        evidence=(_evidence(location, found.match.excerpt, line),),
        techniques=tuple(rule.techniques),
        facts=ScriptBehaviour(behaviour=rule.name, does=rule.does, stage=found.stage),
    )


def _stage_finding(stage: Stage, index: int, source: str) -> Finding[ScriptStage]:
    parent = 0 if stage.parent is None else stage.parent
    return Finding(
        title=f"stage {index + 1}: {stage.how}",
        severity=Severity.LOW if stage.is_hidden else Severity.INFO,
        evidence=(_evidence(source, stage.text or stage.form, None),),
        techniques=("T1140",) if stage.is_hidden else (),
        facts=ScriptStage(
            stage=index + 1,
            parent=parent + 1,
            depth=stage.depth,
            language=str(stage.language),
            how=stage.how,
            is_hidden=stage.is_hidden,
            form=stage.form,
            size=len(stage.text),
            text=stage.text[:TEXT_CHARS],
        ),
    )


class _Parts(NamedTuple):
    """The commands and calls of all stages, in order; whether there are more than MAX_PARTS; stages split by lines."""

    found: list[Finding[ScriptPart]]
    is_cut: bool
    unparsed: list[int]


def _parts(stages: Sequence[Stage], source: str, first_line: int) -> _Parts:
    found: list[Finding[ScriptPart]] = []
    unparsed: list[int] = []
    seen: set[str] = set()
    rewritten = {stage.parent for stage in stages if stage.undone}
    for number, stage in enumerate(stages, start=1):
        if number - 1 in rewritten:
            continue
        if stage.is_evaluated and not stage.undone:
            continue  # its calls can be read in the script itself
        parts = parts_of(stage.text, stage.language)
        if not parts.is_parsed:
            unparsed.append(number)
        for part in parts.commands:
            if part.text in seen:
                continue
            if len(found) >= MAX_PARTS:
                return _Parts(found, is_cut=True, unparsed=unparsed)
            seen.add(part.text)
            location, line = _location(source, number, part.line, first_line)
            techniques = [one.behaviour.id for one in shown_by(part.text[:MAX_RANKED_CHARS]) if one.is_strong][:3]
            program = program_of(part)[:MAX_PROGRAM_CHARS]
            found.append(
                Finding(
                    title=program,
                    evidence=(_evidence(location, part.text, line),),
                    techniques=tuple(techniques),
                    facts=ScriptPart(stage=number, program=program, words=words_for(part), ranked=techniques),
                )
            )
    return _Parts(found, is_cut=False, unparsed=unparsed)


def _indicators(stages: Sequence[Stage]) -> Iterator[Finding[IndicatorFacts]]:
    """Yield the indicators of the stages from which nothing further was decoded."""
    parents = {stage.parent for stage in stages if stage.parent is not None and stage.is_hidden}
    seen: set[tuple[str, str]] = set()
    for index, stage in enumerate(stages):
        if index in parents or not stage.text:
            continue
        for event in indicators.indicators_of(stage.text, source=f"stage {index + 1}"):
            if (key := (event.facts.type, event.facts.value)) not in seen:
                seen.add(key)
                yield event
