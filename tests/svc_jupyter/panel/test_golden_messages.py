"""The messages between page and kernel are exactly those in ``tests/wire/panel``, with a real channel and service.

``labextension/packages/chat/test/golden-panel.test.ts`` reads the same files from the page's side. The format:
``tests/wire/README.md``. Real IDs and times differ from run to run, so they are replaced by those of the files.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from svc_jupyter.errors import AskError
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.kernel_tools.schema import read_tool
from svc_jupyter.kernel_tools.tools import Tools
from svc_jupyter.magics.live_output import BatchScreen, LiveArea
from svc_jupyter.panel.channel import PanelChannel
from svc_jupyter.panel.outbox import Json
from svc_jupyter.question import AskOptions
from tests.support import ROOT
from tests.support.assistants import scripted
from tests.support.live import StartService, ThreadService, wait_until

FILES = sorted((ROOT / "tests" / "wire" / "panel").glob("*.json"))
TIMES = {"created_at": 1_767_225_600.0, "update_time": 1_767_225_600.0, "expire_time": 1_767_312_000.0}
FOLDER = "/home/analyst"
VARYING_TEXTS = [
    (re.compile(r"Session of [\d-]+ [\d:]+ UTC"), "Session of 2026-01-01 00:00 UTC"),
    (re.compile(r'"parent_id": "\d{1,20}"'), '"parent_id": "4242"'),  # of a query: the process that asked
    (re.compile(r"Answered after [\d.]+ s"), "Answered after 0.0 s"),
]
_ID = re.compile(r"\b[0-9a-f]{32}\b")
Step = dict[str, object]


class Conversation:
    """One channel to a real service; plays the page's and the cells' steps, and collects what the kernel sends."""

    def __init__(self, kernel: KernelSession, service: ThreadService, folder: Path) -> None:
        self._kernel = kernel
        self._base_url = service.base_url
        self._folder = folder
        self._received: list[Json] = []
        self.channel = PanelChannel(kernel, self.ask_options, self._received.append, self._configure)

    def ask_options(self) -> AskOptions:
        return AskOptions(
            is_new=False, model=None, default_model=None, language="en", ttl=86_400, log_session=True,
            base_url=self._base_url, caller="In [7]",
        )  # fmt: skip

    def play(self, step: Step) -> None:
        if "cell" in step:
            area = LiveArea(BatchScreen(), max_lines=8, clock=time.monotonic)
            self._kernel.ask(str(step["cell"]), (), self.ask_options(), area, None)
        elif "page" in step:
            buffers = [text.encode() for text in step.get("buffers", [])]
            self.channel.receive(self._with_real_ids(step["page"]), buffers)

    def messages(self) -> list[Json]:
        """Return what the kernel sent so far, as the files have it: how messages are batched depends on timing."""
        file_ids = self._file_ids()
        text = json.dumps(list(self._received)).replace(str(self._folder), FOLDER)
        text = _ID.sub(lambda found: file_ids.get(found[0], found[0]), text)
        for pattern, replacement in VARYING_TEXTS:
            text = pattern.sub(replacement, text)
        return _merge_batches(json.loads(text, object_hook=_with_fixed_times))

    def _file_ids(self) -> dict[str, str]:
        """Number the real IDs in the order in which they first appear."""
        found = dict.fromkeys(_ID.findall(json.dumps(list(self._received))))
        real_ids = [found_id for found_id in found if int(found_id, 16)]
        return {real_id: f"{number:032x}" for number, real_id in enumerate(real_ids, 1)}

    def _with_real_ids(self, request: Json) -> Json:
        real_ids = {file_id: real for real, file_id in self._file_ids().items()}
        return json.loads(_ID.sub(lambda found: real_ids.get(found[0], found[0]), json.dumps(request)))

    @staticmethod
    def _configure(settings: Json) -> None:
        if settings.get("ttl") == "a day":
            raise AskError("the setting ttl: not a number of seconds")


def _with_fixed_times(values: Json) -> Json:
    return values | {name: value for name, value in TIMES.items() if values.get(name)}


def _merge_batches(messages: list[Json]) -> list[Json]:
    """Join successive `messages` events of a session; an answer between them does not separate them."""
    merged: list[Json] = []
    batch: Json | None = None
    for message in messages:
        if message.get("event") == "messages" and batch and batch["session_id"] == message["session_id"]:
            batch["messages"] += message["messages"]
            continue
        if message.get("event") == "messages":
            batch = message
        elif "ok" not in message:
            batch = None
        merged.append(message)
    return merged


def expected_after(steps: list[Step]) -> list[list[Json]]:
    """The kernel's messages in these steps, in groups: the order within a group may vary."""
    return [step["in_any_order"] if "in_any_order" in step else [step["kernel"]] for step in steps if _is_kernels(step)]


def _is_kernels(step: Step) -> bool:
    return "kernel" in step or "in_any_order" in step


def grouped(messages: list[Json], groups: list[list[Json]]) -> list[list[Json]]:
    """The messages in groups of the same sizes; a last group has the rest. Within a group they are sorted."""
    found, position = [], 0
    for group in groups:
        found.append(sorted(messages[position : position + len(group)], key=json.dumps))
        position += len(group)
    return found + ([messages[position:]] if messages[position:] else [])


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelSession]:
    kernel = KernelSession(None)
    yield kernel
    kernel.close()


@pytest.fixture
def start(
    kernel: KernelSession, start_service: StartService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Json], Conversation]]:
    conversations: list[Conversation] = []

    def start(golden: Json) -> Conversation:
        service = start_service(getattr(scripted, golden["assistant"]))
        folder = tmp_path / "folder"
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("SVC_API_KEY", service.key)
        for name, text in golden.get("files", {}).items():
            (folder / name).write_text(text)
        if golden.get("tool"):
            tools = Tools()
            tools.add(read_tool(lookup, name=golden["tool"], timeout_seconds=10))
            monkeypatch.setattr(kernel.tools, "_tools", tools)
        conversations.append(Conversation(kernel, service, folder))
        return conversations[-1]

    yield start
    for conversation in conversations:
        conversation.channel.close()


def lookup(text: str) -> str:
    """Say who owns a host."""
    return f"{text} belongs to the web team"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_channel_sends_the_messages_of_the_file(path: Path, start: Callable[[Json], Conversation]):
    golden = json.loads(path.read_text("utf-8"))
    conversation = start(golden)
    steps = golden["messages"]
    for position, step in enumerate(steps):
        conversation.play(step)
        if position + 1 == len(steps) or not _is_kernels(steps[position + 1]):
            groups = [sorted(group, key=json.dumps) for group in expected_after(steps[: position + 1])]
            try:
                wait_until(lambda groups=groups: grouped(conversation.messages(), groups) == groups, "", 10)
            except AssertionError:
                assert grouped(conversation.messages(), groups) == groups


def test_every_request_and_every_event_is_in_a_file():
    steps = [step for path in FILES for step in json.loads(path.read_text("utf-8"))["messages"]]
    sent = [message for step in steps for message in step.get("in_any_order", [step.get("kernel", {})])]
    assert {step["page"]["do"] for step in steps if "page" in step} >= {
        "answer", "attach", "cancel", "confirm", "delete", "detach", "feedback", "list",
        "models", "new", "open", "send", "settings", "update", "user",
    }  # fmt: skip
    assert {message["event"] for message in sent if "event" in message} == {
        "busy", "messages", "note", "session", "waiting"
    }  # fmt: skip
