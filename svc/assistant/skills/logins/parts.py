"""What is known of the logins of a log so far: pickled, it goes on in another process with the next part of the log."""

from __future__ import annotations

from svc.assistant.log_readers.time_window import TimeWindow
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event
from svc.assistant.skills.asked.following import FollowingCollector, Login
from svc.assistant.skills.charts.histogram import Activity
from svc.assistant.skills.logins.counting import LoginCounts
from svc.assistant.skills.logins.lines import NO_SOURCE, AuthLines, LoginEvent, LoginEventKind
from svc.assistant.skills.logins.log_lines import LogLines

_FAILURES = (LoginEventKind.OWN, LoginEventKind.ERROR, LoginEventKind.PAM, LoginEventKind.ATTEMPT)
_LOGINS = frozenset({*_FAILURES, LoginEventKind.SUCCESS, LoginEventKind.SESSION})
_COMMAND = "COMMAND="  # of sudo's lines


class LoginsSoFar:
    """Reads the lines of one log, and counts what they say about logins.

    Args:
        window: The lines that count; the times of the others are read, too.
    """

    def __init__(self, window: TimeWindow) -> None:
        self.window = window
        self.reader: AuthLines = AuthLines()
        self.counts: LoginCounts = LoginCounts()
        self.activity: Activity = Activity()
        self.lines: LogLines = LogLines()
        self.count: int = 0
        """How many lines were read."""
        self.following: tuple[FollowingCollector, ...] = ()

    def add(self, number: int, line: str) -> None:
        """Read a line; ``number`` is its place in the file."""
        event = self.reader.read(line)
        self.lines.add(line, is_login=event is not None)
        self.count += 1
        if self.following and (event is None or _is_within(event, self.window)):
            self._follow(event, number, line)
        if event is None or not _is_within(event, self.window):
            return
        self.counts.add(event, number, line)
        if event.stamp is not None and event.kind in _FAILURES:
            self.activity.add(event.stamp, event.source or NO_SOURCE, event.count)

    def _follow(self, event: LoginEvent | None, number: int, line: str) -> None:
        """Pass a line on to what collects the lines after a login."""
        stamp = event.stamp if event is not None else None
        record = Event(
            number=number, offset=None, time=stamp.text if stamp is not None else "", product="linux", service="",
            category="", host=event.host if event is not None else "", event_id=None, fields={},
            excerpt=line[:MAX_EXCERPT_CHARS],
        )  # fmt: skip
        login, is_command = None, _COMMAND in line
        is_session = event is not None and not is_command
        if event is not None and event.kind in _LOGINS and not is_command:
            login = Login(event.kind not in _FAILURES, event.account or "", event.source)
        for collector in self.following:
            collector.look(record, login, is_session=is_session, times=event.count if event is not None else 1)


def _is_within(event: LoginEvent, window: TimeWindow) -> bool:
    if window.is_whole:
        return True
    return event.stamp is not None and window.has(event.stamp.text, event.stamp.of_day)
