"""The answer about inspected files: the verdict with its reasons, the traits, the facts, the parts and the indicators.

Programs, PDFs, Office documents and shortcuts share it.
"""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, Severity, columns, with_facts
from svc.assistant.skills.answer_parts import worst_findings
from svc.assistant.skills.file_traits import DAMAGED_TRAIT, FileFacts, FilePart, FileTrait, FileVerdict, VerdictLevel
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.indicators.tables import compact_table
from svc.untrusted.markup import code_block, code_span, escape, plural, table

LOOK_AT = (
    r"(?:analy[sz]e|inspect|examine|check|scan|triage|dissect|look (?:at|into)|unpack|reverse|what (?:is in|does|can)"
    r"|is there)"
)
"""The verbs that ask for a file to be inspected, for the skills' patterns."""
MAX_TRAITS = 4  # among the facts
MAX_REASONS = 5  # in the verdict's sentence; the table has all of them
MAX_TEXTS = 6  # scripts and macros shown as blocks
MAX_ROWS = 40
MAX_VALUES = 20  # of one property
TEXT_CHARS = 2_500  # of each script or macro
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_SENTENCES = {
    VerdictLevel.MALICIOUS: "very likely malicious",
    VerdictLevel.SUSPICIOUS: "suspicious",
    VerdictLevel.UNUSUAL: "unusual, but no trait is malicious by itself",
    VerdictLevel.ORDINARY: "none of the known suspicious traits was found, which does not prove that it is harmless",
}
_DAMAGED = "damaged; none of the known suspicious traits is in the parts that could be read, the rest was not examined"
_LOCKED = "password-protected; its content was not examined and cannot be judged"
_LABELS = {
    "md5": "MD5",
    "sha1": "SHA-1",
    "sha256": "SHA-256",
    "pdb": "debug path (PDB)",
    "is_managed": ".NET",
    "is_signed": "signed (chain not verified)",
    "mac_address": "MAC address",
    "build_id": "build ID",
}
_PART_HEADERS = {
    "section": ("Sections", "Entropy and permissions"),
    "import": ("Imports", "Functions"),
    "export": ("Exports", "Names"),
    "link": ("Links", "Location"),
    "version": ("Version information", "Value"),
    "signature": ("Signature", "Value"),
    "script": ("Scripts", "Location"),
    "macro": ("Macros", "Location"),
}
_ADDRESS_PARTS = frozenset({"link", "action", "relationship", "target"})


def verdict(findings: Sequence[AnyFinding]) -> str:
    """What each file is, its verdict, and the heaviest reasons."""
    facts = {finding.evidence[0].source: finding for finding in with_facts(findings, FileFacts)}
    verdicts = with_facts(findings, FileVerdict)
    if not verdicts:
        parts, traits = with_facts(findings, FilePart), with_facts(findings, FileTrait)
        if not parts and not traits:
            return "**Not examined:** no file of a supported format could be read."
        return f"**{plural(len(parts), 'part')} and {plural(len(traits), 'trait')}** from the files inspected earlier."
    damaged = {
        trait.evidence[0].source
        for trait in with_facts(findings, FileTrait)
        if trait.facts.trait.startswith(DAMAGED_TRAIT)
    }
    return " ".join(
        _sentence(one, facts.get(one.evidence[0].source), is_damaged=one.evidence[0].source in damaged)
        for one in verdicts
    )


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The worst traits with their evidence; without one what the file is, with its SHA-256."""
    traits = [one for one in with_facts(findings, FileTrait) if one.severity is not Severity.INFO]
    told = worst_findings(traits)[:MAX_TRAITS]
    for finding in with_facts(findings, FileFacts)[:1]:
        values = columns(finding)
        size = f", {values['size']:,} bytes" if isinstance(values.get("size"), int) else ""
        if values.get("sha256"):
            told.append(f"**{escape(finding.title)}**{size}, SHA-256 {code_span(str(values['sha256']))}")
    return told


def body(findings: Sequence[AnyFinding]) -> str:
    """Traits, facts, parts, texts and indicators of one file after the other."""
    sources = dict.fromkeys(finding.evidence[0].source for finding in findings)
    blocks = []
    for source in sources:
        own = [finding for finding in findings if finding.evidence[0].source == source]
        if len(sources) > 1:
            blocks.append(f"**Next file**\n\n{code_span(source, limit=80)}")
        blocks += [_trait_table(own), _facts_table(own), *_part_tables(own), *_text_blocks(own), _indicators(own)]
    return "\n\n".join(block for block in blocks if block)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do with the file, by its verdict."""
    steps = []
    verdicts = {finding.facts.verdict for finding in with_facts(findings, FileVerdict)}
    if verdicts & {VerdictLevel.MALICIOUS, VerdictLevel.SUSPICIOUS}:
        steps.append("Search endpoints and mail for the SHA-256, and open the file only in a sandbox.")
        if with_facts(findings, IndicatorFacts):
            steps.append("Search proxy and DNS logs for the addresses found in it.")
    elif VerdictLevel.UNUSUAL in verdicts:
        steps.append("Find out where the file came from, and look up its SHA-256 in a reputation service.")
    if any(finding.facts.trait == "embedded_program" for finding in with_facts(findings, FileTrait)):
        steps.append("Extract the embedded program and inspect it separately.")
    return steps


def _sentence(finding: Finding[FileVerdict], facts: Finding[FileFacts] | None, *, is_damaged: bool) -> str:
    result = finding.facts
    name = escape(facts.title) if facts is not None else "file"
    is_locked = result.verdict is VerdictLevel.ORDINARY and facts is not None and facts.facts.is_locked
    sentence = _SENTENCES[result.verdict]
    if is_locked:
        sentence = _LOCKED
    elif is_damaged and result.verdict is VerdictLevel.ORDINARY:
        sentence = _DAMAGED
    lead = f"**{code_span(finding.evidence[0].source, limit=80)} ({name}): {sentence}.**"
    if not result.reasons:
        return lead
    titles = list(dict.fromkeys(result.reasons))  # different traits may have the same title
    reasons = "; ".join(map(escape, titles[:MAX_REASONS]))
    more = f" and {len(titles) - MAX_REASONS} more" if len(titles) > MAX_REASONS else ""
    return f"{lead} {reasons}{more}. {escape(finding.why[0].upper() + finding.why[1:])}."


def _trait_table(findings: Sequence[AnyFinding]) -> str:
    traits = sorted(with_facts(findings, FileTrait), key=lambda finding: _RANK[finding.severity])
    if not traits:
        return ""
    rows = [
        (
            trait.severity.value,
            escape(trait.title),
            code_span(trait.evidence[0].excerpt) + _offset(trait),
            escape(trait.why),
            ", ".join(trait.techniques),
        )
        for trait in traits
    ]
    headers = ("Severity", "Finding", "Evidence", "Why it matters", "ATT&CK")
    return "**Suspicious traits**\n\n" + table(headers, rows)


def _indicators(findings: Sequence[AnyFinding]) -> str:
    shown = compact_table(findings)
    return f"**Indicators in it**\n\n{shown}" if shown else ""


def _offset(finding: AnyFinding) -> str:
    offset = finding.evidence[0].offset
    return f" at offset {offset:,}" if offset else ""


def _facts_table(findings: Sequence[AnyFinding]) -> str:
    rows = [
        (_LABELS.get(name, name.replace("_", " ").removeprefix("is ")), _value(value))
        for finding in with_facts(findings, FileFacts)
        for name, value in columns(finding).items()
        if value not in (None, "", [])
    ]
    return "**Properties**\n\n" + table(("Property", "Value"), rows, limit=MAX_ROWS) if rows else ""


def _value(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            shown = ", ".join(code_span(str(one), limit=80) for one in value[:MAX_VALUES])
            return shown + (f" and {len(value) - MAX_VALUES:,} more" if len(value) > MAX_VALUES else "")
        case _:
            return code_span(str(value), limit=200)


def _part_tables(findings: Sequence[AnyFinding]) -> list[str]:
    """One table for each type of part."""
    by_type: dict[str, list[FilePart]] = {}
    for finding in with_facts(findings, FilePart):
        by_type.setdefault(finding.facts.part, []).append(finding.facts)
    return [_part_table(part, parts) for part, parts in by_type.items()]


def _part_table(part: str, parts: Sequence[FilePart]) -> str:
    title, note = _PART_HEADERS.get(part, (f"{part[0].upper()}{part[1:]}", "Details"))
    has_sizes = any(one.size is not None for one in parts)
    size_header = "Count" if part in ("import", "export") else "Size"
    rows = []
    for one in parts:
        name = code_span(_defanged(one.name) if part in _ADDRESS_PARTS else one.name)
        size = (f"{one.size:,}" if one.size is not None else "",) if has_sizes else ()
        rows.append((name, *size, code_span(one.note) if one.note else ""))
    headers = (title, *((size_header,) if has_sizes else ()), note)
    return f"**{escape(title)}**\n\n{table(headers, rows)}"


def _defanged(address: str) -> str:
    """Return an address as no viewer makes a link of it; its path keeps its form for a code span."""
    return address.replace("http", "hxxp").replace(".", "[.]") if "://" in address else address


def _text_blocks(findings: Sequence[AnyFinding]) -> list[str]:
    parts = [finding for finding in with_facts(findings, FilePart) if finding.facts.text]
    shown = [
        f"**{escape(part.title)}**\n\n{code_block(part.facts.text, limit=TEXT_CHARS)}" for part in parts[:MAX_TEXTS]
    ]
    if len(parts) > MAX_TEXTS:
        shown.append(f"… and {plural(len(parts) - MAX_TEXTS, 'more text')} (all are in the findings).")
    return shown
