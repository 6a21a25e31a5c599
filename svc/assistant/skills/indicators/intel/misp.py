"""Read MISP events in JSON (MISP core format): attributes, objects, galaxies, tags. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.skills.indicators.intel.content import Content, Described, records_of, technique_in, text_of

_OTHER = frozenset(
    ["comment", "text", "link", "attachment", "malware-sample", "yara", "sigma", "snort", "vulnerability", "datetime",
     "other", "counter", "float", "boolean", "size-in-bytes", "port", "AS", "campaign-name", "threat-actor"]
)  # fmt: skip
"""Types of attributes that are no values to look for."""
_HINTS = {
    "filename": "file_name", "regkey": "registry_key", "user-agent": "user_agent", "mutex": "mutex",
    "hostname": "domain", "domain": "domain", "target-user": "account", "github-username": "account",
    "windows-service-name": "text", "named pipe": "text", "process-state": "text",
}  # fmt: skip


def read(document: object) -> Content:
    """Everything in one event or in several."""
    content = Content(form="MISP event", unit="attribute", entries=[], objects=[], unsearchable=[], tlp=[])
    tags: set[str] = set()
    for event in _events(document):
        content.name = content.name or text_of(event.get("info"))
        for number, attribute in enumerate(_attributes(event), start=1):
            content.total += 1
            content.understood += _add(attribute, number, content)
            tags.update(_tags(attribute))
        tags.update(_tags(event))
        for galaxy in records_of(event.get("Galaxy")):
            _add_galaxy(galaxy, content)
        for one in records_of(event.get("Object")):
            content.objects.append(Described(type="object", name=text_of(one.get("name"))))
    content.tlp = sorted({tag.upper() for tag in tags if tag.lower().startswith("tlp:")})
    known = {one.technique for one in content.objects}
    for tag in sorted(tags):
        if (technique := technique_in(tag)) and technique not in known:
            name = re.sub(r"\A[^=]{0,80}=", "", tag).strip('"')
            content.objects.append(Described(type="attack-pattern", name=name, technique=technique))
    return content


def _events(document: object) -> Iterator[dict[str, object]]:
    if isinstance(document, dict) and isinstance(document.get("response"), list | dict):
        document = document["response"]
    for one in records_of(document) if isinstance(document, list) else records_of([document]):
        event = one.get("Event", one)
        if isinstance(event, dict):
            yield event


def _attributes(event: dict[str, object]) -> Iterator[dict[str, object]]:
    yield from records_of(event.get("Attribute"))
    for one in records_of(event.get("Object")):
        yield from records_of(one.get("Attribute"))


def _add(attribute: dict[str, object], number: int, content: Content) -> bool:
    """Add an attribute; whether it has a type and a value."""
    kind, value = attribute.get("type"), attribute.get("value")
    if not isinstance(kind, str) or not isinstance(value, str):
        return False
    if kind in _OTHER or kind.startswith("x509") or attribute.get("deleted") is True:
        content.objects.append(Described(type=kind, name=text_of(value), record=number))
        return True
    note = text_of(attribute.get("comment"))
    note = note if attribute.get("to_ids") is not False else f"{note} (not for detection)".strip()
    names, values = kind.split("|"), value.split("|")
    for name, one in zip(names, values, strict=False):
        if name != "port":
            content.add(
                one,
                _HINTS.get(name, ""),
                note=note,
                valid_from=text_of(attribute.get("first_seen")),
                record=number,
            )
    return True


def _tags(one: dict[str, object]) -> Iterator[str]:
    for tag in records_of(one.get("Tag")):
        if name := text_of(tag.get("name")):
            yield name


def _add_galaxy(galaxy: dict[str, object], content: Content) -> None:
    kind = text_of(galaxy.get("type")) or "galaxy"
    kind = "attack-pattern" if "attack-pattern" in kind else kind
    for cluster in records_of(galaxy.get("GalaxyCluster")):
        name = text_of(cluster.get("value"))
        content.objects.append(
            Described(
                type=kind,
                name=name,
                technique=technique_in(name) if kind == "attack-pattern" else "",
                description=text_of(cluster.get("description")),
            )
        )
