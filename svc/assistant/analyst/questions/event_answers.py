"""Answer the ordinary questions about an event log from what was found in it: who, what, when, from where, how many.

Nothing here says "no": if no rule matched, the rules that look for it are named. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from svc.assistant.analyst.clause_words import content_words, stems
from svc.assistant.analyst.questions.event_subjects import ABROAD, EventSubject, subject_of
from svc.assistant.analyst.questions.states import asks_to_whom, is_negated, is_polar
from svc.assistant.findings import AnyFinding, Facts, Finding, Severity, columns, kind_of, with_facts
from svc.assistant.knowledge.attack_names import attack_name
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.events.activity_findings import NetworkSummary, ProductAlert, ProxySummary, UnusualLogin
from svc.assistant.skills.events.answer_tables import time_words
from svc.assistant.skills.events.findings import (
    CloudCall,
    CloudLogin,
    EventsSummary,
    LogGap,
    Logon,
    LogonAccount,
    LogonSource,
    LogonSuccess,
    RuleHit,
    UnixChange,
    WebSummary,
)
from svc.assistant.spool import of_kind, worst_first
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

TARGET_NOT_STATED = " To whom it was done is not stated in what was read."
SHOWN = 5  # findings or values in one answer
_NOTABLE = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)
_HAPPENED = (LogGap, RuleHit, CloudCall, CloudLogin, UnixChange, UnusualLogin, ProductAlert, LogonSuccess)
_FAILED_LOGINS = re.compile(
    r"\b(?:log-?[io]ns?|log ?ins?|sign-?[io]ns?|authentications?"
    r"|attempts?)\b[^?.;\n]{0,20}\b(?:fail\w*|reject\w*|denied|refused)\b"
    r"|\b(?:failed|rejected|denied|refused|unsuccessful) (?:[\w/-]+ ){0,2}(?:log-?[io]ns?|sign-?[io]ns?"
    r"|authentications?|attempts?)\b"
    r"|\bfail\w* to (?:log|sign) ?in\b|\bhow many (?:\w+ )?fail(?:s|ed|ures?)?\W*\Z",
    re.IGNORECASE,
)
_ACCEPTED_LOGINS = re.compile(
    r"\A\W*(?:(?:any|list|show|me|the|all|which|what|successful|accepted) ){0,4}"
    r"(?P<kind>rdp |remote desktop |network |interactive |remote )?(?:log|sign)[- ]?[io]ns?\W*\Z",
    re.IGNORECASE,
)
_KINDS = {"rdp": "remote desktop"}
_COUNT = re.compile(
    r"\bhow many (?:\w+ )??(events?|records?|entries|lines?|requests?|connections?)\b"
    r"|\b(?:number|count|total) of (?:the )?(?:\w+ )?(events?|records?|entries|lines?|requests?|connections?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.:])\d{3,}(?![\w.:])")
"""Of a status or an event, which only some of the records have."""
_REFUSED = re.compile(r"\b(?:denied|refused|blocked|rejected|dropped)\b", re.IGNORECASE)
_ADDRESSES = re.compile(
    r"\b(?:from )?(?:which|what) (?:(?:source|ip|client|remote|attacking) )*(?:address(?:es)?|ips?)\b"
    r"|\bfrom where\b|\bwhere (?:did|was|were|from)\b[^?]{0,40}\b(?:from|come|came)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\bwhen (?:did|was|has|had|were)\b[^?]{0,40}\b(?:start\w*|beg[aiu]n|happen\w*|first|occur\w*|done|take place)\b"
    r"|\bwhen was (?:it|this|that)\b|\b(?:at )?what time did\b|\bsince when\b",
    re.IGNORECASE,
)
_TECHNIQUES = re.compile(
    r"\b(?:which|what|list|show|name|give) (?:\S+ ){0,3}(?:sub-?)?(?:techniques?|ttps?)\b", re.IGNORECASE
)
_DID = re.compile(
    r"\bwhat (?:did|has|had|was|else did)\b[^?]{1,80}\b(?:do|done|doing|change\w*)\b"
    r"|\b(?:actions?|activit\w+|changes) (?:of|by)\b",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"\bwho(?: did)? (?:it|this|that|was it|is behind)\b|\bwho did\b|\bby whom\b"
    r"|\bwhich accounts? (?:did|was|were|acted|are)\b",
    re.IGNORECASE,
)
_PLAIN_WORDS = """
come came used seen involved attack attacks attacker attackers activity suspicious address addresses source ips remote
client start started begin began work acted account accounts attacking total number entire whole requests request lines
connections connection many technique techniques ttps mitre ttp found detected contain contains occur occurred place did
done behind responsible incident att denied refused blocked rejected dropped
"""
_PLAIN = frozenset(_PLAIN_WORDS.split())
_OTHER_READERS = ("auth_summary", "pcap_summary")  # of other skills, whose findings such an answer would leave out


def asks_about_events(text: str) -> bool:
    """Whether the words of a question are those of one that ``event_answer`` answers."""
    is_of_logins = _FAILED_LOGINS.search(text) or _ACCEPTED_LOGINS.match(text)
    if is_of_logins or subject_of(text) is not None:
        return True
    return _PLAIN.issuperset(content_words(text)) and any(asks.search(text) for asks, _ in _PLAIN_ANSWERS)


def is_plain(text: str) -> bool:
    """Whether a question asks only what every log can be asked: who, when, from where, how many events, what X did."""
    if any(asked.search(text) for asked in (_FAILED_LOGINS, _DID, _ACCEPTED_LOGINS)):
        return True
    if subject_of(text) is not None and re.match(r"\W*who\b", text, re.IGNORECASE):
        return True
    return _PLAIN.issuperset(content_words(text)) and any(asks.search(text) for asks, _ in _PLAIN_ANSWERS)


def event_answer(
    text: str, findings: Sequence[AnyFinding], rules: Callable[[EventSubject], str]
) -> tuple[str, bool] | None:
    """The sentence that answers a question about an event log, and whether it does; None if it is not such a question.

    Args:
        text: The question, in English.
        findings: What was found in everything that was read.
        rules: The sentence about the rules that look for a subject and matched nothing; "" if none does.
    """
    if not of_kind(findings, kind_of(EventsSummary)):
        return None
    happened = list(worst_first(of_kind(findings, *map(kind_of, _HAPPENED))))
    people = _people(text, happened)
    if people and _DID.search(text):
        return _did(people, [one for one in happened if _is_by(one, people)])
    if people:
        happened = [one for one in happened if _is_by(one, people)]
    is_whole = not of_kind(findings, *_OTHER_READERS)
    if is_whole and not people and _FAILED_LOGINS.search(text):
        return _failed_logins(text, findings)
    if is_whole and not people and (asked := _ACCEPTED_LOGINS.match(text)) is not None:
        return _accepted_logins((asked["kind"] or "").strip().lower(), findings)
    if (subject := subject_of(text)) is not None:
        return _of_subject(text, subject, findings, happened, rules)
    if people or not is_whole or not _PLAIN.issuperset(content_words(text)):
        return None
    answers = (answer(text, findings, happened) for asks, answer in _PLAIN_ANSWERS if asks.search(text))
    return next(filter(None, answers), None)


def _of_subject(
    text: str,
    subject: EventSubject,
    findings: Sequence[AnyFinding],
    happened: Sequence[AnyFinding],
    rules: Callable[[EventSubject], str],
) -> tuple[str, bool] | None:
    asked = stems(text)  # the findings with the question's own words come first: "was data exported?"
    found = sorted((one for one in happened if subject.is_in(one)), key=lambda one: not asked & stems(one.title))
    proven = [one for one in found if subject.is_proven_by(one)]
    if not found:
        missed = rules(subject) + (accepted_sources(findings) if subject is ABROAD else "")
        return (missed, False) if missed else None
    if not is_polar(text) or is_negated(text):
        lead = "**Found:**" if proven else "**Possibly:**"
    else:
        lead = "**Yes:**" if proven else "**Possibly:**"
    shown = (proven or found)[:SHOWN]
    is_unnamed = asks_to_whom(text) and not any(_held(one.facts, "targets", "whom") for one in shown)
    unnamed = TARGET_NOT_STATED if is_unnamed else ""
    return f"{lead} {_listed(proven or found)}.{unnamed}{subject.limit}", True


def accepted_sources(findings: Sequence[AnyFinding]) -> str:
    """From where logins were accepted, because nothing offline says in which country an address is."""
    logons = [one.facts for one in with_facts(findings, Logon) if one.facts.source]
    sources = list(dict.fromkeys(one.source for one in logons))
    if not sources:
        return ""
    listed = ", ".join(map(_value, sources[:SHOWN]))
    return f" Logins were accepted from {listed}{_more(len(sources))}; the country of an address is not known offline."


def _failed_logins(text: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    sources, accounts = with_facts(findings, LogonSource), with_facts(findings, LogonAccount)
    failures = sum(one.facts.failures for one in sources)
    if failures:
        named = sorted((one.facts for one in accounts if one.facts.failures), key=lambda one: -one.failures)
        shown = "; ".join(
            f"{_value(one.account)} ({one.failures:,}{_from(source.source for source in one.by_source)})"
            for one in named[:SHOWN]
        )
        lead = f"**{'Yes: ' if is_polar(text) else ''}{plural(failures, 'failed login')}**"
        more = f" and {plural(len(named) - SHOWN, 'more account', 'more accounts')}" if len(named) > SHOWN else ""
        return f"{lead} from {plural(len(sources), 'source')}{f': {shown}{more}' if shown else ''}.", True
    consoles = [one for one in with_facts(findings, CloudLogin) if one.facts.result.lower() not in ("success", "")]
    hits = [one for one in with_facts(findings, RuleHit) if _FAILED_TITLE.search(one.title)]
    if found := [*consoles, *hits]:
        is_certain = consoles or any(" or " not in one.title and _FAILED_TITLE.search(one.title) for one in hits)
        lead = "Possibly" if not is_certain else "Yes" if is_polar(text) else "Found"
        return f"**{lead}:** {_listed(list(worst_first(found)))}.", True
    if logons := with_facts(findings, Logon):
        count = sum(one.facts.count for one in logons)
        return f"**No failed login** is recorded: {plural(count, 'login')} of the log succeeded.", True
    events = sum(one.facts.events for one in with_facts(findings, EventsSummary))
    return f"**Cannot tell:** no login, failed or accepted, is recorded in the {plural(events, 'event')} read.", False


def _accepted_logins(kind: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The accepted logins, or those of one kind: "rdp logins?"."""
    logons = with_facts(findings, Logon)
    if not logons:
        return None
    wanted = _KINDS.get(kind, kind)
    kept = [one for one in logons if wanted in one.facts.type_words.lower()]
    total = sum(one.facts.count for one in logons)
    if not kept:
        return f"**No accepted {wanted} login** is among the {plural(total, 'accepted login')} of the log.", True
    count = sum(one.facts.count for one in kept)
    named = f"accepted {wanted} login".replace("  ", " ")
    return f"**{plural(count, named)}:** {_listed(list(worst_first(kept)))}.", True


_FAILED_TITLE = re.compile(
    r"\b(?:log-?[io]ns?|sign-?[io]ns?|password|authentication|MFA|push)\b[^?]{0,40}\b(?:fail\w*"
    r"|denied|rejected|blocked|attack"
    r"|brute)|\b(?:failed|password spray\w*|brute)\b",
    re.IGNORECASE,
)


def _did(people: Sequence[str], found: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    if not found:
        return None
    who = ", ".join(map(_value, people[:SHOWN]))
    return f"**{who}:** {_listed(_in_order(found[: 2 * SHOWN]), limit=2 * SHOWN)}.", True


def _counted(text: str, findings: Sequence[AnyFinding], _happened: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    if _NUMBER.search(text):
        return None
    match = _COUNT.search(text)
    noun = (match[1] or match[2]).lower() if match else ""
    web, proxy = with_facts(findings, WebSummary), with_facts(findings, ProxySummary)
    traffic = with_facts(findings, NetworkSummary)
    summaries = with_facts(findings, EventsSummary)
    if _REFUSED.search(text):
        return _refused(noun, proxy, traffic)
    if noun.startswith("request") and (web or proxy):
        count = sum(one.facts.requests for one in web) + sum(one.facts.requests for one in proxy)
        return f"**{plural(count, 'request')}**{_period(summaries)}.", True
    if noun.startswith("connection") and traffic:
        return f"**{plural(sum(one.facts.connections for one in traffic), 'connection')}**{_period(summaries)}.", True
    if noun.startswith(("request", "connection")):
        return None
    return f"**{plural(sum(one.facts.events for one in summaries), 'event')}**{_period(summaries)}.", True


def _refused(
    noun: str, proxy: Sequence[Finding[ProxySummary]], traffic: Sequence[Finding[NetworkSummary]]
) -> tuple[str, bool] | None:
    if noun.startswith("request") and proxy:
        total = sum(one.facts.requests for one in proxy)
        return f"**{sum(one.facts.refused for one in proxy):,} of {plural(total, 'request')}** were refused.", True
    if noun.startswith("connection") and traffic:
        total, denied = sum(one.facts.connections for one in traffic), sum(one.facts.denied for one in traffic)
        return f"**{denied:,} of {plural(total, 'connection')}** were denied or not answered.", True
    return None


def _period(summaries: Sequence[Finding[EventsSummary]]) -> str:
    times = [one for summary in summaries for one in (summary.facts.first, summary.facts.last) if one]
    return f", {time_words(min(times))} to {time_words(max(times))}{_zone(times)}" if times else ""


def _zone(times: Sequence[str]) -> str:
    return " UTC" if all(one.endswith("Z") for one in times) else " (zone not stated)"


def _addresses(_text: str, findings: Sequence[AnyFinding], happened: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    notable = [one for one in happened if one.severity in _NOTABLE]
    found = dict.fromkeys(address for one in notable for address in _sources(one) if address)
    if not found:
        found = dict.fromkeys(one.facts.source for one in with_facts(findings, LogonSource) if one.facts.source)
    if not found:
        return "**Cannot tell:** what was found names no source address.", False
    listed = "; ".join(
        f"{_value(address)}{_of_accounts(one for one in notable if address in _sources(one))}"
        for address in list(found)[:SHOWN]
    )
    return f"**{plural(len(found), 'address', 'addresses')}:** {listed}{_more(len(found))}.", True


def _of_accounts(found: Iterable[AnyFinding]) -> str:
    names = list(dict.fromkeys(name for one in found for name in _accounts(one)))
    return f" ({', '.join(map(_value, names[:2]))}{_more(len(names), 2)})" if names else ""


def _started(_text: str, _findings: Sequence[AnyFinding], happened: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    notable = _in_order([one for one in happened if one.severity in _NOTABLE])
    timed = [one for one in notable if _time(one)]
    if not timed:
        return None
    first = timed[0]
    return f"**{_when(first)}**, by the earliest finding of medium severity or above: {_named(first)}.", True


def _techniques(_text: str, _findings: Sequence[AnyFinding], happened: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    notable = [one for one in happened if one.severity in _NOTABLE]
    found = list(dict.fromkeys(technique for one in notable or happened for technique in one.techniques))
    if not found:
        return None
    listed = ", ".join(f"{code_span(one)} {attack_name(one)}".strip() for one in found[: 2 * SHOWN])
    weak = "" if notable else " (all from findings of low severity)"
    return f"**{plural(len(found), 'technique')}:** {listed}{_more(len(found), 2 * SHOWN)}{weak}.", True


def _who(_text: str, _findings: Sequence[AnyFinding], happened: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    notable = [one for one in happened if one.severity in _NOTABLE]
    names = list(dict.fromkeys(name for one in notable for name in _accounts(one)))
    if not names:
        return None
    listed = "; ".join(
        f"{_value(name)} ({plural(sum(name in _accounts(one) for one in notable), 'finding')})"
        for name in names[:SHOWN]
    )
    return (
        f"**{plural(len(names), 'account')}** in findings of medium severity or above: {listed}{_more(len(names))}.",
        True,
    )


_PLAIN_ANSWERS = (
    (_COUNT, _counted),
    (_TECHNIQUES, _techniques),
    (_WHEN, _started),
    (_ADDRESSES, _addresses),
    (_WHO, _who),
)


def _people(text: str, happened: Sequence[AnyFinding]) -> list[str]:
    """The accounts of findings that a question names, in full or without their domain."""
    words = {word.strip(".").lower() for word in re.findall(r"[\w.@\\+-]+", text)}
    names = dict.fromkeys(name for one in happened for name in _accounts(one))
    return [name for name in names if not words.isdisjoint({name.lower(), short_name(name)})]


def short_name(account: str) -> str:
    """An account in lower case, without its domain."""
    return account.lower().rpartition("\\")[2].partition("@")[0]


def _is_by(finding: AnyFinding, people: Sequence[str]) -> bool:
    return any(name in people for name in _accounts(finding))


def _accounts(finding: AnyFinding) -> list[str]:
    return _held(finding.facts, "accounts", "users", "account", "identity")


def _sources(finding: AnyFinding) -> list[str]:
    return _held(finding.facts, "addresses", "source")


def _held(facts: Facts, *names: str) -> list[str]:
    values = [getattr(facts, name, None) for name in names]
    flat = (one for value in values for one in (value if isinstance(value, list) else [value]))
    return [one for one in flat if isinstance(one, str) and one]


def _in_order(found: Sequence[AnyFinding]) -> list[AnyFinding]:
    return sorted(found, key=lambda one: _time(one) or "~")


def _time(finding: AnyFinding) -> str:
    facts = columns(finding)
    return next((str(facts[name]) for name in ("first", "time") if facts.get(name)), "")


def _when(finding: AnyFinding) -> str:
    time = _time(finding)
    return f"{time_words(time)}{_zone([time])}" if time else ""


def _listed(found: Sequence[AnyFinding], limit: int = SHOWN) -> str:
    return "; ".join(map(_named, found[:limit])) + _more(len(found), limit)


def _named(finding: AnyFinding) -> str:
    """``Title` (high) by `ann` on `bob` from `192[.]0[.]2[.]7`, time, place``."""
    accounts, targets = _accounts(finding), _held(finding.facts, "targets")
    by = f" by {', '.join(map(_value, accounts[:2]))}{_more(len(accounts), 2)}" if accounts else ""
    on = f" on {', '.join(map(_value, targets[:2]))}{_more(len(targets), 2)}" if targets else ""
    when = _when(finding)
    place = f", {place_words(finding.evidence[0])}" if finding.evidence else ""
    origin = _from(_sources(finding))
    lead = f"{code_span(defang_text(finding.title), limit=120)} ({finding.severity.value})"
    return f"{lead}{by}{on}{origin}{f', {when}' if when else ''}{place}"


def _from(sources: Iterable[str]) -> str:
    names: Iterator[str] = filter(None, sources)
    shown = list(dict.fromkeys(names))
    return f" from {_value(shown[0])}{_more(len(shown), 1)}" if shown else ""


def _more(count: int, shown: int = SHOWN) -> str:
    return f" and {count - shown:,} more" if count > shown else ""


def _value(value: str) -> str:
    return code_span(defang_text(value), limit=80)
