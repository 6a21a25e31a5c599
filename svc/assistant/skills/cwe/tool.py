"""What a CWE is, and which CWE a text describes. Pure. Tables: ``cwe.json``, ``weaknesses.toml``.

A text is weighed by the words that people use of each weakness: the strongest word counts whole, others add a little.
Kinds: ``weakness`` (a candidate for a text) with ``block`` (int, from 1), ``rank`` (int, 1 is likeliest), ``id``
(``CWE-79``), ``name``, ``score`` (float), ``words`` (list of str: what led there), ``what``, ``fix`` (list of str),
``parents`` (list of str); ``cwe`` (one that was asked for) with ``id``, ``name``, ``level``, ``status``, ``what``,
``fix``, ``parents``, ``children`` (lists of ``CWE-n name``). Both have ``table_version`` and ``table_date``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from svc.assistant import knowledge
from svc.assistant.findings import Confidence, Evidence, Gap, Progress, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.cwe import FILE_NAME, Cwe, CweTable, Weakness, WeaknessTable

MAX_BLOCKS = 500  # texts of one input
MAX_BLOCK_CHARS = 20_000  # of one text; a description of a CVE has 4,000 at most
RANKS = 5  # candidates told of one text
LEAST_WEIGHT = 2.0  # less is a word that stands in every advisory
SURE_MARGIN = 2.0  # between the first two candidates
OTHER_WORDS = 0.15  # what each further word adds, of its weight
CONSEQUENCE_SHARE = 0.75  # of the weight of a word that stands after "resulting in": what follows, not what is wrong
NAMED_WEIGHT = 14.0  # the text itself names the id
FULL_NAME_WEIGHT = 11.0  # the text has the whole name; a tie goes to the longer one
MAX_CHILDREN = 40
FINER = frozenset([124, 126, 127])  # kinds of 787 and 125, whose names stand in texts that catalogues give those
_CONSEQUENCE = re.compile(
    r"\b(?:resultant|result(?:s|ing|ed)? in|leading to|(?:may|might|can|could|which|that|possibly) leads? to)\b",
    re.IGNORECASE,
)
_ID = re.compile(r"\bCWE[-_ ]?(\d{1,5})\b", re.IGNORECASE)
_WHICH = re.compile(
    r"\b(?:which|what|map|classif\w+|identif\w+|assign|determine|suggest)\b[^.?!\n]{0,60}\bCWEs?\b(?![-_ ]?\d)", re.I
)


def weigh(text: str, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """The CWEs that the question names, explained; else candidates for each text, likeliest first."""
    yield Progress(text=f"reading {source} with {len(_names()):,} weaknesses of CWE {_table().version}")
    asked = list(dict.fromkeys(int(number) for number in _ID.findall(question)))
    if asked and not _WHICH.search(question):
        for number in asked:
            yield _explained(number, source)
        return
    blocks = list(_blocks(text.replace(question, " " * len(question), 1) if len(question) < len(text) else text))
    found = 0
    for number, (line, block) in enumerate(blocks[:MAX_BLOCKS], start=1):
        candidates = ranked(block)[:RANKS]
        found += bool(candidates)
        yield from _candidates(candidates, number, block, Evidence(source=source, excerpt=block[:300], line=line))
    if len(blocks) > MAX_BLOCKS:
        yield Gap(text=f"only the first {MAX_BLOCKS} of {len(blocks):,} texts were weighed")
    if blocks and not found:
        yield Gap(text="no words in it that texts about a known weakness use")
    yield Progress(text=f"weighed {len(blocks):,} texts, {found:,} with a candidate")


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The texts in an input with the line that each begins at: parted by empty lines or a CVE in front."""
    lines: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        is_new = re.match(r"\s*[-*•]?\s*CVE-\d{4}-\d+", line) is not None
        if lines and (not line.strip() or is_new):
            yield start, " ".join(lines)[:MAX_BLOCK_CHARS]
            lines = []
        if line.strip():
            start = start if lines else number
            lines.append(line.strip())


def ranked(text: str) -> list[tuple[Weakness, float, list[str]]]:
    """Weaknesses whose words stand in the text, likeliest first, each with its score and those words."""
    hits: dict[int, list[tuple[float, str]]] = {}
    for number in {int(number) for number in _ID.findall(text)}:
        hits.setdefault(number, []).append((NAMED_WEIGHT, f"CWE-{number}"))
    plain = _plain(text)
    for number, name in _plain_names():
        if (position := plain.find(name)) >= 0:
            share = _share(plain, position)
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
            score = words[0][0] + OTHER_WORDS * sum(weight for weight, _ in words[1:])
            known = _ours().get(number) or Weakness(id=number, what="", fix=[], words=[])
            scored.append((known, score, list(dict.fromkeys(word for _, word in words))))
    return sorted(scored, key=lambda entry: -entry[1])


def _share(text: str, position: int) -> float:
    """How much a word counts there: less where the sentence tells by then what a weakness results in."""
    start = text.rfind(". ", 0, position) + 1
    return CONSEQUENCE_SHARE if _CONSEQUENCE.search(text, start, position) else 1.0


def _plain(text: str) -> str:
    """Letters and digits alone, in small letters, a blank between words."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower())


@cache
def _plain_names() -> list[tuple[int, str]]:
    """The names that no sentence has by chance: of three words at least, without what stands in brackets."""
    names = [(entry.id, _plain(re.sub(r"\(.*?\)", "", entry.name)).strip()) for entry in _table().weaknesses]
    return [(number, name) for number, name in names if name.count(" ") >= 2 and number not in FINER]


def _candidates(
    candidates: list[tuple[Weakness, float, list[str]]], block: int, text: str, evidence: Evidence
) -> Iterator[Finding]:
    scores = [score for _, score, _ in candidates]
    for rank, (weakness, score, words) in enumerate(candidates, start=1):
        name = _names()[weakness.id].name if weakness.id in _names() else ""
        is_sure = rank == 1 and score - (scores[1] if len(scores) > 1 else 0.0) >= SURE_MARGIN
        at = max(0, text.find(words[0]) - 60)
        yield Finding(
            kind="weakness",
            title=f"CWE-{weakness.id} {name}",
            confidence=Confidence.HIGH if is_sure else Confidence.MEDIUM if rank == 1 else Confidence.LOW,
            why=f"the text says: {', '.join(words[:4])}",
            evidence=(msgspec.structs.replace(evidence, excerpt=text[at : at + 240]),),
            attributes={
                "block": block,
                "rank": rank,
                "id": f"CWE-{weakness.id}",
                "name": name,
                "score": round(score, 2),
                "words": list(words[:8]),
                "what": weakness.what,
                "fix": list(weakness.fix),
                "parents": _titled(_names()[weakness.id].parents) if weakness.id in _names() else [],
                "table_version": _table().version,
                "table_date": _dated(),
            },
        )


def _explained(number: int, source: str) -> ToolEvent:
    entry, ours = _names().get(number), _ours().get(number)
    if entry is None:
        return Gap(
            text=f"CWE-{number} is not in the table of CWE {_table().version}: a category, a view, or newer than that; "
            "svc rules update --cwe FILE reads a newer list"
        )
    children = sorted(child.id for child in _names().values() if number in child.parents)
    return Finding(
        kind="cwe",
        title=f"CWE-{number} {entry.name}",
        evidence=(Evidence(source=source, excerpt=f"CWE-{number}", line=1),),
        attributes={
            "id": f"CWE-{number}",
            "name": entry.name,
            "level": entry.level,
            "status": entry.status,
            "what": ours.what if ours else None,
            "fix": list(ours.fix) if ours else [],
            "parents": _titled(entry.parents),
            "children": _titled(children[:MAX_CHILDREN]),
            "table_version": _table().version,
            "table_date": _dated(),
        },
    )


def _titled(ids: list[int]) -> list[str | int | float | bool | None]:
    return [f"CWE-{number} {_names()[number].name}" if number in _names() else f"CWE-{number}" for number in ids]


def _dated() -> str | None:
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
    return [
        (entry, [(re.compile(pattern, re.IGNORECASE), weight) for pattern, weight in entry.words])
        for entry in _ours().values()
    ]
