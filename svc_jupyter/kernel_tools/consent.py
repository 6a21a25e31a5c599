"""The kernel's record of what its user allowed. A call that is not in it does not run, whatever the service says.

The service asks for permission (``confirmation_request``) and then calls (``local_tool_call``), in separate messages.
A permission is for one call, with exactly the arguments that were shown, or for all calls of the tool in the session.
Both are bound to the function as it was when the user was asked (``fingerprint.py``), and end with the turn or the
session.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from svc import LocalTool, Message
from svc.untrusted.characters import one_line
from svc_jupyter.kernel_tools.arguments import UnclearArgumentsError, digest, read_request
from svc_jupyter.kernel_tools.fingerprint import Fingerprint, fingerprint
from svc_jupyter.kernel_tools.schema import Tool

MAX_REQUESTS = 10_000  # of one turn; further ones are refused
MAX_NOTES = 5  # of one turn, about refusals


class RefusedError(Exception):
    """A request of the service that the kernel does not follow; the text says why, for the user and the model."""


@dataclass(frozen=True)
class Proposal:
    """A call that the service asks permission for."""

    tool: Tool
    arguments: dict[str, object]
    fingerprint: Fingerprint

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.offer.name


class SessionGrants:
    """The tools that the user allowed for the kernel's session, each with the function's fingerprint."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._granted: dict[tuple[str, str], Fingerprint] = {}

    def grant(self, session_id: str, name: str, seen: Fingerprint) -> None:
        """Allow all calls of this function in the session."""
        with self._lock:
            self._granted[session_id, name] = seen

    def covers(self, session_id: str, name: str, now: Fingerprint) -> bool:
        """Whether all calls are allowed; permission for a function that has changed is dropped."""
        with self._lock:
            granted = self._granted.get((session_id, name))
            if granted is not None and granted != now:
                del self._granted[session_id, name]
            return granted == now

    def accept_data(self, session_id: str, name: str, now: Fingerprint) -> None:
        """Accept that an allowed call changed the data that its function refers to, such as a cache."""
        with self._lock:
            granted = self._granted.get((session_id, name))
            if granted is not None and granted.code == now.code:
                self._granted[session_id, name] = replace(granted, all=now.all)

    def clear(self) -> None:
        """Forget them all: the kernel has another session."""
        with self._lock:
            self._granted.clear()


class TurnTools:
    """The tools that one question offers, and what its user allowed. Its methods may be called in any thread."""

    def __init__(self, tools: Mapping[str, Tool], grants: SessionGrants) -> None:
        self._tools = tools  # those of the kernel, which may change
        self._offered = {name: (tool, fingerprint(tool.function)) for name, tool in tools.items()}
        self._grants = grants
        self._lock = threading.Lock()
        self._once: tuple[str, Fingerprint, str] | None = None  # the tool, its state and the hash of the arguments
        self._denied: set[str] = set()
        self._seen: set[str] = set()  # IDs of messages
        self._notes = 0

    def offers(self) -> tuple[LocalTool, ...]:
        """Return the tools as the service expects them; the version changes with the function."""
        return tuple(msgspec.structs.replace(tool.offer, version=state.code) for tool, state in self._offered.values())

    def propose(self, message: Message) -> Proposal:
        """Read a ``confirmation_request``. Raises RefusedError if the user need not be asked: the answer is no."""
        with self._lock:
            self._once = None  # the service asks one thing at a time
            content = self._read(message, "tool")
            name = str(content["tool"])
            if name in self._denied:
                raise RefusedError("you denied it for this question")
            tool, state = self._current(name)
            return Proposal(tool, _arguments(content), state)

    def allow(self, session_id: str, proposal: Proposal, *, is_once: bool) -> None:
        """Record that the user allowed the call, or all calls in the session."""
        with self._lock:
            if is_once:
                self._once = (proposal.name, proposal.fingerprint, digest(proposal.arguments))
            else:
                self._grants.grant(session_id, proposal.name, proposal.fingerprint)

    def deny(self, name: str) -> None:
        """Record that the user denied the tool: for the rest of the turn."""
        with self._lock:
            self._denied.add(name)

    def is_granted(self, session_id: str, proposal: Proposal) -> bool:
        """Whether the user has allowed all calls of the tool in the session."""
        return self._grants.covers(session_id, proposal.name, proposal.fingerprint)

    def admit(self, session_id: str, message: Message, is_allowed_by_name: Callable[[str], bool]) -> Proposal:
        """Read a ``local_tool_call`` that the user allowed, and use up a permission for one call.

        Raises:
            RefusedError: The user did not allow this call.
        """
        with self._lock:
            once, self._once = self._once, None
            content = self._read(message, "name")
            name = str(content["name"])
            tool, state = self._current(name)
            call = Proposal(tool, _arguments(content), state)
            if name in self._denied:
                raise RefusedError("you denied it for this question")
            if is_allowed_by_name(name) or self.is_granted(session_id, call):
                return call
            if once is None or once[0] != name:
                raise RefusedError("you did not allow this call, or the function changed since you allowed its calls")
            if once[1] != state:
                raise RefusedError("the function, or something that it uses, changed since you allowed the call")
            if once[2] != digest(call.arguments):
                raise RefusedError("you allowed a call with other arguments")
            return call

    def ran(self, session_id: str, call: Proposal) -> None:
        """Note that an allowed call has ended."""
        self._grants.accept_data(session_id, call.name, fingerprint(call.tool.function))

    def note(self, show: Callable[[str], None], text: str) -> None:
        """Show a refusal to the user; of many, only the first ones."""
        self._notes += 1
        if self._notes <= MAX_NOTES:
            show(text)

    def _read(self, message: Message, field: str) -> dict[str, object]:
        if message.id in self._seen:
            raise RefusedError("the service sent the same request before")
        if len(self._seen) >= MAX_REQUESTS:
            raise RefusedError(f"the service sent more than {MAX_REQUESTS:,} requests")
        self._seen.add(message.id)
        try:
            return read_request(message, (field,))
        except UnclearArgumentsError as error:
            raise RefusedError(str(error)) from None

    def _current(self, name: str) -> tuple[Tool, Fingerprint]:
        if name not in self._offered:
            raise RefusedError("this question did not offer such a tool")
        tool, offered = self._offered[name]
        if self._tools.get(name) is not tool:
            raise RefusedError("the tool was removed or redefined since the question was asked")
        state = fingerprint(tool.function)
        if state.code != offered.code:
            raise RefusedError("the function, or one that it calls, changed since the question was asked")
        return tool, state


def name_of(message: Message) -> str:
    """Return the name in a request that is refused, for the user; it may be anything."""
    try:
        content = msgspec.json.decode(message.content or "")
    except (msgspec.MsgspecError, RecursionError):
        return "a tool"
    name = (content.get("tool") or content.get("name")) if isinstance(content, dict) else None
    return one_line(name, limit=64) if isinstance(name, str) else "a tool"


def _arguments(content: Mapping[str, object]) -> dict[str, object]:
    arguments = content["arguments"]
    assert isinstance(arguments, dict)  # read_request checked it
    return arguments
