"""Tab completion on ``%svc`` and ``%%svc`` lines: options, their values, commands, and variables in braces.

It uses the text before the cursor and what is already known; it never asks the service. File names are left to
IPython's own completion. API: ``IPython.core.completer``, "Matcher API v2".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from IPython.core.completer import SimpleCompletion, completion_matcher

from svc_jupyter.magics.options import OPTIONS

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

    from svc_jupyter.magics.magics import SvcMagics

_LINE = re.compile(r"\s*(%%?)svc[ \t]+(.*)", re.DOTALL)
_BRACED = re.compile(r"\{([^\W\d]\w*)?$")
_SECONDS = ("60", "300", "900")
_DURATIONS = ("1h", "8h", "1d", "7d", "30d")
_WITH_VALUE = {option.name for option in OPTIONS if option.metavar}


@dataclass(frozen=True)
class Known:
    """Known values. ``variables`` are the user's names that do not begin with an underscore."""

    variables: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Offer:
    """Completions for ``fragment``, the end of the text before the cursor."""

    fragment: str
    texts: tuple[str, ...]


def offers(line: str, known: Known) -> Offer | None:
    """Return what may follow the line's text; None if it is not our line, or the question follows."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    is_cell, rest = match[1] == "%%", match[2]
    words = rest.split()
    fragment = "" if not rest or rest[-1].isspace() else words[-1]
    before = words[: len(words) - bool(fragment)]
    braced = _BRACED.search(rest)
    if braced is not None and ("--fill" in before or before[-1:] == ["--attach"]):
        return _matching(braced[0], [f"{{{name}}}" for name in known.variables])
    if before and (before[-1] in _WITH_VALUE):
        return _matching(fragment, _values(before[-1], known))
    if _has_question(before):
        return None if is_cell else _matching(fragment, _command_words(before, known))
    options = [option.name for option in OPTIONS if option.name == "--attach" or option.name not in before]
    commands = [] if is_cell or before else _command_words(before, known)
    return _matching(fragment, [*commands, *options])


def matcher(shell: InteractiveShell, find: Callable[[], SvcMagics | None]) -> Callable[..., SimpleMatcherResult]:
    """Return a matcher for IPython's completer; ``find`` returns the loaded magics."""

    @completion_matcher(identifier="svc", priority=100, api_version=2)
    def match(context: CompletionContext) -> SimpleMatcherResult:
        magics = find()
        is_first = not "".join(context.full_text.split("\n")[: context.cursor_line]).strip()
        text = context.text_until_cursor
        found = None
        if magics is not None and (is_first or not text.lstrip().startswith("%%")):
            found = offers(text, _known(shell.user_ns, magics))
        if found is None:
            return {"completions": []}
        completions = [SimpleCompletion(text=text, type="magic") for text in found.texts]
        return {"completions": completions, "matched_fragment": found.fragment, "ordered": True, "suppress": True}

    offering: Callable[..., SimpleMatcherResult] = match
    return offering


def _known(names: Mapping[str, object], magics: SvcMagics) -> Known:
    kernel = magics.known_kernel
    return Known(
        variables=tuple(sorted(name for name in names if not name.startswith("_"))),
        models=kernel.known_models if kernel else (),
        sessions=kernel.known_sessions if kernel else (),
    )


def _has_question(before: list[str]) -> bool:
    """Whether the question has begun: after ``--``, or a word that is neither an option nor a value."""
    is_value = False
    for word in before:
        if word == "--" or (not is_value and not word.startswith("-")):
            return True
        is_value = word in _WITH_VALUE
    return False


def _values(option: str, known: Known) -> list[str]:
    match option:
        case "--model":
            return list(dict.fromkeys(("stable", "experimental", *known.models)))
        case "--timeout":
            return list(_SECONDS)
        case "--answers":
            from svc_jupyter.answers.replay import MODES

            return list(MODES)
        case "--into":
            return list(known.variables)
        case _:
            return []


def _command_words(before: list[str], known: Known) -> list[str]:
    """Return the words that may follow if the line is still a command."""
    from svc_jupyter.magics.commands import FORMS  # imported with the first Tab

    place = len(before)
    forms = [form.words.split() for form in FORMS]
    following = [words[place] for words in forms if words[:place] == before and len(words) > place]
    match before:
        case ["model"]:
            following += _values("--model", known)
        case ["session", "resume"]:
            following += known.sessions
        case ["session", "extend"]:
            following += _DURATIONS
    return list(dict.fromkeys(following))


def _matching(fragment: str, texts: Iterable[str]) -> Offer | None:
    found = tuple(text for text in texts if text.startswith(fragment))
    return Offer(fragment, found) if found else None
