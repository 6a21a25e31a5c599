"""Logs are read from the oldest line to the newest, whichever way they run."""

from __future__ import annotations

import json

import pytest

from svc.assistant.findings import Finding, Progress
from svc.assistant.log_readers.order import TimeOrder
from svc.assistant.log_readers.timestamps import Stamps
from svc.assistant.skills.logins.tool import inspect

SECONDS = 1_763_600_000


def plain(second: int, message: str) -> str:
    return f"Nov 20 03:{second // 60:02}:{second % 60:02} web1 sshd[{second}]: {message}"


def iso(second: int, message: str) -> str:
    return f"2026-11-20T03:{second // 60:02}:{second % 60:02}.5+01:00 web1 sshd[{second}]: {message}"


def full(second: int, message: str) -> str:
    return f"Fri 2026-11-20 03:{second // 60:02}:{second % 60:02} CET web1 sshd[{second}]: {message}"


def journal(second: int, message: str) -> str:
    stamp = str((SECONDS + second) * 1_000_000)
    return json.dumps(
        {
            "__REALTIME_TIMESTAMP": stamp,
            "_HOSTNAME": "web1",
            "SYSLOG_IDENTIFIER": "sshd",
            "_PID": str(second),
            "MESSAGE": message,
        }
    )


FORMS = {"syslog": plain, "rsyslog": iso, "journalctl": full, "journal as JSON": journal}


def attack(form) -> list[str]:
    """Eight failures and the success after them, then one failure."""
    lines = [form(n, f"Failed password for root from 203.0.113.9 port {40_000 + n} ssh2") for n in range(8)]
    lines.append(form(8, "Accepted password for root from 203.0.113.9 port 40008 ssh2"))
    return [*lines, form(9, "Failed password for root from 203.0.113.9 port 40009 ssh2")]


def found(lines: list[str], kind: str) -> list[Finding]:
    return [i for i in inspect(lines, source="auth.log") if isinstance(i, Finding) and i.kind == kind]


@pytest.mark.parametrize("is_backwards", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_counts_streaks_and_times_are_the_same_in_either_direction(form, is_backwards: bool):
    lines = attack(form)[::-1] if is_backwards else attack(form)
    [source] = found(lines, "auth_source")
    [success] = found(lines, "auth_success")
    assert (source.facts.failures, success.facts.streak) == (9, 8)
    assert str(source.facts.first) < str(source.facts.last)
    assert success.facts.line == (2 if is_backwards else 9)
    assert source.facts.first_line == (10 if is_backwards else 1)
    assert "Failed password" in source.evidence[0].excerpt


def test_a_log_in_reverse_order_is_reported():
    texts = [i.text for i in inspect(attack(plain)[::-1], source="auth.log") if isinstance(i, Progress)]
    assert "newest line first" in texts[0]


def test_a_repeated_message_belongs_to_the_preceding_line_in_time():
    lines = [*attack(plain)[:1], "Nov 20 03:00:05 web1 last message repeated 4 times", plain(9, "x")]
    for run in (lines, lines[::-1]):
        assert found(run, "auth_source")[0].facts.failures == 5


def test_a_reversed_log_may_cross_the_new_year():
    lines = [
        "Jan  1 00:00:05 web1 sshd[3]: Accepted password for root from 203.0.113.9 port 3 ssh2",
        *[
            f"Dec 31 23:59:{n:02} web1 sshd[{n}]: Failed password for root from 203.0.113.9 port {n} ssh2"
            for n in (9, 8, 7)
        ],
    ]
    assert found(lines, "auth_success")[0].facts.streak == 3


def test_single_late_lines_do_not_reverse_a_log():
    seconds = [0, 2, 1, 3, 5, 4, 6, 7, 9, 8]
    assert not TimeOrder([plain(second, "x") for second in seconds]).is_backwards


@pytest.mark.parametrize("lines", [[], ["x"], ["", ""], ["{broken", "{}"]], ids=["none", "one", "empty", "no entries"])
def test_lines_without_times_are_read_forwards(lines: list[str]):
    order = TimeOrder(lines)
    assert [line for _, line in order] == lines
    assert not order.is_backwards


def test_a_long_reversed_log_is_cut_and_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("svc.assistant.log_readers.order.MAX_HELD_CHARS", 300)
    items = list(inspect(attack(plain)[::-1], source="auth.log"))
    assert any("newest first and too long" in getattr(item, "text", "") for item in items)


def test_the_name_of_a_time_zone_is_not_taken_for_a_host():
    stamps = Stamps()
    stamp, end = stamps.read(full(1, "x"))
    assert stamp is not None
    assert stamps.zones == {"CET"}
    assert full(1, "x")[end:].startswith(" web1")
