"""The answer about an event log: the tactics it shows, compromised accounts, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.knowledge.attack_names import tactic_label
from svc.assistant.log_readers.login_counting import LoginPattern
from svc.assistant.log_readers.tables.excerpts import QUOTED_CHARS
from svc.assistant.log_readers.time_window import OPTIONS
from svc.assistant.skills.answer_parts import EXCERPT_CHARS, MAX_FACTS, READ, Fold, place_words
from svc.assistant.skills.asked.findings import AskedRecords, ChosenRecords, FollowingRecords
from svc.assistant.skills.events import answer_activity, answer_exports, answer_tables
from svc.assistant.skills.events.activity_findings import (
    Beaconing,
    BeaconSearch,
    DeniedTraffic,
    NetworkSummary,
    PortScan,
    ProductAlert,
    ProxySummary,
    UnusualLogin,
)
from svc.assistant.skills.events.answer_tables import period_zone, position, technique_words, time_words
from svc.assistant.skills.events.findings import (
    CloudCall,
    CloudIdentity,
    CloudLogin,
    CloudRefusals,
    EventsSummary,
    EventTactics,
    LogGap,
    Logon,
    LogonAccount,
    LogonSource,
    LogonSuccess,
    ProcessTree,
    RareValue,
    RemoteAccess,
    RuleHit,
    TacticIndicator,
    Timeline,
    UnixChange,
    UnixSummary,
    WeakTickets,
    WebClient,
    WebSummary,
)
from svc.assistant.skills.events.logons import LOCAL, REMOTE_TYPES
from svc.assistant.skills.events.matches.rule_hits import RANK
from svc.assistant.skills.events.pictures import pictures
from svc.assistant.skills.logins.questions import LOGIN_QUESTIONS
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

TITLE_CHARS = 160  # of a finding
NAMED = 3  # rules, accounts or hosts in one sentence
COLUMNS = 8  # of a table, in the sentence about them
_BAD = (Severity.CRITICAL, Severity.HIGH)
_WEAK = (Severity.LOW, Severity.INFO)


ALSO_TECHNIQUES = 3
_WEAK_ALONE = "Matches of low severity alone"
# What a rule says if its author knows of none; the last three are what the public Sigma rules write.
_NO_FALSE_POSITIVES = frozenset({"none known", "none", "unknown", "unlikely"})
_NO_LEADS = ("No ", "None ", "Whether ", _WEAK_ALONE)
"""Begin sentences of one search that found nothing, or little, which do not answer for the others."""


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The tactics with their techniques, compromised accounts, or what else matters most, and how severe it is."""
    summaries = [finding.facts for finding in with_facts(findings, EventsSummary)]
    told = _sentences(findings)
    if not told and not sum(summary.events for summary in summaries):
        outside = sum(summary.outside for summary in summaries)
        if outside:
            when = escape(next(summary.window for summary in summaries if summary.outside))
            return f"**None of the {plural(outside, 'event')} read is {when}**, so nothing was looked for in them."
        return "**Not examined:** no event could be read, so it is unknown what happened."
    leads = [sentence for sentence in told if sentence.startswith("**")]
    hits = [finding for finding in with_facts(findings, RuleHit) if finding.severity not in _WEAK]
    if not leads and told and not hits and not told[0].startswith(_NO_LEADS):
        leads = [_in_bold(told[0])]
    elif not leads:
        nothing = _nothing_found(findings, summaries) if summaries else ""
        leads = [*filter(None, [_other_detections(hits or findings) or nothing]), *told[:1]]
    return " ".join([*leads, *map(_window, summaries)]).strip()


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The worst events with their places, each event once; figures; what was read."""
    told = _sentences(findings)
    figures = [sentence for sentence in told if not sentence.startswith("**")]
    if len(figures) == len(told):
        figures = figures[1:]  # the first is the verdict
    summaries = [finding.facts for finding in with_facts(findings, EventsSummary)]
    read = [f"{READ}{_coverage(summary)}{_columns(summary)}" for summary in summaries[:1]]
    worst = _worst_events(findings)
    figures = [one for one in figures if not any(_told_by(fact, one) for fact in worst)]
    extents = [one for one in figures if one in answer_exports.figures(findings)]
    figures = [one for one in figures if one not in extents]
    room = MAX_FACTS - len(read)
    first = room - min(len(figures), 2)
    return [*worst[:first], *figures, *worst[first:], *extents][:room] + read


def _sentences(findings: Sequence[AnyFinding]) -> list[str]:
    return [
        *_tactic_sentences(findings),
        *_attack_sentences(findings),
        *answer_exports.sentences(findings),
        *answer_activity.sentences(findings),
        *filter(None, [accepted_sentence(findings)]),
        *answer_exports.figures(findings),
    ]


def _in_bold(sentence: str) -> str:
    """The sentence with its first part in bold."""
    lead, mark, rest = sentence.removesuffix(".").partition(": ")
    return f"**{lead}**{mark}{rest}."


def _worst_events(findings: Sequence[AnyFinding]) -> list[str]:
    """The findings about single events, the most severe first; of several about one event only the first."""
    names = {row.id: row.meaning for one in with_facts(findings, EventsSummary) for row in one.facts.by_kind}
    notable = [one for facts in _MOMENTS for one in with_facts(findings, facts) if one.severity not in _WEAK]
    told: dict[tuple[object, ...], str] = {}
    for finding in sorted(notable, key=lambda one: RANK[one.severity]):
        if finding.evidence:
            first = finding.evidence[0]
            told.setdefault((first.source, first.line, first.record), _event_fact(finding, names))
    return list(told.values())[:MAX_FACTS]


def _told_by(fact: str, sentence: str) -> bool:
    """Whether the sentence lists the title of the fact."""
    title = fact[len("**") :].partition("**")[0]
    return title[1:] in sentence


def _event_fact(finding: AnyFinding, names: Mapping[int | None, str]) -> str:
    """``**Title** (high), 2026-11-20 09:20:11 UTC, `x.evtx` record 13 (4625 failed logon): `evidence```."""
    first = finding.evidence[0]
    title = escape(defang_text(finding.title[:TITLE_CHARS]))
    ids = finding.facts.event_ids if isinstance(finding.facts, RuleHit) else []
    named = ", ".join(f"{one} {names[one]}" for one in ids[:1] if names.get(one))
    times = [getattr(finding.facts, name, None) for name in ("time", "first")]
    time = next((one for one in times if one), None)
    when = f", {time_words(time)}{' UTC' if time.endswith('Z') else ' (zone not stated)'}" if time else ""
    count = getattr(finding.facts, "count", 1)
    often = f", {plural(count, 'time')}" if isinstance(count, int) and count > 1 else ""
    event = f" ({escape(named)})" if named else ""
    is_object = first.excerpt.startswith("{")
    excerpt = code_span(defang_text(first.excerpt), limit=QUOTED_CHARS if is_object else EXCERPT_CHARS)
    lead = f"**{title[:1].upper()}{title[1:]}** ({finding.severity.value}){often}{_actor_words(finding)}{when}"
    return f"{lead}, {place_words(first)}{event}: {excerpt}"


def _actor_words(finding: AnyFinding) -> str:
    """``, by `ann` and 2 more from `192[.]0[.]2[.]7```: who acted, in a log of a service; "" if it does not say so."""
    if not isinstance(finding.facts, RuleHit) or not finding.facts.accounts:
        return ""
    first, *others = finding.facts.accounts
    more = f" and {len(others):,} more" if others else ""
    origin = f" from {_name(finding.facts.addresses[0])}" if finding.facts.addresses and not others else ""
    return f", by {_name(first)}{more}{origin}"


def _other_detections(findings: Sequence[AnyFinding]) -> str:
    """The findings that no other sentence reports, such as the match of a rule that names no tactic; "" if none is."""
    noted = sorted((one for one in findings if one.severity is not Severity.INFO), key=lambda one: RANK[one.severity])
    if not noted:
        return ""
    titles = list(dict.fromkeys(escape(defang_text(one.title[:TITLE_CHARS])) for one in noted))
    return f"**{plural(len(noted), 'detection')}**: {'; '.join(titles[:NAMED])}{_more(len(titles))}."


def _nothing_found(findings: Sequence[AnyFinding], summaries: Sequence[EventsSummary]) -> str:
    """That no rule matched, with the number that could have; that none could is no result."""
    rules, applicable = (
        max(counts) for counts in zip(*((s.rules, s.applicable_rules) for s in summaries), strict=True)
    )
    logons = [finding.facts for finding in with_facts(findings, Logon)]
    if logons:
        accounts = plural(len({logon.account for logon in logons}), "account")
        counted = f" {plural(sum(logon.count for logon in logons), 'logon')} of {accounts}; none failed."
    else:
        counted = ""
    if applicable:
        return f"**No detections**: 0 of the {plural(applicable, 'rule')} that apply to these events matched.{counted}"
    return f"**No rule applies** to these events (0 of {rules:,}).{counted}"


def _tactic_sentences(findings: Sequence[AnyFinding]) -> list[str]:
    shown = with_facts(findings, EventTactics)
    named = list(dict.fromkeys(name for finding in shown for name in finding.facts.named))
    if not named:
        return []
    techniques = list(dict.fromkeys(one for finding in shown for one in finding.techniques))
    is_weak = all(finding.severity in _WEAK for finding in shown)
    indicators = [one for finding in shown for one in finding.facts.indicators if one.tactic in named]
    lead = "Likely" if are_independent(indicators) else "Signs of"
    tactics = " and ".join(filter(None, [", ".join(map(_tactic, named[:-1])), _tactic(named[-1])]))
    if is_weak and any(finding.severity not in _WEAK for finding in findings):
        return [f"{_WEAK_ALONE} suggest {tactics}: {technique_words(techniques)}."]
    if is_weak:
        return [f"**Only matches of low severity** ({tactics}): {technique_words(techniques)}."]
    also = _also_sentence(shown, named, techniques)
    return [f"**{lead} {tactics}**: {technique_words(techniques)}.{also}"]


def are_independent(indicators: Sequence[TacticIndicator]) -> bool:
    """Whether two of them are different facts: other rules, other events, neither of low severity, one severe."""
    facts = {(one.what, one.number) for one in indicators if one.severity not in _WEAK}
    severe = {(one.what, one.number) for one in indicators if one.severity in _BAD}
    return any(what != other and number != another for what, number in severe for other, another in facts)


def _also_sentence(shown: Sequence[Finding[EventTactics]], named: Sequence[str], told: Sequence[str]) -> str:
    """The other tactics that a sign of medium severity or above shows, with two techniques each."""
    others: dict[str, list[str]] = {}
    for indicator in (one for finding in shown for one in finding.facts.indicators):
        if indicator.tactic not in named and indicator.severity not in _WEAK:
            found = others.setdefault(indicator.tactic, [])
            found += [one for one in indicator.techniques if one not in found and one not in told]
    parts = [
        f"{_tactic(name)} ({', '.join(map(code_span, techniques[:ALSO_TECHNIQUES]))})"
        for name, techniques in others.items()
        if techniques
    ]
    return f" Also signs of {'; '.join(parts[:NAMED])}." if parts else ""


def _tactic(name: str) -> str:
    return escape(tactic_label(name))


def accepted_sentence(findings: Sequence[AnyFinding]) -> str:
    """Who logged on from another host, with the most frequent accounts and sources; "" if nobody did."""
    logons = [f.facts for f in with_facts(findings, Logon) if f.facts.logon_type in ("", *REMOTE_TYPES)]
    people = [logon for logon in logons if logon.source != LOCAL and not logon.account.endswith("$")]
    if not people:
        return ""
    pairs = Counter[tuple[str, str]]()
    for logon in people:
        pairs[logon.account, logon.source] += logon.count
    most = ", ".join(
        f"{_name(account)} from {_name(source)} ({count:,})" for (account, source), count in pairs.most_common(NAMED)
    )
    total = sum(pairs.values())
    return f"{plural(total, 'remote logon')} {'was' if total == 1 else 'were'} accepted: {most}{_more(len(pairs))}."


def _attack_sentences(findings: Sequence[AnyFinding]) -> list[str]:
    """Failed logons, and the accounts that were entered; none without a failure."""
    sources = [finding.facts for finding in with_facts(findings, LogonSource)]
    failures = sum(source.failures for source in sources)
    if not failures:
        return []
    attacking = sum(1 for source in sources if source.pattern != LoginPattern.FEW)
    counted = f"{plural(failures, 'failed logon')} from {plural(len(sources), 'source')}"
    sentences = [f"{counted} ({f'{attacking:,} attacking' if attacking else 'none attacking'})."]
    targeted = [f for f in with_facts(findings, LogonAccount) if f.facts.is_brute_forced]
    if targeted:
        names = ", ".join(f"{_name(one.facts.account)} ({one.facts.failures:,})" for one in targeted[:NAMED])
        places = [position(one.evidence[0]) for one in targeted if one.evidence]
        start = f"; first in {places[0]}" if places else ""
        sentences.append(f"Targeted {_accounts(len(targeted))}: {names}{_more(len(targeted))}{start}.")
    entered = _compromised_accounts(findings)
    if entered:
        names = ", ".join(map(_name, entered[:NAMED]))
        lead = f"**Compromised {_accounts(len(entered))}: {names}{_more(len(entered))}.**"
        sentences.insert(0, f"{lead} ({_worst(findings)}, high confidence)")
    elif attacking:
        sentences.append("No attacking source logged on.")
    return sentences


def _compromised_accounts(findings: Sequence[AnyFinding]) -> list[str]:
    logons = [finding.facts for finding in with_facts(findings, LogonSuccess) if finding.severity in _BAD]
    return list(dict.fromkeys(logon.account for logon in logons))


def _worst(findings: Sequence[AnyFinding]) -> str:
    """The severity of the worst compromise."""
    found = {finding.severity for finding in with_facts(findings, LogonSuccess)}
    return (Severity.CRITICAL if Severity.CRITICAL in found else Severity.HIGH).value


def _accounts(count: int) -> str:
    return "account" if count == 1 else "accounts"


def _coverage(summary: EventsSummary) -> str:
    """How many events were read, from which hosts and period."""
    hosts = ", ".join(_name(row.host) for row in summary.by_host[:NAMED])
    period = (
        f", {time_words(summary.first)} to {time_words(summary.last)}{period_zone(summary)}" if summary.first else ""
    )
    rules = f"; {summary.applicable_rules:,} of {plural(summary.rules, 'rule')} apply to them"
    return f"{plural(summary.events, 'event')}{f' from {hosts}' if hosts else ''}{period}{rules}."


def _window(summary: EventsSummary) -> str:
    return f"Only events {summary.window} are counted, in the log's own time." if summary.window else ""


def _columns(summary: EventsSummary) -> str:
    """How the columns of a table were read, and which were not."""
    if not summary.columns:
        return ""
    shown = ", ".join(code_span(one, limit=60) for one in summary.columns[:COLUMNS])
    unused = summary.unused_columns
    rest = ", ".join(code_span(one, limit=40) for one in unused[:NAMED])
    more = f" and {len(unused) - NAMED:,} more" if len(unused) > NAMED else ""
    return f" Columns read: {shown}{f'; not used: {rest}{more}' if unused else ''}."


def _more(count: int) -> str:
    return f" and {count - NAMED:,} more" if count > NAMED else ""


def _name(value: str) -> str:
    return code_span(defang_text(value), limit=50) if value else "one that the log does not name"


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to lock, collect and check, from what was found."""
    steps: list[str] = []
    entered = _compromised_accounts(findings)
    if not all(entered):
        steps.append("Find the account in the logs of the host that was logged on to: this log does not name it.")
    if entered := list(filter(None, entered)):
        names = ", ".join(map(_name, entered[:NAMED]))
        steps.append(f"Lock {names} and review everything the account did since its logon.")
    steps += _checks(findings)
    steps += _collection_steps(findings)
    return steps + answer_exports.steps(findings) + answer_activity.steps(findings)


def _checks(findings: Sequence[AnyFinding]) -> list[str]:
    """What to ask the system's owner about: each event once, with all rules that matched it first."""
    by_event: dict[str, list[Finding[RuleHit]]] = {}
    for hit in with_facts(findings, RuleHit)[:NAMED]:
        if hit.severity not in _WEAK and hit.evidence:
            by_event.setdefault(position(hit.evidence[0]), []).append(hit)
    return [_check(place, hits) for place, hits in by_event.items()]


def _check(place: str, hits: Sequence[Finding[RuleHit]]) -> str:
    rules = ", ".join(code_span(hit.title, limit=90) for hit in hits)
    stated = [one.removesuffix(".") for hit in hits for one in hit.facts.false_positives[:1]]
    benign = dict.fromkeys(one for one in stated if one.lower() not in _NO_FALSE_POSITIVES)
    known = f" Known {'false positives' if len(benign) > 1 else 'false positive'}: {escape('; '.join(benign))}."
    return f"Check {place} ({rules}) with the system's owner.{known if benign else ''}"


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """All tables: the rules that matched, then those about other logs than Windows', then the rest."""
    rules = answer_tables.rules_fold(findings)
    others = [*answer_exports.folds(findings), *answer_activity.folds(findings), *answer_tables.folds(findings)]
    return [*([rules] if rules is not None else []), *others]


def _collection_steps(findings: Sequence[AnyFinding]) -> list[str]:
    steps: list[str] = []
    uses = [finding.facts for finding in with_facts(findings, RemoteAccess) if finding.facts.weight >= 2]
    sources = [_name(source) for source in dict.fromkeys(use.source for use in uses) if source][:NAMED]
    if sources:
        steps.append(f"Collect the logs of {', '.join(sources)}, which accessed this host, for the same period.")
    if any(finding.facts.gap == "cleared" for finding in with_facts(findings, LogGap)):
        steps.append("Look for forwarded copies of the cleared log, and check who logged on just before.")
    if with_facts(findings, WeakTickets):
        steps.append("Reset the passwords of the services whose tickets were requested, and disable RC4 and DES.")
    flagged = [finding.facts for finding in with_facts(findings, ProcessTree) if finding.facts.flagged]
    if flagged:
        hosts = ", ".join(dict.fromkeys(_name(tree.host) for tree in flagged[:NAMED]))
        steps.append(f"Collect the programs flagged in the process tree from {hosts}, with their hashes.")
    return steps


_MOMENTS = (
    LogonSuccess, RuleHit, UnusualLogin, PortScan, Beaconing, DeniedTraffic, ProductAlert, WebClient, UnixChange,
    CloudCall, CloudLogin, CloudRefusals, WeakTickets, LogGap, RemoteAccess, LogonSource,
)  # fmt: skip
"""Findings about single events or one actor, not about the whole log."""
_FACTS = (
    RuleHit, LogonAccount, LogonSource, LogonSuccess, Logon, WeakTickets, UnusualLogin, PortScan, Beaconing,
    BeaconSearch, DeniedTraffic, ProductAlert, RemoteAccess, LogGap, WebClient, UnixChange, NetworkSummary,
    ProxySummary,
    CloudCall, CloudLogin, CloudRefusals, CloudIdentity, WebSummary, UnixSummary, EventTactics, ProcessTree, RareValue,
    Timeline, EventsSummary, AskedRecords, ChosenRecords, FollowingRecords,
)  # fmt: skip
_EVENTS = words(r'^\s*[\[{].*"(?:EventID|EventId|event_id|winlog|winlog\.event_id)"\s*:', r"<Event xmlns=")
_CLAIMED = frozenset(
    {"evtx", "winevents", "weblog", "auditlog", "syslog", "applog", "journal", "cloudtrail", "eventtable", "parquet"}
)
SECTION = Section(
    skill=Skill(
        name="events",
        tool="svc.assistant.skills.events.tool:inspect",
        input=InputKind.BINARY,
        title="Events",
        can="read event logs (Windows, Linux, web servers, applications, firewalls, clouds, tables by their columns): "
        "attacks by tactic, logons, scans, processes, gaps",
        facts=_FACTS,
        strong=words(
            *LOGIN_QUESTIONS,
            r"\bevtx\b",
            r"\bevent ?logs?\b",
            r"\bwindows (?:security )?(?:events?|logs?)\b",
            r"\bsecurity (?:event )?logs?\b",
            r"\bsysmon\b",
            r"\blateral(?:ly)? mov\w*|\bmoved? laterally\b",
            r"\bprocess tree\b|\bwhich process(?:es)? (?:started|spawned|ran)\b",
            r"\b(?:log|event log) (?:was |is )?(?:cleared|tampered|wiped)\b|\bgaps? in the log\b",
            r"\b(?:access|audit|web ?server|apache|nginx|iis) ?logs?\b|\bauditd\b|\bsyslog\b|\bcloud ?trail\b",
            r"\bsigma\b|\bdetection rules?\b",
            r"\bport ?scan\w*|\bscanned (?:ports?|hosts?)\b|\bfirewall\b",
            r"\bbeacon\w*|\b(?:call|phon)(?:s|e|es|ed|ing)? home\b|\bregular (?:contacts?|connections?|intervals?)\b",
            r"\bunusual log-?[io]ns?\b|\blog-?[io]ns? (?:are|is|were|look) unusual\b",
            r"\bfrom (?:which|what) (?:\w+ )?(?:address(?:es)?|ips?)\b",
            r"\brare (?:process\w*|parents?|services?|tasks?|things?)\b",
        ),
        weak=words(
            r"\bevents?\b",
            r"\blog-?ons?\b",
            r"\bexfiltrat\w*",
            r"\bintru\w*",
            r"\btimeline\b",
            r"\bprivilege escalation\b|\bdefen[cs]e evasion\b|\bcredential (?:access|dump\w*|theft)\b|\bpersistence\b",
        ),
        content=_EVENTS,
        looks=_EVENTS,
        labels=_CLAIMED | PACKED_LABELS | {"json", "jsonl", "csv", "tsv", "authlog"},
        claims=_CLAIMED,
        also=frozenset({"authlog"}),
        defers_to=frozenset({"auth_log"}),
        file_names=words(
            r"(?:.{0,255}[._-])?(?:access|error|audit|syslog|messages|cloudtrail|u_ex\d{1,20})(?:[._-].{0,255})?\.(?:gz|bz2|xz|zst)",
            r".{1,255}\.(?:jsonl|ndjson|csv|tsv|evtx)\.bz2",  # its first block is longer than what is looked into
        ),
        takes=OPTIONS | {"records", "conditions", "following"},
        covers=frozenset({"indicators", "behaviours"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
    pictures=pictures,
)
