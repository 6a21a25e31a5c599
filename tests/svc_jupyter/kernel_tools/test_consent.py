"""Consent is the kernel's record: what a hostile service says about it runs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from svc_jupyter.kernel_tools.arguments import exact, shown
from svc_jupyter.kernel_tools.schema import read_tool
from svc_jupyter.kernel_tools.tools import Consent, ToolCallHandler, Tools
from tests.svc_jupyter.kernel_tools.hostile import Hostile, InCell, InPanel, asked, called

ran: list[object] = []
LOOKUP = {"host": "web1"}
Actor = InCell | InPanel


def lookup(host: object = "") -> str:
    """Say who owns a host."""
    ran.append(host)
    return "ops"


lookup.__annotations__["host"] = dict | list | str | int | float | bool | None


def other(host: str) -> str:
    """Another tool."""
    ran.append(("other", host))
    return "other"


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    ran.clear()
    yield
    ran.clear()


@pytest.fixture(params=[InCell, InPanel], ids=["cell", "panel"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Actor:
    return request.param(monkeypatch, lookup, other)


def refusals(kernel: Hostile) -> list[str]:
    return [error for _, _, error in kernel.session.answered if error is not None]


def assert_refused(kernel: Hostile, because: str = "") -> None:
    """Nothing ran, the service and the user were notified."""
    assert ran == []
    assert refusals(kernel)
    assert because in refusals(kernel)[-1]
    assert any(step.startswith("refused a call of") for step in kernel.steps)


def test_a_call_that_was_allowed_runs_once(kernel: Actor):
    assert kernel.ask(asked("lookup", LOOKUP), "y")
    kernel.call(called("lookup", LOOKUP))
    assert ran == ["web1"]
    kernel.call(called("lookup", LOOKUP))
    assert ran == ["web1"]
    assert "you did not allow this call" in refusals(kernel)[0]


def test_a_call_without_a_question_does_not_run(kernel: Actor):
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel, "you did not allow this call")


def test_a_call_after_no_does_not_run_and_the_user_is_not_asked_again(kernel: Actor):
    assert kernel.ask(asked("lookup", LOOKUP), "n")
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel, "you denied it")
    assert not kernel.ask(asked("lookup", LOOKUP), "y")
    assert kernel.session.confirmed[-1][1] is False
    kernel.call(called("lookup", LOOKUP))
    assert ran == []


def test_a_call_while_the_question_is_open_does_not_run(monkeypatch: pytest.MonkeyPatch):
    kernel = InPanel(monkeypatch, lookup)
    assert kernel.ask(asked("lookup", LOOKUP))
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel)


EQUAL_LOOKING = [
    (1, 1.0), (1, True), (0, False), (1.0, True), (0.0, -0.0), ("1", 1), ("", None), ("é", "e\u0301"),
    ("K", "\u212a"), ("a", "a\u200b"), ("a", "a "), ("a", "\u0430"), ([1], [1, 1]), ([], {}), ({"a": 1}, {"a": 1.0}),
    (["a", "b"], ["b", "a"]), ("web1", "web1\x00"), ("web1", "web1\n"), ("null", None), (2**53, 2**53 + 1),
    (10**30, 10**30 + 1), ({"a": None}, {}), ("\ud800", "\udfff"), ("x" * 5_000 + "a", "x" * 5_000 + "b"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), EQUAL_LOOKING)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_call_with_other_arguments_does_not_run(kernel: Actor, first: object, second: object, is_swapped: bool):
    allowed, meant = (second, first) if is_swapped else (first, second)
    assert kernel.ask(asked("lookup", {"host": allowed}), "y")
    kernel.call(called("lookup", {"host": meant}))
    assert_refused(kernel, "you allowed a call with other arguments")
    kernel.call(called("lookup", {"host": allowed}))  # the permission is used up
    assert ran == []


UNCLEAR = [
    '{"NAME": "lookup", "arguments": {"host": "a", "host": "b"}}',
    '{"NAME": "lookup", "arguments": {"host": "a"}, "arguments": {"host": "b"}}',
    '{"NAME": "other", "NAME": "lookup", "arguments": {"host": "a"}}',
    '{"NAME": "lookup", "arguments": {"host": {"x": 1, "x": 2}}}',
    '{"NAME": "lookup", "arguments": {"host": NaN}}',
    '{"NAME": "lookup", "arguments": {"host": -Infinity}}',
    '{"NAME": "lookup", "arguments": {"host": 1e999}}',
    '{"NAME": "lookup", "arguments": {"host": 1e-999}}',
    '{"NAME": "lookup", "arguments": {"host": ' + "[" * 60 + "]" * 60 + "}}",
    '{"NAME": "lookup", "arguments": {"host": ' + "[" * 40_000 + "]" * 40_000 + "}}",
    '{"NAME": "lookup", "arguments": {"host": ' + "9" * 500 + "}}",
    '{"NAME": "lookup", "arguments": ["a"]}',
    '{"NAME": ["lookup"], "arguments": {}}',
    '{"NAME": "lookup"}',
    '["lookup"]',
    "",
    '{"NAME": "lookup", "arguments": {"host": "' + "x" * 100_000 + '"}}',
    '{"NAME": "nobody", "arguments": {}}',
    '{"NAME": "look\\u200bup", "arguments": {}}',
    '{"NAME": "look\\u001b[0mup", "arguments": {}}',
]


@pytest.mark.parametrize("content", UNCLEAR, ids=lambda content: content[:50])
def test_what_can_be_read_in_two_ways_is_neither_asked_nor_run(kernel: Actor, content: str):
    assert not kernel.ask(content.replace("NAME", "tool"), "a")
    assert kernel.session.confirmed[-1][1] is False
    assert kernel.steps[-1].startswith("denied a request for")
    kernel.call(content.replace("NAME", "name"))
    assert_refused(kernel)


def test_a_permission_is_for_the_tool_that_was_shown(kernel: Actor):
    kernel.ask(asked("lookup", LOOKUP), "y")
    kernel.call(called("other", LOOKUP))
    assert_refused(kernel)


def test_another_question_in_between_ends_the_permission(kernel: Actor):
    kernel.ask(asked("lookup", LOOKUP), "y")
    kernel.ask(asked("other", LOOKUP), "y")
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel)


def test_a_permission_ends_with_its_turn(kernel: Actor):
    kernel.ask(asked("lookup", LOOKUP), "y")
    kernel.begin()
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel)


def test_a_message_that_is_sent_twice_is_read_once(kernel: Actor):
    kernel.ask(asked("lookup", LOOKUP), "a", "m-1")
    assert not kernel.ask(asked("lookup", {"host": "b"}), "a", "m-1")
    kernel.call(called("lookup", LOOKUP), "m-2")
    kernel.call(called("lookup", {"host": "b"}), "m-2")
    assert ran == ["web1"]
    assert "the same request before" in refusals(kernel)[0]


def test_all_calls_of_the_session_are_allowed_until_it_ends(kernel: Actor):
    kernel.ask(asked("lookup", LOOKUP), "a")
    kernel.call(called("lookup", {"host": "b"}))
    kernel.begin()
    kernel.call(called("lookup", {"host": "c"}))
    assert not kernel.ask(asked("lookup", {"host": "d"}))
    assert ran == ["b", "c"]
    kernel.session.session_id = "s2"
    kernel.call(called("lookup", {"host": "e"}))
    kernel.session.session_id = "s1"
    kernel.handler.forget_session()
    kernel.call(called("lookup", {"host": "f"}))
    assert ran == ["b", "c"]


def test_a_question_that_offered_nothing_runs_nothing(kernel: Actor):
    kernel.ask(asked("lookup", LOOKUP), "a")
    kernel.turn = kernel.handler.for_turn(is_offering=False)
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel, "this question did not offer such a tool")


def test_what_the_user_allowed_by_name_still_needs_an_offer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_ALLOW_TOOLS", "lookup,nobody")
    kernel = InCell(monkeypatch, lookup)
    kernel.call(called("lookup", LOOKUP))
    assert ran == ["web1"]
    kernel.call(called("nobody", LOOKUP))
    assert "did not offer" in refusals(kernel)[0]


def test_a_service_that_asks_on_and_on_fills_neither_page_nor_memory(monkeypatch: pytest.MonkeyPatch):
    kernel = InCell(monkeypatch, lookup)
    for number in range(12_000):
        kernel.call("{", f"x{number}")
    assert len(kernel.steps) == 5
    assert len(kernel.turn._seen) == 10_000


NAMESPACE = """
import functools, types
LIMIT = 3
TARGETS = ["a"]
CONFIG = {"url": "https://inventory"}
module = types.ModuleType("inventory")
exec("def owner(host): return 'ops'", vars(module))
class Client:
    url = "https://a"
    def __init__(self): self.token = "one"
    def get(self, host): return "ops"
client = Client()
def deep(host): return "ops"
def helper(host): return deep(host)
@functools.lru_cache
def cached(host): return "ops"
def made(value):
    def inner(host: str, kind: str = "a", *, more: int = 1) -> str:
        ran.append(host)
        return (value, helper(host), LIMIT, TARGETS, CONFIG, module.owner(host), client.get(host), cached(host), Client)
    return inner
tool = made(["x"])
tool.__name__ = tool.__qualname__ = "tool"
"""
CHANGES = [
    "def helper(host): return 'evil'",
    "def deep(host): return 'evil'",
    "deep.__code__ = (lambda host: 'evil').__code__",
    "deep = print",
    "LIMIT = 4",
    "LIMIT = 3.0",
    "LIMIT = True",
    "TARGETS.append('b')",
    "TARGETS = ['a', 'b']",
    "CONFIG['url'] = 'https://evil'",
    "exec(\"def owner(host): return 'evil'\", vars(module))",
    "client.token = 'two'",
    "client.url = 'https://evil'",
    "Client.url = 'https://evil'",
    "Client.get = lambda self, host: 'evil'",
    "client = Client(); client.token = 'evil'",
    "@functools.lru_cache\ndef cached(host): return 'evil'",
    "tool.__defaults__ = ('b',)",
    "tool.__kwdefaults__ = {'more': 2}",
    "tool.__code__ = tool.__code__.replace(co_consts=(*tool.__code__.co_consts, 9))",
    "tool.__closure__[0].cell_contents.append('y')",
    "tool.__closure__[0].cell_contents = ['z']",
    "import builtins; len = print; str = int; append = 1; helper.__globals__['deep'] = min",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scope", ["y", "a"])
@pytest.mark.parametrize("where", [InCell, InPanel])
def test_a_function_that_changed_since_it_was_allowed_does_not_run(
    monkeypatch: pytest.MonkeyPatch, change: str, scope: str, where: type[InCell] | type[InPanel]
):
    names: dict[str, object] = {"ran": [], "__name__": "__main__"}
    exec(NAMESPACE, names)
    kernel = where(monkeypatch, names["tool"])
    assert kernel.ask(asked("tool", LOOKUP), scope)
    exec(change, names)
    kernel.call(called("tool", LOOKUP))
    assert names["ran"] == []
    assert refusals(kernel)


MORE_NAMES = """
import enum, functools, dataclasses, types, sys
class Kind(enum.Enum):
    A = 1
class Slotted:
    __slots__ = ("x",)
slotted = Slotted(); slotted.x = 1
class Meta(type):
    def look(cls): return 1
class WithMeta(metaclass=Meta): pass
@dataclasses.dataclass
class Point: x: int = 1
point = Point()
class Caller:
    def __call__(self, host): return 1
    @property
    def p(self): return 1
    @staticmethod
    def s(): return 1
caller = Caller()
def base(a, b): return a
part = functools.partial(base, 1)
def wrap(f):
    @functools.wraps(f)
    def wrapped(*a): return f(*a)
    return wrapped
@wrap
def decorated(host): return 1
async def later(): return 1
def stream():
    yield 1
HANDLERS = {"a": lambda host: 1}
WORDS = {"a", "b"}
RAW = bytearray(b"a")
PAIR = (1, [2])
lazy = types.ModuleType("lazy_k13"); exec("value = 1\\ndef f(): return 1", vars(lazy)); sys.modules["lazy_k13"] = lazy
def tool(host: str, pick=lambda x: 1) -> str:
    import lazy_k13
    from lazy_k13 import f
    ran.append(host)
    return (Kind.A, slotted.x, WithMeta, point, caller(host), part(2), decorated(host), later, list(stream()), HANDLERS,
            WORDS, RAW, PAIR, lazy_k13.value, f(), [caller.p for _ in "a"], (lambda: base)())
tool.__annotations__["pick"] = str
"""
MORE_CHANGES = [
    "Kind.A._value_ = 2",
    "class Kind(enum.Enum): A = 2",
    "slotted.x = 2",
    "Meta.look = lambda cls: 2",
    "WithMeta.y = 1",
    "point.x = 2",
    "Caller.__call__ = lambda self, host: 2",
    "Caller.p = property(lambda self: 2)",
    "Caller.s = staticmethod(lambda: 2)",
    "part = functools.partial(base, 2)",
    "base.__code__ = (lambda a, b: b).__code__",
    "@wrap\ndef decorated(host): return 2",
    "decorated.__closure__[0].cell_contents.__code__ = (lambda host: 2).__code__",
    "async def later(): return 2",
    "def stream():\n    yield 2",
    "HANDLERS['a'] = lambda host: 2",
    "HANDLERS['b'] = 1",
    "WORDS.add('c')",
    "RAW[0] = 98",
    "PAIR[1].append(3)",
    "lazy.value = 2",
    "exec('def f(): return 2', vars(lazy))",
    "tool.__defaults__ = (lambda x: 2,)",
    "list = tuple",
]


@pytest.mark.parametrize("change", MORE_CHANGES)
@pytest.mark.parametrize("scope", ["y", "a"])
def test_more_that_changes_a_function(monkeypatch: pytest.MonkeyPatch, change: str, scope: str):
    names: dict[str, object] = {"ran": [], "__name__": "__main__"}
    exec(MORE_NAMES, names)
    kernel = InCell(monkeypatch, names["tool"])
    assert kernel.ask(asked("tool", LOOKUP), scope)
    exec(change, names)
    kernel.call(called("tool", LOOKUP))
    assert names["ran"] == []
    assert refusals(kernel)


@pytest.mark.parametrize("setup", [NAMESPACE, MORE_NAMES])
def test_what_did_not_change_stays_allowed(monkeypatch: pytest.MonkeyPatch, setup: str):
    names: dict[str, object] = {"ran": [], "__name__": "__main__"}
    exec(setup, names)
    kernel = InCell(monkeypatch, names["tool"])
    kernel.ask(asked("tool", LOOKUP), "a")
    for _ in range(3):
        kernel.call(called("tool", LOOKUP))
    assert names["ran"] == ["web1"] * 3


@pytest.mark.parametrize("scope", ["y", "a"])
def test_a_function_of_the_same_name_is_another(monkeypatch: pytest.MonkeyPatch, scope: str):
    kernel = InCell(monkeypatch, lookup)
    kernel.ask(asked("lookup", LOOKUP), scope)
    names: dict[str, Callable[..., object]] = {}
    exec("def lookup(host: str): ran.append('evil')", {"ran": ran}, names)
    kernel.offer(names["lookup"])
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel, "redefined")
    kernel.begin()
    kernel.call(called("lookup", LOOKUP))
    assert_refused(kernel, "changed since you allowed its calls")


def test_a_function_that_keeps_notes_stays_allowed_and_its_version_stays(monkeypatch: pytest.MonkeyPatch):
    names: dict[str, object] = {"ran": [], "__name__": "__main__"}
    exec("count = 0\ndef tool(host: str):\n    global count\n    count += 1\n    ran.append(host)", names)
    kernel = InCell(monkeypatch, names["tool"])
    kernel.ask(asked("tool", LOOKUP), "a")
    versions = set()
    for _ in range(3):
        kernel.begin()
        versions |= {offer.version for offer in kernel.turn.offers()}
        kernel.call(called("tool", LOOKUP))
    assert names["ran"] == ["web1"] * 3
    assert len(versions) == 1


def test_the_version_that_the_service_sees_changes_with_a_helper():
    names: dict[str, object] = {"__name__": "__main__"}
    exec("def helper(): return 1\ndef tool(): return helper()", names)
    tools = Tools()
    tools.add(read_tool(names["tool"], name=None, timeout_seconds=5))  # type: ignore[arg-type]
    before = tools.offers()[0].version
    exec("def helper(): return 1  # a comment", names)
    assert tools.offers()[0].version == before
    exec("def helper(): return 2", names)
    assert tools.offers()[0].version != before


def test_the_cell_shows_every_argument_whole_and_what_is_invisible(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    arguments = {f"n{n}": n for n in range(50)} | {
        "host": "x" * 50_000 + "\u202e\u200b\x1b[2J\n",
        "\u200b y": "é e\u0301",
    }
    kernel = InCell(monkeypatch, lookup)
    kernel.ask(asked("lookup", arguments), "n")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "The model wants to call lookup: Say who owns a host."  # our description, not the service's
    assert lines[50] == "    n49 = 49"
    assert lines[51] == '    host = "' + "x" * 50_000 + r'\u202e\u200b\u001b[2J\n"'
    assert lines[52] == r'''    "\u200b y" = "é e\u0301"'''
    assert kernel.prompts == [
        "Allow lookup? [y]es, this call; [n]o; [a]ll calls of lookup in this session, with any arguments: "
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"), (1.0, "1.0"), (True, "true"), (None, "null"), (10**20, "1" + "0" * 20), ("\u3164", r'"\u3164"'),
        ("\U000e0041", r'"\udb40\udc41"'), ("\ufe0f", r'"\ufe0f"'), ("\xa0", r'"\u00a0"'), ("日本", '"日本"'),
        ("\ud800", r'"\ud800"'), ("\u2028", r'"\u2028"'), ("\x7f", r'"\u007f"'), ('"\\', r'"\"\\"'),
        ({"a": [1, {"b": "\u2800"}]}, r'{"a": [1, {"b": "\u2800"}]}'),
    ],
)  # fmt: skip
def test_what_is_shown_reads_back_as_what_runs(value: object, text: str):
    assert exact(value) == text
    assert json.loads(exact(value)) == value
    assert shown({"a": value}) == [("a", text)]


def test_in_a_batch_run_the_services_word_runs_nothing():
    kernel = Hostile(lookup)
    kernel.handler.handle(kernel.request("local_tool_call", called("lookup", LOOKUP)), Consent(), kernel)
    assert_refused(kernel)


def test_a_handler_without_tools_denies(monkeypatch: pytest.MonkeyPatch):
    kernel = InCell(monkeypatch)
    assert isinstance(kernel.handler, ToolCallHandler)
    assert not kernel.ask(asked("lookup", LOOKUP), "y")
    assert kernel.session.confirmed == [("m1", False, False)]
