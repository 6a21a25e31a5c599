"""``Svc``: addresses, displayed properties and lifetime."""

from __future__ import annotations

import pytest

import svc
from svc import Svc
from svc.config import Config


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
    key = scripted_service.api_key[:-1] + ("a" if scripted_service.api_key[-1] != "a" else "b")
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


def test_user_info_names_the_user_and_the_rights_of_the_key(client: Svc):
    session = client.create_session()

    info = client.get_user_info()

    assert (info.user.id, info.user.type, info.user.rpm) == ("local", svc.UserType.USER, 0)
    assert info.user.can_disable_logging
    assert [model.model_string for model in info.available_models] == ["svc-1.1", "svc-1.2-experimental"]
    assert session.session_id in [listed.id for listed in info.sessions]
