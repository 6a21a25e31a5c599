"""Regular expressions of a script, tried only if their cost is known to be small.

A pattern is hostile input: nested repetition takes exponential time. So only patterns without repeated groups and
without references back are tried, and each use is charged to the budget by the length of the text.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache

from svc.assistant.skills.script.javascript.values import UNDEFINED, JsArray, JsFunction, JsPattern, Value, string_of

MAX_PATTERN_CHARS = 400
MAX_MATCHES = 20_000
_CHARS_PER_STEP = 60  # characters that a linear pattern reads in the time of one step
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d{1,6},?\d{0,6}\})")
_REFERENCE = re.compile(r"\\[1-9k]")
_REPETITION = re.compile(r"(?<!\\)(?:[*+]|\{\d{1,6},\d{0,6}\})")
_ONE_ATOM = re.compile(r"\(?(?:\[(?:[^\]\\]|\\.){1,300}\]|\\?.)[*+]\??\)?")
_DOLLAR = re.compile(r"\$(\d{1,2}|[&$])")


@lru_cache(maxsize=256)
def _compiled(source: str, flags: str) -> re.Pattern[str] | None:
    if len(source) > MAX_PATTERN_CHARS or _REPEATED_GROUP.search(source) or _REFERENCE.search(source):
        return None
    python = re.sub(r"\(\?<(?![=!])", "(?P<", source.replace("[^]", r"[\s\S]"))
    options = (re.IGNORECASE if "i" in flags else 0) | (re.MULTILINE if "m" in flags else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # a bracket in a class, which JavaScript allows
            return re.compile(python, options | (re.DOTALL if "s" in flags else 0))
    except (re.error, OverflowError, RecursionError):
        return None


def compiled(pattern: JsPattern, text: str, charge: Callable[[int], None]) -> re.Pattern[str] | None:
    """Return the pattern ready for use on ``text`` after charging its cost; None if it is not tried."""
    found = _compiled(pattern.source, pattern.flags)
    if found is None:
        return None
    repetitions = 0 if _ONE_ATOM.fullmatch(pattern.source) else len(_REPETITION.findall(pattern.source))
    if repetitions > 3:
        return None
    charge(1 + len(text) ** (1 + repetitions) // _CHARS_PER_STEP)
    return found


def matches(pattern: JsPattern, text: str, charge: Callable[[int], None]) -> Value:
    """``String.prototype.match``: an array, null, or ``UNDEFINED`` if the pattern is not tried."""
    found = compiled(pattern, text, charge)
    if found is None:
        return UNDEFINED
    if "g" in pattern.flags:
        every = [match[0] for match, _ in zip(found.finditer(text), range(MAX_MATCHES), strict=False)]
        return JsArray(list(every)) if every else None
    return _groups(found.search(text))


def _groups(match: re.Match[str] | None) -> Value:
    if match is None:
        return None
    result = JsArray([match[0], *(UNDEFINED if one is None else one for one in match.groups())])
    result.properties["index"] = match.start()
    result.properties["input"] = match.string
    return result


def executed(pattern: JsPattern, text: str, charge: Callable[[int], None]) -> Value:
    """``RegExp.prototype.exec``, which goes on after the last match of a global pattern."""
    found = compiled(pattern, text, charge)
    if found is None:
        return UNDEFINED
    start = pattern.properties.get("lastIndex", 0) if "g" in pattern.flags else 0
    match = found.search(text, start if isinstance(start, int) and start >= 0 else 0)
    pattern.properties["lastIndex"] = 0 if match is None else match.end() + (match.end() == match.start())
    return _groups(match)


def replaced(pattern: JsPattern, text: str, new: Value, charge: Callable[[int], None]) -> Value:
    """``String.prototype.replace``; ``UNDEFINED`` if the pattern is not tried."""
    found = compiled(pattern, text, charge)
    if found is None:
        return UNDEFINED
    count = 0 if "g" in pattern.flags else 1
    if isinstance(new, JsFunction):
        call = new.call

        def by_call(match: re.Match[str]) -> str:
            groups: list[Value] = [UNDEFINED if one is None else one for one in match.groups()]
            return string_of(call(UNDEFINED, [match[0], *groups, match.start(), text]))

        return found.sub(by_call, text, count=count)
    template = string_of(new)
    return found.sub(lambda match: _filled(template, match), text, count=count)


def _filled(template: str, match: re.Match[str]) -> str:
    def part(reference: re.Match[str]) -> str:
        if reference[1] in "&$":
            return match[0] if reference[1] == "&" else "$"
        number = int(reference[1])
        return (match[number] or "") if 0 < number <= len(match.groups()) else reference[0]

    return _DOLLAR.sub(part, template) if "$" in template else template


def split(pattern: JsPattern, text: str, charge: Callable[[int], None]) -> Value:
    """``String.prototype.split`` with a pattern."""
    found = compiled(pattern, text, charge)
    if found is None:
        return UNDEFINED
    if found.match("") is not None:
        return JsArray(list(text)) if not pattern.source else UNDEFINED
    return JsArray([UNDEFINED if one is None else one for one in found.split(text)])
