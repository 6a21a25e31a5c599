"""Extract affected ranges from advisories in JSON: OSV, NVD (CPE matches), CVE records (5.x), GitHub advisories."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from svc.assistant.skills.versions.order import ecosystem_of
from svc.assistant.skills.versions.ranges import Bound, Range, paired, ranges_in

MAX_DEPTH = 12
MAX_NODES = 50_000
_START = re.compile(r"[\[{]\s*[\"\[{]")
_CPE_BOUNDS = {
    "versionStartIncluding": ">=",
    "versionStartExcluding": ">",
    "versionEndIncluding": "<=",
    "versionEndExcluding": "<",
}
_TEXT_BOUND = re.compile(r"\b(version(?:Start|End)(?:Including|Excluding))\b[\"'\s:=]+v?([\w.+~:-]+)")

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def ranges_in_json(text: str) -> tuple[list[Range], str]:
    """Return the ranges of the JSON documents in ``text``, and the text without those documents."""
    found: list[Range] = []
    rest, position = [], 0
    for _ in range(20):
        match = _START.search(text, position)
        if match is None:
            break
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.start())
        except (ValueError, RecursionError):
            rest.append(text[position : match.start() + 1])
            position = match.start() + 1
            continue
        found += _ranges_of_document(value)
        rest.append(text[position : match.start()])
        position = end
    rest.append(text[position:])
    left = "".join(rest)
    return [*found, *_plain_cpe_fields(left)], _TEXT_BOUND.sub(" ", left)


def _plain_cpe_fields(text: str) -> list[Range]:
    """Read the fields of a CPE match that was pasted as plain lines instead of JSON."""
    bounds = [Bound(_CPE_BOUNDS[name], version) for name, version in _TEXT_BOUND.findall(text) if name in _CPE_BOUNDS]
    return [Range(", ".join(f"{b.operator} {b.version}" for b in bounds), (tuple(bounds),))] if bounds else []


def _ranges_of_document(value: Json) -> list[Range]:
    return [one for node, package, ecosystem in _nodes(value) for one in _ranges_of_node(node, package, ecosystem)]


def _nodes(value: Json) -> Iterator[tuple[dict[str, Json], str, str | None]]:
    """Yield every object with the package and the ecosystem that it, or an enclosing object, names."""
    stack: list[tuple[Json, str, str | None, int]] = [(value, "", None, 0)]
    for _ in range(MAX_NODES):
        if not stack:
            return
        node, package, ecosystem, depth = stack.pop()
        if depth > MAX_DEPTH:
            continue
        if isinstance(node, dict):
            package, ecosystem = _package_and_ecosystem(node, package, ecosystem)
            yield node, package, ecosystem
            stack += [(inner, package, ecosystem, depth + 1) for inner in reversed(node.values())]
        elif isinstance(node, list):
            stack += [(inner, package, ecosystem, depth + 1) for inner in reversed(node)]


def _package_and_ecosystem(node: dict[str, Json], package: str, ecosystem: str | None) -> tuple[str, str | None]:
    inner = node.get("package")
    holder = inner if isinstance(inner, dict) else node
    name = (
        holder.get("name")
        or holder.get("packageName")
        or holder.get("product")
        or (inner if isinstance(inner, str) else "")
    )
    stated = holder.get("ecosystem")
    criteria = node.get("criteria") or node.get("cpe23Uri")
    if isinstance(criteria, str) and criteria.count(":") > 5:
        name = criteria.split(":")[4]
    return (name if isinstance(name, str) and name else package), (
        ecosystem_of(stated) if isinstance(stated, str) else ecosystem
    )


def _ranges_of_node(node: dict[str, Json], package: str, ecosystem: str | None) -> Iterator[Range]:
    events = node.get("events")
    if isinstance(events, list) and node.get("type") != "GIT":
        yield from _from_events(events, package, ecosystem)
    bounds = [Bound(sign, str(node[name])) for name, sign in _CPE_BOUNDS.items() if node.get(name)]
    if bounds:
        yield Range(
            ", ".join(f"{b.operator} {b.version}" for b in bounds),
            (tuple(bounds),),
            package=package,
            ecosystem=ecosystem,
        )
    if "lessThan" in node or "lessThanOrEqual" in node:
        yield from _from_record(node, package, ecosystem)
    for name in ("vulnerable_version_range", "vulnerableVersionRange", "affected_versions"):
        text = node.get(name)
        if isinstance(text, str):
            for one in ranges_in(text):
                yield Range(text, one.alternatives, one.reading, package, ecosystem)


def _from_events(events: list[Json], package: str, ecosystem: str | None) -> Iterator[Range]:
    signs = {"introduced": ">=", "fixed": "<", "last_affected": "<=", "limit": "<"}
    bounds = []
    for event in events:
        for name, version in event.items() if isinstance(event, dict) else ():
            if name in signs and isinstance(version, str) and not (name == "introduced" and version == "0"):
                bounds.append(Bound(signs[name], version))
    text = ", ".join(
        f"{name} {version}" for event in events if isinstance(event, dict) for name, version in event.items()
    )
    yield Range(text, paired(bounds) if bounds else ((),), package=package, ecosystem=ecosystem)


def _from_record(node: dict[str, Json], package: str, ecosystem: str | None) -> Iterator[Range]:
    if node.get("status") == "unaffected":
        return
    low = str(node.get("version") or "")
    bounds = [Bound(">=", low)] if low not in ("", "0", "*", "unspecified", "n/a") else []
    for name, sign in (("lessThan", "<"), ("lessThanOrEqual", "<=")):
        if isinstance(node.get(name), str) and node[name] != "*":
            bounds.append(Bound(sign, str(node[name])))
    kind = node.get("versionType")
    yield Range(
        ", ".join(f"{b.operator} {b.version}" for b in bounds) or "all versions",
        (tuple(bounds),),
        package=package,
        ecosystem=ecosystem or (ecosystem_of(kind) if isinstance(kind, str) else None),
    )
