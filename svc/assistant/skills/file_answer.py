"""How an inspected file is shown: its verdict with the reasons, what is odd about it, its facts, its parts. Pure.

Programs, documents and shortcuts share it; the kinds are those of ``tools/inspection``.
"""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.findings import Scalar, Severity
from svc.assistant.skills.indicators.tables import compact_table
from svc.untrusted.markup import code_block, code_span, escape, plural, table

LOOK_AT = (
    r"(?:analy[sz]e|inspect|examine|check|scan|triage|dissect|look (?:at|into)|unpack|reverse|what (?:is in|does|can)"
    r"|is there)"
)
"""The verbs that ask for a file to be inspected, for the skills' patterns."""
MAX_REASONS = 5  # in the verdict's sentence; all of them stand in the table
MAX_TEXTS = 6  # scripts and macros shown as blocks
TEXT_CHARS = 2_500  # of each
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_WORDS = {
    "malicious": "very likely malicious",
    "suspicious": "suspicious",
    "unusual": "unusual, but nothing in it is bad by itself",
    "ordinary": "nothing in its structure speaks against it; that is no proof that it is harmless",
}
_UNREAD = "encrypted with a password, so what it holds was not read and cannot be judged"
_LABELS = {
    "md5": "MD5",
    "sha1": "SHA-1",
    "sha256": "SHA-256",
    "imphash": "imphash",
    "pdb": "debug path (PDB)",
    "pages": "pages",
    "is_managed": ".NET",
    "is_signed": "signed (chain not verified)",
    "made_with": "made with",
    "bits": "bits",
}
_HEADS = {
    "section": ("Sections", "Entropy and rights"), "import": ("Imports (functions each)", "Functions"),
    "export": ("Exports (how many)", "Names"), "link": ("Links", "Where"), "version": ("Version information", "Says"),
    "signature": ("Signature", "Says"), "script": ("Scripts", "Where"), "macro": ("Macros", "Where"),
}  # fmt: skip
_ADDRESSES = frozenset({"link", "action", "relationship", "target"})


def kinds(family: str) -> tuple[str, ...]:
    """The kinds of findings of a family, its indicators aside."""
    return tuple(f"{family}_{kind}" for kind in ("facts", "part", "trait", "verdict"))


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind.endswith(f"_{kind}")]


def verdict(findings: Sequence[Finding]) -> str:
    """What each file is and what its traits add up to, with the heaviest reasons."""
    facts = {finding.evidence[0].source: finding for finding in _of(findings, "facts")}
    verdicts = _of(findings, "verdict")
    if not verdicts:
        parts, traits = len(_of(findings, "part")), len(_of(findings, "trait"))
        return f"**{plural(parts, 'part')} and {plural(traits, 'trait')}** of the files inspected before."
    return " ".join(_sentence(one, facts.get(one.evidence[0].source)) for one in verdicts)


def _sentence(finding: Finding, facts: Finding | None) -> str:
    word = str(finding.attributes["verdict"])
    what = escape(facts.title) if facts is not None else "file"
    is_unread = word == "ordinary" and facts is not None and _is_sealed(facts)
    reasons = [escape(str(reason)) for reason in _list(finding.attributes["reasons"])]
    lead = f"**{code_span(finding.evidence[0].source, limit=80)} ({what}): {_UNREAD if is_unread else _WORDS[word]}.**"
    if not reasons:
        return lead
    more = f" and {len(reasons) - MAX_REASONS} more" if len(reasons) > MAX_REASONS else ""
    return f"{lead} {'; '.join(reasons[:MAX_REASONS])}{more}. {escape(finding.why[0].upper() + finding.why[1:])}."


def _is_sealed(facts: Finding) -> bool:
    """Whether a password keeps an Office document shut; a PDF that says it is encrypted mostly opens without one."""
    return facts.kind.startswith("office") and bool(facts.attributes.get("is_encrypted"))


def body(findings: Sequence[Finding]) -> str:
    """Traits, facts, parts, texts, indicators: each a table or a block, of one file after the other."""
    sources = dict.fromkeys(finding.evidence[0].source for finding in findings)
    blocks = []
    for source in sources:
        own = [finding for finding in findings if finding.evidence[0].source == source]
        if len(sources) > 1:
            blocks.append(f"#### {code_span(source, limit=80)}")
        blocks += [_traits(own), _facts(own), *_parts(own), *_texts(own), compact_table(own)]
    return "\n\n".join(block for block in blocks if block)


def _traits(findings: Sequence[Finding]) -> str:
    traits = sorted(_of(findings, "trait"), key=lambda finding: _RANK[finding.severity])
    if not traits:
        return ""
    rows = [
        (
            trait.severity.value,
            escape(trait.title),
            code_span(trait.evidence[0].excerpt) + _place(trait),
            escape(trait.why),
            ", ".join(trait.techniques),
        )
        for trait in traits
    ]
    return table(("Severity", "What", "Evidence", "Why it counts", "ATT&CK"), rows)


def _place(finding: Finding) -> str:
    offset = finding.evidence[0].offset
    return f" at offset {offset:,}" if offset else ""


def _facts(findings: Sequence[Finding]) -> str:
    rows = [
        (_LABELS.get(name, escape(name.replace("_", " ").removeprefix("is "))), _value(value))
        for finding in _of(findings, "facts")
        for name, value in finding.attributes.items()
        if value not in (None, "", [])
    ]
    return table(("Property", "Value"), rows, limit=40) if rows else ""


def _value(value: Scalar | list[Scalar]) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            shown = ", ".join(code_span(str(one), limit=80) for one in value[:20])
            return shown + (f" and {len(value) - 20:,} more" if len(value) > 20 else "")
        case _:
            return code_span(str(value), limit=200)


def _parts(findings: Sequence[Finding]) -> list[str]:
    by_part: dict[str, list[Finding]] = {}
    for finding in _of(findings, "part"):
        by_part.setdefault(str(finding.attributes["part"]), []).append(finding)
    return [_part_table(part, found) for part, found in by_part.items()]


def _part_table(part: str, found: list[Finding]) -> str:
    title, note = _HEADS.get(part, (f"{part[0].upper()}{part[1:]}", "About it"))
    has_sizes = any(finding.attributes["size"] is not None for finding in found)
    rows = [
        (
            _part_name(part, finding),
            *(
                (_value(finding.attributes["size"]) if finding.attributes["size"] is not None else "",)
                if has_sizes
                else ()
            ),
            code_span(str(finding.attributes["note"])) if finding.attributes["note"] else "",
        )
        for finding in found
    ]
    return table((title, *(("Size",) if has_sizes else ()), note), rows)


def _part_name(part: str, finding: Finding) -> str:
    name = str(finding.attributes["name"])
    return code_span(indicators_shown(name) if part in _ADDRESSES else name)


def indicators_shown(text: str) -> str:
    """An address as no click follows it, for a code span."""
    return text.replace("http", "hxxp").replace(".", "[.]") if "://" in text else text


def _texts(findings: Sequence[Finding]) -> list[str]:
    texts = [finding for finding in _of(findings, "part") if finding.attributes["text"]]
    shown = [
        f"**{escape(finding.title)}**\n\n{code_block(str(finding.attributes['text']), limit=TEXT_CHARS)}"
        for finding in texts[:MAX_TEXTS]
    ]
    if len(texts) > MAX_TEXTS:
        shown.append(f"… and {plural(len(texts) - MAX_TEXTS, 'more text')} (all are in the findings).")
    return shown


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do with the file, by its verdict."""
    steps = []
    worst = {str(finding.attributes["verdict"]) for finding in _of(findings, "verdict")}
    if worst & {"malicious", "suspicious"}:
        steps.append("Search endpoints and mail for the SHA-256; keep the file for a sandbox, and do not open it here.")
        if any(finding.kind == "indicator" for finding in findings):
            steps.append("Search proxy and DNS logs for the addresses in it.")
    elif worst & {"unusual"}:
        steps.append("Find out where the file came from, and look its SHA-256 up where files are known.")
    if any(finding.attributes["trait"] == "embedded_program" for finding in _of(findings, "trait")):
        steps.append("Take the embedded program out and inspect it by itself.")
    return steps


def _list(value: Scalar | list[Scalar]) -> list[Scalar]:
    return value if isinstance(value, list) else []
