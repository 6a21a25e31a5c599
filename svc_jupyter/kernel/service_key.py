"""The key of a service: the environment's, else the one that was typed in this kernel, else the system's key store's.

``%svc key`` asks for it in a field that shows nothing; it goes to the service and into the store, nowhere else. Without
the optional package ``keyring``, or a store that it can use, the key lives as long as the kernel.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from svc import DEFAULT_BASE_URL, Svc

STORE_NAME = "svc"  # the store files our keys under this; a key's user is the address of its service


@dataclass(frozen=True)
class Key:
    """A key that no traceback shows. ``text`` is empty where the SDK's own rules decide."""

    text: str = field(default="", repr=False)


def address(base_url: str | None) -> str | None:
    """The service that questions go to, None for the local one. ``base_url`` is the setting, which goes first."""
    found = base_url or os.environ.get("SVC_BASE_URL") or (DEFAULT_BASE_URL if os.environ.get("SVC_API_KEY") else None)
    return None if found in (None, "local") else str(found).rstrip("/")


def is_in_environment() -> bool:
    """Whether the environment brings a key, which goes before every other."""
    return bool(os.environ.get("SVC_API_KEY"))


def user_of(key: Key, base_url: str | None) -> str:
    """Whom the key belongs to, as the service says. Raises SvcError where it is no key of that service."""
    with Svc(key.text, base_url) as client:
        user = client.get_user_info().user
    return user.email or user.id


class KeyRing:
    """The keys that this kernel knows beside the environment's."""

    def __init__(self) -> None:
        self._typed: dict[str, Key] = {}

    def find(self, service: str) -> Key:
        """The service's key; an empty one where there is none. The environment's goes first, as in the SDK."""
        if environment := os.environ.get("SVC_API_KEY"):
            return Key(environment)
        if service not in self._typed:
            self._typed[service] = _load(service)
        return self._typed[service]

    def keep(self, service: str, key: Key) -> str:
        """Use the key from now on; returns where it is kept."""
        self._typed[service] = key
        return _save(service, key)

    def forget(self, service: str) -> bool:
        """Whether there was one, here or in the store."""
        was_typed = bool(self._typed.pop(service, Key()).text)
        return _delete(service) or was_typed


def _load(service: str) -> Key:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return Key()
    try:
        return Key(keyring.get_password(STORE_NAME, service) or "")
    except KeyringError:  # locked, or none on this machine: as if it held nothing
        return Key()


def _save(service: str, key: Key) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return 'this kernel alone, until it ends; `pip install "svc-jupyter[keyring]"` keeps it in the system\'s store'
    try:
        keyring.set_password(STORE_NAME, service, key.text)
    except KeyringError as error:
        return f"this kernel alone, until it ends: the system's key store cannot be used ({type(error).__name__})"
    return f"the system's key store ({keyring.get_keyring().name})"


def _delete(service: str) -> bool:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return False
    try:
        keyring.delete_password(STORE_NAME, service)
    except KeyringError:  # it held none
        return False
    return True
