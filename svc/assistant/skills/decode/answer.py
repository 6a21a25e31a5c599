"""The answer about encodings: what it says in the end, each layer, the indicators in it. Kinds: ``tools/decode.py``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.indicators.tables import search_steps, tables_by_type
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_block, code_span, escape, plural, table

SHOWN_CHARS = 4_000  # of a result; the whole stands in the findings
SHORT_CHARS = 200  # of a result that fits into the verdict
SHOWN_CHAINS = 10


def verdict(findings: Sequence[Finding]) -> str:
    """What came out, through how many layers, and whether it is something that runs."""
    results = _of(findings, "decoded")
    if not results:
        return "**Nothing could be decoded.**"
    first = results[0]
    text = str(first.attributes["text"])
    shown = f": {code_span(text, limit=SHORT_CHARS)}" if text else f" into {escape(str(first.attributes['form']))}"
    path = escape(str(first.attributes["path"]))
    lead = f"**Decoded** through {plural(_number(first, 'layers'), 'layer')} ({path}){shown}."
    if len(results) > 1:
        lead = f"**{plural(len(results), 'encoded part')} decoded.** The first, through {path}{shown}."
    risky = [result for result in results if result.severity in (Severity.HIGH, Severity.CRITICAL)]
    if risky:
        lead += f" **It is code that should not run:** {escape(risky[0].why)}."
    return lead


def section(findings: Sequence[Finding]) -> str:
    """Per part: where it stands, its layers, the whole result; then the indicators of the last layers."""
    blocks = []
    results = _of(findings, "decoded")
    for result in results[:SHOWN_CHAINS]:
        layers = [f for f in _of(findings, "decode_layer") if f.attributes["chain"] == result.attributes["chain"]]
        blocks += [_place(result), _layers(layers), *_result(result)]
    if len(results) > SHOWN_CHAINS:
        blocks.append(f"… and {plural(len(results) - SHOWN_CHAINS, 'more part')} (all are in the findings).")
    if found := _of(findings, "indicator"):
        blocks += ["**Indicators in what was decoded**", tables_by_type(found)]
    return "\n\n".join(blocks)


def _place(result: Finding) -> str:
    evidence = result.evidence[0]
    where = f"{code_span(evidence.source, limit=60)} line {evidence.line:,}"
    return f"**Part {result.attributes['chain']}**, {where}: {code_span(evidence.excerpt, limit=80)}"


def _layers(layers: Sequence[Finding]) -> str:
    rows = [
        (
            str(layer.attributes["depth"]),
            escape(str(layer.attributes["encoding"])),
            f"{_number(layer, 'size'):,}",
            code_span(str(layer.attributes["preview"]), limit=120),
        )
        for layer in layers
    ]
    return table(("Layer", "Encoding", "Bytes", "What came out"), rows)


def _result(result: Finding) -> list[str]:
    text = str(result.attributes["text"])
    digest = code_span(str(result.attributes["sha256"]))
    facts = f"{escape(str(result.attributes['form']))}, {plural(_number(result, 'size'), 'byte')}, SHA-256 {digest}"
    if result.attributes["is_cut"]:
        facts += "; cut, since it unpacks to more than is kept"
    if result.confidence != "high":
        facts += f"; {escape(result.why)}"
    return [f"Result: {facts}.", *([code_block(text, limit=SHOWN_CHARS)] if text else [])]


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _number(finding: Finding, name: str) -> int:
    value = finding.attributes[name]
    return value if isinstance(value, int) else 0


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """Where to look for what was decoded, and for the indicators in it."""
    found = _of(findings, "decoded") + _of(findings, "decoded_layer")
    steps = (
        ["Look for the decoded text, or what it starts and contacts, on the host where it was found."] if found else []
    )
    return search_steps(findings) + steps


_CODECS = r"rot-?(?:13|47)|caesar|base-?(?:16|32|45|58|62|64|85|91)|hex|url[- ]?encod\w+|morse|xor|utf-?16"

SECTION = Section(
    skill=Skill(
        name="decode",
        tool="svc.assistant.skills.decode.tool:unwrap",
        input=InputKind.TEXT,
        title="Decoding",
        can="decode what is wrapped in layers (base64, hex, gzip, XOR, PowerShell -EncodedCommand, …)",
        facts=(IndicatorFacts,),
        loose_kinds=("decoded", "decoded_layer"),
        strong=words(
            r"\b(?:de-?cod(?:e|es|ed|ing)|de-?obfuscat\w+|unwrap\w*|decipher\w*|decrypt\w*|un-?encode)\b",
            r"\bwhat (?:does|do) (?:this|that|it|the \w+)(?: \w+)? (?:say|decode|mean)\b",
        ),
        looks=words(rf"\A\s*(?:{_CODECS})\b[^\n:]{{0,20}}:\s*\S"),
        weak=words(
            r"\bbase-?64\b", r"\s-e(?:nc?|ncodedcommand)?\s+[A-Za-z0-9+/=]{8,}", r"\bencoded\b", r"\bobfuscated\b"
        ),
        content=words(
            r"(?<![A-Za-z0-9+/_=.-])(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Z])[A-Za-z0-9+/_-]{16,}={0,2}(?![A-Za-z0-9+/_.-])",
            r"(?:%[0-9A-F]{2}){3}",
            r"(?:\\x[0-9A-F]{2}){3}",
            r"\bFromBase64String\b|\bfromCharCode\b|-enc\b",
            r"\b(?:[0-9a-f]{2}[ :]){8,}",
            r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{6,}={1,2}(?![A-Za-z0-9=])",
        ),
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
