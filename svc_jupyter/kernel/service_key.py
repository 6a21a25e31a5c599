"""The API key of a service: from the environment, from ``%svc key`` in this kernel, or from the system's keyring.

``%svc key`` prompts for it without echo and sends it to the service and the keyring only. Without the optional package
``keyring``, or a keyring that it can use, the key is kept until the kernel ends.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from svc import DEFAULT_BASE_URL, Svc

STORE_NAME = "svc"  # the keyring's service name; the user name is the address of the service


@dataclass(frozen=True)
class Key:
    """An API key whose repr does not show it. ``text`` is empty if the SDK should choose."""

    text: str = field(default="", repr=False)


def address(base_url: str | None) -> str | None:
    """Return the service's address, or None for the local one. The setting ``base_url`` takes precedence."""
    found = base_url or os.environ.get("SVC_BASE_URL") or (DEFAULT_BASE_URL if os.environ.get("SVC_API_KEY") else None)
    return None if found in (None, "local") else str(found).rstrip("/")


def is_in_environment() -> bool:
    """Whether the environment sets a key, which takes precedence."""
    return bool(os.environ.get("SVC_API_KEY"))


def user_of(key: Key, base_url: str | None) -> str:
    """Ask the service who owns the key. Raises SvcError if the service rejects it."""
    with Svc(key.text, base_url) as client:
        user = client.get_user_info().user
    return user.email or user.id


class KeyRing:
    """The keys of this kernel, by service."""

    def __init__(self) -> None:
        self._entered: dict[str, Key] = {}

    def find(self, service: str) -> Key:
        """Return the service's key, or an empty one. The environment takes precedence, as in the SDK."""
        if environment := os.environ.get("SVC_API_KEY"):
            return Key(environment)
        if service not in self._entered:
            self._entered[service] = _load(service)
        return self._entered[service]

    def keep(self, service: str, key: Key) -> str:
        """Use the key from now on, save it, and return the place as text for the user."""
        self._entered[service] = key
        return _save(service, key)

    def forget(self, service: str) -> bool:
        """Delete the key here and in the keyring. Returns whether there was one."""
        was_entered = bool(self._entered.pop(service, Key()).text)
        return _delete(service) or was_entered


def _load(service: str) -> Key:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return Key()
    try:
        return Key(keyring.get_password(STORE_NAME, service) or "")
    except KeyringError:  # locked or missing: treated as empty
        return Key()


def _save(service: str, key: Key) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return 'this kernel only, until it ends; `pip install "svc-jupyter[keyring]"` saves it in the system keyring'
    try:
        keyring.set_password(STORE_NAME, service, key.text)
    except KeyringError as error:
        return f"this kernel only, until it ends: the system keyring is not available ({type(error).__name__})"
    return f"the system keyring ({keyring.get_keyring().name})"


def _delete(service: str) -> bool:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return False
    try:
        keyring.delete_password(STORE_NAME, service)
    except KeyringError:  # it had none
        return False
    return True
