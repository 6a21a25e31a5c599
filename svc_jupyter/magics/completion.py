"""Tab completion on ``%svc`` and ``%%svc`` lines: options, their values, commands, and variables in braces.

Only what fits is offered: paths after ``--attach``, sessions after ``session resume``, variables after ``{``, and
nothing in a question. IPython's own matchers would add Python's names and files, so they are suppressed on our lines.
API: ``IPython.core.completer``, "Matcher API v2".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from IPython.core.completer import SimpleCompletion, completion_matcher

from svc_jupyter.magics.options import OPTIONS

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

    from svc_jupyter.magics.magics import SvcMagics

_LINE = re.compile(r"\s*(%%?)svc[ \t]+(.*)", re.DOTALL)
_CELL = re.compile(r"\s*%%svc(?:[ \t]+(.*))?")
_WORD = re.compile(r"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|\{[^{}\n]*\}?|(-[^\s=]+)=|\S+")
_BRACED = re.compile(r"\{([^\W\d]\w*)?$")
_SECONDS = ("60", "300", "900")
_DURATIONS = ("1h", "8h", "1d", "7d", "30d")
_WITH_VALUE = {option.name for option in OPTIONS if option.metavar}


@dataclass(frozen=True)
class Known:
    """Known values, asked for when they are needed.

    ``variables`` are the user's names; ``attachable`` those whose values can be attached; ``sessions`` pairs of an ID
    and what the session is about; ``files`` the names of the session's files; ``paths`` those that begin so.
    """

    variables: Callable[[], Iterable[str]] = tuple
    attachable: Callable[[], Iterable[str]] = tuple
    models: Callable[[], Iterable[str]] = tuple
    sessions: Callable[[], Iterable[tuple[str, str]]] = tuple
    files: Callable[[], Iterable[str]] = tuple
    paths: Callable[[str], Iterable[str]] = lambda _: ()


@dataclass(frozen=True)
class Offer:
    """Completions for ``fragment``, the end of the text before the cursor; ``labels`` say more of some of them."""

    fragment: str
    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


class _Only(list[SimpleCompletion]):
    """Completions beside which there are no others, even if there are none: IPython takes an empty list for no wish."""

    def __len__(self) -> int:
        return super().__len__() or 1


def offers(line: str, known: Known) -> Offer | None:
    """Return what may follow the line's text, which may be nothing; None if it is not our line."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    is_cell, rest = match[1] == "%%", match[2]
    before, fragment = _words(rest)
    option = before[-1] if before and before[-1] in _WITH_VALUE and not _has_question(before[:-1]) else None
    braced = _BRACED.search(fragment if option else rest)
    if braced is not None and (option == "--attach" or (option is None and "--fill" in before)):
        names = known.attachable() if option else known.variables()
        return _matching(braced[0], [f"{{{name}}}" for name in names])
    if option is not None:
        return _value_offer(option, fragment, known)
    if _has_question(before):
        return Offer(fragment) if is_cell else _command_offer(before, fragment, known)
    options = [one.name for one in OPTIONS if one.name == "--attach" or one.name not in before]
    commands = [] if is_cell or before else _command_words(before)
    return _matching(fragment, [*commands, *options])


def in_body(first_line: str, line: str, known: Known) -> Offer:
    """Return what may follow in the question of a ``%%svc`` cell: variables, if ``--fill`` replaces them."""
    before, fragment = _words(line)
    braced = _BRACED.search(line)
    if braced is not None and "--fill" in _words(f"{first_line} ")[0]:
        return _matching(braced[0], [f"{{{name}}}" for name in known.variables()])
    return Offer(fragment if before or fragment else "")


def matcher(shell: InteractiveShell, find: Callable[[], SvcMagics | None]) -> Callable[..., SimpleMatcherResult]:
    """Return a matcher for IPython's completer; ``find`` returns the loaded magics."""

    @completion_matcher(identifier="svc", priority=100, api_version=2)
    def match(context: CompletionContext) -> SimpleMatcherResult:
        magics = find()
        found = _offer_at(context, _known(shell, magics)) if magics is not None else None
        if found is None:
            return {"completions": []}
        labels = found.labels or ("magic",) * len(found.texts)
        completions = _Only(
            SimpleCompletion(text=text, type=label) for text, label in zip(found.texts, labels, strict=True)
        )
        return {"completions": completions, "matched_fragment": found.fragment, "ordered": True, "suppress": True}

    offering: Callable[..., SimpleMatcherResult] = match
    return offering


def _offer_at(context: CompletionContext, known: Known) -> Offer | None:
    lines = context.full_text.split("\n")
    text = context.text_until_cursor
    earlier = [line for line in lines[: context.cursor_line] if line.strip()]
    if earlier and (cell := _CELL.fullmatch(earlier[0])) is not None:
        return in_body(cell[1] or "", text, known)
    if earlier and text.lstrip().startswith("%%"):
        return None
    return offers(text, known)


def _known(shell: InteractiveShell, magics: SvcMagics) -> Known:
    from svc_jupyter.magics import known_values

    return Known(
        variables=lambda: known_values.variables(shell),
        attachable=lambda: known_values.attachable(shell),
        models=lambda: magics.known_kernel.known_models if magics.known_kernel else (),
        sessions=lambda: known_values.sessions(magics),
        files=lambda: magics.known_kernel.known_files if magics.known_kernel else (),
        paths=known_values.paths,
    )


def _words(text: str) -> tuple[list[str], str]:
    """Split the text before the cursor into complete words and the one being written; ``--a=b`` is two words."""
    words: list[str] = []
    fragment, end = "", 0
    for match in _WORD.finditer(text):
        words.append(match[1] or match[0])
        end = match.end()
    if words and end == len(text) and not text.endswith("="):
        is_closed = len(words[-1]) > 1 and words[-1][0] in "\"'" and words[-1][-1] == words[-1][0]
        fragment = "" if is_closed else words.pop()
    return words, fragment


def _has_question(before: list[str]) -> bool:
    """Whether the question has begun: after ``--``, or a word that is neither an option nor a value."""
    is_value = False
    for word in before:
        if word == "--" or (not is_value and not word.startswith("-")):
            return True
        is_value = word in _WITH_VALUE
    return False


def _value_offer(option: str, fragment: str, known: Known) -> Offer:
    match option:
        case "--attach":
            return Offer(fragment, tuple(known.paths(fragment)))
        case "--model":
            return _matching(fragment, _models(known))
        case "--timeout":
            return _matching(fragment, _SECONDS)
        case "--answers":
            from svc_jupyter.answers.replay import MODES

            return _matching(fragment, MODES)
        case _:
            return _matching(fragment, known.variables())


def _models(known: Known) -> list[str]:
    return list(dict.fromkeys(("stable", "experimental", *known.models())))


def _command_words(before: list[str]) -> list[str]:
    """Return the words that may follow if the line is still a command."""
    from svc_jupyter.magics.commands import FORMS  # imported with the first Tab

    place = len(before)
    forms = [form.words.split() for form in FORMS]
    following = [words[place] for words in forms if words[:place] == before and len(words) > place]
    return list(dict.fromkeys(following))


def _command_offer(before: list[str], fragment: str, known: Known) -> Offer:
    words = _command_words(before)
    match before:
        case ["session", "resume"]:
            found = [(session, about) for session, about in known.sessions() if session.startswith(fragment)]
            return Offer(fragment, tuple(one for one, _ in found), tuple(about for _, about in found))
        case ["files", "remove"]:
            return _matching(fragment, [f'"{name}"' if re.search(r"\s", name) else name for name in known.files()])
        case ["model"]:
            words += _models(known)
        case ["session", "extend"]:
            words += _DURATIONS
        case ["history", _]:
            words += ["--show"]
    return _matching(fragment, words)


def _matching(fragment: str, texts: Iterable[str]) -> Offer:
    return Offer(fragment, tuple(text for text in texts if text.startswith(fragment)))
