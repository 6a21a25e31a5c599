"""The answer about CVSS: the score, what each metric says, what would lower it, and what is wrong with a vector."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, with_facts
from svc.assistant.skills.answer_parts import as_folds, listed
from svc.assistant.skills.cvss.findings import CvssBroken, CvssEstimate, CvssScore, EstimateRow
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import bullets, code_span, escape, plural, table

MAX_EXPLAINED = 5  # vectors with tables of their own; more share one table
MAX_CHANGES = 10  # rows of what would lower a score
MAX_BROKEN = 2  # among the facts
VECTOR_CHARS = 300  # a 4.0 vector with every metric has 250


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The score, or the highest of several, and how many vectors are not valid; an estimate is called one."""
    scored, broken = with_facts(findings, CvssScore), with_facts(findings, CvssBroken)
    if estimated := with_facts(findings, CvssEstimate):
        return _estimate_verdict(estimated)
    if not scored and len(broken) == 1:
        facts = broken[0].facts
        return f"**Not a valid CVSS {facts.version} vector:** {_problems(facts)}.{_corrected(facts)}"
    if not scored and not broken:
        return "**Not examined:** the text has no CVSS vector."
    if not scored:
        return f"**None of {plural(len(broken), 'CVSS vector')} is valid.** The errors are listed below."
    worst = max((finding.facts for finding in scored), key=lambda facts: facts.score)
    if len(scored) == 1:
        lead = f"**{_rated(worst)}** (CVSS {worst.version}, {_which(worst)}).{_largest_reduction(worst)}"
    else:
        vector = code_span(worst.vector, limit=VECTOR_CHARS)
        lead = f"**{plural(len(scored), 'CVSS vector')}; the highest is {_rated(worst)}:** {vector}."
    return lead + (f" {plural(len(broken), 'vector is', 'vectors are')} not valid." if broken else "")


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Of one vector its scores, what it says and what would lower it; of several the highest; what is not valid."""
    if estimated := with_facts(findings, CvssEstimate):
        return _estimate_facts(estimated)
    scored, broken = with_facts(findings, CvssScore), with_facts(findings, CvssBroken)
    told = [
        f"**Not valid**: {code_span(one.facts.vector, limit=VECTOR_CHARS)} ({_place(one)}): {_problems(one.facts)}"
        for one in broken[:MAX_BROKEN]
        if scored
    ]
    if len(scored) != 1:
        ranked = sorted(scored, key=lambda one: -one.facts.score)
        return [
            f"**{_rated(one.facts)}**: {code_span(one.facts.vector, limit=VECTOR_CHARS)} ({_place(one)})"
            for one in ranked[: MAX_EXPLAINED - len(told)]
        ] + told
    only = scored[0].facts
    meanings = "; ".join(f"{code_span(row.metric)} {row.meaning}" for row in only.metrics)
    told.append(f"**What it says**: {meanings}.")
    told.append(f"**{_scores(only).replace(': ', '**: ', 1)}")
    if only.changes:
        lower = listed([f"{code_span(row.change)} ({row.score})" for row in only.changes], limit=3)
        told.append(f"**What would lower it**: {lower}.")
    return told


def body(findings: Sequence[AnyFinding]) -> str:
    """Tables for each vector, or one table of many; then the vectors that are not valid, with the allowed values."""
    if estimated := with_facts(findings, CvssEstimate):
        return _estimate_tables(estimated)
    scored, broken = with_facts(findings, CvssScore), with_facts(findings, CvssBroken)
    blocks = [_score_table(scored)] if len(scored) > 1 else []
    blocks += [_explained(finding, is_only=len(scored) == 1) for finding in scored[:MAX_EXPLAINED]]
    blocks += [_broken_table(broken)] if broken else []
    return "\n\n".join(blocks)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about a broken vector, and before a score is used for ranking."""
    steps = []
    if with_facts(findings, CvssBroken):
        steps.append("Correct the invalid vector at its source; the score of a guessed vector is meaningless.")
    if with_facts(findings, CvssEstimate):
        steps.append("Use the published score if there is one; check the metrics that the description does not state.")
    if with_facts(findings, CvssScore):
        steps.append(
            "Check the metrics against your own installation (environmental metrics) before you rank by the score."
        )
    return steps


def _estimate_verdict(estimated: Sequence[Finding[CvssEstimate]]) -> str:
    worst = max((finding.facts for finding in estimated), key=lambda facts: facts.score)
    vector = code_span(worst.vector, limit=VECTOR_CHARS)
    if len(estimated) > 1:
        which = f" ({escape(worst.subject)})" if worst.subject else ""
        return (
            f"**Estimated scores of {plural(len(estimated), 'description')}; the highest is about "
            f"{worst.score} {worst.rating}{which}:** {vector}. No CVSS vector was given."
        )
    span = f", {worst.lowest_score} to {worst.highest_score} if unstated metrics differ"
    return (
        f"**Estimated base score: {worst.score} {worst.rating}** (CVSS 3.1, {escape(worst.vulnerability)}"
        f"{span if worst.lowest_score < worst.highest_score else ''}): {vector}. "
        "It is an estimate from the description, not the published score."
    )


def _estimate_facts(estimated: Sequence[Finding[CvssEstimate]]) -> list[str]:
    if len(estimated) > 1:
        ranked = sorted(estimated, key=lambda one: -one.facts.score)
        return [
            f"**About {one.facts.score} {one.facts.rating}**: {escape(one.facts.subject or one.facts.vulnerability)}, "
            f"{code_span(one.facts.vector, limit=VECTOR_CHARS)} ({_place(one)})"
            for one in ranked[:MAX_EXPLAINED]
        ]
    only = estimated[0].facts
    stated = [f"{code_span(row.metric)} {code_span(row.words, limit=40)}" for row in only.metrics if row.words]
    usual = [code_span(row.metric) for row in only.metrics if not row.words]
    told = [f"**Class**: {escape(only.vulnerability)}, from {code_span(only.words, limit=60)}."]
    told += [f"**Stated by the description**: {'; '.join(stated)}."] if stated else []
    told += [f"**Not stated, usual for this class**: {', '.join(usual)}."] if usual else []
    return told


def _words_of(row: EstimateRow) -> str:
    return code_span(row.words, limit=60) if row.words else "not stated"


def _estimate_tables(estimated: Sequence[Finding[CvssEstimate]]) -> str:
    blocks = []
    for finding in estimated[:MAX_EXPLAINED]:
        facts = finding.facts
        rows = [
            (code_span(row.metric), row.name, row.meaning, _words_of(row), escape(row.reason))
            for row in facts.metrics
        ]  # fmt: skip
        blocks.append(f"**Estimated metrics{f' of {escape(facts.subject)}' if facts.subject else ''}** "
                      f"({facts.score} {facts.rating})")  # fmt: skip
        blocks.append(table(("Metric", "Name", "Meaning", "Words", "Reason"), rows))
    if len(estimated) > 1:
        rows = [
            (f"{one.facts.score}", one.facts.rating, escape(one.facts.subject or one.facts.vulnerability),
             code_span(one.facts.vector, limit=VECTOR_CHARS), _place(one))
            for one in sorted(estimated, key=lambda one: -one.facts.score)
        ]  # fmt: skip
        blocks.insert(0, table(("Score", "Severity", "Description", "Vector", "Location"), rows))
        blocks.insert(0, "**Estimated scores**")
    return "\n\n".join(blocks)


def _score_table(scored: Sequence[Finding[CvssScore]]) -> str:
    rows = [
        (
            f"{finding.facts.score}",
            finding.facts.rating,
            finding.facts.version,
            code_span(finding.facts.vector, limit=VECTOR_CHARS),
            _place(finding),
            f"{finding.facts.count:,}",
        )
        for finding in sorted(scored, key=lambda finding: -finding.facts.score)
    ]
    return "**Scores**\n\n" + table(("Score", "Severity", "CVSS", "Vector", "Location", "Count"), rows)


def _explained(finding: Finding[CvssScore], *, is_only: bool) -> str:
    facts = finding.facts
    vector = f"{code_span(facts.vector, limit=VECTOR_CHARS)} ({_place(finding)})"
    metrics = [(code_span(row.metric), row.name, row.meaning) for row in facts.metrics]
    blocks = [
        "**Metrics**" if is_only else f"**Metrics of {_rated(facts)}**",
        vector,
        table(("Metric", "Name", "Meaning"), metrics, limit=40),
    ]
    if facts.changes:
        rows = [(str(row.score), code_span(row.change), row.meaning) for row in facts.changes]
        blocks.append("**Changes of one metric that would lower it**")
        blocks.append(table(("Score", "Change", "If it is"), rows, limit=MAX_CHANGES))
    if facts.notes:
        blocks.append(bullets([escape(note) for note in facts.notes]))
    return "\n\n".join(blocks)


def _broken_table(broken: Sequence[Finding[CvssBroken]]) -> str:
    rows = []
    for finding in broken:
        facts = finding.facts
        allowed = "; ".join(f"{code_span(row.metric)}: {row.values}" for row in facts.at_fault if row.values)
        vector = code_span(facts.vector, limit=VECTOR_CHARS)
        rows.append((vector, _place(finding), _problems(facts), allowed or "none", _corrected(facts).strip() or "none"))
    return "**Not valid**\n\n" + table(("Vector", "Location", "Error", "Allowed", "Score if corrected"), rows)


def _scores(facts: CvssScore) -> str:
    labelled = (
        ("base", facts.base_score),
        ("temporal", facts.temporal_score),
        ("environmental", facts.environmental_score),
        ("impact subscore", facts.impact),
        ("exploitability subscore", facts.exploitability),
    )
    return f"Scores: {', '.join(f'{label} {score}' for label, score in labelled if score is not None)}."


def _problems(facts: CvssBroken) -> str:
    return "; ".join(map(escape, facts.problems))


def _corrected(facts: CvssBroken) -> str:
    """The range of scores after a correction, as a sentence; "" if it was not computed."""
    lowest, highest = facts.lowest_score, facts.highest_score
    if lowest is None or highest is None:
        return ""
    if lowest == highest:
        return f" If corrected, it scores {lowest}."
    return f" If corrected, it scores between {lowest} and {highest}, depending on the intended value."


def _largest_reduction(facts: CvssScore) -> str:
    if not facts.changes:
        return ""
    return f" Largest reduction: {code_span(facts.changes[0].change)}, to {facts.changes[0].score}."


def _rated(facts: CvssScore) -> str:
    return f"{facts.score} {facts.rating}"


def _which(facts: CvssScore) -> str:
    return facts.nomenclature if facts.nomenclature.startswith("CVSS") else f"{facts.nomenclature} score"


def _place(finding: AnyFinding) -> str:
    evidence = finding.evidence[0]
    return f"{code_span(evidence.source, limit=60)} line {evidence.line:,}"


_VECTOR = words(r"\bCVSS:[234]", r"\bA[VC]:[A-Z]/A[UCT]:[A-Z]")
_DESCRIPTION = (
    r"\bvulnerabilit\w+\b[^.]{0,200}\b(?:attackers?|allows?)\b|\battackers?\b[^.]{0,200}\bvulnerab",
    r"\b(?:cross-site|use-after-free|use after free|out-of-bounds|buffer overflow|SQL injection|command injection)\b",
    r"\b(?:privilege escalation|escalation of privilege|denial of service|path traversal|arbitrary code|dereference)\b",
    r"\bCVE-\d{4}-\d{4,}\s{0,3}[:,-]\s{0,3}\w",
)
_ABOUT = r"(?:this|the|that|following|each|these)(?: \w+){0,2} (?:CVEs?|vulnerabilit\w+|flaws?|bugs?|weakness|issues?)"
SECTION = Section(
    skill=Skill(
        name="cvss",
        tool="svc.assistant.skills.cvss.tool:inspect",
        input=InputKind.TEXT,
        title="CVSS",
        can="score and explain a CVSS vector (2, 3.0, 3.1, 4.0), or say which of its metrics is wrong; estimate the "
        "score of a described vulnerability",
        facts=(CvssScore, CvssBroken, CvssEstimate),
        strong=words(
            r"\bcvss\b",
            rf"\b(?:score|rate|grade)s? (?:{_ABOUT}|(?:this|that|the)\b(?= description)|an? vulnerability)",
            r"\bscore (?:this|the|that)? ?(?:CVE|vulnerability|flaw|advisory)\b",
            r"\b(?:base|severity) score\b|\bbase metrics?\b",
            rf"\bhow (?:severe|bad|critical|serious) (?:is|are) {_ABOUT}",
            rf"\b(?:severity|score) (?:of|for|would|does|do|has|have) {_ABOUT}",
            rf"\bwhat (?:severity|score) (?:would|does|do|has|have|should) {_ABOUT}",
        ),
        weak=words(r"\bvectors?\b", r"\bseverity score\b", r"\bbase score\b"),
        content=words(r"\bCVSS:[234]", r"\bA[VC]:[A-Z]/A[UCT]:[A-Z]", *_DESCRIPTION),
        looks=_VECTOR,
        takes=frozenset({"question"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
