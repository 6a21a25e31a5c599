"""The commands on a real service: what they do there, and what they show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import PasswordDeleteError

from svc import Session, Svc
from svc_jupyter.errors import AskError
from svc_jupyter.kernel import service_key
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.magics.commands import parse
from svc_jupyter.magics.listing import Listing
from svc_jupyter.magics.session_commands import SessionCommands
from svc_jupyter.question import AskOptions
from tests.support.live import ThreadService

WANTED = AskOptions(is_new=False, model=None, default_model=None, language="en", ttl=3_600, log_session=True)
Run = Callable[[str], str]


class Area:
    def add(self, text: str) -> None: ...

    def tick(self) -> None: ...


class Store(KeyringBackend):
    """The system's key store, in memory."""

    priority = 1
    name = "Test store"

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError


@pytest.fixture
def store() -> Iterator[Store]:
    before, store = keyring.get_keyring(), Store()
    keyring.set_keyring(store)
    yield store
    keyring.set_keyring(before)


@pytest.fixture
def remote(service: ThreadService, monkeypatch: pytest.MonkeyPatch) -> ThreadService:
    monkeypatch.setenv("SVC_BASE_URL", service.base_url)
    monkeypatch.setenv("SVC_API_KEY", service.key)
    monkeypatch.delenv("SVC_WS_URL", raising=False)
    return service


@pytest.fixture
def new_kernel() -> Iterator[Callable[[], KernelSession]]:
    with ExitStack() as stack:

        def make() -> KernelSession:
            kernel = KernelSession(None)
            stack.callback(kernel.close)
            return kernel

        yield make


@pytest.fixture
def kernel(new_kernel: Callable[[], KernelSession]) -> KernelSession:
    return new_kernel()


def sessions() -> list[Session]:
    with Svc() as client:
        return client.list_sessions()


@pytest.fixture
def run(remote: ThreadService, kernel: KernelSession) -> Run:
    """Run a command line; returns what is shown, as text."""
    return lambda line: shown(kernel, line)


def shown(kernel: KernelSession, line: str, *, can_prompt: bool = True) -> str:
    command = parse(line)
    assert command is not None
    result = SessionCommands(kernel, WANTED, print, can_prompt=can_prompt).run(command)
    return result if isinstance(result, str) else repr(result)


def ask(kernel: KernelSession, question: str) -> str:
    return kernel.ask(question, [], WANTED, Area(), None).text


def test_there_is_no_session_before_the_first_question(run: Run):
    assert run("session").startswith("There is no session yet")
    assert run("session list").startswith("There is no session yet")
    with pytest.raises(AskError, match="There is no session yet"):
        run("files")


def test_a_session_is_shown(run: Run, kernel: KernelSession):
    ask(kernel, "one")

    text = run("session show")

    assert re.search(r"^questions +1, \d+ messages$", text, re.MULTILINE)
    assert re.search(r"^expires +\d{4}-\d\d-\d\d \d\d:\d\d UTC, in (1 h 0|0 h 59) min$", text, re.MULTILINE)


def test_a_new_session_is_the_kernels(run: Run, kernel: KernelSession):
    first = ask(kernel, "one")

    text = run('session new "Ticket 4711"')

    assert re.search(r"^name +Ticket 4711$", text, re.MULTILINE)
    assert first == ask(kernel, "one")
    assert sessions()[-1].turns == 1


def test_the_list_marks_the_kernels_session(run: Run):
    run("session new one")
    run("session new two")

    text = run("session list").splitlines()

    assert text[0] == "2 sessions, oldest first"
    assert [line.split()[0] for line in text[2:]][1] == "*"
    assert "one" in text[2]
    assert text[2].startswith("   ")


@pytest.mark.parametrize("by", ["id", "beginning", "name"])
def test_a_session_is_resumed(run: Run, kernel: KernelSession, by: str):
    run('session new "the first"')
    first = sessions()[0]
    run("session new second")
    named = {"id": first.id, "beginning": first.id[:12], "name": '"the first"'}[by]

    text = run(f"session resume {named}")
    ask(kernel, "one")

    assert first.id in text
    assert sessions()[0].turns == 1


def test_what_cannot_be_resumed_says_why(run: Run):
    run("session new same")
    run("session new same")

    with pytest.raises(
        AskError, match=r"no session has the ID or name 'abcdef'. List your sessions with `%svc session list`"
    ):
        run("session resume abcdef")
    with pytest.raises(AskError, match=r"2 sessions match 'same': \w+, \w+\. Use a full ID\."):
        run("session resume 'same'")


def test_a_session_is_renamed_and_extended(run: Run):
    run("session new")

    assert run('session rename "Ticket 4711"') == "Renamed the session to 'Ticket 4711'."
    assert re.fullmatch(r"The session expires at .* UTC, in (2 d 0 h|1 d 23 h)\.", run("session extend 2d"))
    assert sessions()[0].name == "Ticket 4711"


def test_a_deleted_session_is_gone_and_the_next_question_makes_one(run: Run, kernel: KernelSession):
    run("session new first")
    deleted = sessions()[0].id

    assert run("session delete") == "Deleted the session 'first' with its messages and files."
    ask(kernel, "one")

    assert [session.id == deleted for session in sessions()] == [False]


def test_files_are_listed_as_text(run: Run, kernel: KernelSession):
    run("session new")
    session = kernel.session(WANTED, print)
    session.attach_file("<b>evil.example.com.log", b"x" * 1_234)

    text = run("files")

    assert text.splitlines()[0] == "1 file attached"
    assert "<b>evil" in text
    assert "1,234" in text


def test_the_history_has_questions_and_answers(run: Run, kernel: KernelSession):
    for n in range(3):
        ask(kernel, f"question {n}")

    text = run("history 2").splitlines()

    assert text[0] == "3 questions (last 2)"
    assert [line.split()[0] for line in text[2:]] == ["2", "3"]
    assert "question 2" in text[-1]


def test_models_are_listed_and_another_answers_in_a_fresh_session(run: Run, kernel: KernelSession):
    ask(kernel, "one")
    before = sessions()[0].id

    models = run("model")
    text = run("model experimental")

    assert re.search(r"^\* +svc-1.1 ", models, re.MULTILINE)
    assert re.search(r"^model +svc-1.2-experimental$", text, re.MULTILINE)
    assert before not in text


def test_a_typed_key_is_used_and_kept(
    remote: ThreadService,
    kernel: KernelSession,
    new_kernel: Callable[[], KernelSession],
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("SVC_API_KEY")
    monkeypatch.setattr("getpass.getpass", lambda _: f" {remote.key}\n")

    text = shown(kernel, "key")

    assert re.fullmatch(r"The key of \S+ is saved in the system keyring \(Test store\)\.", text)
    assert remote.key not in text
    assert store.kept == {("svc", remote.base_url): remote.key}
    assert ask(kernel, "one")
    assert ask(new_kernel(), "another kernel")


def test_a_key_is_deleted(remote: ThreadService, kernel: KernelSession, store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SVC_API_KEY")
    store.set_password("svc", remote.base_url, remote.key)
    ask(kernel, "one")

    assert shown(kernel, "key delete") == f"Deleted the key for {remote.base_url}."
    assert shown(kernel, "key delete") == f"No key is saved for {remote.base_url}."
    assert store.kept == {}
    with pytest.raises(Exception, match=r"needs an API key\. Enter it with `%svc key`"):
        ask(kernel, "two")


def test_without_a_store_the_key_lives_in_the_kernel(
    remote: ThreadService, kernel: KernelSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SVC_API_KEY")
    monkeypatch.setattr("getpass.getpass", lambda _: remote.key)
    monkeypatch.setattr(keyring, "get_keyring", NoKeyring)
    monkeypatch.setattr(keyring, "set_password", NoKeyring().set_password)
    monkeypatch.setattr(keyring, "get_password", NoKeyring().get_password)

    assert "is saved in this kernel only, until it ends: the system keyring is not available" in shown(kernel, "key")
    assert ask(kernel, "one")


@pytest.mark.parametrize(
    ("typed", "message"),
    [("", "No key entered; nothing changed."), ("svc_" + "x" * 49, "the key was not saved: ")],
    ids=["nothing", "a wrong one"],
)
def test_what_is_no_key_is_not_kept(
    typed: str,
    message: str,
    remote: ThreadService,
    kernel: KernelSession,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("SVC_API_KEY")
    monkeypatch.setattr("getpass.getpass", lambda _: typed)

    try:
        text = shown(kernel, "key")
    except AskError as error:
        text = str(error)

    assert text.startswith(message)
    assert store.kept == {}


def test_a_key_that_cannot_be_typed_says_why(
    remote: ThreadService, kernel: KernelSession, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(AskError, match="SVC_API_KEY is set and takes precedence"):
        shown(kernel, "key")
    monkeypatch.delenv("SVC_API_KEY")
    with pytest.raises(AskError, match="cannot prompt for a key"):
        shown(kernel, "key", can_prompt=False)
    monkeypatch.delenv("SVC_BASE_URL")
    with pytest.raises(AskError, match="the local service has its own key"):
        shown(kernel, "key")


def test_a_cell_of_a_table_is_text_and_makes_no_link():
    listing = Listing("1 <b>", ("name",), [["<script>alert(1)</script>"], ["see http://evil.example/x\n"], ["\x1b[2J"]])

    assert "<script>" not in listing._repr_html_()
    assert "<p>1 &lt;b&gt;</p>" in listing._repr_html_()
    assert "hxxp://evil[.]example/x" in listing._repr_html_()
    assert repr(listing).splitlines()[3] == "see hxxp://evil[.]example/x"
    assert "\x1b" not in repr(listing)


def test_a_key_is_in_no_repr():
    assert repr(service_key.Key("svc_secret")) == "Key()"
