"""The TypeScript API: what ``index.ts`` exports, as declarations with the comments of the sources.

The sources are formatted by prettier: what begins at an indentation ends at the next line with the same one, and a
signature that has a body ends with ``{``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sphinx.errors import ExtensionError

_SOURCES = Path(__file__).parents[3] / "labextension" / "packages" / "sdk" / "src"
_HEAD = """# TypeScript API

```{include} ../../../labextension/packages/sdk/README.md
:start-line: 2
```

## Exports"""
_EXPORTS = re.compile(r"^export (?:type )?\{(.*?)\} from \"\./([\w-]+)\.js\";$", re.MULTILINE | re.DOTALL)
_ALL = re.compile(r"^export \* from \"\./([\w-]+)\.js\";$", re.MULTILINE)
_DECLARED = re.compile(r"export (?:abstract |async )*(class|interface|type|const|function|enum) (\w+)")
_INTERNAL = re.compile(r"\s*(?:private |protected |override name|(?:static |readonly |async |get |set )*#)")


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for module, names in _exports().items():
        declared = _declarations(module)
        if missing := set(names) - set(declared):
            raise ExtensionError(f"{module}.ts does not declare {sorted(missing)}, which index.ts exports")
        parts += [f"### `{name}`\n\n```ts\n{declared[name]}\n```" for name in names]
    return "\n\n".join(parts) + "\n"


def _exports() -> dict[str, list[str]]:
    index = _text("index")
    found: dict[str, list[str]] = {}
    for names, module in _EXPORTS.findall(index):
        exported = re.findall(r"(?:type )?(\w+)(?: as default)?(?=,|\s*$)", names)
        found[module] = list(dict.fromkeys([*found.get(module, []), *exported]))
    return {**found, **{module: list(_declarations(module)) for module in _ALL.findall(index)}}


@cache
def _text(module: str) -> str:
    return (_SOURCES / f"{module}.ts").read_text("utf-8")


@cache
def _declarations(module: str) -> dict[str, str]:
    """By name; a type and a constant of one name are together."""
    found: dict[str, list[str]] = {}
    for comment, lines in _blocks(_text(module).splitlines(), indent=""):
        if (match := _DECLARED.match(lines[0])) is not None:
            shown = _shortened(match[1], [line.removeprefix("export ") for line in lines])
            found.setdefault(match[2], []).extend([*comment, *shown])
    return {name: "\n".join(lines) for name, lines in found.items()}


def _shortened(kind: str, lines: list[str]) -> list[str]:
    """The declaration without bodies of functions and internal members."""
    if kind == "function":
        return _signature(lines)
    if kind != "class" or len(lines) == 1:
        return lines
    members = [
        [*comment, *_signature(member)]
        for comment, member in _blocks(lines[1:-1], indent="  ")
        if not _INTERNAL.match(member[0])
    ]
    return [lines[0], *(line for member in members for line in member), lines[-1]]


def _signature(lines: list[str]) -> list[str]:
    for index, line in enumerate(lines):
        if line.endswith(("{", ";")):
            return [*lines[:index], f"{line.removesuffix('{').rstrip(' ;')};"]
    return lines


def _blocks(lines: list[str], indent: str) -> Iterator[tuple[list[str], list[str]]]:
    """What begins at this indentation, with the comment above it."""
    comment: list[str] = []
    block: list[str] = []
    is_comment = False
    for line in lines:
        begins = line.startswith(indent) and line[len(indent) :][:1] not in ("", " ", "}", ")", "]", "/", "*")
        if begins and not is_comment:
            block = [line]
        elif line.startswith(f"{indent}/**") and not block:
            comment, is_comment = [line], not line.endswith("*/")
            continue
        elif is_comment:
            comment.append(line)
            is_comment = not line.endswith("*/")
            continue
        elif block:
            block.append(line)
        if block and _ends(block, line, indent):
            yield comment, block
            comment, block = [], []


def _ends(block: list[str], line: str, indent: str) -> bool:
    if len(block) == 1:
        return line.endswith((";", ",", "{}"))
    closes = line.startswith((f"{indent}}}", f"{indent})", f"{indent}]")) and not line.endswith(("{", "(", "["))
    is_statement = line.endswith(";") and not block[0].endswith("{") and not line.startswith(f"{indent}    ")
    return closes or is_statement
