"""Unwrap encodings layer by layer until something readable remains; show each layer and the indicators of the last.

Decides where encoded parts stand in a text, which reading of a layer is right, and when to stop. A best-first search
over the readings of ``decoders.py``, judged by ``plausibility.py``; bounded in layers, readings and bytes. Not: what
the result does. Ordinary prose is left alone: what is plausible already is not decoded by guesses.

Finding kinds and their attributes:

``decode_layer``: chain (int, from 1), depth (int, from 1), encoding (str), size (int, bytes of what came out), is_text
(bool), preview (str, at most PREVIEW_CHARS; hex where it is no text), plausibility (float, 0 to 1).

``decoded``: chain (int), layers (int), path (str, "Base64, gzip, hex"), text (str, at most TEXT_CHARS; "" where it is
no text), form (str: "text" or the kind of file), size (int), plausibility (float), is_cut (bool), sha256 (str).

``indicator``: those of the last layer, as ``indicators.py`` describes them.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import re
from collections.abc import Iterator

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Severity, ToolEvent
from svc.assistant.findings import Finding as TypedFinding
from svc.assistant.findings import LooseFinding as Finding
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
from svc.assistant.skills.decode.plausibility import file_kind, plausibility, text_of
from svc.assistant.skills.indicators import tool as indicators

MAX_LAYERS = 16
MAX_READINGS = 3_000  # looked at per text; a part alone may use half of what is left
MAX_SEARCH_BYTES = 30_000_000  # read and written per chain
MIN_BUDGET = 40  # readings that one part needs at least
MAX_LOOSE_BYTES = 60_000  # larger layers are not shifted, reversed or tried with keys
EXPANSION_COST = 25  # how often the decoders go over a layer
MAX_PATTERN_BYTES = 1_000_000  # larger layers are read as one blob or not at all
MAX_INDICATOR_CHARS = 1_000_000  # of a result that is searched for indicators
MAX_CHAINS = 40  # encoded parts of one text
PREVIEW_CHARS = 300
TEXT_CHARS = 20_000
GOOD = 0.5  # plausibility from which on a result is believed
CLEAR = 0.72  # from which on no guess can make it better
CERTAIN = 0.85  # the same for reading it from its end: words stay half plausible backwards
EXCERPT_CHARS = 160

_ASKING = re.compile(
    r"\A\s*(?:(?:please|can|could|you|hey|hi|help|me|to|and|what|does|do|is|i|need|want|explain|tell)\b[ ,]*){0,6}"
    r"(?:decod\w*|de-?obfuscat\w*|unwrap|decrypt\w*|unpack|decipher|mean\w*|this|say\w*)\b[^\n:]{0,80}(?::|\n)\s*",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"\A[$\w.\[\]-]{1,40}(?: [\w-]{1,20}){0,2}(?::\s+|\s+[:+]?=\s*|=(?=[\"']))(?=\S)")
"""A name before what is encoded: ``payload = …``, ``base32: …``."""
_CODEC = re.compile(r"(?:rot-?\d|caesar|base-?\d\d|b64|hex|url|xor|morse)", re.IGNORECASE)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)```|(?<![^\s(:])`([^`\n]{4,})`(?![^\s).,;:?!])", re.DOTALL)
_PARTS: tuple[re.Pattern[str], ...] = (
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


class _Node(msgspec.Struct, frozen=True):
    """A state of the search: what is left, and the readings that led there."""

    data: bytes
    text: str | None
    worth: float
    steps: tuple[Reading, ...] = ()
    loose: int = 0
    is_guessed: bool = False


class _Part(msgspec.Struct, frozen=True):
    """A part of the text that may be encoded, and where it starts; ``declared``: what it is by the text's own word."""

    text: str
    line: int
    is_whole: bool = False
    declared: Reading | None = None


def unwrap(text: str, *, source: str) -> Iterator[ToolEvent]:
    """Each encoded part of ``text`` as its layers, its result and the indicators in it; a Gap where none is."""
    yield Progress(text=f"looking for encoded parts in {len(text):,} characters of {source}")
    parts = list(_parts(text))
    yield Progress(text=f"parts of {source} that may be encoded: {len(parts):,}")
    chains, covered, budget = 0, "", MAX_READINGS
    for part in parts:
        if chains >= MAX_CHAINS:
            yield Gap(text=f"stopped after {MAX_CHAINS} decoded parts, before line {part.line}")
            break
        if part.text in covered:
            continue
        if budget < MIN_BUDGET:
            yield Gap(text=f"of {len(parts):,} parts, those from line {part.line} on were not tried")
            break
        steps, looked = _best_chain(part, budget // 2)
        budget -= looked
        if not steps:
            continue
        chains += 1
        covered += part.text + "\n"
        names = ", ".join(step.name for step in steps)
        yield Progress(text=f"part {chains} decoded: {names} ({looked:,} readings looked at)")
        yield from _findings(part, steps, chains, source)
        if part.is_whole:
            break
    if not chains:
        yield Gap(text=_nothing_found(parts))


def _nothing_found(parts: list[_Part]) -> str:
    if not parts:
        return "nothing looks encoded"
    return f"nothing could be decoded; {len(parts):,} parts were tried (a key may be missing)"


def _parts(text: str) -> Iterator[_Part]:
    """What may be encoded, the likeliest first: the whole, what is fenced, what follows the asking, then runs
    inside."""
    subject = text.strip()
    asking = _ASKING.match(text)
    if asking:
        subject = text[asking.end() :].strip()
    for part in (told := list(declared_parts(text))):
        yield _Part(part.text, 1 + text.count("\n", 0, part.start), declared=part.reading)
    line = 1 + text.count("\n", 0, text.find(subject)) if subject else 1
    fenced = [match[1] or match[2] for match in _FENCED.finditer(text)]
    if subject and not fenced and not any(part.text in subject for part in told):
        yield from _whole(subject, line)
    for block in fenced:
        yield _Part(block.strip(), 1 + text.count("\n", 0, text.find(block)))
    yield from _runs(text)


def _whole(subject: str, line: int) -> Iterator[_Part]:
    """The text as it is, and without a name before it; the latter first where the name is that of an encoding."""
    parts = [_Part(_unquoted(subject), line, is_whole=True)]
    if (label := _LABELLED.match(subject)) is not None:
        rest = re.sub(r"(?<=[\"']);\Z", "", subject[label.end() :])
        parts.insert(0 if _CODEC.match(subject) else 1, _Part(_unquoted(rest), line, is_whole=True))
    yield from parts


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("'", "'"), ("“", "”"))
    return text[1:-1] if is_quoted and text[0] not in text[1:-1] else text


def _runs(text: str) -> Iterator[_Part]:
    taken: list[tuple[int, int]] = []
    found = []
    for pattern in _PARTS:
        for match in itertools.islice(pattern.finditer(text), 2_000):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in taken[-200:]) or _is_word(
                match[0]
            ):
                continue
            taken.append((start, end))
            found.append((end - start, start, match[0].strip()))
    for _, start, run in sorted(found, key=lambda item: -item[0])[: MAX_CHAINS * 5]:
        yield _Part(run, 1 + text.count("\n", 0, start))


def _is_word(run: str) -> bool:
    """Whether a run of letters is an ordinary word, a number, a path of words, or a hash."""
    if len(run) in _HASH_LENGTHS and re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", run):
        return True
    if len(run) < 12 and not run.endswith("="):
        return True
    return run.isdigit() and len(run) < 16


def _best_chain(part: _Part, budget: int) -> tuple[tuple[Reading, ...], int]:
    """The readings that lead to the most plausible result, and how many were looked at; none where none is better."""
    data = part.text.encode("utf-8", "surrogatepass")
    start = _Node(data, part.text, plausibility(data))
    if part.declared is not None:
        start = _child(start, part.declared)
    best, best_score = start, start.worth + (0.12 if start.worth >= GOOD else 0.0)
    order = itertools.count()
    queue: list[tuple[float, int, _Node]] = [(0.0, next(order), start)]
    seen, looked, moved = {data, start.data}, 0, 0
    while queue and looked < budget and moved < MAX_SEARCH_BYTES:
        _, _, node = heapq.heappop(queue)
        moved += _cost(node)
        for child in _children(node):
            looked, moved = looked + 1, moved + (_cost(child) if child.is_guessed else len(child.data))
            if child.data in seen:
                continue
            seen.add(child.data)
            score = _score(child)
            if score > best_score:
                best, best_score = child, score
            if len(child.steps) < MAX_LAYERS and (priority := _priority(child)) is not None and _leads_on(child):
                heapq.heappush(queue, (priority, next(order), child))
        if best.worth >= CLEAR and best.steps and (not queue or queue[0][0] > _done_at(best)):
            break
    return (best.steps if best.worth >= _needed(best) else start.steps), looked


def _children(node: _Node) -> Iterator[_Node]:
    is_bulk = len(node.data) > MAX_PATTERN_BYTES
    for decoder in BULK if is_bulk else STRICT:
        for reading in decoder(node.data, node.text):
            yield _child(node, reading)
    if node.text is not None and node.worth >= 0.25 and not is_bulk:
        yield from _inner(node)
    if not node.is_guessed and node.loose < 3 and len(node.data) <= MAX_LOOSE_BYTES:
        for decoder in LOOSE if node.worth < CLEAR else (backwards,) if node.worth < CERTAIN else ():
            for reading in decoder(node.data, node.text):
                yield msgspec.structs.replace(_child(node, reading), is_guessed=True)


def _inner(node: _Node) -> Iterator[_Node]:
    """Readings of the longest encoded run inside a layer that is otherwise readable, as a command around a blob is."""
    for part in itertools.islice(_runs(node.text or ""), 3):
        if len(part.text) < 16 or part.text == node.text:
            continue
        data = part.text.encode("utf-8", "surrogatepass")
        for decoder in STRICT:
            for reading in decoder(data, part.text):
                inside = msgspec.structs.replace(reading, name=f"{reading.name} inside it")
                child = _child(node, inside)
                if child.worth >= GOOD or _is_packed(child.data) or _is_readable(child):
                    yield child


def _child(node: _Node, reading: Reading) -> _Node:
    found = text_of(reading.data)
    worth = plausibility(reading.data)
    loose = node.loose + (not reading.is_strict)
    return _Node(reading.data, found[0] if found else None, worth, (*node.steps, reading), loose)


def _is_packed(data: bytes) -> bool:
    return starts_as(data, "gzip_start", "bzip2_start", "xz_start", "zip") or data[:2] in _ZLIB_HEADERS


_ZLIB_HEADERS = (b"x\x9c", b"x\xda", b"x\x01", b"x^")  # the four levels of zlib's window of 32 KiB


def _is_readable(node: _Node) -> bool:
    return node.text is not None and len(node.data) >= 6 and node.text.isascii()


def _score(node: _Node) -> float:
    """How good a result is: its plausibility, less a little for each layer and more for each guess."""
    return node.worth - 0.01 * len(node.steps) - 0.08 * node.loose


def _needed(node: _Node) -> float:
    """What a result must reach: guesses need more than forms, and short ones more than long."""
    return (
        GOOD + 0.08 * node.loose - (0.25 if not node.loose and len(node.data) >= 4 and node.text is not None else 0.0)
    )


def _done_at(best: _Node) -> float:
    return 0.5 + 0.1 * len(best.steps)


def _leads_on(node: _Node) -> bool:
    """Whether a layer is worth a look inside: a guess only where it reads well or a form stands behind it."""
    if not node.is_guessed or node.worth >= 0.3:
        return True
    if any(True for decoder in NARROW for _ in decoder(node.data, node.text)):
        return True
    is_framed = (node.text or "").lstrip().startswith("<~")
    forms = (decoder for decoder in STRICT if decoder is not base58_text and (is_framed or decoder is not base85_text))
    readings = (reading for decoder in forms for reading in decoder(node.data, node.text) if reading.is_strict)
    return any(_is_packed(reading.data) or _is_readable(_child(node, reading)) for reading in readings)


def _cost(node: _Node) -> int:
    """The bytes that looking inside a layer goes over."""
    return len(node.data) * (1 if len(node.data) > MAX_PATTERN_BYTES else EXPANSION_COST)


def _priority(node: _Node) -> float | None:
    """Lower is sooner; None where a layer leads nowhere: bytes without form that only a guess could read."""
    is_strict = node.steps[-1].is_strict
    if _is_packed(node.data) or file_kind(node.data):
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
        - 0.2 * node.worth * (node.worth < CLEAR)
        + 0.1 * len(node.steps)
        + 0.2 * node.loose
        + node.steps[-1].rarity
    )


def _findings(part: _Part, steps: tuple[Reading, ...], chain: int, source: str) -> Iterator[ToolEvent]:
    evidence = (Evidence(source=source, excerpt=part.text[:EXCERPT_CHARS], line=part.line),)
    for depth, step in enumerate(steps, start=1):
        found = text_of(step.data)
        yield Finding(
            kind="decode_layer",
            title=f"layer {depth}: {_named(step)}",
            evidence=evidence,
            attributes={
                "chain": chain,
                "depth": depth,
                "encoding": _named(step),
                "size": len(step.data),
                "is_text": found is not None,
                "preview": found[0][:PREVIEW_CHARS] if found else step.data[: PREVIEW_CHARS // 6].hex(" "),
                "plausibility": round(plausibility(step.data), 2),
            },
        )
    yield _result(steps, chain, evidence)
    text = text_of(steps[-1].data)
    if text:
        inside = (
            item
            for item in indicators.inspect(text[0][:MAX_INDICATOR_CHARS], source=f"last layer of part {chain}")
            if isinstance(item, TypedFinding)
        )
        yield from inside


def _named(step: Reading) -> str:
    found = text_of(step.data)
    is_wide = found is not None and found[1].startswith("utf-16")
    return f"{step.name} of UTF-16 text" if is_wide else step.name


def _result(steps: tuple[Reading, ...], chain: int, evidence: tuple[Evidence, ...]) -> Finding:
    last = steps[-1].data
    found = text_of(last)
    risky = sorted({match[0].lower()[:40] for match in _RISKY.finditer(found[0])}) if found else []
    form = file_kind(last) or ("text" if found else "bytes of an unknown form")
    is_program = "program" in form or "shellcode" in form
    guesses = [step.name for step in steps if not step.is_strict]
    why = f"it holds {', '.join(risky[:5])}" if risky else "it is a program" if is_program else ""
    return Finding(
        kind="decoded",
        title=f"decoded ({', '.join(map(_named, steps))}): {form}",
        severity=Severity.HIGH if risky or is_program else Severity.INFO,
        confidence=Confidence.MEDIUM if guesses else Confidence.HIGH,
        why="; ".join(filter(None, (why, f"guessed by what came out: {', '.join(guesses)}" if guesses else ""))),
        evidence=evidence,
        techniques=("T1140",) if risky or is_program else (),
        attributes={
            "chain": chain,
            "layers": len(steps),
            "path": ", ".join(map(_named, steps)),
            "text": found[0][:TEXT_CHARS] if found else "",
            "form": form,
            "size": len(last),
            "plausibility": round(plausibility(last), 2),
            "is_cut": any(step.is_cut for step in steps),
            "sha256": hashlib.sha256(last).hexdigest(),
        },
    )
