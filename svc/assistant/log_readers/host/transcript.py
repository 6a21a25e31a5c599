"""Read a PowerShell transcript: the program that ran PowerShell, and each command at the prompt. Pure.

The header's labels are in Windows' language; the row of asterisks and the time of 14 digits are not. Times are local
and state no zone. Output is not examined. Format: as ``Start-Transcript`` of Windows PowerShell 5.1 and PowerShell 7
writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.commands import command_fields
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, HostNote, Item, TraceKind
from svc.assistant.log_readers.lines import Lines, Unread, split_lines

MAX_COMMANDS = 100_000
MAX_CONTINUED_LINES = 500
_BAR = re.compile(r"\*{20,30}\s*")
_TIME = re.compile(r"([^:]{1,60}): (\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\s*")
_HOST = re.compile(
    r"(?:host application|hostanwendung|application h\S{1,3}te|aplicaci\S{1,3}n host|ホスト アプリケーション)\s?: "
    r"?(.*)",
    re.I,
)
_SETTING = re.compile(r"([^:\n]{3,40}): (.{1,400})")
_PROMPT = re.compile(r"(?:\[[^\]]{1,100}\]: )?PS(?: (?P<folder>[^>\n]{0,300}))?> ?(?P<command>.*)", re.DOTALL)
_USERS = re.compile(r"(?:username|benutzername|nom d.utilisateur|nombre de usuario|ユーザー名)\s?$", re.I)


def is_transcript(head: bytes) -> bool:
    """Whether a row of asterisks, a time of 14 digits and another row come first."""
    lines = split_lines(_text(head))[:30]
    lines = lines[next((at for at, line in enumerate(lines) if line.strip()), 0) :]
    if len(lines) < 4 or not _BAR.fullmatch(lines[0]):
        return False
    return any(map(_TIME.fullmatch, lines[1:6])) and any(map(_BAR.fullmatch, lines[2:]))


def _text(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", errors="replace")
    return head.decode("utf-8-sig", errors="replace")


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield what ran PowerShell and the commands, each with the latest time before it."""
    lines = Lines(content)
    reader = _Transcript()
    for number, offset, line in lines:
        yield from reader.add(number, offset, line)
        if reader.count > MAX_COMMANDS:
            yield Gap(text=f"only the first {MAX_COMMANDS:,} commands were read", in_headline=True)
            yield Unread(1)
            break
    yield from reader.close()
    if reader.output:
        yield Gap(text=f"{reader.output:,} lines are the commands' output; they were not examined for detections")
    yield Gap(text="the transcript's times are local and state no zone; a command has the latest time stated before it")
    if not reader.is_ended:
        yield Gap(text="the transcript has no end: PowerShell was closed or stopped, or a part of the file is missing")
    yield from lines.gaps("lines of a transcript")


class _Transcript:
    def __init__(self) -> None:
        self.count = self.output = 0
        self.is_ended = False
        self._in_header = False
        self._is_first = True
        self._time = self._user = ""
        self._open: tuple[int, int, str, list[str]] | None = None

    def add(self, number: int, offset: int, line: str) -> Iterator[Item]:
        """Yield what the line completes."""
        if _BAR.fullmatch(line):
            yield from self.close()
            self._in_header = not self._in_header
            return
        if self._in_header:
            yield from self._header(number, offset, line)
            return
        prompt = _PROMPT.match(line)
        if prompt is not None:
            yield from self.close()
            if prompt["command"].strip():
                self._open = number, offset, prompt["folder"] or "", [prompt["command"]]
            return
        if self._open is not None and line.startswith(">> ") and len(self._open[3]) < MAX_CONTINUED_LINES:
            self._open[3].append(line[3:])
            return
        yield from self.close()
        self.output += 1

    def close(self) -> Iterator[Item]:
        """Yield the command that is open."""
        if self._open is None:
            return
        number, offset, folder, parts = self._open
        self._open = None
        command = "\n".join(parts)[:MAX_TEXT_CHARS]
        yield self._command(number, offset, command, folder, "at the prompt")

    def _header(self, number: int, offset: int, line: str) -> Iterator[Item]:
        if stamped := _TIME.fullmatch(line):
            _, year, month, day, hour, minute, second = stamped.groups()
            self._time = f"{year}-{month}-{day}T{hour}:{minute}:{second}"
            self.is_ended = not self._is_first and bool(re.search(r"end|fin|終", stamped[1], re.I))
            self._is_first = False
        elif host := _HOST.fullmatch(line):
            self.count += 1
            yield Artefact(
                number=number,
                offset=offset,
                activity=TraceKind.COMMAND,
                what=host[1],
                user=self._user,
                time=self._time,
                time_means="start of the transcript",
                where="host application",
                excerpt=line,
                product="windows",
                category="process_creation",
                fields=command_fields(host[1], is_windows=True, user=self._user),
            )
        elif setting := _SETTING.fullmatch(line):
            if _USERS.search(setting[1]) and not self._user:
                self._user = setting[2].strip()
            yield HostNote(setting[1].strip(), setting[2].strip())

    def _command(self, number: int, offset: int, command: str, folder: str, where: str) -> Artefact:
        self.count += 1
        return Artefact(
            number=number,
            offset=offset,
            activity=TraceKind.COMMAND,
            what=command,
            user=self._user,
            time=self._time,
            time_means="at or after",
            where=where,
            detail=folder,
            excerpt=command,
            product="windows",
            service="powershell",
            category="ps_script",
            event_id=4104,
            fields={"EventID": "4104", "ScriptBlockText": command, "User": self._user},
        )
