"""How much of an input is a log: what the logins tool reports as its coverage."""

from __future__ import annotations

import re

from svc.assistant.findings import Coverage

MAX_QUESTIONS = 3
MAX_QUESTION_CHARS = 500
_STAMP = (
    r"(?:[A-Z][a-z]{2} {1,2}\d{1,2} (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d{1,9})?(?: \d{4})?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[A-Z]{3,4}|[+-]\d\d:?\d\d))?)"
)
_PROGRAM = r"[\w./@-]{1,100}(?:\(\w{1,40}\))?"
_LOG_LINE = re.compile(
    r"(?:[\w./-]{1,200}:(?:\d{1,9}[:-])?)?(?:<\d{1,3}>)?(?:1 )?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?"
    rf"{_STAMP} (?:\[pid \d|(?:\S{{1,255}} {{1,2}})?(?:-- )?(?:(?P<program>{_PROGRAM})\]?(?:\[\d{{1,10}}\])?:(?: |$)"
    r"|last message repeated|(?P<program_5424>\S{1,100}) (?:\d+|-) \S{1,100} (?:- |\[)))"
)
_AUTHENTICATES = re.compile(
    r"(?:.*/)?(?:sshd|sudo|su\b|login|systemd-logind|useradd|usermod|passwd|gdm|lightdm|polkit|vsftpd|ftpd|dovecot|"
    r"proftpd|pure-ftpd|dropbear|saslauthd|auth)",
    re.IGNORECASE,
)


class LogLines:
    """Counts the lines of an input that a log of programs can hold."""

    total: int
    understood: int

    def __init__(self) -> None:
        self.total = self.understood = 0
        self.records_logins: bool = False
        self.questions: list[str] = []
        """The first lines that are no log lines and end with a question mark: a question below a pasted log."""

    def add(self, line: str, *, is_login: bool) -> None:
        """Count a line; ``is_login``: it was read as a login message, which some services write without a header."""
        if not line.strip():
            return
        self.total += 1
        if is_login:
            self.records_logins = True
            self.understood += 1
        elif (found := _LOG_LINE.match(line)) is not None:
            self.understood += 1
            if not self.records_logins:
                program = found["program"] or found["program_5424"] or ""
                self.records_logins = "pam_" in line or _AUTHENTICATES.match(program) is not None
        elif line.rstrip().endswith("?") and len(self.questions) < MAX_QUESTIONS:
            self.questions.append(line[:MAX_QUESTION_CHARS])

    def coverage(self) -> Coverage:
        """Return what was read, and as what."""
        form = "Linux authentication log" if self.records_logins else "system log" if self.understood else "text"
        return Coverage(
            read_as=form,
            unit="line",
            understood=self.understood,
            total=self.total,
            looked_for="failed and accepted logins",
            not_covered="" if self.records_logins or not self.understood else "none of these programs records logins",
        )
