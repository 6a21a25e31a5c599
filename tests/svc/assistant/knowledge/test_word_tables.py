"""The word tables of all skills: no stop words, no open beginnings, nothing that matches inside an ordinary word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as regex_parser  # type: ignore[attr-defined]

import msgspec
import pytest

import svc.assistant
from svc.assistant.knowledge import load
from svc.assistant.knowledge.lexicon import FILE_NAME, Lexicon
from svc.assistant.knowledge.reported_behaviour import FILE_NAME as REPORTED
from svc.assistant.knowledge.reported_behaviour import ReportedBehaviour
from svc.assistant.knowledge.word_patterns import word_pattern
from svc.assistant.skills.attack.lexicon import candidates
from tests.support.attack_sentences import harmless, words

ROOT = Path(svc.assistant.__file__).parent
STOP_WORDS = frozenset(words("stop_words"))
SHORT_STEMS = frozenset(words("short_stems"))
SHORT_NAMES = frozenset(words("short_names"))
ORDINARY, CONTAINERS = words("ordinary"), words("containing")
TABLES = {  # prose or commands: the keys that hold patterns
    "knowledge/network.toml": {"pattern"},
    "skills/host_artefacts/signs.toml": {"pattern"},
    "skills/office/traits.toml": {"pattern"},
    "skills/pdf/traits.toml": {"pattern"},
    "skills/program/capabilities.toml": {"pattern"},
    "skills/script/behaviours.toml": {"any", "all"},
    "skills/script/techniques.toml": {"strong", "medium", "weak"},
}
PROSE_TABLES = {
    "knowledge/weaknesses.toml": {"words"},
    "skills/mail/words.toml": {"strong", "medium", "weak", "patterns"},
}


def phrases() -> Iterator[tuple[str, str, list[list[str]]]]:
    """``(where, kind, slots)`` of each phrase of the two tables in the lexicon's notation; groups are resolved."""
    lexicon, reported = load(FILE_NAME, Lexicon), load(REPORTED, ReportedBehaviour)
    for name, terms in [*lexicon.groups.items(), *reported.groups.items()]:
        yield f"@{name}", "group", [terms]
    for entry in lexicon.techniques:
        for kind in ("sure", "says", "hints", "unless"):
            for text in getattr(entry, kind):
                yield entry.id, kind, _slots(text, lexicon.groups)
    for one in reported.classes:
        for text in one.phrases:
            yield one.name, "class", _slots(text, reported.groups)


def _slots(text: str, groups: dict[str, list[str]]) -> list[list[str]]:
    return [
        [term for part in slot.split("|") for term in (groups[part[1:]] if part.startswith("@") else [part])]
        for slot in text.split()
    ]


ALL_PHRASES = list(phrases())


def test_no_word_of_a_phrase_is_a_stop_word() -> None:
    assert not [
        (where, term)
        for where, kind, slots in ALL_PHRASES
        if kind in {"sure", "says", "hints", "group"}
        for slot in slots
        for term in slot
        if term in STOP_WORDS
    ]


def test_a_phrase_of_one_word_has_three_letters_or_is_a_known_short_name() -> None:
    assert not [
        (where, kind, term)
        for where, kind, slots in ALL_PHRASES
        if len(slots) == 1 and kind in {"sure", "says", "hints"}
        for term in slots[0]
        if len(term.replace("_", "").rstrip("*")) < 3 and term not in SHORT_NAMES
    ]


def test_a_single_letter_is_never_a_word() -> None:
    assert not [
        (w, term)
        for w, k, slots in ALL_PHRASES
        if k != "class"
        for slot in slots
        for term in slot
        if re.fullmatch(r"[a-z]\*?", term)
    ]


def test_an_open_beginning_has_four_letters_or_is_a_known_stem() -> None:
    assert not [
        (where, term)
        for where, kind, slots in ALL_PHRASES
        for slot in slots
        for term in slot
        for part in term.split("_")
        if part.endswith("*") and len(part) < 5 and part.rstrip("*") not in SHORT_STEMS
    ]


def test_an_open_beginning_alone_has_four_letters() -> None:
    assert not [
        (where, term)
        for where, kind, slots in ALL_PHRASES
        if len(slots) == 1 and kind in {"sure", "says", "hints"}
        for term in slots[0]
        if "_" not in term and term.endswith("*") and len(term) < 5 and term.rstrip("*") not in SHORT_NAMES
    ]


@pytest.mark.parametrize("word", sorted({*ORDINARY, *CONTAINERS, *STOP_WORDS, *"abcdefghijklmnopqrstuvwxyz"}))
def test_no_ordinary_word_alone_is_sure_evidence(word: str) -> None:
    """Words that reports use alone ("screenshots", "decoded") are weak enough for the sentence to decide."""
    best = candidates(word)[:1]
    assert not best or best[0].score < 14.0, best


def literals(pattern: str) -> list[str]:
    """The alternatives of a pattern that are letters alone."""
    found: list[str] = []
    waiting = [list(regex_parser.parse(pattern))]
    while waiting:
        sequence = waiting.pop()
        if len(sequence) == 1 and sequence[0][0] is codes.BRANCH:
            waiting += [list(one) for one in sequence[0][1][1]]
        elif len(sequence) == 1 and sequence[0][0] is codes.SUBPATTERN:
            waiting.append(list(sequence[0][1][3]))
        elif sequence and all(code is codes.LITERAL and chr(value).isalnum() for code, value in sequence):
            found.append("".join(chr(value) for _, value in sequence).lower())
    return found


def strings(node: object, keys: set[str], key: str = "") -> Iterator[str]:
    """All strings below one of ``keys``."""
    if isinstance(node, dict):
        for name, one in node.items():
            yield from strings(one, keys, name)
    elif isinstance(node, list):
        for one in node:
            yield from strings(one, keys, key)
    elif isinstance(node, str) and key in keys:
        yield node


WORDS = sorted(
    {*ORDINARY, *CONTAINERS} | {word for text in harmless("open") for word in re.findall("[a-z]{4,}", text.lower())}
)


def inside(pattern: re.Pattern[str], source: str) -> list[tuple[str, str]]:
    """The literal alternatives of a pattern that it finds inside an ordinary word, with that word."""
    return [
        (literal, word)
        for literal in literals(source)
        for word in WORDS
        if word.find(literal) > 0 and (match := pattern.search(word)) and match.start() > 0
    ]


@pytest.mark.parametrize("name", TABLES)
def test_no_pattern_matches_inside_an_ordinary_word(name: str) -> None:
    table = msgspec.toml.decode((ROOT / name).read_bytes())
    assert not [found for one in strings(table, TABLES[name]) for found in inside(re.compile(one, re.IGNORECASE), one)]


@pytest.mark.parametrize("name", PROSE_TABLES)
def test_no_pattern_for_prose_begins_inside_a_word(name: str) -> None:
    table = msgspec.toml.decode((ROOT / name).read_bytes())
    sources = [one for one in strings(table, PROSE_TABLES[name]) if literals(one)]
    assert sources
    assert not [found for one in sources for found in inside(word_pattern(one), one)]
