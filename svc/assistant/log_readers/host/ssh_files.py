"""Read OpenSSH's files: authorized_keys and sshd_config. Pure.

Formats: sshd(8), "AUTHORIZED_KEYS FILE FORMAT"; sshd_config(5). A key's fingerprint is shown, not the key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator

from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, TraceKind

_TYPE = (
    r"(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-nistp\d{3}|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)"
    r"(?:-cert-v01@openssh\.com)?"
)
_OPTION = r'[A-Za-z-]{3,40}(?:="(?:[^"\\]|\\.){0,4000}")?'
KEY = re.compile(
    rf"(?:(?P<options>{_OPTION}(?:,{_OPTION}){{0,20}})[ \t]{{1,9}})?"
    rf"(?P<type>{_TYPE})[ \t]{{1,9}}(?P<key>[A-Za-z0-9+/]{{30,20000}}={{0,2}})(?:[ \t]{{1,9}}(?P<about>.{{0,400}}))?"
)
SETTING = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9]{2,40})(?:[ \t]{1,40}|[ \t]{0,20}=[ \t]{0,20})(?P<value>\S.{0,2000})"
)
SSHD_NAMES = frozenset(
    [
        "acceptenv", "addressfamily", "allowagentforwarding", "allowgroups", "allowstreamlocalforwarding",
        "allowtcpforwarding", "allowusers", "authenticationmethods", "authorizedkeyscommand",
        "authorizedkeyscommanduser", "authorizedkeysfile", "authorizedprincipalsfile", "banner",
        "casignaturealgorithms", "challengeresponseauthentication", "channeltimeout", "chrootdirectory", "ciphers",
        "clientalivecountmax", "clientaliveinterval", "compression", "denygroups", "denyusers", "disableforwarding",
        "exposeauthinfo", "fingerprinthash", "forcecommand", "gatewayports", "gssapiauthentication",
        "hostbasedauthentication", "hostcertificate", "hostkey", "hostkeyalgorithms", "ignorerhosts", "include",
        "ipqos", "kbdinteractiveauthentication", "kerberosauthentication", "kexalgorithms", "listenaddress",
        "logingracetime", "loglevel", "macs", "match", "maxauthtries", "maxsessions", "maxstartups", "modulifile",
        "passwordauthentication", "permitemptypasswords", "permitlisten", "permitopen", "permitrootlogin",
        "permittty", "permittunnel", "permituserenvironment", "permituserrc", "persourcemaxstartups",
        "persourcepenalties", "pidfile", "port", "printlastlog", "printmotd", "protocol",
        "pubkeyacceptedalgorithms", "pubkeyacceptedkeytypes", "pubkeyauthentication", "rekeylimit",
        "requiredrsasize", "revokedkeys", "serverkeybits", "strictmodes", "subsystem", "syslogfacility",
        "tcpkeepalive", "trustedusercakeys", "usedns", "usepam", "useprivilegeseparation", "versionaddendum",
        "x11displayoffset", "x11forwarding", "x11uselocalhost", "keyregenerationinterval", "rsaauthentication",
        "rhostsrsaauthentication", "uselogin",
    ]
)  # fmt: skip
"""The settings of the server, in lower case; the client has others."""


def authorized_key_row(line: str) -> Artefact | None:
    """Return a key that may log in; None for another line."""
    found = KEY.fullmatch(line.strip())
    if found is None:
        return None
    about = (found["about"] or "").strip()
    words = [found["options"] or "no restriction"]
    if bits := _rsa_bits(found["key"]) if found["type"] == "ssh-rsa" else 0:
        words.append(f"{bits} bits")
    return Artefact(
        number=0,
        activity=TraceKind.KEY,
        what=f"{found['type']} {about or '(no comment)'}",
        where=_fingerprint(found["key"]),
        detail=", ".join(words)[:MAX_TEXT_CHARS],
        excerpt=" ".join(filter(None, (found["options"], found["type"], "…", about))),
    )


def _decoded(key: str) -> bytes:
    try:
        return base64.b64decode(key + "=" * (-len(key) % 4))
    except binascii.Error:
        return b""


def _fingerprint(key: str) -> str:
    digest = base64.b64encode(hashlib.sha256(_decoded(key)).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"


def _rsa_bits(key: str) -> int:
    """The length of an RSA key's modulus: the third string of the key."""
    data, at = _decoded(key), 0
    part = b""
    for _ in range(3):
        size = int.from_bytes(data[at : at + 4], "big")
        part = data[at + 4 : at + 4 + size]
        at += 4 + size
    return int.from_bytes(part, "big").bit_length()


def is_sshd_setting(line: str) -> bool:
    """Whether a line sets one of the server's options."""
    found = SETTING.fullmatch(line.strip())
    return found is not None and found["name"].lower() in SSHD_NAMES


def sshd_rows(lines: Iterator[tuple[int, int, str]]) -> Iterator[Artefact | int]:
    """Yield the settings; for a line that is not a setting, its number.

    The first value of a setting holds, so that later ones say so. Settings below ``Match`` hold for what it names.
    """
    rows: list[Artefact] = []
    names: list[str] = []
    block, seen = "", set[tuple[str, str]]()
    for number, offset, line in lines:
        text = line.strip()
        found = SETTING.fullmatch(text.partition(" #")[0].strip())
        name = found["name"].lower() if found else ""
        if found is None or name not in SSHD_NAMES:
            yield number
            continue
        if name == "match":
            block = f"only for {text}"
            continue
        row = Artefact(
            number=number,
            offset=offset,
            activity=TraceKind.SETTING,
            what=f"{found['name']} {found['value']}"[:MAX_TEXT_CHARS],
            where=block,
            excerpt=text,
        )
        if (name, block) in seen and name not in (
            "port",
            "listenaddress",
            "hostkey",
            "acceptenv",
            "subsystem",
            "include",
        ):
            row.detail = "has no effect: the first value holds"
        seen.add((name, block))
        rows.append(row)
        names.append(name)
    yield from _with_passwords(rows, names)


def _with_passwords(rows: list[Artefact], names: list[str]) -> Iterator[Artefact]:
    """Say of a setting for root whether passwords are accepted, which the file decides elsewhere."""
    values = {
        name: row.what.split(None, 1)[1].lower()
        for row, name in zip(reversed(rows), reversed(names), strict=True)
        if not row.where
    }
    accepts = values.get("passwordauthentication", "yes") != "no" or "yes" in (
        values.get("kbdinteractiveauthentication", "yes"),
        values.get("challengeresponseauthentication", ""),
    )
    only = values.get("authenticationmethods", "")
    if only and all("publickey" in one for one in only.split()):
        accepts = False
    for row, name in zip(rows, names, strict=True):
        if name == "permitrootlogin" and not row.detail:
            row.detail = "passwords are accepted" if accepts else "passwords are not accepted"
        yield row
