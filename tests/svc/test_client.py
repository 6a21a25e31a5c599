"""``Svc``: addresses, displayed properties and lifetime."""

from __future__ import annotations

import asyncio
import inspect
import re
from datetime import timedelta

import pytest

import svc
from svc import AsyncSvc, Svc
from svc.config import Config
from tests.support.assistants.scripted import Echo
from tests.support.fault_proxy import FaultProxy
from tests.support.live import StartService, ThreadService, wait_until
from tests.support.made_keys import UNKNOWN_KEY


def test_urls_may_be_positional(scripted_service: Config):
    with Svc(scripted_service.api_key, scripted_service.base_url, scripted_service.ws_url) as client:
        assert (client.base_url, client.ws_url) == (scripted_service.base_url, scripted_service.ws_url)
        assert not client.is_local
        assert client.create_session().session_id


def test_the_environment_configures_it(scripted_service: Config, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_API_KEY", scripted_service.api_key)
    monkeypatch.setenv("SVC_BASE_URL", scripted_service.base_url)

    with Svc() as client:
        assert client.create_session(name="from the environment").name == "from the environment"


def test_a_session_has_the_requested_properties_and_defaults_for_the_rest(client: Svc):
    session = client.create_session(ttl=300, log_session=False)

    assert (session.ttl, session.log_session) == (300, False)
    assert session.name
    assert session.model.model_string == "svc-1.1"
    assert session.expire_time == session.create_time + 300


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        pytest.param({"ttl": 10}, svc.InvalidRequestError, "300", id="ttl"),
        pytest.param({"language": "zz-top"}, svc.InvalidRequestError, "language|zz", id="language"),
        pytest.param({"model": "gpt"}, svc.ModelNotFoundError, "svc-1.1", id="model"),
    ],
)
def test_a_rejected_session_request_has_the_reason(
    client: Svc, options: dict[str, object], error: type[svc.ServiceError], text: str
):
    with pytest.raises(error, match=text):
        client.create_session(**options)


def test_an_unknown_session_is_reported(client: Svc):
    with pytest.raises(svc.SessionNotFoundError):
        client.resume_session("nosuch")
    with pytest.raises(svc.InvalidRequestError, match="session_id is empty"):
        client.resume_session("")


def test_a_wrong_key_is_reported_and_not_shown(scripted_service: Config):
    key = UNKNOWN_KEY
    with Svc(key, scripted_service.base_url) as client, pytest.raises(svc.InvalidApiKeyError) as caught:
        client.create_session()

    assert key not in str(caught.value) + repr(client)


def test_a_closed_client_can_be_used_again(scripted_service: Config):
    client = Svc(scripted_service.api_key, scripted_service.base_url)
    session = client.create_session()
    client.close()

    assert session.history() == []
    client.close()


def test_live_sessions_are_listed_oldest_first_without_messages(scripted_service: Config, client: Svc):
    old, new, gone = (client.create_session(name=name) for name in ("old", "new", "gone"))
    old.query("echo a")
    gone.delete()

    listed = client.list_sessions()

    ids = [session.id for session in listed]
    assert ids.index(old.session_id) < ids.index(new.session_id)
    assert gone.session_id not in ids
    assert {len(session.messages) for session in listed} == {0}
    assert client.resume_session(listed[ids.index(old.session_id)].id).name == "old"


def test_sessions_are_listed_in_pages(start_service: StartService):
    service = start_service(Echo)
    with Svc(service.key, service.base_url) as client:
        made = [client.create_session(name=str(n)).session_id for n in range(7)]
        pages = [client.list_sessions(limit=3)]
        while len(pages[-1]) == 3:
            pages.append(client.list_sessions(limit=3, after=pages[-1][-1].id))

        assert [[session.id for session in page] for page in pages] == [made[:3], made[3:6], made[6:]]
        assert [session.id for session in client.list_sessions(after=made[4])] == made[5:]
        with pytest.raises(svc.InvalidRequestError) as refused:
            client.list_sessions(limit=-1)
        assert refused.value.param == "limit"
        client.resume_session(made[2]).delete()
        with pytest.raises(svc.SessionNotFoundError):
            client.list_sessions(after=made[2])


def test_a_page_goes_on_after_a_session_that_has_expired(start_service: StartService):
    now = [1_790_000_000.0]
    service = start_service(Echo, clock=lambda: now[0])
    with Svc(service.key, service.base_url) as client:
        first = client.create_session(ttl=300)
        now[0] += 10
        kept = client.create_session(ttl=3_000)
        now[0] += 400
        assert [session.id for session in client.list_sessions(after=first.session_id)] == [kept.session_id]


def test_arguments_of_a_session_come_in_the_documented_order(client: Svc):
    session = client.create_session(600, "n", "d", False, "stable", "de")

    assert (session.ttl, session.name, session.description) == (600, "n", "d")
    assert (session.log_session, session.model.model_string, session.language) == (False, "svc-1.1", "de")
    assert list(inspect.signature(Svc.create_session).parameters)[1:] == [
        "ttl", "name", "description", "log_session", "model", "language",
    ]  # fmt: skip
    assert inspect.signature(Svc.create_session).parameters == inspect.signature(AsyncSvc.create_session).parameters


@pytest.mark.parametrize(
    ("ttl", "seconds"), [(timedelta(hours=2), 7_200), (timedelta(minutes=10, milliseconds=1), 601), (300, 300)]
)
def test_a_lifetime_is_a_number_of_seconds_or_a_timedelta(client: Svc, ttl: int | timedelta, seconds: int):
    session = client.create_session(ttl)
    assert session.ttl == seconds
    session.update(ttl=timedelta(days=1))
    assert session.ttl == 86_400


@pytest.mark.parametrize("ttl", ["Ticket 4711", 600.0, True, None])
def test_another_lifetime_is_refused_before_it_is_sent(ttl: object):
    with pytest.raises(svc.InvalidRequestError, match="which is not a lifetime") as caught:
        Svc(UNKNOWN_KEY, "http://127.0.0.1:1").create_session(ttl)
    assert caught.value.param == "ttl"


def test_an_update_without_arguments_extends_the_session(start_service: StartService):
    now = [1_790_000_000.0]
    service = start_service(Echo, clock=lambda: now[0])
    with Svc(service.key, service.base_url) as client:
        session = client.create_session(600, "n")
        now[0] += 100
        session.update(name="m")
        assert session.expire_time == session.create_time + 600
        session.update()
        assert (session.expire_time, session.name) == (session.create_time + 700, "m")


def connections_of(service: ThreadService) -> int:
    return len(service.running.streams)


async def test_a_blocking_client_in_an_event_loop_closes_what_was_left_open(start_service: StartService):
    service = start_service(Echo)
    async with Svc(service.key, service.base_url) as client:
        turn = client.create_session().stream("hello")
        await anext(turn)
        assert connections_of(service) == 1
    with pytest.raises(StopAsyncIteration):
        await anext(turn)
    await asyncio.to_thread(wait_until, lambda: connections_of(service) == 0, "the stream to be closed")


async def test_an_asynchronous_client_closes_what_was_left_open(start_service: StartService):
    service = start_service(Echo)
    async with AsyncSvc(service.key, service.base_url) as client:
        turn = (await client.create_session()).stream("hello")
        await anext(turn)
    await asyncio.to_thread(wait_until, lambda: connections_of(service) == 0, "the stream to be closed")


async def test_a_program_says_that_it_is_this_sdk(proxy: FaultProxy, scripted_service: Config):
    sent: list[bytes] = []
    proxy.fault = lambda chunk: sent.append(chunk.data) or "pass"

    def ask() -> None:
        with Svc(scripted_service.api_key, proxy.base_url) as client:
            client.create_session().query("echo a")

    await asyncio.to_thread(ask)
    heads = [data for data in sent if re.match(rb"(GET|POST) (?!/proof)", data)]
    agents = {re.search(rb"(?im)^user-agent: (.*)\r$", data)[1].decode() for data in heads}
    assert len(heads) == 2
    assert len(agents) == 1
    assert re.fullmatch(r"svc-python/[\d.]+ Python/\d\S+ \(\w+\)", agents.pop())


def test_user_info_names_the_user_and_the_rights_of_the_key(client: Svc):
    session = client.create_session()

    info = client.get_user_info()

    assert (info.user.id, info.user.type, info.user.rpm) == ("local", svc.UserType.USER, 0)
    assert info.user.can_disable_logging
    assert [model.model_string for model in info.available_models] == ["svc-1.1", "svc-1.2-experimental"]
    assert session.session_id in [listed.id for listed in info.sessions]
