"""What a mail's HTML shows, links to and hides. Pure.

Links with their text, forms with what they ask for, scripts, remote images, hidden text.
Nothing is fetched or run. Tags: ``html_tags.py``.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin

import msgspec

from svc.assistant.skills.mail.html_tags import Tag, read_tags
from svc.assistant.skills.mail.style_sheet import StyleSheet

MAX_HTML_CHARS = 400_000  # of a mail; what is larger is padded or holds its pictures
MAX_LINKS = 2_000
MAX_EMPTY_LINKS = 100
MAX_DEPTH = 400

_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"frame", "basefont", "bgsound"}
)
_SILENT = frozenset(["script", "style", "title", "head", "noscript", "template"])
_BREAKS = frozenset(
    {"p", "div", "br", "tr", "table", "li", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "center", "hr"}
    | {"blockquote"}
)
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*[01](?:\.\d+)?(?:px|pt|em|%)?\s*(?:;|!|$)"
    r"|opacity\s*:\s*0(?:\.0\d*)?\s*(?:;|!|$)"
    r"|(?:max-)?height\s*:\s*0(?:px)?\s*(?:;|!|$)|text-indent\s*:\s*-\d{3,}|mso-hide\s*:\s*all",
    re.IGNORECASE,
)
_COLOR = re.compile(r"(?<![-\w])color\s*:\s*([#\w]+)", re.IGNORECASE)
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*([#\w]+)", re.IGNORECASE)
_WHITES = frozenset(["#fff", "#ffffff", "white", "#fefefe", "#fdfdfd"])
MARKS = re.compile("[\ue000-\uf8ff]")  # Unicode's private use: a mark in a text stands for the link that ends there


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """Where a click leads and what is written over it. ``place``: a, area, form, frame, refresh, text.

    ``number`` is its place in the mail, as in its mark.
    """

    url: str
    text: str = ""
    place: str = "a"
    has_image: bool = False
    number: int = -1
    is_hidden: bool = False


class Page(msgspec.Struct, kw_only=True):
    """What the HTML holds: ``text`` is what is seen, ``marked`` the same with marks of links, ``hidden`` the rest."""

    text: str = ""
    marked: str = ""
    hidden: str = ""
    links: list[Link] = msgspec.field(default_factory=list)
    images: list[str] = msgspec.field(default_factory=list)
    pixels: list[str] = msgspec.field(default_factory=list)
    secret_inputs: int = 0
    inputs: int = 0
    forms: int = 0
    scripts: int = 0
    frames: int = 0
    quoted: int = 0
    base: str = ""
    is_cut: bool = False


_BLANKS = re.compile(r"[\t\r\n\x00-\x1f]+")
_WEB = re.compile(r"(https?|ftp):[/\\]*(?=[^/\\])", re.IGNORECASE)


def absolute(url: str, base: str = "") -> str:
    """Return an address as browsers read it: without blanks, with slashes for backslashes, relative to ``base``."""
    url = _BLANKS.sub("", url).strip()
    if found := _WEB.match(url):
        place, mark, rest = url[found.end() :].partition("?")
        return f"{found[1].lower()}://{place.replace(chr(92), '/')}{mark}{rest}"
    if not base or url.startswith(("#", "//")) or re.match(r"[a-zA-Z][\w+.-]{1,20}:", url):
        return url
    try:
        return urljoin(absolute(base), url)
    except ValueError:
        return url


def link_mark(number: int) -> str:
    """The mark of the link with this index; of a mail with too many links the last mark stands for the rest."""
    return chr(min(0xE000 + number, 0xF8FF))


def marked_link(mark: str) -> int:
    """The index of the link that a mark stands for."""
    return ord(mark) - 0xE000


def read_page(html: str) -> Page:
    """The page in ``html``; what comes after MAX_HTML_CHARS is not looked at, and ``is_cut`` says so."""
    reader = _Reader()
    page = reader.page
    page.is_cut = len(html) > MAX_HTML_CHARS
    for item in read_tags(html[:MAX_HTML_CHARS]):
        if isinstance(item, str):
            reader.text(item)
        elif item.is_end:
            reader.end(item.name)
        else:
            reader.start(item)
    reader.end_anchor()
    page.marked = _flowed(reader.shown)
    page.text = MARKS.sub("", page.marked)
    page.hidden = _flowed(reader.unseen)
    return page


def _flowed(pieces: list[str]) -> str:
    return re.sub(r"[ \t\xa0]+", " ", re.sub(r"(?<![^\S\n])[^\S\n]*+\n\s*+", "\n", "".join(pieces))).strip()


class _Open(msgspec.Struct):
    tag: str
    is_hidden: bool = False
    is_silent: bool = False
    background: str = "white"


class _Reader:
    """Collects a Page while tags and text go by."""

    def __init__(self) -> None:
        self.page = Page()
        self.shown: list[str] = []
        self.unseen: list[str] = []
        self._open: list[_Open] = []
        self._sheet = StyleSheet()
        self._empty = 0
        self._anchor: tuple[str, str, list[str], list[bool]] | None = None

    def start(self, item: Tag) -> None:
        """Note what the tag brings, and whether its content can be seen."""
        tag, given = item.name, item.attributes
        if tag in _BREAKS:
            self.shown.append("\n")
        self._note(tag, given)
        if tag in _VOID or len(self._open) >= MAX_DEPTH:
            return
        above = self._open[-1] if self._open else _Open("")
        style = self._sheet.style_of(tag, given)
        background = self._paint(given, style) or above.background
        is_hidden = above.is_hidden or self._is_hidden(given, style, background)
        is_silent = (above.is_silent and above.tag != "head") or tag in _SILENT
        if tag in ("body", "table", "div", "p", "a", "td"):
            is_silent = False  # a head that nobody closed
        self._open.append(_Open(tag, is_hidden=is_hidden, is_silent=is_silent, background=background))

    def end(self, tag: str) -> None:
        """Close the nearest tag of this name and what stands open in it."""
        if tag == "a":
            self.end_anchor()
        for index in range(len(self._open) - 1, max(-1, len(self._open) - 40), -1):
            if self._open[index].tag == tag:
                del self._open[index:]
                return

    def text(self, data: str) -> None:
        """Text goes to what is seen or to what is not."""
        top = self._open[-1] if self._open else None
        if top is not None and top.is_silent:
            if top.tag == "style":
                self._sheet.add(data)
            return
        if top is not None and top.is_hidden:
            self.unseen.append(data)
            return
        self.shown.append(MARKS.sub("", data))
        if self._anchor is not None:
            self._anchor[2].append(data)

    def _note(self, tag: str, given: dict[str, str]) -> None:
        page = self.page
        match tag:
            case "a":
                self.end_anchor()
                if address := given.get("href") or given.get("xlink:href"):  # the second in SVG
                    self._anchor = (address, "a", [], [])
            case "area" if given.get("href"):
                self._add(Link(url=given["href"], text=given.get("alt", ""), place="area", has_image=True))
            case "form":
                page.forms += 1
                if given.get("action"):
                    self._add(Link(url=given["action"], place="form"))
            case "input" | "textarea" | "select":
                self._note_input(given)
            case "script":
                page.scripts += 1
            case "iframe" | "frame" | "object" | "embed":
                page.frames += 1
                if given.get("src"):
                    self._add(Link(url=given["src"], place="frame"))
            case "meta":
                self._note_refresh(given)
            case "base":
                page.base = given.get("href", "")
            case "img":
                self._note_image(given)
            case "blockquote":
                page.quoted += 1
            case _:
                pass

    def _note_input(self, given: dict[str, str]) -> None:
        kind = given.get("type", "text").lower()
        if kind in ("hidden", "submit", "image", "button", "reset"):
            return
        self.page.inputs += 1
        name = given.get("name", "") + given.get("id", "") + given.get("placeholder", "")
        if kind == "password" or re.search(r"pass|pin\b|cvv|cvc|card|ssn|social|account|acct", name, re.IGNORECASE):
            self.page.secret_inputs += 1

    def _note_refresh(self, given: dict[str, str]) -> None:
        if given.get("http-equiv", "").lower() == "refresh":
            _, _, url = given.get("content", "").partition("=")
            if url:
                self._add(Link(url=url.strip(" '\""), place="refresh"))

    def _note_image(self, given: dict[str, str]) -> None:
        if self._anchor is not None:
            self._anchor[3].append(True)
            self._anchor[2].append(given.get("alt", "")[:200])
        source = given.get("src", "")
        if len(self.page.images) >= MAX_LINKS or not source.lower().startswith(("http:", "https:", "//")):
            return
        is_pixel = given.get("width") in ("0", "1") or given.get("height") in ("0", "1")
        (self.page.pixels if is_pixel else self.page.images).append(source[:2_000])

    def _add(self, link: Link) -> None:
        self._empty += link.is_hidden
        if link.is_hidden and self._empty > MAX_EMPTY_LINKS:
            return  # links that nobody can click take no place
        self.page.is_cut |= len(self.page.links) >= MAX_LINKS
        if len(self.page.links) < MAX_LINKS:
            url = absolute(link.url, self.page.base)
            self.page.links.append(msgspec.structs.replace(link, url=url, number=len(self.page.links)))

    def end_anchor(self) -> None:
        """End the link that is open, if one is."""
        if self._anchor is None:
            return
        url, place, text, images = self._anchor
        self._anchor = None
        self.shown.append(link_mark(len(self.page.links)))
        words = " ".join("".join(text).split())
        is_hidden = not (words or images)
        self._add(Link(url=url[:4_000], text=words[:500], place=place, has_image=bool(images), is_hidden=is_hidden))

    @staticmethod
    def _paint(given: dict[str, str], style: str) -> str:
        found = _BACKGROUND.search(style)
        return (found[1] if found else given.get("bgcolor", "")).lower()

    @staticmethod
    def _is_hidden(given: dict[str, str], style: str, background: str) -> bool:
        if "hidden" in given or (style and _HIDDEN.search(style)):
            return True
        found = _COLOR.search(style)
        color = (found[1] if found else given.get("color", "")).lower()
        return bool(color) and (color == background or (color in _WHITES and background in _WHITES))
