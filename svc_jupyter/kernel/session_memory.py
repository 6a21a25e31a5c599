"""What a kernel and its notebook remember of their session. Facts: docs/notebook.md, "The kernel's session"."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from filelock import Timeout

from svc import InteractiveSession, SessionExpiredError, SessionNotFoundError, Svc, SvcError, state_folder
from svc.messages import State
from svc_jupyter.kernel import session_file
from svc_jupyter.kernel.session_file import Owner, Record

Note = Callable[[str], None]
NAME_CHARS = 60
_GONE = (SessionExpiredError, SessionNotFoundError)


class SessionMemory:
    """The remembered session of one kernel, and the one that its notebook had before.

    Args:
        kernel_id: Identifies the kernel across restarts; None if it cannot restart.
        notebook: The path of its notebook; None if it is not known.
    """

    def __init__(self, kernel_id: str | None, notebook: Path | None) -> None:
        self._kernel_id = kernel_id
        self._notebook = notebook
        self._earlier: InteractiveSession | None = None  # the notebook's, before this kernel
        self._is_offered = False

    @property
    def session_name(self) -> str | None:
        """The name of a new session; None if the notebook is not known."""
        return self._notebook.stem[:NAME_CHARS] if self._notebook is not None else None

    def resume(self, client: Svc, key: str, note: Note) -> tuple[InteractiveSession, str | None] | None:
        """Return the session that this kernel had before its restart, with the model that was asked for.

        If it had none, the notebook's session is offered in a note, once.
        """
        record = self._load(self._kernel_id, client, key)
        if record is None:
            self._offer(client, key, note)
            return None
        try:
            session = client.resume_session(record.session_id)
        except _GONE as gone:
            note(f"{gone} Started a new session.")
            return None
        _end_orphan(session, record.turn, note)
        return session, record.model

    def earlier(self, client: Svc, key: str, current: str | None) -> str | None:
        """Return the ID of the notebook's session before the current one, if there is one."""
        if self._earlier is not None and self._earlier.session_id != current:
            return self._earlier.session_id
        record = self._load(self._notebook_id, client, key)
        return record.session_id if record is not None and record.session_id != current else None

    def keep(self, client: Svc, key: str, session: InteractiveSession, model: str | None, turn: str = "") -> None:
        """Remember the session, and its running turn. Raises OSError or Timeout if that cannot be written."""
        for owner in self._owners(client, key):
            session_file.save(state_folder(), owner, session.session_id, model, turn=turn)

    def forget(self, client: Svc, key: str) -> None:
        """Forget a deleted session; if that fails, the next question notices and says so."""
        with contextlib.suppress(OSError, Timeout):
            for owner in self._owners(client, key):
                session_file.forget(state_folder(), owner)

    @property
    def _notebook_id(self) -> str | None:
        return session_file.notebook_id(self._notebook) if self._notebook is not None else None

    def _owners(self, client: Svc, key: str) -> list[Owner]:
        return [_owner(known, client, key) for known in (self._kernel_id, self._notebook_id) if known is not None]

    def _load(self, known: str | None, client: Svc, key: str) -> Record | None:
        return session_file.load(state_folder(), _owner(known, client, key)) if known is not None else None

    def _offer(self, client: Svc, key: str, note: Note) -> None:
        if self._is_offered:
            return
        self._is_offered = True
        record = self._load(self._notebook_id, client, key)
        if record is None:
            return
        with contextlib.suppress(*_GONE):
            self._earlier = client.resume_session(record.session_id)
            _end_orphan(self._earlier, record.turn, note)
            asked = f"{self._earlier.turns:,} question{'' if self._earlier.turns == 1 else 's'}"
            title = f", the first: {self._earlier.title}" if self._earlier.title else ""
            note(f"This notebook has an earlier session ({asked}{title}). To resume it: %svc session resume")


def _owner(known: str, client: Svc, key: str) -> Owner:
    return Owner(known, "local" if client.is_local else client.base_url, session_file.key_id(key))


def _end_orphan(session: InteractiveSession, turn: str, note: Note) -> None:
    """End the turn of a kernel that died while it ran: nobody waits for its answer, and it would block the session."""
    if not turn or session.state != State.RUNNING_AGENT:
        return
    with contextlib.suppress(SvcError):  # the next question says that a turn is running
        if session.cancel_turn(turn):
            note("The question that ran when the kernel ended was cancelled.")
