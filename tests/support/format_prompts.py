"""Prompts that request an output format, as users and public benchmarks word them: an open half and a held one.

Each prompt is put together from a task (question, evidence, what is true), the wording of a format, and an order. The
two halves share no wording and no evidence. Every example in a prompt has a value that is not the true one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

from tests.support.format_wordings import HELD_ROLES, HELD_WORDINGS, OPEN_ROLES, OPEN_WORDINGS

UNKNOWN = "unknown"


class Task(NamedTuple):
    """A question with its evidence; ``truth`` is the value that ``noun`` has, ``example`` one that it has not."""

    question: str
    evidence: str
    noun: str
    key: str
    truth: str
    example: str
    options: tuple[str, ...] = ()  # of a multiple choice: the texts of A, B, C, D
    log: str = ""  # attached as auth.log


class Case(NamedTuple):
    """One prompt; ``detail`` is what the checker of ``kind`` needs besides the task."""

    kind: str
    prompt: str
    task: Task
    system: str = ""
    detail: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For the test's report."""
        return f"{self.kind}: {self.prompt[:60]!r}"


def _log(user: str, source: str, failures: int, port: int) -> str:
    line = "Nov 20 03:{m:02}:{s:02} web1 sshd[{pid}]: {what} password for {user} from {source} port {port} ssh2"
    rows = [
        line.format(m=n // 60, s=n % 60, pid=100 + n, what="Failed", user=user, source=source, port=port)
        for n in range(failures)
    ]
    return "\n".join([*rows, line.format(m=9, s=1, pid=900, what="Accepted", user=user, source=source, port=port)])


def _mail(brand: str, sender: str, link: str) -> str:
    return (
        f"Received: from out.{sender} (out.{sender} [203.0.113.9]) by mx.corp.example; Mon, 5 May 2025 10:00:00 +0000\n"
        f'From: "{brand} Security" <service@{sender}>\nTo: bob@corp.example\nReply-To: drop@other.example\n'
        "Subject: Urgent: your account is suspended\n"
        f"Authentication-Results: mx.corp.example; spf=fail smtp.mailfrom={sender}; dmarc=fail\n"
        f"Message-ID: <1@{sender}>\nDate: Mon, 5 May 2025 10:00:00 +0000\n\n"
        "Dear customer, your account has been suspended. Verify your password within 24 hours at "
        f"http://{link}/verify or it will be closed.\n"
    )


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


OPEN_TASKS = {
    "cwe": [
        Task(
            "Map the following CVE description to the appropriate CWE.",
            "CVE Description: The login form concatenates user input into an SQL query, which allows SQL injection.",
            "CWE ID", "cwe", "CWE-89", "CWE-416", ("CWE-416", "CWE-89", "CWE-22", "CWE-352"),
        ),
        Task(
            "Which weakness (CWE) is described here?",
            "Description: A crafted file triggers a heap-based buffer overflow in the image parser.",
            "CWE ID", "cwe_id", "CWE-122", "CWE-79",
            ("CWE-79 Cross-site Scripting", "CWE-798 Hard-coded Credentials", "CWE-611 XXE", "CWE-122 Heap Overflow"),
        ),
    ],
    "attack": [
        Task(
            "Which MITRE ATT&CK technique is described in the text?",
            "Text: The attackers dumped credentials from LSASS memory with procdump.",
            "technique ID", "technique", "T1003.001", "T1566.002", ("T1003.001", "T1566.002", "T1486", "T1090"),
        ),
        Task(
            "Identify the ATT&CK technique in this sentence.",
            "Sentence: The malware created a scheduled task to run at every logon.",
            "technique ID", "technique_id", "T1053.005", "T1059", ("T1059", "T1071", "T1053.005", "T1110"),
        ),
    ],
    "cvss": [
        Task(
            "Calculate the CVSS base score of the vector below.",
            "Vector: CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
            "base score", "base_score", "9.8", "4.3",
        ),
    ],
    "decode": [
        Task("Decode the string.", f"String: {_encoded('http://evil.example/stage2')}", "plaintext", "plaintext",
             "http://evil.example/stage2", "hello world"),
    ],
    "failures": [
        Task("How many failed logins are in the attached log?", "", "number of failed logins", "failed_logins", "12",
             "57", log=_log("root", "192.0.2.7", 12, 22)),
    ],
    "intruder": [
        Task("Who got in?", "", "account", "account", "root", "alice", log=_log("root", "192.0.2.7", 12, 22)),
    ],
    "phishing": [
        Task("Is this mail phishing?", _mail("PayPal", "paypa1-login.example", "paypa1-login.example"), "verdict",
             "verdict", "phishing", "spam"),
    ],
    "affected": [
        Task("Is log4j 2.14.1 affected by the range >=2.0, <2.15.0?", "", "answer", "is_affected", "yes", "no"),
        Task("Is log4j 2.16.0 affected by the range >=2.0, <2.15.0?", "", "answer", "is_affected", "no", "yes"),
    ],
    "domains": [
        Task(
            "Extract the domains from this report.",
            "Report:\nThe loader called hxxp://bad-cdn[.]example/a first.\nThen it resolved files.evil[.]example.",
            "domains", "domains", "bad-cdn.example, files.evil.example", "sample-domain.example",
        ),
    ],
    "estimate": [
        Task(
            "Analyze the CVE description and determine the CVSS v3.1 vector string.",
            "CVE Description: A double free in the parser lets a remote attacker run code.",
            "CVSS vector string", "vector",
            "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N",
        ),
    ],
    "unknown": [
        Task(
            "Which threat actor is behind this campaign?",
            "Report: The group used custom backdoors against embassies and ministries.",
            "threat actor", "actor", UNKNOWN, "APT28",
        ),
    ],
}  # fmt: skip

HELD_TASKS = {
    "cwe": [
        Task(
            "What is the CWE behind this vulnerability?",
            "Vulnerability: A path traversal in the download handler allows reading files outside the web root via "
            "../ sequences.",
            "CWE identifier", "weakness_id", "CWE-22", "CWE-200", ("CWE-200", "CWE-89", "CWE-22", "CWE-94"),
        ),
        Task(
            "Assign a CWE to the text.",
            "Summary: Stored cross-site scripting in the comment field lets attackers inject JavaScript.",
            "CWE", "cweId", "CWE-79", "CWE-787", ("CWE-787", "CWE-79", "CWE-434", "CWE-502"),
        ),
    ],
    "attack": [
        Task(
            "Map the observation to an ATT&CK technique.",
            "Observation: The intruder cleared the Windows event logs with wevtutil.",
            "ATT&CK ID", "mitre_technique", "T1070.001", "T1027", ("T1027", "T1070.001", "T1505.003", "T1082"),
        ),
        Task(
            "Which ATT&CK technique does the report describe?",
            "Report: The group sent spearphishing emails with a malicious attachment to the finance team.",
            "MITRE technique", "attack_id", "T1566.001", "T1003.001", ("T1003.001", "T1021.001", "T1566.001", "T1046"),
        ),
    ],
    "cvss": [
        Task(
            "What does this CVSS vector score?", "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N",
            "score", "score", "6.1", "8.8",
        ),
    ],
    "decode": [
        Task("What does this base64 decode to?", _encoded("whoami /all && net user"), "decoded text", "decoded",
             "whoami /all && net user", "example output"),
    ],
    "failures": [
        Task("Count the failed logins in auth.log.", "", "count", "count", "31", "1200",
             log=_log("deploy", "198.51.100.77", 31, 22)),
    ],
    "intruder": [
        Task("Which account was compromised?", "", "user name", "user", "deploy", "bob",
             log=_log("deploy", "198.51.100.77", 31, 22)),
    ],
    "phishing": [
        Task("Is the following email a phishing attempt?", _mail("Microsoft", "micros0ft-login.example",
             "micros0ft-login.example"), "classification", "classification", "phishing", "legitimate"),
    ],
    "affected": [
        Task("Is OpenSSL 3.0.4 vulnerable if the affected versions are >=3.0.0, <3.0.7?", "", "answer", "vulnerable",
             "yes", "no"),
        Task("Is OpenSSL 3.0.9 vulnerable if the affected versions are >=3.0.0, <3.0.7?", "", "answer", "vulnerable",
             "no", "yes"),
    ],
    "domains": [
        Task(
            "List the domains in the text.",
            "Text:\nBeacons went to update-cache[.]example every minute.\nExfiltration used drop.mailer[.]example.",
            "domain names", "domains", "update-cache.example, drop.mailer.example", "placeholder.example",
        ),
    ],
    "estimate": [
        Task(
            "Determine the CVSS 3.1 base vector for this vulnerability.",
            "Vulnerability: An unauthenticated attacker can crash the daemon with one packet.",
            "vector", "cvss_vector",
            "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H", "CVSS:3.1/AV:P/AC:H/PR:L/UI:R/S:C/C:N/I:L/A:N",
        ),
    ],
    "unknown": [
        Task(
            "Attribute the intrusion to a threat group.",
            "Incident: Attackers used stolen certificates to sign their loaders.",
            "group", "attribution", UNKNOWN, "Lazarus Group",
        ),
    ],
}  # fmt: skip

TASKS_OF = {
    "last_line": ("cwe", "attack", "unknown", "failures", "cvss", "estimate"),
    "boxed": ("cwe", "attack", "cvss", "unknown", "estimate", "phishing", "decode", "intruder", "domains"),
    "tag": ("cwe", "attack", "phishing", "unknown", "cvss", "estimate", "decode", "intruder", "domains"),
    "skeleton": ("cwe", "attack", "unknown", "cvss", "estimate", "domains", "phishing"),
    "json": ("cwe", "attack", "unknown", "intruder", "decode", "cvss", "estimate", "domains"),
    "schema": ("cwe", "attack", "unknown", "cvss", "failures", "estimate", "domains"),
    "yes_no": ("affected", "phishing", "unknown"),
    "word": ("phishing",),
    "only": ("cwe", "attack", "decode", "unknown", "intruder", "estimate"),
    "number": ("cvss", "failures", "unknown"),
    "comma": ("domains", "attack", "unknown"),
    "csv": ("domains", "cwe", "unknown"),
    "table": ("domains", "attack", "unknown"),
    "bullets": ("attack", "failures", "phishing"),
    "sentences": ("phishing", "failures", "cwe"),
    "numbered": ("domains", "attack", "failures"),
    "line": ("cwe", "phishing", "failures"),
    "choice": ("cwe", "attack"),
}
"""Which tasks are asked in which format."""

_ORDERS = ("qie", "iqe", "qei", "rqie", "rqei", "riqe", "ieq")


def _together(order: str, role: str, parts: dict[str, str]) -> str:
    pieces = {"q": parts["question"], "i": parts["instruction"], "e": parts["evidence"], "r": role}
    return "\n\n".join(pieces[letter] for letter in order if pieces[letter])


def _options(task: Task) -> str:
    return "\n".join(f"{letter}) {text}" for letter, text in zip("ABCD", task.options, strict=True))


def _cases(tasks: dict[str, list[Task]], wordings: dict[str, list[str]], roles: tuple[str, ...]) -> Iterator[Case]:
    orders, spoken = cycle(_ORDERS), cycle(roles)
    for kind, names in TASKS_OF.items():
        several = [cycle(tasks[name]) for name in names]
        for number in range(max(9, 2 * len(names))):
            wording = wordings[kind][(number + number // len(names)) % len(wordings[kind])]
            task = next(several[number % len(several)])
            instruction = wording.format(
                noun=task.noun,
                key=task.key,
                ex=task.example,
                options=_options(task) if task.options else "",
                NOUN=task.noun.upper(),
            )
            order = next(orders)
            parts = {"question": task.question, "instruction": instruction, "evidence": task.evidence}
            if number == 4 and kind not in ("choice",):  # a chat client's system message
                role = next(spoken)
                yield Case(kind, _together("qe", "", parts), task, system=f"{role} {instruction}".strip())
            else:
                yield Case(kind, _together(order, next(spoken), parts), task)


OPEN = list(_cases(OPEN_TASKS, OPEN_WORDINGS, OPEN_ROLES))
HELD = list(_cases(HELD_TASKS, HELD_WORDINGS, HELD_ROLES))
