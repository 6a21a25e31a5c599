"""Login messages of further Unix services: FTP, mail, databases, file shares, small SSH servers.

Message texts: dropbear, pure-ftpd, ProFTPD, BSD's ftpd, klogind, Postfix (SASL), Exim, MySQL and MariaDB, Proxmox VE,
Samba's authentication log, SQL Server, PostgreSQL if ``log_line_prefix`` has the client (``%r``, ``%h``). sshd,
PAM, sudo, su, login, vsftpd and dovecot are in ``lines.py``.
"""

from __future__ import annotations

import re

import msgspec

MAX_CHARS = 1_000  # searched in a line; Samba's messages, the longest, have 400
MARKS = (
    "authenticator failed for", "Authentication failed for user", "authentication failure; rhost=",
    "password attempt for", "auth succeeded for", "nonexistent user", "is now logged in", "(Login failed)",
    "no such user found", "Login successful", "SASL ", "sasl_username=",
    "Login failed for user '", "Login succeeded for user '", "password authentication failed for user",
    "connection authorized: user=", "Access denied for user", "NT_STATUS_", "Authentication failed from ", "FTP LOGIN ",
)  # fmt: skip
"""Every login message of these services contains one of them."""


class ServiceMessage(msgspec.Struct, frozen=True):
    """One message text; its pattern has the group ``source`` and may have ``user`` and ``port``."""

    service: str
    is_success: bool
    pattern: re.Pattern[str]


_ADDRESS = r"(?P<source>[0-9A-Fa-f:.]{3,45}?)"
_USER = r"(?P<user>[^\]'>)]{0,256}?)"
_SAMBA_USER = rf"Auth: \[[^\]]{{0,256}}\] user \[[^\]]{{0,256}}\]\\\[{_USER}\].{{0,300}}?"
_SAMBA_HOST = rf".{{0,300}}?remote host \[ipv[46]:{_ADDRESS}:(?P<port>\d+)\]"
_PROFTPD = rf"\[{_ADDRESS}\]\)[: -]+USER (?P<user>.{{0,256}}?)"
_MAILER = r"sasl_username=(?P<user>[^,\s]{1,256})"
_POSTGRES = r"(?:(?:client|host|remote)=|[ @])(?P<source>[0-9A-Fa-f:.]{3,45}(?<![:.]))(?:\(\d{1,5}\)|[ ,:\]]).{0,200}?"
PATTERNS: tuple[ServiceMessage, ...] = tuple(
    ServiceMessage(service, is_success, re.compile(pattern))
    for service, is_success, pattern in (
        ("dropbear", False, rf"Bad (?:PAM )?password attempt for '{_USER}' from {_ADDRESS}:(?P<port>\d+)"),
        ("dropbear", False, rf"[Ll]ogin attempt for nonexistent user (?:'{_USER}' )?from {_ADDRESS}:(?P<port>\d+)"),
        ("dropbear", True, rf"(?:assword|ubkey) auth succeeded for '{_USER}' .*?from {_ADDRESS}:(?P<port>\d+)"),
        ("pure-ftpd", False, rf"\([^@() ]*@{_ADDRESS}\) \[WARNING\] Authentication failed for user \[{_USER}\]"),
        ("pure-ftpd", True, rf"\([^@() ]*@{_ADDRESS}\) \[INFO\] (?P<user>\S{{1,256}}) is now logged in"),
        ("proftpd", False, rf"{_PROFTPD}(?: \(Login failed\)|: no such user found)"),
        ("proftpd", True, rf"{_PROFTPD}: Login successful"),
        ("postfix", False, rf"\[{_ADDRESS}\]: SASL \S+ authentication failed(?:.*?\b{_MAILER})?"),
        ("postfix", True, rf"client=\S*\[{_ADDRESS}\], sasl_method=\S+, {_MAILER}"),
        ("exim", False, rf"authenticator failed for .*?\[{_ADDRESS}\](?::\d+)?: 535 .*?(?:\(set_id={_USER}\)|$)"),
        ("mysql", False, rf"Access denied for user '{_USER}'@'(?P<source>[^']{{1,256}})' \(using password: YES\)"),
        ("sqlserver", False, rf"Login failed for user '{_USER}'\. .{{0,300}}?\[CLIENT: {_ADDRESS}\]"),
        ("sqlserver", True, rf"Login succeeded for user '{_USER}'\. .{{0,300}}?\[CLIENT: {_ADDRESS}\]"),
        ("postgresql", False, rf'{_POSTGRES}password authentication failed for user "(?P<user>[^"]{{0,256}})"'),
        ("postgresql", True, rf"{_POSTGRES}connection authorized: user=(?P<user>\S{{1,256}})"),
        ("proxmox", False, rf"^authentication failure; rhost=(?:::ffff:)?{_ADDRESS} user=(?P<user>\S{{1,256}}) msg="),
        (
            "samba",
            False,
            rf"{_SAMBA_USER}status \[NT_STATUS_(?:WRONG_PASSWORD|NO_SUCH_USER|LOGON_FAILURE)\]{_SAMBA_HOST}",
        ),
        ("klogind", False, rf"^Authentication failed from \S{{1,256}} \({_ADDRESS}\): "),
        ("ftpd", False, r"^FTP LOGIN FAILED FROM (?P<source>[^\s,]{1,256}), (?P<user>\S{1,256})"),
        ("ftpd", True, r"^(?P<user>ANONYMOUS) FTP LOGIN FROM (?P<source>[^\s,]{1,256}),"),
        ("ftpd", True, r"^FTP LOGIN FROM (?P<source>[^\s,]{1,256}) as (?P<user>\S{1,256})"),
        ("samba", True, rf"{_SAMBA_USER}status \[NT_STATUS_OK\]{_SAMBA_HOST}"),
    )
)
