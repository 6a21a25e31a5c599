"""Ordinary inputs for each skill: nothing in them is an attack, so that nothing in them is high.

``tests/svc/assistant/skills/test_precision.py`` checks them, and ``tests/benchmarks/precision.py`` counts them together
with a machine's own files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tests.support import mails, ordinary_files, ordinary_hosts, ordinary_logs
from tests.support.first_contacts import first_contacts

COUNT = 24
_MADE: dict[str, tuple[Callable[[int], bytes], ...]] = {
    "auth_log": (ordinary_logs.auth_week,),
    "events": (
        ordinary_logs.auth_week,
        ordinary_logs.syslog_day,
        ordinary_logs.web_day,
        ordinary_logs.exposed_web_day,
        ordinary_logs.windows_day,
        ordinary_logs.cloudtrail_day,
    ),
    "host_artefacts": (ordinary_hosts.hive, ordinary_hosts.history, ordinary_hosts.crontab, ordinary_hosts.browser),
    "pcap": (ordinary_logs.capture_hour,),
    "program": (ordinary_files.program,),
    "script": (ordinary_files.script,),
    "code_review": (ordinary_files.code,),
    "pdf": (ordinary_files.pdf,),
    "office": (ordinary_files.office,),
    "shortcut": (ordinary_files.shortcut,),
    "archive": (ordinary_files.archive,),
    "token": (ordinary_files.token,),
    "certificate": (ordinary_files.certificate,),
    "indicators": (ordinary_files.text, ordinary_logs.web_day),
    "decode": (ordinary_files.text,),
    "hash_kind": (ordinary_files.text,),
    "cvss": (ordinary_files.text,),
    "cve": (ordinary_files.text,),
    "versions": (ordinary_files.text,),
    "attack": (ordinary_files.text,),
    "behaviours": (ordinary_files.text,),
    "weakness": (ordinary_files.text,),
    "threat_intel": (ordinary_files.text,),
    "indicator_search": (ordinary_files.text, ordinary_logs.web_day),
    "yara": (ordinary_files.text, ordinary_files.program),
}


@cache
def ordinary_inputs(skill: str) -> dict[str, bytes]:
    """Return at least COUNT ordinary inputs for the skill, by name."""
    if skill == "mail":
        contacts = {**first_contacts("open_ordinary"), **first_contacts("held_ordinary")}
        return {**mails.ORDINARY, **contacts}
    makers = _MADE[skill]
    numbers = range(-(-COUNT // len(makers)))
    return {f"{maker.__name__} {number}": maker(number) for maker in makers for number in numbers}
