"""Logs inside a container runtime's log: each inner line by its reader, with the number of the outer line."""

from __future__ import annotations

import io
import json

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Gap
from svc.assistant.log_readers import container_logs
from svc.assistant.log_readers.lines import Unread
from svc.assistant.sigma.event import Event
from tests.support.inline_analyst import ask
from tests.svc.assistant.host_artefacts.test_samples import plain

ACCESS = '198.51.100.7 - - [20/Nov/2026:08:00:{0:02} +0000] "GET /p{0} HTTP/1.1" 200 512 "-" "Mozilla/5.0"'
ATTACK = '203.0.113.9 - - [20/Nov/2026:08:01:{0:02} +0000] "GET /?id=1%27%20UNION%20SELECT%20a HTTP/1.1" 200 9 "-" "x"'
LOGIN = '{{"level": "info", "event": "login", "user": "{0}", "client_ip": "203.0.113.9", "status": "{1}"}}'


def docker(lines: list[str], stream: str = "stdout", minute: int = 0) -> str:
    return "".join(
        json.dumps({"log": f"{line}\n", "stream": stream, "time": f"2026-11-20T08:{minute:02}:{second:02}.123456789Z"})
        + "\n"
        for second, line in enumerate(lines)
    )


def cri(lines: list[str], tag: str = "F") -> str:
    return "".join(
        f"2026-11-20T09:00:{second:02}.123456789+01:00 stdout {tag} {line}\n" for second, line in enumerate(lines)
    )


def events(text: str) -> list[Event]:
    return [item for item in container_logs.read(io.BytesIO(text.encode())) if isinstance(item, Event)]


STARTS = [f"/docker-entrypoint.sh: step {number}" for number in range(9)]
REQUESTS = [ACCESS.format(number) for number in range(20)]
REJECTED = '2026/11/20 08:00:50 [error] 29#29: *1 user "admin": password mismatch, client: 203.0.113.8, server: x'
MIXED = docker(STARTS) + docker(REQUESTS, minute=1) + docker([REJECTED], "stderr", 2)


def test_each_line_is_read_by_the_reader_of_its_kind() -> None:
    found = events(MIXED)
    assert [(one.number, one.category) for one in found] == [
        *((number, "") for number in range(1, 10)),
        *((number, "webserver") for number in range(10, 31)),
    ]
    assert found[0].time == "2026-11-20T08:00:00.123Z"  # the runtime's, because the line has none
    assert found[9].time == "2026-11-20T08:00:00.000Z"  # its own
    assert MIXED.encode()[found[-1].offset or 0 :].startswith(b'{"log"')


@pytest.mark.parametrize("wrap", [docker, cri])
def test_records_without_a_time_get_the_runtimes(wrap: object) -> None:
    assert callable(wrap)
    text = wrap([LOGIN.format("root", "failure"), LOGIN.format("mara", "success")])
    items = list(container_logs.read(io.BytesIO(text.encode())))
    found = [one for one in items if isinstance(one, Event)]
    assert [(one.fields["TargetUserName"], one.fields["Outcome"], one.time) for one in found] == [
        ("root", "failure", "2026-11-20T08:00:00.123Z"),
        ("mara", "success", "2026-11-20T08:00:01.123Z"),
    ]
    assert not [one for one in items if isinstance(one, Gap | Unread)]


def test_a_line_in_parts_is_one_line_also_if_the_streams_alternate() -> None:
    whole = LOGIN.format("mara", "success")
    begin = "2026-11-20T09:00:00.123456789+01:00"
    text = cri([LOGIN.format("root", "failure")]) + (
        f"{begin} stdout P {whole[:30]}\n{begin} stderr F warning: slow\n{begin} stdout F {whole[30:]}\n"
    )
    assert [one.fields.get("TargetUserName") for one in events(text)] == ["root", "mara", None]


def test_lines_that_are_not_the_runtimes_are_counted() -> None:
    items = list(container_logs.read(io.BytesIO((MIXED + "garbage\n").encode())))
    assert [one.count for one in items if isinstance(one, Unread)] == [1]
    assert any(isinstance(one, Gap) and "line 31" in one.text for one in items)


def test_a_line_that_never_ends_is_counted() -> None:
    items = list(container_logs.read(io.BytesIO((cri(REQUESTS) + cri(["unfinished"], "P")).encode())))
    assert [one.count for one in items if isinstance(one, Unread)] == [1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("".join(f"web-1  | {line}\n" for line in REQUESTS), True, id="compose"),
        pytest.param("".join(f"2026-11-20T08:00:01.123456789Z {line}\n" for line in REQUESTS), True, id="timestamps"),
        pytest.param("2026-11-20T08:00:01.123456789Z the pump started\n" * 9, False, id="a log of its own"),
        pytest.param('{"log": "x", "level": 3}\n' * 5, False, id="a record with such a member"),
        pytest.param("name-1 is fine\nname-2 | is a pipe\n", False, id="prose"),
        pytest.param("", False, id="empty"),
    ],
)
def test_only_the_runtimes_forms_are_recognised(text: str, *, expected: bool) -> None:
    assert container_logs.is_container_log(text.encode()) is expected


@pytest.mark.parametrize("text", [MIXED, cri(REQUESTS), cri(STARTS)])
def test_it_is_read_as_events(text: str) -> None:
    assert identify(text.encode(), "0.log")[1] == "eventtable"


def test_fluent_bits_record_names_the_pod() -> None:
    pod = {"pod_name": "web-7f", "container_name": "nginx", "namespace_name": "shop"}
    text = "".join(
        json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-11-20T08:00:01.1Z", "kubernetes": pod}) + "\n"
        for line in REQUESTS
    )
    assert {one.host for one in events(text)} == {"web-7f/nginx"}


def test_reading_is_bounded_when_damaged() -> None:
    whole = bytearray(MIXED.encode())
    for step in range(40):
        whole[(step * 104_729) % len(whole)] = (step * 37) % 256
    items = list(container_logs.read(io.BytesIO(bytes(whole))))
    count = sum(isinstance(one, Event) for one in items) + sum(one.count for one in items if isinstance(one, Unread))
    assert 25 <= count <= 32


QUESTIONS = [
    (MIXED + docker([ATTACK.format(n) for n in range(6)], minute=3), "Is anything suspicious here?", "SQL injection"),
    (MIXED, "Is anything suspicious here?", "30 events"),
    (MIXED, "How many requests were there?", "20 requests"),
    (MIXED, "Did 203.0.113.77 send any request?", "203[.]0[.]113[.]77"),
    (
        docker([f"Failed password for root from 203.0.113.5 port {n} ssh2" for n in range(40000, 40040)], "stderr"),
        "Which accounts were brute-forced, and did anyone get in?",
        "root",
    ),
    (cri([LOGIN.format("root", "failure")] * 30), "Which logins failed?", "root"),
]


@pytest.mark.parametrize(("text", "question", "says"), QUESTIONS)
async def test_questions_are_answered(text: str, question: str, says: str) -> None:
    asked = await ask(question, ("0.log", text.encode()))
    answer = plain(asked.markdown)
    assert says in answer, answer[:1500]
    assert "Not examined" not in answer.partition("\n")[0]
