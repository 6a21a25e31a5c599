"""Functions of the kernel that the model may call: ``@svc_jupyter.tool``.

For a cell's question, the cell asks for confirmation and runs the function. For a panel's question, the panel asks
(``confirm``), and the function runs in a background thread. A batch run cannot ask, so it only calls tools that are
allowed by name:
``%config SvcMagics.allow_tools = ["name"]`` or ``SVC_ALLOW_TOOLS=name,other``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar, overload

import msgspec

from svc import ConfirmationRequest, InteractiveSession, LocalTool, LocalToolCall, Message, MessageType
from svc.untrusted.characters import one_line
from svc_jupyter.errors import AskError
from svc_jupyter.kernel_tools import run as tool_run
from svc_jupyter.kernel_tools.schema import ArgumentsError, Tool, read_tool
from svc_jupyter.kernel_tools.value import read_value

F = TypeVar("F", bound=Callable[..., object])
TIMEOUT_SECONDS = 100.0  # of a call; the service waits for 120 s (its setting local_call_seconds)
ALLOW_VARIABLE = "SVC_ALLOW_TOOLS"
MAX_SHOWN_ARGUMENTS = 20
MAX_SHOWN_CHARS = 400  # of an argument, and of the description
MAX_ERROR_CHARS = 2_000
_TRIES = 3  # prompts until an answer is valid
Run = Callable[[Callable[..., object], dict[str, object], float], object]


@dataclass(frozen=True)
class ToolRequest:
    """A message of the running turn that the client must answer: a confirmation request or a tool call."""

    message: Message
    session: InteractiveSession


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

    def find(self, name: str) -> Tool | None:
        """Return the tool of this name, or None."""
        return self._tools.get(name)

    def offers(self) -> tuple[LocalTool, ...]:
        """Return the tools as the service expects them."""
        return tuple(tool.offer for tool in self._tools.values())

    def __repr__(self) -> str:
        lines = [f"{name}: {one_line(tool.offer.description, limit=80)}" for name, tool in self._tools.items()]
        return "\n".join(lines) or "no tools; offer a function with @svc_jupyter.tool"


tools = Tools()


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

    Raises:
        AskError: The function cannot be a tool; the text says why.
    """

    def offer(offered: F) -> F:
        tools.add(read_tool(offered, name=name, timeout_seconds=timeout_seconds))
        return offered

    return offer if function is None else offer(function)


class ToolCallHandler:
    """Answers the tool requests of one kernel's turns."""

    def __init__(self, offered: Tools = tools) -> None:
        self._tools = offered
        self._waiting: dict[str, ToolRequest] = {}  # confirmations that a panel may give, by message ID

    def offers(self) -> tuple[LocalTool, ...]:
        """Return the tools that a question offers now."""
        return self._tools.offers()

    def handle(self, request: ToolRequest, consent: Consent, area: ToolArea) -> None:
        """Answer a request of a cell's question in the cell's thread; may take minutes."""
        if request.message.message_type == MessageType.LOCAL_TOOL_CALL:
            self._call(request, tool_run.run, area.add)
            return
        confirmation = ConfirmationRequest.of(request.message)
        shown = one_line(confirmation.tool, limit=64)
        if consent.allows(confirmation.tool):
            request.session.confirm(request.message, is_allowed=True)
        elif not consent.can_ask:
            area.add(
                f"{shown} was not called: cannot ask for confirmation in a non-interactive run. Allow it with "
                f"%config SvcMagics.allow_tools = [{shown!r}] or {ALLOW_VARIABLE}={shown}"
            )
            request.session.confirm(request.message, is_allowed=False)
        else:
            answer = _ask_user(confirmation)
            request.session.confirm(request.message, is_allowed=answer != "n", is_once=answer == "y")

    def handle_in_background(self, request: ToolRequest, consent: Consent) -> None:
        """Answer a request of a panel's question in the background; ``confirm`` allows or denies it."""
        if request.message.message_type == MessageType.LOCAL_TOOL_CALL:
            run = tool_run.run_in_background
            threading.Thread(
                target=self._call, args=(request, run, lambda _: None), name="svc-tool", daemon=True
            ).start()
        elif consent.allows(ConfirmationRequest.of(request.message).tool):
            request.session.confirm(request.message, is_allowed=True)
        else:
            self._waiting = {request.message.id: request}  # the service asks for one at a time

    def confirm(self, message_id: str, is_allowed: bool) -> None:  # noqa: FBT001  # a field of the panel protocol
        """Answer a ``confirmation_request`` of a panel's question. Raises AskError if it is not pending."""
        request = self._waiting.pop(message_id, None)
        if request is None or not request.session.confirm(request.message, is_allowed=is_allowed):
            raise AskError("this confirmation is no longer pending")

    def _call(self, request: ToolRequest, run: Run, add_step: Callable[[str], None]) -> None:
        call = LocalToolCall.of(request.message)
        called = self._tools.find(call.name)
        shown = one_line(call.name, limit=64)
        if called is None:
            request.session.answer(request.message, error="this tool is no longer available")
            return
        add_step(f"calling {shown}({_shown(call.arguments)})")
        try:
            value = read_value(run(called.function, called.arguments(call.arguments), called.timeout_seconds))
        except tool_run.ToolTimeoutError:
            error = f"no result within {called.timeout_seconds:g} s"
        except ArgumentsError as problem:
            error = str(problem)
        except AskError as problem:
            error = f"the result cannot be sent: {problem}"
        except (Exception, SystemExit) as problem:  # noqa: BLE001  # the model receives whatever a user's function raises
            error = f"{type(problem).__name__}: {problem}"
        else:
            request.session.answer(request.message, value)
            return
        add_step(f"{shown} failed: {error}")
        request.session.answer(request.message, error=error[:MAX_ERROR_CHARS])


def _shown(arguments: Mapping[str, object]) -> str:
    """Return the arguments on one line."""
    return ", ".join(f"{one_line(name, limit=64)}={_as_text(value)}" for name, value in arguments.items())


def _as_text(value: object) -> str:
    """Return a value on one line; if it is cut, with its full length, so that the user notices."""
    whole = msgspec.json.encode(value).decode()
    shown = one_line(whole, limit=MAX_SHOWN_CHARS)
    return f"{shown} ({len(whole):,} characters)" if len(whole) > MAX_SHOWN_CHARS else shown


def _ask_user(request: ConfirmationRequest) -> str:
    """Ask the user in the cell: ``y``, ``n`` or ``a``. Without a prompt the call is denied."""
    name = one_line(request.tool, limit=64)
    print(f"The model wants to call {name}: {one_line(request.description, limit=MAX_SHOWN_CHARS)}")
    for number, (key, value) in enumerate(request.arguments.items()):
        if number == MAX_SHOWN_ARGUMENTS:
            print(f"    … {len(request.arguments) - number:,} more")
            break
        print(f"    {one_line(key, limit=64)} = {_as_text(value)}")
    for _ in range(_TRIES):
        try:
            answer = input(f"Allow {name}? [y]es, [n]o, [a]lways in this session: ").strip().lower()
        except (EOFError, RuntimeError):  # the front end shows no prompts
            break
        if answer in ("y", "yes", "n", "no", "a", "always"):
            return answer[0]
    return "n"
