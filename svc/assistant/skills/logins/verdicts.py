"""The verdict about logins: the direct answer to the question first, then the figures.

A question who got in is answered with the accepted logins, a question for yes or no with yes, no or cannot tell. "No"
needs a log in which a program that authenticates people wrote; in any other log, nobody would have left a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Confidence, Finding, Severity, with_facts
from svc.assistant.log_readers.login_counting import DISTRIBUTED_SOURCES, MANY_FAILURES, LoginPattern
from svc.assistant.log_readers.shown_times import time_words
from svc.assistant.skills.answer_parts import MAX_FACTS, READ
from svc.assistant.skills.logins.findings import (
    AuthAccount,
    AuthSource,
    AuthSuccess,
    AuthSummary,
    AuthUnusual,
    LoginAccess,
    LoginQuestion,
)
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

NAMED = 4  # accounts or sources in one sentence
LISTED = 3  # logins in one sentence
BAD = (Severity.CRITICAL, Severity.HIGH)
_YES_NO = (LoginQuestion.ENTRY, LoginQuestion.ATTACK, LoginQuestion.COMPROMISE)
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


class _Case:
    """The findings of all logs of one answer, as the verdict needs them."""

    def __init__(self, findings: Sequence[AnyFinding]) -> None:
        self.findings = findings
        self.summaries = [finding.facts for finding in with_facts(findings, AuthSummary)]
        self.sources = [finding.facts for finding in with_facts(findings, AuthSource)]
        self.targeted = [f.facts for f in with_facts(findings, AuthAccount) if f.facts.is_brute_forced]
        self.logins = accepted_logins(findings)
        self.compromises = [finding for finding in self.logins if finding.severity in BAD]
        self.doubtful = [finding for finding in self.logins if finding.facts.streak and finding.severity not in BAD]
        self.unusual = with_facts(findings, AuthUnusual)
        self.accepted = sum(summary.successes for summary in self.summaries)
        self.failures = sum(source.failures for source in self.sources)
        self.attempts = sum(source.attempts for source in self.sources)
        self.attacking = sum(1 for source in self.sources if source.pattern != LoginPattern.FEW)
        self.log_lines = sum(summary.log_lines for summary in self.summaries)
        self.question = self.summaries[0].question if self.summaries else LoginQuestion.OTHER
        self.is_yes_no = bool(self.summaries) and self.summaries[0].is_yes_no

    @property
    def is_attack(self) -> bool:
        return bool(self.attacking or self.targeted or self.is_distributed)

    @property
    def is_distributed(self) -> bool:
        """Whether many sources with few failures each make an attack together."""
        few = [source for source in self.sources if source.pattern == LoginPattern.FEW]
        failures = sum(source.failures for source in few)
        return len(few) >= DISTRIBUTED_SOURCES and failures >= MANY_FAILURES and failures > self.accepted

    @property
    def doubts(self) -> list[Finding[AuthSuccess]]:
        """Logins after failures that may be the success of an attack."""
        return [one for one in self.doubtful if one.severity is Severity.MEDIUM or self.is_distributed]

    @property
    def records_logins(self) -> bool:
        return any(summary.records_logins for summary in self.summaries)

    @property
    def searched(self) -> str:
        """What was looked at: ``the 2,000 lines that were read``; a limit may have left out others."""
        lines = sum(summary.lines for summary in self.summaries)
        were = "that was read" if lines == 1 else "that were read"
        part = f"{self.log_lines:,} of " if self.log_lines != lines else ""
        return f"{part}the {plural(lines, 'line')} {were}"

    @property
    def extent(self) -> str:
        """How much was read: ``2,000 lines``, ``1,987 of 2,000 lines``."""
        lines = sum(summary.lines for summary in self.summaries)
        part = f"{self.log_lines:,} of " if self.log_lines != lines else ""
        return f"{part}{plural(lines, 'line')}"


def accepted_logins(findings: Sequence[AnyFinding]) -> list[Finding[AuthSuccess]]:
    """The logins by network and at the console, without sudo and su, the most severe first."""
    local = (LoginAccess.SUDO, LoginAccess.SU)
    logins = [finding for finding in with_facts(findings, AuthSuccess) if finding.facts.access not in local]
    return sorted(logins, key=lambda finding: (_RANK[finding.severity], -finding.facts.streak))


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The direct answer in bold, and how severe and how sure it is."""
    case = _Case(findings)
    window = _window(case.summaries)
    if not case.log_lines:
        return f"**Not examined: no line is a login line that this analyst can read.**{window}"
    return f"**{_lead(case)[0]}**{_rating(case)}{window}"


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Accepted logins that the verdict does not name, failures by source, targeted accounts, what is unusual."""
    case = _Case(findings)
    if not case.log_lines:
        return []
    lead, names_logins = _lead(case)
    told = []
    if not names_logins and case.logins:
        told.append(_titled(_accepted_words(case)))
    elif not case.accepted and case.failures and "accepted" not in lead:
        told.append(f"**No login was accepted** in {case.searched}.")
    told += _figures(case)
    if not case.accepted and (users := _local_users(findings)):
        shown = ", ".join(code_span(name, limit=60) for name in users[:NAMED]) + (" …" if len(users) > NAMED else "")
        told.append(f"**sudo or su was used** by {shown}: their login predates the log or is not in it.")
    if case.unusual and case.question is not LoginQuestion.UNUSUAL:
        is_one = len(case.unusual) == 1
        counted = f"**{plural(len(case.unusual), 'accepted login')} {'is' if is_one else 'are'} unusual**"
        told.append(f"{counted}: {_unusual_words(case)}.")
    return [*told[: MAX_FACTS - 1], _extent(case)]


def _titled(words: str) -> str:
    """``**4 logins were accepted**: …``."""
    count, colon, rest = words.partition(":") if ":" in words.partition("`")[0] else words.partition(",")
    return f"**{count}**{colon}{rest}."


def _extent(case: _Case) -> str:
    """What the log holds: lines, hosts, period, and what was not counted as a login."""
    hosts = list(dict.fromkeys(host for summary in case.summaries for host in summary.hosts))
    named = f" on {', '.join(code_span(host, limit=60) for host in hosts[:NAMED])}" if hosts else ""
    more = f" and {len(hosts) - NAMED:,} more" if len(hosts) > NAMED else ""
    login_lines = sum(summary.login_lines for summary in case.summaries)
    periods = "; ".join(_period(summary) for summary in case.summaries[:2] if summary.first)
    others = [
        f"{plural(count, one, many)} of {what}"
        for count, one, many, what in (
            (sum(summary.local_sessions for summary in case.summaries), "use", "uses", "sudo and su"),
            (sum(summary.jobs for summary in case.summaries), "session", "sessions", "services"),
        )
        if count
    ]
    aside = f"; not counted as logins: {', '.join(others)}" if others else ""
    when = f", {periods}" if periods else ""
    return f"{READ}{case.extent}, {login_lines:,} of them about logins{named}{more}{when}{aside}."


def _period(summary: AuthSummary) -> str:
    """``Nov 20 02:10:00 to Nov 20 06:44:10 (zone not stated, no year)``."""
    zone = {"Z": "UTC", "+00:00": "UTC", "not stated": "zone not stated"}.get(summary.zone, summary.zone)
    year = "" if summary.has_year else ", year not stated"
    return f"{time_words(summary.first)} to {time_words(summary.last)} ({zone}{year})"


def _local_users(findings: Sequence[AnyFinding]) -> list[str]:
    """Who used sudo or su, and so was logged in."""
    local = (LoginAccess.SUDO, LoginAccess.SU)
    used = [finding.facts for finding in with_facts(findings, AuthSuccess) if finding.facts.access in local]
    return list(dict.fromkeys(login.source.removeprefix("local user ") for login in used))


def _lead(case: _Case) -> tuple[str, bool]:
    """The sentence in bold, and whether it names the accepted logins."""
    if case.question is LoginQuestion.UNUSUAL and case.accepted and not case.compromises:
        return _unusual_lead(case)
    if case.compromises:
        lead = _compromise_words([finding.facts for finding in case.compromises])
        is_yes = case.is_yes_no and case.question in _YES_NO
        return (f"Yes: {lead[0].lower()}{lead[1:]}" if is_yes else lead), len(case.logins) == len(case.compromises)
    if not case.accepted and not case.failures and not case.attempts:
        return _empty_lead(case), False
    match case.question:
        case LoginQuestion.ENTRY:
            return _entry_lead(case)
        case LoginQuestion.ATTACK | LoginQuestion.COMPROMISE:
            return _attack_lead(case)
        case _:
            return _plain_lead(case)


def _empty_lead(case: _Case) -> str:
    """Neither failed nor accepted logins were found."""
    if not case.records_logins:
        lead = f"none of the {plural(case.log_lines, 'log line')} is about a login"
        if case.question is LoginQuestion.OTHER:
            return (
                f"No failed and no accepted logins in {case.searched}, but no line is of a program that records logins."
            )
        return f"Cannot tell: {lead}; this log does not record logins."
    lead = f"no failed and no accepted login in {case.searched}."
    if case.question in _YES_NO and case.is_yes_no:
        return f"No: {lead}"
    return f"{lead[0].upper()}{lead[1:]}"


def _entry_lead(case: _Case) -> tuple[str, bool]:
    if case.accepted:
        words = _accepted_words(case)
        return f"{f'Yes: {words}' if case.is_yes_no else words}.", True
    lead = "No" if case.is_yes_no else "Nobody got in"
    return f"{lead}: no login was accepted in {case.searched}.", False


def _attack_lead(case: _Case) -> tuple[str, bool]:
    if case.doubts:
        return f"Cannot tell: {_login_words(case.doubts[0], case)}; ask the user.", len(case.logins) == 1
    lead = "no source that guessed passwords logged in" if case.is_attack else f"no password attack in {case.searched}"
    if case.question is LoginQuestion.ATTACK and case.is_yes_no:
        return f"No: {lead}.", False
    return f"No sign of a compromise in the logins: {lead}.", False


def _unusual_lead(case: _Case) -> tuple[str, bool]:
    compared = sum(summary.compared for summary in case.summaries)
    if case.unusual:
        of_all = f"{len(case.unusual):,} of {plural(case.accepted, 'accepted login')}"
        return f"{of_all} {'is' if len(case.unusual) == 1 else 'are'} unusual: {_unusual_words(case)}.", False
    if case.doubtful:
        return f"No login differs from the others of its account, but {_login_words(case.doubtful[0], case)}.", False
    if not compared:
        return f"Cannot tell what is unusual: no account has enough logins to compare; {_accepted_words(case)}.", True
    lead = f"No unusual login among {plural(case.accepted, 'accepted login')}"
    return f"{lead}: source, method and time of day were compared for {compared:,} of them.", False


def _plain_lead(case: _Case) -> tuple[str, bool]:
    if case.is_attack and case.doubts:
        return f"Password guessing, and {_login_words(case.doubts[0], case)}.", len(case.logins) == 1
    if case.is_attack and case.accepted:
        return f"Password guessing; no attacking source logged in, but {_accepted_words(case)}.", True
    if case.is_attack:
        return "Password guessing; no attacking source logged in.", False
    if case.doubtful:
        return f"No brute-force attack, but {_login_words(case.doubtful[0], case)}.", len(case.logins) == 1
    if case.accepted:
        return f"No password attack; {_accepted_words(case)}.", True
    return "No password attack.", False


def _compromise_words(entered: Sequence[AuthSuccess]) -> str:
    names = sorted({login.account for login in entered})
    if len(names) == 1:
        worst = entered[0]
        sources = len({login.source for login in entered})
        origin = code_span(defang_text(worst.source)) if sources == 1 else plural(sources, "source")
        return (
            f"Compromised account: {code_span(names[0], limit=40)} ({escape(worst.method[:40])} login from {origin} "
            f"after {plural(worst.streak or worst.failures_before, 'failure')}, line {worst.line:,})."
        )
    shown = ", ".join(code_span(name, limit=40) for name in names[:NAMED]) + (" …" if len(names) > NAMED else "")
    sources = len({login.source for login in entered})
    return f"{len(names):,} compromised accounts: {shown}, from {plural(sources, 'source')}."


def _accepted_words(case: _Case) -> str:
    """``1 login was accepted: `fztu` from …``, or of many the accounts with the most."""
    count = f"{plural(case.accepted, 'login')} {'was' if case.accepted == 1 else 'were'} accepted"
    if not case.logins:
        return count
    if len(case.logins) <= LISTED:
        return f"{count}: " + "; ".join(_login_words(finding, case, verb="") for finding in case.logins)
    by_account = Counter[str]()
    for finding in case.logins:
        by_account[finding.facts.account] += finding.facts.count
    sources = len({finding.facts.source for finding in case.logins})
    most = ", ".join(f"{code_span(name, limit=40)} ({number:,})" for name, number in by_account.most_common(LISTED))
    more = f" and {len(by_account) - LISTED:,} more" if len(by_account) > LISTED else ""
    words = f"{count}, from {plural(sources, 'source')}: {most}{more}"
    doubt = next((finding for finding in case.logins if finding.facts.streak), None)
    return f"{words}; {_login_words(doubt, case)}" if doubt is not None else words


def _login_words(finding: Finding[AuthSuccess], case: _Case, verb: str = "logged in ") -> str:
    """```root` logged in from `…` (password, Nov 20 03:11:09, line 3) after 2 failures``."""
    login = finding.facts
    detail = [escape(login.method[:40])] + ([time_words(login.time)] if login.time else [])
    detail.append(_line(finding, login.line, case))
    if login.count > 1:
        detail.append(f"{login.count:,} times" if not login.streak else f"one of {login.count:,} logins")
    source = login.source if login.source.startswith("(") else f"from {code_span(defang_text(login.source))}"
    if login.source.startswith("("):
        source = "from an unknown source"
    words = f"{code_span(login.account, limit=40)} {verb}{source} ({', '.join(detail)})"
    if login.streak:
        return f"{words} after {plural(login.streak, 'failure')} from there"
    if login.account_failures_before:
        return f"{words}; {plural(login.account_failures_before, 'earlier failure')} of the account from there"
    return words if login.count > 1 or len(case.logins) > 1 else f"{words}, without failures from there before"


def _line(finding: AnyFinding, line: int, case: _Case) -> str:
    """``line 3``, with the log's name if there are several."""
    where = f"line {line:,}"
    if len(case.summaries) > 1 and finding.evidence:
        return f"{where} of {code_span(finding.evidence[0].source, limit=60)}"
    return where


def _unusual_words(case: _Case) -> str:
    shown = [
        f"{code_span(finding.facts.account, limit=40)} from {code_span(defang_text(finding.facts.source))} "
        f"({time_words(finding.facts.time)}, {_line(finding, finding.facts.line, case)}: "
        f"{escape('; '.join(finding.facts.reasons))})"
        for finding in case.unusual[:LISTED]
    ]
    more = f" and {len(case.unusual) - LISTED:,} more" if len(case.unusual) > LISTED else ""
    return "; ".join(shown) + more


def _rating(case: _Case) -> str:
    """``(critical, high confidence)``: of the worst finding; nothing if all are facts without a judgement."""
    rated = [
        finding
        for finding in case.findings
        if finding.severity is not Severity.INFO and not isinstance(finding.facts, AuthSummary)
    ]
    if not rated:
        return " (low, medium confidence)" if case.is_distributed else ""
    worst = min(rated, key=lambda finding: _RANK[finding.severity])
    is_doubtful = worst.severity not in BAD and isinstance(worst.facts, AuthSuccess | AuthUnusual)
    confidence = Confidence.MEDIUM if is_doubtful else worst.confidence
    return f" ({worst.severity.value}, {confidence.value} confidence)"


def _figures(case: _Case) -> list[str]:
    """Failed logins, sources and targeted accounts; nothing if there are none."""
    if not case.failures and not case.attempts:
        return []
    counted = f"{plural(case.failures, 'failed login')} from {plural(len(case.sources), 'source')}"
    if case.attacking:
        counted += f" ({case.attacking:,} attacking)"
    elif case.is_attack:
        counted += " (none conspicuous on its own, but attacking together)"
    elif not case.compromises:
        counted += " (none attacking)"
    if case.attempts:
        counted += f", and {plural(case.attempts, 'connection')} that ended before authentication"
    most = "; ".join(map(_source_words, case.sources[:LISTED]))
    more = f" and {len(case.sources) - LISTED:,} more" if len(case.sources) > LISTED else ""
    return [f"**{counted}**: {most}{more}.", *([_targeted_accounts(case.targeted)] if case.is_attack else [])]


def _source_words(source: AuthSource) -> str:
    """```203[.]0[.]113[.]7` 811 (4 accounts, 31 a minute, lines 5 to 890)``."""
    detail = [plural(source.accounts, "account")] if source.accounts else []
    if source.per_minute is not None and source.pattern != LoginPattern.FEW:
        detail.append(f"{source.per_minute:,.1f} a minute")
    is_one = source.first_line == source.last_line
    detail.append(f"line {source.first_line:,}" if is_one else f"lines {source.first_line:,} to {source.last_line:,}")
    return f"{code_span(defang_text(source.source))} {source.failures:,} ({', '.join(detail)})"


def _targeted_accounts(targeted: Sequence[AuthAccount]) -> str:
    if not targeted:
        return "**No account had enough failures** for a brute-force attack."
    names = ", ".join(f"{code_span(one.account, limit=40)} ({one.failures:,})" for one in targeted[:NAMED])
    more = f" and {len(targeted) - NAMED:,} more" if len(targeted) > NAMED else ""
    first = min(one.first_line for one in targeted)
    return f"**Targeted {'account' if len(targeted) == 1 else 'accounts'}**: {names}{more}; from line {first:,}."


def _window(summaries: Sequence[AuthSummary]) -> str:
    words = next((summary.window for summary in summaries if summary.window), "")
    return f" Only lines {words} are counted, in the log's own time." if words else ""
