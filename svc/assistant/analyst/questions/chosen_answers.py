"""Answer a question with conditions from the records that fulfil them exactly. Pure.

The answer says in words what was counted, so that a condition that was misread is seen. "None" is only said of what was
read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from svc.assistant.analyst.questions.conditions import BOTH, IN_FILE, is_strict, takes_for_granted
from svc.assistant.analyst.questions.record_questions import AT_HOST, COUNT, WHEN
from svc.assistant.analyst.questions.states import is_polar
from svc.assistant.analyst.questions.time_words import says_when, window_of
from svc.assistant.findings import AnyFinding, Finding, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import ChosenRecords, RecordConditions, RecordValue
from svc.assistant.skills.events.answer_tables import time_words
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

SHOWN = 8
SHOWN_BUCKETS = 48
SHOWN_GROUPS = 20
EXCERPT_CHARS = 200
_NAME = re.compile(r"[\d.@\\/:_$-]")
_DISTINCT = re.compile(
    r"\bhow many (?:\w+ ){0,2}?(?P<noun>users|accounts|people|hosts|machines|computers|ips|sources|addresses"
    r"|destinations|countries|domains|ports|files)\b",
    re.IGNORECASE,
)
_NOUNS = {
    "users": "account", "accounts": "account", "people": "account", "hosts": "host", "machines": "host",
    "computers": "host", "ips": "source", "sources": "source", "addresses": "source", "destinations": "destination",
    "countries": "country", "domains": "domain", "ports": "port", "files": "file",
}  # fmt: skip
_WAY = re.compile(
    r"\b(?:over|via|through|using|with|by) (?P<way>rdp|vpn|winrm|smb|telnet|ftp|vnc|psexec|wmi|kerberos|ntlm|mfa)\b",
    re.IGNORECASE,
)
"""How somebody logged in; sshd's records do not name SSH."""
_Found = Sequence[Finding[ChosenRecords]]


def chosen_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence about the records that fulfil the conditions of a clause, and whether it answers it.

    None if the clause has no conditions, or if nothing was read that has such records.
    """
    held = with_facts(of_kind(findings, kind_of(ChosenRecords)), ChosenRecords)
    mine = [one for one in held if one.facts.clause == clause]
    if not mine:
        return None
    asked = mine[0].facts.conditions
    if asked.place.startswith(IN_FILE):
        name = asked.place.removeprefix(IN_FILE)
        mine = [one for one in mine if one.evidence and one.evidence[0].source.lower().endswith(name.lower())]
        if not mine:
            return _cannot(
                clause, f"{code_span(name, limit=60)} has no such records, or is not among the inputs"
            ), False
    elif asked.place:
        return _across(clause, asked, mine)
    if asked.logins and any(one.facts.total for one in mine):
        mine = [one for one in mine if one.facts.total]
    missing = [word for word in mine[0].facts.absent if all(word in one.facts.absent for one in mine)]
    if missing and not is_strict(asked) and not takes_for_granted(clause) and not COUNT.search(clause):
        if (way := _WAY.search(clause)) is not None and way["way"].lower() in missing:
            return _cannot(clause, f"none of the {_read(mine)} names {_value(way['way'])}"), False
        return None  # "over ssh": the findings may say it in another way
    is_of_none = is_polar(clause) or takes_for_granted(clause)
    if missing and (asked.is_complement or not is_of_none):
        return _cannot(clause, f"no record contains {', '.join(map(_value, missing))} ({_read(mine)})"), False
    if asked.measure and not any(one.facts.is_measured for one in mine):
        what = "a duration" if asked.measure == "seconds" else "a number of bytes"
        return _cannot(clause, f"no record states {what} ({_read(mine)})"), False
    if asked.equals is not None and not any(one.facts.stated for one in mine):
        return _cannot(clause, f"no record states a {escape(asked.equals[0])} ({_read(mine)})"), False
    answer = next(answer for is_asked, answer in _ANSWERS if is_asked(clause, asked))
    text, is_told = answer(clause, asked, mine)
    return text + _sums(mine), is_told


def _sums(found: _Found) -> str:
    """The sources that exceed a limit with all of their records together, though none of these does."""
    single = {value.value for one in found for value in one.facts.values}
    more = [value for one in found for value in one.facts.sums if value.value not in single]
    listed = "; ".join(f"{_value(one.value)} {one.count:,} bytes" for one in more[:SHOWN])
    return f" More in sum than the limit: {listed}." if listed else ""


def _cannot(clause: str, reason: str) -> str:
    return f"**Cannot tell** {code_span(clause, limit=160)}: {reason}."


def _complement(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """The values that no chosen record has."""
    what = next((name for name in asked.columns if _named(found, name, "others") or _named(found, name)), "")
    if not what:
        names = " or ".join(name for name in list(asked.columns)[:2] if name != AT_HOST)
        return _cannot(clause, f"no record states a value for {escape(names)} ({_read(found)})"), False
    chosen, others = _named(found, what), _named(found, what, "others")
    others = Counter({value: count for value, count in others.items() if value not in chosen})
    criterion = _criterion(asked, found)
    total = len(chosen) + len(others)
    if not others:
        return f"**None:** each of the {_many(total, what)} that records name has a record{criterion}.", True
    listed = _plain([value for value, _ in others.most_common()])
    return (
        f"**{_many(len(others), what)}: {listed}** of {total:,} {'has' if len(others) == 1 else 'have'} no record"
        f"{criterion} ({_read(found)}); {len(chosen):,} {'has' if len(chosen) == 1 else 'have'} one. What is not in "
        f"these records is not known.{_cut(found)}"
    ), True


def _granted(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """Whether it happened at all, what the records state of it, and that they do not say why."""
    criterion, total = _criterion(asked, found), sum(one.facts.count for one in found)
    if not total:
        others = _named(found, "account", "others")
        seen = f" Accepted logins of others: {_listed(others.most_common(), len(others))}." if others else ""
        return f"**It did not, in what was read:** {_none(asked, found)}.{seen}", True
    why = " Why is not recorded." if re.match(r"\W*(?:\w+ )?why\b", clause, re.IGNORECASE) else ""
    shown = [evidence for one in found for evidence in one.evidence][:3]
    listed = "; ".join(code_span(defang_text(one.excerpt), limit=EXCERPT_CHARS) for one in shown)
    return f"**{_things(total, asked)}**{criterion}:{_when(found)} {listed} ({_read(found)}{_place(found)}).{why}", True


def _per_time(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """How many there are in each hour or on each day."""
    counts: Counter[str] = Counter()
    for one in found:
        for bucket in one.facts.buckets:
            counts[bucket.value] += bucket.count
    total = sum(one.facts.count for one in found)
    if not counts:
        if total:
            return _cannot(clause, f"the records state no time ({_read(found)})"), False
        return f"**None:** {_none(asked, found)}.", True
    lead = f"**{_things(total, asked)}**{_criterion(asked, found)} ({_read(found)})"
    if len(asked.days) > 1:
        most = max(counts.values())
        days = {day: sum(n for name, n in counts.items() if name.endswith(day)) for day in asked.days}
        listed = ", ".join(f"{day.strip('-')}: {count:,}" for day, count in days.items())
        top = [day.strip("-") for day, count in days.items() if count == max(days.values())]
        verdict = f"most on {top[0]}" if len(top) == 1 and most else "the same number"
        return f"**{listed}** ({verdict}; {_things(total, asked)}; {_read(found)}).", True
    rows = sorted(counts.items())[:SHOWN_BUCKETS]
    more = f"\n\n{len(counts) - SHOWN_BUCKETS:,} more {asked.per}s." if len(counts) > SHOWN_BUCKETS else ""
    table = "\n".join(f"| {escape(name)} | {count:,} |" for name, count in rows)
    noun = {"failed": "Failed logins", "accepted": "Accepted logins", "any": "Logins"}.get(asked.logins, "Records")
    return f"{lead}:\n\n| {asked.per.capitalize()} | {noun} |\n|---|---|\n{table}{more}", True


def _ends(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """The first or the last of the chosen records."""
    timed = [one for one in found if one.facts.first and one.facts.last]
    if not timed:
        if any(one.facts.count for one in found):
            return _cannot(clause, f"the records state no time ({_read(found)})"), False
        return f"**None:** {_none(asked, found)}.", True
    first = min(timed, key=lambda one: one.facts.first or "")
    last = max(timed, key=lambda one: one.facts.last or "")
    parts = []
    for end, one, time in (("first", first, first.facts.first), ("last", last, last.facts.last)):
        if asked.ends in (end, "both") and time:
            evidence = one.evidence[0 if end == "first" else -1]
            excerpt = code_span(defang_text(evidence.excerpt), limit=EXCERPT_CHARS)
            parts.append(f"**{end.capitalize()}: {_time(time)}**, {place_words(evidence)}: {excerpt}")
    total = sum(one.facts.count for one in found)
    return f"{'; '.join(parts)} ({_things(total, asked)}{_criterion(asked, found)}; {_read(found)}).", True


def _nth(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """The second, third, … record or different value, by time."""
    held = sorted(
        (time, label, evidence)
        for one in found
        for time, label, evidence in zip(one.facts.times, one.facts.labels, one.evidence, strict=True)
    )
    if asked.distinct:
        held = list({label: (time, label, evidence) for time, label, evidence in reversed(held)}.values())[::-1]
    things = (
        _many(len(held), asked.distinct) if asked.distinct else _things(sum(one.facts.count for one in found), asked)
    )
    if len(held) < asked.rank:
        return f"**There is none:** {things}{_criterion(asked, found)} with a time ({_read(found)}).", True
    time, label, evidence = held[asked.rank - 1]
    what = f"{escape(asked.distinct)} {_value(label)}, " if asked.distinct else ""
    excerpt = code_span(defang_text(evidence.excerpt), limit=EXCERPT_CHARS)
    return (
        f"**Number {asked.rank}: {what}{_time(time)}**, {place_words(evidence)}: {excerpt} "
        f"({things}{_criterion(asked, found)}; {_read(found)})."
    ), True


def _of_two_outcomes(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """The values with records of one outcome that have, or have not, records of another."""
    sort, outcome = asked.other or ("", "")
    what = next((name for name in asked.columns if name != AT_HOST and _named(found, name)), "")
    if not what:
        if not any(one.facts.outcomes or one.facts.second for one in found):
            return _cannot(clause, f"no record states an outcome ({_read(found)})"), False
        return f"**None:** {_none(asked, found)}.", True
    first, second = _named(found, what), _named(found, what, "second")
    kept = [(value, count) for value, count in first.most_common() if (value in second) is (sort == "also")]
    words = {"also": f"also has one that was {outcome}", "without": f"has none that was {outcome}"}
    about = words.get(sort, "has none of another outcome")
    order = " Which of the two came first was not compared." if sort == "also" else ""
    records = f"records{_criterion(asked, found)}"
    if not kept:
        return f"**None:** of {_many(len(first), what)} with {records}, none {about} ({_read(found)}).", True
    lead = f"**{escape(what)}: {_listed(kept, len(kept))}**, of {len(first):,} with {records}; each {about}"
    return f"{lead} ({_read(found)}).{order}{_cut(found)}", True


def _often(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """The values that enough records have or, with ``spread``, that have enough different values of another column."""
    what = next((name for name in asked.columns if name != AT_HOST and _named(found, name)), "")
    other = next(iter(asked.spread), "")
    if not what or (other and not any(one.facts.pairs for one in found)):
        return _cannot(
            clause, f"no record states a value for {escape(other or 'what is asked for')} ({_read(found)})"
        ), False
    counts = _named(found, what)
    spreads: dict[str, set[str]] = {}
    for pair in (pair for one in found for pair in one.facts.pairs):
        spreads.setdefault(pair.what, set()).add(pair.value)
    number = {value: len(spreads.get(value, ())) if other else count for value, count in counts.items()}
    kept = [value for value, count in sorted(number.items(), key=lambda one: -one[1]) if count >= asked.least]
    noun = f"different values of {escape(other)}" if other else "records"
    about = f"at least {asked.least:,} {noun}{_criterion(asked, found)}; {_read(found)}"
    if not kept:
        return f"**None** of {_many(len(counts), what)} has {about}.", True
    shown = "; ".join(
        f"{_value(value)} ({', '.join(map(_value, sorted(spreads[value])[:SHOWN])) if other else f'{number[value]:,}'})"
        for value in kept[:SHOWN]
    )
    more = f" and {len(kept) - SHOWN:,} more" if len(kept) > SHOWN else ""
    return f"**{escape(what)}: {shown}**{more} of {len(counts):,} ({about}).{_cut(found)}", True


def _counted(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """How many records there are, or how many different values they have."""
    total = sum(one.facts.count for one in found)
    criterion = _criterion(asked, found)
    noun = _DISTINCT.search(clause)
    values = _named(found, _NOUNS[noun["noun"].lower()]) if noun is not None else Counter()
    if values and noun is not None:
        listed = _listed(values.most_common(), len(values))
        return (
            f"**{_many(len(values), _NOUNS[noun['noun'].lower()])}** in {_things(total, asked)}{criterion}: {listed} "
            f"({_read(found)}).{_cut(found)}"
        ), True
    files = f" By input: {_by_file(found)}." if len(found) > 1 else ""
    return f"**{_things(total, asked)}**{criterion} ({_read(found)}{_place(found)}).{_when(found)}{files}", True


def _asked_yes_no(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    total = sum(one.facts.count for one in found)
    if not total:
        quoted = code_span(clause, limit=160)
        failed = sum(one.facts.failed for one in found) if asked.logins == "accepted" and asked.words else 0
        tried = f" {plural(failed, 'failed login')} with it." if failed else ""
        return f"**No sign found of** {quoted}: {_none(asked, found)}.{tried} This holds only for what was read.", True
    criterion = _criterion(asked, found)
    return (
        f"**Yes:** {_things(total, asked)}{criterion} ({_read(found)}{_place(found)}).{_when(found)}{_held(found)}",
        True,
    )


def _none(asked: RecordConditions, found: _Found) -> str:
    """That no record fulfils the conditions: "none of the 11 logins read is an accepted login with `root`"."""
    thing = _LOGINS[asked.logins][2] if asked.logins else "one"
    return f"none of the {_read(found)} is {thing}{_criterion(asked, found)}"


def _values(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool]:
    """What the chosen records hold in the columns that are asked for; the records, if none is."""
    total = sum(one.facts.count for one in found)
    criterion = _criterion(asked, found)
    if not total:
        return f"**None:** {_none(asked, found)}.", True
    parts = []
    for what in () if _HAPPENED.search(clause) else asked.columns:
        if what != AT_HOST and (counts := _named(found, what)):
            kept = counts.most_common(asked.top or None)
            shown = max(SHOWN_GROUPS if asked.is_grouped else SHOWN, asked.top)
            rest = (
                f" ({len(counts) - len(kept):,} more with at most {counts.most_common()[len(kept)][1]:,})"
                if len(kept) < len(counts)
                else ""
            )
            parts.append(f"{what}: {_listed(kept, len(kept), shown=shown)}{rest}")
    when = _when(found) if WHEN.search(clause) or asked.logins else ""
    if not parts:
        if asked.top:
            names = " or ".join(list(asked.columns)[:2])
            return _cannot(clause, f"no record states a value for {escape(names)} ({_read(found)})"), False
        first = [evidence for one in found for evidence in one.evidence][:SHOWN]
        listed = "; ".join(code_span(defang_text(one.excerpt), limit=EXCERPT_CHARS) for one in first)
        more = f" and {total - len(first):,} more" if total > len(first) else ""
        return f"**{_things(total, asked)}**{criterion}: {listed}{more} ({_read(found)}{_place(found)}).{when}", True
    about = f"{_things(total, asked)}{criterion}; {_read(found)}{_place(found)}"
    return f"**{'; '.join(parts)}** ({about}).{when}{_cut(found)}", True


_HAPPENED = re.compile(r"\bwhat\b[^?]{0,12}\b(?:happen\w*|going on|logged|recorded)\b", re.IGNORECASE)
_ANY = re.compile(r"\W*any(?:thing|one|body)?\b", re.IGNORECASE)
_ANSWERS: tuple[
    tuple[Callable[[str, RecordConditions], object], Callable[[str, RecordConditions, _Found], tuple[str, bool]]],
    ...,
] = (
    (lambda _, asked: asked.is_complement, _complement),
    (lambda _, asked: asked.least, _often),
    (lambda _, asked: asked.other, _of_two_outcomes),
    (lambda _, asked: asked.rank, _nth),
    (lambda clause, asked: asked.logins and takes_for_granted(clause), _granted),
    (lambda _, asked: asked.per, _per_time),
    (lambda _, asked: asked.ends, _ends),
    (lambda clause, asked: COUNT.search(clause) and not asked.top and not asked.is_grouped, _counted),
    (lambda clause, _: is_polar(clause) or _ANY.match(clause), _asked_yes_no),
    (lambda _, __: True, _values),
)
"""The first whose condition is met answers."""


def _across(clause: str, asked: RecordConditions, found: _Found) -> tuple[str, bool] | None:
    """The values that several inputs share, or that only one of them has."""
    by_file = {one.evidence[0].source: one for one in found if one.evidence}
    if len(by_file) < 2:
        return None
    what = next((name for name in asked.columns if sum(bool(_named([one], name)) for one in by_file.values()) > 1), "")
    if not what:
        names = " or ".join(list(asked.columns)[:2]) or "what is asked for"
        return _cannot(clause, f"not both inputs state a value for {escape(names)} ({_read(found)})"), False
    values = {name: set(_named([one], what)) for name, one in by_file.items()}
    if any(one.facts.is_cut for one in found):
        return _cannot(clause, f"an input has too many different values of {escape(what)} to compare all"), False
    if asked.place == BOTH:
        shared = sorted(set.intersection(*values.values()))
        inputs = ", ".join(code_span(name, limit=60) for name in values)
        if not shared:
            return f"**None:** no {escape(what)} is in all of {inputs}.", True
        return f"**{_many(len(shared), what)} in all of {inputs}: {_plain(shared)}**.", True
    name = next((name for name in values if name.lower().endswith(asked.place.lower())), "")
    if not name:
        return _cannot(clause, f"{code_span(asked.place, limit=60)} is not among the inputs that were read"), False
    elsewhere = {value for other, held in values.items() if other != name for value in held}
    only = sorted(values[name] - elsewhere)
    if not only:
        return f"**None:** each {escape(what)} of {code_span(name, limit=60)} is in another input, too.", True
    return f"**{_many(len(only), what)} only in {code_span(name, limit=60)}: {_plain(only)}**.", True


def _named(found: _Found, what: str, field: str = "values") -> Counter[str]:
    counts: Counter[str] = Counter()
    for one in found:
        held: list[RecordValue] = getattr(one.facts, field)
        for value in held:
            if value.what == what:
                counts[value.value] += value.count
    return counts


def _criterion(asked: RecordConditions, found: _Found) -> str:
    """What the records have in common, in words."""
    parts = []
    if asked.words:
        parts.append(f"with {', '.join(map(_value, asked.words))}")
    if asked.outcome:
        parts.append(f"that {'were' if asked.outcome != 'failed' else ''} {asked.outcome}".replace("  ", " "))
    if asked.is_complement and asked.logins:
        parts.append(f"of {_LOGINS[asked.logins][1]}")
    if asked.equals is not None:
        stated: Counter[str] = Counter()
        for one in found:
            stated.update({value.value: value.count for value in one.facts.stated})
        others = ", ".join(f"{_value(value)} {count:,}" for value, count in stated.most_common(SHOWN))
        parts.append(f"with {escape(asked.equals[0])} {_value(asked.equals[2])} (stated are {others})")
    if asked.ports:
        parts.append(f"with port {', '.join(map(_value, asked.ports))}")
    if asked.measure:
        unit = "seconds" if asked.measure == "seconds" else "bytes"
        word, limit = ("more", asked.more) if asked.more >= 0 else ("less", asked.less)
        way = "" if asked.measure in ("seconds", "bytes") else f" {asked.measure}"
        parts.append(f"with {word} than {limit:,.0f} {unit}{way}")
    if asked.days:
        parts.append(f"on {', '.join(day.strip('-') for day in asked.days)}")
    if window := window_of(found[0].facts.clause):
        parts.append(says_when(window))
    if asked.excluded:
        left = sum(one.facts.left_out for one in found)
        note = f"{left:,} left out" if left else "which none of them has"
        parts.append(f"without {', '.join(map(_value, asked.excluded))} ({note})")
    return f" {', '.join(parts)}" if parts else ""


_LOGINS = {
    "failed": ("failed login", "failed logins", "a failed login"),
    "accepted": ("accepted login", "accepted logins", "an accepted login"),
    "any": ("login", "logins", "a login"),
}


def _things(count: int, asked: RecordConditions) -> str:
    one, many, _ = _LOGINS.get(asked.logins, ("record", "records", ""))
    return plural(count, one, many)


def _many(count: int, what: str) -> str:
    if what.endswith("y"):
        return plural(count, what, f"{what[:-1]}ies")
    return plural(count, what, f"{what}es" if what.endswith(("s", "h")) else f"{what}s")


def _read(found: _Found) -> str:
    total = sum(one.facts.total for one in found)
    is_login = bool(found[0].facts.conditions.logins)
    return f"{plural(total, 'login' if is_login else 'record')} read"


def _place(found: _Found) -> str:
    evidence = next((one.evidence[0] for one in found if one.evidence), None)
    return f"; {place_words(evidence)}" if evidence is not None else ""


def _by_file(found: _Found) -> str:
    named = [(one.evidence[0].source, one.facts.count) for one in found if one.evidence]
    return ", ".join(f"{code_span(name, limit=60)} {count:,}" for name, count in named[:SHOWN])


def _when(found: _Found) -> str:
    firsts = [one.facts.first for one in found if one.facts.first]
    lasts = [one.facts.last for one in found if one.facts.last]
    if not firsts or not lasts:
        return ""
    first, last = min(firsts), max(lasts)
    return f" {_time(first)}." if first == last else f" First {_time(first)}, last {_time(last)}."


def _time(time: str) -> str:
    return f"{time_words(time)} {'UTC' if time.endswith('Z') else '(zone not stated)'}"


def _held(found: _Found) -> str:
    asked = found[0].facts.conditions
    parts = [
        f"{what}: {_listed(counts.most_common(), len(counts), shown=4)}"
        for what in list(asked.columns)[:3]
        if what != AT_HOST and (counts := _named(found, what))
    ]
    return f" {'; '.join(parts)}." if parts else ""


def _listed(values: Sequence[tuple[str, int]], total: int, *, shown: int = SHOWN) -> str:
    listed = "; ".join(f"{_value(name)}{f' ({count:,})' if count > 1 else ''}" for name, count in values[:shown])
    return f"{listed}{f' and {total - shown:,} more' if total > shown else ''}"


def _plain(values: Sequence[str]) -> str:
    return ", ".join(map(_value, values[:SHOWN])) + (
        f" and {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
    )


def _cut(found: _Found) -> str:
    return " There are more different values than were counted." if any(one.facts.is_cut for one in found) else ""


def _value(value: str) -> str:
    return code_span(defang_text(value), limit=100)
