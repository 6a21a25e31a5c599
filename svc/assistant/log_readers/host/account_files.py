"""Read the lines of Unix files about accounts: passwd, shadow, group, sudoers. Pure.

Formats: passwd(5), shadow(5), group(5), sudoers(5). A hash of a password is never part of a row: only its kind is.
"""

from __future__ import annotations

import re

from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, TraceKind

_NAME = r"[A-Za-z_.+][\w.+@\\ -]{0,63}\$?"
PASSWD = re.compile(
    rf"(?P<name>{_NAME}):(?P<hash>[^:]*):(?P<uid>\d{{1,10}}):(?P<gid>\d{{1,10}}):(?P<about>[^:]*):(?P<home>[^:]*):(?P<shell>[^:]*)"
)
SHADOW = re.compile(
    rf"(?P<name>{_NAME}):(?P<hash>[^:]*):(?P<changed>-?\d{{0,10}}):\d{{0,10}}:\d{{0,10}}:\d{{0,10}}:\d{{0,10}}:(?P<expires>\d{{0,10}}):\d{{0,10}}"
)
GROUP = re.compile(rf"(?P<name>{_NAME}):(?P<hash>[^:]*):(?P<gid>\d{{1,10}}):(?P<members>[^:]*)")
SUDO_RULE = re.compile(
    r"(?P<who>(?:[%+#]?[\w.\\@-]{1,64}|%#\d{1,10}|ALL)(?:\s{0,5},\s{0,5}[%+#]?[\w.\\@-]{1,64}){0,20})[ \t]{1,40}"
    r"(?P<hosts>[\w.!*-]{1,80}(?:\s{0,5},\s{0,5}[\w.!*-]{1,80}){0,20})[ \t]{0,20}=[ \t]{0,20}(?P<what>.{1,4000})"
)
SUDO_OTHER = re.compile(r"(?:Defaults|(?:User|Runas|Host|Cmnd|Cmd)_Alias)\b.{0,4000}|[@#]include(?:dir)?\s.{1,400}")
_SHELL = re.compile(r"/(?:ba|da|z|k|c|tc|a|fi)?sh$|/(?:r|p)?bash$")
_HASHES = (
    ("$1$", "MD5 (weak)"), ("$2", "bcrypt"), ("$5$", "SHA-256"), ("$6$", "SHA-512"), ("$7$", "scrypt"),
    ("$y$", "yescrypt"), ("$gy$", "gost-yescrypt"), ("$apr1$", "MD5 (weak)"), ("$sha1$", "SHA-1 (weak)"),
    ("$argon2", "Argon2"), ("_", "extended DES (weak)"),
)  # fmt: skip
_DES = re.compile(r"[./0-9A-Za-z]{13}")


def _hash_words(text: str) -> str:
    """What a password field says, without the hash."""
    if not text:
        return "no password is needed"
    bare = text.lstrip("!")
    if text in ("x", "*NP*"):
        return "password in shadow"
    if text[0] in "!*":
        return "locked, password kept" if bare.startswith("$") and text.startswith("!") else "password locked"
    kind = next((words for start, words in _HASHES if text.startswith(start)), "")
    return f"password hash {kind or ('DES (weak)' if _DES.fullmatch(text) else 'of an unknown kind')}"


def _without_hash(line: str, found: re.Match[str]) -> str:
    """The line; its hash is replaced, unless it is only a mark."""
    text = found["hash"]
    if len(text) < 4:
        return line
    return f"{line[: found.start('hash')]}[hash not shown]{line[found.end('hash') :]}"


def passwd_row(line: str) -> Artefact | None:
    """Return an account of passwd; None for another line."""
    found = PASSWD.fullmatch(line)
    if found is None:
        return None
    shell = found["shell"].strip()
    can = "login shell" if _SHELL.search(shell) or not shell else "no login shell"
    words = [
        f"UID {found['uid']}",
        f"GID {found['gid']}",
        f"home {found['home']}",
        f"shell {shell or '(default)'}",
        can,
    ]
    if found["hash"] != "x":
        words.append(_hash_words(found["hash"]))
    if found["about"].strip(","):
        words.append(f"comment {found['about'].strip(',')}")
    return Artefact(
        number=0,
        activity=TraceKind.ACCOUNT,
        what=found["name"],
        detail=", ".join(words)[:MAX_TEXT_CHARS],
        excerpt=_without_hash(line, found),
    )


def shadow_row(line: str) -> Artefact | None:
    """Return an account of shadow, with the kind of its hash; None for another line."""
    found = SHADOW.fullmatch(line)
    if found is None:
        return None
    words = [_hash_words(found["hash"])]
    if found["changed"] == "0":
        words.append("must change it")
    elif found["changed"]:
        words.append(f"changed on day {found['changed']} since 1970")
    if found["expires"]:
        words.append(f"expires on day {found['expires']} since 1970")
    return Artefact(
        number=0,
        activity=TraceKind.ACCOUNT,
        what=found["name"],
        detail=", ".join(words),
        excerpt=_without_hash(line, found),
    )


def group_row(line: str) -> Artefact | None:
    """Return a group with its members; None for another line."""
    found = GROUP.fullmatch(line)
    if found is None:
        return None
    members = [name.strip() for name in found["members"].split(",") if name.strip()]
    words = f"GID {found['gid']}" + ("" if members else ", no member is named")
    if not found["hash"]:
        words += ", no password"
    return Artefact(
        number=0,
        activity=TraceKind.GROUP,
        what=found["name"],
        where=f"members {', '.join(members)}"[:MAX_TEXT_CHARS] if members else "",
        detail=words,
        excerpt=_without_hash(line, found),
    )


def sudoers_row(line: str) -> Artefact | None:
    """Return a rule or a setting of sudoers; None for another line."""
    text = line.strip()
    if SUDO_OTHER.fullmatch(text):
        return Artefact(number=0, activity=TraceKind.SETTING, what=" ".join(text.split()), excerpt=text)
    found = SUDO_RULE.fullmatch(text)
    if found is None:
        return None
    return Artefact(
        number=0,
        activity=TraceKind.RIGHT,
        what=" ".join(found["what"].split())[:MAX_TEXT_CHARS],
        user=found["who"],
        where=f"on {found['hosts']}",
        excerpt=text,
    )
