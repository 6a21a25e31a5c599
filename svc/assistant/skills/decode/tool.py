"""Decode data layer by layer until something meaningful remains; report each layer and the indicators in the result.

Decides which parts of a text are encoded, which reading of a layer is right, and when to stop: a best-first search over
the readings of ``decoders.py``, judged by ``plausibility.py``, with limits on layers, readings and bytes. It does not
judge what the result does. Ordinary prose is left alone: text that is already plausible is not decoded by guessing.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import re
from collections.abc import Iterator

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.decode.declared import declared_parts
from svc.assistant.skills.decode.decoders import (
    BULK,
    LOOSE,
    NARROW,
    STRICT,
    Reading,
    backwards,
    base58_text,
    base85_text,
    compressed,
)
from svc.assistant.skills.decode.findings import DecodedPart, DecodeLayer
from svc.assistant.skills.decode.plausibility import file_type, plausibility, text_of
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts

MAX_LAYERS = 16
MAX_READINGS = 3_000  # of one input; a single part may use half of what is left
MAX_SEARCH_BYTES = 30_000_000  # read and written for one part
MIN_BUDGET = 40  # readings that one part needs at least
MAX_LOOSE_BYTES = 60_000  # larger layers are not shifted, reversed or tried with keys
MAX_LOOSE_STEPS = 3  # guesses in one chain
EXPANSION_COST = 25  # how often all decoders together read a layer
MAX_PATTERN_BYTES = 1_000_000  # larger layers are read as one blob or not at all
MAX_INDICATOR_CHARS = 1_000_000  # of a result that is searched for indicators
MAX_CHAINS = 40  # encoded parts of one input
MAX_MATCHES = 2_000  # of one pattern of encoded data
PREVIEW_CHARS = 300
TEXT_CHARS = 20_000
EXCERPT_CHARS = 160

# Plausibility values and the costs below were set by hand; no fitting script was kept. The generated chains of
# tests/support/chains.py (95 % must be decoded) and the ordinary texts in the tests of this module hold them in place.
GOOD = 0.5  # from which a result is accepted
CLEAR = 0.72  # from which no guess can improve it
CERTAIN = 0.85  # the same for reversal, because reversed words stay half plausible
KEEP_BONUS = 0.12  # that an input which is plausible as it is has over its readings
LAYER_COST = 0.01  # in plausibility, so that of equal results the one with fewer layers wins
GUESS_COST = 0.08  # in plausibility, for each guess
STRICT_TEXT_RELIEF = 0.25  # by which GOOD is lower if strict forms alone led to text

_REQUEST = re.compile(
    r"\A\s*(?:(?:please|can|could|you|hey|hi|help|me|to|and|what|does|do|is|i|need|want|explain|tell)\b[ ,]*){0,6}"
    r"(?:decod\w*|de-?obfuscat\w*|unwrap|decrypt\w*|unpack|decipher|mean\w*|this|say\w*)\b[^\n:]{0,80}(?::|\n)\s*",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"\A[$\w.\[\]-]{1,40}(?: [\w-]{1,20}){0,2}(?::\s+|\s+[:+]?=\s*|=(?=[\"']))(?=\S)")
"""A name before encoded data: ``payload = …``, ``base32: …``."""
_IDENTIFIER = re.compile(r"[A-Za-z]{1,8}[-_ ]?\d[\d.,:_-]*")
"""An ID such as CVE-2021-44228, which a shifted alphabet would turn into something that looks like words."""
_CODEC = re.compile(r"(?:rot-?\d|caesar|base-?\d\d|b64|hex|url|xor|morse)", re.IGNORECASE)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)```|(?<![^\s(:])`([^`\n]{4,})`(?![^\s).,;:?!])", re.DOTALL)
_ENCODED_FORMS: tuple[re.Pattern[str], ...] = (
    re.compile(r"begin [0-7]{3,4} [^\n]{1,200}\n(?:[ -`]{0,62}\r?\n)+end\b"),
    re.compile(r"<~[^~\n]{4,}~>"),
    re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{4,}\.[\w-]*"),
    re.compile(
        r"(?:\\{1,4}x[0-9A-Fa-f]{2}){3,}|(?:%u[0-9A-Fa-f]{4}){2,}|(?:\\u[0-9A-Fa-f]{4}){3,}"
        r"|(?:\\[0-3]?[0-7]{2}){4,}|(?:&#x?[0-9A-Fa-f]{1,6};){3,}"
    ),
    re.compile(
        r"(?:(?:\[char\]\s{0,8}\(?|\bchrw?\s{0,8}\()\s{0,8}(?:0x)?[0-9A-Fa-f]{1,5}\)?\s{0,8}[+&,.]?\s{0,8}){3,}"
        r"|fromCharCode\s{0,8}\([^()]{6,}\)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:0x[0-9A-Fa-f]{2}\s{0,8},\s{0,8}){4,}0x[0-9A-Fa-f]{2}|\b(?:\d{2,3}\s{0,8},\s{0,8}){5,}\d{2,3}\b"
        r"|\b(?:\d{2,3} ){5,}\d{2,3}\b|\b(?:[01]{8}\s?){3,}"
    ),
    re.compile(r"\b(?:[0-9A-Fa-f]{2}[ :]){7,}[0-9A-Fa-f]{2}\b"),
    re.compile(
        r"(?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/_-]{4,}(?:\r?\n[A-Za-z0-9+/_-]{4,}){2,}"
        r"|[A-Za-z0-9+/]{60,}\r?\n[A-Za-z0-9+/]{4,})={0,2}(?=\s|$)"
    ),
    re.compile(r"(?<![A-Za-z0-9+/_=-])=?=?[A-Za-z0-9+/_-]{6,}={0,6}(?![A-Za-z0-9+/_=-])"),
    re.compile(r"(?:[^\s%]{0,40}%[0-9A-Fa-f]{2}){3,}[^\s\"'<>]*"),
)
_HASH_LENGTHS = (32, 40, 56, 64, 96, 128)
_RISKY = re.compile(
    r"\b(?:iex|invoke-expression|downloadstring|downloadfile|frombase64string|virtualalloc"
    r"|createremotethread|mimikatz|sekurlsa|amsiinitfailed|mshta|regsvr32|certutil|bitsadmin)\b"
    r"|/dev/tcp/|\b(?:curl|wget)\b[^|\n]{1,300}\|\s*(?:ba|z)?sh\b|\bnc\b[^\n]{0,60}\s-e\b"
    r"|-enc(?:odedcommand)?\b|powershell[^\n]{0,80}(?:-w\w* h|-nop)",
    re.IGNORECASE,
)


class SearchNode(msgspec.Struct, frozen=True):
    """A state of the search: the current layer, its plausibility, and the readings that led to it."""

    data: bytes
    text: str | None
    plausibility: float
    steps: tuple[Reading, ...] = ()
    guesses: int = 0
    is_guessed: bool = False


class EncodedPart(msgspec.Struct, frozen=True):
    """A part of the input that may be encoded; ``declared`` is its reading if the input states the encoding."""

    text: str
    line: int
    is_whole: bool = False
    declared: Reading | None = None


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the DecodeLayers, the DecodedPart and the indicators of each encoded part; a Gap if there is none."""
    yield Progress(text=f"looking for encoded parts in {len(content):,} characters of {source}")
    parts = list(_parts(content))
    yield Progress(text=f"possibly encoded parts of {source}: {len(parts):,}")
    chains, covered, budget, failed = 0, "", MAX_READINGS, set[str]()
    for number, part in enumerate(parts):
        if part.text in covered:
            continue
        if chains >= MAX_CHAINS or budget < MIN_BUDGET:
            limit = f"{MAX_CHAINS} decoded parts" if chains >= MAX_CHAINS else "the search limit"
            yield Gap(text=f"stopped at {limit}: parts from line {part.line} on were not tried", in_headline=True)
            failed |= {one.text for one in parts[number:] if one.text not in covered}
            break
        steps, tried = _best_chain(part, budget // 2)
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
    return f"nothing could be decoded; {len(parts):,} parts were tried (a key may be missing)"


def _parts(text: str) -> Iterator[EncodedPart]:
    """Yield what may be encoded: declared parts, the whole input without its request, fenced blocks, then runs."""
    subject = text.strip()
    request = _REQUEST.match(text)
    if request:
        subject = text[request.end() :].strip()
    for part in (declared := list(declared_parts(text))):
        yield EncodedPart(part.text, 1 + text.count("\n", 0, part.start), declared=part.reading)
    line = 1 + text.count("\n", 0, text.find(subject)) if subject else 1
    fenced = [match[1] or match[2] for match in _FENCED.finditer(text)]
    is_subject = bool(subject) and not fenced and not _IDENTIFIER.fullmatch(subject)
    if is_subject and not any(part.text in subject for part in declared):
        yield from _whole(subject, line)
    for block in fenced:
        yield EncodedPart(block.strip(), 1 + text.count("\n", 0, text.find(block)))
    yield from _runs(text)


def _whole(subject: str, line: int) -> Iterator[EncodedPart]:
    """Yield the text as it is, and without a name before it; the latter first if the name is that of an encoding."""
    parts = [EncodedPart(_unquoted(subject), line, is_whole=True)]
    if (label := _LABELLED.match(subject)) is not None:
        rest = re.sub(r"(?<=[\"']);\Z", "", subject[label.end() :])
        parts.insert(0 if _CODEC.match(subject) else 1, EncodedPart(_unquoted(rest), line, is_whole=True))
    yield from parts


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("'", "'"), ("“", "”"))
    return text[1:-1] if is_quoted and text[0] not in text[1:-1] else text


def _runs(text: str) -> Iterator[EncodedPart]:
    taken: list[tuple[int, int]] = []
    found = []
    for pattern in _ENCODED_FORMS:
        for match in itertools.islice(pattern.finditer(text), MAX_MATCHES):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in taken[-200:]) or _is_word(
                match[0]
            ):
                continue
            taken.append((start, end))
            found.append((end - start, start, match[0].strip()))
    for _, start, run in sorted(found, key=lambda item: -item[0])[: MAX_CHAINS * 5]:
        yield EncodedPart(run, 1 + text.count("\n", 0, start))


def _is_word(run: str) -> bool:
    """Whether a run of characters is more likely a word, a number or a hash than encoded data."""
    if len(run) in _HASH_LENGTHS and re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", run):
        return True
    if (len(run) < 12 and not run.endswith("=")) or _IDENTIFIER.fullmatch(run):
        return True
    return run.isdigit() and len(run) < 16


def _best_chain(part: EncodedPart, budget: int) -> tuple[tuple[Reading, ...], int]:
    """Return the readings that lead to the most plausible result, if it is better, and how many were tried."""
    data = part.text.encode("utf-8", "surrogatepass")
    start = SearchNode(data, part.text, plausibility(data))
    if part.declared is not None:
        start = _child(start, part.declared)
    best, best_score = start, start.plausibility + (KEEP_BONUS if start.plausibility >= GOOD else 0.0)
    order = itertools.count()
    queue: list[tuple[float, int, SearchNode]] = [(0.0, next(order), start)]
    seen, tried, moved = {data, start.data}, 0, 0
    while queue and tried < budget and moved < MAX_SEARCH_BYTES:
        _, _, node = heapq.heappop(queue)
        moved += _cost(node)
        for child in _children(node):
            tried, moved = tried + 1, moved + (_cost(child) if child.is_guessed else len(child.data))
            if child.data in seen:
                continue
            seen.add(child.data)
            score = _score(child)
            if score > best_score:
                best, best_score = child, score
            if len(child.steps) < MAX_LAYERS and (priority := _priority(child)) is not None and _leads_on(child):
                heapq.heappush(queue, (priority, next(order), child))
        if best.plausibility >= CLEAR and best.steps and (not queue or queue[0][0] > _done_at(best)):
            break
    return (best.steps if best.plausibility >= _needed(best) else start.steps), tried


def _children(node: SearchNode) -> Iterator[SearchNode]:
    is_bulk = len(node.data) > MAX_PATTERN_BYTES
    for decoder in BULK if is_bulk else STRICT:
        for reading in decoder(node.data, node.text):
            yield _child(node, reading)
    if node.text is not None and node.plausibility >= 0.25 and not is_bulk:
        yield from _inner(node)
    if not node.is_guessed and node.guesses < MAX_LOOSE_STEPS and len(node.data) <= MAX_LOOSE_BYTES:
        for decoder in LOOSE if node.plausibility < CLEAR else (backwards,) if node.plausibility < CERTAIN else ():
            for reading in decoder(node.data, node.text):
                yield msgspec.structs.replace(_child(node, reading), is_guessed=True)


def _inner(node: SearchNode) -> Iterator[SearchNode]:
    """Yield readings of the longest encoded runs inside a readable layer, for example a command around a blob."""
    for part in itertools.islice(_runs(node.text or ""), 3):
        if len(part.text) < 16 or part.text == node.text:
            continue
        data = part.text.encode("utf-8", "surrogatepass")
        for decoder in STRICT:
            for reading in decoder(data, part.text):
                inside = msgspec.structs.replace(reading, name=f"{reading.name} inside it")
                child = _child(node, inside)
                if child.plausibility >= GOOD or _is_packed(child.data) or _is_readable(child):
                    yield child


def _child(node: SearchNode, reading: Reading) -> SearchNode:
    found = text_of(reading.data)
    guesses = node.guesses + (not reading.is_strict)
    steps = (*node.steps, reading)
    return SearchNode(reading.data, found[0] if found else None, plausibility(reading.data), steps, guesses)


def _is_packed(data: bytes) -> bool:
    return starts_as(data, "gzip_start", "bzip2_start", "xz_start", "zip") or data[:2] in _ZLIB_HEADERS


_ZLIB_HEADERS = (b"x\x9c", b"x\xda", b"x\x01", b"x^")  # the four levels of zlib's window of 32 KiB


def _is_readable(node: SearchNode) -> bool:
    return node.text is not None and len(node.data) >= 6 and node.text.isascii()


def _score(node: SearchNode) -> float:
    """Return how good a result is: its plausibility, minus a little for each layer and more for each guess."""
    return node.plausibility - LAYER_COST * len(node.steps) - GUESS_COST * node.guesses


def _needed(node: SearchNode) -> float:
    """Return the plausibility that a result must reach: guesses need more than strict forms, very short results too."""
    is_strict_text = not node.guesses and len(node.data) >= 4 and node.text is not None
    return GOOD + GUESS_COST * node.guesses - (STRICT_TEXT_RELIEF if is_strict_text else 0.0)


def _done_at(best: SearchNode) -> float:
    """Return the priority from which on the queue cannot improve a clear result any more."""
    return 0.5 + 0.1 * len(best.steps)


def _leads_on(node: SearchNode) -> bool:
    """Whether a layer is worth decoding further: a guess only if it reads well or has a strict form itself."""
    if not node.is_guessed or node.plausibility >= 0.3:
        return True
    if any(True for decoder in NARROW for _ in decoder(node.data, node.text)):
        return True
    is_framed = (node.text or "").lstrip().startswith("<~")
    forms = (decoder for decoder in STRICT if decoder is not base58_text and (is_framed or decoder is not base85_text))
    readings = (reading for decoder in forms for reading in decoder(node.data, node.text) if reading.is_strict)
    return any(_is_packed(reading.data) or _is_readable(_child(node, reading)) for reading in readings)


def _cost(node: SearchNode) -> int:
    """Return the number of bytes that decoding a layer reads."""
    return len(node.data) * (1 if len(node.data) > MAX_PATTERN_BYTES else EXPANSION_COST)


def _priority(node: SearchNode) -> float | None:
    """Return the place in the queue, lower is sooner; None for bytes without a form, which only a guess can read."""
    is_strict = node.steps[-1].is_strict
    if _is_packed(node.data) or file_type(node.data):
        promise: float | None = 1.0
    elif node.text is not None:
        promise = 0.7 if is_strict else 0.35
    elif not node.is_guessed and len(node.data) >= 6 and any(compressed(node.data, None)):
        promise = 1.0
    else:
        promise = 0.45 if is_strict and len(node.data) >= 6 else None
    if promise is None:
        return None
    return (
        1.0
        - promise
        - 0.2 * node.plausibility * (node.plausibility < CLEAR)
        + 0.1 * len(node.steps)
        + 0.2 * node.guesses
        + node.steps[-1].rarity
    )


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
