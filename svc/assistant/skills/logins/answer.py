"""The answer about logins: verdict, who got in, the sources, the accounts. Kinds: ``tools/auth_log.py``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.log_readers.timestamps import MONTH_NAMES
from svc.assistant.skills.charts import Bar, bars, histogram
from svc.assistant.skills.skill import Picture, Section, Skill, words
from svc.untrusted.markup import code_span, defang, plural, table

NAMED = 4  # accounts or sources named in the verdict
STEP_NAMES = 3  # in one piece of advice
_BAD = (Severity.CRITICAL, Severity.HIGH)


def verdict(findings: Sequence[Finding]) -> str:
    """One or two sentences with the numbers: who got in, how many failed, from where."""
    entered = [f for f in _of(findings, "auth_success") if f.severity in _BAD]
    sources = _of(findings, "auth_source")
    failures = sum(_number(f, "failures") for f in sources)
    attempts = sum(_number(f, "attempts") for f in sources)
    attackers = [f for f in sources if f.attributes.get("pattern") != "few failures"]
    forced = [f for f in _of(findings, "auth_account") if f.attributes.get("is_brute_forced")]
    counted = f"{plural(failures, 'failed login')} from {plural(len(sources), 'source')}"
    if attempts:
        counted += f", and {plural(attempts, 'connection')} that ended before a password was refused"
    if not failures and not attempts:
        return f"**No failed login.**{_window(findings)}"
    attack = "none looks like an attack"
    if attackers:
        attack = f"{len(attackers):,} attacking. {_accounts_forced(forced)}"
    if entered:
        return f"**{_who_got_in(entered)}** {counted}, {attack}.{_window(findings)}"
    if forced and not attackers:
        attack = f"none attacking by itself, together they are. {_accounts_forced(forced)}"
    is_attack = attackers or forced
    lead = "Passwords were guessed, and no attacking source got in." if is_attack else "No attack by passwords."
    return f"**{lead}** {counted}, {attack}.{_window(findings)}"


def _who_got_in(entered: Sequence[Finding]) -> str:
    names = sorted({str(f.attributes["account"]) for f in entered})
    shown = ", ".join(code_span(name, limit=40) for name in names[:NAMED]) + (" …" if len(names) > NAMED else "")
    sources = {str(f.attributes["source"]) for f in entered}
    return f"{plural(len(names), 'account')} let in an attacker: {shown}, from {plural(len(sources), 'source')}."


def _accounts_forced(forced: Sequence[Finding]) -> str:
    if not forced:
        return "No account got enough failures to be called brute-forced"
    names = ", ".join(
        f"{code_span(str(f.attributes['account']), limit=40)} ({_number(f, 'failures'):,})" for f in forced[:NAMED]
    )
    more = f" and {len(forced) - NAMED:,} more" if len(forced) > NAMED else ""
    return f"Brute-forced {plural(len(forced), 'account')}: {names}{more}"


def _window(findings: Sequence[Finding]) -> str:
    for summary in _of(findings, "auth_summary"):
        after, before = summary.attributes.get("after"), summary.attributes.get("before")
        if after and before:
            return f" Only lines from {after} to {before} of each day are counted."
        if after or before:
            return f" Only lines {'from' if after else 'before'} {after or before} of each day are counted."
    return ""


def section(findings: Sequence[Finding]) -> str:
    """Tables of successes after failures, accounts and sources, each with its evidence."""
    parts = []
    if entries := _of(findings, "auth_success"):
        parts += ["**Success after failure**", _success_table(entries)]
    if accounts := _of(findings, "auth_account"):
        parts += ["**By account**", _account_table(accounts)]
    if sources := _of(findings, "auth_source"):
        parts += ["**By source**", _source_table(sources)]
    if shown := _evidence_rows(findings):
        parts += ["**Evidence**", table(("File", "Line", "Text"), shown, limit=12)]
    if summaries := _of(findings, "auth_summary"):
        parts += [*map(_read, summaries)]
    return "\n\n".join(parts)


def _success_table(entries: Sequence[Finding]) -> str:
    rows = [
        (
            f.severity.value,
            code_span(str(f.attributes["account"]), limit=60),
            code_span(defang(str(f.attributes["source"]))),
            _time(f.attributes["time"]),
            f"{_number(f, 'line'):,}",
            f"{_number(f, 'streak'):,}",
            f"{_number(f, 'account_failures_before'):,}",
            code_span(str(f.attributes["method"])),
        )
        for f in entries
    ]
    headers = ("Severity", "Account", "Source", "Let in", "Line", "Failures in a row before", "On this account", "By")
    return table(headers, rows)


def _source_table(sources: Sequence[Finding]) -> str:
    rows = [
        (
            code_span(defang(str(f.attributes["source"]))),
            f"{_number(f, 'failures'):,}",
            f"{_number(f, 'attempts'):,}",
            _names(f, "account_names", "account_failures"),
            _time(f.attributes["first"]),
            _time(f.attributes["last"]),
            _rate(f.attributes["per_minute"]),
            str(f.attributes["pattern"]),
            ", ".join(code_span(str(name), limit=40) for name in _list(f, "success_accounts")[:NAMED]) or "no",
        )
        for f in sources
    ]
    headers = ("Source", "Failures", "No password", "Accounts", "First", "Last", "A minute", "Pattern", "Got in")
    return table(headers, rows)


def _account_table(accounts: Sequence[Finding]) -> str:
    rows = [
        (
            code_span(str(f.attributes["account"]), limit=60),
            f"{_number(f, 'failures'):,}",
            f"{_number(f, 'attempts'):,}",
            _names(f, "source_names", "source_failures", is_address=True),
            _time(f.attributes["first"]),
            _time(f.attributes["last"]),
            "yes" if f.attributes["is_brute_forced"] else "no",
            ", ".join(code_span(defang(str(name))) for name in _list(f, "success_sources")[:NAMED]) or "no",
        )
        for f in accounts
    ]
    headers = ("Account", "Failures", "No password", "Sources", "First", "Last", "Brute-forced", "Attacker let in")
    return table(headers, rows)


def _names(finding: Finding, names: str, counts: str, *, is_address: bool = False) -> str:
    """How many, and the first ones by name with their counts."""
    total = _number(finding, "sources" if is_address else "accounts")
    pairs = list(zip(_list(finding, names), _list(finding, counts), strict=False))
    shown = ", ".join(
        f"{code_span(defang(str(name)) if is_address else str(name), limit=40)} {count:,}" for name, count in pairs[:3]
    )
    return f"{total:,}: {shown}{' …' if len(pairs) > 3 else ''}"


def _evidence_rows(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    """The lines behind the worst findings, each once."""
    worst = [f for f in findings if f.severity in (*_BAD, Severity.MEDIUM)] or list(findings)
    rows = {
        (code_span(e.source), f"{e.line:,}" if e.line else "", code_span(e.excerpt)): None
        for kind in ("auth_success", "auth_source")
        for f in _of(worst, kind)
        for e in f.evidence
    }
    return list(rows)


def _read(summary: Finding) -> str:
    attributes = summary.attributes
    hosts = _list(summary, "hosts")
    named = f" on {', '.join(code_span(str(host), limit=60) for host in hosts[:NAMED])}" if hosts else ""
    zone = "in UTC" if attributes["zone"] in ("Z", "UTC", "+00:00") else f"zone {attributes['zone']}"
    year = "" if attributes["has_year"] else "; the stamps have no year"
    span = (
        f"from {_time(attributes['first'])} to {_time(attributes['last'])} ({zone}{year})"
        if attributes["first"]
        else ""
    )
    return (
        f"Read {plural(_number(summary, 'lines'), 'line')}, {_number(summary, 'login_lines'):,} of them about logins"
        f"{named} {span}. {plural(_number(summary, 'successes'), 'accepted login')} in all."
    )


def _time(value: Scalar | list[Scalar]) -> str:
    """A time as people read it; a stamp without a year as the log has it: ``Nov 20 03:12:45``."""
    if not value:
        return "not stated"
    text = str(value)
    if text.startswith("--"):
        return f"{MONTH_NAMES[int(text[2:4]) - 1]} {text[5:7]} {text[8:]}"
    return text.replace("T", " ")


def _rate(value: Scalar | list[Scalar]) -> str:
    return f"{value:,.1f}" if isinstance(value, int | float) else ""


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _number(finding: Finding, name: str) -> int:
    value = finding.attributes.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes.get(name)
    return value if isinstance(value, list) else []


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to lock, look for and block."""
    entered = [f for f in _of(findings, "auth_success") if f.severity in _BAD]
    attackers = [f for f in _of(findings, "auth_source") if f.attributes.get("pattern") != "few failures"]
    steps = []
    if entered:
        accounts = _named(sorted({str(f.attributes["account"]) for f in entered}))
        steps.append(f"Lock {accounts} and end the sessions; then read what they did from the time of the login on.")
        steps.append("Look for new keys in authorized_keys, new accounts, sudo rules and scheduled jobs since then.")
    if attackers:
        sources = _named([defang(str(f.attributes["source"])) for f in attackers])
        steps.append(f"Block {sources}, and search other hosts' logs for the same sources.")
        steps.append("Allow keys only (PasswordAuthentication no), or limit the rate (MaxAuthTries, fail2ban).")
    return steps


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(code_span(name, limit=60) for name in names[:STEP_NAMES])
    return shown + (f" and {len(names) - STEP_NAMES:,} more" if len(names) > STEP_NAMES else "")


def pictures(findings: Sequence[Finding]) -> list[Picture]:
    """When the lines about failures stand, and the sources with the most."""
    drawn = []
    for summary in _of(findings, "auth_summary"):
        counts = summary.attributes.get("activity")
        ends = [_time(summary.attributes.get(name, "")) for name in ("activity_first", "activity_last")]
        if isinstance(counts, list):
            spans = [count for count in counts if isinstance(count, int)]
            drawn += histogram("Lines about failed logins over time", spans, *ends)
    sources = [
        Bar(
            label=str(source.attributes["source"]),
            value=_number(source, "failures"),
            note=f"{_number(source, 'failures'):,} failures, {plural(_number(source, 'accounts'), 'account')}",
            severity=source.severity,
        )
        for source in _of(findings, "auth_source")
    ]
    return drawn + bars("Failed logins by source", sources)


_LINES = words(r"\bsshd(?:-session)?(?:\[\d+\])?: ", r"\bpam_\w+\([\w.-]+:auth\)", r"\bFailed password for ")
ASK_FOR_LOGINS = (
    r"\bbrut(?:e|ed)[- ]?forc\w*",
    r"\bfailed (?:ssh |password )?(?:log-?ins?|log-?ons?|passwords?|attempts?|auth\w*|sign-?ins?)\b",
    r"\b(?:log-?in|log-?on|authentication|password) (?:failures?|attempts?)\b",
    r"\bpassword[- ](?:spray|guess)\w*",
    r"\bcredential stuffing\b",
    r"\bwho (?:has |was |had )?(?:logged|got|gotten|let|broke|broken|tried to (?:log|get)) ?(?:on|in)\b",
    r"\b(?:log-?ins?|log-?ons?|success(?:es)?|logged in)\b[^.?!\n]{0,30}\bafter (?:\w+ )?(?:failures?|failed)",
    r"\bssh\b[^.?!\n]{0,40}\b(?:attack|attempt|fail|log-?in|intru)\w*",
    r"\baccounts?\b[^.?!\n]{0,40}\b(?:attack|compromis|broken into|taken over|target|guess)\w*",
)
"""The words that ask who tried to log in, whatever log tells it."""
SECTION = Section(
    skill=Skill(
        name="auth_log",
        claims=frozenset({"authlog"}),
        file_names=words(r"(?:auth|secure|sshd?)\b.*", r".*\b(?:auth|secure)\.log.*"),
        takes=frozenset({"after", "before"}),
        tool="svc.assistant.skills.logins.tool:brute_force",
        input=InputKind.LINES,
        title="Logins",
        can="say which accounts were brute-forced in an auth.log, from where, and whether it worked",
        loose_kinds=("auth_source", "auth_account", "auth_success", "auth_summary"),
        strong=words(*ASK_FOR_LOGINS),
        weak=words(r"\bauth(?:\.log\b|\w* logs?\b)", r"\blog-?ins?\b", r"\bsshd?\b", r"\bsuccess(?:ful)? log"),
        content=_LINES,
        looks=_LINES,
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
    pictures=pictures,
)
