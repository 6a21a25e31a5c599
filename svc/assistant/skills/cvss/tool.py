"""Score every CVSS vector in a text, explain its metrics and what would lower it, or say what is wrong with it.

Decides where a vector starts and ends, its version if that is not stated, and which metric is at fault; not
whether a score is apt. A text without a vector that describes a vulnerability gets an estimate (``described.py``).
Formulas: the ``cvss`` library. Metrics and their meaning: ``metrics.toml``.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterator
from functools import cache

import msgspec
from cvss import CVSS2, CVSS3, CVSS4, CVSSError

from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.knowledge import load
from svc.assistant.skills.cvss.described import Description, descriptions
from svc.assistant.skills.cvss.estimate import Estimate, estimate
from svc.assistant.skills.cvss.findings import (
    AllowedRow,
    ChangeRow,
    CvssBroken,
    CvssEstimate,
    CvssScore,
    EstimateRow,
    MetricRow,
)

MAX_VECTORS = 20_000  # different ones of one text
MAX_EXPLAINED = 50  # what would lower a score is computed for so many vectors; it takes 5 to 20 ms each
MAX_CANDIDATE_CHARS = 600  # a 4.0 vector with every metric has 250
MAX_DESCRIPTIONS = 500  # of vulnerabilities, estimated in one text
EXCERPT_CHARS = 400
MAX_REPAIRS = 3  # metrics at fault up to which the range of possible scores is computed
PROGRESS_EVERY = 1_000  # vectors

_FIELD = r"[A-Za-z]{1,4}[ \t]?:[ \t]?[A-Za-z0-9?_-]{0,12}"
_VECTOR = re.compile(
    r"(?P<prefix>\bCVSS(?:v?[234](?:\.\d)?)?[:# \t]{0,2}(?:v?\d(?:\.\d{1,2})?\b)?[ \t]{0,2}[/:#(][ \t]?\(?)"
    rf"(?P<prefixed>(?:{_FIELD}[ \t]?/[ \t]?){{0,60}}[A-Za-z][^\s,;\"'<>()\[\]{{}}|`]{{0,{MAX_CANDIDATE_CHARS}}})"
    rf"|(?<![A-Za-z0-9:/.])(?P<bare>{_FIELD}(?:[ \t]?/{{1,2}}[ \t]?{_FIELD}){{2,60}})",
    re.IGNORECASE,
)
_VERSION_IN_PREFIX = re.compile(r"CVSS[ \t:]{0,8}v?(\d(?:\.\d{1,2})?)", re.IGNORECASE)
_VERSION_BEFORE = re.compile(r"CVSS[ \t:]{0,8}(?:v|version)?[ \t]{0,8}([234]\.\d)(?![^/\n]{0,60}/)", re.IGNORECASE)
LOOK_BACK_CHARS = 60  # where "CVSS v3.0 vector:" may stand before a vector without prefix

VERSIONS = ("3.1", "4.0", "2.0", "3.0")  # in the order in which a tie is decided
_NOT_STATED = {"2": "ND", "3": "X", "4": "X"}


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metric of one version; ``values`` maps each value to its meaning."""

    name: str = ""
    group: str = ""
    values: dict[str, str] = {}
    modifies: str = ""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    version: str
    date: datetime.date
    v2: dict[str, Metric] = msgspec.field(name="2", default_factory=dict)
    v3: dict[str, Metric] = msgspec.field(name="3", default_factory=dict)
    v4: dict[str, Metric] = msgspec.field(name="4", default_factory=dict)


class _Read(msgspec.Struct, frozen=True):
    """A vector taken apart: the version it is read as, its metrics in the order given, and what is wrong."""

    version: str
    metrics: dict[str, str]
    problems: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Seen(msgspec.Struct):
    """A vector as it stands. ``version`` was stated in its prefix, ``hint`` somewhere before it; None: nowhere."""

    evidence: Evidence
    version: str | None
    hint: str | None
    text: str
    count: int = 1


class _Scores(msgspec.Struct, frozen=True):
    score: float
    rating: str
    which: str
    base: float
    temporal: float | None = None
    environmental: float | None = None
    impact: float | None = None
    exploitability: float | None = None


@cache
def metrics_of(version: str) -> dict[str, Metric]:
    """Each metric of a version ("2.0", "3.0", "3.1", "4.0") in the specification's order."""
    table = load("metrics.toml", _Table, __package__)
    known = {"2": table.v2, "3": table.v3, "4": table.v4}[version[0]]
    return {key: _expanded(metric, known) for key, metric in known.items()}


def _expanded(metric: Metric, known: dict[str, Metric]) -> Metric:
    if not metric.modifies:
        return metric
    base = known[metric.modifies]
    values = {"X": "as the base metric", **metric.values, **base.values}
    return Metric(name=f"Modified {base.name[0].lower()}{base.name[1:]}", group="environmental", values=values)


@cache
def _spelling(version: str) -> dict[str, str]:
    return {key.upper(): key for key in metrics_of(version)}


@cache
def _mandatory(version: str) -> tuple[str, ...]:
    return tuple(key for key, metric in metrics_of(version).items() if metric.group == "base")


def _fit(version: str, fields: list[tuple[str, str]]) -> tuple[int, int]:
    """How many fields are right in this version, and (as a negative number) how many required ones are missing."""
    known, spelling = metrics_of(version), _spelling(version)
    names = [(spelling.get(key.upper()), value.upper()) for key, value in fields]
    values = sum(1 for key, value in names if key and value in (v.upper() for v in known[key].values))
    present = {key for key, _ in names if key}
    return values, -sum(1 for key in _mandatory(version) if key not in present)


def _fields(text: str) -> list[tuple[str, str]]:
    pieces = [piece.strip() for piece in text.strip("/ \t").split("/")]
    return [(key.strip(), value.strip()) for key, _, value in (piece.partition(":") for piece in pieces)]


def read(text: str, stated: str | None, hint: str | None = None) -> _Read:
    """Take one vector apart. ``stated`` is the version in its prefix, ``hint`` one named before it; None: none is."""
    fields = _fields(text)
    version, problems, notes = _settle_version(stated, hint, fields)
    known, spelling = metrics_of(version), _spelling(version)
    metrics: dict[str, str] = {}
    wrong: list[str] = []
    for name, value in fields:
        key = spelling.get(name.upper())
        fault = _fault(name, value, key, version, metrics)
        if fault is None and key is not None:
            metrics[key] = next(v for v in known[key].values if v.upper() == value.upper())
            continue
        problems.append(fault or "")
        wrong.append(key or name or "/")
        metrics.pop(key or "", None)
    missing = tuple(key for key in _mandatory(version) if key not in metrics and key not in wrong)
    if missing:
        problems.append("missing: " + ", ".join(f"{key} ({known[key].name.lower()})" for key in missing))
    notes += _notes(version, fields, metrics)
    return _Read(version, metrics, tuple(problems), tuple(dict.fromkeys(wrong)), missing, tuple(notes))


def _settle_version(
    stated: str | None, hint: str | None, fields: list[tuple[str, str]]
) -> tuple[str, list[str], list[str]]:
    """The version to read a vector as, with problems and notes."""
    guessed = max(VERSIONS, key=lambda version: _fit(version, fields))
    if stated is None and hint in VERSIONS and hint[0] == guessed[0]:
        return hint, [], [f"read as {hint}, the version named before it"]
    if stated is None and guessed == "2.0":
        return guessed, [], []  # vectors of version 2 have no prefix
    if stated is None:
        return guessed, [], [f"no version prefix; read as {guessed} by its metrics"]
    full = {"2": "2.0", "3": "3.1", "4": "4.0"}.get(stated, stated)
    if full not in VERSIONS:
        return guessed, [f"there is no CVSS {stated}: the versions are 2.0, 3.0, 3.1 and 4.0"], []
    if _fit(full, fields)[0] >= _fit(guessed, fields)[0]:
        return full, [], []
    return (
        full,
        [f"it says {full}, but these are metrics and values of {guessed}{_score_if_valid(guessed, fields)}"],
        [],
    )


def _score_if_valid(version: str, fields: list[tuple[str, str]]) -> str:
    found = read("/".join(f"{key}:{value}" for key, value in fields), version)
    return "" if found.problems else f": read as {version} it scores {compute(version, found.metrics).score}"


def _fault(name: str, value: str, key: str | None, version: str, metrics: dict[str, str]) -> str | None:
    if not name and not value:
        return "an empty field: two slashes with nothing between"
    if key is None:
        others = sorted({v for v in VERSIONS if name.upper() in _spelling(v)})
        where = f" ({name} belongs to {', '.join(others)})" if others else ""
        return f"{name or value} is not a metric of {version}{where}"
    if key in metrics:
        return f"{key} is given twice: as {metrics[key]} and as {value or 'nothing'}"
    allowed = metrics_of(version)[key].values
    if value.upper() not in (known.upper() for known in allowed):
        return f"{key}:{value} is wrong: {key} ({metrics_of(version)[key].name.lower()}) is {_either(list(allowed))}"
    return None


def _either(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"


def _notes(version: str, fields: list[tuple[str, str]], metrics: dict[str, str]) -> list[str]:
    notes = []
    if any(f"{key}:{value}" not in {f"{k}:{v}" for k, v in metrics.items()} for key, value in fields if key in metrics):
        notes.append("upper and lower case corrected")
    given = [key for key in metrics if key in _spelling(version).values()]
    if version == "4.0" and given != [key for key in metrics_of(version) if key in metrics]:
        notes.append("CVSS 4.0 requires a fixed order of the metrics; corrected")
    return notes


def written(version: str, metrics: dict[str, str]) -> str:
    """The vector as the specification writes it, without metrics that are not stated."""
    fields = [
        f"{key}:{metrics[key]}"
        for key in metrics_of(version)
        if key in metrics and metrics[key] != _NOT_STATED[version[0]]
    ]
    return ("" if version == "2.0" else f"CVSS:{version}/") + "/".join(fields)


def compute(version: str, metrics: dict[str, str]) -> _Scores:
    """The scores of a whole vector. Raises CVSSError where the library refuses it."""
    vector = written(version, metrics)
    match version[0]:
        case "2":
            return _scores_2(CVSS2(vector))
        case "3":
            return _scores_3(CVSS3(vector), metrics)
        case _:
            return _scores_4(CVSS4(vector), metrics)


def _scores_2(scored: CVSS2) -> _Scores:
    base, temporal, environmental = scored.scores()
    which = "base" if temporal is None else "temporal"
    score = base if temporal is None else temporal
    if environmental is not None:
        which, score = "environmental", environmental
    rating = "low" if score < 4 else "medium" if score < 7 else "high"
    exploitability = 20 * scored.get_value("AV") * scored.get_value("AC") * scored.get_value("Au")
    impact = round(float(scored.impact_equation()), 1)
    return _Scores(score, rating, which, base, temporal, environmental, impact, round(float(exploitability), 1))


def _scores_3(scored: CVSS3, metrics: dict[str, str]) -> _Scores:
    groups = {metrics_of("3.1")[key].group for key, value in metrics.items() if value != "X"}
    base, temporal, environmental = scored.scores()
    has_temporal, has_environmental = "temporal" in groups, "environmental" in groups
    which = "environmental" if has_environmental else "temporal" if has_temporal else "base"
    score = {"environmental": environmental, "temporal": temporal, "base": base}[which]
    return _Scores(
        score,
        rating_of(score),
        which,
        base,
        temporal if has_temporal else None,
        environmental if has_environmental else None,
        max(0.0, round(float(scored.isc), 1)),
        round(float(scored.esc), 1),
    )


def _scores_4(scored: CVSS4, metrics: dict[str, str]) -> _Scores:
    groups = {metrics_of("4.0")[key].group for key, value in metrics.items() if value != "X"}
    which = "CVSS-B" + ("T" if "threat" in groups else "") + ("E" if "environmental" in groups else "")
    base_only = {key: value for key, value in metrics.items() if metrics_of("4.0")[key].group == "base"}
    base = scored.base_score if which == "CVSS-B" else CVSS4(written("4.0", base_only)).base_score
    return _Scores(scored.base_score, rating_of(scored.base_score), which, base)


def rating_of(score: float) -> str:
    """The word for a score of version 3 or 4 (CVSS 3.1, section 5; 4.0, section 6)."""
    bounds = ((0.0, "none"), (3.9, "low"), (6.9, "medium"), (8.9, "high"))
    return next((word for top, word in bounds if score <= top), "critical")


def _changes(version: str, metrics: dict[str, str], score: float) -> list[ChangeRow]:
    """Return every change of one metric that lowers the score, largest reduction first."""
    lower = []
    for key, metric in metrics_of(version).items():
        current = metrics.get(key, _NOT_STATED[version[0]])
        if metric.group not in ("base", "temporal", "threat"):
            continue
        for value, meaning in metric.values.items():
            if value in (current, _NOT_STATED[version[0]]):
                continue
            changed = compute(version, {**metrics, key: value}).score
            if changed < score:
                start = f"{key}:{current}" if key in metrics else f"{key} not stated"
                lower.append(ChangeRow(f"{start} to {key}:{value}", changed, f"{metric.name}: {meaning}"))
    return sorted(lower, key=lambda change: change.score)


def _range_when_repaired(found: _Read) -> tuple[float | None, float | None]:
    known = metrics_of(found.version)
    open_metrics = [key for key in (*found.wrong, *found.missing) if key in known and key not in found.metrics]
    unrepaired = [key for key in _mandatory(found.version) if key not in found.metrics and key not in open_metrics]
    if unrepaired or len(open_metrics) > MAX_REPAIRS:
        return None, None
    choices = itertools.product(*(known[key].values for key in open_metrics))
    scores = [
        compute(found.version, {**found.metrics, **dict(zip(open_metrics, values, strict=True))}).score
        for values in choices
    ]
    return min(scores), max(scores)


def _scored_finding(seen: _Seen, found: _Read, *, is_explained: bool) -> Finding[CvssScore]:
    scores = compute(found.version, found.metrics)
    changes = _changes(found.version, found.metrics, scores.score) if is_explained else []
    known = metrics_of(found.version)
    vector = written(found.version, found.metrics)
    return Finding(
        title=f"CVSS {found.version}: {scores.score} {scores.rating}",
        severity=Severity.INFO if scores.rating == "none" else Severity(scores.rating),
        why=f"{scores.which} score of {vector}",
        evidence=(seen.evidence,),
        facts=CvssScore(
            vector=vector,
            version=found.version,
            score=scores.score,
            rating=scores.rating,
            nomenclature=scores.which,
            base_score=scores.base,
            temporal_score=scores.temporal,
            environmental_score=scores.environmental,
            impact=scores.impact,
            exploitability=scores.exploitability,
            metrics=[
                MetricRow(f"{key}:{found.metrics[key]}", metric.name, metric.values[found.metrics[key]])
                for key, metric in known.items()
                if key in found.metrics
            ],
            changes=changes,
            notes=list(found.notes),
            count=seen.count,
        ),
    )


def _broken_finding(seen: _Seen, found: _Read) -> Finding[CvssBroken]:
    known = metrics_of(found.version)
    lowest, highest = _range_when_repaired(found)
    return Finding(
        title=f"not a valid CVSS {found.version} vector",
        why="; ".join(found.problems),
        evidence=(seen.evidence,),
        facts=CvssBroken(
            vector=seen.text,
            version=found.version,
            problems=list(found.problems),
            at_fault=[
                AllowedRow(key, ", ".join(known[key].values) if key in known else "")
                for key in (*found.wrong, *found.missing)
            ],
            lowest_score=lowest,
            highest_score=highest,
            count=seen.count,
        ),
    )


def _candidates(text: str, source: str) -> Iterator[_Seen]:
    line, counted = 1, 0
    for match in _VECTOR.finditer(text):
        vector = (match["prefixed"] or match["bare"]).rstrip(".,;:!?*_ \t")
        if not _looks_like_vector(vector, is_prefixed=match["prefixed"] is not None):
            continue
        line += text.count("\n", counted, match.start())
        stated = _VERSION_IN_PREFIX.match(match["prefix"] or "")
        before = text[max(0, match.start() - LOOK_BACK_CHARS) : match.start()].rpartition("\n")[2]
        named = None if stated else _VERSION_BEFORE.search(before)
        evidence = Evidence(source=source, excerpt=match[0].rstrip(".,;:!?*_ \t"), line=line)
        yield _Seen(evidence, stated[1] if stated else None, named[1] if named else None, vector)
        counted = match.start()


def _looks_like_vector(vector: str, *, is_prefixed: bool) -> bool:
    fields = _fields(vector)
    known = sum(1 for key, _ in fields if any(key.upper() in _spelling(version) for version in VERSIONS))
    return known >= (1 if is_prefixed else 3) and len(fields) >= 2


def inspect(content: str, *, source: str = "prompt", question: str = "") -> Iterator[ToolEvent]:
    """Yield a CvssScore or a CvssBroken for each vector, in order; equal vectors are counted together.

    A text without a vector yields a CvssEstimate for each vulnerability that it describes.

    Args:
        content: The text with the vectors or the descriptions.
        source: Its name in the evidence.
        question: The part of ``content`` that is the user's question: not a part of a description.
    """
    vectors: dict[tuple[str | None, str | None, str], _Seen] = {}
    is_cut = False
    for seen in _candidates(content, source):
        first = vectors.setdefault((seen.version, seen.hint, seen.text), seen)
        if first is not seen:
            first.count += 1
        elif len(vectors) > MAX_VECTORS:
            del vectors[seen.version, seen.hint, seen.text]
            yield Gap(text=f"stopped after {MAX_VECTORS:,} different CVSS vectors; line {seen.evidence.line} and on")
            is_cut = True
            break
    if not vectors:
        yield from _estimates(content, source, question)
        return
    yield Progress(
        text=f"CVSS vectors: {sum(seen.count for seen in vectors.values()):,}, different ones: {len(vectors):,}"
    )
    for index, seen in enumerate(vectors.values()):
        yield _judge(seen, is_explained=index < MAX_EXPLAINED)
        if index and index % PROGRESS_EVERY == 0:
            yield Progress(text=f"scored {index:,} of {len(vectors):,} CVSS vectors")
    if len(vectors) > MAX_EXPLAINED:
        yield Gap(text=f"score reductions were calculated only for the first {MAX_EXPLAINED} vectors alone")
    yield _coverage(len(vectors), is_cut=is_cut)


def _estimates(content: str, source: str, question: str) -> Iterator[ToolEvent]:
    found = list(itertools.islice(descriptions(content, question), MAX_DESCRIPTIONS + 1))
    if not found:
        yield Gap(text="no CVSS vector found")
        yield _coverage(0, is_cut=False)
        return
    yield Progress(text=f"no CVSS vector; estimating it for {len(found[:MAX_DESCRIPTIONS]):,} descriptions")
    estimated = 0
    for described in found[:MAX_DESCRIPTIONS]:
        finding = _estimated(described, source)
        estimated += finding is not None
        if finding is not None:
            yield finding
    if not estimated:
        yield Gap(text="no CVSS vector found, and no description of a vulnerability whose score could be estimated")
    if len(found) > MAX_DESCRIPTIONS:
        yield Gap(text=f"stopped after {MAX_DESCRIPTIONS:,} descriptions of vulnerabilities", in_headline=True)
    yield Coverage(
        read_as="description of a vulnerability" if estimated else "text without a description of a vulnerability",
        unit="description",
        understood=estimated,
        total=len(found),
        looked_for="a CVSS vector, and without one the words that decide the CVSS 3.1 base metrics",
        not_covered="an estimate from words is not the published score, which may rest on facts the text does not have",
    )


def _estimated(described: Description, source: str) -> Finding[CvssEstimate] | None:
    found = estimate(described.text)
    if found is None:
        return None
    values = {metric.metric: metric.value for metric in found.metrics}
    scores = compute("3.1", values)
    vector, others = written("3.1", values), _scores_nearby(found, values)
    known = metrics_of("3.1")
    unstated = sum(not metric.words for metric in found.metrics if metric.metric not in ("AC", "S"))
    return Finding(
        title=f"estimated CVSS 3.1: {scores.score} {scores.rating}",
        severity=Severity.INFO if scores.rating == "none" else Severity(scores.rating),
        confidence=Confidence.LOW if unstated > 4 else Confidence.MEDIUM,
        why=f"{found.kind}; estimated from the words of the description, not a published score",
        evidence=(Evidence(source=source, excerpt=described.text[:EXCERPT_CHARS], line=described.line),),
        facts=CvssEstimate(
            vector=vector,
            version="3.1",
            score=scores.score,
            rating=scores.rating,
            lowest_score=min([scores.score, *others]),
            highest_score=max([scores.score, *others]),
            vulnerability=found.kind,
            words=found.words,
            subject=described.subject,
            metrics=[
                EstimateRow(
                    f"{metric.metric}:{metric.value}",
                    known[metric.metric].name,
                    known[metric.metric].values[metric.value],
                    metric.reason,
                    metric.words,
                )
                for metric in found.metrics
            ],
        ),
    )


def _scores_nearby(found: Estimate, values: dict[str, str]) -> list[float]:
    """The scores if one of the metrics that analysts judge differently, and that no words state, has another value."""
    unstated = [metric.metric for metric in found.metrics if not metric.words and metric.metric in ("PR", "UI")]
    return [
        compute("3.1", {**values, metric: value}).score
        for metric in unstated
        for value in metrics_of("3.1")[metric].values
        if value != values[metric]
    ]


def _coverage(vectors: int, *, is_cut: bool) -> Coverage:
    return Coverage(
        read_as="text with CVSS vectors" if vectors else "text without a CVSS vector",
        unit="CVSS vector",
        understood=vectors,
        total=vectors + is_cut,
        looked_for="valid and invalid CVSS vectors (2.0, 3.0, 3.1, 4.0)",
        not_covered="whether a vector describes the vulnerability correctly is not known",
    )


def _judge(seen: _Seen, *, is_explained: bool) -> Finding[CvssScore] | Finding[CvssBroken]:
    found = read(seen.text, seen.version, seen.hint)
    if found.problems:
        return _broken_finding(seen, found)
    try:
        return _scored_finding(seen, found, is_explained=is_explained)
    except CVSSError as error:
        return _broken_finding(seen, msgspec.structs.replace(found, problems=(str(error),)))
