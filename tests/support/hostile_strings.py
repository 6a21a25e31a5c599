"""Strings on which a regular expression backtracks or starts again, made from its own parse tree; and a fixed corpus.

A string is given as parts that grow: ``Growing(before, unit, after)`` is ``before``, then ``unit`` as often as fits,
then ``after``. The same parts make a string of any size, so that growth can be measured.
"""

from __future__ import annotations

import itertools
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

_parser: Any = re._parser  # type: ignore[attr-defined]
_constants: Any = re._constants  # type: ignore[attr-defined]
_ALPHABET = "".join(map(chr, range(32, 127))) + "\t\n\r\0é—中\u200b"
_LONG = 20  # a repeat that may match more often than this is pumped
_SAMPLES = 4


class Growing(NamedTuple):
    """A string of any size."""

    before: str
    unit: str
    after: str = ""

    def of(self, size: int) -> str:
        """The string with about ``size`` characters."""
        return self.before + self.unit * max(1, size // len(self.unit)) + self.after


_CHARACTERS = " a0.,<=\"'`\n\t-_/\\:;|&%$#@!?(){}[]+*~^é中\0A>z,\r"
_PAIRS = [
    "ab",
    "0a",
    "a.",
    "1.",
    "a,",
    "0,",
    "<a",
    "</",
    "<!",
    "a=",
    "\\n",
    "%20",
    "&#1;",
    "0x",
    "/*",
    "*/",
    "//",
    "a-",
    "a_",
    "a@",
    "a:",
    "::",
    "1:",
    "..",
    "((",
    "a(",
    "[a]",
    "{}",
    "''",
    '""',
    "YWJj",
    "deadbeef",
    "1.0.0-",
    "->",
    "<<",
    "--",
    "a/b",
    "\\\\a",
    "http://",
]
_WITH_BLANKS = ("a ", " a", "=a ", "a\n", " \n", "\n ", "v1.2.3 ", "and ", "the ", "=? ", "<a ", "a b c ")
_ENDED = (
    Growing("", "a", "!"), Growing("", "a", "\n"), Growing("", " ", "x"), Growing("", "\n", "x"),
    Growing("x", " ", "x"),
    Growing("", "0", "x"), Growing("<", "a", ""), Growing("<", "a=", "<"), Growing('"', "a", "\n"), Growing("a=", "b"),
)  # fmt: skip
CORPUS = (*(Growing("", one) for one in (*_CHARACTERS, *_PAIRS, *_WITH_BLANKS)), *_ENDED)
RUNS = tuple(Growing("", one, "\0") for one in " \n\ta0.-/\\")
"""Long runs of one character, which ``re`` reads so quickly that quadratic time is seen at larger sizes only."""


@dataclass
class _Pump:
    """The position in a sample where a repeat may go on, and what it repeats."""

    start: int
    unit: str


class _Sampler:
    """Makes strings that a pattern matches, at random, and notes where each could grow."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.text = ""
        self.pumps: list[_Pump] = []
        self._groups: dict[int, str] = {}
        self._ignores_case = False

    def add(self, tree: Any) -> None:
        for operator, argument in tree:
            self._node(str(operator), argument)

    def _node(self, operator: str, argument: Any) -> None:
        start = len(self.text)
        match operator:
            case "LITERAL":
                self.text += chr(argument)
            case "NOT_LITERAL":
                self.text += self._other({chr(argument)})
            case "ANY":
                self.text += self._random.choice("a .")
            case "IN":
                self.text += self._random.choice(members(argument) or "a")
            case "BRANCH":
                self.add(self._random.choice(argument[1]))
            case "SUBPATTERN":
                self.add(argument[3])
                if argument[0] is not None:
                    self._groups[argument[0]] = self.text[start:]
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                self._repeat(*argument)
            case "ATOMIC_GROUP":
                self.add(argument)
            case "GROUPREF":
                self.text += self._groups.get(argument, "")
            case "ASSERT" if argument[0] > 0:
                self.add(argument[1])
                self.text = self.text[:start] if self._random.random() < 0.5 else self.text
            case _:  # positions and negative assertions take no text
                pass

    def _other(self, left_out: set[str]) -> str:
        return self._random.choice([one for one in "a0 .x" if one not in left_out])

    def _repeat(self, least: int, most: Any, body: Any) -> None:
        count = min(max(least, self._random.choice((0, 1, 2))), int(most))
        start = len(self.text)
        for _ in range(min(count, 64)):
            self.add(body)
        if int(most) < _LONG:
            return
        end = len(self.text)
        self.add(body)
        unit = self.text[end:]
        self.text = self.text[:end]
        if unit:
            self.pumps.append(_Pump(start, unit))


def members(items: Any) -> str:
    """The characters of a small alphabet that a set contains."""
    return "".join(one for one in _ALPHABET if _contains(items, one))


def _contains(items: Any, character: str) -> bool:
    is_negated = found = False
    for operator, argument in items:
        match str(operator):
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                found |= ord(character) == argument
            case "RANGE":
                found |= argument[0] <= ord(character) <= argument[1]
            case "CATEGORY":
                found |= _in_category(str(argument), character)
    return found != is_negated


def _in_category(name: str, character: str) -> bool:
    kinds: dict[str, Callable[[str], bool]] = {
        "DIGIT": str.isdigit,
        "SPACE": str.isspace,
        "WORD": lambda one: one.isalnum() or one == "_",
    }
    found = kinds[name.rpartition("_")[2]](character)
    return found != ("NOT_" in name)


def _sets(tree: Any) -> Iterator[str]:
    """The characters of each repeat of single characters, with those that all of two repeats share first."""
    for operator, argument in tree:
        match str(operator):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                body = argument[2]
                if len(body) == 1 and str(body[0][0]) == "IN":
                    yield members(body[0][1])
                elif len(body) == 1 and str(body[0][0]) == "ANY":
                    yield _ALPHABET.replace("\n", "")
                else:
                    yield from _sets(body)
            case "SUBPATTERN":
                yield from _sets(argument[3])
            case "ATOMIC_GROUP":
                yield from _sets(argument)
            case "BRANCH":
                for one in argument[1]:
                    yield from _sets(one)
            case "ASSERT" | "ASSERT_NOT":
                yield from _sets(argument[1])


def hostile_to(pattern: str | bytes, flags: int) -> list[Growing]:
    """Strings made for one pattern: its own samples, cut, pumped at each repeat, and repeated as a whole."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = _parser.parse(text, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags)
    found: dict[Growing, None] = {}
    seed = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    for number in range(_SAMPLES):
        sampler = _Sampler(seed + number)
        sampler.add(tree)
        sample = sampler.text
        for grown in _pumped(sample, sampler.pumps[:12]):
            found[grown] = None
        found |= dict.fromkeys([Growing("", sample or "a"), Growing("", sample[:-1] or "a"), Growing("", sample + " ")])
    classes = list(_sets(tree))[:12]
    for first, second in itertools.pairwise(classes):
        shared = "".join(one for one in first if one in second)
        if shared:
            found[Growing("", shared[len(shared) // 2], "\0")] = None
    return list(found)


def _pumped(sample: str, pumps: Sequence[_Pump]) -> Iterator[Growing]:
    for pump in pumps:
        before, after = sample[: pump.start], sample[pump.start :]
        yield Growing(before, pump.unit, "\0")
        yield Growing(before, pump.unit, after[:-1])
        yield Growing("", before + pump.unit * 3)
        yield Growing("", before or pump.unit)
        yield Growing("", pump.unit, "\0")
