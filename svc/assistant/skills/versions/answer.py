"""The answer about versions and ranges: yes or no first, then each comparison. Kinds: ``tools/versions``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Scalar
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

SHOWN = 4  # versions in the verdict; all of them stand in the table


def verdict(findings: Sequence[Finding]) -> str:
    """For each version whether any of the ranges holds it, with the range that decided."""
    by_version: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_version.setdefault((str(finding.attributes["package"]), str(finding.attributes["version"])), []).append(
            finding
        )
    sentences = [_sentence(package, version, found) for (package, version), found in by_version.items()]
    more = f" And {plural(len(sentences) - SHOWN, 'more version')}: see the table." if len(sentences) > SHOWN else ""
    return " ".join(sentences[:SHOWN]) + more


def _sentence(package: str, version: str, found: Sequence[Finding]) -> str:
    what = f"{code_span(package, limit=80)} {code_span(version)}" if package else f"Version {code_span(version)}"
    affected = [finding for finding in found if finding.attributes["is_affected"]]
    unknown = [finding for finding in found if finding.attributes["is_affected"] is None]
    if affected:
        read = code_span(str(affected[0].attributes["read_as"]))
        return f"**Yes: {what} is affected.** It lies in {read}.{_caution(affected)}"
    if unknown:
        return f"**Cannot be told: {what}** and the range's versions are not written so that they can be compared."
    ranges = ", ".join(code_span(str(finding.attributes["read_as"])) for finding in found[:3])
    return f"**No: {what} is not affected.** It lies outside of {ranges}.{_caution(found)}"


def _caution(found: Sequence[Finding]) -> str:
    """What was taken for granted: how words were read, which order was used."""
    notes = [str(finding.attributes["reading"]) for finding in found if finding.attributes["reading"]]
    notes += [str(doubt) for finding in found for doubt in _list(finding.attributes["doubts"])]
    return f" Mind: {'; '.join(code_span(note) for note in dict.fromkeys(notes[:2]))}." if notes else ""


def section(findings: Sequence[Finding]) -> str:
    """A row for each version and range."""
    if not findings:
        return ""
    rows = [
        (
            " ".join(
                code_span(str(part)) for part in (finding.attributes["package"], finding.attributes["version"]) if part
            ),
            {True: "**yes**", False: "no", None: "unknown"}[_flag(finding.attributes["is_affected"])],
            code_span(str(finding.attributes["range"])),
            code_span(str(finding.attributes["read_as"])),
            "; ".join(code_span(str(one)) for one in _list(finding.attributes["comparisons"])[:6]),
            escape(str(finding.attributes["rules"])),
        )
        for finding in findings
    ]
    return table(("Version", "Affected", "Range", "Read as", "Comparisons", "Order by"), rows)


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do about a version that is affected, or whose order was guessed."""
    steps = []
    if any(finding.attributes["is_affected"] for finding in findings):
        steps.append(
            "Look in the advisory for the first fixed version; distributions also patch without raising the version."
        )
    if any(finding.attributes["is_place_guessed"] and _list(finding.attributes["doubts"]) for finding in findings):
        steps.append("Name the place that the package comes from (PyPI, npm, Maven, Debian, …): orders differ.")
    return steps


def _flag(value: Scalar | list[Scalar]) -> bool | None:
    return value if isinstance(value, bool) else None


def _list(value: Scalar | list[Scalar]) -> list[Scalar]:
    return value if isinstance(value, list) else []


SECTION = Section(
    skill=Skill(
        name="versions",
        tool="svc.assistant.skills.versions.tool:compare_ranges",
        input=InputKind.TEXT,
        title="Versions",
        can="tell whether a package's version lies in an affected range (npm, PyPI, Maven, Debian, OSV, NVD, …)",
        loose_kinds=("version_affected",),
        strong=words(
            r"\b(?:affected|vulnerable|impacted)\b[^.?!\n]{0,60}\bversions?\b",
            r"\bversions?\b[^?!\n]{0,60}\b(?:affected|vulnerable|impacted)\b",
            r"(?<!\w)v?\d+\.\d[\w.+~-]*[^?!\n]{0,40}\b(?:affected|vulnerable|impacted)\b",
            r"\b(?:affected|vulnerable|impacted)\b[^?!\n]{0,60}(?:[<>]=?|before|through|prior to|up to) ?v?\d",
            r"\b\d+(?:\.\d+)+[\w.+-]* (?:in|within|covered by) (?:the range )?[<>=^~]{1,2} ?v?\d",
            r"\b(?:version )?ranges?\b[^?!\n]{0,60}\d+\.\d",
            r"\bvers:[a-z]+/",
        ),
        content=words(
            r"[<>]=?\s*v?\d+(?:\.\d+)+",
            r"\bvers:[a-z]+/",
            r"[\[(]\d[\w.-]*,\s*\d[\w.-]*[\])]",
            r"\"introduced\"|versionEnd",
        ),
        takes=frozenset({"question"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
