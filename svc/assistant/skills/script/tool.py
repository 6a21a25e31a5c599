"""Explain a script or a command: its parts in words, its stages decoded, what it does, and what that comes to.

Decides by words alone: nothing is run, nothing is fetched. Languages: ``script_language``; stages: ``script_stages``;
behaviours and the verdict: ``script_behaviours``; techniques: ``command_techniques``.

Finding kinds and their attributes:

``script``: verdict (str: malicious, suspicious, unusual, ordinary), language (str), stages (int), hidden_stages (int),
parts (int), reasons (list of str, worst first), ranked (list of str, technique ids, likeliest first), scores (list of
float), shown_by (list of str, the words that show each), table_version, table_date (str).

``script_behaviour``: behaviour (str), does (str, the kind of behaviour), stage (int, from 1).

``script_stage``: stage (int, from 1), parent (int), depth (int), language (str), how (str), is_hidden (bool), form
(str), size (int), text (str, at most TEXT_CHARS).

``script_part``: stage (int), program (str), words (str: what it does, "" where unknown), ranked (list of str).

``indicator``: those of the stages that lead no further, as ``indicators.py`` describes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Severity, ToolEvent
from svc.assistant.findings import Finding as TypedFinding
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.script.behaviours import Behaviour, Seen, Verdict, behaviours_in, verdict_on
from svc.assistant.skills.script.commands import parts_of
from svc.assistant.skills.script.explain import program_of, words_for
from svc.assistant.skills.script.language import called_command, language_of, looks_like_script, script_in
from svc.assistant.skills.script.stages import MAX_STAGE_CHARS, MAX_STAGES, Stage, stages_of
from svc.assistant.skills.script.techniques import MAX_COMMAND_CHARS, shown_by, table

PROMPT = "prompt"  # what evidence from the prompt is called
MAX_PARTS = 120  # that are explained, over all stages
MAX_RANKED = 10
MAX_RANKED_CHARS = 1_000  # of one command whose techniques are looked for
MAX_RANKED_PARTS = 400  # whose techniques are looked for one by one
TEXT_CHARS = 20_000
EXCERPT_CHARS = 300
_ORDER = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW, Severity.INFO)
_SEVERITY = {
    Verdict.MALICIOUS: Severity.CRITICAL,
    Verdict.SUSPICIOUS: Severity.HIGH,
    Verdict.UNUSUAL: Severity.MEDIUM,
    Verdict.ORDINARY: Severity.INFO,
}


class _Found(msgspec.Struct, frozen=True):
    """A behaviour and the number of the stage in which it was first seen."""

    seen: Seen
    stage: int
    is_hidden: bool


def explain(text: str, *, source: str) -> Iterator[ToolEvent]:
    """What the script in ``text`` does: its verdict first, then behaviours, stages, parts and indicators."""
    yield Progress(text=f"reading {source} as a script")
    script, first_line = script_in(text) if source == PROMPT else (text, 1)
    is_called = source == PROMPT and called_command(text) is not None
    if not script.strip() or not (is_called or looks_like_script(script)):
        yield Gap(text="no command or script is in it that could be explained")
        return
    if len(script) > MAX_STAGE_CHARS:
        yield Gap(text=f"only the first {MAX_STAGE_CHARS:,} characters were looked at")
    language = language_of(script, name="" if source == PROMPT else source)
    stages = []
    for stage in stages_of(script, language):
        stages.append(stage)
        yield Progress(text=f"stage {len(stages)}: {stage.how} ({stage.language}, {len(stage.text):,} characters)")
    if len(stages) >= MAX_STAGES:
        yield Gap(text=f"stopped after {MAX_STAGES} stages")
    found = list(_behaviours(stages))
    parts, is_cut = _parts(stages, source, first_line)
    yield Progress(text=f"commands and calls: {len(parts):,}, behaviours: {len(found):,}")
    yield _verdict(stages, found, parts, source, first_line)
    yield from (_behaviour(one, source, first_line) for one in found)
    yield from (_stage(stages, index, source, first_line) for index in range(1, len(stages)))
    yield from parts
    if is_cut:
        yield Gap(text=f"only the first {MAX_PARTS} commands and calls are explained one by one")
    yield from _indicators(stages)


def _behaviours(stages: Sequence[Stage]) -> Iterator[_Found]:
    """Each behaviour once, worst first; to be written so that it cannot be read is one, too."""
    found: dict[str, _Found] = {}
    for number, stage in enumerate(stages, start=1):
        if stage.undone and stage.is_hidden:
            seen = Seen(_hard_to_read(stage.undone), 1, stage.text.strip())
            found.setdefault(seen.behaviour.name, _Found(seen, number, is_hidden=False))
    for number, stage in enumerate(stages, start=1):
        is_hidden = any(one.is_hidden for one in _way_to(stages, stage))
        for seen in behaviours_in(stage.text):
            found.setdefault(seen.behaviour.name, _Found(seen, number, is_hidden))
    yield from sorted(found.values(), key=lambda one: _ORDER.index(one.seen.behaviour.severity))


def _hard_to_read(undone: Sequence[str]) -> Behaviour:
    return Behaviour(
        name="is written so that it is hard to read",
        does="obfuscation",
        severity=Severity.MEDIUM,
        techniques=["T1027.010"],
        why=f"it uses {', '.join(undone)}",
    )


def _way_to(stages: Sequence[Stage], stage: Stage) -> Iterator[Stage]:
    """The stage and those that it came out of."""
    current: Stage | None = stage
    while current is not None:
        yield current
        current = None if current.parent is None else stages[current.parent]


def _verdict(
    stages: Sequence[Stage], found: Sequence[_Found], parts: Sequence[Finding], source: str, first_line: int
) -> Finding:
    programs = [stage for stage in stages if not stage.text and stage.form != "text"]
    severities = [one.seen.behaviour.severity for one in found] + [Severity.CRITICAL for _ in programs]
    is_hidden = any(one.is_hidden and one.seen.behaviour.severity in _ORDER[:3] for one in found)
    verdict = verdict_on(severities, is_hidden=is_hidden)
    ranked = _ranked(stages)
    reasons = [f"carries {stage.form} inside" for stage in programs]
    reasons += [one.seen.behaviour.name for one in found if one.seen.behaviour.severity in _ORDER[:3]]
    return Finding(
        kind="script",
        title=f"{stages[0].language} script: {verdict}",
        severity=_SEVERITY[verdict],
        confidence=Confidence.HIGH if verdict is Verdict.MALICIOUS else Confidence.MEDIUM,
        why="; ".join(reasons[:4]),
        evidence=(_evidence(source, stages[0].text.strip(), first_line),),
        techniques=tuple(technique for technique, _, _ in ranked[:3]),
        attributes={
            "verdict": str(verdict),
            "language": str(stages[0].language),
            "stages": len(stages),
            "hidden_stages": sum(1 for stage in stages if stage.is_hidden),
            "parts": len(parts),
            "reasons": list(reasons),
            "ranked": [technique for technique, _, _ in ranked],
            "scores": [score for _, score, _ in ranked],
            "shown_by": [words[:EXCERPT_CHARS] for _, _, words in ranked],
            "table_version": table().version,
            "table_date": table().date.isoformat(),
        },
    )


def _ranked(stages: Sequence[Stage]) -> list[tuple[str, float, str]]:
    """The techniques of all stages; in a long script those of each command, since words far apart mean nothing."""
    best: dict[str, tuple[float, str]] = {}
    for text in _texts(stages):
        for one in shown_by(text):
            if one.score > best.get(one.behaviour.id, (0.0, ""))[0]:
                best[one.behaviour.id] = (one.score, one.words)
    ranked = [(technique, score, words) for technique, (score, words) in best.items()]
    return sorted(ranked, key=lambda entry: -entry[1])[:MAX_RANKED]


def _texts(stages: Sequence[Stage]) -> Iterator[str]:
    left = MAX_RANKED_PARTS
    for stage in stages:
        if len(stage.text) <= MAX_COMMAND_CHARS // 4:
            yield stage.text
            continue
        for part in parts_of(stage.text, stage.language):
            if left <= 0:
                return
            left -= 1
            yield part.text[:MAX_RANKED_CHARS]


def _evidence(source: str, excerpt: str, line: int | None) -> Evidence:
    return Evidence(source=source, excerpt=excerpt[:EXCERPT_CHARS], line=line)


def _place(source: str, stage: int, line: int, first_line: int) -> tuple[str, int]:
    """Where a line of a stage stands: in the input, or in what was decoded from it."""
    return (source, first_line + line - 1) if stage == 1 else (f"{source}, stage {stage}", line)


def _behaviour(found: _Found, source: str, first_line: int) -> Finding:
    behaviour = found.seen.behaviour
    place, line = _place(source, found.stage, found.seen.line, first_line)
    return Finding(
        kind="script_behaviour",
        title=behaviour.name,
        severity=behaviour.severity,
        confidence=Confidence.MEDIUM if behaviour.within == "script" else Confidence.HIGH,
        why=behaviour.why,
        evidence=(_evidence(place, found.seen.excerpt, line),),
        techniques=tuple(behaviour.techniques),
        attributes={"behaviour": behaviour.name, "does": behaviour.does, "stage": found.stage},
    )


def _stage(stages: Sequence[Stage], index: int, source: str, first_line: int) -> Finding:
    stage = stages[index]
    parent = 0 if stage.parent is None else stage.parent
    return Finding(
        kind="script_stage",
        title=f"stage {index + 1}: {stage.how}",
        severity=Severity.LOW if stage.is_hidden else Severity.INFO,
        evidence=(_evidence(source, stage.text or stage.form, None),),
        techniques=("T1140",) if stage.is_hidden else (),
        attributes={
            "stage": index + 1,
            "parent": parent + 1,
            "depth": stage.depth,
            "language": str(stage.language),
            "how": stage.how,
            "is_hidden": stage.is_hidden,
            "form": stage.form,
            "size": len(stage.text),
            "text": stage.text[:TEXT_CHARS],
        },
    )


def _parts(stages: Sequence[Stage], source: str, first_line: int) -> tuple[list[Finding], bool]:
    """The commands and calls of all stages, in order, and whether there are more than are explained."""
    found: list[Finding] = []
    seen: set[str] = set()
    rewritten = {stage.parent for stage in stages if stage.undone}
    for number, stage in enumerate(stages, start=1):
        for part in parts_of(stage.text, stage.language) if number - 1 not in rewritten else ():
            if part.text in seen:
                continue
            if len(found) >= MAX_PARTS:
                return found, True
            seen.add(part.text)
            place, line = _place(source, number, part.line, first_line)
            techniques = [one.behaviour.id for one in shown_by(part.text[:MAX_RANKED_CHARS]) if one.is_strong][:3]
            found.append(
                Finding(
                    kind="script_part",
                    title=program_of(part)[:80],
                    evidence=(_evidence(place, part.text, line),),
                    techniques=tuple(techniques),
                    attributes={
                        "stage": number,
                        "program": program_of(part)[:80],
                        "words": words_for(part),
                        "ranked": list(techniques),
                    },
                )
            )
    return found, False


def _indicators(stages: Sequence[Stage]) -> Iterator[TypedFinding[IndicatorFacts]]:
    """The indicators of the stages from which nothing further was decoded."""
    parents = {stage.parent for stage in stages if stage.parent is not None and stage.is_hidden}
    seen: set[tuple[object, object]] = set()
    for index, stage in enumerate(stages):
        if index in parents or not stage.text:
            continue
        for item in indicators.inspect(stage.text, source=f"stage {index + 1}"):
            if isinstance(item, TypedFinding) and (key := (item.facts.type, item.facts.value)) not in seen:
                seen.add(key)
                yield item
