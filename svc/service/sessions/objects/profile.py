"""The keys of a profile in Amazon's shared files, which ``obstore`` does not read.

Only keys that are written there: what needs a program, a browser or another role has to be put into the environment.
Facts: "Configuration and credential file settings" of the AWS CLI's documentation.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path

from svc.errors import ConfigError

_KEYS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint",
}
_ELSEWHERE = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_GIVEN = {"region": ("AWS_REGION", "AWS_DEFAULT_REGION"), "endpoint": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")}


def profile_options(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """The options of ``obstore`` that the chosen profile sets; none if the keys come from elsewhere.

    It is the one that AWS_PROFILE names, else ``default``, unless the environment says where keys are.

    Raises:
        ConfigError: The profile that AWS_PROFILE names is missing, or has no keys in it.
    """
    named = environment.get("AWS_PROFILE", "")
    if not named and any(environment.get(name) for name in _ELSEWHERE):
        return {}
    name = named or "default"
    shared = _read(environment.get("AWS_SHARED_CREDENTIALS_FILE") or home / ".aws" / "credentials")
    config = _read(environment.get("AWS_CONFIG_FILE") or home / ".aws" / "config")
    found = {**config.get("default" if name == "default" else f"profile {name}", {}), **shared.get(name, {})}
    options = {option: found[key] for key, option in _KEYS.items() if found.get(key)}
    if "access_key_id" in options and "secret_access_key" in options:
        return {
            option: value for option, value in options.items() if not any(map(environment.get, _GIVEN.get(option, ())))
        }
    if not named:
        return {}
    what = "has no keys in it" if found else "is not in the files of profiles"
    raise ConfigError(
        f"the profile of AWS_PROFILE {what}. Profiles with keys are read. For one with a role, single sign-on or a "
        'program, run: eval "$(aws configure export-credentials --format env)", and unset AWS_PROFILE'
    )


def _read(file: str | Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(Path(file).expanduser().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, configparser.Error) as error:
        raise ConfigError(f"{file} cannot be read: {type(error).__name__}") from None  # the cause may repeat a key
    return {name: dict(parser.items(name)) for name in parser.sections()}
