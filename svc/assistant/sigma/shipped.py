"""Compile our own rules, ``rules/*.yml``, into one table next to them. Needs the extra ``sigma``."""

from __future__ import annotations

import hashlib
import re
from importlib import resources

import msgspec

from svc.assistant.sigma.compile import Rejected, compile_texts
from svc.assistant.sigma.compile_set import RuleError
from svc.assistant.sigma.engine import LEVELS, Rule
from svc.assistant.sigma.tables import OURS, RuleTable

_FOLDER = resources.files(__package__).joinpath("rules")
_DATE = re.compile(r"^(?:date|modified): (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


def compile_ours() -> bytes:
    """Return the table to commit.

    Raises:
        RuleError: One of our own rules cannot be compiled.
    """
    texts = {file.name: file.read_text("utf-8") for file in _FOLDER.iterdir() if file.name.endswith(".yml")}
    rules: list[Rule] = []
    for compiled in compile_texts(sorted(texts.items())):
        if isinstance(compiled, Rejected):
            raise RuleError(f"{compiled.file}: {compiled.title}: {compiled.reason}")
        if isinstance(compiled, Rule):
            rules.append(compiled)
    rules.sort(key=lambda rule: (LEVELS.index(rule.level), rule.id))
    digest = hashlib.sha256("".join(texts[name] for name in sorted(texts)).encode()).hexdigest()
    newest = max(date for text in texts.values() for date in _DATE.findall(text))
    table = RuleTable(source="svc-jupyter", version=digest[:12], date=newest, rules=())
    head = msgspec.json.encode(table).removesuffix(b"]}")
    return head + b"\n" + b",\n".join(map(msgspec.json.encode, rules)) + b"\n]}\n"  # one rule per line, for reviews


def path_of_ours() -> str:
    """Return the path of the compiled table in this installation."""
    return str(_FOLDER.joinpath(f"{OURS}.json"))
