"""Functions of the kernel that a model may call: ``@svc_jupyter.tool``. Who is asked, where they run, what is answered.

A cell's question asks in the cell, and runs the function there. A panel's question asks in the panel (``confirm``), and
runs it in a thread beside. Where nobody can be asked, in a batch run, only what is allowed by name is called:
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
TIMEOUT_SECONDS = 100.0  # of a call; the service waits for 120 (its setting local_call_seconds)
ALLOW_VARIABLE = "SVC_ALLOW_TOOLS"
MAX_SHOWN_ARGUMENTS = 20
MAX_SHOWN_CHARS = 400  # of one argument, and of what the tool does
MAX_ERROR_CHARS = 2_000
_TRIES = 3  # of an answer to the question that is none
Run = Callable[[Callable[..., object], dict[str, object], float], object]


@dataclass(frozen=True)
class ToolRequest:
    """The service waits for an answer to this message of the session's running turn."""

    message: Message
    session: InteractiveSession


@dataclass(frozen=True)
class Consent:
    """Who may be asked, and what needs no asking. ``names`` are allowed without being asked for."""

    can_ask: bool = False
    names: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        """Whether it is allowed by name, here or in the environment."""
        named = os.environ.get(ALLOW_VARIABLE, "").split(",")
        return name in self.names or name in (part.strip() for part in named)


NOBODY = Consent()


class Area(Protocol):
    """What shows the turn while it runs."""

    def add(self, text: str) -> None:
        """A step."""


class Tools:
    """The functions that are offered with each question from now on, by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(self, tool: Tool) -> None:
        """Offer it; one of the same name before is offered no longer."""
        self._tools[tool.offer.name] = tool

    def remove(self, name: str) -> None:
        """Offer it no longer. Raises AskError where there is none of that name."""
        if self._tools.pop(name, None) is None:
            raise AskError(f"there is no tool {name!r}. There are: {', '.join(self._tools) or 'none'}.")

    def find(self, name: str) -> Tool | None:
        """The one of this name, if there is one."""
        return self._tools.get(name)

    def offers(self) -> tuple[LocalTool, ...]:
        """What the model is told of them."""
        return tuple(tool.offer for tool in self._tools.values())

    def __repr__(self) -> str:
        lines = [f"{name}: {one_line(tool.offer.description, limit=80)}" for name, tool in self._tools.items()]
        return "\n".join(lines) or "no tools: @svc_jupyter.tool offers a function"


tools = Tools()


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(*, name: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> Callable[[F], F]: ...


def tool(
    function: F | None = None, /, *, name: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS
) -> F | Callable[[F], F]:
    """Offer a function to the model that answers in this kernel; it stays a function like any other.

        @svc_jupyter.tool
        def owner_of(host: str) -> dict:
            "Says who owns a host."

    Each parameter has a type; the docstring says what the function does, and what its parameters are. You are asked
    before it is called. Raises AskError where it cannot be a tool.
    """

    def offer(offered: F) -> F:
        tools.add(read_tool(offered, name=name, timeout_seconds=timeout_seconds))
        return offered

    return offer if function is None else offer(function)


class ToolCallHandler:
    """Answers what the turns of one kernel ask of its tools."""

    def __init__(self, offered: Tools = tools) -> None:
        self._tools = offered
        self._waiting: dict[str, ToolRequest] = {}  # confirmations that a page may give, by the message's id

    def offers(self) -> tuple[LocalTool, ...]:
        """What a question offers now."""
        return self._tools.offers()

    def take(self, ask: ToolRequest, consent: Consent, area: Area) -> None:
        """Answer what a cell's question is asked, in the cell's thread; may take minutes."""
        if ask.message.message_type == MessageType.LOCAL_TOOL_CALL:
            self._call(ask, tool_run.run, area.add)
            return
        request = ConfirmationRequest.of(ask.message)
        shown = one_line(request.tool, limit=64)
        if consent.allows(request.tool):
            ask.session.confirm(ask.message, is_allowed=True)
        elif not consent.can_ask:
            area.add(
                f"{shown} was not called: nobody can be asked here. It is allowed by name: "
                f"%config SvcMagics.allow_tools = [{shown!r}], or {ALLOW_VARIABLE}={shown}"
            )
            ask.session.confirm(ask.message, is_allowed=False)
        else:
            answer = _asked(request)
            ask.session.confirm(ask.message, is_allowed=answer != "n", is_once=answer == "y")

    def handle_in_background(self, ask: ToolRequest, consent: Consent) -> None:
        """Begin to answer what a question from no cell is asked; does not wait. ``confirm`` says what is allowed."""
        if ask.message.message_type == MessageType.LOCAL_TOOL_CALL:
            run = tool_run.run_beside
            threading.Thread(target=self._call, args=(ask, run, lambda _: None), name="svc-tool", daemon=True).start()
        elif consent.allows(ConfirmationRequest.of(ask.message).tool):
            ask.session.confirm(ask.message, is_allowed=True)
        else:
            self._waiting = {ask.message.id: ask}  # one is asked at a time

    def confirm(self, message_id: str, is_allowed: bool) -> None:  # noqa: FBT001  # as a page says it
        """Answer a ``confirmation_request`` of a question from no cell. Raises AskError where it waits for none."""
        ask = self._waiting.pop(message_id, None)
        if ask is None or not ask.session.confirm(ask.message, is_allowed=is_allowed):
            raise AskError("nothing waits for that: it was answered, its time is over, or a cell asks for itself.")

    def _call(self, ask: ToolRequest, run: Run, say: Callable[[str], None]) -> None:
        call = LocalToolCall.of(ask.message)
        called = self._tools.find(call.name)
        shown = one_line(call.name, limit=64)
        if called is None:
            ask.session.answer(ask.message, error="there is no such tool any more")
            return
        say(f"calls {shown}({_shown(call.arguments)})")
        try:
            value = read_value(run(called.function, called.arguments(call.arguments), called.timeout_seconds))
        except tool_run.ToolTimeoutError:
            error = f"it took longer than {called.timeout_seconds:g} s"
        except ArgumentsError as problem:
            error = str(problem)
        except AskError as problem:
            error = f"it gave {problem}"
        except (Exception, SystemExit) as problem:  # noqa: BLE001  # whatever a user's function raises is the result
            error = f"{type(problem).__name__}: {problem}"
        else:
            ask.session.answer(ask.message, value)
            return
        say(f"{shown} gave no value: {error}")
        ask.session.answer(ask.message, error=error[:MAX_ERROR_CHARS])


def _shown(arguments: Mapping[str, object]) -> str:
    """Arguments on one line, as text."""
    return ", ".join(f"{one_line(name, limit=64)}={_as_text(value)}" for name, value in arguments.items())


def _as_text(value: object) -> str:
    """A value on one line; where it is cut, how long all of it is: what is not seen is not to be overlooked."""
    whole = msgspec.json.encode(value).decode()
    shown = one_line(whole, limit=MAX_SHOWN_CHARS)
    return f"{shown} ({len(whole):,} characters)" if len(whole) > MAX_SHOWN_CHARS else shown


def _asked(request: ConfirmationRequest) -> str:
    """Ask whoever sits at the cell: ``y``, ``n`` or ``a``. What cannot be asked is not allowed."""
    name = one_line(request.tool, limit=64)
    print(f"The model wants to call {name}: {one_line(request.description, limit=MAX_SHOWN_CHARS)}")
    for number, (key, value) in enumerate(request.arguments.items()):
        if number == MAX_SHOWN_ARGUMENTS:
            print(f"    … and {len(request.arguments) - number:,} more")
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
