"""The answer about an event log: which tactics it shows and by what, who got in, what to do.

Kinds: ``tools/events.py``; the tables are ``event_tables.py``'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from svc.assistant.findings import InputKind, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.attack_names import tactic_name
from svc.assistant.skills import charts as picture
from svc.assistant.skills.charts import Bar, Branch, Mark
from svc.assistant.skills.events import answer_activity as event_activity
from svc.assistant.skills.events import answer_tables as event_tables
from svc.assistant.skills.events.answer_tables import number, of_kind, technique_words, text, texts, time_words
from svc.assistant.skills.logins.questions import LOGIN_QUESTIONS
from svc.assistant.skills.skill import PACKED_LABELS, Picture, Section, Skill, words
from svc.untrusted.markup import code_span, defang, escape, plural

NAMED = 3  # rules, accounts or hosts in one sentence
_BAD = (Severity.CRITICAL, Severity.HIGH)
_FAINT = (Severity.LOW, Severity.INFO)


def verdict(findings: Sequence[Finding]) -> str:
    """The tactics with their techniques, who got in, and how much was read."""
    sentences = [*_tactic_sentences(findings), *_logon_sentences(findings), *event_activity.sentences(findings)]
    if not sentences and not sum(number(f, "events") for f in of_kind(findings, "events_summary")):
        return "**No event could be read**, so nothing is known about what happened."
    if not sentences:
        rules = sum(number(f, "rules") for f in of_kind(findings, "events_summary"))
        sentences = [f"**Nothing stands out:** none of {plural(rules, 'rule')} matched."]
    return " ".join([*sentences, *_read(findings)])


def _tactic_sentences(findings: Sequence[Finding]) -> list[str]:
    shown = of_kind(findings, "event_tactics")
    named = list(dict.fromkeys(name for finding in shown for name in texts(finding, "named")))
    if not named:
        return []
    techniques = list(dict.fromkeys(one for finding in shown for one in finding.techniques))
    is_faint = all(finding.severity in _FAINT for finding in shown)
    lead = "Faint signs of" if is_faint else "Likely"
    tactics = " and ".join(filter(None, [", ".join(map(_tactic, named[:-1])), _tactic(named[-1])]))
    sentences = [f"**{lead} {tactics}**: {technique_words(techniques)}."]
    hits = of_kind(findings, "rule_hit")
    if hits:
        worst = [code_span(hit.title, limit=90) for hit in hits[:NAMED]]
        sentences.append(f"{plural(len(hits), 'rule')} matched; the worst: {', '.join(worst)}.")
    return sentences


def _tactic(name: str) -> str:
    return escape(tactic_name(name))


def _logon_sentences(findings: Sequence[Finding]) -> list[str]:
    sources = of_kind(findings, "logon_source")
    attackers = [f for f in sources if f.attributes.get("pattern") != "few failures"]
    entered = [f for f in of_kind(findings, "logon_success") if f.severity in _BAD]
    failures = sum(number(f, "failures") for f in sources)
    if not failures:
        return []
    counted = f"{plural(failures, 'failed logon')} from {plural(len(sources), 'source')}"
    sentences = [f"{counted}, {f'{len(attackers):,} attacking' if attackers else 'none of them an attack'}."]
    forced = [f for f in of_kind(findings, "logon_account") if f.attributes.get("is_brute_forced")]
    if forced:
        names = ", ".join(f"{_name(text(f, 'account'))} ({number(f, 'failures'):,})" for f in forced[:NAMED])
        sentences.append(f"Brute-forced: {names}{_more(len(forced))}.")
    if entered:
        names = ", ".join(dict.fromkeys(_name(text(f, "account")) for f in entered[:NAMED]))
        sentences.insert(0, f"**An attacker got in as {names}{_more(len(entered))}.**")
    elif attackers:
        sentences.append("No attacking source got in.")
    return sentences


def _read(findings: Sequence[Finding]) -> list[str]:
    sentences = []
    for summary in of_kind(findings, "events_summary"):
        hosts = ", ".join(_name(host) for host in texts(summary, "hosts")[:NAMED])
        zone = " UTC" if text(summary, "last").endswith("Z") else " in the log's own zone"
        sentence = (
            f"Read {plural(number(summary, 'events'), 'event')}{f' of {hosts}' if hosts else ''}, "
            f"{time_words(text(summary, 'first'))} to {time_words(text(summary, 'last'))}{zone}."
        )
        after, before = text(summary, "after"), text(summary, "before")
        if after or before:
            sentence += f" Only events {f'from {after}' if after else ''}{f' before {before}' if before else ''} count."
        sentences.append(sentence)
    return sentences


def _more(count: int) -> str:
    return f" and {count - NAMED:,} more" if count > NAMED else ""


def _name(value: str) -> str:
    return code_span(defang(value), limit=50)


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to lock, collect and look at, from what was found."""
    steps: list[str] = []
    entered = [f for f in of_kind(findings, "logon_success") if f.severity in _BAD]
    if entered:
        names = ", ".join(dict.fromkeys(_name(text(f, "account")) for f in entered[:NAMED]))
        steps.append(f"Lock {names} and read everything that the account did from its logon on.")
    for hit in of_kind(findings, "rule_hit")[:NAMED]:
        if hit.severity in _FAINT or not hit.evidence:
            continue
        first = hit.evidence[0]
        place = f"record {first.record:,}" if first.record is not None else f"line {first.line:,}" if first.line else ""
        benign = next(iter(texts(hit, "false_positives")), "")
        note = f" Harmless where: {escape(benign.removesuffix('.'))}." if benign else ""
        steps.append(f"Check {place} ({code_span(hit.title, limit=90)}) with the machine's owner.{note}")
    return steps + _steps_by_kind(findings) + event_activity.steps(findings)


def _body(findings: Sequence[Finding]) -> str:
    return "\n\n".join(filter(None, (event_activity.body(findings), event_tables.body(findings))))


def _steps_by_kind(findings: Sequence[Finding]) -> list[str]:
    steps: list[str] = []
    sources = dict.fromkeys(text(f, "source") for f in of_kind(findings, "remote_access") if number(f, "weight") >= 2)
    named = [_name(source) for source in sources if source][:NAMED]
    if named:
        steps.append(f"Get the logs of {', '.join(named)}, from where this computer was reached, for the same time.")
    if any(text(f, "gap") == "cleared" for f in of_kind(findings, "log_gap")):
        steps.append("Look for forwarded copies of the cleared log, and for who logged on just before.")
    if of_kind(findings, "weak_tickets"):
        steps.append("Change the passwords of the services whose tickets were asked for, and refuse RC4 and DES.")
    if texts_of_trees := [f for f in of_kind(findings, "process_tree") if number(f, "flagged")]:
        hosts = ", ".join(dict.fromkeys(_name(text(f, "host")) for f in texts_of_trees[:NAMED]))
        steps.append(f"Collect the programs that the process tree marks from {hosts}, with their hashes.")
    return steps


def pictures(findings: Sequence[Finding]) -> list[Picture]:
    """What matters over time, the worst process trees, failed logons by source: each where there are enough items."""
    drawn: list[Picture] = []
    for finding in of_kind(findings, "timeline"):
        drawn += picture.lanes("What matters over time (UTC)", _marks(finding))
    for finding in [f for f in of_kind(findings, "process_tree") if number(f, "flagged")][:1]:
        drawn += picture.tree(f"Processes on {text(finding, 'host')}", _branches(finding))
    rows = [
        Bar(label=text(f, "source"), value=number(f, "failures"), severity=f.severity)
        for f in of_kind(findings, "logon_source")
    ]
    return drawn + picture.bars("Failed logons by source", rows)


def _marks(finding: Finding) -> list[Mark]:
    marks = []
    for time, what, host, severity in zip(
        *(texts(finding, name) for name in ("times", "whats", "hosts", "severities")), strict=False
    ):
        try:
            moment = datetime.fromisoformat(time)
        except ValueError:
            continue
        if moment.tzinfo is not None:
            marks.append(Mark(time=moment, lane=what, label=host, severity=Severity(severity)))
    return marks


def _branches(finding: Finding) -> list[Branch]:
    """The tree from its list of depths, built from its end, so that no node waits for its children."""
    columns = [texts(finding, name) for name in ("depths", "commands", "images", "rules", "severities")]
    waiting: dict[int, list[Branch]] = {}
    for depth_text, command, image, rules, severity in reversed(list(zip(*columns, strict=False))):
        depth = int(depth_text)
        children = tuple(reversed(waiting.pop(depth + 1, [])))
        shade = Severity(severity) if rules else Severity.INFO
        waiting.setdefault(depth, []).append(
            Branch(label=command or image, note=rules, severity=shade, children=children)
        )
    return list(reversed(waiting.get(0, [])))


_KINDS = (
    "rule_hit", "logon_account", "logon_source", "logon_success", "logon", "weak_tickets", "remote_access", "log_gap",
    *event_activity.ACTIVITY_KINDS, "event_tactics", "process_tree", "rare", "timeline", "events_summary",
)  # fmt: skip
_EVENTS = words(r'^\s*[\[{].*"(?:EventID|EventId|event_id|winlog|winlog\.event_id)"\s*:', r"<Event xmlns=")
_CLAIMED = frozenset({"evtx", "winevents", "weblog", "auditlog", "syslog", "journal", "cloudtrail"})
SECTION = Section(
    skill=Skill(
        name="events",
        tool="svc.assistant.skills.events.tool:investigate",
        input=InputKind.BINARY,
        title="Events",
        can="read event logs (Windows, Linux, web servers, CloudTrail): attacks by tactic, logons, processes, gaps",
        loose_kinds=_KINDS,
        strong=words(
            *LOGIN_QUESTIONS,
            r"\bevtx\b",
            r"\bevent ?logs?\b",
            r"\bwindows (?:security )?(?:events?|logs?)\b",
            r"\bsecurity (?:event )?logs?\b",
            r"\bsysmon\b",
            r"\blateral(?:ly)? mov\w*|\bmoved? laterally\b",
            r"\bwhat happened (?:on|to|at|in)\b",
            r"\bprocess tree\b|\bwhich process(?:es)? (?:started|spawned|ran)\b",
            r"\b(?:log|event log) (?:was |is )?(?:cleared|tampered|wiped)\b|\bgaps? in the log\b",
            r"\b(?:access|audit|web ?server|apache|nginx|iis) ?logs?\b|\bauditd\b|\bsyslog\b|\bcloud ?trail\b",
            r"\bsigma\b|\bdetection rules?\b",
            r"\brare (?:process\w*|parents?|services?|tasks?|things?)\b",
        ),
        weak=words(
            r"\bevents?\b",
            r"\blog-?ons?\b",
            r"\bintru\w*",
            r"\btimeline\b",
            r"\bprivilege escalation\b|\bdefen[cs]e evasion\b|\bcredential (?:access|dump\w*|theft)\b|\bpersistence\b",
        ),
        content=_EVENTS,
        looks=_EVENTS,
        labels=_CLAIMED | PACKED_LABELS | {"json", "jsonl", "csv", "tsv", "authlog"},
        claims=_CLAIMED,
        file_names=words(
            r"(?:.*[._-])?(?:access|error|audit|syslog|messages|cloudtrail|u_ex\d+)(?:[._-].*)?\.(?:gz|bz2|xz)"
        ),
        takes=frozenset({"after", "before"}),
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    body=_body,
    next_steps=next_steps,
    pictures=pictures,
)
