"""Login logs with known truth, in the forms that sshd, PAM and syslog daemons write. A log depends on its seed only.

Seeds below ``HELD`` were used during development; the others, which draw from more forms, were held out until its end.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

HELD = 15
OPEN_SEEDS = range(HELD)
HELD_SEEDS = range(HELD, 2 * HELD)

START = datetime(2026, 12, 10, 6, 55, 46)
ACCOUNTS = ("root", "admin", "oracle", "test", "fztu", "jane doe", "www-data", "0", "postgres", "guest")
WORDS = ("dsl", "pool", "static", "cable", "host", "vps", "ns", "mail")


@dataclass(frozen=True)
class Source:
    """A source with its address and, if sshd resolves addresses, the name that PAM is given."""

    address: str
    name: str


@dataclass
class SshLog:
    """An sshd log: call the methods for what happens, then compare ``lines`` with the truth."""

    seed: int
    lines: list[str] = field(default_factory=list)
    truth: Counter[tuple[str, str]] = field(default_factory=Counter)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        is_held = self.seed >= HELD
        self.form = self.random.choice(["syslog", "iso"] + ["journal", "rfc5424"] * is_held)
        self.program = self.random.choice(["sshd"] + ["sshd-session"] * is_held)
        self.modules = self.random.choice([("unix",)] + [("unix", "sss")] * is_held)
        self.has_repeats = self.random.random() < 0.7
        self.is_resolving = self.random.random() < 0.8
        self.is_pam_apart = is_held and self.random.random() < 0.3  # keyboard-interactive: PAM in its own process
        self.now = START
        self.pid = self.random.randrange(1_000, 30_000)
        self.sources = [self._source(number) for number in range(self.random.randrange(4, 24))]

    def _source(self, number: int) -> Source:
        octets = self.random.choice(["192.0.2", "198.51.100", "203.0.113"]), str(number + 3)
        address = ".".join(octets)
        if self.seed >= HELD and self.random.random() < 0.2:
            return Source(f"2001:db8::{number + 1:x}", f"v6-{number}.{self.random.choice(WORDS)}.example.net")
        if not self.is_resolving or self.random.random() < 0.5:
            return Source(address, address)
        flat = address.replace(".", self.random.choice(".-"))
        return Source(address, f"{flat}.{self.random.choice(WORDS)}.example.{self.random.choice(['com', 'net', 'om'])}")

    def write(self, message: str, pid: int | None = None, program: str = "") -> None:
        program = program or self.program
        pid = self.pid if pid is None else pid
        if self.form == "journal":
            micros = int((self.now - datetime(1970, 1, 1)).total_seconds() * 1_000_000)
            entry = {
                "__REALTIME_TIMESTAMP": str(micros), "_HOSTNAME": "labsz", "SYSLOG_IDENTIFIER": program,
                "_PID": str(pid), "MESSAGE": message,
            }  # fmt: skip
            self.lines.append(json.dumps(entry))
            return
        if self.form == "rfc5424":
            self.lines.append(f"<38>1 {self.now.isoformat()}Z labsz {program} {pid} - - {message}")
            return
        stamp = f"{self.now:%b} {self.now.day:2} {self.now:%H:%M:%S}"
        if self.form == "iso":
            stamp = f"{self.now.isoformat()}.250000+01:00"
        self.lines.append(f"{stamp} LabSZ {program}[{pid}]: {message}")

    def wait(self, low: float, high: float) -> None:
        self.now += timedelta(seconds=round(self.random.uniform(low, high)))

    def connect(self) -> tuple[Source, int]:
        """Begin a connection; sshd may note that the name of the address is not its own."""
        self.wait(1, 40)
        self.pid += self.random.randrange(1, 4)
        source = self.random.choice(self.sources)
        if source.name == source.address and self.random.random() < 0.2:
            self.write(
                f"reverse mapping checking getaddrinfo for {source.address.replace('.', '-')}.example.org "
                f"[{source.address}] failed - POSSIBLE BREAK-IN ATTEMPT!"
            )
        return source, self.random.randrange(1_024, 65_000)

    def failed(self) -> None:
        """One connection with one to six failed passwords."""
        source, port = self.connect()
        user = self.random.choice(ACCOUNTS)
        is_known = self.random.random() < 0.6
        tries = self.random.choice([1, 1, 1, 2, 3, 6])
        shown = user if is_known else f"invalid user {user}"
        rhost = f"logname= uid=0 euid=0 tty=ssh ruser= rhost={source.name} {f' user={user}' if is_known else ''}"
        pam_pid = self.pid + 1 if self.is_pam_apart else self.pid
        if not is_known:
            self.write(f"Invalid user {user} from {source.address}" + (f" port {port}" if self.seed % 2 else ""))
            self.write(f"input_userauth_request: invalid user {user} [preauth]")
            self.write("pam_unix(sshd:auth): check pass; user unknown", pam_pid)
        for module in self.modules:
            self.write(f"pam_{module}(sshd:auth): authentication failure; {rhost}", pam_pid)
        method = "keyboard-interactive/pam" if self.is_pam_apart else "password"
        line = f"Failed {method} for {shown} from {source.address} port {port} ssh2"
        self.wait(1, 3)
        self.write(line)
        if tries > 1 and self.has_repeats:
            self.wait(2, 12)
            self.write(f"message repeated {tries - 1} times: [ {line}]")
        else:
            for _ in range(tries - 1):
                if self.random.random() < 0.3:
                    self.write("pam_unix(sshd:auth): check pass; user unknown", pam_pid)
                self.wait(1, 4)
                self.write(line)
        if tries == 6:
            self.write(f"Disconnecting: Too many authentication failures for {shown} [preauth]")
        else:
            ended = "Received disconnect from {}: 11: Bye Bye [preauth]", "Connection closed by {} [preauth]"
            self.write(self.random.choice(ended).format(source.address))
        if tries > 1:
            failures = "failure" if tries == 2 else "failures"
            self.write(f"PAM {tries - 1} more authentication {failures}; {rhost}", pam_pid)
        if tries > 3:
            self.write(f"PAM service(sshd) ignoring max retries; {tries} > 3", pam_pid)
        if self.is_pam_apart:
            self.pid += 1
        self.truth[source.address, user] += tries

    def noise(self) -> None:
        """Lines that are no attempt with a password."""
        source, port = self.connect()
        kind = self.random.randrange(6)
        if kind == 0:
            self.write(f"Did not receive identification string from {source.address}")
        elif kind == 1:
            self.write(f"Connection closed by {source.address} [preauth]")
        elif kind == 2:
            self.write("fatal: Write failed: Connection reset by peer [preauth]")
        elif kind == 3:
            self.write(f"Bad protocol version identification '\\003' from {source.address} port {port}")
        elif kind == 4:
            self.write("pam_unix(cron:session): session opened for user root by (uid=0)", program="CRON")
            self.write("pam_unix(cron:session): session closed for user root", program="CRON")
        else:
            self.write(f"Invalid user ftpuser from {source.address}")
            self.write("input_userauth_request: invalid user ftpuser [preauth]")
            self.write(f"Connection closed by {source.address} [preauth]")
            self.attempts += 1

    def accepted(self, account: str, address: str, method: str = "password") -> int:
        """A login without failures before it; returns its line."""
        self.wait(1, 40)
        self.pid += 5
        port = self.random.randrange(1_024, 65_000)
        key = ": RSA SHA256:Zm9v" if method == "publickey" else ""
        self.write(f"Accepted {method} for {account} from {address} port {port} ssh2{key}")
        line = len(self.lines)
        self.write(f"pam_unix(sshd:session): session opened for user {account} by (uid=0)")
        self.wait(20, 300)
        self.write(f"pam_unix(sshd:session): session closed for user {account}")
        return line


def attack(seed: int, connections: int = 200) -> SshLog:
    """An attack by several sources in which nobody gets in."""
    log = SshLog(seed)
    for _ in range(connections):
        log.failed() if log.random.random() < 0.8 else log.noise()
    return log


@dataclass(frozen=True)
class Entry:
    """The one login that an answer must name."""

    account: str
    source: str
    method: str
    line: int
    failures: int = 0
    reason: str = ""


def only_accepted(seed: int) -> tuple[list[str], Entry]:
    """An attack in which one login is accepted, from an address that never failed."""
    log = SshLog(seed)
    count = log.random.randrange(10, 120)
    at = log.random.randrange(count)
    account = log.random.choice(("fztu", "mara", "deploy", "root", "svc backup"))
    source = log.random.choice(("119.137.62.142", "198.51.100.200", "10.8.0.3", "2001:db8:9::7"))
    method = log.random.choice(("password", "publickey", "keyboard-interactive/pam"))
    line = 0
    for number in range(count):
        if number == at:
            line = log.accepted(account, source, method)
        log.failed() if log.random.random() < 0.8 else log.noise()
    return log.lines, Entry(account, source, method, line)


_SERVICES = {
    "sshd": (
        "sshd[{pid}]: Failed password for {user} from {source} port {port} ssh2",
        "sshd[{pid}]: Accepted password for {user} from {source} port {port} ssh2",
    ),
    "vsftpd": (
        'vsftpd[{pid}]: [{user}] FAIL LOGIN: Client "{source}"', 'vsftpd[{pid}]: [{user}] OK LOGIN: Client "{source}"'
    ),
    "dovecot": (
        "dovecot: imap-login: Aborted login (auth failed, 1 attempts in 2 secs): user=<{user}>, rip={source}",
        "dovecot: imap-login: Login: user=<{user}>, method=PLAIN, rip={source}, lip=192.0.2.1",
    ),
    "dropbear": (
        "dropbear[{pid}]: Bad password attempt for '{user}' from {source}:{port}",
        "dropbear[{pid}]: Password auth succeeded for '{user}' from {source}:{port}",
    ),
    "proftpd": (
        "proftpd[{pid}]: ftp1 ({source}[{source}]): USER {user} (Login failed): Incorrect password",
        "proftpd[{pid}]: ftp1 ({source}[{source}]): USER {user}: Login successful",
    ),
    "postfix": (
        "postfix/smtpd[{pid}]: warning: unknown[{source}]: SASL LOGIN authentication failed: x, sasl_username={user}",
        "postfix/smtpd[{pid}]: 4F2: client=unknown[{source}], sasl_method=LOGIN, sasl_username={user}",
    ),
}  # fmt: skip


def few_failures(seed: int) -> tuple[list[str], Entry]:
    """One to four failures of a source and then its login, alone or among other lines."""
    rand = random.Random(seed)
    names = list(_SERVICES)[: 3 if seed < HELD else None]
    failed, accepted = _SERVICES[rand.choice(names)]
    failures = rand.choice((1, 2, 2, 3, 4))
    account = rand.choice(("root", "mara", "deploy", "info"))
    source = rand.choice(("203.0.113.9", "198.51.100.23", "2001:db8::9"))
    moment = datetime(2026, 11, 20, 3, 11, 2)
    lines: list[str] = []

    def write(text: str) -> None:
        nonlocal moment
        moment += timedelta(seconds=rand.randrange(1, 9))
        filled = text.format(user=account, source=source, pid=rand.randrange(800, 999), port=rand.randrange(40_000))
        lines.append(f"{moment:%b %d %H:%M:%S} web-3 {filled}")

    for number in range(rand.choice((0, 0, 6))):
        write(f"CRON[{number + 1}]: pam_unix(cron:session): session opened for user root by (uid=0)")
    for _ in range(failures):
        write(failed)
    write(accepted)
    line = len(lines)
    for number in range(rand.choice((0, 3))):
        write(f"CRON[{number + 9}]: pam_unix(cron:session): session closed for user root")
    return lines, Entry(account, source, "password", line, failures)


def usual_logins(seed: int) -> tuple[list[str], Entry | None]:
    """Weeks of ordinary logins; in two of three logs one login is unusual: its source, method or hour."""
    log = SshLog(seed)
    log.now = datetime(2026, 11, 2, 7, 0, 0)
    people = {
        name: (
            f"10.0.{number}.{log.random.randrange(2, 250)}",
            log.random.choice(("publickey", "password")),
            8 + number,
        )
        for number, name in enumerate(("ann", "ben", "carla", "dmitri")[: log.random.randrange(1, 5)])
    }
    moments = sorted(
        (log.now + timedelta(days=day, hours=hour - 7, minutes=log.random.randrange(100)), name)
        for day in range(20) for name, (_, _, hour) in people.items()
    )  # fmt: skip
    reason = ("", "source", "method", "hour", "source", "method", "hour")[seed % 7]
    odd_at, odd_line = log.random.randrange(len(moments) // 2, len(moments)), 0
    for number, (moment, name) in enumerate(moments):
        source, method, _ = people[name]
        if number == odd_at and reason:
            log.now = moment.replace(hour=2, minute=33) if reason == "hour" else moment
            source = "198.51.100.77" if reason == "source" else source
            method = {"password": "publickey", "publickey": "password"}[method] if reason == "method" else method
            odd_line = log.accepted(name, source, method)
            odd = Entry(name, source, method, odd_line, reason=reason)
        else:
            log.now = moment
            log.accepted(name, source, method)
    return log.lines, odd if reason else None
