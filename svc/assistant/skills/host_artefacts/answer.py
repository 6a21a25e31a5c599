"""The answer about a host artefact: signs of an attack, what the question asks about, and what each time means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from svc.assistant.file_types.host_forms import LABELS
from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.log_readers.host.record import TraceKind, basename
from svc.assistant.log_readers.shown_times import time_words
from svc.assistant.skills.answer_parts import EXCERPT_CHARS, MAX_FACTS, READ, Fold, place_words
from svc.assistant.skills.host_artefacts.circumstances import circumstances
from svc.assistant.skills.host_artefacts.findings import (
    ArtefactRow,
    FailedLoginSource,
    HostActivity,
    HostSign,
    HostSummary,
)
from svc.assistant.skills.host_artefacts.questions import TRAIT_PATTERNS, WORDS, Trait, asked_fields, traits_of
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

NAMED = 5  # rows in one sentence
CELL_CHARS = 120
_MARKS = "./\\-_@0123456789"
"""A word of a question with one of these is a value, not a word of the language."""
_SSHD = "sshd_config"
_MEMBERS = "members "
_PORT = re.compile(r"(?:^|[:,\s.*])(\d{1,5})(?![\d.])")
_SEPARATED = re.compile(r"[,\s%]+")
_DATE = re.compile(
    r"[\d:/.-]{1,10}(?:t[\d:.]{1,12}z?)?|\d+(?:st|nd|rd|th|am|pm|h|d|m|s)?|(?:log|sign)-(?:in|on|out|off)s?"
    r"|brute-forc\w+|auto-\w+|(?:re|un)-\w+|\w+-(?:in|on|up|out|off|time|like|side|level)s?"
)
"""A date, a time, a number or a word with a hyphen."""
_WEAK = (Severity.LOW, Severity.INFO)
_RANK = {severity: place for place, severity in enumerate(Severity)}
_PLURALS = {
    TraceKind.RAN: ("execution", "executions"),
    TraceKind.PRESENT: ("file that was present", "files that were present"),
    TraceKind.PERSISTS: ("autostart entry", "autostart entries"),
    TraceKind.COMMAND: ("command", "commands"),
    TraceKind.VISIT: ("visit", "visits"),
    TraceKind.DOWNLOAD: ("download", "downloads"),
    TraceKind.LOGIN: ("login", "logins"),
    TraceKind.FAILED_LOGIN: ("failed login", "failed logins"),
    TraceKind.LOGOUT: ("end of a session", "ends of sessions"),
    TraceKind.SYSTEM: ("system event", "system events"),
    TraceKind.CREATED: ("file creation", "file creations"),
    TraceKind.DELETED: ("file deletion", "file deletions"),
    TraceKind.RENAMED: ("file renaming", "file renamings"),
    TraceKind.CHANGED: ("file change", "file changes"),
    TraceKind.OPENED: ("opened item", "opened items"),
    TraceKind.NETWORK: ("record of network use", "records of network use"),
    TraceKind.ENTRY: ("log entry", "log entries"),
    TraceKind.SETTING: ("setting", "settings"),
    TraceKind.RUNNING: ("running process", "running processes"),
    TraceKind.SOCKET: ("connection or open port", "connections and open ports"),
    TraceKind.ACCOUNT: ("account", "accounts"),
    TraceKind.GROUP: ("group", "groups"),
    TraceKind.RIGHT: ("right", "rights"),
    TraceKind.KEY: ("authorized key", "authorized keys"),
    TraceKind.NAME: ("host name", "host names"),
    TraceKind.RULE: ("firewall rule", "firewall rules"),
    TraceKind.ADDRESS: ("network address", "network addresses"),
    TraceKind.ROUTE: ("route", "routes"),
    TraceKind.NEIGHBOUR: ("neighbour", "neighbours"),
    TraceKind.SERVICE: ("service", "services"),
    TraceKind.MODULE: ("kernel module", "kernel modules"),
}
_STEPS = {
    TraceKind.PERSISTS: "Collect the program that the autostart names, check its hash, and compare with another "
    "host of the same kind.",
    TraceKind.COMMAND: "Compare the commands with the logins of that time, and ask the account's owner.",
    TraceKind.RAN: "Collect the program, check its hash and signature, and look for what started it (event log, "
    "4688 or Sysmon 1).",
    TraceKind.RUNNING: "Save the process's memory and its program before you end it, and find its parent.",
    TraceKind.SOCKET: "Find the program behind the connection, and look for its remote address in other hosts' logs.",
    TraceKind.PRESENT: "Collect the file and look for evidence that it ran (prefetch, UserAssist, event log).",
    TraceKind.DOWNLOAD: "Collect the downloaded file and look for evidence that it was opened.",
    TraceKind.CREATED: "Collect the file, check its hash, and find the process that made it.",
    TraceKind.RENAMED: "Find what renamed the files, and whether their contents changed.",
    TraceKind.DELETED: "Look for the file in backups and shadow copies, and for evidence that it ran.",
    TraceKind.FAILED_LOGIN: "Check whether one of these sources logged in later (wtmp, auth.log), and block it.",
    TraceKind.SYSTEM: "Compare with other records of the same time (auth.log, journal), which the artefact's "
    "owner cannot change.",
    TraceKind.ENTRY: "Collect the file that macOS names, and look for where it came from.",
    TraceKind.OPENED: "Collect the item, and find where it came from.",
    TraceKind.ACCOUNT: "Find when the account was made (auth.log, backups of the file), lock it, and look for its "
    "logins.",
    TraceKind.GROUP: "Ask who added the members, and compare with a backup of the file.",
    TraceKind.RIGHT: "Ask who needs the right; limit it to single commands, and require the password.",
    TraceKind.KEY: "Ask whose key it is, remove it if nobody knows it, and look for its fingerprint in auth.log.",
    TraceKind.NAME: "Compare with the name server's answer, remove the entry, and find what wrote it.",
    TraceKind.RULE: "Compare with the intended rules, and check from outside which ports answer.",
    TraceKind.SERVICE: "Find who stopped the service and since when (journal, System log 7036), and start it again.",
    TraceKind.MODULE: "Find the module's file (modinfo) and who loaded it, and take an image of the memory first.",
    TraceKind.SETTING: "Compare with the intended configuration, and find who changed the file.",
}


def verdict(findings: Sequence[AnyFinding]) -> str:
    """Signs of an attack first, then what the question asks about; what is recorded if it asks nothing of the kind."""
    summaries = [finding.facts for finding in with_facts(findings, HostSummary)]
    if not sum(summary.rows for summary in summaries):
        return "**Not examined:** no record could be read, so it is unknown what the artefact holds."
    summary = summaries[0]
    asked = _asked(findings, summary)
    bad = _bad(findings)
    if bad and not (asked and (_is_listing(summary) or _is_answer(asked[0], summary))):
        return " ".join([_signs_sentence(bad), *asked])
    if bad:
        return " ".join([*_bolded(asked), _signs_sentence(bad, is_first=False)])
    weak = [one for one in with_facts(findings, HostSign) if one.severity in _WEAK]
    nothing = _nothing(summaries, weak, is_first=not asked)
    return " ".join([*_bolded(asked), nothing]).strip() if asked else nothing


def told_of(question: str, findings: Sequence[AnyFinding]) -> str:
    """What the artefact records about one question, in one or two sentences; "" if it asks nothing that it records."""
    summaries = [finding.facts for finding in with_facts(findings, HostSummary)]
    if not summaries or not sum(summary.rows for summary in summaries):
        return ""
    asked = _asked(findings, msgspec.structs.replace(summaries[0], **asked_fields(question)))
    return " ".join(_bolded(asked)) if asked else ""


def _is_answer(sentence: str, summary: HostSummary) -> bool:
    """Whether a sentence answers a yes/no question about a name or a trait, which the signs do not."""
    return bool(summary.traits or summary.stated) and sentence.startswith(("Yes:", "No:"))


def _is_listing(summary: HostSummary) -> bool:
    """Whether the question asks for rows rather than for a judgement."""
    return bool(summary.topics or summary.asks) and not summary.is_yes_no


def _bolded(sentences: list[str]) -> list[str]:
    first, mark, rest = sentences[0].partition(": ")
    if first in ("No", "Cannot tell"):
        return [f"**{sentences[0]}**", *sentences[1:]]
    return [f"**{first.removesuffix('.')}{mark.strip() or '.'}**{' ' if mark else ''}{rest}", *sentences[1:]]


def _bad(findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """What needs a look, the most severe first; of several findings that begin with the same row only the first."""
    found: list[AnyFinding] = [*with_facts(findings, HostSign), *with_facts(findings, FailedLoginSource)]
    ranked = sorted((one for one in found if one.severity not in _WEAK), key=_rank)
    told: dict[object, AnyFinding] = {}
    for one in ranked:
        first = one.evidence[0]
        told.setdefault((first.source, first.line, first.record), one)
    return list(told.values())


def _rank(finding: AnyFinding) -> tuple[int, bool]:
    """Severity first; of the same severity our own signs, which name what the row is, before general rules."""
    is_rule = isinstance(finding.facts, HostSign) and finding.facts.is_rule
    return _RANK[finding.severity], is_rule


def _signs_sentence(bad: Sequence[AnyFinding], *, is_first: bool = True) -> str:
    titles = list(dict.fromkeys(escape(defang_text(one.title)) for one in bad))
    named = "; ".join(titles[:3]) + (f" and {len(titles) - 3:,} more" if len(titles) > 3 else "")
    lead = f"{plural(len(titles), 'sign')} of an attack: {named}"
    return f"**{lead}.**" if is_first else f"{lead} ({bad[0].severity.value})."


def _nothing(summaries: Sequence[HostSummary], weak: Sequence[AnyFinding], *, is_first: bool = False) -> str:
    """Say that no sign needs a look; weak ones are named, because they matched."""
    rows, signs = sum(one.rows for one in summaries), max(one.signs for one in summaries)
    form = escape(summaries[0].form)
    counted: Counter[str] = Counter()
    for summary in summaries:
        counted.update({one.activity: one.count for one in summary.activities})
    figures = ", ".join(_counted(TraceKind(name), count) for name, count in counted.most_common(4))
    unread = sum(one.unread for one in summaries)
    partly = f"; {plural(unread, 'part')} could not be read" if unread else ""
    if weak:
        titles = list(dict.fromkeys(escape(defang_text(one.title)) for one in weak))
        named = "; ".join(titles[:3]) + (f" and {len(titles) - 3:,} more" if len(titles) > 3 else "")
        said = f"{plural(len(titles), 'weak sign')} of an attack: {named}"
        return f"**{said}**, among {figures} in the {form}{partly}." if is_first else f"{said}{partly}."
    matched = (
        f"none of {plural(signs, 'sign and rule', 'signs and rules')} matched" if signs else "no sign is known for them"
    )
    if is_first:
        return f"**No sign of an attack among {figures} in the {form}** ({matched}{partly})."
    return f"{matched[0].upper()}{matched[1:]} in {plural(rows, 'record')}{partly}." if signs else ""


def _counted(activity: TraceKind, count: int) -> str:
    return plural(count, *_PLURALS[activity])


def _asked(findings: Sequence[AnyFinding], summary: HostSummary) -> list[str]:
    """One sentence for each kind of activity that the question asks about, and for each name in it."""
    listed = {one.facts.activity: one.facts for one in with_facts(findings, HostActivity)}
    topics = [topic for topic in summary.topics if topic in summary.records]
    present = [topic for topic in topics if topic in listed]
    absent = [topic for topic in topics if topic not in listed]
    chosen = [topic for topic in summary.topics if topic in listed]
    if opened := _port_sentence(listed, summary):
        return [opened]
    if summary.asks and (told := circumstances(listed, summary, *_meant(findings, listed, summary))):
        return told
    if described := _trait_sentences(listed, summary):
        return described
    named = _named_sentences(listed, summary, chosen)
    if named:
        return named
    if missing := _missing_sentence(listed, summary):
        return [missing]
    sentences = [_activity_sentence(listed[topic]) for topic in (present or chosen)[:3]]
    if sentences:
        return sentences
    if absent:
        activity = TraceKind(absent[0])
        if summary.unread:
            return [
                (
                    f"Cannot tell: no {_PLURALS[activity][0]} is recorded in what was read, and "
                    f"{plural(summary.unread, 'part')} could not be read."
                )
            ]
        no = "No: no" if summary.is_yes_no else "No"
        return [
            (
                f"{no} {_PLURALS[activity][0]} is recorded in the {escape(summary.form)} "
                f"({plural(summary.rows, 'record')})."
            )
        ]
    if commands := _command_sentences(listed, summary):
        return commands
    if summary.topics:
        wanted = _PLURALS[TraceKind(summary.topics[0])][1]
        kinds = ", ".join(_PLURALS[TraceKind(one)][1] for one in summary.records[:4])
        return [f"Cannot tell: a {escape(summary.form)} does not record {wanted}; it records {kinds}."]
    return []


def _meant(
    findings: Sequence[AnyFinding], listed: dict[str, HostActivity], summary: HostSummary
) -> tuple[list[ArtefactRow], list[HostSign]]:
    """The rows with a name of the question, and the signs of an attack if it is about these."""
    rows = [row for one in listed.values() for row in one.rows]
    named = [row for row in rows if any(_has_name(row, name) for name in summary.names)]
    signs = [one.facts for one in with_facts(findings, HostSign)] if summary.asks_signs else []
    return named, signs


_SHOWN_BY = {
    TraceKind.DOWNLOAD: r"\b(?:wget|curl|fetch|scp|sftp|bitsadmin|certutil|iwr|irm|Invoke-(?:WebRequest|RestMethod))\b"
    r"|Download(?:File|String)|Start-BitsTransfer",
    TraceKind.DELETED: r"\b(?:rm|shred|unlink|del|erase|rmdir|Remove-Item|wevtutil cl|Clear-EventLog)\b",
    TraceKind.SOCKET: r"/dev/(?:tcp|udp)/|\b(?:nc|ncat|socat|telnet|ssh)\b|https?://",
    TraceKind.NETWORK: r"/dev/(?:tcp|udp)/|\b(?:nc|ncat|socat|scp|rsync|rclone)\b|https?://",
    TraceKind.ACCOUNT: r"\b(?:useradd|adduser|usermod|passwd|net1? user|New-LocalUser|New-ADUser)\b",
    TraceKind.GROUP: r"\b(?:usermod|gpasswd|groupadd|net1? (?:local)?group|Add-(?:LocalGroup|ADGroup)Member)\b",
    TraceKind.PERSISTS: r"\b(?:crontab|systemctl enable|schtasks|sc create|reg add)\b|authorized_keys",
    TraceKind.CREATED: r"\b(?:touch|mkdir|cp|mv|tee|New-Item|Out-File|Copy-Item)\b|>",
}
"""What in a command shows an activity that the artefact does not record by itself."""


def _command_sentences(listed: dict[str, HostActivity], summary: HostSummary) -> list[str]:
    """The commands that show what the question asks about, where nothing records it by itself."""
    rows = [row for name in (TraceKind.COMMAND, TraceKind.PERSISTS) if name in listed for row in listed[name].rows]
    for topic in summary.topics:
        pattern = _SHOWN_BY.get(TraceKind(topic))
        found = [row for row in rows if pattern and re.search(pattern, f"{row.what} {row.where}")]
        if found:
            yes = "Yes: " if summary.is_yes_no else ""
            shown = "; ".join(map(_row_words, found[:NAMED]))
            more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
            counted = plural(len(found), "command shows it", "commands show it")
            return [f"{yes}{counted}: {shown}{more}. Whether it succeeded is not recorded."]
    return []


def _named_sentences(listed: dict[str, HostActivity], summary: HostSummary, topics: Sequence[str]) -> list[str]:
    """The rows with a name of the question."""
    sentences = []
    if joint := _joint_sentence(listed, summary):
        return [joint]
    for name in summary.names:
        rows = [
            (TraceKind(one.activity), row)
            for one in listed.values()
            if not topics or one.activity in topics
            for row in one.rows
            if _has_name(row, name)
        ]
        total = sum(len(one.rows) for one in listed.values() if not topics or one.activity in topics)
        if rows and (len(rows) < total or total == 1):
            shown = "; ".join(_row_words(row) for _, row in rows[:NAMED])
            more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
            kinds = Counter(activity for activity, _ in rows)
            figures = ", ".join(_counted(activity, count) for activity, count in kinds.items())
            sentences.append(f"{figures} with {code_span(defang_text(name))}: {shown}{more}.")
    return sentences[:2]


def _port_sentence(listed: dict[str, HostActivity], summary: HostSummary) -> str:
    """What firewall rules say about the port of the question; without a rule for it, what the policy is."""
    rules = listed.get(TraceKind.RULE)
    ports = [name.removeprefix("port ") for name in summary.names if name.startswith("port ")]
    if rules is None or not ports:
        return ""
    port = int(ports[0])
    found = [row for row in rules.rows if _names_port(row.what, port)]
    if found:
        shown = "; ".join(map(_row_words, found[:NAMED]))
        return f"{_counted(TraceKind.RULE, len(found))} for port {port}: {shown}."
    policies = [row for row in rules.rows if row.what.startswith("policy") and row.where.lower().endswith("input")]
    policy = "; ".join(map(_row_words, policies[:NAMED])) or "not in the file"
    counted = _counted(TraceKind.RULE, rules.count)
    return f"None of {counted} is for port {port}. What no rule decides, the policy does: {policy}."


_DIGITS = re.compile(r"(?<![\d.:/])(\d{1,5})(?:[:-](\d{1,5}))?(?![\d./])")


def _names_port(rule: str, port: int) -> bool:
    """Whether a rule is for the port, also in a range."""
    _, mark, rest = rule.partition("port")
    return bool(mark) and any(int(one[1]) <= port <= int(one[2] or one[1]) for one in _DIGITS.finditer(rest))


def _trait_sentences(listed: dict[str, HostActivity], summary: HostSummary) -> list[str]:
    """The rows with a trait that the question asks for, for example the accounts with UID 0."""
    sentences = []
    for trait in traits_of(summary.traits):
        has = TRAIT_PATTERNS[trait.name]
        for activity in trait.activities:
            known = listed.get(activity)
            if known is None:
                continue
            rows = [row for row in known.rows if row.what.lower() not in summary.left_out]
            found = [row for row in rows if has.search(f"{row.what}\n{row.detail}\n{row.user}\n{row.where}")]
            stated = [row for row in found if any(_has_name(row, name) for name in summary.stated)]
            if not found and not trait.is_proof and _SSHD not in summary.form:
                continue
            sentences.append(_trait_sentence(trait, activity, stated or found, known, summary))
    return sentences[:2]


def _trait_sentence(
    trait: Trait, activity: TraceKind, found: Sequence[ArtefactRow], known: HostActivity, summary: HostSummary
) -> str:
    lead = f"{_counted(activity, len(found))} with {trait.name}" if trait.is_proof else f"Set for {trait.name}"
    if not found:
        if not trait.is_proof:
            return (
                f"Cannot tell: nothing is set for {trait.name} among {_counted(activity, known.count)}; defaults hold."
            )
        if summary.unread:
            return f"Cannot tell: none is among what was read, and {plural(summary.unread, 'part')} could not be read."
        no = "No: none" if summary.is_yes_no else "None"
        besides = f" besides {' and '.join(map(code_span, summary.left_out))}" if summary.left_out else ""
        return f"{no} of {_counted(activity, known.count)}{besides} has {trait.name}."
    yes = "Yes: " if summary.is_yes_no and trait.is_proof else ""
    shown = "; ".join(map(_row_words, found[:NAMED]))
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"{yes}{lead}: {shown}{more}."


_STATES = frozenset({TraceKind.GROUP, TraceKind.RIGHT})


def _joint_sentence(listed: dict[str, HostActivity], summary: HostSummary) -> str:
    """Whether one row has two names of the question: a member and its group; "" if the question does not ask that."""
    rows = [(TraceKind(one.activity), row) for one in listed.values() if one.activity in _STATES for row in one.rows]
    whole = {name for name in summary.names if any(_has_name(row, name) for _, row in rows)}
    asked = whole | {name for name in summary.stated if name not in ("sudo", "group")}
    if not summary.is_yes_no or len(asked) < 2 or not whole:
        return ""
    found = [row for _, row in rows if all(_has_name(row, name) for name in asked)]
    shown = " and ".join(code_span(defang_text(name)) for name in sorted(asked)[:3])
    if found:
        return f"Yes: {_row_words(found[0])}."
    return f"No: none of {plural(len(rows), 'record')} has {shown}."


def _missing_sentence(listed: dict[str, HostActivity], summary: HostSummary) -> str:
    """That no row has a value of the question that can only be one; "" if it has none."""
    values = [name for name in summary.names if any(mark in name for mark in _MARKS) and not _DATE.fullmatch(name)]
    values += [name for name in summary.stated if name not in values] if _is_state(listed, summary) else []
    rows = [row for one in listed.values() for row in one.rows]
    if not values or any(_has_name(row, value) for row in rows for value in values):
        return ""
    if _SSHD in summary.form:
        return f"Cannot tell: {code_span(defang_text(values[0]))} is not set in the file, so that its default holds."
    no = "No: none" if summary.is_yes_no else "None"
    shown = " or ".join(code_span(defang_text(value)) for value in values[:3])
    is_whole = len(rows) == sum(one.count for one in listed.values()) and not summary.unread
    return f"{no} of the {plural(len(rows), 'record')}{'' if is_whole else ' that are listed'} has {shown}."


_STATE_KINDS = frozenset(
    [TraceKind.ACCOUNT, TraceKind.GROUP, TraceKind.RIGHT, TraceKind.KEY, TraceKind.NAME, TraceKind.SERVICE]
)


def _is_state(listed: dict[str, HostActivity], summary: HostSummary) -> bool:
    """Whether the rows are names, among which a name that is not there is absent."""
    return _SSHD in summary.form or bool(_STATE_KINDS.intersection(map(TraceKind, listed)))


def _has_name(row: ArtefactRow, name: str) -> bool:
    if name.startswith("port "):
        port = name.removeprefix("port ")
        return any(found[1] == port for found in _PORT.finditer(f"{row.what}\n{row.detail}"))
    program = basename(row.what.split(" ")[0]).lower()
    return name in (
        program,
        program.rpartition(".")[0],
        row.user.lower(),
        row.source.lower(),
        basename(row.user).lower(),
        *_SEPARATED.split(row.user.lower()),
        *(_SEPARATED.split(row.where.lower()) if row.where.startswith(_MEMBERS) else ()),
        *_SEPARATED.split(row.what.lower())[1:],
    ) or (any(mark in name for mark in _MARKS) and name in f"{row.what}\n{row.source}\n{row.where}".lower())


def _activity_sentence(activity: HostActivity) -> str:
    kind = TraceKind(activity.activity)
    groups: dict[tuple[str, str, str], list[ArtefactRow]] = {}
    for row in activity.rows:
        groups.setdefault((row.what, row.user, row.source), []).append(row)
    shown = "; ".join(_row_words(rows[0], count=len(rows)) for rows in list(groups.values())[:NAMED])
    more = f" and {len(groups) - NAMED:,} more" if len(groups) > NAMED else ""
    span = ""
    if activity.first and activity.last and activity.first != activity.last:
        span = f" from {_time(activity.first)} to {_time(activity.last)}"
    return f"{_counted(kind, activity.count)}{span}: {shown}{more}."


def _row_words(row: ArtefactRow, *, count: int = 1) -> str:
    what = code_span(defang_text(row.what), limit=CELL_CHARS)
    user = f" by {code_span(row.user, limit=40)}" if row.user and row.user != row.what else ""
    source = f" from {code_span(defang_text(row.source), limit=80)}" if row.source and row.source != row.what else ""
    time = f", {escape(row.time_means)} {_time(row.time)}" if row.time else ""
    where = f" ({escape(defang_text(row.where[:80]))})" if row.where and not row.time else ""
    detail = f", {escape(defang_text(row.detail[:100]))}" if row.detail else ""
    often = f", {count:,} times" if count > 1 else ""
    return f"{what}{user}{source}{time}{where}{detail}{often}"


def _time(value: str) -> str:
    """``2026-11-20 03:12:45 UTC``; a time without a zone says so."""
    if not value:
        return ""
    if value.endswith("Z"):
        return f"{time_words(value.partition('.')[0].removesuffix('Z'))} UTC"
    has_zone = value[-6:-5] in ("+", "-") and value[-3:-2] == ":"
    return time_words(value) if has_zone else f"{time_words(value)} (zone not stated)"


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The worst signs, each row once; the newest rows; what was read, with the meaning of the times."""
    summaries = [finding.facts for finding in with_facts(findings, HostSummary)]
    read = [f"{READ}{_read_words(summary)}" for summary in summaries[:1]]
    made = [_sign_fact(finding) for finding in _bad(findings)]
    if not made and summaries and not _asked(findings, summaries[0]):
        made = [_lead(_activity_sentence(one.facts)) for one in with_facts(findings, HostActivity)[:3]]
    return made[: MAX_FACTS - len(read)] + read


def _lead(sentence: str) -> str:
    """The part before the first colon in bold."""
    head, _, rest = sentence.removesuffix(".").partition(": ")
    return f"**{head}**: {rest}"


def _sign_fact(finding: AnyFinding) -> str:
    first = finding.evidence[0]
    facts_ = finding.facts
    count = facts_.count if isinstance(facts_, HostSign) else 1
    time = facts_.first if isinstance(facts_, HostSign | FailedLoginSource) else None
    means = facts_.time_means if isinstance(facts_, HostSign) else "first"
    where = f", {escape(defang_text(facts_.where[:100]))}" if isinstance(facts_, HostSign) and facts_.where else ""
    when = f", {escape(means)} {_time(time)}" if time else ""
    often = f", {plural(count, 'row')}" if count > 1 else ""
    excerpt = code_span(defang_text(first.excerpt), limit=EXCERPT_CHARS)
    return (
        f"**{escape(defang_text(finding.title))}** ({finding.severity.value}){often}{when}{where}, "
        f"{place_words(first)}: {excerpt}"
    )


def _read_words(summary: HostSummary) -> str:
    figures = ", ".join(_counted(TraceKind(one.activity), one.count) for one in summary.activities) or "no record"
    zone = f"; times: {escape(summary.zone)}" if summary.zone else ""
    notes = "; ".join(f"{escape(one.name)} {code_span(defang_text(one.value), limit=60)}" for one in summary.notes[:4])
    return f"{escape(summary.form)}: {figures}{zone}" + (f"; {notes}" if notes else "")


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """The signs, then the rows of each activity with their times and what these mean."""
    signs = [*with_facts(findings, HostSign)]
    made = [
        Fold(
            title=plural(len(signs), "sign and rule", "signs and rules"),
            headers=("Severity", "Sign", "What", "Where", "Rows", "First", "Techniques"),
            rows=[_sign_row(one) for one in signs],
        ),
        _sources_fold(with_facts(findings, FailedLoginSource)),
        *(_activity_fold(one.facts) for one in with_facts(findings, HostActivity)),
    ]
    notes = [
        (escape(note.name), code_span(defang_text(note.value), limit=200))
        for one in with_facts(findings, HostSummary)
        for note in one.facts.notes
    ]
    made.append(
        Fold(
            title=plural(len(notes), "fact about the artefact", "facts about the artefact"),
            headers=("Name", "Value"),
            rows=notes,
        )
    )
    return [fold for fold in made if fold.rows]


def _sign_row(finding: Finding[HostSign]) -> tuple[str, ...]:
    sign = finding.facts
    return (
        finding.severity.value,
        escape(defang_text(finding.title)),
        code_span(defang_text(sign.what), limit=CELL_CHARS),
        escape(defang_text(sign.where[:CELL_CHARS])),
        f"{sign.count:,}",
        _time(sign.first or ""),
        ", ".join(map(escape, finding.techniques)),
    )


def _sources_fold(found: Sequence[Finding[FailedLoginSource]]) -> Fold:
    rows = [
        (
            code_span(defang_text(one.facts.source or "console")),
            f"{one.facts.failures:,}",
            ", ".join(code_span(name, limit=40) for name in one.facts.accounts[:3])
            + (" …" if len(one.facts.accounts) > 3 else ""),
            _time(one.facts.first or ""),
            _time(one.facts.last or ""),
        )
        for one in found
    ]
    return Fold(
        title=plural(len(rows), "source of failed logins", "sources of failed logins"),
        headers=("Source", "Failures", "Accounts", "First", "Last"),
        rows=rows,
    )


def _activity_fold(activity: HostActivity) -> Fold:
    rows = [
        (
            _time(row.time),
            escape(row.time_means),
            code_span(defang_text(row.what), limit=CELL_CHARS),
            code_span(row.user, limit=40) if row.user else "",
            code_span(defang_text(row.source), limit=80) if row.source else "",
            escape(defang_text(row.where[:CELL_CHARS])),
            escape(defang_text(row.detail[:CELL_CHARS])),
        )
        for row in activity.rows
    ]
    return Fold(
        title=_counted(TraceKind(activity.activity), activity.count),
        headers=("Time", "Time means", "What", "User", "Source", "Where", "Detail"),
        rows=rows,
        total=activity.count,
    )


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about the worst signs."""
    steps = []
    for finding in _bad(findings):
        activity = finding.facts.activity if isinstance(finding.facts, HostSign) else TraceKind.FAILED_LOGIN.value
        if step := _STEPS.get(TraceKind(activity)):
            steps.append(step)
    return list(dict.fromkeys(steps))[:3]


SECTION = Section(
    skill=Skill(
        name="host_artefacts",
        tool="svc.assistant.skills.host_artefacts.tool:inspect",
        input=InputKind.BINARY,
        title="Host artefact",
        can="read host artefacts: registry hives and exports, prefetch, $MFT and USN journal, SRUM, jump lists, "
        "browser history, scheduled tasks, cron, systemd units, shell history, PowerShell transcripts, wtmp and btmp, "
        "macOS unified logs, what ps, tasklist, Get-Process, netstat, ss, last, w, quser, lsof, lsmod, ls -l, "
        "find -ls, getcap, docker ps, ip, systemctl, sc, schtasks and net print, "
        "and files that configure a host: passwd, shadow, sudoers, sshd_config, authorized_keys, hosts, firewall rules",
        facts=(HostSign, FailedLoginSource, HostActivity, HostSummary),
        strong=words(
            r"\b(?:registry hives?|prefetch files?|usn journal|jump ?lists?|shimcache|amcache|userassist)\b",
            r"\b(?:srum|wtmp|btmp)\b",
            r"\b(?:browser history|powershell transcripts?)\b",
        ),
        file_words=words(
            *WORDS, r"\b(?:registry|hives?|prefetch|usn|journal|mft|utmp|crontabs?|transcripts?|unified log)\b"
        ),
        labels=LABELS | {"sqlite"} | PACKED_LABELS,
        claims=LABELS | {"sqlite"},
        file_names=words(r"(?:[bw]tmp|utmp)(?:[._-][\w.-]{1,40})?\.(?:gz|bz2|xz|zst)"),
        takes=frozenset({"question"}),
        asks=asked_fields,
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
    told=told_of,
)
