"""Limits and their sources."""

from __future__ import annotations

import pytest

from svc.errors import ConfigError
from svc.messages import DEFAULT_TTL, MAX_CONTENT_BYTES, MAX_TTL, MIN_TTL
from svc.service.settings import Settings, describe, settings_from


def test_the_defaults_are_those_of_the_sdk():
    settings = Settings()
    assert (settings.min_ttl_seconds, settings.max_ttl_seconds, settings.default_ttl_seconds) == (
        MIN_TTL, MAX_TTL, DEFAULT_TTL,
    )  # fmt: skip
    assert settings.max_content_bytes == MAX_CONTENT_BYTES
    assert (settings.max_attach_body_bytes, settings.max_upload_bytes) == (33_554_432, 1_073_741_824)


def test_the_environment_overrides_named_settings_and_ignores_the_rest():
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
def test_a_value_that_is_not_a_non_negative_number_is_named(text: str):
    with pytest.raises(ConfigError, match="SVC_MAX_SESSION_FILES"):
        settings_from({"SVC_MAX_SESSION_FILES": text})


def test_a_count_that_is_not_a_whole_number_is_rejected():
    with pytest.raises(
        ConfigError, match=r"SVC_MAX_SESSION_FILES='1\.5' is not valid: it must be a whole number of at least 0"
    ):
        settings_from({"SVC_MAX_SESSION_FILES": "1.5"})


def test_a_number_is_accepted_in_the_format_in_which_it_is_shown():
    shown = {row.variable: row.value for row in describe(Settings(max_ttl_seconds=5_184_000, turn_seconds=2_400.5))}
    assert shown["SVC_MAX_TTL_SECONDS"] == "5,184,000"
    assert settings_from(shown) == Settings(max_ttl_seconds=5_184_000, turn_seconds=2_400.5)


@pytest.mark.parametrize("text", ["1,2", "1,0000", "1,000,00", ",100", "1,,000"])
def test_misplaced_commas_are_rejected(text: str):
    with pytest.raises(ConfigError, match="it must be a whole number"):
        settings_from({"SVC_MAX_TTL_SECONDS": text})


def test_a_switch_is_yes_or_no():
    assert settings_from({"SVC_METRICS": "On"}).metrics
    with pytest.raises(ConfigError, match="SVC_METRICS='maybe' is not valid: it must be yes or no"):
        settings_from({"SVC_METRICS": "maybe"})


def test_an_error_names_the_option_that_was_given():
    with pytest.raises(ConfigError, match="--turn-seconds='soon' is not valid: it must be a number greater than 0"):
        settings_from({"SVC_TURN_SECONDS": "60"}, {"turn_seconds": "soon"})


@pytest.mark.parametrize(("text", "workers"), [("3", 3), ("spawn", "spawn"), (" forkserver ", "forkserver"), ("", 0)])
def test_workers_are_a_count_or_a_way_to_start(text: str, workers: int | str):
    chosen = settings_from({"SVC_WORKERS": text})
    assert chosen.workers == workers
    assert settings_from({row.variable: row.value for row in describe(chosen)}) == chosen


@pytest.mark.parametrize("text", ["fork", "Spawn", "4,spawn", "257", "-1", "thread"])
def test_another_way_to_start_workers_is_rejected(text: str):
    with pytest.raises(
        ConfigError, match=r"it must be a whole number from 0 to 256 or (forkserver or spawn|spawn or forkserver)"
    ):
        settings_from({"SVC_WORKERS": text})
