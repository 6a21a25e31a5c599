"""Read a STIX 2.1 bundle (OASIS, "STIX Version 2.1"): indicator patterns, observables, other objects. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.skills.indicators.intel.content import Content, Described, records_of, technique_in, text_of

_COMPARISON = re.compile(
    r"(?P<object>[a-z0-9-]{2,60}):(?P<path>[\w.'\-\[\]*]{1,120})\s{0,9}(?P<not>NOT\s{1,9})?"
    r"(?P<operator>!=|<=|>=|=|<|>|IN|LIKE|MATCHES|ISSUBSET|ISSUPERSET)\s{0,9}"
    r"(?P<value>'(?:[^'\\]|\\.){0,2048}'|\((?:[^()']|'(?:[^'\\]|\\.){0,2048}')*+\))"
)
_LITERAL = re.compile(r"'((?:[^'\\]|\\.){0,2048})'")
_HINTS = {
    "user-account": "account", "file.name": "file_name", "directory": "file_path", "process.command_line": "text",
    "process.name": "file_name", "mutex": "mutex", "windows-registry-key": "registry_key", "domain-name": "domain",
    "http-request-ext": "user_agent",
}  # fmt: skip
_VALUES = {
    "ipv4-addr": ("value",), "ipv6-addr": ("value",), "domain-name": ("value",), "url": ("value",),
    "email-addr": ("value",), "user-account": ("account_login", "user_id"), "windows-registry-key": ("key",),
    "mutex": ("name",), "file": ("name",), "directory": ("path",),
}  # fmt: skip
"""Fields of observables that can be looked for."""
_TLP = {
    "613f2e26-407d-48c7-9eca-b8e91df99dc9": "TLP:WHITE", "34098fce-860f-48ae-8e50-ebd3cc5e41da": "TLP:GREEN",
    "f88d31f6-486f-44da-b317-01333bde0b82": "TLP:AMBER", "5e57c739-391a-4eb3-b6be-7d15ca92d5ed": "TLP:RED",
    "94868c89-83c2-464b-929b-a1a8aa3c8487": "TLP:CLEAR", "bab4a63c-aed9-4cf5-a766-dfca5abac2bb": "TLP:GREEN",
    "55d920b0-5e8b-4f79-9ee9-91f868d9b421": "TLP:AMBER", "939a9414-2ddd-4d32-a0cd-375ea402b003": "TLP:AMBER+STRICT",
    "e828b379-4e03-4974-9ac4-e53a884c97c1": "TLP:RED",
}  # fmt: skip
"""The markings that STIX 2.1 and TLP 2.0 define by ID."""


def read(document: dict[str, object]) -> Content:
    """Everything in a bundle."""
    objects = records_of(document.get("objects"))
    content = Content(form="STIX bundle", unit="object", total=len(objects), entries=[], objects=[], unsearchable=[])
    names = {str(one.get("id")): text_of(one.get("name")) or str(one.get("type")) for one in objects}
    for number, one in enumerate(objects, start=1):
        content.understood += _add(one, number, content, names)
    content.tlp = sorted(set(_markings(objects)))
    reports = [text_of(one.get("name")) for one in objects if one.get("type") in ("report", "grouping", "campaign")]
    content.name = next(filter(None, reports), "")
    return content


def _add(one: dict[str, object], number: int, content: Content, names: dict[str, str]) -> bool:
    """Add one object; whether it has a type."""
    kind = one.get("type")
    if not isinstance(kind, str):
        return False
    if kind == "indicator":
        _add_indicator(one, number, content)
    elif kind == "relationship":
        ends = [names.get(str(one.get(end)), str(one.get(end))) for end in ("source_ref", "target_ref")]
        verb = text_of(one.get("relationship_type"))
        content.objects.append(
            Described(type=kind, name=verb, description=f"{ends[0]} {verb} {ends[1]}"[:400], record=number)
        )
    elif kind in _VALUES:
        written = [text for field in _VALUES[kind] if (text := text_of(one.get(field)))]
        for text in written[:1]:
            content.add(text, _HINTS.get(kind, "file_name" if kind == "file" else ""), note="observable", record=number)
        hashes = one.get("hashes")
        for text in map(text_of, hashes.values()) if isinstance(hashes, dict) else ():
            content.add(text, note="observable", record=number)
    elif kind not in ("marking-definition", "identity", "extension-definition", "language-content"):
        references = [text_of(ref.get("external_id")) for ref in records_of(one.get("external_references"))]
        name = text_of(one.get("name")) or text_of(one.get("value")) or kind
        content.objects.append(
            Described(
                type=kind,
                name=name,
                technique=technique_in(*references, name) if kind == "attack-pattern" else "",
                description=text_of(one.get("description")),
                record=number,
            )
        )
    return True


def _add_indicator(one: dict[str, object], number: int, content: Content) -> None:
    pattern = one.get("pattern")
    language = text_of(one.get("pattern_type")) or "stix"
    name = text_of(one.get("name")) or text_of(one.get("description"))
    if not isinstance(pattern, str) or language != "stix":
        content.unsearchable.append((name or f"object {number:,}", f"its pattern is written in {language}"))
        return
    found = 0
    is_joint = re.search(r"\bAND\b|\bFOLLOWEDBY\b", pattern) is not None
    for hint, value, reason in _compared(pattern):
        found += 1
        if reason:
            content.unsearchable.append((value, reason))
            continue
        content.add(
            value,
            hint,
            note=f"{name} (one part of a pattern with several)".strip() if is_joint else name,
            valid_from=text_of(one.get("valid_from")),
            valid_until=text_of(one.get("valid_until")),
            revoked=one.get("revoked") is True,
            record=number,
        )
    if not found:
        content.unsearchable.append((text_of(pattern), "its pattern compares no value"))


def _compared(pattern: str) -> Iterator[tuple[str, str, str]]:
    """What a pattern compares: a hint at the type, the value, and why it cannot be looked for, or ""."""
    for match in _COMPARISON.finditer(pattern[:100_000]):
        path = match["path"].split(".")[0].strip("'")
        hint = _HINTS.get(f"{match['object']}.{path}", _HINTS.get(match["object"], ""))
        is_equal = match["operator"] in ("=", "IN", "ISSUBSET") and not match["not"]
        reason = "" if is_equal else f"it is compared with {match['not'] or ''}{match['operator']}"
        for literal in _LITERAL.findall(match["value"]):
            yield hint, re.sub(r"\\(.)", r"\1", literal), reason


def _markings(objects: list[dict[str, object]]) -> Iterator[str]:
    for one in objects:
        definition = one.get("definition")
        if isinstance(definition, dict) and (text := text_of(definition.get("tlp"))):
            yield f"TLP:{text.upper()}"
        references = one.get("object_marking_refs")
        for reference in references if isinstance(references, list) else ():
            if (known := _TLP.get(str(reference).partition("--")[2])) is not None:
                yield known
