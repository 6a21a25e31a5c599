"""Read files that configure a Unix host: accounts, rights, SSH, names and firewall rules. Recognised by content. Pure.

Comments and empty lines are no rows. A line that is not understood is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host import account_files, network_files, ssh_files
from svc.assistant.log_readers.host.record import Artefact, Item, TraceKind
from svc.assistant.log_readers.lines import Lines, Unread, split_lines

HEAD_BYTES = 65_536
MAX_ROWS = 200_000
LINE_SHARE = 0.9  # of the lines with text that must have the form
MAX_JOINED = 200  # lines that one rule may take
_COMMENT = re.compile(r"\s{0,40}#(?!\d|include)|\s{0,40}\Z")
_Placed = Iterator[tuple[int, int, str]]
_Row = Callable[[str], Artefact | None]


def _by_line(row_of: _Row) -> Callable[[_Placed], Iterator[Artefact | int]]:
    def read_rows(lines: _Placed) -> Iterator[Artefact | int]:
        for number, offset, line in lines:
            row = row_of(line)
            if row is None:
                yield number
            else:
                row.number, row.offset = number, offset
                yield row

    return read_rows


def _hosts(lines: _Placed) -> Iterator[Artefact | int]:
    for number, offset, line in lines:
        rows = network_files.hosts_rows(line)
        if not rows:
            yield number
        for row in rows:
            row.number, row.offset = number, offset
            yield row


def _share(lines: Sequence[str], fits: Callable[[str], object]) -> bool:
    return bool(lines) and sum(1 for line in lines if fits(line)) >= LINE_SHARE * len(lines)


def _is_passwd(lines: Sequence[str]) -> bool:
    return _share(lines, account_files.PASSWD.fullmatch)


def _is_shadow(lines: Sequence[str]) -> bool:
    return _share(lines, account_files.SHADOW.fullmatch)


def _is_group(lines: Sequence[str]) -> bool:
    def is_mark(line: str) -> bool:
        found = account_files.GROUP.fullmatch(line)
        return found is not None and found["hash"] in ("x", "", "*", "!")

    return len(lines) > 1 and _share(lines, is_mark)


_SUDO_RIGHT = re.compile(r"\(|ALL\b|/|(?:NO)?PASSWD:|[A-Z][A-Z0-9_]+(?:,|\Z)|sudoedit\b")


def _is_sudoers(lines: Sequence[str]) -> bool:
    stripped = [line.strip() for line in lines]
    others = sum(account_files.SUDO_OTHER.fullmatch(line) is not None for line in stripped)
    rules = [
        found
        for line in stripped
        if account_files.SUDO_OTHER.fullmatch(line) is None and (found := account_files.SUDO_RULE.fullmatch(line))
    ]
    is_known = bool(rules) or any(line.startswith("Defaults") for line in lines)
    is_all = len(rules) + others >= LINE_SHARE * len(lines)
    return is_known and is_all and all(_SUDO_RIGHT.match(found["what"]) for found in rules)


def _is_authorized_keys(lines: Sequence[str]) -> bool:
    return _share(lines, lambda line: ssh_files.KEY.fullmatch(line.strip()))


_SSHD_CORE = re.compile(
    r"\s{0,20}(?:PermitRootLogin|PasswordAuthentication|PermitEmptyPasswords|AuthorizedKeys\w{4,12}|UsePAM"
    r"|PubkeyAuthentication|KbdInteractiveAuthentication|ChallengeResponseAuthentication|ListenAddress|AllowUsers"
    r"|HostKey|Subsystem|LoginGraceTime|MaxAuthTries|StrictModes|PermitUserEnvironment)[ \t=]",
    re.IGNORECASE,
)


def _is_sshd_config(lines: Sequence[str]) -> bool:
    return _share(lines, ssh_files.is_sshd_setting) and any(_SSHD_CORE.match(line) for line in lines)


def _is_hosts(lines: Sequence[str]) -> bool:
    rows = [row for line in lines for row in network_files.hosts_rows(line)]
    return _share(lines, network_files.hosts_rows) and any(row.what.startswith("localhost") for row in rows)


def _is_iptables(lines: Sequence[str]) -> bool:
    known = (network_files.TABLE, network_files.CHAIN, network_files.RULE)
    is_begun = any(network_files.TABLE.fullmatch(line) or network_files.CHAIN.fullmatch(line) for line in lines)
    is_form = _share(lines, lambda line: line.strip() == "COMMIT" or any(one.fullmatch(line.strip()) for one in known))
    return is_begun and is_form


def _is_nft(lines: Sequence[str]) -> bool:
    return bool(lines) and network_files.NFT_TABLE.fullmatch(lines[0].strip()) is not None


class ConfigFile(NamedTuple):
    """A kind of file: how it is recognised and read, what its rows are, and what it does not say."""

    read_as: str
    matches: Callable[[Sequence[str]], bool]
    rows: Callable[[_Placed], Iterator[Artefact | int]]
    records: tuple[TraceKind, ...]
    unit: str
    lacks: str
    is_joined: bool = False


CONFIG_FILES: dict[str, ConfigFile] = {
    "passwd": ConfigFile(
        "list of accounts (passwd)",
        _is_passwd,
        _by_line(account_files.passwd_row),
        (TraceKind.ACCOUNT,),
        "account",
        "the file names the accounts of this host; those of a directory (LDAP, SSSD) are not in it, and it does not "
        "record when an account was made or used",
    ),
    "shadow": ConfigFile(
        "list of passwords (shadow)",
        _is_shadow,
        _by_line(account_files.shadow_row),
        (TraceKind.ACCOUNT,),
        "account",
        "hashes are not shown and were not tested against passwords",
    ),
    "groupfile": ConfigFile(
        "list of groups (group)",
        _is_group,
        _by_line(account_files.group_row),
        (TraceKind.GROUP,),
        "group",
        "an account whose main group this is (passwd) is not named as its member",
    ),
    "sudoers": ConfigFile(
        "sudo's rules (sudoers)",
        _is_sudoers,
        _by_line(account_files.sudoers_row),
        (TraceKind.RIGHT, TraceKind.SETTING),
        "rule",
        "files that it includes were not read; of several rules for a command the last one holds",
        is_joined=True,
    ),
    "authorizedkeys": ConfigFile(
        "SSH keys that may log in (authorized_keys)",
        _is_authorized_keys,
        _by_line(ssh_files.authorized_key_row),
        (TraceKind.KEY,),
        "key",
        "the file does not say when a key was added or used, nor who has its private half",
    ),
    "sshdconfig": ConfigFile(
        "settings of the SSH server (sshd_config)",
        _is_sshd_config,
        ssh_files.sshd_rows,
        (TraceKind.SETTING,),
        "setting",
        "settings that it does not name have their defaults, and files that it includes were not read (`sshd -T` shows "
        "what holds)",
    ),
    "hostsfile": ConfigFile(
        "names of hosts (hosts file)",
        _is_hosts,
        _hosts,
        (TraceKind.NAME,),
        "line",
        "the file does not say when an entry was made",
    ),
    "iptablesrules": ConfigFile(
        "firewall rules (iptables-save)",
        _is_iptables,
        network_files.iptables_rows,
        (TraceKind.RULE,),
        "rule",
        "rules show one moment; the other address family and nft may have rules of their own",
    ),
    "nftrules": ConfigFile(
        "firewall rules (nft)",
        _is_nft,
        network_files.nft_rows,
        (TraceKind.RULE,),
        "rule",
        "rules show one moment; members of sets were not read",
    ),
}


def _text(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", errors="replace")
    return head.decode("utf-8-sig", errors="replace")


def config_label(head: bytes, name: str = "") -> str:
    """Return the label of a file that configures a host; "" for other texts."""
    text = _text(head[:HEAD_BYTES])
    lines = [line for line in split_lines(text)[:400] if _COMMENT.match(line) is None]
    if len(head) >= HEAD_BYTES:
        lines = lines[:-1]
    if not lines or name.endswith(".pub"):
        return ""
    joined = [line for _, _, line in _joined((0, 0, line) for line in lines)]
    for label, form in CONFIG_FILES.items():
        if form.matches(joined if form.is_joined else lines):
            return label
    return ""


def _joined(lines: _Placed) -> _Placed:
    """Yield the lines; one that ends with a backslash goes on in the next."""
    parts: list[str] = []
    begun = (0, 0)
    for number, offset, line in lines:
        begun = begun if parts else (number, offset)
        parts.append(line.removesuffix("\\"))
        if line.endswith("\\") and len(parts) < MAX_JOINED:
            continue
        yield *begun, " ".join(parts)
        parts = []
    if parts:
        yield *begun, " ".join(parts)


def reader_of(label: str) -> Callable[[BinaryIO], Iterator[Item]]:
    """Return what reads a file with this label."""
    form = CONFIG_FILES[label]

    def read_file(content: BinaryIO) -> Iterator[Item]:
        lines = Lines(content)
        used = ((number, offset, line) for number, offset, line in lines if _COMMENT.match(line) is None)
        count = 0
        for row in form.rows(_joined(used) if form.is_joined else used):
            if isinstance(row, int):
                lines.foreign.append(row)
                continue
            count += 1
            if count > MAX_ROWS:
                yield Gap(text=f"only the first {MAX_ROWS:,} rows were read", in_headline=True)
                yield Unread(1)
                break
            yield row
        if count:
            yield Gap(text=form.lacks)
        yield from lines.gaps(f"lines of a {form.read_as}")

    return read_file
