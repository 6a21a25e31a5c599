"""A job whose time for reading is up reports what it found, and how much of its input that is."""

from __future__ import annotations

import gzip
import io
import json
import lzma
from collections.abc import Callable
from itertools import count

import pytest

from svc.assistant.analyst import render
from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.plan import Plan
from svc.assistant.findings import Coverage, Finding, Gap, InputKind, Progress
from svc.assistant.log_readers.lines import ended_early
from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.workers import process, reading_budget
from svc.assistant.workers.reading_budget import LineCounts, ReadingBudget, StoppingFile, part_words, seconds_until
from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask

LINES = 8_000
SUCCESS = "Nov 20 00:00:09 web sshd[9]: Accepted password for deploy from 198.51.100.9 port 9 ssh2"


def auth(number: int) -> str:
    at = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    return f"Nov 20 {at} web sshd[{number}]: Failed password for root from 203.0.113.7 port {number} ssh2"


def windows(number: int) -> str:
    record = {
        "EventID": 4625,
        "TimeCreated": f"2026-11-20T00:{number // 60 % 60:02}:{number % 60:02}Z",
        "Channel": "Security",
    }
    return json.dumps(record | {"Computer": "WS-1", "TargetUserName": f"user{number % 7}", "IpAddress": "203.0.113.7"})


def web(number: int) -> str:
    at = f"20/Nov/2026:{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02} +0000"
    return f'203.0.113.7 - - [{at}] "GET /a{number % 9} HTTP/1.1" 404 12 "-" "sqlmap/1.7"'


def zeek(number: int) -> str:
    record = {"ts": 1_790_000_000 + number, "uid": f"C{number}", "id.orig_h": "192.0.2.7", "id.orig_p": 1_000}
    return json.dumps(record | {"id.resp_h": "203.0.113.7", "id.resp_p": 443, "proto": "tcp", "conn_state": "SF"})


def row(number: int) -> str:
    return f"2026-11-20T00:00:{number % 60:02}Z,login,user{number % 9},203.0.113.7,failure"


class Clock:
    """Processor time that is up after so many looks at it."""

    def __init__(self, looks: int) -> None:
        self._looks = count()
        self._last = looks

    def __call__(self) -> float:
        return 0.0 if next(self._looks) <= self._last else 180.0  # beyond reading, within counting


def skill_of(name: str):
    return next(skill for skill in SKILLS if skill.name == name)


def run(
    monkeypatch: pytest.MonkeyPatch, skill: str, content: bytes, *, looks: int = 2, searches: bool = False
) -> SkillResult:
    one = skill_of(skill)
    clock = Clock(looks)
    limits = process.Limits()
    monkeypatch.setattr(
        process, "ReadingBudget", lambda cpu, wall, **_: ReadingBudget(cpu, wall, processor=clock, clock=lambda: 0.0)
    )
    monkeypatch.setattr(reading_budget, "_PIECE_BYTES", 131_072)
    request = process.JobRequest(
        tool="", input=one.input, name="evidence.log", limits=limits, looks_for_instructions=searches
    )
    events = list(process._events(process._load(one.tool), request, content, lambda _: None))
    gaps = [event for event in events if isinstance(event, Gap)]
    return SkillResult(
        skill=one,
        findings=[event for event in events if isinstance(event, Finding)],
        inputs=("evidence.log",),
        gaps=tuple(("evidence.log", gap.text) for gap in gaps if not gap.in_headline),
        left_out=tuple(("evidence.log", gap.text) for gap in gaps if gap.in_headline),
        coverage=tuple(("evidence.log", event) for event in events if isinstance(event, Coverage)),
    )


def text_of(made: Callable[[int], str], header: str = "", lines: int = LINES) -> str:
    return header + "".join(f"{made(number)}\n" for number in range(lines))


HEADER = "time,action,user,source_ip,outcome\n"
CASES: dict[str, tuple[str, str, Callable[[str], bytes]]] = {
    "auth.log": ("auth_log", text_of(auth), str.encode),
    "auth.log gz": ("auth_log", text_of(auth), lambda text: gzip.compress(text.encode())),
    "auth.log utf-16": ("auth_log", text_of(auth), lambda text: text.encode("utf-16")),
    "syslog": ("events", text_of(auth), str.encode),
    "JSONL": ("events", text_of(windows), str.encode),
    "JSONL gz": ("events", text_of(windows), lambda text: gzip.compress(text.encode())),
    "Zeek JSON": ("events", text_of(zeek), str.encode),
    "CSV": ("events", text_of(row, HEADER), str.encode),
    "web log": ("events", text_of(web), str.encode),
    "no last line end": ("events", text_of(web).rstrip(), str.encode),
    "CR LF": ("events", text_of(web).replace("\n", "\r\n"), str.encode),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_read_is_reported_with_how_much_it_is(monkeypatch: pytest.MonkeyPatch, case: str):
    skill, text, packed = CASES[case]
    result = run(monkeypatch, skill, packed(text))

    assert len(result.findings) > 1
    [(_, coverage)] = result.coverage
    assert (coverage.total, coverage.is_cut) == (LINES, True)
    assert 0 < coverage.understood < LINES
    [(_, left_out)] = result.left_out
    assert left_out.startswith("only the first ")
    assert left_out.endswith(" was read: the limit of 240 s of processor time")
    assert not [gap for _, gap in result.gaps if "damaged" in gap or "skipped" in gap]
    answer = render.answer([result], Plan())
    assert f"**Incomplete:** `evidence.log`: {left_out}." in answer


@pytest.mark.parametrize("case", CASES)
def test_with_time_enough_nothing_is_cut(monkeypatch: pytest.MonkeyPatch, case: str):
    skill, text, packed = CASES[case]
    result = run(monkeypatch, skill, packed(text), looks=1_000_000)
    [(_, coverage)] = result.coverage
    assert (coverage.total, coverage.understood, coverage.is_cut) == (LINES, LINES, False)
    assert not result.left_out


def test_no_login_was_accepted_is_only_said_of_the_part_that_was_read(monkeypatch: pytest.MonkeyPatch):
    result = run(monkeypatch, "auth_log", f"{text_of(auth)}{SUCCESS}\n".encode())
    first, *others = render.answer([result], Plan()).split("\n\n")
    assert "no attacking source logged in" in first
    assert first.startswith("**In the part that was read")
    for block in others:
        for line in block.splitlines():
            if "No login was accepted" in line or "no login" in line.lower():
                assert "n the part that was read" in line


def test_a_search_for_instructions_leaves_the_tool_its_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "_PIECE_BYTES", 100_000)
    clock_up = 70.0  # beyond the search's share, not beyond the tool's
    monkeypatch.setattr(
        process,
        "ReadingBudget",
        lambda cpu, wall, **_: ReadingBudget(cpu, wall, processor=iter([0.0, *[clock_up] * 9_999]).__next__),
    )
    one = skill_of("auth_log")
    request = process.JobRequest(
        tool="", input=one.input, name="a", limits=process.Limits(), looks_for_instructions=True
    )
    events = list(process._events(process._load(one.tool), request, text_of(auth).encode(), lambda _: None))
    [gap] = [event.text for event in events if isinstance(event, Gap) and "searched for text" in event.text]
    assert gap.startswith("only the first ")
    assert gap.endswith("the search has a quarter of the limit of 240 s of processor time")
    [coverage] = [event for event in events if isinstance(event, Coverage)]
    assert (coverage.understood, coverage.is_cut) == (LINES, False)


def test_a_long_limit_keeps_some_minutes_for_what_comes_after_reading():
    shares = (reading_budget.SEARCH_SHARE, reading_budget.READING_SHARE, reading_budget.COUNTING_SHARE)
    assert [round(seconds_until(600, share)) for share in shares] == [150, 390, 510]
    assert [round(seconds_until(10_000, share)) for share in shares] == [2_500, 9_400, 9_743]


def test_waiting_for_the_machine_is_a_limit_that_passes():
    clock = iter([0.0, 1.0, 500.0]).__next__
    budget = ReadingBudget(240, 600, processor=lambda: 0.0, clock=clock)
    assert budget.exceeded(0.6) is None
    exceeded = budget.exceeded(0.6)
    assert exceeded is not None
    assert (exceeded.limit, exceeded.is_passing) == ("the limit of 600 s", True)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Did anyone get in?", "**In the part that was read, no sign found of** `Did anyone get in`"),
        ("Who logged in?", "**In the part that was read, nobody got in: no login was accepted"),
        ("Did anyone get in? Answer with yes or no only.", "cannot tell"),
    ],
)
async def test_nothing_is_denied_of_what_was_not_read(monkeypatch: pytest.MonkeyPatch, question: str, first: str):
    monkeypatch.setattr(
        process, "ReadingBudget", lambda cpu, wall, **_: ReadingBudget(cpu, wall, processor=Clock(2), clock=lambda: 0.0)
    )
    asked = await ask(question, ("auth.log", f"{text_of(auth)}{SUCCESS}\n".encode()))
    assert asked.markdown.startswith(first)
    assert asked.answer.status is AnswerStatus.PARTLY_ANSWERED
    assert asked.state_of == {"auth.log": "partly read"}


def test_no_progress_is_reported_while_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "COUNT_SECONDS", 0)
    monkeypatch.setattr(
        process, "ReadingBudget", lambda cpu, wall, **_: ReadingBudget(cpu, wall, processor=Clock(2), clock=lambda: 0.0)
    )
    one, content = skill_of("events"), text_of(web, lines=2 * LINES).encode()
    request = process.JobRequest(tool="", input=one.input, name="a", limits=process.Limits())
    sent: list[Progress] = []
    list(process._events(process._load(one.tool), request, content, sent.append))
    assert max(one.counted.done for one in sent if one.counted is not None) < len(content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("line", ["a line\n", "\u0a0a\u000a", "ĊĀ 中\n" * 3, "\n"])
def test_a_file_ends_after_a_whole_line(encoding: str, line: str):
    content = (line * 400_000).encode(encoding)
    file = StoppingFile(io.BytesIO(content), len(content), lambda done: done > 300_000, encoding)
    read = file.stream.read()
    assert file.end == len(read) < len(content)
    assert content.startswith(read)
    assert read.decode(encoding).endswith("\n")
    file.stream.seek(0)
    assert file.stream.read() == read


def test_a_list_on_one_line_ends_after_an_object():
    content = json.dumps([{"number": number} for number in range(400_000)]).encode()
    file = StoppingFile(io.BytesIO(content), len(content), lambda _: True, "utf-8")
    read = file.stream.read()
    assert 0 < len(read) < len(content)
    assert read.endswith(b"}")


def test_formats_with_random_access_are_never_cut(monkeypatch: pytest.MonkeyPatch):
    clock = Clock(0)
    budget = ReadingBudget(240, 600, processor=clock, clock=lambda: 0.0)
    for content in (b"PK\x03\x04\x00" + b"x\n" * 500_000, b"%PDF-1.7\n" + b"x\n" * 500_000):
        source = process._InputFile(io.BytesIO(content), budget)
        whole = source.content(InputKind.BINARY)
        assert hasattr(whole, "read")
        assert len(whole.read()) == len(content)
        assert not list(source.gaps())


@pytest.mark.parametrize(
    ("done", "total", "words"),
    [
        (235_900_000, 620_000_000, "the first 38 % (235 of 620 MB)"),
        (1_000, 3_000, "the first 33 % (1,000 of 3,000 bytes)"),
        (2_300_000_000, 20_000_000_000, "the first 11 % (2.3 of 20.0 GB)"),
        (1_000_000, 900_000_000, "the first 0.11 % (1 of 900 MB)"),
    ],
)
def test_the_part_in_words(done: int, total: int, words: str):
    assert part_words(done, total, is_packed=False) == words


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n", "#a\nb\n\nc", "a\r\n\r\n#b\r\n", "#\n\n\n#"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_counted_in_any_pieces(text: str, size: int):
    counts = LineCounts(text[at : at + size].encode() for at in range(0, len(text), size))
    lines = text.split("\n")[: None if text and not text.endswith("\n") else -1]
    filled = [line for line in lines if line.strip("\r")]
    records = [line for line in filled if not line.startswith("#")]
    assert (counts.lines, counts.filled, counts.records) == (len(lines), len(filled), len(records))


def audited(number: int) -> str:
    return (
        f"type=USER_LOGIN msg=audit(1790000{number % 1_000:03}.100:{number}): pid=1 uid=0 auid=4294967295 ses=1 "
        f'msg=\'op=login acct="root" exe="/usr/sbin/sshd" hostname=? addr=203.0.113.7 terminal=sshd res=failed\''
    )


def iis(number: int) -> str:
    at = f"2026-11-20 00:{number // 60 % 60:02}:{number % 60:02}"
    return f"{at} 192.0.2.5 GET /a{number % 9}.aspx - 443 - 203.0.113.7 sqlmap/1.7 - 404 0 2 15"


def journal(number: int) -> str:
    fields = {
        "__REALTIME_TIMESTAMP": str(1_790_000_000_000_000 + number),
        "_HOSTNAME": "web",
        "SYSLOG_IDENTIFIER": "sshd",
    }
    return json.dumps(fields | {"MESSAGE": f"Failed password for root from 203.0.113.7 port {number} ssh2"})


def zeek_row(number: int) -> str:
    return f"{1_790_000_000 + number}.5\tC{number}\t192.0.2.7\t1000\t203.0.113.7\t443\ttcp\tssl\t1.5\t100\t200\tSF"


ZEEK_HEADER = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
    "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state\n"
    "#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\n"
)
IIS_HEADER = (
    "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-11-20 00:00:00\n#Fields: date "
    "time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status "
    "sc-substatus sc-win32-status time-taken\n"
)
FURTHER: dict[str, tuple[str, str, Callable[[str], bytes]]] = {
    "audit log": ("events", text_of(audited), str.encode),
    "IIS": ("events", text_of(iis, IIS_HEADER), str.encode),
    "journal as events": ("events", text_of(journal), str.encode),
    "journal as logins": ("auth_log", text_of(journal), str.encode),
    "Zeek TSV": ("events", text_of(zeek_row, ZEEK_HEADER), str.encode),
    "Zeek TSV gz": ("events", text_of(zeek_row, ZEEK_HEADER), lambda text: gzip.compress(text.encode())),
    "JSONL utf-16": ("events", text_of(windows), lambda text: text.encode("utf-16")),
    "CSV with BOM": ("events", text_of(row, HEADER), lambda text: text.encode("utf-8-sig")),
    "list of objects": ("events", "[\n" + ",\n".join(map(windows, range(LINES))) + "\n]\n", str.encode),
    "list on one line": ("events", "[" + ",".join(map(windows, range(LINES))) + "]", str.encode),
    "pretty list": ("events", json.dumps([json.loads(windows(n)) for n in range(LINES)], indent=1), str.encode),
    "newest first": ("auth_log", "".join(f"{auth(n)}\n" for n in reversed(range(LINES))), str.encode),
    "xz": ("auth_log", text_of(auth), lambda text: lzma.compress(text.encode(), preset=0)),
}


@pytest.mark.parametrize("case", FURTHER)
def test_further_forms_are_cut_too(monkeypatch: pytest.MonkeyPatch, case: str):
    skill, text, packed = FURTHER[case]
    result = run(monkeypatch, skill, packed(text))

    assert len(result.findings) > 1
    [(_, coverage)] = result.coverage
    assert coverage.is_cut
    assert 0 < coverage.understood < coverage.total
    assert coverage.total == LINES
    [(_, left_out)] = result.left_out
    assert left_out.endswith(" was read: the limit of 240 s of processor time")
    assert not [gap for _, gap in result.gaps if "damaged" in gap or "skipped" in gap]


def test_a_binary_log_ends_after_a_whole_block_and_its_reader_knows():
    budget = ReadingBudget(240, 600, processor=Clock(0), clock=lambda: 0.0)
    start, block, rest = b"ElfFile\x00" + bytes(4_088), 65_536, bytes(5_000_000)
    source = process._InputFile(io.BytesIO(start + rest), budget)
    content = source.content(InputKind.BINARY)
    data = content.read()
    assert len(start) <= len(data) < len(start + rest)
    assert (len(data) - len(start)) % block == 0
    assert ended_early(content)
    coverage = source.complete(Coverage(read_as="x", unit="event", understood=7, total=7, looked_for="y"))
    assert (coverage.is_cut, coverage.total) == (True, 8)
