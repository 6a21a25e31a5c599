"""The answer about CVSS: the score, what each metric says, what would lower it, what is wrong. Kinds:
``tools/cvss``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import Finding, Scalar
from svc.assistant.skills.skill import Section, Skill, words
from svc.assistant.workers.pool import Feed
from svc.untrusted.markup import bullets, code_span, escape, plural, table

EXPLAINED = 5  # vectors that get tables of their own; more get one table
CHANGES = 10  # what would lower a score, best first
VECTOR_CHARS = 300  # a 4.0 vector with every metric has 250


def verdict(findings: Sequence[Finding]) -> str:
    """The score, or the worst of several, and how many are broken."""
    scored, broken = _of(findings, "cvss_score"), _of(findings, "cvss_broken")
    if not scored and len(broken) == 1:
        return _broken_verdict(broken[0])
    if not scored:
        return f"**None of {plural(len(broken), 'CVSS vector')} is valid.** The faults stand below."
    worst = max(scored, key=lambda finding: _float(finding, "score"))
    if len(scored) == 1:
        lead = f"**{_rated(worst)}** (CVSS {worst.attributes['version']}, {_which(worst)})."
    else:
        vector = code_span(_text(worst, "vector"), limit=VECTOR_CHARS)
        lead = f"**{plural(len(scored), 'CVSS vector')}; the highest is {_rated(worst)}:** {vector}."
    lead += _best_change(worst) if len(scored) == 1 else ""
    return lead + (f" {plural(len(broken), 'vector is', 'vectors are')} not valid." if broken else "")


def _broken_verdict(finding: Finding) -> str:
    problems = "; ".join(escape(str(problem)) for problem in _list(finding, "problems"))
    return f"**Not a valid CVSS {finding.attributes['version']} vector:** {problems}.{_range(finding)}"


def _range(finding: Finding) -> str:
    lowest, highest = finding.attributes["lowest_score"], finding.attributes["highest_score"]
    if lowest is None or highest is None:
        return ""
    if lowest == highest:
        return f" Put right, it scores {lowest}."
    return f" Put right, it scores between {lowest} and {highest}, depending on the value meant."


def _best_change(finding: Finding) -> str:
    changes, scores = _list(finding, "changes"), _list(finding, "change_scores")
    return f" What would lower it most: {code_span(str(changes[0]))}, to {scores[0]}." if changes else ""


def section(findings: Sequence[Finding]) -> str:
    """Tables per vector, or one table of many; then the broken ones with the values allowed."""
    scored, broken = _of(findings, "cvss_score"), _of(findings, "cvss_broken")
    blocks = [_many(scored)] if len(scored) > 1 else []
    blocks += [_explained(finding, is_only=len(scored) == 1) for finding in scored[:EXPLAINED]]
    blocks += [_faults(broken)] if broken else []
    return "\n\n".join(blocks)


def _many(scored: Sequence[Finding]) -> str:
    rows = [
        (
            f"{_float(f, 'score')}",
            _text(f, "rating"),
            _text(f, "version"),
            code_span(_text(f, "vector"), limit=VECTOR_CHARS),
            _place(f),
            f"{f.attributes['count']:,}",
        )
        for f in sorted(scored, key=lambda finding: -_float(finding, "score"))
    ]
    return "**Scores**\n\n" + table(("Score", "Severity", "CVSS", "Vector", "Where", "Times"), rows)


def _explained(finding: Finding, *, is_only: bool) -> str:
    title = code_span(_text(finding, "vector"), limit=VECTOR_CHARS)
    lead = f"{title} ({_place(finding)})" if is_only else f"**{_rated(finding)}:** {title} ({_place(finding)})"
    meanings = list(zip(*(_list(finding, key) for key in ("metrics", "metric_names", "metric_meanings")), strict=True))
    blocks = [
        lead,
        _scores(finding),
        table(("Metric", "Name", "Means"), [(code_span(str(m)), str(n), str(x)) for m, n, x in meanings], limit=40),
    ]
    changes = list(zip(*(_list(finding, key) for key in ("changes", "change_scores", "change_meanings")), strict=True))
    if changes:
        rows = [(str(score), code_span(str(change)), str(meaning)) for change, score, meaning in changes]
        blocks += ["**What would lower it** (one metric changed at a time)"]
        blocks += [table(("Score", "Change", "If it is"), rows, limit=CHANGES)]
    notes = [escape(str(note)) for note in _list(finding, "notes")]
    return "\n\n".join([*blocks, *([bullets(notes)] if notes else [])])


def _scores(finding: Finding) -> str:
    names = ("base_score", "temporal_score", "environmental_score", "impact", "exploitability")
    labels = ("base", "temporal", "environmental", "impact part", "exploitability part")
    given = [
        f"{label} {finding.attributes[name]}"
        for name, label in zip(names, labels, strict=True)
        if finding.attributes[name] is not None
    ]
    return f"Scores: {', '.join(given)}."


def _faults(broken: Sequence[Finding]) -> str:
    rows = []
    for finding in broken:
        at_fault = [*_list(finding, "wrong"), *_list(finding, "missing")]
        allowed = [
            f"{code_span(str(metric))}: {values}"
            for metric, values in zip(at_fault, _list(finding, "allowed"), strict=True)
            if values
        ]
        problems = "; ".join(escape(str(problem)) for problem in _list(finding, "problems"))
        vector = code_span(_text(finding, "vector"), limit=VECTOR_CHARS)
        rows.append(
            (vector, _place(finding), problems, "; ".join(allowed) or "none", _range(finding).strip() or "none")
        )
    return "**Not valid**\n\n" + table(("Vector", "Where", "What is wrong", "Allowed", "Score once put right"), rows)


def _rated(finding: Finding) -> str:
    return f"{_float(finding, 'score')} {_text(finding, 'rating')}"


def _which(finding: Finding) -> str:
    word = _text(finding, "nomenclature")
    return word if word.startswith("CVSS") else f"{word} score"


def _place(finding: Finding) -> str:
    evidence = finding.evidence[0]
    return f"{code_span(evidence.source, limit=60)} line {evidence.line:,}"


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _text(finding: Finding, name: str) -> str:
    return str(finding.attributes[name])


def _float(finding: Finding, name: str) -> float:
    value = finding.attributes[name]
    return float(value) if isinstance(value, int | float) else 0.0


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes[name]
    return value if isinstance(value, list) else []


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do about a broken vector, and before a score is used for ranking."""
    steps = []
    if _of(findings, "cvss_broken"):
        steps.append("Correct the broken vector at its source; a score of a guessed vector is no score.")
    if _of(findings, "cvss_score"):
        steps.append(
            "Check the metrics against your own installation (environmental metrics) before you rank by the score."
        )
    return steps


_VECTOR = words(r"\bCVSS:[234]", r"\bA[VC]:[A-Z]/A[UCT]:[A-Z]")
SECTION = Section(
    skill=Skill(
        name="cvss",
        tool="svc.assistant.skills.cvss.tool:score",
        feed=Feed.TEXT,
        title="CVSS",
        can="score and explain a CVSS vector (2, 3.0, 3.1, 4.0), or say which metric of it is wrong",
        kinds=("cvss_score", "cvss_broken"),
        strong=words(r"\bcvss\b"),
        weak=words(r"\bvectors?\b", r"\bseverity score\b", r"\bbase score\b"),
        content=_VECTOR,
        looks=_VECTOR,
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
