"""Limits and where they come from."""

from __future__ import annotations

import pytest

from svc.errors import ConfigError
from svc.messages import DEFAULT_TTL, MAX_CONTENT_BYTES, MAX_TTL, MIN_TTL
from svc.service.settings import Settings, settings_from


def test_the_defaults_are_those_of_the_sdk():
    settings = Settings()
    assert (settings.min_ttl_seconds, settings.max_ttl_seconds, settings.default_ttl_seconds) == (
        MIN_TTL, MAX_TTL, DEFAULT_TTL,
    )  # fmt: skip
    assert settings.max_content_bytes == MAX_CONTENT_BYTES
    assert (settings.max_attach_body_bytes, settings.max_upload_bytes) == (33_554_432, 1_073_741_824)


def test_the_environment_changes_what_it_names_and_ignores_the_rest():
    settings = settings_from(
        {
            "SVC_TURN_SECONDS": "60",
            "SVC_ALLOWED_ORIGINS": "https://a, https://b",
            "SVC_API_KEY": "x",
            "TURN_SECONDS": "1",
        }
    )
    assert settings == Settings(turn_seconds=60.0, allowed_origins=("https://a", "https://b"))


def test_empty_is_unset():
    assert settings_from({"SVC_TURN_SECONDS": " "}) == Settings()


@pytest.mark.parametrize("text", ["soon", "-1", "1e", "nan", "inf", "0x10"])
def test_a_value_that_is_no_number_of_0_or_more_is_named(text: str):
    with pytest.raises(ConfigError, match="SVC_MAX_SESSION_FILES"):
        settings_from({"SVC_MAX_SESSION_FILES": text})


def test_a_count_that_is_no_whole_number_is_refused():
    with pytest.raises(ConfigError, match=r"SVC_MAX_SESSION_FILES.*int"):
        settings_from({"SVC_MAX_SESSION_FILES": "1.5"})
