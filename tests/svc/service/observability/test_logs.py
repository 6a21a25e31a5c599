"""The service's log: JSON for machines, words for the person who started the service in a terminal."""

from __future__ import annotations

import io
import json
import logging

import pytest

from svc.service.observability.logs import set_up_logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(stream: io.StringIO, event: str, level: int = logging.INFO, **fields: object) -> str:
    set_up_logs(stream)
    logging.getLogger("svc.serve").log(level, event, extra=fields)
    return stream.getvalue()


LISTENING = {"address": "http://127.0.0.1:8460", "pid": 7, "version": "0.1.0"}


def test_in_a_pipe_the_address_is_a_field():
    line = json.loads(said(io.StringIO(), "listening", **LISTENING))

    assert (line["event"], line["address"]) == ("listening", "http://127.0.0.1:8460")


def test_on_a_terminal_the_address_and_how_to_stop_are_said_in_words():
    line = said(Terminal(), "listening", **LISTENING)

    assert line.endswith("  svc 0.1.0 listens on http://127.0.0.1:8460 (PID 7). Press Ctrl-C to stop it.\n")


@pytest.mark.parametrize(
    ("event", "level", "fields", "text"),
    [
        (
            "no keys",
            logging.WARNING,
            {"hint": "svc keys create NAME"},
            "warning: there is no API key yet. Create one: svc",
        ),
        ("result not kept", logging.WARNING, {"reason": "x", "file": None}, "  warning: result not kept reason=x\n"),
        ("listening", logging.INFO, {"pid": 1}, "  listening pid=1\n"),
        ("request", logging.INFO, {"method": "GET", "path": "/a\n\x1b[2J", "status": 404, "ms": 1}, "GET /a␊␛[2J  404"),
    ],
)
def test_everything_else_is_one_line_that_no_terminal_obeys(event: str, level: int, fields: dict, text: str):
    line = said(Terminal(), event, level, **fields)

    assert text in line
    assert line.count("\n") == 1
    assert "\x1b" not in line
