"""Logins of generated logs with known truth: counted once, none missing, and the question answered first.

Seeds of ``OPEN_SEEDS`` were used during development, those of ``HELD_SEEDS`` only at its end.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import chain

import pytest

from svc.assistant.findings import AnyFinding, Coverage, Finding, Severity, ToolEvent, with_facts
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.logins.answer import SECTION
from svc.assistant.skills.logins.findings import AuthSource, AuthSuccess, AuthSummary, AuthUnusual, LoginAccess
from svc.assistant.skills.logins.tool import inspect
from svc.untrusted.defang import defang_text
from tests.support.openings import opening
from tests.svc.assistant.skills.logins.generated import (
    HELD_SEEDS,
    OPEN_SEEDS,
    Entry,
    SshLog,
    attack,
    few_failures,
    only_accepted,
    usual_logins,
)

SEEDS = tuple(chain(OPEN_SEEDS, HELD_SEEDS))


def run(lines: list[str], question: str = "") -> list[ToolEvent]:
    return list(inspect(lines, source="auth.log", question=question))


def findings(lines: list[str], question: str = "") -> list[AnyFinding]:
    return [item for item in run(lines, question) if isinstance(item, Finding)]


def accepted(found: list[AnyFinding]) -> list[Finding[AuthSuccess]]:
    local = (LoginAccess.SUDO, LoginAccess.SU)
    return [finding for finding in with_facts(found, AuthSuccess) if finding.facts.access not in local]


def coverage(lines: list[str]) -> Coverage:
    [only] = [item for item in run(lines) if isinstance(item, Coverage)]
    return only


def names(text: str, entry: Entry) -> bool:
    """Whether a text names the login: account, source and line."""
    source = defang_text(entry.source)
    return f"`{entry.account}`" in text and f"`{source}`" in text and f"line {entry.line:,}" in text


@pytest.mark.parametrize("seed", SEEDS)
def test_every_attempt_counts_once_for_its_address(seed: int):
    log = attack(seed)
    found = findings(log.lines)
    counted = Counter[tuple[str, str]]()
    for source in with_facts(found, AuthSource):
        counted.update({(source.facts.source, row.account): row.failures for row in source.facts.by_account})
    assert +counted == log.truth
    [summary] = with_facts(found, AuthSummary)
    assert (summary.facts.failures, summary.facts.attempts) == (log.truth.total(), log.attempts)
    assert summary.facts.sources >= len({source for source, _ in log.truth})


@pytest.mark.parametrize("seed", SEEDS)
def test_the_only_accepted_login_is_named_first(seed: int):
    lines, entry = only_accepted(seed)
    for question, lead in (("Did anyone get in?", "**Yes: "), ("Who got in?", "**1 login was accepted: "), ("", "**")):
        found = findings(lines, question)
        [login] = accepted(found)
        facts = login.facts
        assert (facts.account, facts.source, facts.line) == (entry.account, entry.source, entry.line)
        assert (facts.method, facts.count, facts.earlier_logins) == (entry.method, 1, 0)
        verdict = SECTION.verdict(found)
        assert verdict.startswith(lead)
        assert names(opening(SECTION, found) if not question else verdict.partition(".**")[0], entry)
        assert as_sections(SECTION.folds(found)).startswith("**1 accepted login**")
        assert login.severity is Severity.INFO
        assert not [finding for finding in found if finding.severity in (Severity.CRITICAL, Severity.HIGH)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_login_after_a_few_failures_is_an_accepted_login(seed: int):
    lines, entry = few_failures(seed)
    asked = "Was anybody brute-forced, and did they get in?"
    for question, lead in (
        (asked, "**Yes: 1 login was accepted: "),
        ("What happened?", "**No brute-force attack, but "),
    ):
        found = findings(lines, question)
        verdict = SECTION.verdict(found)
        assert verdict.startswith(lead)
        assert names(verdict.partition(".**")[0], entry)
        failures = f"after {entry.failures} failure{'' if entry.failures == 1 else 's'}"
        assert failures in verdict.partition(".**")[0]
        [login] = accepted(found)
        assert (login.facts.streak, login.facts.failures_before) == (entry.failures, entry.failures)
        assert login.severity is (Severity.MEDIUM if entry.failures >= 3 else Severity.LOW)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_unusual_login_is_named_and_no_other(seed: int):
    lines, entry = usual_logins(seed)
    found = findings(lines, "Which of these logins are unusual?")
    unusual = with_facts(found, AuthUnusual)
    verdict = SECTION.verdict(found)
    if entry is None:
        assert unusual == []
        assert verdict.startswith("**No unusual login among ")
        return
    [only] = unusual
    assert (only.facts.account, only.facts.line) == (entry.account, entry.line)
    assert names(verdict.partition(".**")[0], entry)
    assert {"source": "this source", "method": "only login by", "hour": "time of day"}[entry.reason] in only.why


def test_the_first_example_of_the_web_page_names_the_login_of_root():
    lines = [
        "Nov 20 03:11:02 web-3 sshd[811]: Failed password for root from 203.0.113.9 port 40112 ssh2",
        "Nov 20 03:11:04 web-3 sshd[811]: Failed password for root from 203.0.113.9 port 40116 ssh2",
        "Nov 20 03:11:09 web-3 sshd[815]: Accepted password for root from 203.0.113.9 port 40120 ssh2",
        "Was anybody brute-forced, and did they get in?",
    ]
    found = findings(lines, lines[-1])
    assert SECTION.verdict(found).startswith(
        "**Yes: 1 login was accepted: `root` from `203[.]0[.]113[.]9` (password, Nov 20 03:11:09, line 3) "
        "after 2 failures from there.** (low, medium confidence)"
    )
    pasted = [item for item in inspect(lines, source="prompt", question=lines[0]) if isinstance(item, Finding)]
    assert SECTION.verdict(pasted) == SECTION.verdict(found)
    assert coverage(lines) == Coverage(
        read_as="Linux authentication log", unit="line", understood=3, total=4, looked_for="failed and accepted logins"
    )


def login(account: str, source: str, number: int, *, method: str = "password") -> str:
    clock = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    pid = number % 30_000 + 1
    return f"Nov 20 {clock} web1 sshd[{pid}]: Accepted {method} for {account} from {source} port 4011 ssh2"


def test_ten_thousand_logins_are_rows_with_their_counts_and_none_is_missing():
    lines = [login(f"u{n % 500}", f"10.0.{n % 20}.7", n) for n in range(10_000)]
    found = findings(lines, "Who logged in?")
    rows = accepted(found)
    assert sum(row.facts.count for row in rows) == 10_000
    assert {(row.facts.account, row.facts.source) for row in rows} == {
        (f"u{n % 500}", f"10.0.{n % 20}.7") for n in range(10_000)
    }
    first = next(row.facts for row in rows if row.facts.account == "u0")
    assert (first.count, first.first_line, first.last_line) == (20, 1, 9_501)
    assert SECTION.verdict(found).startswith("**10,000 logins were accepted, from 20 sources: ")


def test_sudo_su_and_jobs_are_not_logins():
    lines = [
        "Nov 20 03:11:01 web1 CRON[71]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
        "Nov 20 03:11:02 web1 sudo:   ann : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/ls",
        "Nov 20 03:11:03 web1 su[72]: (to root) ann on pts/0",
        "Nov 20 03:11:03 web1 su[72]: pam_unix(su:session): session opened for user root by ann(uid=1000)",
        "Nov 20 03:11:04 web1 systemd[1]: pam_unix(systemd-user:session): session opened for user ann by (uid=0)",
    ]
    found = findings(lines, "Did anyone log in?")
    assert accepted(found) == []
    assert SECTION.verdict(found).startswith("**No: no")
    assert "**sudo or su was used** by `ann`" in opening(SECTION, found)
    [summary] = with_facts(found, AuthSummary)
    assert (summary.facts.successes, summary.facts.local_sessions, summary.facts.jobs) == (0, 2, 3)
    assert "**2 uses of sudo and su**" in as_sections(SECTION.folds(found))


OPENED = "session opened for user ann by (uid=0)"
SESSIONS = {
    "the server's line first": (
        ["sshd[2]: Accepted password for ann from 192.0.2.7 port 4 ssh2", f"sshd[2]: pam_unix(sshd:session): {OPENED}"],
        "192.0.2.7",
    ),
    "PAM's line alone": (["sshd(pam_unix)[30530]: session opened for user ann by (uid=509)"], "(not stated)"),
    "at the console": ([f"login(pam_unix)[2421]: {OPENED}", " -- ann[2421]: LOGIN ON tty2 BY ann"], "local tty2"),
    "at the desktop": ([f"gdm-password][9]: pam_unix(gdm-password:session): {OPENED}"], "local console"),
}


@pytest.mark.parametrize(("lines", "source"), SESSIONS.values(), ids=SESSIONS)
def test_a_session_and_the_servers_line_are_one_login(lines: list[str], source: str):
    [only] = accepted(findings([f"Nov 20 03:11:02 web1 {line}" for line in lines]))
    assert (only.facts.account, only.facts.source, only.facts.count) == ("ann", source, 1)


NAMED = "220-135-151-1.hinet-ip.example.net"


def test_a_log_of_pam_ftpd_and_the_kernel_alone_is_counted_by_its_sources():
    failure = "logname= uid=0 euid=0 tty=NODEVssh ruser= rhost={}"
    lines = [
        f"Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure; {failure.format('218.188.2.4')} ",
        "Jun 14 15:16:02 combo sshd(pam_unix)[19937]: check pass; user unknown",
        f"Jun 14 15:16:02 combo sshd(pam_unix)[19937]: authentication failure; {failure.format('218.188.2.4')} ",
        f"Jun 15 02:04:59 combo sshd(pam_unix)[20882]: authentication failure; {failure.format(NAMED)}  user=root",
        "Jun 15 04:06:18 combo su(pam_unix)[21416]: session opened for user cyrus by (uid=0)",
        "Jun 15 04:06:20 combo logrotate: ALERT exited abnormally with [1]",
        "Jun 17 07:07:00 combo ftpd[29504]: connection from 24.54.76.216 (24-54-76-216.example.net) at Fri Jun 17",
        "Jun 18 02:08:10 combo ftpd[31272]: ANONYMOUS FTP LOGIN FROM 84.102.20.2, (anonymous)",
        "Jun 19 04:08:57 combo klogind[1330]: Authentication failed from 163.27.187.39 (163.27.187.39): denied",
        "Jun 19 04:08:57 combo klogind[1330]: Kerberos authentication failed",
        "Jul 27 14:41:59 combo kernel: klogd 1.4.1, log source = /proc/kmsg started.",
    ]
    found = findings(lines, "Did anyone get in?")
    sources = {finding.facts.source: finding.facts.failures for finding in with_facts(found, AuthSource)}
    assert sources == {"218.188.2.4": 2, NAMED: 1, "163.27.187.39": 1}
    [only] = accepted(found)
    assert (only.facts.account, only.facts.source, only.facts.service) == ("ANONYMOUS", "84.102.20.2", "ftpd")
    assert coverage(lines).understood == len(lines)


CRON = [
    f"Nov 20 03:{n % 60:02}:01 web1 CRON[{n}]: pam_unix(cron:session): session opened for user root" for n in range(200)
]
KERNEL = [f"Nov 20 03:11:01 web1 kernel: [ 12.1] [UFW BLOCK] IN=eth0 SRC=192.0.2.7 DPT={n}" for n in range(300)]
NOT_LOGS = {
    "empty": [],
    "prose": [
        "On Nov 20 03:11:01 we met: it was late.",
        "Failed password for root, from nobody knows where",
        "Who got in?",
    ],
    "table": ["time,src,user,result", "2026-11-20T03:11:01Z,192.0.2.7,root,failed"],
    "random": ["\x00\x8f\ufffdq%", "\x1f\x8b\x08"],
    "web log": ['192.0.2.7 - - [20/Nov/2026:03:11:01 +0000] "GET / HTTP/1.1" 200 5'],
    "JSON": ['{"time": "2026-11-20T03:11:01Z", "user": "root"}'],
}


@pytest.mark.parametrize("lines", NOT_LOGS.values(), ids=NOT_LOGS)
@pytest.mark.parametrize(
    "question", ["", "Did anyone get in?", "Which of these logins are unusual?", "Is it compromised?"]
)
def test_what_is_no_log_is_not_examined(lines: list[str], question: str):
    assert coverage(lines).understood == 0
    assert SECTION.verdict(findings(lines, question)).startswith("**Not examined")


def test_a_log_in_which_only_cron_wrote_was_searched():
    read = coverage(CRON)
    assert (read.understood, read.total, read.read_as) == (200, 200, "Linux authentication log")
    assert SECTION.verdict(findings(CRON)) == "**No failed and no accepted login in the 200 lines that were read.**"
    assert SECTION.verdict(findings(CRON, "Did anyone get in?")).startswith(
        "**No: no failed and no accepted login in the 200 lines"
    )


def test_a_log_of_programs_that_record_no_logins_cannot_tell():
    read = coverage(KERNEL)
    assert (read.understood, read.total, read.read_as) == (300, 300, "system log")
    assert "records logins" in read.not_covered
    for question in ("Did anyone get in?", "Who got in?", "Is the host compromised?"):
        assert SECTION.verdict(findings(KERNEL, question)).startswith("**Cannot tell: none of the 300 log lines")


@pytest.mark.parametrize(
    ("stamp", "heading"),
    [
        ("Nov 20 03:11:0{}", "Login time (zone not stated)"),
        ("2026-11-20T03:11:0{}Z", "Login time (UTC)"),
        ("2026-11-20T03:11:0{}+02:00", "| Login time |"),
    ],
)
def test_headings_state_the_zone_of_the_log(stamp: str, heading: str):
    failed = "{} web1 sshd[7]: Failed password for root from 192.0.2.7 port 4 ssh2"
    lines = [failed.format(stamp.format(1)), f"{stamp.format(2)} {login('root', '192.0.2.7', 1)[16:]}"]
    body = as_sections(SECTION.folds(findings(lines)))
    assert heading in body
    assert ("UTC" in body) == ("UTC" in heading)


def spread(count: int, *, accepted_at: int | None = None) -> list[str]:
    """Failures of ``count`` sources for as many accounts; one source logs in after its failure."""
    lines = []
    for n in range(count):
        head = f"Nov 20 {n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} web1 sshd[{n + 9}]:"
        lines.append(f"{head} Failed password for u{n} from 198.51.{n // 250}.{n % 250} port 4 ssh2")
        if n == accepted_at:
            lines.append(f"{head} Accepted password for u{n} from 198.51.{n // 250}.{n % 250} port 4 ssh2")
    return lines


def test_many_sources_with_a_failure_each_are_an_attack_together():
    verdict = opening(SECTION, findings(spread(400)))
    assert verdict.startswith("**Password guessing; no attacking source logged in.** (low, medium confidence)")
    assert "(none conspicuous on its own, but attacking together)" in verdict
    assert SECTION.verdict(findings(spread(15))).startswith("**No password attack.**")


def test_a_login_in_a_distributed_attack_is_in_doubt():
    lines = spread(400, accepted_at=77)
    assert SECTION.verdict(findings(lines)).startswith("**Password guessing, and `u77` logged in from ")
    asked = findings(lines, "Was there a successful brute force?")
    assert SECTION.verdict(asked).startswith("**Cannot tell: `u77` logged in from ")


def mail_log(seed: int) -> tuple[list[str], Counter[tuple[str, str]]]:
    """Mail servers whose PAM lines name no source, or come from processes of their own."""
    rand = random.Random(seed)
    lines: list[str] = []
    truth: Counter[tuple[str, str]] = Counter()
    now = datetime(2026, 11, 20, 3, 0, 0)

    def write(text: str) -> None:
        lines.append(f"{now:%b %d %H:%M:%S} mx1 {text}")

    for number in range(60):
        now += timedelta(seconds=rand.randrange(30, 200))
        source, user = f"203.0.113.{rand.randrange(5)}", rand.choice(["info", "sales", "root"])
        if rand.random() < 0.5:
            empty = f"authentication failure; logname= uid=0 euid=0 tty= ruser= rhost=  user={user}"
            write(f"saslauthd[{500 + number % 5}]: pam_unix(smtp:auth): {empty}")
            now += timedelta(seconds=rand.randrange(0, 4))
            known = rand.choice(["", f", sasl_username={user}"])
            write(
                f"postfix/smtpd[{number + 9}]: warning: unknown[{source}]: SASL LOGIN authentication failed: x{known}"
            )
            truth[source, user] += 1
            continue
        tries, began = rand.choice([1, 2, 3]), now
        for _ in range(tries):
            remote = (
                f"authentication failure; logname= uid=0 euid=0 tty=dovecot ruser={user} rhost={source}  user={user}"
            )
            write(f"auth[{rand.randrange(700, 800)}]: pam_unix(dovecot:auth): {remote}")
            now += timedelta(seconds=rand.randrange(2, 12))
        seconds = int((now - began).total_seconds())
        end = f"(auth failed, {tries} attempts in {seconds} secs): user=<{user}>, method=PLAIN, rip={source}"
        write(f"dovecot: imap-login: Disconnected {end}, lip=192.0.2.1")
        truth[source, user] += tries
    return lines, truth


@pytest.mark.parametrize("seed", SEEDS)
def test_attempts_on_a_mail_server_count_once(seed: int):
    lines, truth = mail_log(seed)
    counted = Counter[str]()
    for source in with_facts(findings(lines), AuthSource):
        counted[source.facts.source] += source.facts.failures
    expected = Counter[str]()
    for (source_name, _), count in truth.items():
        expected[source_name] += count
    assert counted == expected


FREEBSD = [
    "Nov 20 03:11:01 bsd sshd[7]: error: PAM: Authentication error for root from dsl-7.example.net",
    "Nov 20 03:11:01 bsd sshd[7]: Failed keyboard-interactive/pam for root from 203.0.113.7 port 4 ssh2",
    "Nov 20 03:11:09 bsd sshd[8]: Address 203.0.113.7 maps to dsl-7.example.net, but this does not map back to it",
    "Nov 20 03:11:09 bsd sshd[8]: error: PAM: Authentication error for illegal user ann from dsl-7.example.net",
]


def test_a_name_in_the_error_log_and_an_address_are_one_source():
    sources = {one.facts.source: one.facts.failures for one in with_facts(findings(FREEBSD), AuthSource)}
    assert sources == {"203.0.113.7": 2}


def ordinary(seed: int) -> list[str]:
    """Weeks of people who mistype, refused keys, a script with an old password, jobs, and the Internet's noise."""
    rand = random.Random(seed)
    log = SshLog(seed)
    log.now = datetime(2026, 11, 2, 7, 0, 0)
    for _ in range(120):
        name, source = rand.choice([("ann", "10.0.0.7"), ("ben", "10.0.1.8"), ("carla", "10.0.0.7")])
        log.pid += 3
        for _ in range(rand.choice([0, 0, 0, 0, 1, 1, 2, 3])):
            log.write(
                f"pam_unix(sshd:auth): authentication failure; logname= uid=0 tty=ssh rhost={source}  user={name}"
            )
            log.wait(1, 3)
            log.write(f"Failed password for {name} from {source} port 4011 ssh2")
            log.wait(5, 20)
        if rand.random() < 0.2:
            log.write(f"Failed publickey for {name} from {source} port 4011 ssh2: RSA SHA256:Zm9v")
        log.accepted(name, source, rand.choice(["password", "publickey"]))
        if rand.random() < 0.2:
            log.write(f"{name} : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/ls", program="sudo")
        if rand.random() < 0.3:
            log.noise()
        log.wait(600, 9_000)
    for _ in range(rand.choice([0, 9])):
        log.wait(3_500, 3_700)
        log.write("Failed password for backup from 10.0.0.20 port 4011 ssh2")
    log.accepted("backup", "10.0.0.20")
    return log.lines


@pytest.mark.parametrize("seed", SEEDS)
def test_an_ordinary_log_has_no_finding_of_high_severity(seed: int):
    found = findings(ordinary(seed))
    assert [finding.title for finding in found if finding.severity in (Severity.CRITICAL, Severity.HIGH)] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_an_attack_in_which_nobody_gets_in_is_at_most_medium(seed: int):
    found = findings(attack(seed).lines, "Was there a successful brute force?")
    assert not [finding for finding in found if finding.severity in (Severity.CRITICAL, Severity.HIGH)]
    assert SECTION.verdict(found).startswith("**No: no source that guessed passwords logged in.** (")


def test_the_second_account_that_an_attacker_logs_in_to_is_compromised_too():
    head = "Nov 20 03:11:0{} web1 sshd[{}]: {} password for {} from 203.0.113.9 port 4 ssh2"
    lines = [head.format(n, n + 1, "Failed", "root") for n in range(6)]
    lines += [head.format(7, 8, "Accepted", "root"), head.format(8, 9, "Accepted", "deploy")]
    found = accepted(findings(lines))
    assert [(one.facts.account, one.severity) for one in found] == [
        ("root", Severity.CRITICAL),
        ("deploy", Severity.HIGH),
    ]
    verdict = SECTION.verdict(findings(lines, "Is the host compromised?"))
    assert verdict.startswith(
        "**Yes: 2 compromised accounts: `deploy`, `root`, from 1 source.** (critical, high confidence)"
    )
