"""Logs as JSON lines: time, level, event and its fields. No content, no keys, no exception texts.

On a terminal, events are sentences, for the person who started the service there.

An exception is logged as its type and stack frames, because its text may contain what a user wrote. uvicorn's loggers
use the same handler.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from svc.untrusted.characters import on_one_line

_KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
_SENTENCES = {
    "listening": "svc {version} listens on {address} (PID {pid}). Press Ctrl-C to stop it.",
    "working": "svc {version} runs waiting turns (PID {pid}; probes: {probes}). Press Ctrl-C to stop it.",
    "no keys": "warning: there is no API key yet. Create one: {hint}",
    "request": "{method} {path}  {status}  {ms} ms",
    "stopping": "stopping; running questions get a moment to end",
}
"""The sentence for an event with these fields on a terminal."""
_Field = str | int | float | bool | None | list[str]


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's event and extra fields."""
        line: dict[str, _Field] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {name: _plain(value) for name, value in vars(record).items() if name not in _KNOWN}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["frames"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(record.exc_info[2])
            ]
        return msgspec.json.encode(line).decode()


class WordsFormatter(JsonFormatter):
    """Formats a record for a person at a terminal, who must know where the service is and how to stop it."""

    def format(self, record: logging.LogRecord) -> str:
        """The time, the event in words, and its fields."""
        when = datetime.fromtimestamp(record.created).astimezone()
        return on_one_line(f"{when:%H:%M:%S}  {self._words(record)}")

    def _words(self, record: logging.LogRecord) -> str:
        fields = {name: _plain(value) for name, value in vars(record).items() if name not in _KNOWN}
        template = _SENTENCES.get(record.getMessage())
        if template is not None:
            with contextlib.suppress(KeyError):
                return template.format(**fields)
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        said = [record.getMessage(), *(f"{name}={value}" for name, value in fields.items() if value is not None)]
        if record.exc_info and record.exc_info[0] is not None:
            said.append(record.exc_info[0].__name__)
        return level + " ".join(said)


def set_up_logs(stream: TextIO | None = None, *, level: str = "INFO") -> None:
    """Send all logs to the stream (default: stderr); of uvicorn's, warnings and errors only."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(WordsFormatter() if stream.isatty() else JsonFormatter())
    root = logging.getLogger("svc")
    root.handlers, root.propagate = [handler], False
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = ([handler] if name == "uvicorn" else []), name != "uvicorn"
        logger.setLevel("WARNING")
    logging.getLogger("uvicorn.error").addFilter(_is_worth_a_line)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Drop uvicorn's error for each upgrade that was refused with an HTTP response."""
    return "without completing handshake" not in record.getMessage()


def _plain(value: object) -> _Field:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
