"""Failed logins are counted once each, in every log format."""

import random
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Finding, Gap, Progress, Severity
from svc.assistant.skills.logins.answer import verdict
from svc.assistant.skills.logins.counting import LoginCounts
from svc.assistant.skills.logins.tool import inspect

PAM = "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={source}"


def run(lines, **options):
    return list(inspect(lines, source="auth.log", **options))


def findings(lines, kind, **options):
    return [item for item in run(lines, **options) if isinstance(item, Finding) and item.kind == kind]


def summary(lines, **options):
    return findings(lines, "auth_summary", **options)[0].facts


def gaps(lines):
    return " / ".join(item.text for item in run(lines) if isinstance(item, Gap))


def ssh(message, pid=1, time="Nov 20 03:12:45"):
    return f"{time} web1 sshd[{pid}]: {message}"


def failed(source="192.0.2.7", user="root", pid=1, time="Nov 20 03:12:45", port=50_000):
    return ssh(f"Failed password for {user} from {source} port {port} ssh2", pid, time)


class Attack:
    """A log with known truth: what an attacker and its noise write, in rsyslog's forms."""

    def __init__(self, seed, attempts, form):
        self.random = random.Random(seed)
        self.lines = []
        self.truth = Counter()
        self.form = form
        self.seconds = 0.0
        for number in range(attempts):
            self.attempt(number + 300)

    def attempt(self, pid):
        source = self.random.choice(["192.0.2.7", "198.51.100.4", "2001:db8::9", "203.0.113.80"])
        user = self.random.choice(["root", "admin", "oracle", "jane doe"])
        known = self.random.random() < 0.6
        name = user if known else f"invalid user {user}"
        port = self.random.randrange(1024, 65_000)
        if not known:
            self.write(pid, f"Invalid user {user} from {source} port {port}")
        if self.random.random() < 0.7:
            self.write(pid, PAM.format(source=source) + (f"  user={user}" if known else ""))
        tries = self.random.choice([1, 1, 1, 3])
        failure = f"Failed password for {name} from {source} port {port} ssh2"
        self.write(pid, failure)
        if tries > 1:
            self.write(pid, f"message repeated {tries - 1} times: [ {failure}]")
            self.write(
                pid, f"PAM {tries - 1} more authentication failures; logname= uid=0 tty=ssh ruser= rhost={source}"
            )
        kind = "authenticating" if known else "invalid"
        self.write(
            pid,
            f"Connection closed by {kind} user {user} {source} port {port} [preauth]",
        )
        self.write(pid, "Received signal 15; terminating.")
        self.truth[source, user] += tries

    def write(self, pid, message):
        self.seconds += self.random.random() * 2
        day, rest = divmod(int(self.seconds), 86_400)
        clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        stamp = f"Nov {day + 1:2} {clock}" if self.form == "syslog" else f"2026-11-{day + 1:02}T{clock}.250000+01:00"
        self.lines.append(f"{stamp} web1 sshd[{pid}]: {message}")


@pytest.mark.parametrize("form", ["syslog", "iso"])
@pytest.mark.parametrize("seed", range(4))
def test_counts_per_source_and_account_match_the_generated_attack(seed, form):
    attack = Attack(seed, 600, form)
    counted = {
        (found.facts.source, row.account): row.failures
        for found in findings(attack.lines, "auth_source")
        for row in found.facts.by_account
    }
    assert counted == attack.truth
    assert summary(attack.lines).failures == attack.truth.total()
    assert summary(attack.lines).attempts == 0


def test_accounts_add_up_to_the_same_failures_as_sources():
    attack = Attack(9, 300, "iso")
    by_account = Counter()
    for (_, user), failures in attack.truth.items():
        by_account[user] += failures
    counted = {f.facts.account: f.facts.failures for f in findings(attack.lines, "auth_account")}
    assert counted == by_account


@pytest.mark.parametrize(
    ("lines", "failures", "attempts"),
    [
        pytest.param([failed()], 1, 0, id="sshd alone"),
        pytest.param([ssh(PAM.format(source="192.0.2.7"))], 1, 0, id="PAM alone"),
        pytest.param([ssh(PAM.format(source="192.0.2.7")), failed()], 1, 0, id="PAM and sshd, one process"),
        pytest.param(
            [ssh(PAM.format(source="192.0.2.7"), pid=5), failed(pid=4)], 1, 0, id="PAM in a process of its own"
        ),
        pytest.param(
            [ssh(PAM.format(source="192.0.2.7"), pid=5), failed(pid=4), failed(pid=5)],
            2,
            0,
            id="two processes, two failures",
        ),
        pytest.param(
            [
                ssh(PAM.format(source="192.0.2.7")),
                ssh(PAM.format(source="192.0.2.7").replace("pam_unix", "pam_sss")),
                failed(),
            ],
            1,
            0,
            id="two PAM modules",
        ),
        pytest.param(
            [failed(), ssh("message repeated 4 times: [ " + failed().split(": ", 1)[1] + "]")], 5, 0, id="repeated"
        ),
        pytest.param(
            [failed(), "Nov 20 03:12:46 web1 last message repeated 3 times"], 4, 0, id="last message repeated"
        ),
        pytest.param(
            [failed(), "Nov 20 03:12:46 web1 CRON[1]: job", "Nov 20 03:12:46 web1 last message repeated 3 times"],
            1,
            0,
            id="another message repeated",
        ),
        pytest.param([ssh("Invalid user bob from 192.0.2.7 port 4")], 0, 1, id="only named"),
        pytest.param(
            [
                ssh("Invalid user bob from 192.0.2.7 port 4"),
                ssh("Connection closed by invalid user bob 192.0.2.7 port 4 [preauth]"),
            ],
            0,
            1,
            id="named and closed",
        ),
        pytest.param(
            [ssh("Invalid user bob from 192.0.2.7 port 4", pid=7), failed(user="invalid user bob", pid=8, port=4)],
            1,
            0,
            id="named and failed under another process id",
        ),
        pytest.param(
            [ssh("error: maximum authentication attempts exceeded for root from 192.0.2.7 port 4 ssh2 [preauth]")],
            0,
            1,
            id="maximum exceeded",
        ),
        pytest.param(
            [ssh("Failed publickey for root from 192.0.2.7 port 4 ssh2: RSA SHA256:a")], 0, 0, id="refused key"
        ),
        pytest.param([ssh("Failed none for invalid user x from 192.0.2.7 port 4 ssh2")], 0, 1, id="method none"),
        pytest.param([ssh("Connection closed by 192.0.2.7 port 4 [preauth]")], 0, 0, id="scan"),
        pytest.param([ssh("Failed keyboard-interactive/pam for root from 192.0.2.7 port 4 ssh2")], 1, 0, id="keyboard"),
        pytest.param([ssh("error: PAM: Authentication failure for illegal user x from host.example")], 1, 0, id="BSD"),
        pytest.param(
            ["Jun 14 15:16:01 h sshd(pam_unix)[1]: authentication failure; uid=0 tty=NODEVssh rhost=192.0.2.7"],
            1,
            0,
            id="old PAM",
        ),
        pytest.param(["Nov 20 03:12:45 h su[3]: FAILED SU (to root) bob on pts/1"], 1, 0, id="su"),
        pytest.param(
            [
                "Nov 20 03:12:45 h sudo: pam_unix(sudo:auth): authentication failure; uid=1 ruser=bob rhost=  user=bob",
                "Nov 20 03:12:49 h sudo:   bob : 3 incorrect password attempts ; TTY=pts/0 ; COMMAND=/bin/sh",
            ],
            3,
            0,
            id="sudo",
        ),
        pytest.param(
            ['Fri Nov 20 03:12:45 2026 [pid 3] [bob] FAIL LOGIN: Client "::ffff:192.0.2.7"'], 1, 0, id="vsftpd"
        ),
        pytest.param(
            ["Nov 20 03:12:45 h dovecot: imap-login: Aborted (auth failed, 2 attempts): user=<b>, rip=192.0.2.7"],
            2,
            0,
            id="dovecot",
        ),
        pytest.param(["<38>1 2026-11-20T03:12:45Z h sshd 5 - - " + failed().split(": ", 1)[1]], 1, 0, id="RFC 5424"),
        pytest.param([failed().split(": ", 1)[1]], 1, 0, id="a line cut out of its log"),
        pytest.param(["auth.log:12:" + failed()], 1, 0, id="grep's output"),
        pytest.param(["Nov 20 03:12:45 h app[1]: it Failed to start"], 0, 0, id="another program"),
    ],
)
def test_each_failed_attempt_counts_once(lines, failures, attempts):
    counted = summary(lines)
    assert (counted.failures, counted.attempts) == (failures, attempts)


SERVICES = {
    "dropbear": "dropbear[7]: Bad password attempt for 'root' from 192.0.2.7:4011",
    "pure-ftpd": "pure-ftpd: (?@192.0.2.7) [WARNING] Authentication failed for user [root]",
    "proftpd": "proftpd[9]: ftp1 (192.0.2.7[192.0.2.7]): USER root (Login failed): Incorrect password",
    "postfix": (
        "postfix/smtpd[3]: warning: unknown[192.0.2.7]: SASL LOGIN authentication failed: (reason unavailable), "
        "sasl_username=root"
    ),
    "exim": "exim[1]: login authenticator failed for x [192.0.2.7]: 535 Incorrect authentication data (set_id=root)",
    "mysql": "mysqld[5]: 2026-11-20T03:12:45Z 3 [Note] Access denied for user 'root'@'192.0.2.7' (using password: YES)",
    "proxmox": "pvedaemon[4]: authentication failure; rhost=::ffff:192.0.2.7 user=root msg=Authentication failure",
    "samba": (
        "smbd[8]: Auth: [SMB2,(null)] user [WG]\\[root] at [Fri] with [NTLMv2] status [NT_STATUS_WRONG_PASSWORD] "
        "workstation [X] remote host [ipv4:192.0.2.7:44890] mapped to [WG]\\[root]. local host [ipv4:10.0.0.1:445]"
    ),
}


@pytest.mark.parametrize("line", SERVICES.values(), ids=SERVICES)
@pytest.mark.parametrize("head", ["Nov 20 03:12:45 web1 ", ""], ids=["syslog", "its own file"])
def test_other_services_count_per_source_and_account(line, head):
    lines = [head + line if head else line.partition(": ")[2]] * 6
    (source,) = findings(lines, "auth_source")
    assert source.facts.source == "192.0.2.7"
    assert ([row.account for row in source.facts.by_account], source.facts.failures) == (["root"], 6)
    assert not head or source.facts.pattern == "brute force"  # without times nothing is known of the pace


@pytest.mark.parametrize("line", [line for name, line in SERVICES.items() if name != "exim"])
def test_a_log_of_failures_of_other_services_is_a_login_log(line):
    assert identify(f"Nov 20 03:12:45 web1 {line}\n".encode() * 3, "x.log")[1] == "authlog"


@pytest.mark.parametrize(
    "piece", ["Auth: [a] user [b]\\[c] ", "client=[", "authenticator failed for ", "[1.1.1.1]: SASL X "]
)
def test_a_line_crafted_to_be_slow_is_read_quickly(piece):
    start = time.process_time()
    run([piece * 8_000 + "NT_STATUS_ sasl_username="])
    assert time.process_time() - start < 1


def test_a_guessed_mail_password_is_a_success_after_failures():
    let_in = "postfix/smtpd[3]: 4F2: client=unknown[192.0.2.7], sasl_method=LOGIN, sasl_username=root"
    lines = ["Nov 20 03:12:45 web1 " + SERVICES["postfix"]] * 6 + ["Nov 20 03:13:00 web1 " + let_in]
    (success,) = findings(lines, "auth_success")
    assert (success.facts.account, success.facts.streak) == ("root", 6)


def test_an_account_named_like_an_address_does_not_move_the_blame():
    name = "invalid user root from 203.0.113.1 port 1 ssh2"
    found = findings([failed(user=name, source="192.0.2.7")], "auth_source")
    assert [f.facts.source for f in found] == ["192.0.2.7"]


def test_ipv4_written_as_ipv6_is_the_same_source():
    found = findings([failed(source="::ffff:192.0.2.7", pid=1), failed(source="192.0.2.7", pid=2)], "auth_source")
    assert [(f.facts.source, f.facts.failures) for f in found] == [("192.0.2.7", 2)]


@pytest.mark.parametrize(
    ("before", "method", "severity"),
    [
        pytest.param(1, "password", Severity.LOW, id="mistyped once"),
        pytest.param(3, "password", Severity.MEDIUM, id="three in a row"),
        pytest.param(6, "password", Severity.CRITICAL, id="guessed"),
        pytest.param(6, "publickey", Severity.HIGH, id="guessed, then a key"),
    ],
)
def test_success_after_failure_is_as_severe_as_the_failures_before(before, method, severity):
    lines = [failed(pid=number) for number in range(before)]
    lines.append(ssh(f"Accepted {method} for root from 192.0.2.7 port 9 ssh2", pid=99, time="Nov 20 03:13:00"))
    [found] = findings(lines, "auth_success")
    assert (found.severity, found.facts.streak, found.facts.line) == (severity, before, before + 1)
    assert found.evidence[0].excerpt == lines[-1]


def test_success_without_prior_failures_is_a_fact_without_severity():
    lines = [failed(source="192.0.2.7"), ssh("Accepted password for root from 198.51.100.1 port 9 ssh2", pid=9)]
    [found] = findings(lines, "auth_success")
    facts = found.facts
    assert (found.severity, facts.source, facts.streak, facts.earlier_logins) == (Severity.INFO, "198.51.100.1", 0, 0)
    assert (facts.failures_before, facts.account_failures_before, facts.all_failures_before) == (0, 0, 1)


@pytest.mark.parametrize(
    ("accounts", "tries", "pattern"),
    [
        pytest.param(1, 2, "few failures", id="a person"),
        pytest.param(1, 30, "brute force", id="one account"),
        pytest.param(40, 1, "password spraying", id="many accounts once"),
        pytest.param(5, 40, "brute force", id="many accounts many times"),
    ],
)
def test_the_pattern_of_a_source_is_classified(accounts, tries, pattern):
    lines = [failed(user=f"u{n % accounts}", pid=n) for n in range(accounts * tries)]
    assert [f.facts.pattern for f in findings(lines, "auth_source")] == [pattern]


def test_first_and_last_are_times_and_lines_of_the_log():
    lines = [
        ssh(PAM.format(source="192.0.2.7"), time="Nov 20 03:12:43"),
        failed(time="Nov 20 03:12:45"),
        failed(pid=2, time="Nov 20 04:00:01"),
    ]
    [found] = findings(lines, "auth_source")
    assert (found.facts.first, found.facts.last) == ("--11-20T03:12:45", "--11-20T04:00:01")
    assert (found.facts.first_line, found.facts.last_line) == (2, 3)


def test_december_stays_before_january_and_the_missing_year_is_reported():
    lines = [failed(time="Dec 31 23:59:59"), failed(pid=2, time="Jan  1 00:00:04")]
    [found] = findings(lines, "auth_source")
    assert (found.facts.first, found.facts.last) == ("--12-31T23:59:59", "--01-01T00:00:04")
    assert found.facts.per_minute == 24.0
    assert "no year" in gaps(lines)


def test_zone_of_the_log_is_kept():
    counted = summary([failed(time="2026-11-20T03:12:45+02:00")])
    assert (counted.first, counted.zone, counted.has_year) == ("2026-11-20T03:12:45+02:00", "+02:00", True)


@pytest.mark.parametrize(
    ("after", "before", "kept"),
    [("03:00", None, 3), (None, "03:00", 1), ("03:00", "04:00", 2), ("22:00", "03:00", 2)],
)
def test_time_of_day_keeps_a_part_of_each_day(after, before, kept):
    clocks = ["01:00:00", "03:00:00", "03:59:59", "23:00:00"]
    lines = [failed(pid=n, time=f"Nov 20 {clock}") for n, clock in enumerate(clocks)]
    assert summary(lines, after=after, before=before).failures == kept


def test_a_text_without_logins_is_reported_as_such():
    assert "no login lines" in gaps(["hello", "world"])


def test_names_over_the_limit_are_counted_together_and_reported(monkeypatch):
    monkeypatch.setattr(LoginCounts, "max_names", 10)
    lines = [
        line
        for n in range(50)
        for line in (ssh(PAM.format(source=f"192.0.2.{n}"), n), failed(f"192.0.2.{n}", f"u{n}", n))
    ]
    assert summary(lines).failures == 50
    assert sum(f.facts.failures for f in findings(lines, "auth_source")) == 50
    assert "failures are not attributed" in gaps(lines)


def test_progress_has_figures():
    told = [item.text for item in run([failed(pid=n) for n in range(2_500)]) if isinstance(item, Progress)]
    assert told == [
        "read 2,000 lines: 2,000 failed logins from 1 source, 0 accepted",
        "read 2,500 lines: 2,500 failed logins from 1 source, 0 accepted",
    ]


PIECES = st.sampled_from([
    "Nov 20 03:12:45 ", "Feb 31 25:00:00 ", "2026-99-20T03:12:45+99:99 ", "h ", "sshd[1]: ", "sshd[", "sudo: ",
    "su: ", "login: ",
    "Failed password for ", "invalid user ", "root", " from ", "1.2.3.4", "::1", " port ", "22", " ssh2", "Accepted ",
    "message repeated 999999999 times: [ ", "message repeated 0 times: [", "]", "last message repeated 5 times",
    "pam_unix(sshd:auth): authentication failure; ", "rhost=", "user=", "\x00", "\ufeff",
    "PAM 9 more authentication failures; ",
    " : 3 incorrect password attempts ; ", "FAILED LOGIN", "Invalid user ", "[preauth]",
    "\u202e", "`|", "\n",
])  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.lists(PIECES | st.text(max_size=6), max_size=9).map("".join), max_size=8))
def test_any_line_is_read(lines):
    counted = summary(lines)
    assert counted.failures >= 0
    assert counted.lines == len(lines)


@pytest.mark.long
@settings(max_examples=20_000, deadline=None)
@given(st.lists(st.lists(PIECES | st.text(max_size=20), max_size=15).map("".join), max_size=20))
def test_any_of_many_lines_is_read(lines):
    assert summary(lines).lines == len(lines)


@pytest.mark.parametrize(
    "lines", [[], [""], ["time,user,result", "03:00,root,success"]], ids=["none", "empty", "table"]
)
def test_a_log_without_login_lines_is_not_examined_instead_of_free_of_failures(lines: list[str]):
    items = [item for item in inspect(lines, source="auth.log") if isinstance(item, Finding)]
    assert verdict(items).startswith("**Not examined")
