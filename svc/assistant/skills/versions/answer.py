"""The answer about versions and ranges: affected or not first, then each comparison."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, InputKind, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds
from svc.assistant.skills.skill import Section, Skill, words
from svc.assistant.skills.versions.findings import VersionAffected
from svc.untrusted.markup import code_span, escape, plural, table

MAX_SENTENCES = 4  # versions in the verdict; the table has all of them
MAX_COMPARISONS = 6  # in a cell of the table


def verdict(findings: Sequence[AnyFinding]) -> str:
    """For each version whether it is in any of the ranges, with the range that decided."""
    by_version: dict[tuple[str, str], list[VersionAffected]] = {}
    for finding in with_facts(findings, VersionAffected):
        by_version.setdefault((finding.facts.package, finding.facts.version), []).append(finding.facts)
    sentences = [_sentence(package, version, results) for (package, version), results in by_version.items()]
    rest = len(sentences) - MAX_SENTENCES
    more = f" And {plural(rest, 'more version')}: see the table." if rest > 0 else ""
    return " ".join(sentences[:MAX_SENTENCES]) + more or "**Not examined:** no version was compared with a range."


def _sentence(package: str, version: str, results: Sequence[VersionAffected]) -> str:
    what = f"{code_span(package, limit=80)} {code_span(version)}" if package else f"Version {code_span(version)}"
    affected = [one for one in results if one.is_affected]
    if affected:
        return f"**Yes: {what} is affected.** It is in {code_span(affected[0].read_as)}.{_assumptions(affected)}"
    if any(one.is_affected is None for one in results):
        return f"**Cannot tell: {what}** and the versions of the range are not written in comparable forms."
    ranges = ", ".join(code_span(one.read_as) for one in results[:3])
    return f"**No: {what} is outside {'the range' if len(results) == 1 else 'the ranges'} in the text:** {ranges}." + (
        _assumptions(results)
    )


def _assumptions(results: Sequence[VersionAffected]) -> str:
    """How ambiguous wording was read, and which other order is possible; "" if nothing was assumed."""
    notes = [one.reading for one in results if one.reading]
    notes += [doubt for one in results for doubt in one.doubts]
    return f" Note: {'; '.join(code_span(note) for note in dict.fromkeys(notes[:2]))}." if notes else ""


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Each comparison with a range, as it was read."""
    results = [finding.facts for finding in with_facts(findings, VersionAffected)]
    return [
        f"{code_span(one.range)} as {escape(one.rules)}: "
        + ("; ".join(map(code_span, one.comparisons[:MAX_COMPARISONS])) or "not comparable")
        for one in results[:MAX_FACTS]
    ]


def body(findings: Sequence[AnyFinding]) -> str:
    """A row for each version and range."""
    results = [finding.facts for finding in with_facts(findings, VersionAffected)]
    if not results:
        return ""
    rows = [
        (
            " ".join(code_span(part) for part in (one.package, one.version) if part),
            {True: "**yes**", False: "no", None: "unknown"}[one.is_affected],
            code_span(one.range),
            code_span(one.read_as),
            "; ".join(map(code_span, one.comparisons[:MAX_COMPARISONS])),
            escape(one.rules),
        )
        for one in results
    ]
    return "**Comparisons**\n\n" + table(("Version", "Affected", "Range", "Read as", "Comparisons", "Ordering"), rows)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about an affected version, or one whose ecosystem is unknown."""
    results = [finding.facts for finding in with_facts(findings, VersionAffected)]
    steps = []
    if any(one.is_affected for one in results):
        steps.append(
            "Check the advisory for the first fixed version; distributions also backport fixes to old versions."
        )
    if any(one.is_ecosystem_guessed and one.doubts for one in results):
        steps.append("Name the package's ecosystem (PyPI, npm, Maven, Debian, …): each orders versions differently.")
    return steps


SECTION = Section(
    skill=Skill(
        name="versions",
        tool="svc.assistant.skills.versions.tool:inspect",
        input=InputKind.TEXT,
        title="Versions",
        can="check whether a package version is in an affected range (npm, PyPI, Maven, Debian, OSV, NVD, …)",
        facts=(VersionAffected,),
        strong=words(
            r"\b(?:affected|vulnerable|impacted)\b[^.?!\n]{0,60}\bversions?\b",
            r"\bversions?\b[^?!\n]{0,60}\b(?:affected|vulnerable|impacted)\b",
            r"(?<![\w.])v?\d{1,10}\.\d[\w.+~-]{0,40}+[^?!\n]{0,40}\b(?:affected|vulnerable|impacted)\b",
            r"\b(?:affected|vulnerable|impacted)\b[^?!\n]{0,60}(?:[<>]=?|before|through|prior to|up to) ?v?\d",
            r"(?<![\w.])\d{1,10}(?:\.\d{1,10}){1,6}+[\w.+-]{0,40}+ (?:in|within|covered by) (?:the range )?"
            r"[<>=^~]{1,2} ?v?\d",
            r"\b(?:version )?ranges?\b[^?!\n]{0,60}\d+\.\d",
            r"\bvers:[a-z]+/",
        ),
        content=words(
            r"[<>]=?\s{0,8}v?\d{1,20}(?:\.\d+)+",
            r"\bvers:[a-z]+/",
            r"[\[(]\d[\w.-]*,\s*\d[\w.-]*[\])]",
            r"\"introduced\"|versionEnd",
        ),
        takes=frozenset({"question"}),
        reads_question=True,
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
