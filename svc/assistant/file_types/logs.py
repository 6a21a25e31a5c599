"""What kind of text this is: a log of logins, another log, or none. Decides by content, never by name; pure.

Log forms: BSD syslog (RFC 3164), syslog (RFC 5424), ISO 8601 stamps as rsyslog and journalctl write them. Login lines:
OpenSSH ``auth.c``, Linux-PAM ``pam_unix``, sudo, su.
"""

from __future__ import annotations

import re
from enum import StrEnum

from svc.assistant.log_readers.applications.modsecurity import is_modsecurity_audit
from svc.assistant.log_readers.applications.reader import is_application_log, is_timeline
from svc.assistant.log_readers.applications.scan_reports import is_scan_report
from svc.assistant.log_readers.auditd import is_audit_log
from svc.assistant.log_readers.lines import split_lines
from svc.assistant.log_readers.syslog import is_syslog
from svc.assistant.log_readers.web_server import is_web_log

SAMPLE_LINES = 400  # enough to tell; a head of 64 KiB has about 600 lines of log
HEAD_LINES = 50  # by which the readers of logs know theirs
_LOG_SHARE = 0.6  # of the lines with text in them


class TextKind(StrEnum):
    """What a text is, as far as tools care."""

    AUTH_LOG = "authlog"
    WEB_LOG = "weblog"
    AUDIT_LOG = "auditlog"
    SYSLOG = "syslog"
    APPLICATION_LOG = "applog"
    LOG = "log"
    OTHER = "txt"


LOGIN_LINE = re.compile(
    r"(?:\bsshd(?:-session|-auth)?(?:\(pam_unix\))?(?:\[\d+\])?: |\bpam_\w+\([\w.-]+:(?:auth|session)\)"
    r"|\b(?:Failed|Accepted) \S+ for "
    r"|\bInvalid user .* from |message repeated \d+ times: \[ ?(?:Failed|Invalid)"
    r"|\bsudo(?:\[\d+\])?: +\S+ : |\bFAILED (?:LOGIN|SU)\b|FAIL LOGIN: Client|-login: .*auth failed"
    r"|\] Authentication failed for user \[|\(Login failed\)|: SASL \S+ authentication failed"
    r"|Access denied for user '[^']*'@|: authentication failure; rhost=|NT_STATUS_(?:WRONG_PASSWORD|LOGON_FAILURE)"
    r"|[Bb]ad (?:PAM )?password attempt for )"
)
_STAMPED = re.compile(
    r"\s*(?:<\d{1,3}>(?:1 )?)?(?:"
    r"[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d"  # Nov 20 03:12:45
    r"|[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d"  # 2026-11-20T03:12:45
    r"|[A-Z][a-z]{2} (?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d) \d\d:\d\d:\d\d"  # Fri 2026-11-20 03:12:45
    r"|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d"  # a web server's access log
    r")"
)


def text_kind(sample: str) -> TextKind:
    """The kind of the text that starts with ``sample``; a log with any line about a login is an AUTH_LOG."""
    lines = [line for line in split_lines(sample)[:SAMPLE_LINES] if line.strip()]
    head = "\n".join(lines[:HEAD_LINES]).encode()
    if is_audit_log(head):
        return TextKind.AUDIT_LOG
    if is_web_log(head) or is_modsecurity_audit(head):
        return TextKind.WEB_LOG
    if is_scan_report(head):
        return TextKind.APPLICATION_LOG
    logins = sum(1 for line in lines if LOGIN_LINE.search(line, 0, 400))
    stamped = sum(1 for line in lines if _STAMPED.match(line))
    if logins and (stamped >= _LOG_SHARE * len(lines) or logins >= _LOG_SHARE * len(lines)):
        return TextKind.AUTH_LOG
    if len(lines) >= 2 and stamped >= _LOG_SHARE * len(lines) and is_syslog(head):
        return TextKind.SYSLOG
    if is_application_log(head):
        return TextKind.APPLICATION_LOG
    if is_timeline(head):
        return TextKind.OTHER
    return TextKind.LOG if len(lines) >= 2 and stamped >= _LOG_SHARE * len(lines) else TextKind.OTHER
