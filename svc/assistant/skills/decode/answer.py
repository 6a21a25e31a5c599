"""The answer about encoded data: the decoded result, each layer, and the indicators in the result."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Confidence, Finding, InputKind, Severity, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, Fold, as_folds, short_place
from svc.assistant.skills.decode.findings import DecodedPart, DecodeLayer
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.indicators.tables import folds_by_type, search_steps
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_block, code_span, escape, plural, table

SHOWN_CHARS = 4_000  # of a result; the findings have more
VERDICT_CHARS = 200  # of the result in the verdict
MAX_PARTS = 10  # shown with their layers
FACT_CHARS = 120


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The result, the number of layers, and whether it is suspicious code."""
    parts = with_facts(findings, DecodedPart)
    if not parts:
        return "**Nothing could be decoded:** the text has no encoded part that can be decoded without a key."
    first = parts[0].facts
    result = f": {code_span(first.text, limit=VERDICT_CHARS)}" if first.text else f" into {escape(first.form)}"
    lead = f"**Decoded** through {plural(first.layers, 'layer')} ({escape(first.path)}){result}."
    if len(parts) > 1:
        lead = f"**Decoded {plural(len(parts), 'encoded part')}.** The first one, through {escape(first.path)}{result}."
    suspicious = [part for part in parts if part.severity in (Severity.HIGH, Severity.CRITICAL)]
    if suspicious:
        lead += f" **Suspicious:** {escape(suspicious[0].why)}."
    return lead


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Where each part is and what it decodes to; of one part its layers."""
    parts, layers = with_facts(findings, DecodedPart), with_facts(findings, DecodeLayer)
    if len(parts) == 1 and parts[0].facts.layers == 1:
        return []  # the verdict has it
    if len(parts) == 1:
        place = short_place(parts[0].evidence[0])
        return [
            f"**Layer {layer.facts.depth}, {escape(layer.facts.encoding)}**"
            f"{f' ({place})' if layer.facts.depth == 1 else ''}: {code_span(layer.facts.preview, limit=FACT_CHARS)}"
            for layer in layers[:MAX_FACTS]
        ]
    return [
        f"**Part {part.facts.chain}, {escape(part.facts.path)}** ({short_place(part.evidence[0])}): "
        + (code_span(part.facts.text, limit=FACT_CHARS) if part.facts.text else escape(part.facts.form))
        for part in parts[:MAX_FACTS]
    ]


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """The parts with their layers, and the indicators of all results by type."""
    return [*as_folds(_parts)(findings), *folds_by_type(with_facts(findings, IndicatorFacts))]


def _parts(findings: Sequence[AnyFinding]) -> str:
    parts, layers = with_facts(findings, DecodedPart), with_facts(findings, DecodeLayer)
    blocks = []
    for part in parts[:MAX_PARTS]:
        own = [layer.facts for layer in layers if layer.facts.chain == part.facts.chain]
        blocks += [_location(part), _layer_table(own), *_result(part)]
    if len(parts) > MAX_PARTS:
        blocks.append(f"… and {plural(len(parts) - MAX_PARTS, 'more part')} (the findings have all of them).")
    return "\n\n".join(blocks)


def _location(part: Finding[DecodedPart]) -> str:
    evidence = part.evidence[0]
    location = f"{code_span(evidence.source, limit=60)} line {evidence.line:,}"
    return f"**Decoded part {part.facts.chain}**\n\n{location}: {code_span(evidence.excerpt, limit=80)}"


def _layer_table(layers: Sequence[DecodeLayer]) -> str:
    rows = [
        (str(layer.depth), escape(layer.encoding), f"{layer.size:,}", code_span(layer.preview, limit=120))
        for layer in layers
    ]
    return table(("Layer", "Encoding", "Bytes", "Content"), rows)


def _result(part: Finding[DecodedPart]) -> list[str]:
    facts = part.facts
    summary = f"{escape(facts.form)}, {plural(facts.size, 'byte')}, SHA-256 {code_span(facts.sha256)}"
    if facts.is_cut:
        summary += "; truncated, because it unpacks to more than the limit"
    if part.confidence is not Confidence.HIGH:
        summary += f"; {escape(part.why)}"
    return [f"Result: {summary}.", *([code_block(facts.text, limit=SHOWN_CHARS)] if facts.text else [])]


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """Where to look for the decoded content, and for the indicators in it."""
    steps = search_steps(findings)
    if with_facts(findings, DecodedPart):
        steps.append("Search the affected host for the decoded content, and for what it starts or contacts.")
    return steps


_CODECS = r"rot-?(?:13|47)|caesar|base-?(?:16|32|45|58|62|64|85|91)|hex|url[- ]?encod\w+|morse|xor|utf-?16"

SECTION = Section(
    skill=Skill(
        name="decode",
        tool="svc.assistant.skills.decode.tool:inspect",
        input=InputKind.TEXT,
        title="Decoding",
        can="decode data in layers of encodings (base64, hex, gzip, XOR, PowerShell -EncodedCommand, …)",
        facts=(DecodedPart, DecodeLayer, IndicatorFacts),
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
            r"\bde-?(?:code|crypt|cipher|obfuscate)(?: (?:this|it|these|the))?(?: [\w-]{1,20}){0,3}:\s{1,4}\S",
            r"\bdecode (?=[\w+/=%-]{0,40}\d)[\w+/=%-]{8,}",
        ),
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
)
