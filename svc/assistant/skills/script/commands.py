"""Split a script into its commands and calls, in order, each with its arguments.

PowerShell, Unix shell and JavaScript are parsed by tree-sitter's grammars, which continue after syntax errors. The
Windows command shell and Visual Basic are split by their separators. Nothing is executed or expanded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from svc.assistant.log_readers.lines import split_lines
from svc.assistant.skills.script.language import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

MAX_PARSED_CHARS = 300_000  # of a script that is parsed; the rest is split line by line
MAX_PARSE_SECONDS = 3.0  # of processor time for one text; ordinary ones of this size take less than 0.3
PARSED_PIECE = 65_536  # bytes that the parser asks for at once
MAX_PART_CHARS = 4_000  # of the text of one command
MAX_NODES = 400_000  # of a syntax tree


class Command(msgspec.Struct, frozen=True):
    """A command or a call with its name as written; ``line`` counts from 1."""

    name: str
    arguments: tuple[str, ...]
    text: str
    line: int


class ScriptParts(msgspec.Struct, frozen=True):
    """The commands and calls of a text in its order; ``is_parsed``: its grammar could be used in time."""

    commands: Iterator[Command]
    is_parsed: bool


def parts_of(text: str, language: Language) -> ScriptParts:
    """Return the commands and calls of ``text``; if parsing takes too long, it is split line by line."""
    reader = _READERS.get(language)
    if reader is None:
        return ScriptParts(_by_lines(text, language, 1), is_parsed=True)
    head = text[:MAX_PARSED_CHARS]
    if len(text) > MAX_PARSED_CHARS:
        head = head[: head.rfind("\n") + 1] or head
    tree = syntax_tree(head, language)
    if tree is None:
        return ScriptParts(_by_lines(text, language, 1), is_parsed=False)
    rest = _by_lines(text[len(head) :], language, 1 + head.count("\n")) if len(head) < len(text) else ()
    return ScriptParts(chain(reader(tree.root_node), rest), is_parsed=True)


def syntax_tree(text: str, language: Language) -> Tree | None:
    """Parse ``text``; None if it takes too long: on malformed texts the time may grow with the square of the size."""
    data = text.encode("utf-8", "replace")
    end = time.process_time() + MAX_PARSE_SECONDS
    parser = _parser(language)
    try:
        return parser.parse(
            lambda offset, _: data[offset : offset + PARSED_PIECE],
            progress_callback=lambda _offset, _has_error: time.process_time() > end,
        )
    except ValueError:  # the callback stopped it
        parser.reset()
        return None


@cache
def _parser(language: Language) -> Parser:
    from tree_sitter import Language as Grammar  # loaded when the first script is parsed
    from tree_sitter import Parser

    packages = {Language.POWERSHELL: "tree_sitter_powershell", Language.SHELL: "tree_sitter_bash"}
    grammar = import_module(packages.get(language, "tree_sitter_javascript"))
    return Parser(Grammar(grammar.language()))


def _nodes(root: Node) -> Iterator[Node]:
    """Yield all named nodes in the order of the text, parents first; not recursive, because nesting may be deep."""
    stack = [root]
    for _ in range(MAX_NODES):
        if not stack:
            return
        node = stack.pop()
        yield node
        stack.extend(reversed(node.named_children))


def _text(node: Node) -> str:
    return (node.text or b"")[: MAX_PART_CHARS * 4].decode("utf-8", "replace")[:MAX_PART_CHARS]


def _powershell(root: Node) -> Iterator[Command]:
    for node in _nodes(root):
        if node.type == "command":
            yield from _powershell_command(node)
        elif node.type == "invokation_expression":
            yield from _powershell_call(node)


def _powershell_command(node: Node) -> Iterator[Command]:
    name = next((child for child in node.named_children if child.type.startswith("command_name")), None)
    elements = next((child for child in node.named_children if child.type == "command_elements"), None)
    if name is None:
        return
    arguments = (
        []
        if elements is None
        else [_text(one) for one in elements.named_children if one.type != "command_argument_sep"]
    )
    yield Command(
        _unquoted(_text(name)), tuple(_unquoted(one) for one in arguments), _text(node), node.start_point[0] + 1
    )


def _powershell_call(node: Node) -> Iterator[Command]:
    member = next((child for child in node.named_children if child.type == "member_name"), None)
    arguments = next((child for child in node.named_children if child.type == "argument_list"), None)
    if member is not None:
        given = () if arguments is None else (_text(arguments).strip("()"),)
        yield Command("." + _unquoted(_text(member)), given, _text(node), node.start_point[0] + 1)


def _shell(root: Node) -> Iterator[Command]:
    for node in _nodes(root):
        if node.type != "command":
            continue
        words = [child for child in node.named_children if not child.type.endswith(("redirect", "assignment"))]
        if words:
            name, *arguments = (_unquoted(_text(word)) for word in words)
            yield Command(name, tuple(arguments), _text(node), node.start_point[0] + 1)


def _javascript(root: Node) -> Iterator[Command]:
    for node in _nodes(root):
        if node.type not in ("call_expression", "new_expression") or not node.named_children:
            continue
        called = node.named_children[0]
        members = [child for child in called.named_children if child.type == "property_identifier"]
        name = "." + _text(members[-1]) if members else _text(called)
        arguments = node.named_children[-1] if len(node.named_children) > 1 else None
        given = () if arguments is None else tuple(_unquoted(_text(one)) for one in arguments.named_children)
        if len(name) <= 80:
            yield Command(name, given, _text(node), node.start_point[0] + 1)


_READERS: dict[Language, Callable[[Node], Iterator[Command]]] = {
    Language.POWERSHELL: _powershell,
    Language.SHELL: _shell,
    Language.JAVASCRIPT: _javascript,
}

_CONTINUED = re.compile(r"(?:\^|(?<=\s)_|`|\\)[ \t]*\r?\n")
_BATCH_SEPARATOR = re.compile(r"&&|\|\||&|\|")
_NOT_COMMAND = re.compile(r"\s*(?:::|rem\b|:\w|#|')", re.IGNORECASE)
_WORD = re.compile(r"\"[^\"]*\"|[^\s,;=]+=?")
_BEFORE_COMMAND, _AFTER_COMMAND = " \t\r\n\f\v@(", " \t\r\n\f\v)"
_CONDITION = re.compile(
    r"(?:if (?:/i )?(?:not )?(?:exist \S+|errorlevel \d+|defined \w+|\S+?\s*==\s*\S+)|else|"
    r"for /?\w? ?.{0,200}? do|call)\s+",
    re.IGNORECASE,
)
_VBA_CALL = re.compile(r"(?<![\w.])(\.?[A-Za-z_][\w.]{0,100}?)(\.?\w{1,100})?\s{0,20}(?:\(|(?=\s{1,20}\"))")
MAX_LINE_CHARS = 20_000


def _by_lines(text: str, language: Language, first: int) -> Iterator[Command]:
    number = first
    for raw in _joined_lines(text):
        line = raw.replace("\0", " ")[:MAX_LINE_CHARS]
        if line.strip() and not _NOT_COMMAND.match(line):
            yield from _visual_basic(line, number) if language is Language.VBA else _batch(line, number)
        number += 1 + raw.count("\0")


def _joined_lines(text: str) -> Iterator[str]:
    """Yield lines joined with their continuations; NUL marks each line break, so that lines can be counted."""
    yield from split_lines(_CONTINUED.sub("\0", text.replace("\0", " ")))


def _without_surroundings(command: str) -> str:
    return command.lstrip(_BEFORE_COMMAND).rstrip(_AFTER_COMMAND)


def _split_batch(line: str) -> Iterator[str]:
    """The commands of a line; a separator with an odd number of quotes behind it is part of a text."""
    start = counted = 0
    quotes_left = line.count('"')
    for separator in _BATCH_SEPARATOR.finditer(line):
        quotes_left -= line.count('"', counted, separator.start())
        counted = separator.start()
        if quotes_left % 2 == 0:
            yield line[start : separator.start()]
            start = separator.end()
    yield line[start:]


def _batch(line: str, number: int) -> Iterator[Command]:
    for command in _split_batch(line):
        plain = _without_surroundings(command)
        while (condition := _CONDITION.match(plain)) is not None:
            plain = _without_surroundings(plain[condition.end() :])
        words = _WORD.findall(plain)
        if words:
            yield Command(
                _unquoted(words[0]), tuple(_unquoted(word) for word in words[1:]), plain[:MAX_PART_CHARS], number
            )


def _visual_basic(line: str, number: int) -> Iterator[Command]:
    for match in _VBA_CALL.finditer(line):
        name = match[2] if match[2] and match[2].startswith(".") else match[1] + (match[2] or "")
        yield Command(name, (line[match.end() :].strip(' ()"')[:200],), line.strip()[:MAX_PART_CHARS], number)


def _unquoted(word: str) -> str:
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "\"'"
    return word[1:-1] if is_quoted else word
