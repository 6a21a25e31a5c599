"""What a responder's commands print about a host's state: one host after an attack and one of a quiet day."""

from __future__ import annotations

from tests.svc.assistant.host_artefacts.live import Sample

WINDOWS_ATTACK = r"""C:\> sc query
SERVICE_NAME: WinDefend
DISPLAY_NAME: Microsoft Defender Antivirus Service
        TYPE               : 10  WIN32_OWN_PROCESS
        STATE              : 1  STOPPED
                                (NOT_STOPPABLE, NOT_PAUSABLE, IGNORES_SHUTDOWN)
        WIN32_EXIT_CODE    : 1077  (0x435)
        SERVICE_EXIT_CODE  : 0  (0x0)
        CHECKPOINT         : 0x0
        WAIT_HINT          : 0x0

SERVICE_NAME: Spooler
DISPLAY_NAME: Print Spooler
        TYPE               : 110  WIN32_OWN_PROCESS (interactive)
        STATE              : 4  RUNNING
                                (STOPPABLE, NOT_PAUSABLE, ACCEPTS_SHUTDOWN)
C:\> schtasks /query /fo LIST /v

Folder: \
HostName:                             WS-17
TaskName:                             \OneDriveUpd
Next Run Time:                        11/23/2026 8:00:00 AM
Status:                               Ready
Logon Mode:                           Interactive only
Last Run Time:                        11/22/2026 8:00:00 AM
Last Result:                          0
Author:                               CORP\mara
Task To Run:                          powershell.exe -w hidden -enc SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQAIABOAGUAdAAuAFcAZQBiAEMAbABpAGUAbgB0ACkA
Start In:                             N/A
Comment:                              N/A
Run As User:                          SYSTEM
Repeat: Every:                        0 Hour(s), 5 Minute(s)
C:\> net user

User accounts for \\WS-17

-------------------------------------------------------------------------------
Administrator            DefaultAccount           Guest
mara                     svc_backup               WDAGUtilityAccount
The command completed successfully.

C:\> net localgroup administrators
Alias name     administrators
Comment        Administrators have complete and unrestricted access to the computer/domain

Members

-------------------------------------------------------------------------------
Administrator
CORP\Domain Admins
svc_backup
The command completed successfully.

C:\> whoami /all

USER INFORMATION
----------------

User Name      SID
============== =============================================
corp\mara      S-1-5-21-1004336348-1177238915-682003330-1105


GROUP INFORMATION
-----------------

Group Name                             Type             SID          Attributes
====================================== ================ ============ ==================================================
Everyone                               Well-known group S-1-1-0      Mandatory group, Enabled by default, Enabled group
BUILTIN\Administrators                 Alias            S-1-5-32-544 Group used for deny only


PRIVILEGES INFORMATION
----------------------

Privilege Name                Description                          State
============================= ==================================== ========
SeShutdownPrivilege           Shut down the system                 Disabled
SeDebugPrivilege              Debug programs                       Enabled

C:\> ipconfig /all

Windows IP Configuration

   Host Name . . . . . . . . . . . . : WS-17
   Primary Dns Suffix  . . . . . . . : corp.example.org

Ethernet adapter Ethernet0:

   Connection-specific DNS Suffix  . : corp.example.org
   Physical Address. . . . . . . . . : 00-50-56-AA-BB-CC
   IPv4 Address. . . . . . . . . . . : 192.0.2.17(Preferred)
   Subnet Mask . . . . . . . . . . . : 255.255.255.0
   Default Gateway . . . . . . . . . : 192.0.2.1
   DNS Servers . . . . . . . . . . . : 192.0.2.10
                                       192.0.2.11
C:\> arp -a

Interface: 192.0.2.17 --- 0x5
  Internet Address      Physical Address      Type
  192.0.2.1             00-50-56-c0-00-08     dynamic
  192.0.2.66            00-50-56-c0-00-08     dynamic
  224.0.0.22            01-00-5e-00-00-16     static
"""  # noqa: E501 - as schtasks prints it
ENCODED = (
    "powershell.exe -w hidden -enc SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQAIABOAGUAdAAuAFcAZQBiAEMAbABpAGUAbgB0ACkA"
)
WINDOWS = WINDOWS_ATTACK.replace("1  STOPPED", "4  RUNNING").replace(ENCODED, r"%windir%\system32\defrag.exe -c")
UNIX = """COMMAND  PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME
sshd     812 root    3u  IPv4  20100      0t0  TCP *:22 (LISTEN)
sshd     900 mara    4u  IPv4  20555      0t0  TCP 192.0.2.5:22->192.0.2.9:51000 (ESTABLISHED)
nginx    700 root  txt    REG    8,1  1200000 3001 /usr/sbin/nginx
nginx    700 root    2w   REG    8,1     1200 3002 /var/log/nginx/error log
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP group default qlen 1000
    inet 192.0.2.5/24 brd 192.0.2.255 scope global eth0
default via 192.0.2.1 dev eth0 proto dhcp metric 100
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.5
gw (192.0.2.1) at 00:50:56:c0:00:01 [ether] on eth0
? (192.0.2.9) at 00:50:56:c0:00:09 [ether] on eth0
"""
UNIX_ATTACK = UNIX.replace("<BROADCAST,MULTICAST,UP", "<BROADCAST,MULTICAST,PROMISC,UP").replace(
    "1: lo:",
    "kdevtmp  6666 www-data txt  REG    8,1   900000 3003 /dev/shm/.k/kdevtmp (deleted)\n"
    "bash    6667 www-data   0u  IPv4  20777      0t0  TCP 192.0.2.5:43210->203.0.113.66:4444 (ESTABLISHED)\n1: lo:",
)
UNITS = """  UNIT                     LOAD   ACTIVE   SUB     DESCRIPTION
  auditd.service           loaded active   running Security Auditing Service
  cron.service             loaded active   running Regular background program processing daemon
* certbot.service          loaded failed   failed  Certbot
  ssh.service              loaded active   running OpenBSD Secure Shell server

LOAD   = Reflects whether the unit definition was properly loaded.
4 loaded units listed. Pass --all to see loaded but inactive units, too.
"""
UNITS_ATTACK = UNITS.replace(
    "auditd.service           loaded active   running", "auditd.service           loaded inactive dead   "
)


def listed_samples() -> dict[str, Sample]:
    """The samples by their name."""
    suspicious = "Is anything suspicious here?"
    return {
        "commands of Windows": Sample(
            ("collected.txt", WINDOWS_ATTACK.encode()),
            ("collected.txt", WINDOWS.encode()),
            (22, 22),
            ("T1562.001", "T1059.001"),
            (
                (suspicious, ("Encoded PowerShell command", "Protection or logging that does not run")),
                ("Which services are stopped?", ("1 service with not running", "`WinDefend`")),
                ("Is svc_backup in administrators?", ("Yes", "members Administrator, CORP")),
            ),
            (
                (suspicious, ("22 of 22",)),
                ("Which accounts are there?", ("`mara`", "`svc_backup`")),
                ("Which privileges are enabled?", ("1 right with an enabled privilege", "`SeDebugPrivilege`")),
            ),
        ),
        "commands of Unix": Sample(
            ("collected.txt", UNIX_ATTACK.encode()),
            ("collected.txt", UNIX.encode()),
            (12, 10),
            ("T1071", "T1040"),
            (
                (
                    suspicious,
                    ("Shell or script host with a connection to the outside", "receives the traffic of others"),
                ),
                ("Which connections go to 203.0.113.66?", ("`www-data`",)),
                ("Which processes run as www-data?", ("kdevtmp",)),
            ),
            (
                (suspicious, ("10 of 10",)),
                ("Which routes are there?", ("2 routes", "via 192[.]0[.]2[.]1")),
                ("Which neighbours are there?", ("2 neighbours", "00:50:56:c0:00:09")),
            ),
        ),
        "units of systemd": Sample(
            ("units.txt", UNITS_ATTACK.encode()),
            ("units.txt", UNITS.encode()),
            (4, 4),
            ("T1562.001",),
            (
                (suspicious, ("Protection or logging that does not run", "auditd.service")),
                ("Which services are not running?", ("1 service with not running", "`auditd.service`")),
                ("How many services are there?", ("4 services",)),
            ),
            (
                (suspicious, ("4 of 4",)),
                ("Which services failed?", ("`certbot.service`",)),
                ("Is ssh.service running?", ("ssh.service",)),
            ),
        ),
    }
