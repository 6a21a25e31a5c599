"""Which service is meant, and what is refused before a key could go astray."""

# ruff: noqa: E501 - the tables have one row a case

from __future__ import annotations

from pathlib import Path

import pytest

from svc.config import DEFAULT_BASE_URL, DEFAULT_WS_URL, LOCAL, Config, is_loopback, resolve, state_folder
from svc.errors import ConfigError
from tests.support.made_keys import made_key

KEY = made_key("secret")
TEAM = "https://team.example.org"


def resolved(**given: str | None) -> Config:
    environ = {name: value for name, value in given.items() if name.startswith("SVC_") and value is not None}
    found = resolve(given.get("api_key"), given.get("base_url"), given.get("ws_url"), environ)
    assert isinstance(found, Config)
    return found


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        pytest.param((), {}, id="nothing"),
        pytest.param((None, "", None), {"SVC_API_KEY": "", "SVC_BASE_URL": ""}, id="empty-is-nothing"),
        pytest.param((None, "local"), {"SVC_API_KEY": KEY, "SVC_BASE_URL": TEAM}, id="named"),
        pytest.param((), {"SVC_BASE_URL": "local", "SVC_API_KEY": KEY}, id="named-by-the-environment"),
    ],
)
def test_the_local_service_is_the_default(arguments: tuple[str | None, ...], environ: dict[str, str]):
    assert resolve(*arguments, environ=environ) == LOCAL


@pytest.mark.parametrize(
    ("given", "base_url", "ws_url"),
    [
        pytest.param({"api_key": KEY}, DEFAULT_BASE_URL, DEFAULT_WS_URL, id="key-alone"),
        pytest.param({"api_key": KEY, "base_url": TEAM}, TEAM, "wss://team.example.org", id="ws-follows"),
        pytest.param({"api_key": KEY, "base_url": f"{TEAM}:444/svc/"}, f"{TEAM}:444/svc", "wss://team.example.org:444/svc", id="prefix"),
        pytest.param({"api_key": KEY, "base_url": TEAM, "ws_url": "wss://s.example.org/"}, TEAM, "wss://s.example.org", id="own-ws"),
        pytest.param({"SVC_API_KEY": f" {KEY}\n", "SVC_BASE_URL": TEAM, "SVC_WS_URL": "wss://s.example.org"}, TEAM, "wss://s.example.org", id="environment"),
        pytest.param({"SVC_API_KEY": KEY, "SVC_BASE_URL": TEAM, "SVC_WS_URL": "wss://s.example.org", "base_url": "https://other.example.org"}, "https://other.example.org", "wss://other.example.org", id="an-argument-never-mixes-with-the-environments-ws"),
        pytest.param({"api_key": KEY, "base_url": "http://localhost:8460"}, "http://localhost:8460", "ws://localhost:8460", id="http-on-loopback"),
        pytest.param({"api_key": KEY, "base_url": "http://[::1]:8460"}, "http://[::1]:8460", "ws://[::1]:8460", id="ipv6-loopback"),
        pytest.param({"api_key": KEY, "base_url": "HTTPS://Team.example.org"}, "HTTPS://Team.example.org", "wss://Team.example.org", id="capitals"),
    ],
)  # fmt: skip
def test_an_address_is_configured(given: dict[str, str], base_url: str, ws_url: str):
    config = resolved(**given)

    assert (config.base_url, config.ws_url, config.api_key) == (base_url, ws_url, KEY)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param({"base_url": TEAM}, r"'https://team.example.org' needs a key. Set SVC_API_KEY", id="no-key"),
        pytest.param({"api_key": KEY, "ws_url": "wss://a.example.org"}, "without base_url. Set base_url", id="ws-alone"),
        pytest.param({"SVC_WS_URL": "wss://a.example.org"}, "without base_url", id="ws-alone-in-the-environment"),
        pytest.param({"api_key": KEY, "base_url": "http://team.example.org"}, "unencrypted.*Use https://", id="plain-http"),
        pytest.param({"api_key": KEY, "base_url": "http://127.0.0.1.example.org"}, "unencrypted", id="looks-like-loopback"),
        pytest.param({"api_key": KEY, "base_url": TEAM, "ws_url": "ws://team.example.org"}, "ws_url.*unencrypted.*Use wss", id="plain-ws"),
        pytest.param({"api_key": KEY, "base_url": "team.example.org"}, "not a URL.*https://svc.example.org", id="no-scheme"),
        pytest.param({"api_key": KEY, "base_url": "ftp://team.example.org"}, "must start with https://", id="scheme"),
        pytest.param({"api_key": KEY, "base_url": TEAM, "ws_url": TEAM}, "ws_url.*must start with wss://", id="http-for-ws"),
        pytest.param({"api_key": KEY, "base_url": "https://"}, "no valid host", id="no-host"),
        pytest.param({"api_key": KEY, "base_url": "https://a:99999"}, "is not a valid URL. Check its host and port", id="port"),
        pytest.param({"api_key": KEY, "base_url": "https://a b.example.org"}, "no valid host", id="space"),
        pytest.param({"api_key": KEY, "base_url": "https://u:pw9@a.example.org"}, "password, a query.*SVC_API_KEY", id="password"),
        pytest.param({"api_key": KEY, "base_url": "https://a.example.org?key=pw9"}, "password, a query", id="query"),
        pytest.param({"api_key": TEAM, "base_url": KEY}, "not a URL.*looks like a key", id="swapped"),
        pytest.param({"api_key": TEAM}, "api_key is a URL", id="address-for-key"),
        pytest.param({"api_key": "svc_se cret", "base_url": TEAM}, "spaces or invalid characters", id="broken-key"),
        pytest.param({"api_key": "svc_secret\r\nX: y", "base_url": TEAM}, "spaces or invalid characters", id="header-injection"),
        pytest.param({"api_key": KEY, "base_url": "local"}, "uses its own key", id="key-for-local"),
    ],
)  # fmt: skip
def test_an_invalid_configuration_says_what_to_do(given: dict[str, str], text: str):
    with pytest.raises(ConfigError, match=text) as caught:
        resolved(**given)

    assert "secret" not in str(caught.value)
    assert "pw9" not in str(caught.value)


def test_a_config_never_shows_its_key():
    assert "secret" not in repr(resolved(api_key=KEY, base_url=TEAM))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST.", "a.localhost"])
def test_loopback_addresses_are_recognised(host: str):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "10.0.0.1", "0.0.0.0", "localhost.example.org", "127.0.0.1.nip.io", "2130706433"])
def test_uncertain_addresses_are_not_loopback(host: str):
    assert not is_loopback(host)


def test_a_certificate_bundle_is_taken_from_the_environment():
    assert resolved(api_key=KEY, base_url=TEAM, SVC_CA_BUNDLE="/etc/own.pem").ca_file == Path("/etc/own.pem")


def test_the_state_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path))

    assert state_folder() == tmp_path
