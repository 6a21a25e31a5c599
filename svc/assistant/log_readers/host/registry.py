"""What a registry hive says: autostarts, services, programs that ran, files that were there, accounts. Pure.

Which hive it is follows from its keys. Each row says what its time means: a key's last-written time is that of the
latest change to any value of the key. The shimcache is not evidence of execution. Sources: Microsoft's documentation
of the keys; the public research on UserAssist, AppCompatCache, BAM and Amcache.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.hive import BINARY, Hive, Key, Value
from svc.assistant.log_readers.host.record import (
    MAX_TEXT_CHARS,
    Artefact,
    HostNote,
    Item,
    Records,
    TraceKind,
    from_filetime,
)
from svc.assistant.log_readers.host.shimcache import shimcache
from svc.assistant.log_readers.lines import Unread

MAX_BYTES = 384 * 1024 * 1024
MAX_ROWS = 300_000
_WINDOWS = r"Microsoft\Windows\CurrentVersion"
_RUN_KEYS = (
    rf"{_WINDOWS}\Run",
    rf"{_WINDOWS}\RunOnce",
    rf"{_WINDOWS}\RunOnceEx",
    rf"{_WINDOWS}\RunServices",
    rf"{_WINDOWS}\Policies\Explorer\Run",
)
_SINGLE = (
    (r"Microsoft\Windows NT\CurrentVersion\Winlogon", ("Shell", "Userinit", "Taskman", "VmApplet")),
    (r"Microsoft\Windows NT\CurrentVersion\Windows", ("AppInit_DLLs", "Load", "Run")),
    (r"Microsoft\Command Processor", ("AutoRun",)),
)
_FOLDERS = {
    "{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}": r"C:\Windows\System32",
    "{F38BF404-1D43-42F2-9305-67DE0B28FC23}": r"C:\Windows",
    "{6D809377-6AF0-444B-8957-A3773F02200E}": r"C:\Program Files",
    "{D65231B0-B2F1-4857-A4CE-A8E7C6EA7D27}": r"C:\Windows\SysWOW64",
    "{7C5A40EF-A0FB-4BFC-874A-C0F2E0B9FA8E}": r"C:\Program Files (x86)",
}
_STARTS = {0: "at boot", 1: "by the system", 2: "automatically", 3: "on demand", 4: "disabled"}
_KEY_WRITTEN = "key last written"
_OF_SYSTEM = (TraceKind.PERSISTS, TraceKind.PRESENT, TraceKind.RAN, TraceKind.SYSTEM)
_OF_USER = (
    TraceKind.PERSISTS,
    TraceKind.RAN,
    TraceKind.OPENED,
    TraceKind.COMMAND,
    TraceKind.NETWORK,
)


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield what the hive says, by its kind."""
    data = content.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        yield Gap(text=f"the hive has more than {MAX_BYTES:,} bytes; only its first part was read", in_headline=True)
        yield Unread(1)
    hive = Hive(data[:MAX_BYTES])
    root = hive.root
    if root is None:
        yield Gap(
            text="the hive's header or root key is damaged; nothing was read (a transaction log has no keys of its own)"
        )
        yield Unread(1)
        return
    names = {key.name.lower() for key in hive.subkeys(root)}
    kind, records, rows = _kind(hive, names)
    yield Records(records)
    yield HostNote("hive", f"{kind} ({hive.name})" if hive.name else kind)
    count = 0
    for row in rows:
        if isinstance(row, Artefact):
            count += 1
            row.number = count
        if count > MAX_ROWS:
            yield Gap(text=f"only the first {MAX_ROWS:,} entries were read", in_headline=True)
            yield Unread(1)
            break
        yield row
    yield from _gaps(hive, len(data))


def _gaps(hive: Hive, size: int) -> Iterator[Item]:
    if hive.bytes_named > size:
        yield Gap(text=f"the file is cut off: it has {size:,} of {hive.bytes_named:,} bytes", in_headline=True)
        yield Unread(1)
    if hive.broken:
        yield Gap(
            text=f"{hive.broken:,} keys, values or lists of the hive are damaged and were not read", in_headline=True
        )
        yield Unread(hive.broken)
    if hive.is_cut:
        yield Gap(text="very long values were read in part")
    if hive.sequences[0] != hive.sequences[1]:
        yield Gap(
            text="the hive was not written completely (its sequence numbers differ): its newest changes are in "
            "the transaction "
            "logs (.LOG1, .LOG2), which were not replayed",
            in_headline=True,
        )
    else:
        yield Gap(text="transaction logs (.LOG1, .LOG2) were not replayed, and deleted keys were not recovered")


def _kind(hive: Hive, names: set[str]) -> tuple[str, tuple[TraceKind, ...], Iterator[Item]]:
    software = "SOFTWARE hive", (TraceKind.PERSISTS,), _software
    rows: tuple[tuple[bool, str, tuple[TraceKind, ...], Callable[[Hive], Iterator[Item]]], ...] = (
        ("select" in names or any(name.startswith("controlset") for name in names), "SYSTEM hive", _OF_SYSTEM, _system),
        (
            "sam" in names,
            "SAM hive",
            (TraceKind.SETTING, TraceKind.LOGIN, TraceKind.FAILED_LOGIN),
            _accounts,
        ),
        ({"microsoft", "classes"} <= names or {"microsoft", "wow6432node"} <= names, *software),
        ("root" in names, "Amcache hive", (TraceKind.PRESENT,), _amcache),
        ("software" in names, "user's hive (NTUSER.DAT)", _OF_USER, _user),
        ("microsoft" in names, *software),
    )
    for is_it, kind, records, made in rows:
        if is_it:
            return kind, records, made(hive)
    return "hive of an unknown kind", (), _unknown(names)


def _unknown(names: set[str]) -> Iterator[Item]:
    shown = ", ".join(sorted(names)[:10])
    yield Gap(
        text=f"the hive is none of SYSTEM, SOFTWARE, SAM, NTUSER.DAT and Amcache (its keys: {shown}); not examined"
    )
    yield Unread(1)


def _row(activity: TraceKind, what: str, key: Key | None, path: str, **more: str) -> Artefact:
    time = from_filetime(key.written) if key is not None else ""
    values = {"time": time, "time_means": _KEY_WRITTEN if time else "", "excerpt": f"{path} = {what}"} | more
    return Artefact(number=0, activity=activity, what=what[:MAX_TEXT_CHARS], where=path, **values)  # type: ignore[arg-type]


def _autostart(value: Value, key: Key, path: str, **more: str) -> Artefact:
    target = f"{path}\\{value.name or '(Default)'}"
    row = _row(TraceKind.PERSISTS, value.text, key, target, **more)
    row.product, row.category = "windows", "registry_set"
    row.fields = {"EventType": "SetValue", "TargetObject": target, "Details": value.text[:MAX_TEXT_CHARS]}
    return row


def _runs(hive: Hive, below: str, shown: str) -> Iterator[Artefact]:
    for run in _RUN_KEYS:
        if (key := hive.key(f"{below}\\{run}")) is not None:
            for one in [key, *hive.subkeys(key)]:
                path = f"{shown}\\{run}" + (f"\\{one.name}" if one is not key else "")
                yield from (_autostart(value, one, path) for value in hive.values(one) if value.kind != BINARY)
    for path, names in _SINGLE:
        if (key := hive.key(f"{below}\\{path}")) is not None:
            for name in names:
                if (value := hive.value(key, name)) is not None and value.text.strip():
                    yield _autostart(value, key, f"{shown}\\{path}")


def _below(hive: Hive, path: str, name: str, shown: str) -> Iterator[Artefact]:
    """The value ``name`` of each subkey."""
    if (parent := hive.key(path)) is not None:
        for key in hive.subkeys(parent):
            if (value := hive.value(key, name)) is not None and value.text.strip():
                yield _autostart(value, key, f"{shown}\\{path}\\{key.name}")


def _software(hive: Hive) -> Iterator[Item]:
    if (version := hive.key(r"Microsoft\Windows NT\CurrentVersion")) is not None:
        for name in ("ProductName", "CurrentBuild", "RegisteredOwner"):
            if (value := hive.value(version, name)) is not None:
                yield HostNote(name, value.text)
    for below, shown in (("", r"HKLM\SOFTWARE"), ("Wow6432Node", r"HKLM\SOFTWARE\Wow6432Node")):
        yield from _runs(hive, below, shown)
    options = r"Microsoft\Windows NT\CurrentVersion\Image File Execution Options"
    yield from _below(hive, options, "Debugger", r"HKLM\SOFTWARE")
    yield from _below(
        hive, r"Microsoft\Windows NT\CurrentVersion\SilentProcessExit", "MonitorProcess", r"HKLM\SOFTWARE"
    )
    yield from _below(hive, r"Microsoft\Active Setup\Installed Components", "StubPath", r"HKLM\SOFTWARE")
    yield Gap(text="scheduled tasks, COM classes and services in other hives were not read from this hive")


def _system(hive: Hive) -> Iterator[Item]:
    current = hive.value(hive.key("Select"), "Current")
    number = int(current.text) if current is not None and current.text.isdigit() else 1
    control = f"ControlSet{number:03}"
    name = hive.value(hive.key(rf"{control}\Control\ComputerName\ComputerName"), "ComputerName")
    zone = hive.value(hive.key(rf"{control}\Control\TimeZoneInformation"), "TimeZoneKeyName")
    for label, value in (("computer", name), ("time zone", zone)):
        if value is not None:
            yield HostNote(label, value.text)
    yield from _services(hive, control)
    for path, names in (
        (r"Control\Session Manager", ("BootExecute",)),
        (r"Control\Lsa", ("Security Packages", "Notification Packages", "Authentication Packages")),
    ):
        if (key := hive.key(rf"{control}\{path}")) is not None:
            for one in names:
                if (value := hive.value(key, one)) is not None and value.text.strip():
                    yield _autostart(value, key, rf"HKLM\SYSTEM\{control}\{path}")
    yield from _background(hive, control)
    cache_key = hive.key(rf"{control}\Control\Session Manager\AppCompatCache")
    if (cache := hive.value(cache_key, "AppCompatCache")) is not None:
        yield from shimcache(cache.data)
    if (devices := hive.key(rf"{control}\Enum\USBSTOR")) is not None:
        for device in hive.subkeys(devices):
            for serial in hive.subkeys(device):
                what = f"USB device {device.name}, serial {serial.name}"
                yield _row(TraceKind.SYSTEM, what, serial, rf"HKLM\SYSTEM\{control}\Enum\USBSTOR\{device.name}")


def _services(hive: Hive, control: str) -> Iterator[Artefact]:
    if (services := hive.key(rf"{control}\Services")) is None:
        return
    for key in hive.subkeys(services):
        values = {value.name.lower(): value for value in hive.values(key)}
        path = rf"HKLM\SYSTEM\{control}\Services\{key.name}"
        start = values["start"].text if "start" in values else ""
        detail = f"starts {_STARTS.get(int(start), start)}" if start.isdigit() else ""
        user = values["objectname"].text if "objectname" in values else ""
        for name in ("imagepath", "failurecommand"):
            if name in values and values[name].text.strip():
                yield _autostart(values[name], key, path, detail=detail, user=user)
        if "parameters" in {one.name.lower() for one in hive.subkeys(key)}:
            parameters = hive.key("Parameters", key)
            if parameters is not None and (library := hive.value(parameters, "ServiceDll")) is not None:
                yield _autostart(library, parameters, rf"{path}\Parameters", detail=detail, user=user)


def _background(hive: Hive, control: str) -> Iterator[Artefact]:
    """The background activity moderator: the last run of each program, by account."""
    for path in (rf"{control}\Services\bam\State\UserSettings", rf"{control}\Services\bam\UserSettings"):
        users = hive.key(path)
        for user in hive.subkeys(users) if users is not None else ():
            programs = [value for value in hive.values(user) if value.kind == BINARY and "\\" in value.name]
            yield from (_last_run(value, user.name, path) for value in programs if len(value.data) >= 8)


def _last_run(value: Value, user: str, path: str) -> Artefact:
    time = from_filetime(int.from_bytes(value.data[:8], "little"))
    return _row(
        TraceKind.RAN,
        value.name,
        None,
        rf"HKLM\SYSTEM\{path}",
        user=user,
        time=time,
        time_means="last run (BAM)",
        excerpt=f"{value.name} {time}",
    )


def _user(hive: Hive) -> Iterator[Item]:
    yield from _runs(hive, "Software", r"HKCU\Software")
    if (logon := hive.value(hive.key("Environment"), "UserInitMprLogonScript")) is not None:
        key = hive.key("Environment")
        if key is not None:
            yield _autostart(logon, key, r"HKCU\Environment")
    explorer = r"Software\Microsoft\Windows\CurrentVersion\Explorer"
    yield from _user_assist(hive, rf"{explorer}\UserAssist")
    for name, activity in (("RunMRU", TraceKind.COMMAND), ("TypedPaths", TraceKind.OPENED)):
        if (key := hive.key(rf"{explorer}\{name}")) is not None:
            for value in hive.values(key):
                if value.name != "MRUList" and value.text.strip():
                    text = value.text.removesuffix("\\1")
                    yield _row(
                        activity,
                        text,
                        key,
                        rf"HKCU\{explorer}\{name}",
                        detail=f"entry {value.name}",
                        time_means=_KEY_WRITTEN + " (its newest entry)",
                    )
    yield from _recent(hive, rf"{explorer}\RecentDocs")
    if (servers := hive.key(r"Software\Microsoft\Terminal Server Client\Servers")) is not None:
        for server in hive.subkeys(servers):
            hint = hive.value(server, "UsernameHint")
            yield _row(
                TraceKind.NETWORK,
                f"Remote Desktop to {server.name}",
                server,
                r"HKCU\Software\Microsoft\Terminal Server Client",
                source=server.name,
                user=hint.text if hint else "",
            )


def _user_assist(hive: Hive, path: str) -> Iterator[Artefact]:
    if (assist := hive.key(path)) is None:
        return
    for guid in hive.subkeys(assist):
        counts = hive.key("Count", guid)
        for value in hive.values(counts) if counts is not None else ():
            name = codecs.decode(value.name, "rot13")
            if name.startswith("UEME_") or len(value.data) < 16:
                continue
            is_long = len(value.data) >= 68
            runs = int.from_bytes(value.data[4:8], "little") - (0 if is_long else 5)
            time = from_filetime(int.from_bytes(value.data[60:68] if is_long else value.data[8:16], "little"))
            folder, _, rest = name.partition("\\")
            program = f"{_FOLDERS[folder.upper()]}\\{rest}" if folder.upper() in _FOLDERS and rest else name
            yield _row(
                TraceKind.RAN,
                program,
                None,
                rf"HKCU\{path}",
                detail=f"UserAssist count {max(runs, 0):,}",
                time=time,
                time_means="last started from the desktop (UserAssist)" if time else "",
                excerpt=f"{name} count {runs} {time}",
            )


def _recent(hive: Hive, path: str) -> Iterator[Artefact]:
    if (recent := hive.key(path)) is None:
        return
    for value in hive.values(recent):
        if value.kind == BINARY and value.name.isdigit():
            name = value.data[: len(value.data) & ~1].decode("utf-16-le", errors="replace").partition("\x00")[0]
            if name:
                yield _row(
                    TraceKind.OPENED,
                    name,
                    recent,
                    rf"HKCU\{path}",
                    time_means=_KEY_WRITTEN + " (its newest entry)",
                )


def _amcache(hive: Hive) -> Iterator[Item]:
    found = False
    if (files := hive.key(r"Root\InventoryApplicationFile")) is not None:
        for key in hive.subkeys(files):
            values = {value.name.lower(): value.text for value in hive.values(key)}
            path = values.get("lowercaselongpath") or key.name
            sha1 = values.get("fileid", "")[4:]
            told = [
                f"SHA-1 {sha1}" if sha1 else "",
                values.get("publisher", ""),
                f"{values['size']} bytes" if values.get("size") else "",
            ]
            found = True
            yield _row(
                TraceKind.PRESENT,
                path,
                key,
                r"Root\InventoryApplicationFile",
                detail=", ".join(filter(None, told)),
                time_means="Amcache entry last written",
            )
    if (volumes := hive.key(r"Root\File")) is not None:
        for volume in hive.subkeys(volumes):
            for key in hive.subkeys(volume):
                values = {value.name.lower(): value.text for value in hive.values(key)}
                found = True
                sha1 = values.get("101", "")[4:]
                yield _row(
                    TraceKind.PRESENT,
                    values.get("15") or key.name,
                    key,
                    r"Root\File",
                    detail=f"SHA-1 {sha1}" if sha1 else "",
                    time_means="Amcache entry last written",
                )
    if found:
        yield Gap(
            text="an entry of Amcache says that a file was on the disk when it was inventoried; it does not "
            "prove that it ran"
        )


def _accounts(hive: Hive) -> Iterator[Item]:
    users = hive.key(r"SAM\Domains\Account\Users")
    names = hive.key(r"SAM\Domains\Account\Users\Names")
    if users is None or names is None:
        yield Gap(text="the hive has no list of accounts")
        yield Unread(1)
        return
    by_rid = {key.name.upper(): key for key in hive.subkeys(users)}
    for name in hive.subkeys(names):
        value = next(iter(hive.values(name)), None)
        rid = value.kind if value is not None else 0
        record = hive.value(by_rid.get(f"{rid:08X}"), "F")
        where = r"HKLM\SAM\Domains\Account\Users"
        yield _row(
            TraceKind.SETTING,
            f"local account {name.name}",
            name,
            where,
            user=name.name,
            detail=f"RID {rid}",
            time_means="account created (its name's key last written)",
        )
        if record is not None and len(record.data) >= 68:
            login, failed = (int.from_bytes(record.data[at : at + 8], "little") for at in (8, 40))
            count = int.from_bytes(record.data[66:68], "little")
            for activity, ticks, means in (
                (TraceKind.LOGIN, login, "last login"),
                (TraceKind.FAILED_LOGIN, failed, "last failed login"),
            ):
                if time := from_filetime(ticks):
                    yield _row(
                        activity,
                        name.name,
                        None,
                        where,
                        user=name.name,
                        time=time,
                        time_means=means,
                        detail=f"{count:,} logins in all" if activity is TraceKind.LOGIN else "",
                        excerpt=f"{name.name} {means} {time}",
                    )
