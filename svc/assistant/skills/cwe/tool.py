"""Explain a CWE, or rank the CWEs that a text may describe. Tables: ``cwe.json``, ``weaknesses.toml``.

A text is scored by the words that people use for each weakness: the strongest word counts in full, each further one
adds a little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from svc.assistant import knowledge
from svc.assistant.file_types.text_shape import data_form, is_labelled_token, is_log, readable_lines
from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, ToolEvent
from svc.assistant.knowledge.cwe import FILE_NAME, Cwe, CweTable, Weakness, WeaknessTable
from svc.assistant.knowledge.word_patterns import word_pattern
from svc.assistant.skills.cwe.findings import CweCandidate, CweEntry

MAX_BLOCKS = 500  # texts of one input
MAX_BLOCK_CHARS = 20_000  # of one text; a description of a CVE has 4,000 at most
MAX_CANDIDATES = 5  # of one text
MAX_WORDS = 8  # listed for one candidate
EXCERPT_BEFORE, EXCERPT_CHARS = 60, 240
LEAST_WEIGHT = 2.0  # words below it appear in every advisory
CLEAR_MARGIN = 2.0  # between the scores of the first two candidates
FURTHER_WORD_SHARE = 0.15  # of its weight, that each word after the strongest one adds
CONSEQUENCE_SHARE = 0.75  # of the weight of a word after "resulting in": a consequence, not the weakness itself
ID_WEIGHT = 14.0  # the text names the CWE's ID
FULL_NAME_WEIGHT = 11.0  # the text has the full name; of two such names the longer one wins
MAX_CHILDREN = 40
NAME_IGNORED = frozenset([124, 126, 127])  # children of 787 and 125; CVE records use their names but assign the parent
_CONSEQUENCE = re.compile(
    r"\b(?:resultant|result(?:s|ing|ed)? in|leading to|(?:may|might|can|could|which|that|possibly) leads? to)\b",
    re.IGNORECASE,
)
_ID = re.compile(r"\bCWE[-_ ]?(\d{1,5})\b", re.IGNORECASE)
_WHICH = re.compile(
    r"\b(?:which|what|map|classif\w+|identif\w+|assign|determine|suggest)\b[^.?!\n]{0,60}\bCWEs?\b(?![-_ ]?\d)", re.I
)


class ScoredWeakness(msgspec.Struct, frozen=True):
    """A weakness that a text may describe, and the words of the text that suggest it, the strongest first."""

    weakness: Weakness
    score: float
    words: list[str]


def inspect(content: str, /, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """Yield a CweEntry for each CWE that ``question`` names, or else CweCandidates for each text in ``content``."""
    yield Progress(text=f"reading {source} with {len(_names()):,} weaknesses of {_edition()}")
    asked = list(dict.fromkeys(int(number) for number in _ID.findall(question)))
    if asked and not _WHICH.search(question):
        for number in asked:
            yield _explained(number, source)
        yield Coverage(
            read_as="question about CWE IDs",
            unit="CWE",
            understood=sum(number in _names() for number in asked),
            total=len(asked),
            looked_for=f"entries of {_edition()}",
            not_covered="categories, views and entries newer than the table are not in it",
        )
        return
    form = data_form(content)
    if is_log(form) or form.startswith(("binary", "a file of another", "a PEM")):
        yield Gap(text=f"{form}, not a text that describes a weakness")
        yield _coverage(0, readable_lines(content)[1], unit="line")
        return
    is_part = len(question) < len(content)  # a question that is all there is also describes the weakness
    blocks = list(_blocks(content.replace(question, " " * len(question), 1) if is_part else content))
    with_candidates = 0
    for number, (line, block) in enumerate(blocks[:MAX_BLOCKS], start=1):
        candidates = [] if is_labelled_token(block) and not _ID.search(block) else ranked(block)[:MAX_CANDIDATES]
        with_candidates += bool(candidates)
        evidence = Evidence(source=source, excerpt=block, line=line)
        for rank, candidate in enumerate(candidates, start=1):
            is_clear = rank == 1 and candidate.score - sum(one.score for one in candidates[1:2]) >= CLEAR_MARGIN
            yield _candidate(candidate, number, rank, evidence, is_clear=is_clear)
    if len(blocks) > MAX_BLOCKS:
        yield Gap(text=f"only the first {MAX_BLOCKS} of {len(blocks):,} texts were examined", in_headline=True)
    if not with_candidates:
        yield Gap(text="the text has no wording typical of a known weakness")
    yield Progress(text=f"examined {len(blocks):,} texts, {with_candidates:,} with a candidate")
    yield _coverage(with_candidates, len(blocks))


def _coverage(described: int, total: int, *, unit: str = "text") -> Coverage:
    return Coverage(
        read_as="description of weaknesses" if described else "text without a description of a weakness",
        unit=unit,
        understood=described,
        total=total,
        looked_for=f"the wording of {len(_ours()):,} weaknesses of {_edition()}",
        not_covered="weaknesses described in other words, or in a language other than English, are not recognised",
    )


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of an input with their first line: separated by empty lines or a line that begins with a CVE."""
    lines: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        is_new = re.match(r"\s{0,20}[-*•]?\s{0,20}CVE-\d{4}-\d+", line) is not None
        if lines and (not line.strip() or is_new):
            yield start, " ".join(lines)[:MAX_BLOCK_CHARS]
            lines = []
        if line.strip():
            start = start if lines else number
            lines.append(line.strip())


def ranked(text: str) -> list[ScoredWeakness]:
    """Return the weaknesses that the words of ``text`` suggest, the most likely first."""
    hits: dict[int, list[tuple[float, str]]] = {}
    for number in {int(number) for number in _ID.findall(text)}:
        hits.setdefault(number, []).append((ID_WEIGHT, f"CWE-{number}"))
    normalised = _normalised(text)
    for number, name in _normalised_names():
        if (position := normalised.find(name)) >= 0:
            share = _share(normalised, position)
            hits.setdefault(number, []).append((share * (FULL_NAME_WEIGHT + len(name) / 1_000), name))
    for weakness, patterns in _patterns():
        for pattern, weight in patterns:
            if match := pattern.search(text):
                share = _share(text, match.start())
                hits.setdefault(weakness.id, []).append((share * weight, match.group().strip()))
    scored = []
    for number, words in hits.items():
        words.sort(reverse=True)
        if words[0][0] >= LEAST_WEIGHT:
            score = words[0][0] + FURTHER_WORD_SHARE * sum(weight for weight, _ in words[1:])
            known = _ours().get(number) or Weakness(id=number, what="", fix=[], words=[])
            scored.append(ScoredWeakness(known, score, list(dict.fromkeys(word for _, word in words))))
    return sorted(scored, key=lambda one: -one.score)


def _share(text: str, position: int) -> float:
    """Return how much a word at ``position`` counts: less if the sentence already describes consequences there."""
    start = text.rfind(". ", 0, position) + 1
    return CONSEQUENCE_SHARE if _CONSEQUENCE.search(text, start, position) else 1.0


def _normalised(text: str) -> str:
    """Return the letters and digits of ``text`` in lower case, with one space between words."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower())


@cache
def _normalised_names() -> list[tuple[int, str]]:
    """Return the names of three words or more, which no sentence contains by chance, without parts in brackets."""
    names = [
        (entry.id, _normalised(re.sub(r"\([^)\n]{0,200}\)", "", entry.name)).strip()) for entry in _table().weaknesses
    ]
    return [(number, name) for number, name in names if name.count(" ") >= 2 and number not in NAME_IGNORED]


def _candidate(
    candidate: ScoredWeakness, block: int, rank: int, evidence: Evidence, *, is_clear: bool
) -> Finding[CweCandidate]:
    weakness, entry = candidate.weakness, _names().get(candidate.weakness.id)
    at = max(0, evidence.excerpt.find(candidate.words[0]) - EXCERPT_BEFORE)
    return Finding(
        title=f"CWE-{weakness.id} {entry.name if entry else ''}",
        confidence=Confidence.HIGH if is_clear else Confidence.MEDIUM if rank == 1 else Confidence.LOW,
        why=f"the text has: {', '.join(candidate.words[:4])}",
        evidence=(msgspec.structs.replace(evidence, excerpt=evidence.excerpt[at : at + EXCERPT_CHARS]),),
        facts=CweCandidate(
            block=block,
            rank=rank,
            id=f"CWE-{weakness.id}",
            name=entry.name if entry else "",
            score=round(candidate.score, 2),
            words=candidate.words[:MAX_WORDS],
            what=weakness.what,
            fix=list(weakness.fix),
            parents=_titled(entry.parents) if entry else [],
            table_version=_table().version,
            table_date=_table_date(),
        ),
    )


def _explained(number: int, source: str) -> ToolEvent:
    entry, ours = _names().get(number), _ours().get(number)
    if entry is None:
        return Gap(
            text=f"CWE-{number} is not in the table of {_edition()}: a category, a view, or newer than that; "
            "svc rules update --cwe FILE loads a newer list"
        )
    children = sorted(child.id for child in _names().values() if number in child.parents)
    return Finding(
        title=f"CWE-{number} {entry.name}",
        evidence=(Evidence(source=source, excerpt=f"CWE-{number}", line=1),),
        facts=CweEntry(
            id=f"CWE-{number}",
            name=entry.name,
            level=entry.level,
            status=entry.status,
            what=ours.what if ours else None,
            fix=list(ours.fix) if ours else [],
            parents=_titled(entry.parents),
            children=_titled(children[:MAX_CHILDREN]),
            table_version=_table().version,
            table_date=_table_date(),
        ),
    )


def _titled(ids: list[int]) -> list[str]:
    return [f"CWE-{number} {_names()[number].name}" if number in _names() else f"CWE-{number}" for number in ids]


def _edition() -> str:
    stated = _table_date()
    return f"CWE {_table().version}" + (f" of {stated}" if stated else "")


def _table_date() -> str | None:
    stated = _table().date
    return stated.isoformat() if stated else None


@cache
def _table() -> CweTable:
    return knowledge.load(FILE_NAME, CweTable)


@cache
def _names() -> dict[int, Cwe]:
    return {entry.id: entry for entry in _table().weaknesses}


@cache
def _ours() -> dict[int, Weakness]:
    return {entry.id: entry for entry in knowledge.load("weaknesses.toml", WeaknessTable).weaknesses}


@cache
def _patterns() -> list[tuple[Weakness, list[tuple[re.Pattern[str], float]]]]:
    return [(entry, [(word_pattern(pattern), weight) for pattern, weight in entry.words]) for entry in _ours().values()]
