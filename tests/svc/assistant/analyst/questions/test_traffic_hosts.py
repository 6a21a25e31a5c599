"""Which hosts: by name if the records name them, else the addresses that the traffic is from."""

from __future__ import annotations

import json

from tests.support.inline_analyst import ask

DNS = b"""\
#separator \\x09
#path\tdns
#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tquery\tqtype_name
1795140189.000000\tC27\t192.168.7.20\t5353\t192.168.7.1\t53\tudp\twww.corp.example\tA
1795140190.000000\tC28\t192.168.7.21\t5353\t192.168.7.1\t53\tudp\tc2.evil.example\tA
"""
SYSMON = {
    "EventID": 3, "Channel": "Microsoft-Windows-Sysmon/Operational", "Computer": "ws-7.example.test",
    "@timestamp": "2026-11-20T03:00:00.000Z", "Image": r"C:\\Tools\\a.exe", "SourceIp": "10.0.0.7",
    "DestinationIp": "203.0.113.9", "DestinationHostname": "c2.evil.example",
}  # fmt: skip


async def test_hosts_without_names_are_addresses():
    asked = await ask("which hosts talked to c2.evil.example", ("dns.log", DNS))
    assert asked.markdown.startswith("**host: `192[.]168[.]7[.]21`**"), asked.markdown


async def test_a_host_that_is_named_is_not_its_address():
    asked = await ask("which hosts talked to c2.evil.example", ("host.json", json.dumps(SYSMON).encode()))
    assert asked.markdown.startswith("**host: `ws-7"), asked.markdown
