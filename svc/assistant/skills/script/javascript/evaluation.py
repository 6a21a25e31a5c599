"""What a script in JavaScript calls and which code it builds, found by evaluating it without a system.

Only strings, numbers, arrays and the script's own functions are computed, within a fixed number of steps. Files,
processes, the network and pages do not exist here: their names are placeholders, and each call of one is written down
with its arguments. So a string array with its decoder, a packed text or a chain of ``eval`` yields the plain code, and
a downloader the address and the path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from svc.assistant.skills.script.javascript.compiler import Compiler
from svc.assistant.skills.script.javascript.library import library
from svc.assistant.skills.script.javascript.machine import MAX_LATER_STEPS, ExecutedText, Machine
from svc.assistant.skills.script.javascript.scopes import Jump, Scope
from svc.assistant.skills.script.javascript.values import (
    UNDEFINED,
    UNKNOWN,
    Host,
    JsFunction,
    JsObject,
    JsThrownError,
    StoppedError,
    Value,
)

if TYPE_CHECKING:
    from tree_sitter import Tree

MAX_SOURCE_CHARS = 300_000
MAX_UNREACHED = 60  # functions that nothing calls and that are tried as well
_CONDITIONAL = re.compile(r"/\*@cc_on|@\*/|@cc_on|@if\s{0,9}\([^()\n]{0,80}\)|@elif\s{0,9}\([^()\n]{0,80}\)|@else|@end")
_BROWSER_WORD = re.compile(r"\b(?:document|window|navigator|location)\b")
_SCRIPT_HOST_WORD = re.compile(r"\bWScript\b|\bWSH\b")
_INLINE_SCRIPT = re.compile(r"<script[^>]{0,300}>(.{1,60000}?)</script", re.IGNORECASE | re.DOTALL)


class Evaluation(msgspec.Struct, frozen=True):
    """The calls that would reach the system, in order, and the texts that are executed as code."""

    calls: tuple[str, ...]
    executed: tuple[ExecutedText, ...]
    is_complete: bool


class _Globals(JsObject):
    """The global object, whose properties are the global variables."""


def evaluate(source: str, parse: Callable[[str], Tree | None]) -> Evaluation:
    """Evaluate ``source``; ``parse`` returns its syntax tree, or None if that takes too long."""
    return _Evaluator(source[:MAX_SOURCE_CHARS], parse).evaluation()


class _Evaluator:
    def __init__(self, source: str, parse: Callable[[str], Tree | None]) -> None:
        self.source = source
        self._parse = parse
        self.machine = Machine(self._run)
        self._handlers: list[Callable[[], None]] = []
        self._trees: list[Tree] = []  # kept because functions are compiled when they are first called
        is_browser = bool(_BROWSER_WORD.search(source)) or not _SCRIPT_HOST_WORD.search(source)
        names = self.machine.globals
        names.update(library(self.machine, self._run, is_browser=is_browser))
        everything = _Globals()
        everything.properties = names
        for name in ("globalThis", "self", "top", "parent", "frames", "global", *(("window",) if is_browser else ())):
            names[name] = everything
        self._scope = Scope(names, None, everything)

    def evaluation(self) -> Evaluation:
        machine = self.machine
        is_complete = True
        try:
            self._guarded(lambda: self._run(self.source))
            machine.steps_left = min(machine.steps_left, MAX_LATER_STEPS)
            self._run_rest()
            for page in [one.text for one in machine.executed if one.how == "text written into the page"]:
                for script in _INLINE_SCRIPT.finditer(page):
                    self._guarded(partial(self._run, script[1]))
        except (StoppedError, RecursionError):
            is_complete = False
        return Evaluation(tuple(machine.calls), tuple(machine.executed), is_complete)

    def _run_rest(self) -> None:
        """Call what the system would call later, then handlers and functions that were not reached."""
        machine = self.machine
        self._run_queue()
        for handler in self._handlers:
            self._guarded(handler)
        unreached = [
            one
            for one in list(machine.globals.values())
            if isinstance(one, JsFunction) and one.source and not one.is_called
        ]
        for function in unreached[:MAX_UNREACHED]:
            self._guarded(partial(machine.call, function, UNDEFINED, [UNKNOWN] * 4))
        self._run_queue()

    def _run_queue(self) -> None:
        while self.machine.queue:
            function = self.machine.queue.pop(0)
            if not function.is_called:
                self._guarded(partial(self.machine.call, function, UNDEFINED, [Host("event"), Host("answer")]))

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except JsThrownError:
            return

    def _run(self, text: str) -> Value:
        """Evaluate a text in the global scope; the value is that of its last expression."""
        plain = _CONDITIONAL.sub(" ", text[:MAX_SOURCE_CHARS]) if "@" in text else text[:MAX_SOURCE_CHARS]
        self.machine.charge(len(plain) // 40)
        tree = self._parse(plain)
        if tree is None:
            return UNKNOWN
        self._trees.append(tree)
        compiler = Compiler(self.machine, plain.encode("utf-8", "replace"), self._handlers)
        nodes = [node for node in tree.root_node.named_children if node.type != "comment"]
        if not nodes or nodes[-1].type != "expression_statement":
            signal = compiler.block(nodes)(self._scope)
            return signal.value if isinstance(signal, Jump) else UNDEFINED
        compiler.block(nodes[:-1])(self._scope)
        return compiler.expression(nodes[-1])(self._scope)
