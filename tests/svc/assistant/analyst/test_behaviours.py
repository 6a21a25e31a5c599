"""A question about a behaviour of which nothing was found says what was looked at and what is missing to judge."""

from __future__ import annotations

import pytest

from tests.support.inline_analyst import ask
from tests.svc.assistant.host_artefacts.test_samples import plain

_CONNECTION = "2026-11-20T08:{0:02}:00Z,10.0.0.5,198.51.100.{1},443,tcp,allow,{2}\n"
CONNECTIONS = "timestamp,src_ip,dst_ip,dst_port,protocol,action,bytes_sent\n"
FEW = CONNECTIONS + "".join(_CONNECTION.format(n, n, 900) for n in range(4))
ENOUGH = CONNECTIONS + "".join(_CONNECTION.format(n, 7, 900) for n in (0, 1, 5, 6, 17, 19, 30, 31, 44, 45, 58, 59))
NO_BYTES = "\n".join(line.rpartition(",")[0] for line in FEW.split("\n"))
LOGINS = (
    "timestamp,user,ip,event,result\n2026-11-20T08:00:00Z,mara,198.51.100.7,login,success\n"
    "2026-11-20T08:01:00Z,jo,198.51.100.8,login,failure\n2026-11-20T08:02:00Z,jo,198.51.100.8,login,success\n"
)
COUNTRIES = LOGINS.replace("result\n", "result,country\n", 1).replace("success\n", "success,DE\n")
DNS = "timestamp,client_ip,query,qtype\n" + "".join(
    f"2026-11-20T08:{n:02}:00Z,10.0.0.5,www{n}.example.org,A\n" for n in range(3)
)
MANY_DNS = DNS + "".join(f"2026-11-20T09:{n:02}:00Z,10.0.0.5,a{n}.example.net,A\n" for n in range(50))


@pytest.mark.parametrize(
    ("log", "question", "says"),
    [
        (FEW, "Is there beaconing?", ("Cannot tell", "in 4 pairs", "none of them has 10 contacts over 5 minutes")),
        (ENOUGH, "Is there beaconing?", ("No sign found", "in 1 pair", "1 of them had enough contacts")),
        (LOGINS, "Is there beaconing?", ("Cannot tell", "shows in connections", "3 events read have none")),
        (FEW, "Is there a port scan?", ("No sign found", "in 4 connections from 1 source", "15 such ports of a host")),
        (DNS, "Was there a port scan?", ("Cannot tell", "shows in connections")),
        (DNS, "Is there DNS tunnelling?", ("Cannot tell", "in 3 DNS queries", "so few queries")),
        (MANY_DNS, "Is there DNS tunnelling?", ("No sign found", "in 53 DNS queries")),
        (FEW, "Was there a large upload?", ("No sign found", "more than 500 MB", "in 4 connections")),
        (NO_BYTES, "Was there a large upload?", ("Cannot tell", "no column with the bytes")),
        (LOGINS, "Was there impossible travel?", ("Cannot tell", "2 accepted logins of 2 accounts", "no country")),
        (COUNTRIES, "Was there impossible travel?", ("No sign found", "2 accepted logins of 2 accounts")),
        (LOGINS, "Is there password spraying?", ("No sign found", "failed on 5 or more accounts", "1 failure")),
        (LOGINS, "Was there a brute-force attack?", ("No sign found", "in 3 logins", "1 failure from 1 source")),
        (LOGINS, "Is there MFA fatigue?", ("Cannot tell", "five denied MFA requests", "3 login events")),
        (FEW, "Is there MFA fatigue?", ("Cannot tell", "shows in logins")),
    ],
)
async def test_what_was_looked_at_is_said(log: str, question: str, says: tuple[str, ...]) -> None:
    first = plain((await ask(question, ("log.csv", log.encode()))).markdown).partition("\n")[0]
    assert [one for one in says if one not in first] == [], first


async def test_what_was_found_is_not_hidden() -> None:
    beacon = CONNECTIONS + "".join(_CONNECTION.format(n, 7, 900) for n in range(40))
    first = plain((await ask("Is there beaconing?", ("log.csv", beacon.encode()))).markdown).partition("\n")[0]
    assert "Possibly" in first
    assert "beaconing" in first
