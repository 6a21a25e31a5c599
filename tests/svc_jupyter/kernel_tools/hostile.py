"""A service that lies about what the user allowed, and the cell and the panel that it talks to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from svc import Message
from svc_jupyter.kernel_tools.consent import TurnTools
from svc_jupyter.kernel_tools.schema import read_tool
from svc_jupyter.kernel_tools.tools import Consent, ToolCallHandler, ToolRequest, Tools
from tests.support.live import wait_until

ASK, CALL = "confirmation_request", "local_tool_call"


@dataclass
class Session:
    """What the service gets."""

    session_id: str = "s1"
    confirmed: list[tuple[str, bool, bool]] = field(default_factory=list)
    answered: list[tuple[str, object, str | None]] = field(default_factory=list)

    def confirm(self, request: Message, *, is_allowed: bool, is_once: bool = False) -> bool:
        self.confirmed.append((request.id, is_allowed, is_once))
        return True

    def answer(self, call: Message, value: object = None, *, error: str | None = None) -> bool:
        self.answered.append((call.id, value, error))
        return True


class Hostile:
    """Sends requests of one turn to the kernel's handler, in any order and with any content."""

    def __init__(self, *functions: Callable[..., object]) -> None:
        self.tools = Tools()
        for function in functions:
            self.offer(function)
        self.handler = ToolCallHandler(self.tools)
        self.session = Session()
        self.steps: list[str] = []
        self.turn: TurnTools
        self.begin()
        self._number = 0

    def offer(self, function: Callable[..., object]) -> None:
        self.tools.add(read_tool(function, name=None, timeout_seconds=5))

    def begin(self) -> None:
        """Start a turn."""
        self.turn = self.handler.for_turn(is_offering=True)

    def add(self, text: str) -> None:
        self.steps.append(text)

    def message(self, kind: str, content: str, message_id: str = "") -> Message:
        self._number += 1
        return Message(message_type=kind, id=message_id or f"m{self._number}", turn="t1", content=content)

    def request(self, kind: str, content: str, message_id: str = "") -> ToolRequest:
        return ToolRequest(self.message(kind, content, message_id), self.session, self.turn)  # type: ignore[arg-type]


class InCell(Hostile):
    """The user is at a cell and types."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *functions: Callable[..., object]) -> None:
        super().__init__(*functions)
        self.typed: list[str] = []
        self.prompts: list[str] = []
        monkeypatch.setattr("builtins.input", self._input)

    def _input(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.typed.pop(0)

    def ask(self, content: str, typed: str = "", message_id: str = "") -> bool:
        """Ask for permission; whether the user was asked."""
        before = len(self.prompts)
        self.typed = [typed]
        self.handler.handle(self.request(ASK, content, message_id), Consent(can_ask=True), self)
        return len(self.prompts) > before

    def call(self, content: str, message_id: str = "") -> None:
        self.handler.handle(self.request(CALL, content, message_id), Consent(can_ask=True), self)


class InPanel(Hostile):
    """The user presses a button in the panel."""

    def __init__(self, _: pytest.MonkeyPatch, *functions: Callable[..., object]) -> None:
        super().__init__(*functions)

    def ask(self, content: str, typed: str = "", message_id: str = "") -> bool:
        """Ask for permission; whether the user was asked."""
        request = self.request(ASK, content, message_id)
        self.handler.handle_in_background(request, Consent(can_ask=True), self.add)
        if not self.handler._waiting:
            return False
        if typed:
            self.handler.confirm(request.message.id, is_allowed=typed != "n", is_once=typed == "y")
        return True

    def call(self, content: str, message_id: str = "") -> None:
        before = len(self.session.answered)
        self.handler.handle_in_background(self.request(CALL, content, message_id), Consent(can_ask=True), self.add)
        wait_until(lambda: len(self.session.answered) > before, "the answer")


def asked(name: str, arguments: object) -> str:
    return json.dumps({"tool": name, "arguments": arguments, "description": "harmless"})


def called(name: str, arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})
