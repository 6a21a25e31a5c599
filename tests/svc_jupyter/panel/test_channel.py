"""A chat panel's channel, on a real service: a page's requests, the answers and the events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from svc_jupyter.errors import AskError
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.magics.live_output import BatchScreen, LiveArea
from svc_jupyter.panel.channel import MAX_UPLOAD_BYTES, PanelChannel, without_oldest_steps
from svc_jupyter.panel.outbox import BURST_SECONDS, BYTES_PER_SECOND, Json
from svc_jupyter.question import AskOptions
from tests.support.assistants.scripted import Chatty, Echo, Reading, Slow
from tests.support.live import StartService, ThreadService, wait_until


class Page:
    """A page that collects everything that it receives."""

    def __init__(self, kernel: KernelSession, ask_options: Callable[[], AskOptions]) -> None:
        self.received: list[tuple[float, Json]] = []
        self.configured: list[Json] = []
        self._count = 0
        self.channel = PanelChannel(kernel, ask_options, self._receive, self.configured.append)

    def _receive(self, event: Json) -> None:
        self.received.append((time.monotonic(), event))

    def post(self, operation: str, data: bytes = b"", /, **fields: object) -> str:
        """Send a request; its id."""
        self._count += 1
        identity = f"r{self._count}"
        self.channel.receive({"id": identity, "do": operation, **fields}, [memoryview(data)])
        return identity

    def answer(self, identity: str) -> Json:
        """What a request was answered with, parts put together."""
        wait_until(lambda: any(self._ends(event, identity) for _, event in self.received), f"{identity} to be answered")
        replies = [event for _, event in self.received if event.get("id") == identity]
        messages = [message for event in replies for message in event.get("part", [])]
        return {**replies[-1], "parts": messages}

    def ask(self, operation: str, data: bytes = b"", /, **fields: object) -> object:
        """Send a request and return its answer. Fails if that is an error."""
        return self.answer(self.post(operation, data, **fields))["ok"]

    def events(self, name: str) -> list[Json]:
        return [event for _, event in self.received if event.get("event") == name]

    @property
    def messages(self) -> list[Json]:
        return [message for event in self.events("messages") for message in event["messages"]]

    def wait_for(self, kind: str, **values: object) -> Json:
        """The first message of that kind with these values."""

        def found() -> list[Json]:
            ask_options = {"message_type": kind, **values}.items()
            return [message for message in self.messages if ask_options <= message.items()]

        wait_until(found, f"{kind} {values}", 30)
        return found()[0]

    @staticmethod
    def _ends(event: Json, identity: str) -> bool:
        return event.get("id") == identity and ("ok" in event or "error" in event)


@pytest.fixture
def kernel() -> Iterator[KernelSession]:
    kernel = KernelSession(None)
    yield kernel
    kernel.close()


@pytest.fixture
def ask_options(monkeypatch: pytest.MonkeyPatch) -> Callable[[ThreadService], Callable[[], AskOptions]]:
    def of(service: ThreadService) -> Callable[[], AskOptions]:
        monkeypatch.setenv("SVC_API_KEY", service.key)
        return lambda: AskOptions(
            is_new=False, model=None, default_model=None, language="en", ttl=3_600, log_session=True,
            base_url=service.base_url, caller="In [7]",
        )  # fmt: skip

    return of


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(kernel: KernelSession, start_service: StartService, ask_options) -> Iterator[OpenPage]:
    """A page on the kernel's session at a service of this assistant; the second one is on the same."""
    pages: list[Page] = []
    settings: list[Callable[[], AskOptions]] = []

    def start(assistant: type = Echo) -> Page:
        if not settings:
            settings.append(ask_options(start_service(assistant)))
        pages.append(Page(kernel, settings[0]))
        pages[-1].ask_options = settings[0]
        return pages[-1]

    yield start
    for page in pages:
        page.channel.close()


def ask_in_a_cell(kernel: KernelSession, page: Page, question: str) -> str:
    area = LiveArea(BatchScreen(), max_lines=8, clock=time.monotonic)
    return kernel.ask(question, (), page.ask_options(), area, None).raw


def test_before_the_first_question_there_is_no_session(open_page: OpenPage):
    state = open_page().ask("open")
    assert state == {"session": None, "messages": [], "model": "", "is_busy": False, "ipykernel": 7}


def test_a_question_makes_the_session_and_its_turn_comes_as_events(open_page: OpenPage):
    page = open_page()
    assert page.ask("send", content="what is this?") == {}
    page.wait_for("info", state="end")
    assert [message["message_type"] for message in page.messages] == [
        "query",
        "info",
        "source",
        "info",
        "result",
        "info",
    ]
    assert [message["seq"] for message in page.messages] == [1, 2, 3, 4, 5, 6]
    assert {event["session_id"] for event in page.events("messages")} == {page.events("session")[0]["session"]["id"]}


def test_a_question_that_waits_is_told_to_a_reloaded_page_which_can_withdraw_it(
    open_page: OpenPage, kernel: KernelSession
):
    page = open_page(Slow)
    page.post("send", content="first")
    page.wait_for("query", content="first")
    waiting = page.post("send", content="second")
    wait_until(lambda: page.events("waiting"), "the second question to wait")
    page.channel.close()  # the tab is closed

    reloaded = open_page()
    state = reloaded.ask("open")
    assert state["queued"] == [{"request": waiting, "content": "second"}]
    reloaded.ask("cancel", request=waiting)
    wait_until(lambda: "queued" not in reloaded.ask("open"), "the question to be withdrawn")
    reloaded.ask("cancel")
    wait_until(lambda: not kernel.is_asking, "the first question to end")


def test_a_question_of_a_closed_page_is_asked_and_shown_in_the_next(open_page: OpenPage, kernel: KernelSession):
    page = open_page(Slow)
    page.post("send", content="first")
    page.wait_for("query", content="first")
    page.post("send", content="second")
    wait_until(lambda: page.events("waiting"), "the second question to wait")
    page.channel.close()

    reloaded = open_page()
    reloaded.ask("open")
    reloaded.ask("cancel")
    assert reloaded.wait_for("query", content="second")
    assert "queued" not in reloaded.ask("open")
    reloaded.ask("cancel")
    wait_until(lambda: not kernel.is_asking, "the second question to end")


def test_the_answer_of_a_turn_can_be_asked_for(open_page: OpenPage):
    page = open_page()
    for question in ("first", "second"):
        page.ask("send", content=question)
        page.wait_for("query", content=question)
        wait_until(lambda: page.ask("open", history=False)["is_busy"] is False, "the turn to end")
    turns = [message["turn"] for message in page.messages if message["message_type"] == "query"]
    assert [page.ask("answer", turn=turn)["turn"] for turn in turns] == turns
    assert page.ask("answer")["turn"] == turns[-1]
    assert page.ask("answer", turn="unknown") == {"turn": "", "markdown": ""}


def test_a_cells_question_is_shown_and_the_next_question_has_its_context(open_page: OpenPage, kernel: KernelSession):
    page = open_page()
    ask_in_a_cell(kernel, page, "from a cell")
    assert "from a cell" in page.wait_for("result")["content"]
    page.ask("send", content="from the panel")
    page.wait_for("result", seq=11)
    assert ask_in_a_cell(kernel, page, "again").endswith("2 earlier")


def test_a_page_that_comes_later_reads_all_that_was_asked(open_page: OpenPage, kernel: KernelSession):
    ask_in_a_cell(kernel, open_page(), "before")
    later = open_page()
    reply = later.answer(later.post("open"))
    assert [message["seq"] for message in reply["parts"]] == [1, 2, 3, 4, 5, 6]
    assert reply["ok"]["session"]["name"]
    assert later.ask("open", history=False)["messages"] == []


def test_a_question_that_waits_can_be_cancelled(open_page: OpenPage, kernel: KernelSession):
    page = open_page(Slow)
    other = open_page()
    other.ask("send", content="takes long")
    page.wait_for("info", content="waiting")
    waiting = page.post("send", content="waits")
    wait_until(lambda: page.events("waiting"), "the page to be notified")
    assert page.events("waiting") == [{"event": "waiting", "for": "panel"}]
    page.ask("cancel", request=waiting)
    assert page.answer(waiting)["error"] == {"code": "cancelled", "text": "The question was cancelled."}
    wait_until(lambda: len(page.events("waiting")) == 2, "the end of the wait")
    assert page.events("waiting")[1]["for"] is None
    assert kernel.is_asking


def test_stop_ends_the_turn_that_a_cell_waits_for(open_page: OpenPage, kernel: KernelSession):
    page = open_page(Slow)
    page.ask("send", content="takes long")
    turn = page.wait_for("query")["turn"]
    assert page.ask("cancel", turn=turn) == {}
    assert page.wait_for("error", turn=turn)["status_code"] == 499
    wait_until(lambda: not kernel.is_asking, "the kernel to be free")


def test_an_interrupted_cells_turn_ends_on_the_page_too(open_page: OpenPage, kernel: KernelSession):
    page = open_page(Slow)

    class Interrupting(LiveArea):
        def tick(self) -> None:
            if page.messages:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel.ask(
            "stop me", (), page.ask_options(), Interrupting(BatchScreen(), max_lines=8, clock=time.monotonic), None
        )
    assert page.wait_for("error")["status_code"] == 499


def test_a_file_comes_in_parts_and_is_attached_whole(open_page: OpenPage):
    page = open_page(Reading)
    part = {"name": "log.txt", "mime": "text/plain", "upload": "u", "size": 6}
    assert page.ask("attach", b"abc", offset=0, **part) == {}
    assert page.ask("attach", b"def", offset=3, **part) == {"name": "log.txt", "size": 6}
    page.ask("send", content="what does it say?")
    assert "abcdef" in page.wait_for("result")["content"]
    assert page.events("session")[-1]["session"]["files"] == [{"name": "log.txt", "size": 6}]
    assert page.ask("detach", index=0) == {}
    assert page.events("session")[-1]["session"]["files"] == []


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"offset": 3, "size": 6, "upload": "u"}, "a part of the upload is missing", id="out-of-order"),
        pytest.param({"offset": 0, "size": MAX_UPLOAD_BYTES + 1, "upload": "u"}, "the limit", id="too-large"),
        pytest.param({"path": "../../etc/passwd"}, "is not a file in the kernel's working folder", id="elsewhere"),
        pytest.param({"path": "not_there.log"}, "is not a file in the kernel's working folder", id="not-there"),
    ],
)
def test_what_cannot_be_attached_is_refused(
    open_page: OpenPage, fields: Json, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    page = open_page()
    assert text in page.answer(page.post("attach", b"abc", name="x", **fields))["error"]["text"]


def test_a_file_below_the_kernels_folder_is_attached_by_its_path(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "auth.log").write_text("failed")
    assert open_page().ask("attach", path="auth.log") == {"name": "auth.log", "size": 6}


def test_sessions_are_listed_renamed_changed_and_deleted(open_page: OpenPage, kernel: KernelSession):
    page = open_page()
    first = page.ask("new", name="First", description="what for", log_session=True)["session"]
    assert (first["name"], first["description"]) == ("First", "what for")
    second = page.ask("new", name="Second")["session"]
    assert [session["name"] for session in page.ask("list")] == ["First", "Second"]
    assert page.ask("update", name="Third", ttl=7_200)["ttl"] == 7_200
    assert page.events("session")[-1]["session"]["name"] == "Third"
    assert page.ask("open", session_id=first["id"])["session"]["id"] == first["id"]
    assert page.ask("feedback", score=1, comment="", group="") == {}
    assert page.ask("delete") == {}
    assert page.events("session")[-1]["session"] is None
    assert [session["id"] for session in page.ask("list")] == [second["id"]]


def test_an_error_has_the_wires_code_and_what_to_do(open_page: OpenPage):
    page = open_page()
    error = page.answer(page.post("open", session_id="0" * 32))["error"]
    assert error["code"] == "session_not_found"
    assert page.answer(page.post("dance"))["error"] == {
        "code": "",
        "text": "unknown panel request: 'dance'",
    }
    assert "empty" in page.answer(page.post("send", content="  "))["error"]["text"]
    assert "no session yet" in page.answer(page.post("update", name="x"))["error"]["text"]


def test_without_a_key_the_error_says_how_to_enter_one(
    kernel: KernelSession, ask_options, start_service: StartService, monkeypatch
):
    settings = ask_options(start_service(Echo))
    monkeypatch.delenv("SVC_API_KEY")
    monkeypatch.setattr(
        kernel.keys, "find", lambda _: __import__("svc_jupyter.kernel.service_key", fromlist=["Key"]).Key()
    )
    page = Page(kernel, settings)
    assert "%svc key" in page.answer(page.post("user"))["error"]["text"]


def test_a_front_ends_settings_are_handed_on_without_the_envelope(open_page: OpenPage):
    page = open_page()
    assert page.ask("settings", model="experimental") == {}
    assert page.configured == [{"model": "experimental"}]


def test_a_refused_setting_is_an_error(kernel: KernelSession, ask_options, start_service: StartService):
    page = Page(kernel, ask_options(start_service(Echo)))

    def refuse(_: Json) -> None:
        raise AskError("the setting ttl: no number")

    page.channel._configure = refuse
    assert page.answer(page.post("settings", ttl="x"))["error"]["text"] == "the setting ttl: no number"


def test_eight_thousand_steps_come_gathered_and_in_order_below_jupyters_limits(open_page: OpenPage):
    page = open_page(Chatty)
    page.ask("send", content="8000")
    result = page.wait_for("result")
    assert result["content"] == "8000 steps"
    page.wait_for("info", state="end")
    assert [message["seq"] for message in page.messages] == list(range(1, 8_004))
    sent = [(at, event) for at, event in page.received if event.get("event") == "messages"]
    seconds = sent[-1][0] - sent[0][0]
    assert len(sent) <= 20 * seconds + 2
    assert sum(len(str(event)) for _, event in sent) < BYTES_PER_SECOND * (seconds + BURST_SECONDS) * 1.1


def test_two_pages_share_what_jupyter_lets_through(open_page: OpenPage):
    pages = [open_page(Chatty), open_page(Chatty)]
    pages[0].ask("send", content="6000")
    for page in pages:
        page.wait_for("info", state="end")
    sent = sorted((at, len(str(event))) for page in pages for at, event in page.received)
    for start, _ in sent:  # in any three seconds
        assert sum(size for at, size in sent if start <= at < start + 3) < 3_000_000


def test_a_long_history_comes_without_the_steps_of_its_oldest_turns():
    from svc import Message

    def turn(number: int) -> list[Message]:
        steps = [Message(message_type="info", content="x" * 10_000) for _ in range(100)]
        return [Message(message_type="query", content=f"{number}"), *steps, Message(message_type="result", content="a")]

    kept = without_oldest_steps([message for number in range(5) for message in turn(number)])
    assert [message.content for message in kept if message.message_type == "query"] == ["0", "1", "2", "3", "4"]
    assert len(kept) < 310
    assert [message.message_type for message in kept[-102:]] == ["query", *["info"] * 100, "result"]


def test_a_closed_page_receives_nothing(open_page: OpenPage, kernel: KernelSession):
    closed, other = open_page(), open_page()
    closed.channel.close()
    ask_in_a_cell(kernel, other, "hello")
    other.wait_for("info", state="end")
    assert closed.received == []
