"""The catalogue of the shipped detection rules, with the ATT&CK techniques that they cover, from the rules' files."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from reference_pages.markdown import code, escaped, table
from svc.assistant.knowledge.attack import Tactic
from svc.assistant.knowledge.attack_names import (
    TECHNIQUE_ID,
    attack_name,
    attack_table,
    attack_version,
    successor_of,
    techniques_by_id,
)

_FOLDER = Path(__file__).parents[3] / "svc" / "assistant" / "sigma" / "rules"
_TECHNIQUE_URL = "https://attack.mitre.org/techniques/"
_LEVELS = ("critical", "high", "medium", "low", "informational")
_PRODUCTS = {
    "aws": "AWS", "azure": "Azure and Entra", "gcp": "Google Cloud", "github": "GitHub", "m365": "Microsoft 365",
    "": "Any system",
}  # fmt: skip
Rule = dict[str, Any]


def page() -> str:
    """Return the page."""
    rules = [rule for path in sorted(_FOLDER.glob("*.yml")) for rule in yaml.safe_load_all(path.read_text("utf-8"))]
    levels = Counter(rule["level"] for rule in rules)
    counted = ", ".join(f"{levels[level]} {level}" for level in _LEVELS if levels[level])
    head = (
        f"# Detection rules\n\nThe analyst ships with {len(rules)} rules in [Sigma](https://sigmahq.io)'s format "
        f"({counted}). [Rules of your own](../../how_to/rules.md) run in addition. `svc rules list` shows the sets in "
        "use. For earlier titles of a rule, see [old and new titles](../../rule_titles.md).\n\n"
        "A rule that does not match proves nothing: see "
        "[what the analyst does not see](../../explanation/limitations.md)."
    )
    return "\n\n".join([head, _matrix(rules), *_catalogue(rules)]) + "\n"


def _matrix(rules: list[Rule]) -> str:
    """One column for each tactic, and in it its techniques that a rule has."""
    counted = Counter(technique for rule in rules for technique in _techniques(rule))
    tactics = attack_table().tactics
    columns = {
        tactic.name: [
            _cell(technique, counted[technique]) for technique in sorted(counted) if _is_of(technique, tactic)
        ]
        for tactic in tactics
    }
    used = {name: cells for name, cells in columns.items() if cells}
    height = max(map(len, used.values()))
    rows = [[cells[index] if index < len(cells) else "" for cells in used.values()] for index in range(height)]
    about = (
        f"## ATT&CK matrix\n\nThe rules cover {len(counted)} techniques and sub-techniques of {attack_version()}. The "
        "number after each is that of its rules."
    )
    if missing := [name for name in columns if name not in used]:
        about += f" No rule covers {', '.join(missing)}."
    return f"{about}\n\n{table(list(used), rows)}"


def _is_of(technique: str, tactic: Tactic) -> bool:
    known = techniques_by_id().get(technique) or techniques_by_id().get(successor_of(technique) or "")
    return known is not None and tactic.short in known.tactics


def _cell(technique: str, count: int) -> str:
    return f"{_link(technique)} {escaped(attack_name(technique))} ({count})"


def _link(technique: str) -> str:
    return f"[{technique}]({_TECHNIQUE_URL}{technique.replace('.', '/')}/)"


def _techniques(rule: Rule) -> list[str]:
    tags = (tag.removeprefix("attack.").upper() for tag in rule["tags"])
    return [tag for tag in tags if TECHNIQUE_ID.fullmatch(tag)]


def _catalogue(rules: list[Rule]) -> Iterator[str]:
    sources: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        sources[_source(rule["logsource"]) if "logsource" in rule else "Several events"].append(rule)
    yield "## Catalogue\n\nBy log source, the most severe first."
    for source in sorted(sources):
        found = sorted(sources[source], key=lambda rule: (_LEVELS.index(rule["level"]), rule["title"]))
        yield f"### {source} ({len(found)})"
        yield table(("rule", "level", "techniques"), map(_row, found))


def _source(log_source: dict[str, str]) -> str:
    words = [log_source[part].replace("_", " ") for part in ("category", "service") if part in log_source]
    product = log_source.get("product", "")
    return ": ".join([_PRODUCTS.get(product) or product.replace("_", " ").title(), ", ".join(words) or "any log"])


def _row(rule: Rule) -> tuple[str, str, str]:
    about = f"**{escaped(rule['title'])}**<br>{escaped(rule['description'])}<br>{code(rule['id'])}"
    return about, rule["level"], ", ".join(map(_link, _techniques(rule)))
