"""Which model is configured, from the environment alone; the key in no text."""

import pytest
from rich.pretty import pretty_repr

from svc.assistant.model.configuration import Configuration, ModelLimits, configuration_from, describe, is_configured
from svc.errors import ConfigError
from svc.service.server.serve import default_assistant

MODEL = {"SVC_MODEL_URL": "http://127.0.0.1:11434/v1/", "SVC_MODEL_NAME": "tiny"}


def test_url_name_key_and_limits_come_from_the_environment():
    environment = MODEL | {"SVC_MODEL_KEY": "k" * 20, "SVC_MODEL_REQUESTS": "3", "SVC_MODEL_FALLBACK": "no"}
    assert configuration_from(environment) == Configuration(
        url="http://127.0.0.1:11434/v1", name="tiny", key="k" * 20, limits=ModelLimits(requests=3, fallback=False)
    )


def test_the_url_of_the_operation_is_accepted_as_the_base_url():
    environment = MODEL | {"SVC_MODEL_URL": "https://models.example/v1/chat/completions"}
    assert configuration_from(environment).url == "https://models.example/v1"


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        pytest.param(
            {"SVC_MODEL_URL": "http://a/v1"},
            "SVC_MODEL_URL is set, but SVC_MODEL_NAME is not; set both to use a model, or neither",
            id="a URL alone",
        ),
        pytest.param(
            {"SVC_MODEL_NAME": "tiny"},
            "SVC_MODEL_NAME is set, but SVC_MODEL_URL is not; set both to use a model, or neither",
            id="a name alone",
        ),
        pytest.param(
            MODEL | {"SVC_MODEL_URL": "models.example/v1"},
            "SVC_MODEL_URL is not an http(s) URL; it must look like http://127.0.0.1:11434/v1",
            id="no scheme",
        ),
        pytest.param(
            MODEL | {"SVC_MODEL_URL": "https://me:secret@models.example/v1"},
            "SVC_MODEL_URL must not contain a user, a query or a fragment; put the key into SVC_MODEL_KEY",
            id="a password in it",
        ),
        pytest.param(
            MODEL | {"SVC_MODEL_URL": "https://models.example/v1?key=secret"},
            "SVC_MODEL_URL must not contain a user, a query or a fragment; put the key into SVC_MODEL_KEY",
            id="a key in it",
        ),
        pytest.param(
            MODEL | {"SVC_MODEL_REQUESTS": "0"},
            "SVC_MODEL_REQUESTS='0' is not valid: it must be a whole number of at least 1",
            id="a limit that is too small",
        ),
        pytest.param(
            MODEL | {"SVC_MODEL_SECONDS": "nan"},
            "SVC_MODEL_SECONDS='nan' is not valid: it must be a number greater than 0",
            id="a limit that is no number",
        ),
        pytest.param({}, "no model is configured; set SVC_MODEL_URL and SVC_MODEL_NAME", id="nothing"),
    ],
)
def test_an_invalid_value_is_named_with_a_remedy(environment, text):
    with pytest.raises(ConfigError) as refused:
        configuration_from(environment)
    assert str(refused.value) == text


def test_the_key_is_in_no_text_of_a_configuration():
    made = configuration_from(MODEL | {"SVC_MODEL_KEY": "sk-very-secret"})
    assert "sk-very-secret" not in repr(made) + str(made) + pretty_repr(made) + f"{[made]}"
    assert "has_key=True" in repr(made)


@pytest.mark.parametrize(
    ("url", "key", "is_told"),
    [
        ("http://10.0.0.5/v1", "sk-secret", True),
        ("http://127.0.0.1/v1", "sk-secret", False),
        ("https://10.0.0.5/v1", "sk-secret", False),
        ("http://10.0.0.5/v1", "", False),
    ],
    ids=["beyond this machine", "this machine", "TLS", "no key"],
)
def test_a_key_sent_without_encryption_is_noticed(url, key, is_told):
    assert Configuration(url=url, name="tiny", key=key).sends_key_unencrypted is is_told


def test_a_service_asks_a_configured_model_and_otherwise_the_analyst():
    assert default_assistant(MODEL) == "svc.assistant.model:ModelAssistant"
    assert default_assistant({}) == "svc.assistant.analyst:Analyst"
    assert not is_configured({"SVC_MODEL_KEY": "k"})
    with pytest.raises(ConfigError):
        default_assistant({"SVC_MODEL_URL": "http://a/v1"})


def test_every_limit_is_a_variable_with_its_reason():
    rows = describe(ModelLimits(requests=3))
    assert [row.variable for row in rows] == [f"SVC_MODEL_{name.upper()}" for name in ModelLimits.__struct_fields__]
    assert all(row.description for row in rows)
    assert (rows[0].value, rows[0].default) == ("3", "12")
