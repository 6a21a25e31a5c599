"""Functions of the kernel that the model may call: ``@svc_jupyter.tool``.

For a cell's question, the cell asks for confirmation and runs the function. For a panel's question, the panel asks
(``confirm``), and the function runs in a background thread. A batch run cannot ask, so it only calls tools that are
allowed by name:
``%config SvcMagics.allow_tools = ["name"]`` or ``SVC_ALLOW_TOOLS=name,other``.

Only what the kernel's own record allows is run (``consent.py``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar, overload

from svc import InteractiveSession, LocalTool, Message, MessageType
from svc.untrusted.characters import one_line
from svc_jupyter.errors import AskError
from svc_jupyter.kernel_tools import run as tool_run
from svc_jupyter.kernel_tools.arguments import shown
from svc_jupyter.kernel_tools.consent import Proposal, RefusedError, SessionGrants, TurnTools, name_of
from svc_jupyter.kernel_tools.schema import ArgumentsError, Tool, read_tool
from svc_jupyter.kernel_tools.value import read_value

F = TypeVar("F", bound=Callable[..., object])
TIMEOUT_SECONDS = 100.0  # of a call; the service waits for 120 s (its setting local_call_seconds)
ALLOW_VARIABLE = "SVC_ALLOW_TOOLS"
MAX_SHOWN_CHARS = 400  # of a step's arguments, and of the description; a question shows all
MAX_ERROR_CHARS = 2_000
_TRIES = 3  # prompts until an answer is valid
Run = Callable[[Callable[..., object], dict[str, object], float], object]


@dataclass(frozen=True)
class ToolRequest:
    """A message of the running turn that the client must answer: a confirmation request or a tool call."""

    message: Message
    session: InteractiveSession
    tools: TurnTools
    """What this question offers, and what its user allowed."""


@dataclass(frozen=True)
class Consent:
    """Which tools may be called. ``can_ask``: the user can be prompted; ``names``: allowed without a prompt."""

    can_ask: bool = False
    names: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        """Whether the tool is allowed by name, here or in the environment."""
        named = os.environ.get(ALLOW_VARIABLE, "").split(",")
        return name in self.names or name in (part.strip() for part in named)


NO_CONSENT = Consent()


class ToolArea(Protocol):
    """Shows the progress of a turn."""

    def add(self, text: str) -> None:
        """Add a step."""


class Tools:
    """The functions that each question offers to the model, by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(self, tool: Tool) -> None:
        """Offer a tool; it replaces one of the same name."""
        self._tools[tool.offer.name] = tool

    def remove(self, name: str) -> None:
        """Stop offering the tool. Raises AskError if there is no tool of that name."""
        if self._tools.pop(name, None) is None:
            raise AskError(f"no tool {name!r}. Available: {', '.join(self._tools) or 'none'}.")

    def for_turn(self, grants: SessionGrants) -> TurnTools:
        """Return the tools as one question offers them."""
        return TurnTools(self._tools, grants)

    def offers(self) -> tuple[LocalTool, ...]:
        """Return the tools as the service expects them."""
        return self.for_turn(SessionGrants()).offers()

    def __repr__(self) -> str:
        lines = [f"{name}: {one_line(tool.offer.description, limit=80)}" for name, tool in self._tools.items()]
        return "\n".join(lines) or "no tools; offer a function with @svc_jupyter.tool"


tools: Tools = Tools()


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(*, name: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> Callable[[F], F]: ...


def tool(
    function: F | None = None, /, *, name: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS
) -> F | Callable[[F], F]:
    """Offer a function to the model. The function itself stays as it is.

        @svc_jupyter.tool
        def owner_of(host: str) -> dict:
            "Says who owns a host."

    Every parameter needs a type. The docstring is the description for the model. You are asked for confirmation before
    a call.

    Args:
        function: The function.
        name: The tool's name; by default the function's.
        timeout_seconds: Time limit of a call.

    Returns:
        The function, or a decorator if options were given.

    Raises:
        AskError: The function cannot be a tool; the text says why.
    """

    def offer(offered: F) -> F:
        tools.add(read_tool(offered, name=name, timeout_seconds=timeout_seconds))
        return offered

    return offer if function is None else offer(function)


NO_TOOLS = Tools()


class ToolCallHandler:
    """Answers the tool requests of one kernel's turns."""

    def __init__(self, offered: Tools = tools) -> None:
        self._tools = offered
        self._grants = SessionGrants()
        self._waiting: dict[str, tuple[ToolRequest, Proposal]] = {}  # what a panel may allow, by message ID

    def for_turn(self, *, is_offering: bool) -> TurnTools:
        """Return the tools that a question offers now."""
        return (self._tools if is_offering else NO_TOOLS).for_turn(self._grants)

    def forget_session(self) -> None:
        """Drop what was allowed for the session: the kernel has another one."""
        self._grants.clear()

    def handle(self, request: ToolRequest, consent: Consent, area: ToolArea) -> None:
        """Answer a request of a cell's question in the cell's thread; may take minutes."""
        if request.message.message_type == MessageType.LOCAL_TOOL_CALL:
            if (call := self._admitted(request, consent, area.add)) is not None:
                _run(request, call, tool_run.run, area.add)
            return
        proposal = self._proposed(request, consent, area.add)
        if proposal is None:
            return
        if not consent.can_ask:
            name = one_line(proposal.name, limit=64)
            area.add(
                f"{name} was not called: cannot ask for confirmation in a non-interactive run. Allow it with "
                f"%config SvcMagics.allow_tools = [{name!r}] or {ALLOW_VARIABLE}={name}"
            )
            _answer(request, proposal, is_allowed=False, is_once=False)
            return
        answer = _ask_user(proposal)
        _answer(request, proposal, is_allowed=answer != "n", is_once=answer == "y")

    def handle_in_background(self, request: ToolRequest, consent: Consent, note: Callable[[str], None]) -> None:
        """Answer a request of a panel's question in the background; ``confirm`` allows or denies it.

        Args:
            request: The request.
            consent: What is allowed without asking.
            note: Shows a text to the user.
        """
        if request.message.message_type == MessageType.LOCAL_TOOL_CALL:
            if (call := self._admitted(request, consent, note)) is not None:
                arguments = (request, call, tool_run.run_in_background, lambda _: None)
                threading.Thread(target=_run, args=arguments, name="svc-tool", daemon=True).start()
        elif (proposal := self._proposed(request, consent, note)) is not None:
            self._waiting = {request.message.id: (request, proposal)}  # the service asks for one at a time

    def confirm(self, message_id: str, *, is_allowed: bool, is_once: bool) -> None:
        """Answer a ``confirmation_request`` of a panel's question.

        Args:
            message_id: The ID of the request.
            is_allowed: Allow the call, or deny the tool for the turn.
            is_once: Allow this call only; otherwise all calls of the tool in the session, with any arguments.

        Raises:
            AskError: It is not pending.
        """
        request, proposal = self._waiting.pop(message_id, (None, None))
        if (
            request is None
            or proposal is None
            or not _answer(request, proposal, is_allowed=is_allowed, is_once=is_once)
        ):
            raise AskError("this confirmation is no longer pending")

    def _proposed(self, request: ToolRequest, consent: Consent, note: Callable[[str], None]) -> Proposal | None:
        """Return what the user must decide; None if it is answered."""
        self._waiting = {}
        try:
            proposal = request.tools.propose(request.message)
        except RefusedError as problem:
            request.tools.note(note, f"denied a request for {name_of(request.message)}: {problem}")
            request.session.confirm(request.message, is_allowed=False)
            return None
        session_id = request.session.session_id
        if consent.allows(proposal.name) or request.tools.is_granted(session_id, proposal):
            request.session.confirm(request.message, is_allowed=True)
            return None
        return proposal

    def _admitted(self, request: ToolRequest, consent: Consent, note: Callable[[str], None]) -> Proposal | None:
        """Return the call if it was allowed; otherwise tell the service and the user, and return None."""
        try:
            return request.tools.admit(request.session.session_id, request.message, consent.allows)
        except RefusedError as problem:
            request.tools.note(note, f"refused a call of {name_of(request.message)}: {problem}")
            request.session.answer(request.message, error=f"refused by the kernel: {problem}")
            return None


def _answer(request: ToolRequest, proposal: Proposal, *, is_allowed: bool, is_once: bool) -> bool:
    """Record the user's decision, then tell the service; False if the turn is over."""
    if is_allowed:
        request.tools.allow(request.session.session_id, proposal, is_once=is_once)
    else:
        request.tools.deny(proposal.name)
    return request.session.confirm(request.message, is_allowed=is_allowed, is_once=is_allowed and is_once)


def _run(request: ToolRequest, call: Proposal, run: Run, add_step: Callable[[str], None]) -> None:
    """Run an allowed call and send its result."""
    tool = call.tool
    text = ", ".join(f"{name}={value}" for name, value in shown(call.arguments))
    add_step(f"calling {call.name}({one_line(text, limit=MAX_SHOWN_CHARS)})")
    try:
        value = read_value(run(tool.function, tool.arguments(call.arguments), tool.timeout_seconds))
    except tool_run.ToolTimeoutError:
        error = f"no result within {tool.timeout_seconds:g} s"
    except ArgumentsError as problem:
        error = str(problem)
    except AskError as problem:
        error = f"the result cannot be sent: {problem}"
    except (Exception, SystemExit) as problem:  # noqa: BLE001  # the model receives whatever a user's function raises
        error = f"{type(problem).__name__}: {problem}"
    else:
        request.session.answer(request.message, value)
        return
    finally:
        request.tools.ran(request.session.session_id, call)
    add_step(f"{call.name} failed: {error}")
    request.session.answer(request.message, error=error[:MAX_ERROR_CHARS])


def _ask_user(proposal: Proposal) -> str:
    """Ask the user in the cell: ``y``, ``n`` or ``a``. Without a prompt the call is denied."""
    name = proposal.name
    print(f"The model wants to call {name}: {one_line(proposal.tool.offer.description, limit=MAX_SHOWN_CHARS)}")
    print("\n".join(f"    {key} = {value}" for key, value in shown(proposal.arguments)) or "    no arguments")
    for _ in range(_TRIES):
        try:
            answer = input(
                f"Allow {name}? [y]es, this call; [n]o; [a]ll calls of {name} in this session, with any arguments: "
            )
        except (EOFError, RuntimeError):  # the front end shows no prompts
            break
        if (answer := answer.strip().lower()) in ("y", "yes", "n", "no", "a", "all"):
            return answer[0]
    return "n"
