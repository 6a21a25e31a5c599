"""Questions about alerts by the rating of the product that raised them: "which hosts had highs?". Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, with_facts
from svc.assistant.skills.asked.findings import ChosenRecords
from svc.assistant.skills.events.activity_findings import ProductAlert
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

SHOWN = 6
_LEVELS = ("informational", "low", "medium", "high", "critical")
_STARTS = (("crit", 4), ("very", 4), ("high", 3), ("med", 2), ("mod", 2), ("warn", 2), ("low", 1), ("info", 0))
_WORDS = {4: r"crit(?:ical)?s?", 3: r"highs?", 2: r"med(?:ium)?s?", 1: r"lows?", 0: r"info(?:rmational)?s?"}
_LEVEL = re.compile("|".join(rf"\b(?P<l{level}>{words})\b" for level, words in _WORDS.items()), re.IGNORECASE)
_NOUN = (
    r"(?:alerts?|hits?|findings?|detections?|events?|severity|rated|ratings?|level|ones|hosts?|box(?:es)?|machines?"
    r"|computers?|servers?)"
)
_OF_ALERTS = re.compile(
    rf"\b(?:highs|crits?|criticals|meds|mediums|lows)\b"
    rf"|\b(?:crit(?:ical)?|high|med(?:ium)?|low|info(?:rmational)?)[ -]{_NOUN}\b"
    rf"|\b{_NOUN}\b[^?]{{0,40}}\b(?:crit(?:ical)?|high|med(?:ium)?|low)\W*\Z"
    r"|\b(?:above|over|below|under|at least|higher than|worse than) (?:crit(?:ical)?|high|med(?:ium)?|low)\b",
    re.IGNORECASE,
)
_OR_MORE = re.compile(
    r"\b(?:or|and) (?:above|higher|worse|more|up)\b|\bat least\b|\b(?:high|medium)s? (?:and|or) (?:critical|high)s?\b",
    re.IGNORECASE,
)
_ABOVE = re.compile(r"\b(?:above|over|higher than|worse than)\b(?! (?:and|or))", re.IGNORECASE)
_NONE = re.compile(r"\b(?:nothing|no|none|without|never|not|only|just)\b", re.IGNORECASE)
_HOSTS = re.compile(r"\b(?:hosts?|machines?|box(?:es)?|computers?|servers?|endpoints?|devices?|where)\b", re.IGNORECASE)
_USERS = re.compile(r"\b(?:users?|accounts?|who)\b", re.IGNORECASE)
_ADDRESSES = re.compile(r"\b(?:ips?|address(?:es)?|sources?)\b", re.IGNORECASE)


_NUMBERED = re.compile(r"\b(?:severity|level|priority)[ :=]*(\d{1,2})\b", re.IGNORECASE)


def asks_level(clause: str) -> bool:
    """Whether a clause asks about alerts by their rating."""
    is_named = _OF_ALERTS.search(clause) is not None and _LEVEL.search(clause) is not None
    return is_named or _NUMBERED.search(clause) is not None


def level_answer(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The sentence about the alerts with the rating that a clause names; "" if it names none, or no alert has one."""
    if not asks_level(clause):
        return ""
    rated = with_facts(findings, ProductAlert)
    if (number := _NUMBERED.search(clause)) is not None:
        is_counted = any(one.facts.clause == clause for one in with_facts(findings, ChosenRecords))
        return "" if is_counted else _of_number(clause, number[1], rated)
    alerts = [one for one in rated if _rank(one.facts.level) is not None]
    if not alerts:
        return ""
    wanted = _wanted(clause)
    if _ABOVE.search(clause) and _NONE.search(clause) and _HOSTS.search(clause):
        return _hosts_without(alerts, wanted)
    mine = [one for one in alerts if _rank(one.facts.level) in wanted]
    words = f"rated {' or '.join(_LEVELS[level] for level in sorted(wanted))}"
    if not mine:
        total = sum(one.facts.count for one in alerts)
        return f"**None** of {plural(total, 'alert')} is {words} by the product that raised it."
    count = sum(one.facts.count for one in mine)
    things = _things(clause, mine)
    titles = dict.fromkeys(_value(one.facts.alert) for one in mine)
    listed = "; ".join(list(titles)[:SHOWN]) + (f" and {len(titles) - SHOWN:,} more" if len(titles) > SHOWN else "")
    worse = [one for one in alerts if (_rank(one.facts.level) or 0) > max(wanted)]
    more = ""
    if worse:
        on = ", ".join(_value(host) for host in _counted(worse, "hosts"))
        more = f" Rated higher: {plural(sum(one.facts.count for one in worse), 'alert')}{f' on {on}' if on else ''}."
    if not things and (hosts := _counted(mine, "hosts")):
        names = list(hosts)
        listed += f" on {', '.join(map(_value, names[:SHOWN]))}"
        listed += f" and {len(names) - SHOWN:,} more hosts" if len(names) > SHOWN else ""
    return f"**{plural(count, 'alert')} {words}{things}**: {listed}.{more}"


def _of_number(clause: str, number: str, alerts: Sequence[Finding[ProductAlert]]) -> str:
    """The alerts with a rating in figures, or that the ratings are words."""
    if not alerts:
        return ""
    mine = [one for one in alerts if one.facts.level == number]
    if mine:
        listed = "; ".join(dict.fromkeys(_value(one.facts.alert) for one in mine[:SHOWN]))
        return f"**{plural(sum(one.facts.count for one in mine), 'alert')} rated {number}**: {listed}."
    levels = ", ".join(dict.fromkeys(_value(one.facts.level) for one in alerts[:SHOWN] if one.facts.level))
    return f"**Cannot tell** {code_span(clause, limit=160)}: no alert was read with this figure; ratings are {levels}."


def _wanted(clause: str) -> frozenset[int]:
    named = {int(name[1:]) for match in _LEVEL.finditer(clause) for name, held in match.groupdict().items() if held}
    if _ABOVE.search(clause):
        return frozenset(range(max(named) + 1, len(_LEVELS)))
    if _OR_MORE.search(clause):
        return frozenset(range(min(named), len(_LEVELS)))
    return frozenset(named)


def _rank(level: str) -> int | None:
    return next((rank for start, rank in _STARTS if level.lower().startswith(start)), None)


def _things(clause: str, alerts: Sequence[Finding[ProductAlert]]) -> str:
    """The hosts, users or addresses of the alerts, whichever are asked for."""
    told = ""
    for asks, field, word in ((_HOSTS, "hosts", "on"), (_USERS, "users", "of"), (_ADDRESSES, "addresses", "with")):
        if asks.search(clause) and (names := _counted(alerts, field)):
            shown = ", ".join(f"{_value(name)} ({count:,})" for name, count in names.most_common(SHOWN))
            told += f" {word} {shown}{f' and {len(names) - SHOWN:,} more' if len(names) > SHOWN else ''}"
    return told


def _counted(alerts: Sequence[Finding[ProductAlert]], field: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in alerts:
        names: list[str] = getattr(one.facts, field)
        found.update(dict.fromkeys(names, one.facts.count if len(names) == 1 else 1))
    return found


def _hosts_without(alerts: Sequence[Finding[ProductAlert]], above: frozenset[int]) -> str:
    """The hosts with alerts of which none has one of the ratings."""
    worst: dict[str, int] = {}
    for one in alerts:
        for host in one.facts.hosts:
            worst[host] = max(worst.get(host, 0), _rank(one.facts.level) or 0)
    kept = sorted(host for host, rank in worst.items() if rank not in above)
    limit = _LEVELS[min(above) - 1] if above else _LEVELS[-1]
    listed = ", ".join(map(_value, kept[:SHOWN])) + (f" and {len(kept) - SHOWN:,} more" if len(kept) > SHOWN else "")
    found = f"**{plural(len(kept), 'host')}: {listed}**" if kept else "**None**"
    return f"{found} of {plural(len(worst), 'host')} with alerts that no alert above {limit} names."


def _value(value: str) -> str:
    return code_span(defang_text(value), limit=100)
