"""The commands on a real service: what they do there, and what they show."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import PasswordDeleteError

from svc import Session, Svc
from svc.client import newest_first
from svc_jupyter.answers.answer import Answer
from svc_jupyter.answers.listing import Listing
from svc_jupyter.errors import AskError
from svc_jupyter.kernel import service_key
from svc_jupyter.kernel.kernel import KernelSession
from svc_jupyter.magics.commands import parse
from svc_jupyter.magics.session_commands import SessionCommands
from svc_jupyter.question import AskOptions
from tests.support.live import ThreadService
from tests.support.session_facts import session

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


def command_result(kernel: KernelSession, line: str, *, can_prompt: bool = True) -> object:
    command = parse(line)
    assert command is not None
    return SessionCommands(kernel, WANTED, print, can_prompt=can_prompt).run(command)


def shown(kernel: KernelSession, line: str, *, can_prompt: bool = True) -> str:
    result = command_result(kernel, line, can_prompt=can_prompt)
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

    assert text[0] == "2 sessions, the last used first"
    assert text[2].split()[0] == "*"
    assert "one" in text[3]
    assert text[3].startswith("   ")


def test_the_list_shows_and_searches_names_first_questions_and_files(run: Run, kernel: KernelSession):
    run('session new "Ticket 4711"')
    ask(kernel, "which accounts of web-3\nwere brute-forced?")
    ask(kernel, "another question")
    run("session new second")
    kernel.session(WANTED, print).attach_file("Firewall.LOG", b"x")

    assert "which accounts of web-3 were brute-forced?" in run("session list")
    for text in ('"WEB-3 4711"', "firewall", "ticket"):
        assert len(run(f"session list {text}").splitlines()) == 3, text
    assert run("session list nowhere") == "No session has 'nowhere' in its name, first question or files."


def test_the_last_used_session_is_the_first(run: Run, kernel: KernelSession, monkeypatch: pytest.MonkeyPatch):
    now = int(time.time())
    known = [session(name=name, create_time=now + i, update_time=now - i) for i, name in enumerate("abc")]

    assert [one.name for one in newest_first(known[::-1])] == ["a", "b", "c"]


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
    with pytest.raises(AskError, match=r"2 sessions match 'same': \w+ \(same\); \w+ \(same\)\. Use a full ID\."):
        run("session resume 'same'")


def test_a_session_is_renamed_and_extended(run: Run):
    run("session new")

    assert run('session rename "Ticket 4711"') == "Renamed the session to 'Ticket 4711'."
    assert re.fullmatch(r"The session expires at .* UTC, in (2 d 0 h|1 d 23 h)\.", run("session extend 2d"))
    assert sessions()[0].name == "Ticket 4711"


def test_extending_never_shortens(run: Run):
    run("session new")
    run("session extend 7d")
    before = sessions()[0]

    for line in ("session extend 5m", "session extend", "session extend 6d", "session extend 300"):
        kept = run(line)
        assert line == "session extend" or kept.startswith("Not changed: the session already expires later, at "), line
        assert sessions()[0].expire_time >= before.expire_time, line


def test_a_file_is_removed(run: Run, kernel: KernelSession):
    run("session new")
    session = kernel.session(WANTED, print)
    session.attach_file("a b.log", b"x")
    session.attach_file("c.log", b"y")

    assert run("files").splitlines()[0] == "2 files attached, the latest first"
    assert run("files remove 'a b.log'") == "Removed a b.log. Answers no longer use it, nor what was found in it."
    assert [file.name for file in session.refresh().files] == ["c.log"]
    with pytest.raises(AskError, match=r"no file of this session is called 'a\.log'\. Its files: c\.log\."):
        run("files remove a.log")


def test_an_old_answer_is_shown_again(run: Run, kernel: KernelSession):
    original = kernel.ask("first", [], WANTED, Area(), None)
    kernel.ask("second", [], WANTED, Area(), None)

    again = command_result(kernel, "history 1 --show")

    assert isinstance(again, Answer)
    assert again.markdown == original.markdown
    assert again._repr_mimebundle_()[0]["text/markdown"] == original._repr_mimebundle_()[0]["text/markdown"]
    with pytest.raises(AskError, match="this session has 2 questions; there is none with number 3"):
        run("history 3 --show")


NOTEBOOK = Path("/home/ana/incident 42.ipynb")


def notebook_kernel(number: int, notebook: Path = NOTEBOOK) -> KernelSession:
    return KernelSession(f"/run/kernel-{number}.json", notebook)


def test_a_session_has_the_name_of_its_notebook(remote: ThreadService):
    kernel = notebook_kernel(1)
    ask(kernel, "who got in?")

    assert [(one.name, one.title) for one in sessions()] == [("incident 42", "who got in?")]
    kernel.close()


def test_after_a_restart_of_jupyter_the_notebooks_session_is_offered_once_and_resumed(remote: ThreadService):
    first = notebook_kernel(2)
    ask(first, "who got in?")
    first.close()
    second, notes = notebook_kernel(3), []
    second.session(WANTED, notes.append)
    second.session(WANTED, notes.append)

    assert len(notes) == 1
    assert notes[0].startswith("This notebook has an earlier session (1 question, the first: who got in?). ")
    assert notes[0].endswith("To resume it: %svc session resume")
    ask(second, "another")  # in a new session; the earlier one can still be resumed
    text = shown(second, "session resume")
    assert "Resumed this notebook's session" in text
    assert second.session(WANTED, print).session_id == first.session(WANTED, print).session_id
    second.close()


@pytest.mark.parametrize("case", ["another notebook", "no notebook", "deleted"])
def test_nothing_is_offered_that_is_not_the_notebooks(remote: ThreadService, case: str):
    first = notebook_kernel(4, NOTEBOOK.with_name(f"{case}.ipynb"))
    ask(first, "who got in?")
    if case == "deleted":
        with Svc() as client:
            client.resume_session(first.session(WANTED, print).session_id).delete()
    second, notes = (
        {
            "another notebook": lambda: notebook_kernel(5, NOTEBOOK.with_name("other.ipynb")),
            "no notebook": lambda: KernelSession("/run/kernel-5.json"),
            "deleted": lambda: notebook_kernel(5, NOTEBOOK.with_name("deleted.ipynb")),
        }[case](),
        [],
    )

    assert second.session(WANTED, notes.append) is None
    assert notes == []
    with pytest.raises(AskError, match="no earlier session of this notebook is known here"):
        shown(second, "session resume")
    first.close()
    second.close()


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
