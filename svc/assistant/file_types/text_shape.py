"""The shape of a text: how many of its lines are readable, whether it is prose, whether it is data or a log. Pure.

Tools decide by it how much of their input they understood: prose is no script, and the bytes of a program are no text.
"""

from __future__ import annotations

import re

from svc.assistant.file_types.identify import TEXT_LABELS, identify

SHAPE_CHARS = 20_000  # at the start of a text, that show its shape
_UNREADABLE = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]+")
_JUDGED_CHARS = 1_000_000  # by which the whole is judged
_UNREADABLE_SHARE = 0.1  # a text in another encoding may have a few such characters; a program has many

_FORMS = {
    "authlog": "an authentication log",
    "weblog": "a web server log",
    "auditlog": "a Linux audit log",
    "syslog": "a syslog file",
    "applog": "the log of an application",
    "log": "a log",
    "journal": "a systemd journal",
    "cloudtrail": "a CloudTrail log",
    "winevents": "Windows events",
    "eventtable": "a table of events",
    "json": "JSON",
    "jsonl": "JSON lines",
    "csv": "a table",
    "tsv": "a table",
    "eml": "a mail",
    "pem": "a PEM file",
}
_LOG_LABELS = ("authlog", "weblog", "auditlog", "syslog", "applog", "log", "journal", "winevents", "eventtable")
_LOGS = frozenset(_FORMS[label] for label in _LOG_LABELS)
_TEXT_LABELS = (TEXT_LABELS - {"rtf"}) | {"empty"}
_FIELD_LINE = re.compile(r"HTTP/\d|[A-Za-z][\w-]{0,60}:(?: |\r?$)")
_FIELD_LINES = 40
_TOKEN_CHARS = 30  # longer than words
_COLUMN_NAME = re.compile(r"[A-Za-z_@#][\w@]{0,40}(?:[ .#/()%-]{1,3}\w{1,40}){0,3}[()%#]{0,2}")

_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|'|--|;|<!--|rem\b|::)", re.IGNORECASE)
_AROUND_WORD = "\"'()[]{}*_.,;:!?\u201c\u201d\u2018\u2019\u2013\u2026\u00ab\u00bb"
_WORD = re.compile(r"[^\W\d_]+(?:[-'/\u2019][^\W\d_]+)*")
_LEAST_WORDS = 4  # of a line that can be recognized as prose
_WORD_SHARE = 0.75
_PROSE_SHARE = 0.6  # of the characters of lines that can be classified
_WIDE_SHARE = 0.5  # of letters of a script that is written without spaces
_FUNCTION_WORD = re.compile(
    r"the|of|to|was|were|that|this|these|our|we|they|their|its?|on|at|by|has|have|had|been|which|who|when"
    r"|de[rnms]|die|das|und|von|wurde|ist|mit|eine?|nicht|les?|la|une|est|dans|pour|sur"
    r"|el|los|las|que|una|por|fue|del|con|para",
    re.IGNORECASE,
)
"""Words that make a line a sentence; words that programming languages use as well are not among them."""


def readable_lines(text: str) -> tuple[int, int]:
    """Return how many lines of ``text`` are readable, and how many there are; a blank text has none.

    No line is readable if the text as a whole is not: the bytes of a program contain short runs of letters, too.
    """
    lines = text.removesuffix("\n").split("\n") if text.strip("\r\n\t \x00") else []
    head = text[:_JUDGED_CHARS]
    if _unreadable(head) > _UNREADABLE_SHARE * len(head):
        return 0, len(lines)
    readable = sum(_unreadable(line) <= _UNREADABLE_SHARE * len(line) for line in lines)
    return readable, len(lines)


def _unreadable(text: str) -> int:
    return len(text) - len(_UNREADABLE.sub("", text)) if _UNREADABLE.search(text) else 0


def data_form(text: str) -> str:
    """What ``text`` is if it is a log, a table, JSON, a mail, PEM or binary ("a web server log"); "" for the rest."""
    readable, total = readable_lines(text[:SHAPE_CHARS])
    if total and not readable:
        return "binary data"
    label = identify(text[:SHAPE_CHARS].encode(errors="replace"))[1]
    if label not in _TEXT_LABELS:
        return f"a file of another type ({label})"
    form = _FORMS.get(label, "")
    if form == "a table":  # code with the same number of commas in each line has no row of names above it
        names = re.split(r"[,;\t]", text.lstrip("\ufeff \t\r\n").split("\n", 1)[0].strip())
        return form if all(_COLUMN_NAME.fullmatch(name.strip('" ')) for name in names) else ""
    return form


def is_log(form: str) -> bool:
    """Whether a form that ``data_form`` returned is a log: records, which nobody wrote as a text."""
    return form in _LOGS


def has_field_lines(text: str) -> bool:
    """Whether ``text`` consists of names with values, as the headers of HTTP do."""
    lines = [line for line in text[:SHAPE_CHARS].split("\n") if line.strip()][:_FIELD_LINES]
    return bool(lines) and all(map(_FIELD_LINE.match, lines))


def word_share(text: str) -> float:
    """The share of words among what is between spaces: high in a question or a report, low in code and lists."""
    tokens = text[:SHAPE_CHARS].split()
    return sum(map(_is_word, tokens)) / len(tokens) if tokens else 0.0


def is_labelled_token(text: str) -> bool:
    """Whether ``text`` is a key or a token with a label of a few words, not a description."""
    tokens = text[:SHAPE_CHARS].split()
    return sum(map(_is_word, tokens)) < _LEAST_WORDS and any(len(token) >= _TOKEN_CHARS for token in tokens)


def _is_word(token: str) -> bool:
    return _WORD.fullmatch(token.strip(_AROUND_WORD)) is not None


def is_prose(text: str) -> bool:
    """Whether most of ``text`` is sentences. Comments and lines of a few words do not count."""
    prose = other = 0
    for line in text[:SHAPE_CHARS].split("\n"):
        if not line.strip() or _COMMENT.match(line):
            continue
        is_sentence = _is_sentence(line)
        if is_sentence is None:
            continue
        if is_sentence:
            prose += len(line)
        else:
            other += len(line)
    return prose > 0 and prose >= _PROSE_SHARE * (prose + other)


def _is_sentence(line: str) -> bool | None:
    """Whether a line is (a part of) a sentence; None if it is too short to tell."""
    if sum(letter > "\u2e7f" and letter.isalpha() for letter in line) > _WIDE_SHARE * len(line.strip()):
        return True
    tokens = line.split()
    words = [token.strip(_AROUND_WORD) for token in tokens if _is_word(token)]
    if len(tokens) < _LEAST_WORDS:
        return None if len(words) == len(tokens) else False
    has_function_word = any(map(_FUNCTION_WORD.fullmatch, words))
    return has_function_word and len(words) >= _WORD_SHARE * len(tokens)
