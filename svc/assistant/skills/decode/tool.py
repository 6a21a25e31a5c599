"""Decode data layer by layer until something meaningful remains; report each layer and the indicators in the result.

The parts come from ``parts.py``, their layers from ``search.py``. Nothing here judges what the result does beyond
naming words of suspicious code. Ordinary prose is left alone: plausible text is not decoded by guessing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.decode.findings import DecodedPart, DecodeLayer
from svc.assistant.skills.decode.parts import MAX_CHAINS, EncodedPart, parts_of
from svc.assistant.skills.decode.plausibility import file_type, plausibility, text_of
from svc.assistant.skills.decode.readings import Reading
from svc.assistant.skills.decode.search import GOOD, best_chain
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts

MAX_READINGS = 5_000  # of one input; a single part may use half of what is left
MAX_READINGS_UNASKED = 2_000  # if the question does not ask for decoding
MIN_BUDGET = 40  # readings that one part needs at least
MAX_INDICATOR_CHARS = 1_000_000  # of a result that is searched for indicators
PREVIEW_CHARS = 300
TEXT_CHARS = 20_000
EXCERPT_CHARS = 160

_RISKY = re.compile(
    r"\b(?:iex|invoke-expression|downloadstring|downloadfile|frombase64string|virtualalloc"
    r"|createremotethread|mimikatz|sekurlsa|amsiinitfailed|mshta|regsvr32|certutil|bitsadmin)\b"
    r"|/dev/tcp/|\b(?:curl|wget)\b[^|\n]{1,300}\|\s*(?:ba|z)?sh\b|\bnc\b[^\n]{0,60}\s-e\b"
    r"|-enc(?:odedcommand)?\b|powershell[^\n]{0,80}(?:-w\w* h|-nop)",
    re.IGNORECASE,
)


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the DecodeLayers, the DecodedPart and the indicators of each encoded part; a Gap if there is none."""
    yield Progress(text=f"looking for encoded parts in {len(content):,} characters of {source}")
    parts = list(parts_of(content))
    yield Progress(text=f"possibly encoded parts of {source}: {len(parts):,}")
    is_asked = any(part.is_asked for part in parts)
    chains, covered, budget, failed = 0, "", MAX_READINGS if is_asked else MAX_READINGS_UNASKED, set[str]()
    for number, part in enumerate(parts):
        if part.text in covered:
            continue
        if chains >= MAX_CHAINS or budget < MIN_BUDGET:
            limit = f"{MAX_CHAINS} decoded parts" if chains >= MAX_CHAINS else "the search limit"
            yield Gap(text=f"stopped at {limit}: parts from line {part.line} on were not tried", in_headline=True)
            failed |= {one.text for one in parts[number:] if one.text not in covered}
            break
        steps, tried = best_chain(part, budget // 2)
        budget -= tried
        if not steps:
            if _looks_encoded(part):
                failed.add(part.text)
            continue
        chains += 1
        covered += part.text + "\n"
        names = ", ".join(step.name for step in steps)
        yield Progress(text=f"part {chains} decoded: {names} ({tried:,} readings tried)")
        yield from _part_findings(part, steps, chains, source)
        if part.is_whole:
            break
    if not chains:
        yield Gap(text=_nothing_found(parts))
    undecoded = sum(not _is_within(part, covered) for part in failed)
    if chains and undecoded:
        yield Gap(text=f"{undecoded:,} more parts look encoded, but could not be decoded")
    yield _coverage(chains, undecoded)


def _coverage(decoded: int, undecoded: int) -> Coverage:
    return Coverage(
        read_as="text with encoded parts" if decoded or undecoded else "text without encoded parts",
        unit="encoded part",
        understood=decoded,
        total=decoded + undecoded,
        looked_for="Base64, hexadecimal, URL and character codes, compression, XOR with short keys and simple ciphers",
        not_covered="data encrypted with a real key cannot be decoded",
    )


def _looks_encoded(part: EncodedPart) -> bool:
    """Whether a part that could not be decoded does not read well as it is."""
    return part.declared is not None or plausibility(part.text.encode("utf-8", "surrogatepass")) < GOOD


def _is_within(text: str, decoded: str) -> bool:
    """Whether an undecoded part is the text around decoded ones, or a piece of them."""
    return text in decoded or any(part and part in text for part in decoded.split("\n"))


def _nothing_found(parts: list[EncodedPart]) -> str:
    if not parts:
        return "no encoded data found"
    tried = "1 part was" if len(parts) == 1 else f"{len(parts):,} parts were"
    return f"nothing could be decoded; {tried} tried (a key may be missing)"


_SUSPICIOUS_CODE = (
    (
        "a PowerShell download cradle",
        re.compile(r"(?m)^(?=.*\b(?:iex|invoke-expression))(?=.*\bdownload(?:string|file))"),
    ),
    ("Mimikatz", re.compile(r"mimikatz|sekurlsa")),
    ("a shellcode loader", re.compile(r"virtualalloc|createremotethread")),
    ("a reverse shell", re.compile(r"/dev/tcp/|\bnc\b.{0,300}\s-e\b")),
    ("a download piped into a shell", re.compile(r"\b(?:curl|wget)\b.{0,300}\|")),
)
"""Names of what ``_RISKY`` finds, searched in all that it found together."""


def _part_findings(
    part: EncodedPart, steps: tuple[Reading, ...], chain: int, source: str
) -> Iterator[Finding[DecodeLayer] | Finding[DecodedPart] | Finding[IndicatorFacts]]:
    evidence = (Evidence(source=source, excerpt=part.text[:EXCERPT_CHARS], line=part.line),)
    for depth, step in enumerate(steps, start=1):
        found = text_of(step.data)
        yield Finding(
            title=f"layer {depth}: {_encoding_name(step)}",
            evidence=evidence,
            facts=DecodeLayer(
                chain=chain,
                depth=depth,
                encoding=_encoding_name(step),
                size=len(step.data),
                is_text=found is not None,
                preview=found[0][:PREVIEW_CHARS] if found else step.data[: PREVIEW_CHARS // 6].hex(" "),
                plausibility=round(plausibility(step.data), 2),
            ),
        )
    yield _result(steps, chain, evidence)
    text = text_of(steps[-1].data)
    if text:
        yield from indicators.indicators_of(text[0][:MAX_INDICATOR_CHARS], source=f"last layer of part {chain}")


def _encoding_name(step: Reading) -> str:
    found = text_of(step.data)
    is_utf16 = found is not None and found[1].startswith("utf-16")
    return f"{step.name} of UTF-16 text" if is_utf16 else step.name


def _result(steps: tuple[Reading, ...], chain: int, evidence: tuple[Evidence, ...]) -> Finding[DecodedPart]:
    last = steps[-1].data
    found = text_of(last)
    risky = sorted({match[0].lower()[:40] for match in _RISKY.finditer(found[0])}) if found else []
    form = file_type(last) or ("text" if found else "unknown binary data")
    is_program = "program" in form or "shellcode" in form
    guesses = [step.name for step in steps if not step.is_strict]
    reasons = [_suspicion(risky)] if risky else ["it is a program"] if is_program else []
    if guesses:
        reasons.append(f"guessed from the result: {', '.join(guesses)}")
    path = ", ".join(map(_encoding_name, steps))
    return Finding(
        title=f"decoded ({path}): {form}",
        severity=Severity.HIGH if risky or is_program else Severity.INFO,
        confidence=Confidence.MEDIUM if guesses else Confidence.HIGH,
        why="; ".join(reasons),
        evidence=evidence,
        techniques=("T1140",) if risky or is_program else (),
        facts=DecodedPart(
            chain=chain,
            layers=len(steps),
            path=path,
            text=found[0][:TEXT_CHARS] if found else "",
            form=form,
            size=len(last),
            plausibility=round(plausibility(last), 2),
            is_cut=any(step.is_cut for step in steps),
            sha256=hashlib.sha256(last).hexdigest(),
        ),
    )


def _suspicion(risky: list[str]) -> str:
    """Name what the risky words of a result are part of, for example "a PowerShell download cradle (…)"."""
    together = " ".join(risky)
    named = next((name for name, pattern in _SUSPICIOUS_CODE if pattern.search(together)), "suspicious code")
    return f"{named} ({', '.join(risky[:5])})"
