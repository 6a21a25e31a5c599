"""Affected ranges out of advisories in JSON: OSV, NVD (CPE matches), CVE records (5.x), GitHub's advisories. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from svc.assistant.skills.versions.order import place_of
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
    """The ranges of the JSON documents in ``text``, and the text without them."""
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
        found += _ranges(value)
        rest.append(text[position : match.start()])
        position = end
    rest.append(text[position:])
    left = "".join(rest)
    return [*found, *_written_out(left)], _TEXT_BOUND.sub(" ", left)


def _written_out(text: str) -> list[Range]:
    """The fields of a CPE match as plain lines."""
    bounds = [Bound(_CPE_BOUNDS[name], version) for name, version in _TEXT_BOUND.findall(text) if name in _CPE_BOUNDS]
    return [Range(", ".join(f"{b.operator} {b.version}" for b in bounds), (tuple(bounds),))] if bounds else []


def _ranges(value: Json) -> list[Range]:
    return [one for node, package, place in _nodes(value) for one in _of_node(node, package, place)]


def _nodes(value: Json) -> Iterator[tuple[dict[str, Json], str, str | None]]:
    """Every object with the package and place that it, or one around it, names."""
    stack: list[tuple[Json, str, str | None, int]] = [(value, "", None, 0)]
    for _ in range(MAX_NODES):
        if not stack:
            return
        node, package, place, depth = stack.pop()
        if depth > MAX_DEPTH:
            continue
        if isinstance(node, dict):
            package, place = _named(node, package, place)
            yield node, package, place
            stack += [(inner, package, place, depth + 1) for inner in reversed(node.values())]
        elif isinstance(node, list):
            stack += [(inner, package, place, depth + 1) for inner in reversed(node)]


def _named(node: dict[str, Json], package: str, place: str | None) -> tuple[str, str | None]:
    inner = node.get("package")
    holder = inner if isinstance(inner, dict) else node
    name = (
        holder.get("name")
        or holder.get("packageName")
        or holder.get("product")
        or (inner if isinstance(inner, str) else "")
    )
    ecosystem = holder.get("ecosystem")
    criteria = node.get("criteria") or node.get("cpe23Uri")
    if isinstance(criteria, str) and criteria.count(":") > 5:
        name = criteria.split(":")[4]
    return (name if isinstance(name, str) and name else package), (
        place_of(ecosystem) if isinstance(ecosystem, str) else place
    )


def _of_node(node: dict[str, Json], package: str, place: str | None) -> Iterator[Range]:
    events = node.get("events")
    if isinstance(events, list) and node.get("type") != "GIT":
        yield from _from_events(events, package, place)
    bounds = [Bound(sign, str(node[name])) for name, sign in _CPE_BOUNDS.items() if node.get(name)]
    if bounds:
        yield Range(
            ", ".join(f"{b.operator} {b.version}" for b in bounds), (tuple(bounds),), package=package, place=place
        )
    if "lessThan" in node or "lessThanOrEqual" in node:
        yield from _from_record(node, package, place)
    for name in ("vulnerable_version_range", "vulnerableVersionRange", "affected_versions"):
        text = node.get(name)
        if isinstance(text, str):
            for one in ranges_in(text):
                yield Range(text, one.alternatives, one.reading, package, place)


def _from_events(events: list[Json], package: str, place: str | None) -> Iterator[Range]:
    signs = {"introduced": ">=", "fixed": "<", "last_affected": "<=", "limit": "<"}
    bounds = []
    for event in events:
        for name, version in event.items() if isinstance(event, dict) else ():
            if name in signs and isinstance(version, str) and not (name == "introduced" and version == "0"):
                bounds.append(Bound(signs[name], version))
    text = ", ".join(
        f"{name} {version}" for event in events if isinstance(event, dict) for name, version in event.items()
    )
    yield Range(text, paired(bounds) if bounds else ((),), package=package, place=place)


def _from_record(node: dict[str, Json], package: str, place: str | None) -> Iterator[Range]:
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
        place=place or (place_of(kind) if isinstance(kind, str) else None),
    )
