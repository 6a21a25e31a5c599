"""Search for the layers of an encoded part: the readings that lead to the most plausible end.

A best-first search: what a layer is worth is known only at the end of a chain, so a layer that looks like noise is
followed as long as it has a form. Strict readings of all layers come first, then guesses, then rare guesses and a guess
upon a guess. Limits on layers, readings and bytes keep it bounded.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterator
from enum import IntEnum

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.skills.decode.declared import declared_parts
from svc.assistant.skills.decode.decoders import BULK, NARROW, STRICT, compressed
from svc.assistant.skills.decode.escapes import VALUE, value_of
from svc.assistant.skills.decode.guesses import (
    GUESSES,
    KEY_SAMPLE_BYTES,
    RARE_GUESSES,
    backwards,
    is_shift,
    shifted_otherwise,
    xored,
)
from svc.assistant.skills.decode.parts import EncodedPart, runs_of
from svc.assistant.skills.decode.plausibility import file_type, known_share, plausibility, shared_words, text_of
from svc.assistant.skills.decode.readings import Decoder, Reading
from svc.assistant.skills.decode.scripts import MIXED, script_plausibility

MAX_LAYERS = 16
MAX_SEARCH_BYTES = 30_000_000  # read and written for one part
MAX_LOOSE_BYTES = 60_000  # larger layers are not shifted, reversed or tried with keys
MAX_LOOSE_STEPS = 4  # guesses in one chain
EXPANSION_COST = 25  # how often all decoders together read a layer
MAX_PATTERN_BYTES = 1_000_000  # larger layers are read as one blob or not at all

# Plausibility values and the costs below were set by hand; no fitting script was kept. The generated chains of
# tests/support/chains.py (95 % must be decoded) and the ordinary texts in the tests of this module hold them in place.
GOOD = 0.5  # from which a result is accepted
CLEAR = 0.72  # from which no guess can improve it
CERTAIN = 0.85  # the same for reversal, because reversed words stay half plausible
KEEP_BONUS = 0.12  # that an input which is plausible as it is has over its readings
LAYER_COST = 0.01  # in plausibility, so that of equal results the one with fewer layers wins
GUESS_COST = 0.07  # in plausibility, for each guess
UNREACHABLE = 2.0  # a plausibility above all
STRICT_TEXT_RELIEF = 0.25  # by which GOOD is lower if strict forms alone led to text


class Phase(IntEnum):
    """What is tried on a layer; each phase comes later in the queue than the one before."""

    STRICT = 0
    GUESS = 1
    RARE_GUESS = 2


PHASE_DELAYS = {Phase.STRICT: 0.0, Phase.GUESS: 0.12, Phase.RARE_GUESS: 0.7}
"""In priority, of which a layer costs 0.1 and a guess 0.2 more."""

PROOFS = frozenset({"gzip", "zlib", "bzip2", "xz", "lzma", "uuencode", "hex dump", "JWT header and claims"})
"""Readings with a checksum or a form that wrong layers do not have by chance: what led to them was right."""


ENTITIES = "HTML entities"
"""Text reads nearly as well before they are replaced, but nobody means ``&amp;``."""
NARROW_FORMS = frozenset(
    {"hex", "hex dump", "decimal character codes", "character codes", "binary digits", "string concatenation"}
)
"""Readings whose form hardly any text has by chance: if they give text, a guess at the layer itself comes late."""
NARROW_DELAY = 0.5
LONG_DELAY, LONG_BYTES = 0.6, 8_000
"""For a long layer, on which each guess costs what many strict readings of shorter layers do."""
ESCAPE_CHARS = 2.8  # in which escapes write a character, at least: =41, %41
INSIDE = " inside it"  # after the name of a reading of a part of a layer
INNER_COST = 0.04
"""In plausibility, of a part within a layer whose rest is left out: the whole layer is the better reading."""
_BASE64_ALONE = re.compile(r"(?:[A-Za-z0-9+/]{4}\s{0,8}){6,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\s*")
_BLOB_ALONE = re.compile(r"(?:[A-Za-z0-9+/_-]{4}\s{0,8}){4,}(?:[A-Za-z0-9+/_-]{1,3}={0,6}|={1,6})?\s*")
LEAST_KEYED_BYTES = 12  # of what a key is looked for: in fewer bytes some key always gives text
TO_BYTES = frozenset({"hex", "hex dump", "Base64", "Base64 (URL alphabet)", "Base32", "Base85", "Ascii85", "Base58"})
"""Readings whose result may be encrypted; with a small key it is text still."""
LONG_KEY = "XOR with the key"
SHORT_GUESS_BYTES, SHORT_GUESS_WORDS = 30, 0.3
"""Of a guessed result this short, which some key or shift always gives, so much of the letters must be known words."""
UNASKED_WORDS, UNASKED_LETTERS = 0.5, 4
"""The same if nobody asked for decoding, and how long such words must be: some key gives a word of three letters."""
UNASKED_CHARS = 20  # that a guessed result in another script needs then: some key gives a few letters of any script
MOST_SHARED = 0.4  # of a guessed result that the input has already: guesses that undo each other decode nothing
GUESSED_BYTES = 5  # that a result needs for each guess: in short data some key always gives a word


class SearchNode(msgspec.Struct, frozen=True):
    """A state of the search: the current layer, its plausibility, and the readings that led to it.

    ``proven`` is how many of the readings a checksum or a rare form has shown to be right; ``guesses`` follow them.
    """

    data: bytes
    text: str | None
    plausibility: float
    steps: tuple[Reading, ...] = ()
    guesses: int = 0
    proven: int = 0
    is_guessed: bool = False


def best_chain(part: EncodedPart, budget: int) -> tuple[tuple[Reading, ...], int]:
    """Return the readings that lead to the most plausible result, if it is better, and how many were tried."""
    data = part.text.encode("utf-8", "surrogatepass")
    start = SearchNode(data, part.text, plausibility(data))
    if part.declared is not None:
        start = _child(start, part.declared)
    bonus = 0.0 if part.is_asked else KEEP_BONUS
    best, best_score = start, start.plausibility + (bonus if start.plausibility >= GOOD else 0.0)
    order = itertools.count()
    queue: list[tuple[float, int, SearchNode, Phase]] = [(0.0, next(order), start, Phase.STRICT)]
    seen, expanded, tried, moved = {data, start.data}, {b""}, 0, 0
    while queue and tried < budget and moved < MAX_SEARCH_BYTES:
        priority, _, node, phase = heapq.heappop(queue)
        moved += _cost(node)
        expanded.add(node.data)
        has_narrow_form = False
        for child in _children(node, phase, is_asked=part.is_asked):
            has_narrow_form |= _is_narrow(node, child)
            tried, moved = tried + 1, moved + (_cost(child) if child.is_guessed else len(child.data))
            if child.data in seen:
                continue
            seen.add(child.data)
            score = _score(child)
            if score > best_score and child.plausibility >= _needed(child) and not _is_chance(child, part):
                best, best_score = child, score
            if len(child.steps) < MAX_LAYERS and (entry := _entry(child)) is not None:
                heapq.heappush(queue, (entry[0], next(order), child, entry[1]))
        later = _next_phase(node, phase)
        if later is not None and (later is not Phase.RARE_GUESS or part.is_whole or part.declared is not None):
            delay = PHASE_DELAYS[later] - PHASE_DELAYS[phase] + NARROW_DELAY * has_narrow_form
            delay += LONG_DELAY * (len(node.data) > LONG_BYTES)
            heapq.heappush(queue, (priority + delay, next(order), node, later))
        is_clear = best.plausibility >= CLEAR and bool(best.steps) and best.data in expanded
        if is_clear and (not queue or queue[0][0] > _done_at(best)):
            break
    return best.steps, tried


def _is_narrow(node: SearchNode, child: SearchNode) -> bool:
    """Whether hardly any layer has the form of a reading by chance: a rare form, or nothing but escapes."""
    step = child.steps[-1]
    is_all_escapes = step.is_strict and node.text is not None and len(child.data) * ESCAPE_CHARS < len(node.data)
    return child.text is not None and (step.name in NARROW_FORMS or is_all_escapes)


def _next_phase(node: SearchNode, phase: Phase) -> Phase | None:
    """The next phase of a layer; None if guesses cannot improve it or there are enough."""
    if phase is Phase.RARE_GUESS or node.guesses >= MAX_LOOSE_STEPS or len(node.data) > MAX_LOOSE_BYTES:
        return None
    if node.plausibility >= CERTAIN or (node.plausibility >= CLEAR and phase is Phase.GUESS):
        return None
    return Phase.RARE_GUESS if phase is Phase.GUESS or node.is_guessed else Phase.GUESS


def _entry(node: SearchNode) -> tuple[float, Phase] | None:
    """The place of a new layer in the queue, and its first phase; None if it leads nowhere."""
    priority = _priority(node)
    if priority is None:
        return None
    if _leads_on(node):
        return priority, Phase.STRICT
    is_key = node.steps[-1].name.startswith(("XOR", "reversed"))
    if is_key and node.guesses < MAX_LOOSE_STEPS and node.text is not None:
        return priority + PHASE_DELAYS[Phase.RARE_GUESS], Phase.RARE_GUESS
    return None


def _children(node: SearchNode, phase: Phase, *, is_asked: bool) -> Iterator[SearchNode]:
    if phase is not Phase.STRICT:
        for decoder in _guessers(node, phase, is_asked=is_asked):
            for reading in decoder(node.data, node.text):
                yield msgspec.structs.replace(_child(node, reading), is_guessed=True)
        return
    is_bulk = len(node.data) > MAX_PATTERN_BYTES
    fitting = set[Decoder]()
    for decoder in BULK if is_bulk else STRICT:
        for reading in decoder(node.data, node.text):
            fitting.add(decoder)
            yield _child(node, reading)
    if node.text is not None and not is_bulk:
        yield from _declared(node)
        if (value := value_of(node.text)) is not None:
            yield _child(node, value)
        if node.plausibility >= 0.25:
            yield from _inner(node, fitting)


def _guessers(node: SearchNode, phase: Phase, *, is_asked: bool) -> tuple[Decoder, ...]:
    if node.plausibility >= CLEAR:
        return (backwards,)  # reversed words stay half plausible
    if node.is_guessed and is_shift(node.steps[-1].name):
        return ()
    guessers = GUESSES if phase is Phase.GUESS or node.is_guessed else RARE_GUESSES
    if node.is_guessed and phase is Phase.RARE_GUESS:
        guessers = (*GUESSES, shifted_otherwise)  # an alphabet may be below a key or a reversal
    if node.text is not None and not (is_asked if not node.steps else node.steps[-1].name in TO_BYTES):
        return tuple(one for one in guessers if one is not xored)  # text becomes other text with some key
    return guessers


def _declared(node: SearchNode) -> Iterator[SearchNode]:
    """Yield the parts of a layer whose encoding it states, for example after -EncodedCommand."""
    if not node.steps or node.text is None or len(node.text) > MAX_LOOSE_BYTES:
        return
    for part in itertools.islice(declared_parts(node.text), 2):
        child = _child(node, msgspec.structs.replace(part.reading, name=f"{part.reading.name}{INSIDE}"))
        if child.text is not None:  # the layer says that this is what it decodes, whatever it looks like
            least = node.plausibility + 2 * LAYER_COST
            child = msgspec.structs.replace(child, plausibility=max(child.plausibility, least))
        yield child


def _inner(node: SearchNode, fitting: set[Decoder]) -> Iterator[SearchNode]:
    """Yield readings of the longest encoded runs inside a readable layer, for example a command around a blob.

    A decoder that fits the whole layer is not asked again: part of its result would be taken for all of it.
    """
    for part in itertools.islice(runs_of(node.text or ""), 3):
        if len(part.text) < 16 or part.text == node.text:
            continue
        data = part.text.encode("utf-8", "surrogatepass")
        for decoder in (one for one in STRICT if one not in fitting):
            for reading in decoder(data, part.text):
                inside = msgspec.structs.replace(reading, name=f"{reading.name}{INSIDE}")
                child = _child(node, inside)
                if child.plausibility >= GOOD or _is_packed(child.data) or _is_readable(child):
                    yield child


def _child(node: SearchNode, reading: Reading) -> SearchNode:
    found = text_of(reading.data)
    is_long_key = reading.name.startswith(LONG_KEY)
    guesses = 0 if reading.name in PROOFS else node.guesses + (not reading.is_strict) + is_long_key
    proven = len(node.steps) + 1 if reading.name in PROOFS else node.proven
    steps = (*node.steps, reading)
    meaningful = plausibility(reading.data)
    if reading.name == "Morse code":
        meaningful = max(meaningful, GOOD)  # no other text has this form, and few encode anything but words with it
    return SearchNode(reading.data, found[0] if found else None, meaningful, steps, guesses, proven)


def _is_packed(data: bytes) -> bool:
    return starts_as(data, "gzip_start", "bzip2_start", "xz_start", "zip") or data[:2] in _ZLIB_HEADERS


_ZLIB_HEADERS = (b"x\x9c", b"x\xda", b"x\x01", b"x^")  # the four levels of zlib's window of 32 KiB


def _is_readable(node: SearchNode) -> bool:
    return node.text is not None and len(node.data) >= 6 and (node.text.isascii() or node.plausibility >= GOOD)


def _score(node: SearchNode) -> float:
    """Return how good a result is: its plausibility, minus a little for each layer and more for each guess."""
    layers = len(node.steps) - 2 * (bool(node.steps) and node.steps[-1].name == ENTITIES)
    inner = sum(step.name.endswith(INSIDE) for step in node.steps) if node.guesses else 0
    return node.plausibility - LAYER_COST * layers - GUESS_COST * node.guesses - INNER_COST * inner


def _needed(node: SearchNode) -> float:
    """Return the plausibility that a result must reach: guesses need more than strict forms, very short results too."""
    if len(node.data) < GUESSED_BYTES * node.guesses or (node.steps and node.steps[-1].name == VALUE):
        return UNREACHABLE
    is_short_guess = bool(node.guesses) and len(node.data) < SHORT_GUESS_BYTES and (node.text or "").isascii()
    if is_short_guess and node.text is not None and known_share(node.text) < SHORT_GUESS_WORDS:
        return UNREACHABLE
    is_strict_text = not node.guesses and len(node.data) >= 4 and node.text is not None
    by_script = script_plausibility(node.text or "")
    is_strict_text &= by_script is None or by_script > MIXED  # characters of many scripts are what noise gives
    return GOOD + GUESS_COST * node.guesses - (STRICT_TEXT_RELIEF if is_strict_text else 0.0)


def _is_chance(node: SearchNode, part: EncodedPart) -> bool:
    """Whether a guessed result is what some key gives of a text that nobody has encoded, or the text itself again."""
    if not node.guesses or part.is_asked or node.text is None:
        return False
    if not node.text.isascii():
        return len(node.text) < UNASKED_CHARS
    if len(node.data) < SHORT_GUESS_BYTES and known_share(node.text, least_letters=UNASKED_LETTERS) < UNASKED_WORDS:
        return True
    return shared_words(node.text, part.text) > MOST_SHARED


def _done_at(best: SearchNode) -> float:
    """Return the priority from which on the queue cannot improve a clear result any more."""
    return 0.5 + 0.1 * (len(best.steps) - best.proven)


def _leads_on(node: SearchNode) -> bool:
    """Whether a layer is worth decoding further: a guess only if it reads well or has a strict form itself."""
    if not node.is_guessed or node.plausibility >= 0.3:
        return True
    if node.steps[-1].name.startswith("XOR") and _BASE64_ALONE.fullmatch(node.text or ""):
        return True  # no wrong key gives this alphabet alone
    if is_shift(node.steps[-1].name) and _hides_key(node):
        return True
    value = value_of(node.text or "")
    return _has_form(node) or (value is not None and _has_form(_child(node, value)))


def _hides_key(node: SearchNode) -> bool:
    """Whether a layer is an encoding of bytes that a short key turns into text, as the right alphabet alone gives.

    Base64 with another alphabet is Base64 still, and what it gives is noise either way.
    """
    if node.text is None or not _BLOB_ALONE.fullmatch(node.text):
        return False
    for decoder in STRICT:
        for reading in decoder(node.data, node.text):
            if reading.name not in TO_BYTES or text_of(reading.data) or len(reading.data) < LEAST_KEYED_BYTES:
                continue
            for guess in xored(reading.data[:KEY_SAMPLE_BYTES], None):
                read = SearchNode(guess.data, guess.data.decode("latin-1"), plausibility(guess.data))
                if read.plausibility >= GOOD or (guess.data.isascii() and _has_form(read)):
                    return True
    return False


def _has_form(node: SearchNode) -> bool:
    if any(True for decoder in NARROW for _ in decoder(node.data, node.text)):
        return True
    readings = (reading for decoder in STRICT for reading in decoder(node.data, node.text) if reading.is_strict)
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
        + 0.1 * (len(node.steps) - node.proven)
        + 0.2 * node.guesses
        + node.steps[-1].rarity
    )
