"""List what threat intelligence contains. It is what others say: nothing in it is judged, and nothing is looked up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from svc.assistant.file_types.intel import INTEL_LABELS, LIST_LABEL, intel_label
from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, ToolEvent
from svc.assistant.skills.indicators.intel import lists, misp, sigma_rules, stix, yara_rules
from svc.assistant.skills.indicators.intel.content import Content, Described, Entry, distinct
from svc.assistant.skills.indicators.intel.findings import (
    DetectionRule,
    IntelObject,
    IntelSummary,
    ListedIndicator,
    TypeCount,
)
from svc.untrusted.defang import defang
from svc.untrusted.markup import plural

MAX_INDICATORS = 50_000
MAX_OBJECTS = 10_000
MAX_UNSEARCHABLE = 3  # named
NOTHING_JUDGED = "whether an indicator is malicious is what the list says, and is not checked"


def inspect(content: str, /, *, source: str, now: str = "", is_list: str = "") -> Iterator[ToolEvent]:
    """Yield the indicators, the objects or the rules, then a summary.

    Args:
        content: A STIX bundle, a MISP event, OpenIOC, Sigma or YARA rules, or a list of indicators.
        source: Its name in the evidence.
        now: Date and time, ISO 8601, by which an indicator's validity is judged.
        is_list: ``yes`` to read any other text as a list of indicators.
    """
    yield Progress(text=f"reading {source}")
    label = intel_label(content.lstrip("\ufeff \t\r\n")) or (LIST_LABEL if is_list else "")
    if label in ("sigmarule", "yararule"):
        yield from _rules(content, source, label)
        return
    read = _read(content, label)
    if isinstance(read, str):
        yield Gap(text=read)
        yield Coverage(
            read_as="text without threat intelligence",
            unit="line",
            understood=0,
            total=content.count("\n") + (not content.endswith("\n")) if content else 0,
            looked_for="STIX, MISP, OpenIOC, Sigma and YARA rules, and lists of indicators",
        )
        return
    yield from _listed(read, source, now)


def _read(content: str, label: str) -> Content | str:
    """What the text holds, or why it was not read."""
    if label == LIST_LABEL:
        return lists.read(content)
    if label == "openioc":
        return lists.read_openioc(content)
    if label not in INTEL_LABELS:
        return "the text is neither a STIX bundle, a MISP event, OpenIOC, a rule nor a list of indicators"
    try:
        document = json.loads(content.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        return f"the JSON is damaged or too deep, so nothing of it was read: {str(error)[:200]}"
    if label == "misp":
        return misp.read(document)
    return stix.read(document) if isinstance(document, dict) else "the bundle is not a JSON object"


def _listed(content: Content, source: str, now: str) -> Iterator[ToolEvent]:
    entries = distinct(content.entries)
    expired = [_is_expired(one, now) for one in entries]
    for entry, is_old in zip(entries[:MAX_INDICATORS], expired, strict=False):
        yield _indicator(entry, source, is_expired=is_old)
    for one in content.objects[:MAX_OBJECTS]:
        yield _object(one, source)
    yield Finding(
        title=f"{content.form} with {len(entries):,} indicators",
        evidence=(Evidence(source=source, excerpt=content.name),),
        facts=IntelSummary(
            form=content.form,
            name=content.name,
            by_type=_counted(one.listed.type for one in entries),
            indicators=len(entries),
            objects=_counted(one.type for one in content.objects),
            tlp=content.tlp,
            expired=sum(expired),
        ),
    )
    yield from _gaps(content, len(entries))
    yield Coverage(
        read_as=content.form,
        unit=content.unit,
        understood=content.understood,
        total=max(content.total, content.understood),
        looked_for="indicators and descriptions",
        not_covered=NOTHING_JUDGED,
    )


def _gaps(content: Content, count: int) -> Iterator[Gap]:
    if count > MAX_INDICATORS:
        yield Gap(text=f"only the first {MAX_INDICATORS:,} of {count:,} indicators are used", in_headline=True)
    if len(content.objects) > MAX_OBJECTS:
        yield Gap(
            text=f"only the first {MAX_OBJECTS:,} of {len(content.objects):,} objects are listed", in_headline=True
        )
    if unread := content.total - content.understood:
        yield Gap(text=f"{unread:,} of {plural(content.total, content.unit)} could not be read", in_headline=True)
    if not content.total:
        yield Gap(text=f"the {content.form} has no {content.unit} that could be read")
    if content.unsearchable:
        named = "; ".join(f"{text[:80]}: {reason}" for text, reason in content.unsearchable[:MAX_UNSEARCHABLE])
        more = len(content.unsearchable) - MAX_UNSEARCHABLE
        rest = f"; and {more:,} more" if more > 0 else ""
        noun = "entry" if len(content.unsearchable) == 1 else "entries"
        text = f"{len(content.unsearchable):,} {noun} of the list cannot be looked for ({named}{rest})"
        yield Gap(text=text, in_headline=True)


def _counted(types: Iterator[str]) -> list[TypeCount]:
    return [TypeCount(name, count) for name, count in Counter(types).most_common()]


def _is_expired(entry: Entry, now: str) -> bool:
    return entry.revoked or bool(now and entry.valid_until and entry.valid_until[:19] < now[:19])


def _evidence(source: str, excerpt: str, one: Entry | Described) -> Evidence:
    line = one.line if isinstance(one, Entry) else None
    return Evidence(source=source, excerpt=excerpt, line=line, record=one.record)


def _indicator(entry: Entry, source: str, *, is_expired: bool) -> Finding[ListedIndicator]:
    value = entry.listed.value
    safe = defang(value, entry.listed.type)
    return Finding(
        title=f"listed {entry.listed.type.replace('_', ' ')}: {safe}",
        evidence=(_evidence(source, value, entry),),
        facts=ListedIndicator(
            type=entry.listed.type,
            value=value,
            defanged=safe,
            note=entry.note,
            valid_from=entry.valid_from,
            valid_until=entry.valid_until,
            revoked=entry.revoked,
            expired=is_expired,
        ),
    )


def _object(one: Described, source: str) -> Finding[IntelObject]:
    return Finding(
        title=f"{one.type}: {one.name}",
        evidence=(_evidence(source, one.description or one.name, one),),
        facts=IntelObject(type=one.type, name=one.name, technique=one.technique, description=one.description),
    )


def _rules(content: str, source: str, label: str) -> Iterator[ToolEvent]:
    read: Callable[[str], Iterator[DetectionRule]]
    read, language = (sigma_rules.explained, "Sigma") if label == "sigmarule" else (yara_rules.explained, "YARA")
    rules = list(read(content))
    for number, rule in enumerate(rules, start=1):
        evidence = Evidence(source=source, excerpt=rule.name, record=number)
        yield Finding(title=f"{language} rule: {rule.name}", evidence=(evidence,), facts=rule)
    broken = [rule for rule in rules if not rule.compiles]
    if broken:
        yield Gap(text=f"{len(broken):,} of {len(rules):,} rules do not compile here: {broken[0].reason}")
    yield Coverage(
        read_as=f"{language} rules",
        unit="rule",
        understood=len(rules),
        total=len(rules),
        looked_for="what each rule requires",
        not_covered="a rule alone says nothing about a host or a log",
    )


def searchable(findings: Iterator[Finding[ListedIndicator]]) -> list[tuple[str, str]]:
    """The types and values of listed indicators, each once; those that the list withdraws are left out."""
    return list(dict.fromkeys((one.facts.type, one.facts.value) for one in findings if not one.facts.revoked))


class Wanted(msgspec.Struct, frozen=True):
    """What a search is given: the values, how many entries cannot be looked for, and the inputs that are not read."""

    values: list[tuple[str, str]]
    unsearchable: int = 0
    unread: list[str] = []
