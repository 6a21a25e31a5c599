"""Reduce HTML of a notebook to elements that show something, with a parser that reads it as browsers do (html5ever).

Two uses: a fragment of an output before it is laid out, and the whole body of a finished page. HTML that a parser or a
browser could not get through in reasonable time is shown as text instead.

Facts: HTML Standard, "Tokenization"; ``docs/reports.md``, "Pages".
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice

import nh3

from svc_jupyter.answers.picture import FULL_WIDTH

MAX_ELEMENTS = 200_000  # of one output; a table of 10,000 rows and 10 columns has 110,000
MAX_REFERENCES = 50_000  # characters of one output that are written as "&lt;" and the like, without "&amp;"
MAX_NESTING = 200  # browsers stop at 512 with everything around it; parsers take quadratic time on deep trees

_TAGS = (
    *("a", "abbr", "acronym", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt"),
    *("em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p"),
    *("pre", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th"),
    *("thead", "tr", "ul"),
)
_ATTRIBUTES = ("align", "alt", "class", "colspan", "height", "id", "lang", "open", "rowspan", "scope", "start", "title")
_PAGE_TAGS = ("main", "nav")
_PAGE_ATTRIBUTES = ("data-mime-type", "role", "tabindex")  # of nbconvert's templates
_IMAGES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;", "data:image/svg+xml;")
_REMOVED = ("script", "style")  # with their content, which is not meant for readers
_UNKNOWN_TAG = re.compile(rf"<(?!!--|/?(?:{'|'.join((*_TAGS, *_REMOVED))})(?![^\s/>]))", re.IGNORECASE)
_CLOSED_BY_OTHERS = frozenset(("br", "dd", "dt", "hr", "img", "li", "p", "tbody", "td", "tfoot", "th", "thead", "tr"))
"""Elements that have no end tag, or need none: a list of a thousand ``<li>`` is not deep."""

_PRIVATE_USE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
_VALUE = r"""(?>"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)|[^\s>"'][^\s>]*+)"""
_TOKEN = re.compile(
    r"<!--(?>-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>|\Z)?)"
    rf"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?>[\s/]++|[^\s/>][^\s/>=]*+(?:\s*+=\s*+{_VALUE}?)?+)*+>?",
    re.IGNORECASE,
)
_CLEAN_TAG = re.compile(r'<(/?)([a-z][a-z0-9]*)((?: [^\s="<>]+="[^"]*")*)>')
"""A tag as the cleaner writes it; there is no other ``<`` in what it writes, except in values of attributes."""
WIDE_COLUMNS = 12  # of a table; more do not fit on upright paper
CODE_CLASS, STEPS_CLASS = "svc-code", "svc-steps"
"""Folds of code, and of what an analyst did: they stay closed on paper."""
_FOLD_TAGS = ("details", "summary")
_FOLD_TAG = re.compile(r"<(?=/?(?:details|summary)(?![^\s/>]))", re.IGNORECASE)
_EMPTY_HEADING = re.compile(r'<th((?: [^\s="<>]+="[^"]*")*)>(\s*)</th>')


def clean(fragment: object) -> str:
    """HTML with only known elements and attributes; unknown tags are shown as text, so that no evidence disappears.

    So are the tags of folds if they are not balanced: one that is not closed would hide what follows.
    """
    text = _UNKNOWN_TAG.sub("&lt;", _encodable(str(fragment)))
    if not _has_whole_folds(text):
        text = _FOLD_TAG.sub("&lt;", text)
    if _is_manageable(text):
        return _cleaned(_FRAGMENT, text)
    shown = html.escape(_encodable(str(fragment)), quote=False)
    return f"<p>HTML that is too large or nested too deeply to render, as text:</p><pre>{shown}</pre>"


def clean_body(body: str) -> str:
    """The inside of a page's body, with the elements of the templates; headings that name nothing become cells."""
    return _EMPTY_HEADING.sub(r"<td\1>\2</td>", _cleaned(_BODY, body))


def with_scrolling_tables(body: str) -> str:
    """Return a cleaned body in which each outermost table scrolls in a frame of its own, and wide ones are marked."""
    pieces: list[str] = []
    end = depth = number = 0
    tags = list(_CLEAN_TAG.finditer(body))
    for index, tag in enumerate(tags):
        if tag[2] != "table":
            continue
        is_outermost = depth == (1 if tag[1] else 0)
        depth = max(depth + (-1 if tag[1] else 1), 0)
        if not is_outermost:
            continue
        if tag[1]:
            pieces += [body[end : tag.end()], "</div>"]
            end = tag.end()
        else:
            number += 1
            wide = " svc-wide" if _columns(tags, index) > WIDE_COLUMNS else ""
            frame = f'<div class="svc-scroll{wide}" role="group" aria-label="Table {number}" tabindex="0">'
            pieces += [body[end : tag.start()], frame]
            end = tag.start()
    return "".join([*pieces, body[end:]])


def open_folds(body: str) -> str:
    """Return a cleaned body in which all folds are open, except those of code and of what an analyst did."""

    def opened(tag: re.Match[str]) -> str:
        is_closed = tag[2] == "details" and not tag[1] and " open=" not in tag[3]
        is_fold = is_closed and not any(f'class="{name}"' in tag[3] for name in (CODE_CLASS, STEPS_CLASS))
        return f'<details{tag[3]} open="">' if is_fold else tag[0]

    return _CLEAN_TAG.sub(opened, body)


def _columns(tags: Sequence[re.Match[str]], index: int) -> int:
    """The number of cells in the first row of the table that begins at this tag."""
    count = 0
    for tag in islice(tags, index + 1, None):
        if tag[2] in ("tr", "table") and tag[1]:
            break
        count += tag[2] in ("td", "th") and not tag[1]
    return count


def _has_whole_folds(text: str) -> bool:
    """Whether each fold is closed, and each summary within it, in the order of a stack."""
    if _FOLD_TAG.search(text) is None:
        return True
    is_open: list[str] = []
    for token in _TOKEN.finditer(text):
        name = (token["name"] or "").lower()
        if name not in _FOLD_TAGS:
            continue
        if not token["end"]:
            if name == "summary" and is_open[-1:] != ["details"]:
                return False
            is_open.append(name)
        elif not is_open or is_open.pop() != name:
            return False
    return not is_open


def _cleaned(cleaner: nh3.Cleaner, text: str) -> str:
    """Clean the text; ampersands and no-break spaces, on which the parser takes quadratic time, go around it."""
    used = set(text)
    ampersand, space = islice((c for c in map(chr, chain(*_PRIVATE_USE)) if c not in used), 2)
    hidden = text.replace("&amp;", ampersand).replace("&nbsp;", space).replace("\u00a0", space)
    return cleaner.clean(hidden).replace(ampersand, "&amp;").replace(space, "&nbsp;")


def _encodable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_manageable(text: str) -> bool:
    """Whether the HTML has a bounded number of elements and levels. Counts too much rather than too little."""
    if text.count("&") - text.count("&amp;") - text.count("&nbsp;") > MAX_REFERENCES:
        return False
    elements = depth = 0
    is_open: Counter[str] = Counter()
    for token in _TOKEN.finditer(text):
        name = (token["name"] or "").lower()
        if not name or (name in _CLOSED_BY_OTHERS and token["end"]):
            continue
        if not token["end"]:
            elements += 1
            if name not in _CLOSED_BY_OTHERS:
                is_open[name] += 1
                depth += 1
        elif is_open[name]:
            is_open[name] -= 1
            depth -= 1
        if depth > MAX_NESTING or elements > MAX_ELEMENTS:
            return False
    return True


def _allowed_value(tag: str, name: str, value: str) -> str | None:
    """The value, or None to drop the attribute: an image must carry its bytes, a link must be http, https or local."""
    if tag == "img" and name == "src":
        return value if value.startswith(_IMAGES) else None
    if name == "width":
        return value if value == FULL_WIDTH else None
    if tag == "a" and name == "href":
        return value if value.startswith(("#", "https://", "http://")) else None
    return value


def _cleaner(tags: tuple[str, ...], attributes: tuple[str, ...], prefixes: set[str]) -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(tags),
        clean_content_tags=set(_REMOVED),
        attributes={"*": set(attributes), "a": {"href"}, "img": {"src", "width"}},
        generic_attribute_prefixes=prefixes,
        attribute_filter=_allowed_value,
        url_schemes={"http", "https", "data"},
        link_rel=None,
    )


_FRAGMENT = _cleaner(_TAGS, _ATTRIBUTES, set())
_BODY = _cleaner((*_TAGS, *_PAGE_TAGS), (*_ATTRIBUTES, *_PAGE_ATTRIBUTES), {"aria-"})
