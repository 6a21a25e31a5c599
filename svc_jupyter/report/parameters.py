"""Parameters of a notebook, by papermill's conventions: the cell tagged ``parameters``, the one injected after it.

Decides which names there are, what type a word has, and what the injected cell says. Other than papermill: a name that
the notebook does not know is an error, and a secret is only named (``env:NAME``, ``file:PATH``), never written down.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import nbformat
from nbformat import NotebookNode

TAG = "parameters"
INJECTED_TAG = "injected-parameters"
HIDDEN = "[redacted]"
SECRET_BYTES = 65_536  # a file that is named as a secret and is larger is the wrong file

Value = object  # what JSON can say


class ParameterError(Exception):
    """An invalid parameter; the text says which one and what to write instead."""


@dataclass(frozen=True)
class Parameters:
    """Values by name, and the secrets among them, which are redacted in all output."""

    values: Mapping[str, Value] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    def shown(self) -> dict[str, Value]:
        """Return the values with secrets redacted."""
        return {
            name: HIDDEN if isinstance(value, str) and value in self.secrets else value
            for name, value in self.values.items()
        }


def known_names(notebook: NotebookNode) -> list[str]:
    """Return the names that the notebook's ``parameters`` cell sets, in order; none if there is no such cell."""
    return list(dict.fromkeys(name for statement in _statements(notebook) for name in _targets(statement)))


def defaults(notebook: NotebookNode) -> dict[str, Value]:
    """Return the values that the ``parameters`` cell sets, as far as they are literals."""
    found: dict[str, Value] = {}
    for statement in _statements(notebook):
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if value is not None:
            with contextlib.suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                found |= dict.fromkeys(_targets(statement), ast.literal_eval(value))
    return found


def _statements(notebook: NotebookNode) -> list[ast.stmt]:
    index = _tagged(notebook, TAG)
    if index is None:
        return []
    source = "\n".join(
        line for line in notebook.cells[index].source.splitlines() if not line.lstrip().startswith(("%", "!"))
    )
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(f"the cell tagged `{TAG}` is not Python: line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ParameterError(f"the cell tagged `{TAG}` cannot be parsed: {error or type(error).__name__}") from error


def check(names: Sequence[str], known: Sequence[str], where: str) -> None:
    """Raise ParameterError if the notebook does not have one of the names."""
    for name in names:
        if name in known:
            continue
        if not known:
            raise ParameterError(
                f"{where}: cannot set {name}, because the notebook has no cell tagged `{TAG}`. "
                "Tag the cell that sets the defaults."
            )
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ParameterError(f"{where}: unknown parameter {name}.{hint} Parameters: {', '.join(known)}.")


def typed(word: str) -> Value:
    """Convert a value as papermill's ``-p`` does: None, True, False, an integer, a number, or text."""
    match word:
        case "None":
            return None
        case "True":
            return True
        case "False":
            return False
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def load(path: Path) -> dict[str, Value]:
    """Read parameters from YAML or JSON. Dates stay text, as in papermill."""
    import yaml

    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if not tag.endswith(":timestamp")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    loader = type("_Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), loader)  # noqa: S506  # a subclass of SafeLoader
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise ParameterError(f"-f {path}: cannot read the file: {reason[:200]}") from error
    if not isinstance(values, dict) or not all(isinstance(name, str) and name.isidentifier() for name in values):
        raise ParameterError(f"-f {path}: expected one NAME: VALUE per line, for example host: web-3")
    return values


def build(values: Mapping[str, Value], folder: Path) -> Parameters:
    """Replace ``env:NAME`` and ``file:PATH`` (relative to ``folder``) by the secrets that they name."""
    secrets: list[str] = []
    filled: dict[str, Value] = {}
    for name, value in values.items():
        secret = _secret(name, value, folder) if isinstance(value, str) else None
        filled[name] = value if secret is None else secret
        if secret:
            secrets.append(secret)
    return Parameters(filled, tuple(secrets))


def inject(notebook: NotebookNode, values: Mapping[str, Value]) -> NotebookNode:
    """Return a copy with a cell that sets the values.

    It replaces an earlier injected cell, or follows the ``parameters`` cell, or comes first.
    """
    notebook = copy.deepcopy(notebook)
    if not values:
        return notebook
    language = notebook.metadata.get("kernelspec", {}).get("language", "python")
    if language.lower() != "python":
        raise ParameterError(f"parameters require a Python kernel; the notebook's kernel is {language}.")
    lines = [f"{name} = {_literal(value)}" for name, value in values.items()]
    cell = nbformat.v4.new_code_cell("\n".join(["# Parameters", *lines]), metadata={"tags": [INJECTED_TAG]})
    if notebook.nbformat_minor < 5:
        cell.pop("id", None)
    old = _tagged(notebook, INJECTED_TAG)
    if old is not None:
        notebook.cells[old] = cell
    else:
        defaults = _tagged(notebook, TAG)
        notebook.cells.insert(0 if defaults is None else defaults + 1, cell)
    return notebook


def _secret(name: str, value: str, folder: Path) -> str | None:
    if value.startswith("env:"):
        variable = value.removeprefix("env:")
        if not os.environ.get(variable):
            raise ParameterError(f"{name}={value}: the environment variable {variable} is not set or empty.")
        return os.environ[variable]
    if not value.startswith("file:"):
        return None
    path = folder / Path(value.removeprefix("file:")).expanduser()
    try:
        with path.open("rb") as file:
            content = file.read(SECRET_BYTES + 1)
        if len(content) > SECRET_BYTES:
            raise ParameterError(
                f"{name}={value}: the file is larger than {SECRET_BYTES:,} bytes, the limit for secrets."
            )
        return content.decode("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise ParameterError(f"{name}={value}: cannot read {path}: {reason}") from error


def _literal(value: Value) -> str:
    match value:
        case bool() | None | int() | str():
            return repr(value)
        case float():
            return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
        case list() | tuple():
            return f"[{', '.join(_literal(item) for item in value)}]"
        case dict():
            return "{" + ", ".join(f"{name!r}: {_literal(item)}" for name, item in value.items()) + "}"
        case _:
            raise ParameterError(f"a {type(value).__name__} cannot be a parameter's value.")


def _targets(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            found = [node for target in targets for node in ast.walk(target)]
        case ast.AnnAssign(target=target):
            found = [target]
        case _:
            found = []
    return [node.id for node in found if isinstance(node, ast.Name)]


def _tagged(notebook: NotebookNode, tag: str) -> int | None:
    cells = enumerate(notebook.cells)
    return next((index for index, cell in cells if tag in cell.metadata.get("tags", ())), None)
