"""What a question is about, through a real service with the real analyst: ``files`` of a query, removed files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx2
import msgspec
import pytest

from svc import InteractiveSession, SessionFileNotFoundError, Svc
from svc.assistant.analyst import Analyst
from svc.errors import InvalidRequestError
from svc.messages import MessageType
from tests.support.inline_analyst import InlineWorkers
from tests.support.live import ThreadService

Ask = Callable[..., str]


def auth_log(address: str, user: str = "root", count: int = 40) -> bytes:
    lines = [
        f"Nov 20 02:{i:02}:07 web-3 sshd[{900 + i}]: Failed password for {user} from {address} port {4000 + i} ssh2"
        for i in range(count)
    ]
    return "\n".join(lines).encode() + b"\n"


A, B, C = "203.0.113.7", "198.51.100.23", "192.0.2.99"


def names_address(answer: str, address: str) -> bool:
    return address in answer.replace("[.]", ".")


@pytest.fixture
def client(start_service: Callable[..., ThreadService]) -> Iterator[Svc]:
    service = start_service(lambda: Analyst(InlineWorkers()))
    with Svc(service.key, service.base_url) as client:
        yield client


@pytest.fixture
def session(client: Svc) -> InteractiveSession:
    """A session in which two logs were attached and asked about, one after the other."""
    session = client.create_session()
    session.attach_file("a.log", auth_log(A))
    session.query("Which addresses tried to brute-force accounts?")
    session.attach_file("b.log", auth_log(B, count=37))
    session.query("Which addresses tried to brute-force accounts?")
    return session


WORDINGS = {
    "open": (
        "Which addresses tried to brute-force accounts?",
        "Was there a brute-force attack?",
        "list the sources of failed logins",
    ),
    "held": (
        "who attacked the server over ssh?",
        "show me every failed login source",
        "Summarise the login failures.",
    ),
}


@pytest.mark.parametrize("half", WORDINGS)
def test_a_question_about_named_files_uses_nothing_of_the_others(session: InteractiveSession, half: str):
    for question in WORDINGS[half]:
        answer = session.query(question, files=["a.log"]).text()
        assert names_address(answer, A), question
        assert not names_address(answer, B), question
        assert "Not used: `b.log`" in answer, question


def test_all_files_can_be_named(session: InteractiveSession):
    answer = session.query("Which addresses tried to brute-force accounts?", files=list(session.files)).text()

    assert names_address(answer, A)
    assert names_address(answer, B)
    assert "Not used" not in answer


def test_a_question_without_files_means_the_latest(session: InteractiveSession):
    answer = session.query("Which addresses tried to brute-force accounts?").text()

    assert names_address(answer, B)
    assert not names_address(answer, A)
    assert "Not used: `a.log`" in answer


def test_after_a_question_about_an_earlier_file_that_file_is_the_latest(session: InteractiveSession):
    session.query("Which addresses tried to brute-force accounts?", files=["a.log"])

    answer = session.query("Was there a brute-force attack?").text()

    assert names_address(answer, A)
    assert not names_address(answer, B)


def test_words_for_all_files_mean_all(session: InteractiveSession):
    answer = session.query("Which addresses in both logs tried to brute-force accounts?").text()

    assert names_address(answer, A)
    assert names_address(answer, B)


def test_a_file_that_the_question_names_is_read(session: InteractiveSession):
    answer = session.query("Which addresses tried to brute-force accounts in a.log?").text()

    assert names_address(answer, A)
    assert not names_address(answer, B)


def test_a_follow_up_about_named_files_uses_their_findings_only(session: InteractiveSession):
    answer = session.query("which of these sources are external?", files=["a.log"]).text()

    assert names_address(answer, A)
    assert not names_address(answer, B)


def test_a_name_and_a_digest_mean_the_same(session: InteractiveSession):
    by_name = session.query("Was there a brute-force attack?", files=["a.log"]).text()
    by_digest = session.query("Was there a brute-force attack?", files=[session.files[0].sha256]).text()

    assert by_name == by_digest


def test_the_query_keeps_its_files_and_other_messages_have_none(session: InteractiveSession):
    response = session.query("Was there a brute-force attack?", files=["a.log", "a.log"])
    messages = session.history()

    queries = [message for message in messages if message.message_type == MessageType.QUERY]
    assert [query.files or None for query in queries] == [None, None, ("a.log",)]
    assert not any(message.files for message in response.messages)


def test_a_file_that_the_session_does_not_have_is_refused(session: InteractiveSession):
    with pytest.raises(SessionFileNotFoundError, match=r"'c\.log'.*'a\.log', 'b\.log'"):
        session.query("Who?", files=["a.log", "c.log"])


def test_no_question_may_name_more_files_than_a_session_has(session: InteractiveSession):
    with pytest.raises(InvalidRequestError, match="65 entries; the limit is 64"):
        session.query("Who?", files=["a.log"] * 65)


QUESTIONS_AFTER_REMOVAL = {
    "open": ("what did you find?", "which of these are external?", "how many sources?", f"did {B} get in?"),
    "held": (
        "only the critical ones",
        "show the earlier findings again",
        "top 3",
        "Which addresses tried to brute-force accounts in b.log?",
        f"what about {B}?",
    ),
}


@pytest.mark.parametrize("half", QUESTIONS_AFTER_REMOVAL)
def test_findings_of_a_removed_file_are_not_presented_as_current(session: InteractiveSession, half: str):
    session.detach_file(session.files[1])
    for question in QUESTIONS_AFTER_REMOVAL[half]:
        answer = session.query(question).text()
        assert not re.search(r"\b37\b", answer), (question, answer)


def test_the_answer_says_that_the_file_was_removed(session: InteractiveSession):
    session.detach_file(session.files[1])

    answer = session.query("what did you find?").text()

    assert "`b.log` was removed or replaced" in answer
    assert not names_address(answer, B)


def test_a_removed_file_that_is_attached_again_is_read_again(session: InteractiveSession):
    session.detach_file(session.files[1])
    session.attach_file("b.log", auth_log(C))

    answer = session.query("Which addresses tried to brute-force accounts?").text()

    assert names_address(answer, C)
    assert not names_address(answer, B)


def test_findings_of_a_replaced_version_are_not_presented_as_current(session: InteractiveSession):
    session.attach_file("b.log", auth_log(C))
    session.detach_file(session.files[1])

    answer = session.query("what did you find?").text()

    assert not names_address(answer, B)
    assert "no longer attached, or replaced by another version: `b.log`" in answer


def test_a_query_that_is_repeated_after_its_file_was_removed_finds_its_turn(client: Svc):
    session = client.create_session()
    session.attach_file("a.log", auth_log(A))
    first = session.query("Was there a brute-force attack?", files=["a.log"])
    asked = next(m for m in session.history() if m.message_type == MessageType.QUERY)
    session.detach_file(session.files[0])

    config = session._transport.config
    again = httpx2.post(
        f"{config.base_url}/session/generate",
        content=msgspec.json.encode({"id": session.session_id, "messages": [asked]}),
        headers={"Authorization": f"Bearer {config.api_key}", "Content-Type": "application/json"},
    )

    assert again.status_code == 200, again.text
    assert first.text() in [message.get("content") for message in again.json()["messages"]]


def test_sources_name_only_the_files_asked_about(session: InteractiveSession):
    response = session.query("Was there a brute-force attack?", files=["a.log"])

    sources = [str(m.content) for m in response.messages if m.message_type == MessageType.SOURCE]
    assert names_address(response.text(), A)
    assert "b.log" not in "".join(sources)
