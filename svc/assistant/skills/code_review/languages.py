"""Detect the language of code, a configuration or HTTP headers, and split it into statements of one line each.

The file name decides if the content fits two languages. Python is split by its own grammar (``ast``), so that a call
over several lines is one statement; other languages by lines, joined while a bracket is open. Facts:
``languages.toml``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from itertools import islice

import msgspec

from svc.assistant.knowledge import load

MAX_PARSED_CHARS = 400_000  # longer Python is split by lines
MAX_JOINED_LINES = 12  # of one statement in a language that is split by lines
MAX_STATEMENT_CHARS = 2_000
DETECTION_CHARS = 30_000  # at the start of a text, that show its language
MAX_COUNTED = 4  # matches of one pattern that count
_ENDING_WEIGHT = 8  # of a file name's ending; patterns in languages.toml weigh 2 to 9
_LEAST_WEIGHT = 3  # below it the language is unknown

_BLANK_LINE = re.compile(r"\n[^\S\n]*(?=\n)")


class FileNamePattern(msgspec.Struct, frozen=True):
    """A file name that shows the language."""

    language: str
    pattern: str


class ContentPattern(msgspec.Struct, frozen=True):
    """Content that suggests a language."""

    language: str
    weight: int
    pattern: str


class LanguageTable(msgspec.Struct, frozen=True):
    """``languages.toml``; ``endings`` are those of file names."""

    source: str
    version: str
    date: date
    endings: dict[str, str]
    names: list[FileNamePattern]
    patterns: list[ContentPattern]


LANGUAGE_NAMES = {
    "headers": "HTTP headers", "sshd": "sshd configuration", "nginx": "nginx configuration", "env": "settings file",
    "apache": "Apache configuration", "dockerfile": "Dockerfile", "compose": "Compose file", "javascript": "JavaScript",
    "kubernetes": "Kubernetes manifest", "terraform": "Terraform", "python": "Python", "php": "PHP", "java": "Java",
    "csharp": "C#", "go": "Go", "ruby": "Ruby", "c": "C or C++", "shell": "shell script", "html": "HTML",
}  # fmt: skip
"""What people call each language."""


@cache
def _table() -> LanguageTable:
    return load("languages.toml", LanguageTable, __package__)


@cache
def _content_patterns() -> list[tuple[ContentPattern, re.Pattern[str]]]:
    return [(one, re.compile(one.pattern, re.MULTILINE)) for one in _table().patterns]


def detect_language(text: str, *, file_name: str = "") -> str:
    """Return ``python``, ``nginx``, ``headers``, …, or "" if the language is unknown."""
    for known in _table().names:
        if file_name and re.search(known.pattern, file_name, re.IGNORECASE):
            return known.language
    # Patterns anchored at a line's start try every run of blank lines from each of its lines: drop those first.
    head = _BLANK_LINE.sub("", text[:DETECTION_CHARS])
    weights: dict[str, int] = {}
    for one, pattern in _content_patterns():
        found = sum(1 for _ in islice(pattern.finditer(head), MAX_COUNTED))
        weights[one.language] = weights.get(one.language, 0) + one.weight * found
    if has_code_ending(file_name):
        ending = _table().endings[file_name.rsplit(".", 1)[-1].lower()]
        weights[ending] = weights.get(ending, 0) + _ENDING_WEIGHT
    best = max(weights, key=lambda language: weights[language])
    return best if weights[best] >= _LEAST_WEIGHT else ""


def has_code_ending(file_name: str) -> bool:
    """Whether a file's name ends as code does (``.py``), whatever it holds."""
    return "." in file_name and file_name.rsplit(".", 1)[-1].lower() in _table().endings


def statements_of(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Yield ``(line, statement)``; lines count from 1, and comments are left out."""
    if language == "python" and len(text) <= MAX_PARSED_CHARS:
        parsed = _parsed_python(text)
        if parsed is not None:
            yield from parsed
            return
    yield from _joined_lines(text, language)


def _parsed_python(text: str) -> list[tuple[int, str]] | None:
    """Return the statements as Python's own grammar writes them; None for text that current Python cannot parse."""
    try:
        tree = ast.parse(text)
        return sorted(_python_statements(_ImportedNames(tree).visit(tree)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _ImportedNames(ast.NodeTransformer):
    """Write imported names in full, so that ``from os import system as go`` does not hide ``go(command)``."""

    def __init__(self, tree: ast.AST) -> None:
        self._full: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._full.update({one.asname: one.name for one in node.names if one.asname})
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self._full.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the name of what is called, or the name that its attributes belong to."""
        self.generic_visit(node)
        owner: ast.expr = node.func
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        if isinstance(owner, ast.Name):
            owner.id = self._full.get(owner.id, owner.id)
        return node


def _python_statements(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            is_empty = len(node.body) == 1 and isinstance(node.body[0], ast.Pass)
            if is_empty:
                caught = f" {ast.unparse(node.type)}" if node.type else ""
                yield node.lineno, f"except{caught}: pass"
        elif isinstance(node, (ast.If, ast.While)):
            yield node.lineno, f"if {ast.unparse(node.test)}"[:MAX_STATEMENT_CHARS]
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield node.lineno, f"{ast.unparse(node.target)} = {ast.unparse(node.iter)}"[:MAX_STATEMENT_CHARS]
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                target = f"{ast.unparse(item.optional_vars)} = " if item.optional_vars else ""
                yield node.lineno, (target + ast.unparse(item.context_expr))[:MAX_STATEMENT_CHARS]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:
                yield decorator.lineno, f"@{ast.unparse(decorator)}"[:MAX_STATEMENT_CHARS]
            if not isinstance(node, ast.ClassDef):
                yield from _default_texts(node.args)
        elif isinstance(node, ast.stmt) and not isinstance(node, (ast.Try, ast.Match)) and not _is_documentation(node):
            yield node.lineno, ast.unparse(node)[:MAX_STATEMENT_CHARS].replace("\n", "\\n")


def _default_texts(arguments: ast.arguments) -> Iterator[tuple[int, str]]:
    """Yield the string defaults of arguments as assignments, because a password may be one."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]  # the last ones have defaults
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    for name, value in pairs:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, f"{name.arg} = {ast.unparse(value)}"[:MAX_STATEMENT_CHARS]


def _is_documentation(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


_HASH = re.compile(r"\A\s*+#(?!include|define|!)")
_SLASHES = re.compile(r"\A\s*+(?://|/\*|\*(?:\s|/|$))")
_COMMENTS = {
    "python": _HASH, "ruby": _HASH, "shell": _HASH, "env": _HASH, "sshd": _HASH, "nginx": _HASH, "apache": _HASH,
    "dockerfile": _HASH, "compose": _HASH, "kubernetes": _HASH, "terraform": _HASH,
    "javascript": _SLASHES, "php": _SLASHES, "java": _SLASHES, "csharp": _SLASHES, "go": _SLASHES, "c": _SLASHES,
}  # fmt: skip
_JOINED_BY_BRACKETS = frozenset(["python", "javascript", "php", "java", "csharp", "go", "c", "ruby"])
_STRINGS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")


def _joined_lines(text: str, language: str) -> Iterator[tuple[int, str]]:
    comment = _COMMENTS.get(language)
    held: list[str] = []
    first = depth = 0
    for number, whole in enumerate(text.split("\n"), start=1):
        line = whole.rstrip("\r")[:MAX_STATEMENT_CHARS]
        if comment is not None and comment.match(line):
            continue
        first = first if held else number
        held.append(line)
        bare = _STRINGS.sub("", line)
        depth += bare.count("(") - bare.count(")")
        is_open = (language in _JOINED_BY_BRACKETS and depth > 0 and not bare.rstrip().endswith(("{", ";", "}"))) or (
            language in ("dockerfile", "shell") and line.endswith("\\")
        )
        if is_open and len(held) < MAX_JOINED_LINES:
            continue
        yield first, _one_line(held)
        held, depth = [], 0
    if held:
        yield first, _one_line(held)


def _one_line(lines: list[str]) -> str:
    if len(lines) == 1:
        return lines[0]
    return " ".join([lines[0].rstrip("\\ "), *(line.strip().rstrip("\\") for line in lines[1:])])[:MAX_STATEMENT_CHARS]
