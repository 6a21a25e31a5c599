"""Read a scheduled task of Windows (Task Scheduler 2.0 XML): what it starts, when, as whom. Pure.

Entities are never expanded: a document type is refused (``defusedxml``). Format: MS-TSCH, "XML Task Definition
Language".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Protocol
from xml.etree.ElementTree import ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.commands import command_fields
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, HostNote, Item, TraceKind
from svc.assistant.log_readers.lines import Unread

MAX_BYTES = 4 * 1024 * 1024
MAX_ACTIONS = 1_000
NAMESPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"
_TASK = re.compile(rf"<(?:\w{{1,20}}:)?Task\b[^>]{{0,400}}{re.escape(NAMESPACE)}")
_TRIGGERS = {
    "LogonTrigger": "at logon",
    "BootTrigger": "at boot",
    "TimeTrigger": "once",
    "CalendarTrigger": "on a schedule",
    "DailyTrigger": "daily",
    "IdleTrigger": "when idle",
    "RegistrationTrigger": "when it is registered",
    "EventTrigger": "on an event",
    "SessionStateChangeTrigger": "when a session changes",
    "WnfStateChangeTrigger": "on a notification",
}
_NOTES = ("Author", "Description", "URI", "RunLevel", "LogonType", "Hidden", "Enabled")


class _Element(Protocol):
    """What is used of an element tree."""

    tag: str
    text: str | None

    def iter(self) -> Iterator[_Element]: ...

    def __iter__(self) -> Iterator[_Element]: ...


def is_task(head: bytes) -> bool:
    """Whether the document element is a task in its namespace."""
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = head[: len(head) & ~1].decode("utf-16" if is_wide else "utf-8", errors="replace")[:8_192]
    return _TASK.search(text) is not None


def read(content: BinaryIO, name: str = "") -> Iterator[Item]:
    """Yield one row for each action of the task."""
    data = content.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        yield Gap(text=f"the task has more than {MAX_BYTES:,} bytes and was not read")
        yield Unread(1)
        return
    try:
        root: _Element = ElementTree.fromstring(_declared(data))
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError) as error:
        yield Gap(text=f"the XML is damaged or has a document type, and was not read ({type(error).__name__})")
        yield Unread(1)
        return
    values: dict[str, str] = {}
    for element in root.iter():
        values.setdefault(_name(element), (element.text or "").strip()[:MAX_TEXT_CHARS])
    for key in _NOTES:
        if values.get(key):
            yield HostNote(key, values[key])
    actions = [one for element in root.iter() if _name(element) == "Actions" for one in element][:MAX_ACTIONS]
    triggers = [_name(one) for element in root.iter() if _name(element) == "Triggers" for one in element]
    for number, action in enumerate(actions, start=1):
        yield _row(number, action, values, triggers, name)
    if not actions:
        yield Gap(text="the task has no action: nothing is started")
    yield Gap(text="a task's file says what is started, not whether it ran")


def _declared(data: bytes) -> bytes:
    """Tasks declare UTF-16; a copy that was converted to UTF-8 still does."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data
    text = data.removeprefix(b"\xef\xbb\xbf")
    return re.sub(rb"^(<\?xml[^>]{0,60}encoding=[\"'])utf-16", rb"\1utf-8", text, count=1, flags=re.IGNORECASE)


def _name(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _quoted(parts: dict[str, str]) -> str:
    """The command line as Windows makes it: a path with spaces is quoted."""
    program = parts.get("Command", "")
    program = f'"{program}"' if " " in program and not program.startswith('"') else program
    return " ".join(filter(None, [program, parts.get("Arguments", "")]))


def _row(number: int, action: _Element, values: dict[str, str], triggers: list[str], name: str) -> Artefact:
    parts = {_name(one): (one.text or "").strip() for one in action}
    command = " ".join(filter(None, [parts.get("Command", ""), parts.get("Arguments", "")]))
    is_handler = _name(action) == "ComHandler"
    what = f"COM class {parts.get('ClassId', '')}" if is_handler else command or _name(action)
    when = ", ".join(dict.fromkeys(_TRIGGERS.get(one, one) for one in triggers)) or "on demand"
    user = values.get("UserId") or values.get("GroupId", "")
    hidden = ", hidden" if values.get("Hidden", "").lower() == "true" else ""
    disabled = ", disabled" if values.get("Enabled", "").lower() == "false" else ""
    date = values.get("Date", "")
    return Artefact(
        number=number,
        activity=TraceKind.PERSISTS,
        what=what[:MAX_TEXT_CHARS],
        user=user,
        where=f"scheduled task {values.get('URI') or name}",
        detail=f"{when}{hidden}{disabled}",
        time=date if re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d)?", date) else "",
        time_means="registered, as the task states" if date else "",
        excerpt=what,
        product="windows",
        category="process_creation",
        fields={} if is_handler else command_fields(_quoted(parts), is_windows=True, user=user),
    )
