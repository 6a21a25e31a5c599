"""Lines end at LF or CR LF only: other characters that Python splits at occur within records."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.log_readers import auditd
from svc.assistant.log_readers.lines import split_lines
from svc.assistant.sigma.event import Event
from svc.assistant.workers.process import _InputFile

WITHIN = ["\x1d", "\x1c", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("character", WITHIN, ids=ascii)
def test_a_character_within_a_record_does_not_end_the_line(character):
    assert split_lines(f"a{character}b\nc") == [f"a{character}b", "c"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb\r\n", ["a", "b"]), ("\n\na", ["", "", "a"]), ("a\rb", ["a\rb"])],
)
def test_lines_are_those_of_the_file(text, lines):
    assert split_lines(text) == lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("character", WITHIN, ids=ascii)
def test_tools_get_the_lines_of_the_file_in_any_encoding(character, encoding):
    content = f"one{character}still one\r\ntwo\n".encode(encoding)
    assert list(_InputFile(io.BytesIO(content)).lines()) == [f"one{character}still one", "two"]


def test_an_enriched_audit_log_is_recognised_and_its_names_are_read():
    line = (
        "type=USER_LOGIN msg=audit(1795000000.123:{n}): pid=1 uid=0 auid=1000 ses=1 msg='op=login id=1000 "
        'exe="/usr/sbin/sshd" hostname=? addr=192.0.2.7 terminal=ssh res=success\'\x1dUID="root" AUID="dev" ID="dev"\n'
    )
    content = "".join(line.format(n=n) for n in range(30)).encode()
    assert identify(content)[1] == "auditlog"
    events = [item for item in auditd.read(io.BytesIO(content)) if isinstance(item, Event)]
    assert [(event.number, event.fields["uid"], event.fields["auid"]) for event in events] == [
        (n, "root", "dev") for n in range(1, 31)
    ]
