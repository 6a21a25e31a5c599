"""Parse version ranges in prose, comparisons, intervals and ``vers:`` identifiers.

A range is a set of affected versions: a version is in it if all bounds of any of its alternatives hold. "Up to" and
"through" include their version, "before" excludes it. Ambiguous wording ("from A to B", "between") is read as
inclusive, and ``Range.reading`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.file_traits import DAMAGE
from svc.assistant.skills.versions.order import GENERIC, compare, ecosystem_of

MAX_RANGES = 200
_V = (  # bounded, because phrases with it are tried at every digit
    r"(?>(?:v(?=\d))?(?:\d{1,10}:)?\d{1,20}(?:[.]\d{1,16}){0,6}(?:[-+~._]?[0-9A-Za-z]{1,40}){0,4}(?:[.][xX*])?)"
)
VERSION = re.compile(rf"(?<![\w.@/:-]){_V}(?![\w])")
_OPERATOR = r"(?:>=|=>|<=|=<|==|!=|>|<|≥|≤|~>|~=|\^|~|=)"
_COMPARED = re.compile(rf"({_OPERATOR})\s*+({_V})")
_GROUP = re.compile(
    rf"{_OPERATOR}\s*+{_V}(?:\s*+(?:,|\|\||\||&&|\band\b|\bor\b|;)?\s*+{_OPERATOR}\s*+{_V}){{0,40}}", re.IGNORECASE
)
_INTERVAL = re.compile(rf"([\[(])\s*+({_V})?\s*+(,)\s*+({_V})?\s*+([\])])")
_VERS = re.compile(r"vers:([a-z0-9.-]+)/(\S+?)(?=[\s\"'`?;]|[.,](?:\s|$)|$)")
_WILD = re.compile(r"(?<![\w.])(\d+(?:\.\d+)*)\.[xX*](?![\w.])")
_THROUGH = r"(?:through|thru|up to and including|up to|upto|to|until|till|[\u2013\u2014]|(?<=\s)-(?=\s))"
_BEFORE = (
    r"(?:before|prior to|earlier than|less than|lower than|older than|below|but not including"
    r"|up to (?:but )?(?:not including|excluding)|and before)"
)
_SINCE = r"(?:\b(?:from|since|starting (?:from|with|at|in)|versions?)\s+)?(?:versions? )?"
_PHRASES = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("between", rf"\bbetween (?:versions? )?({_V}) and (?:version )?({_V})(\s*\(?inclusive)?"),
        (
            "from_before",
            rf"{_SINCE}({_V})(?: and (?:later|above|newer))?,? (?:and |but )?{_BEFORE} (?:versions? )?({_V})",
        ),
        ("from_through", rf"{_SINCE}({_V})\s*(?:,\s*)?({_THROUGH})\s*(?:versions? )?({_V})(?!\s*of\b)"),
        ("and_earlier", rf"({_V}),? (?:and|or) (?:all )?(?:earlier|before|below|prior|older|lower|previous)\b"),
        (
            "and_later",
            rf"({_V}),? (?:and|or) (?:all )?(?:later|above|newer|higher|after|up)\b|({_V})\+(?=[\s,.;)]|$)",
        ),
        ("before", rf"\b{_BEFORE} (?:versions? )?({_V})"),
        (
            "through",
            rf"\b(?:through|thru|up to and including|up to|upto) (?:versions? )?({_V})(?: \(?(inclusive|exclusive))?",
        ),
        ("after", rf"\b(?:after|later than|newer than|greater than|above) (?:versions? )?({_V})"),
        ("fixed", rf"\b(?:fixed|patched|resolved|addressed) (?:in|by|with|since) (?:versions? )?({_V})"),
    )
)
_EXCLUDED = re.compile(
    r"\b(?:excluding|except(?: for)?|other than|not including)\b"
    rf"([^.;:\n]{{0,20}}(?:[^;:\n]{{0,60}}?{_V}){{1,12}})",
    re.IGNORECASE,
)
_SPELLINGS = {"=>": ">=", "=<": "<=", "==": "=", "≥": ">=", "≤": "<="}


class Bound(msgspec.Struct, frozen=True):
    """A comparison; ``operator`` is >=, >, <=, <, = or !=."""

    operator: str
    version: str

    def holds(self, ecosystem: str, version: str) -> bool | None:
        """Whether ``version`` satisfies it; None if the ecosystem's rules cannot parse one of the two."""
        result = compare(ecosystem, version, self.version)
        if result is None:
            return None
        return {
            ">=": result >= 0,
            ">": result > 0,
            "<=": result <= 0,
            "<": result < 0,
            "=": result == 0,
            "!=": result != 0,
        }[self.operator]


class Range(msgspec.Struct, frozen=True):
    """A set of affected versions.

    ``text`` is the original wording, ``reading`` how ambiguous wording was understood; ``package`` and ``ecosystem``
    are set if the text names them. ``start`` and ``end`` are positions in the text, -1 for a range from JSON.
    """

    text: str
    alternatives: tuple[tuple[Bound, ...], ...]
    reading: str = ""
    package: str = ""
    ecosystem: str | None = None
    start: int = -1
    end: int = -1

    def shown(self) -> str:
        """The range as comparisons: ``>= 2.0, < 2.15``."""
        return " or ".join(
            ", ".join(f"{one.operator} {one.version}" for one in bounds) or "all versions"
            for bounds in self.alternatives
        )


def ranges_in(text: str) -> list[Range]:
    """Return the ranges in ``text``, in its order; exact notations are parsed before prose."""
    found: list[Range] = []
    left = text
    for finder in (_vers, _intervals, _groups, _wilds, _in_words):
        for one in finder(left):
            if len(found) >= MAX_RANGES:
                break
            found.append(one)
            left = left[: one.start] + " " * (one.end - one.start) + left[one.end :]
    excluded = tuple(
        Bound("!=", version) for match in _EXCLUDED.finditer(left) for version in VERSION.findall(match[1])
    )
    if excluded:
        found = [
            msgspec.structs.replace(one, alternatives=tuple((*bounds, *excluded) for bounds in one.alternatives))
            for one in found
        ]
    return sorted(found, key=lambda one: one.start)


def excluded_spans(text: str) -> list[tuple[int, int]]:
    """Return the positions of exceptions ("excluding 2.12.2"): the versions in them are not being asked about."""
    return [match.span() for match in _EXCLUDED.finditer(text)]


def _vers(text: str) -> Iterator[Range]:
    from univers.version_range import InvalidVersionRange, VersionRange

    for match in _VERS.finditer(text):
        try:
            constraints = VersionRange.from_string(match[0]).constraints  # type: ignore[no-untyped-call]
        except (InvalidVersionRange, *DAMAGE):
            continue
        bounds = [Bound(str(one.comparator), str(one.version)) for one in constraints]
        yield Range(match[0], paired(bounds), ecosystem=ecosystem_of(match[1]), start=match.start(), end=match.end())


def paired(bounds: list[Bound]) -> tuple[tuple[Bound, ...], ...]:
    """Group ascending bounds into alternatives: each lower bound with the next upper one; ``!=`` applies to all."""
    excluded = tuple(one for one in bounds if one.operator == "!=")
    alternatives: list[tuple[Bound, ...]] = []
    lower: Bound | None = None
    for one in bounds:
        if one.operator in (">", ">="):
            lower = one
        elif one.operator in ("<", "<="):
            alternatives.append((lower, one) if lower else (one,))
            lower = None
        elif one.operator == "=":
            alternatives.append((one,))
    if lower:
        alternatives.append((lower,))
    return tuple((*bounds, *excluded) for bounds in alternatives or [()])


def _intervals(text: str) -> Iterator[Range]:
    """Intervals in the notation of Maven and NuGet: ``[1.0,2.0)``."""
    for match in _INTERVAL.finditer(text):
        opening, low, _, high, closing = match.groups()
        bounds = []
        if low:
            bounds.append(Bound(">=" if opening == "[" else ">", low))
        if high:
            bounds.append(Bound("<=" if closing == "]" else "<", high))
        if bounds:
            yield Range(match[0], (tuple(bounds),), start=match.start(), end=match.end())


def _groups(text: str) -> Iterator[Range]:
    for match in _GROUP.finditer(text):
        if re.search(r"[\w\]]\s?(?:==|=)$", text[: match.start()] + match[0][:2]) and not re.search(
            r"[<>^~!,]", match[0]
        ):
            continue  # name==1.2.3 names the version in question; it is not a range
        pieces = re.split(r"\|\||\bor\b", match[0], flags=re.IGNORECASE)
        alternatives: list[tuple[Bound, ...]] = []
        reading = ""
        for piece in pieces:
            bounds = [
                bound
                for sign, version in _COMPARED.findall(piece)
                for bound in _bounds(_SPELLINGS.get(sign, sign), version)
            ]
            if _is_empty(bounds):
                alternatives += paired(bounds)
                reading = "no version satisfies all of these at once: read as alternatives"
            elif bounds:
                alternatives.append(tuple(bounds))
        if alternatives:
            yield Range(match[0].strip(), tuple(alternatives), reading, start=match.start(), end=match.end())


def _is_empty(bounds: list[Bound]) -> bool:
    """Whether an upper bound lies below a lower one, so that no version satisfies all of them."""
    lows = [one.version for one in bounds if one.operator in (">", ">=")]
    highs = [one.version for one in bounds if one.operator in ("<", "<=")]
    return any(compare(GENERIC, low, high) == 1 for low in lows for high in highs)


def _bounds(sign: str, version: str) -> list[Bound]:
    """Turn a comparison into bounds; npm's ``^`` and ``~``, PyPI's ``~=`` and RubyGems' ``~>`` mean two."""
    plain = re.sub(r"^v(?=\d)", "", version)
    parts = [int(part) for part in re.findall(r"\d+", re.split(r"[-+~a-zA-Z]", plain)[0])]
    if sign == "^":
        leftmost = next((n for n, part in enumerate(parts) if part), len(parts) - 1)  # the first part that is not 0
        return [Bound(">=", version), Bound("<", _next(parts, leftmost))]
    if sign == "~":
        return [Bound(">=", version), Bound("<", _next(parts, min(1, len(parts) - 1)))]
    if sign in ("~>", "~="):
        return [Bound(">=", version), Bound("<", _next(parts, max(0, len(parts) - 2)))]
    return [Bound(sign, version)]


def _next(parts: list[int], index: int) -> str:
    """The first version after those that share the parts up to ``index``: [1, 2, 3] and 1 give 1.3.0."""
    raised = [*parts[:index], parts[index] + 1] + [0] * (len(parts) - index - 1)
    return ".".join(map(str, raised))


def _wilds(text: str) -> Iterator[Range]:
    for match in _WILD.finditer(text):
        parts = [int(part) for part in match[1].split(".")]
        bounds = (Bound(">=", match[1]), Bound("<", _next(parts, len(parts) - 1)))
        yield Range(match[0], (bounds,), start=match.start(), end=match.end())


def _in_words(text: str) -> Iterator[Range]:
    taken: list[tuple[int, int]] = []
    for kind, pattern in _PHRASES:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            bounds, reading = _bounds_of_phrase(kind, match)
            taken.append(match.span())
            yield Range(match[0].strip(" ,"), (bounds,), reading, start=match.start(), end=match.end())


def _bounds_of_phrase(kind: str, match: re.Match[str]) -> tuple[tuple[Bound, ...], str]:
    groups = match.groups()
    first = groups[0] or (groups[1] if len(groups) > 1 else "") or ""
    match kind:
        case "between":
            reading = "" if groups[2] else f"“between” read as including {groups[1]}"
            return (Bound(">=", first), Bound("<=", groups[1] or "")), reading
        case "from_before":
            return (Bound(">=", first), Bound("<", groups[1] or "")), ""
        case "from_through":
            word, last = (groups[1] or "").lower(), groups[2] or ""
            reading = "" if word.startswith("th") or "including" in word else f"“{word}” read as including {last}"
            return (Bound(">=", first), Bound("<=", last)), reading
        case "and_earlier":
            return (Bound("<=", first),), ""
        case "and_later":
            return (Bound(">=", first),), ""
        case "through":
            if groups[1] == "exclusive":
                return (Bound("<", first),), ""
            return (Bound("<=", first),), "" if groups[1] else f"“{match[0].split(' ')[0]}” read as including {first}"
        case "after":
            return (Bound(">", first),), ""
        case _:
            return (Bound("<", first),), "read as every version before the fix" if kind == "fixed" else ""
