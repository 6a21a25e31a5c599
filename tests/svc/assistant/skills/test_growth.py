"""Every tool's time grows with its input's size, not faster.

Compared are two sizes of one input in one process, by processor time, so a slow machine changes nothing: on an input
four times as long, linear work takes 4 times as long and quadratic work 16 times.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, partial

import pytest

from svc.assistant.skills.catalogue import SKILLS, skill_named
from svc.assistant.skills.skill import Skill
from tests.support import captures, evtx_writer, program_files
from tests.support.growth import times_as_long
from tests.support.run_tool import findings_of
from tests.support.sample_inputs import open_set

SIZES = (4_000, 16_000)
MOST_GROWTH = 11.0  # from the smallest to the largest
_START = datetime(2026, 11, 20, tzinfo=UTC)

Make = Callable[[int], bytes]


def repeated(text: bytes) -> Make:
    return lambda size: (text * (size // len(text) + 1))[:size]


def sample(kind: str) -> Make:
    return repeated(open_set()[kind])


def logins(size: int) -> bytes:
    """Attempts of many addresses on many accounts."""
    lines = []
    for at in range(size // 95):
        lines.append(
            f"Nov 20 {at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02} web sshd[{at}]: Failed password for "
            f"{'invalid user ' * (at % 2)}u{at % 97} from 203.0.{at % 113}.{at % 250} port {at % 60_000} ssh2\n"
        )
    return "".join(lines).encode()


def connections(size: int) -> bytes:
    columns = ("ts", "uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "conn_state")
    rows = ["#path\tconn\n#fields\t" + "\t".join(columns) + "\n"]
    draw = random.Random(1)
    for at in range(size // 75):
        ends = f"10.0.{draw.randrange(9)}.{draw.randrange(250)}\t{at % 60_000}\t198.51.{at % 90}.{at % 250}\t{at % 999}"
        rows.append(f"{1_793_500_000 + at}.0\tC{at}\t{ends}\ttcp\t{draw.choice(['SF', 'S0', 'REJ'])}\n")
    return "".join(rows).encode()


def event_log(size: int) -> bytes:
    chunks = []
    for first in range(0, size // 200, 40):
        chunks.append(
            [
                evtx_writer.Record(
                    number=first + at + 1,
                    event_id=4688,
                    channel="Security",
                    provider="Microsoft-Windows-Security-Auditing",
                    computer="ws",
                    time=(_START + timedelta(seconds=first + at)).isoformat(),
                    data={"NewProcessName": f"C:\\x\\p{first + at}.exe", "CommandLine": f"p.exe -n {first + at}"},
                )
                for at in range(40)
            ]
        )
    return evtx_writer.evtx(*chunks)


def logons(size: int) -> bytes:
    """Failed and accepted logons of many accounts."""
    data = [
        {"TargetUserName": f"u{at % 97}", "IpAddress": f"10.0.{at % 113}.{at % 250}", "LogonType": "3"}
        for at in range(size // 200)
    ]
    records = [
        evtx_writer.Record(number=at + 1, event_id=4625 if at % 3 else 4624, data=one) for at, one in enumerate(data)
    ]
    return evtx_writer.evtx(*(records[at : at + 50] for at in range(0, len(records), 50)))


def process_lines(size: int) -> bytes:
    """Sysmon's process creations as JSON lines."""
    return "".join(
        f'{{"EventID":1,"Channel":"Microsoft-Windows-Sysmon/Operational","Hostname":"pc{at % 9}",'
        f'"Image":"C:\\\\x\\\\p{at}.exe","CommandLine":"p{at}.exe /c task{at}","ProcessId":{at}}}\n'
        for at in range(size // 150)
    ).encode()


def table(size: int) -> bytes:
    """Logins as CSV."""
    rows = (
        f"2026-11-{1 + at % 28:02}T00:00:00Z,u{at % 97},10.0.{at % 113}.{at % 250},failure" for at in range(size // 50)
    )
    return "\n".join(["time,user,source_ip,outcome", *rows]).encode()


def mailbox(size: int) -> bytes:
    """Mails with links, each from another sender."""
    return "".join(
        f"From a@h{at}.example Tue Mar 11 09:30:00 2025\nFrom: News <a@h{at}.example>\nTo: b@c.example\n"
        f"Subject: No. {at}\nContent-Type: text/html\n\n<p>Please <a href='https://h{at}.example/{at}'>confirm</a></p>\n\n"
        for at in range(size // 230)
    ).encode()


def capture(size: int) -> bytes:
    frames = [
        frame
        for at in range(size // 160)
        for frame in captures.question(f"h{at}.example", at=captures.START + at, missing=False)
    ]
    return captures.capture(frames)


def program(size: int) -> bytes:
    return program_files.pe(sections=((".text", random.Random(1).randbytes(size), program_files.CODE),))


def document(size: int) -> bytes:
    content = [b"<< /Type /Annot /A << /S /URI /URI (http://h%d.example/) >> >>" % at for at in range(size // 90)]
    return program_files.pdf(b"<< /Type /Catalog >>", *content)


def members(size: int) -> bytes:
    return program_files.archive({f"folder/file-{at}.txt": "text" for at in range(size // 120)})


def office(size: int) -> bytes:
    links = "".join(f"<w:p><w:r><w:t>line {at}</w:t></w:r></w:p>" for at in range(size // 40))
    return program_files.archive(
        {"[Content_Types].xml": "<a/>", "word/document.xml": f"<w:document>{links}</w:document>"}
    )


def script(size: int) -> bytes:
    return "".join(f"$v{at} = Get-Item 'C:\\x{at}'\nWrite-Host $v{at}\n" for at in range(size // 42)).encode()


def indicators(size: int) -> bytes:
    return "".join(f"http://h{at}.example/p{at} 203.0.113.{at % 250} {at:064x}\n" for at in range(size // 100)).encode()


def stix(size: int) -> bytes:
    objects = ",".join(
        f'{{"type":"indicator","id":"indicator--{at}","pattern":"[domain-name:value = \'h{at}.example\']"}}'
        for at in range(size // 90)
    )
    return f'{{"type":"bundle","objects":[{objects}]}}'.encode()


GROWING: dict[str, tuple[Make, ...]] = {
    "auth_log": (logins, sample("syslog")),
    "events": (
        connections, event_log, logons, process_lines, table, sample("windows xml"), sample("web log"),
        sample("syslog"),
    ),
    "pcap": (capture,),
    "pdf": (document,),
    "archive": (members,),
    "program": (program,),
    "office": (office,),
    "script": (script, sample("shell script")),
    "indicators": (indicators, sample("report")),
    "threat_intel": (stix, indicators),
    "certificate": (sample("pem"),),
    "mail": (sample("mail"), mailbox),
    "code_review": (sample("python"), sample("dockerfile")),
}  # fmt: skip
"""What grows for a skill in its own form; further forms are tried with each."""

HOSTILE: dict[str, Make] = {
    "one letter": repeated(b"a"),
    "spaces": repeated(b" "),
    "line ends": repeated(b"\n"),
    "brackets": repeated(b"[({<"),
    "words": repeated(b"the cat sat on a mat "),
    "pairs": repeated(b"a=1;"),
    "addresses": repeated(b"a@b.example http://c.example/d 192.0.2.1 "),
}


@cache
def warm(skill: Skill) -> None:
    """Load what the tool loads at its first run."""
    findings_of(skill, b"x", "x")


def growth(skill: Skill, make: Make) -> float:
    """How many times as long the largest size takes as the smallest."""
    warm(skill)
    return times_as_long([partial(findings_of, skill, make(size), "x") for size in SIZES], most=MOST_GROWTH)


@pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.name)
def test_time_grows_with_the_size(skill: Skill):
    own = {f"own form {number}": make for number, make in enumerate(GROWING.get(skill.name, ()))}
    ratios = {name: growth(skill, make) for name, make in {**own, **HOSTILE}.items()}
    assert {name: round(ratio, 1) for name, ratio in ratios.items() if ratio >= MOST_GROWTH} == {}


def test_the_own_forms_are_those_of_skills():
    assert {skill_named(name).name for name in GROWING} == set(GROWING)


def test_a_quadratic_tool_would_be_found(monkeypatch):
    def quadratic(_skill, content, _name):
        sum(at for _ in range(len(content) // 5) for at in range(len(content) // 5))

    monkeypatch.setattr("tests.svc.assistant.skills.test_growth.findings_of", quadratic)
    assert growth(SKILLS[0], repeated(b"x")) >= MOST_GROWTH
