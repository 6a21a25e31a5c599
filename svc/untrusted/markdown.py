"""Make an answer's Markdown safe to show in any renderer, and give its plain text. Pure; never raises.

An answer quotes what attackers wrote. It is parsed as CommonMark with tables and written again from the tree, in a
subset that JupyterLab (marked, MathJax, mermaid), nbconvert (mistune), VS Code (markdown-it), GitHub (cmark-gfm),
remark, python-markdown and showdown read alike: no image, link, raw HTML or formula. What any of them could take for
markup is an entity, never a backslash, which an autolink would swallow; or it is shown as code. Indicators outside
code are defanged (``defang.py``). What was written is then given to GitHub's parser (``gfm.py``); if that finds
anything live, the whole answer is shown as code. Doing it twice changes nothing. Cases for every language:
``tests/wire/markdown_cases.json``.

A fold is the one piece of HTML that an answer can have: the lines ``<details>`` and ``<summary>TEXT</summary>``, and
``</details>`` after blank lines, at the top level, balanced, with a TEXT of letters, digits and a few signs
(``markup.fold`` writes it). Every other form of these tags is text. Some renderers take all of a fold for raw HTML, so
that no ``<`` is left in it, not even in code.

Code keeps its fence unless a renderer without fences (python-markdown, showdown within lists) would find markup in it:
then it is indented, or each line is a code span where indented code could be taken for a part of a list.

Facts: CommonMark 0.31, GitHub Flavored Markdown, JupyterLab's ``latex.ts`` and MathJax delimiters, OWASP's XSS sheet.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from svc.untrusted.characters import printable
from svc.untrusted.defang import break_links, defang_text, defang_word
from svc.untrusted.gfm import is_inert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

MAX_NESTING = 30  # levels of blocks and marks; an answer that goes deeper is shown as one block of code
MAX_ADDRESS = 300  # characters of a link's address that are shown: a data: URL may have a million

_HARD = "\0"  # ends a line that breaks hard, while it is written; no text has it: printable() shows it
_BREAKS = re.compile(r"(?<![\0 ])[\0 ]*+\n[\0\n ]*+")
_BEFORE_BREAK = re.compile(r"(?<! ) ++(?=\0)")
_SPACES = re.compile(r"\s+")
_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*+\n[ \t]*+")
_OPENING, _CLOSING = "([{\"'<“«", ")]}\"'>”»,;:!?."
_CODE_ONLY = re.compile(r"[\\$`]|//")  # TeX, escapes, backticks, hosts: renderers differ about them
_MATHEMATICS = re.compile(r"\$(?=\$)|\\\\(?=\[)|\\begin(?=\{)")
"""Where nbconvert starts a formula even in code, and lets the HTML after it through: a space goes in between."""

_MARKUP = re.compile(r"[*\[\]<|~{}]|&(?=[#\w])|(?<![^\W_])_|_(?![^\W_])")
_MARKUP_IN_CELL = re.compile(rf'"|{_MARKUP.pattern}')  # showdown writes a head into an attribute
_LINE_START = re.compile(r"^(?:[#>+=:!-]|(\d{1,9})[.)](?=[\s\0]|$))")
_MARKUP_IN_CODE = re.compile(r"<[A-Za-z/!?]|\][ \t]?[(\[]|^[ \t]*\[[^\]\n]*\]:", re.MULTILINE)
"""Code that a renderer without fences would read as HTML, a link or an image, or as the definition of one."""

_FOLD_START = re.compile(r"<details>\n<summary>([\w ,.:;()/+-]{1,200})</summary>\n*+")
_FOLD_END = re.compile(r"</details>\n*+")

_LISTS = ("bullet_list", "ordered_list")
_BEFORE_MARK = re.compile(r"[\s(\"'“«/:,;.`]")
_AFTER_MARK = re.compile(r"[\s)\"'”»/:,;.!?`]")
_LANGUAGES = frozenset(
    (
        "bash",
        "c",
        "console",
        "csharp",
        "csv",
        "diff",
        "go",
        "html",
        "http",
        "ini",
        "java",
        "javascript",
        "json",
        "perl",
        "php",
        "powershell",
        "python",
        "ruby",
        "rust",
        "sh",
        "sql",
        "text",
        "toml",
        "vb",
        "xml",
        "yaml",
    )
)
"""Of code blocks; others are dropped: a renderer may run "mermaid" or set "math"."""


@dataclass(frozen=True)
class _Text:
    text: str


@dataclass(frozen=True)
class _Code:
    text: str


@dataclass(frozen=True)
class _Break:
    hard: bool


@dataclass(frozen=True)
class _Styled:
    mark: str
    parts: tuple[_Part, ...]


_Part = _Text | _Code | _Break | _Styled


@dataclass(frozen=True)
class _Fold:
    """Blocks that a viewer shows when the reader opens them."""

    title: str
    children: Sequence[SyntaxTreeNode]
    start: tuple[int, int]
    """The lines that open it, as a range."""
    end: tuple[int, int]
    type: str = "fold"


class _Place(Enum):
    """What encloses a block; LIST if a list does at any level."""

    DOCUMENT = auto()
    QUOTE = auto()
    LIST = auto()

    @property
    def quoted(self) -> _Place:
        """The place within a quote that is here."""
        return _Place.LIST if self is _Place.LIST else _Place.QUOTE


@dataclass(frozen=True)
class _Around:
    """What is around a block; ``previous`` is the type of the block before it, empty for the first."""

    place: _Place = _Place.DOCUMENT
    previous: str = ""

    @property
    def may_indent(self) -> bool:
        """Whether indented code is code: not within or after a list, and not where ``strip`` would dedent it."""
        is_start = self.place is _Place.DOCUMENT and not self.previous
        return self.place is not _Place.LIST and self.previous not in _LISTS and not is_start

    @property
    def may_fence(self) -> bool:
        """Whether every renderer with fences sees this one: showdown sees none behind a bullet."""
        return self.place is not _Place.LIST or bool(self.previous)


def safe_markdown(markdown: str) -> str:
    """Return the answer as Markdown that is safe in any renderer; ``""`` for an empty answer."""
    written = _written(markdown, plain=False)
    return written if is_inert(written) else safe_code(markdown)


def safe_code(text: str) -> str:
    """Return a text as one block of code that is safe in any renderer, wherever a block can be."""
    return _ended(_Writer(plain=False).code_block(printable(text), _Around(), language="text"))


def plain_text(markdown: str) -> str:
    """Return the answer as plain text, defanged too: no escapes, no backticks, tables as aligned columns."""
    return _written(markdown, plain=True)


def unfolded(markdown: str) -> str:
    """The Markdown with a heading in place of each fold, for a terminal; everything else as it is."""
    from markdown_it.tree import SyntaxTreeNode  # loaded with the first answer

    text = printable(markdown)
    lines: list[str | None] = list(text.split("\n"))
    for fold in _folded(SyntaxTreeNode(_parser().parse(text)).children):
        if isinstance(fold, _Fold):
            lines[slice(*fold.start)] = [f"## {fold.title}", *[None] * (fold.start[1] - fold.start[0] - 1)]
            start, end = fold.end
            if end < len(lines) and not lines[end]:
                end += 1
            lines[start:end] = [None] * (end - start)
    return "\n".join(line for line in lines if line is not None)


def _written(markdown: str, *, plain: bool) -> str:
    from markdown_it.tree import SyntaxTreeNode  # loaded with the first answer

    text = printable(markdown)
    tokens = _parser().parse(text)
    writer = _Writer(plain=plain)
    if any(token.level > MAX_NESTING for outer in tokens for token in (outer, *(outer.children or ()))):
        return _ended(writer.code_block(text, _Around(), language=""))
    return _ended(writer.blocks(_folded(SyntaxTreeNode(tokens).children)))


def _folded(nodes: list[SyntaxTreeNode]) -> list[SyntaxTreeNode | _Fold]:
    """The blocks of a document, those of each fold as one; lines of a fold that is not whole stay what they are."""
    found: list[SyntaxTreeNode | _Fold] = []
    inside: list[SyntaxTreeNode] = []
    started: tuple[str, SyntaxTreeNode] | None = None
    for node in nodes:
        html = node.content if node.type == "html_block" else ""
        start = _FOLD_START.fullmatch(html)
        if start is not None and _is_inert_title(start[1]):
            found += [*([started[1]] if started is not None else []), *inside]
            started, inside = (start[1], node), []
        elif started is None:
            found.append(node)
        elif _FOLD_END.fullmatch(html):
            found.append(_Fold(started[0], inside, started[1].map or (0, 0), node.map or (0, 0)))
            started, inside = None, []
        else:
            inside.append(node)
    return found if started is None else [*found, started[1], *inside]


def _is_inert_title(title: str) -> bool:
    return title == title.strip() and break_links(title) == title and defang_text(title) == title


def _ended(markdown: str) -> str:
    """The Markdown with its hard breaks: two spaces, which more renderers know than a backslash."""
    return markdown.replace(_HARD, "  ")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # loaded with the first answer

    class Parser(MarkdownIt):
        """Accept every address: the writer shows addresses as text, never as links."""

        def validateLink(self, url: str) -> bool:  # noqa: N802 (the library's name)
            return True

        def normalizeLink(self, url: str) -> str:  # noqa: N802
            return url

        def normalizeLinkText(self, link: str) -> str:  # noqa: N802
            return link

    return Parser("commonmark", {"maxNesting": MAX_NESTING + 10}).enable("table").disable("reference")


class _Writer:
    """Writes a parsed tree as Markdown, or as text if ``plain``."""

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain
        self._in_fold = False

    def blocks(
        self,
        nodes: Sequence[SyntaxTreeNode | _Fold],
        *,
        tight: bool = False,
        place: _Place = _Place.DOCUMENT,
    ) -> str:
        written: list[str] = []
        previous = ""
        alternate = False
        for node in nodes:
            is_next_list = node.type == previous and not alternate  # the other marker keeps two lists apart
            around = _Around(place, previous)
            block = self._fold(node) if isinstance(node, _Fold) else self._block(node, around, alternate=is_next_list)
            if block:
                written.append(block)
                previous, alternate = node.type, is_next_list
        return ("\n" if tight else "\n\n").join(written)

    def _fold(self, fold: _Fold) -> str:
        self._in_fold = True
        inside = self.blocks(fold.children)
        self._in_fold = False
        if self._plain:
            return f"## {fold.title}\n\n{inside}"
        return f"<details>\n<summary>{fold.title}</summary>\n\n{inside}\n\n</details>"

    def _block(self, node: SyntaxTreeNode, around: _Around, *, alternate: bool) -> str:
        match node.type:
            case "paragraph":
                return self._paragraph(node)
            case "heading":
                return self._heading(node)
            case "bullet_list" | "ordered_list":
                return self._list(node, alternate=alternate)
            case "blockquote":
                inside = self.blocks(node.children, place=around.place.quoted)
                return "\n".join(f"> {line}".rstrip() for line in inside.split("\n"))
            case "table":
                return self._table(node)
            case "hr":
                return "___"
            case _:  # fence, code_block, html_block, and whatever a later parser brings
                language = node.info.strip().lower() if node.type == "fence" else ""
                return self.code_block(node.content, around, language=language)

    def _paragraph(self, node: SyntaxTreeNode) -> str:
        text = _BEFORE_BREAK.sub("", self._inline(node))
        lines = [line for line in map(str.strip, text.split("\n")) if line.rstrip(_HARD).strip()]
        if self._plain:
            return "\n".join(lines).replace(_HARD, "")
        return "\n".join(map(_escape_start, lines)).rstrip(f" {_HARD}")

    def _heading(self, node: SyntaxTreeNode) -> str:
        text = self._inline(node, one_line=True).strip()
        if not self._plain and text.endswith("#"):
            text = f"{text[:-1]}&#35;"
        return f"{'#' * int(node.tag[1:])} {text}".rstrip()

    def _list(self, node: SyntaxTreeNode, *, alternate: bool) -> str:
        is_ordered = node.type == "ordered_list"
        tight = all(_is_tight(item) for item in node.children)
        start = int(node.attrs.get("start", 1)) if is_ordered else 0
        contents = filter(None, (self.blocks(item.children, tight=tight, place=_Place.LIST) for item in node.children))
        items = []
        for number, content in enumerate(contents, start):
            bullet = "*" if alternate else "-"
            if is_ordered:
                bullet = f"{min(number, 999_999_999)}{')' if alternate else '.'}"
            indented = content.replace("\n", "\n" + " " * (len(bullet) + 1))
            items.append("\n".join(line.rstrip() for line in f"{bullet} {indented}".split("\n")))
        return ("\n" if tight else "\n\n").join(items)

    def code_block(self, content: str, around: _Around, *, language: str) -> str:
        content = content.rstrip("\n")
        if self._plain:
            return "\n".join(f"    {line}".rstrip() for line in content.split("\n"))
        content = _MATHEMATICS.sub(r"\g<0> ", content)
        if self._in_fold and "<" in content:
            return f"{_HARD}\n".join(map(_code_without_tags, content.split("\n")))
        is_markup = _MARKUP_IN_CODE.search(content) is not None
        if is_markup and around.may_indent:
            return _indented(content.split("\n"))
        if is_markup or not around.may_fence:
            return f"{_HARD}\n".join(map(_code_span, content.split("\n")))
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", content)), default=0))
        return f"{fence}{language if language in _LANGUAGES else ''}\n{content}\n{fence}"

    def _table(self, node: SyntaxTreeNode) -> str:
        rows = [row.children for section in node.children for row in section.children]
        cells = [[self._inline(cell, one_line=True, in_cell=True) for cell in row] for row in rows]
        if self._plain:
            return _columns(cells)
        rule = [_ALIGNMENTS.get(str(cell.attrs.get("style", "")), "---") for cell in rows[0]]
        return "\n".join(f"| {' | '.join(row)} |" for row in [cells[0], rule, *cells[1:]])

    def _inline(self, block: SyntaxTreeNode, *, one_line: bool = False, in_cell: bool = False) -> str:
        nodes = [node for child in block.children for node in child.children]
        parts = _merged(_flat(_parts(nodes)))
        written = self._write(parts, in_cell=in_cell)
        if not self._plain and "``" in written:  # marked looks for the end of emphasis in code that has backticks
            written = self._write(_merged(_unstyled(parts)), in_cell=in_cell)
        return _BREAKS.sub(" ", written).strip() if one_line else written

    def _write(self, parts: list[_Part], *, in_cell: bool) -> str:
        written = ""
        for part in parts:
            match part:
                case _Text():
                    piece = self._text(part.text, in_cell=in_cell)
                case _Code():
                    piece = self._code(part.text, in_cell=in_cell)
                case _Break():
                    piece = f"{_HARD}\n" if part.hard else "\n"
                case _Styled():
                    inner = self._write(_merged(list(part.parts)), in_cell=in_cell)
                    piece = inner if self._plain else f"{part.mark}{inner}{part.mark}"
            touches = not self._plain and written.endswith("`") and piece.startswith("`")
            written += f" {piece}" if touches else piece
        return written

    def _text(self, text: str, *, in_cell: bool) -> str:
        written = ""
        for piece in re.split(r"(\s+)", text):
            word = " " if piece.isspace() else self._word(piece, in_cell=in_cell)
            written += f" {word}" if not self._plain and written.endswith("`") and word.startswith("`") else word
        return written

    def _word(self, word: str, *, in_cell: bool) -> str:
        core = word.lstrip(_OPENING).rstrip(_CLOSING)
        before, _, after = word.partition(core) if core else (word, "", "")
        if break_links(word) != f"{before}{break_links(core)}{after}":  # "www." ends with a dot
            before, core, after = "", word, ""
        if core and (safe := defang_word(core) or (core if _CODE_ONLY.search(core) else None)):
            code = self._code(safe, in_cell=in_cell)
            return self._escape(before, in_cell=in_cell) + code + self._escape(after, in_cell=in_cell)
        return self._escape(word, in_cell=in_cell)

    def _escape(self, text: str, *, in_cell: bool) -> str:
        return text if self._plain else (_MARKUP_IN_CELL if in_cell else _MARKUP).sub(_as_entity, text)

    def _code(self, text: str, *, in_cell: bool) -> str:
        if self._plain:
            return text
        text = _MATHEMATICS.sub(r"\g<0> ", text)
        code = _code_without_tags if self._in_fold else _code_span
        if not in_cell:
            return code(text)
        pieces = text.split("|")  # mistune: no pipe in a cell's code
        return "&#124;".join(code(piece) if piece else "" for piece in pieces)


_ALIGNMENTS = {"text-align:left": ":--", "text-align:right": "--:", "text-align:center": ":-:"}


def _is_tight(item: SyntaxTreeNode) -> bool:
    """Whether the item is one paragraph, shown without one, and lists below it."""
    return all(
        child.type == "paragraph" and child.hidden if index == 0 else child.type.endswith("_list")
        for index, child in enumerate(item.children)
    )


def _parts(nodes: list[SyntaxTreeNode]) -> list[_Part]:
    """The inline tree as parts: links and images become text with their address as code."""
    parts: list[_Part] = []
    for node in nodes:
        match node.type:
            case "text" if not node.content:  # the parser leaves some where marks were
                pass
            case "text":
                parts.append(_Text(node.content))
            case "softbreak" | "hardbreak":
                parts.append(_Break(hard=node.type == "hardbreak"))
            case "em" | "strong":
                parts.append(_Styled("**" if node.type == "strong" else "_", tuple(_parts(node.children))))
            case "link":
                parts += _link(node)
            case "image":
                parts += [_Text(f"image {node.content!r} "), *_shown_address(str(node.attrs.get("src", "")))]
            case _:  # code_inline, html_inline
                parts.append(_Code(_LINE_BREAK.sub(" ", node.content)))
    return parts


def _link(node: SyntaxTreeNode) -> list[_Part]:
    address = str(node.attrs.get("href", ""))
    if node.info == "auto":
        return [_Code(_cut(defang_word(address) or address))]
    return [*_parts(node.children), _Text(" "), *_shown_address(address)]


def _shown_address(address: str) -> list[_Part]:
    address = _SPACES.sub(" ", address).strip()
    return [_Text("("), _Code(_cut(defang_word(address) or address)), _Text(")")] if address else []


def _cut(address: str) -> str:
    return address if len(address) <= MAX_ADDRESS else f"{address[:MAX_ADDRESS]}…"


def _flat(parts: list[_Part], marks: str = "") -> list[_Part]:
    """Parts with marks only where every renderer takes them for marks; elsewhere what they enclose stands alone."""
    flat: list[_Part] = []
    ahead = deque(parts)
    while ahead:
        part = ahead.popleft()
        if not isinstance(part, _Styled):
            flat.append(part)
        elif part.mark not in marks and _stands_alone(
            part, before=_edge(flat[-1:], last=True), after=_edge(list(islice(ahead, 1)), last=False)
        ):
            flat.append(_Styled(part.mark, tuple(_flat(list(part.parts), marks + part.mark))))
        else:
            ahead.extendleft(reversed(part.parts))
    return flat


def _stands_alone(part: _Styled, *, before: str, after: str) -> bool:
    first, last = _edge(list(part.parts[:1]), last=False), _edge(list(part.parts[-1:]), last=True)
    if first.isspace() or last.isspace() or "*" in first + last:
        return False
    return bool(_BEFORE_MARK.fullmatch(before) and _AFTER_MARK.fullmatch(after))


def _edge(parts: list[_Part], *, last: bool) -> str:
    """The last, or the first, character of the one part given; a space if there is none."""
    match parts:
        case [_Text(text=text)] if text:
            return text[-1 if last else 0]
        case [_Code()]:
            return "`"
        case [_Styled()]:
            return "*"
        case _:
            return " "


def _merged(parts: list[_Part]) -> list[_Part]:
    """The parts with neighbouring texts made one, so that a word is seen whole however its markup cut it."""
    merged: list[_Part] = []
    for part in parts:
        if isinstance(part, _Text) and merged and isinstance(merged[-1], _Text):
            merged[-1] = _Text(merged[-1].text + part.text)
        else:
            merged.append(part)
    return merged


def _unstyled(parts: Iterable[_Part]) -> list[_Part]:
    """The parts without emphasis."""
    return [inner for part in parts for inner in (_unstyled(part.parts) if isinstance(part, _Styled) else [part])]


def _code_span(text: str) -> str:
    """The line as a code span; an empty one as a space."""
    text = text or " "
    runs = {len(run) for run in re.findall("`+", text)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    needs_padding = text[0] == "`" or text[-1] == "`" or (text[0] == " " == text[-1] and not text.isspace())
    return f"{fence} {text} {fence}" if needs_padding else f"{fence}{text}{fence}"


def _code_without_tags(text: str) -> str:
    """The line as code spans with each ``<`` between them as an entity, which is no tag in raw HTML either."""
    return (
        "&lt;".join(_code_span(piece) if piece else "" for piece in text.split("<"))
        if "<" in text
        else _code_span(text)
    )


def _indented(lines: list[str]) -> str:
    """The lines as indented code, without empty ones at its start and end: they are no part of such code."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(f"    {line}" if line.strip() else "" for line in lines[filled[0] : filled[-1] + 1])


def _as_entity(match: re.Match[str]) -> str:
    return {"<": "&lt;", "&": "&amp;"}.get(match[0], f"&#{ord(match[0])};")


def _escape_start(line: str) -> str:
    """The line without what would begin a block: ``&#35;``, ``1&#46;``."""
    match = _LINE_START.match(line)
    if match is None:
        return line
    number = match[1] or ""
    return f"{number}&#{ord(line[len(number)])};{line[match.end() :]}"


def _columns(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
