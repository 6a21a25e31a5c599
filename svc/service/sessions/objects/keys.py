"""The keys of object stores in the environment: they stay there only until the service has read them.

The processes that read attached files inherit the environment. Names: the documentation of the three providers, and of
``object_store``, which reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping

_FAMILIES = ("AWS_", "AZURE_", "GOOGLE_", "MSI_", "IDENTITY_")
_SECRET = re.compile(r"SECRET|TOKEN|KEY|SAS|PASSWORD|CONNECTION_STRING|IDENTITY_HEADER")
_PLACE = re.compile(r"_(?:FILE|PATH|URI|URL|ENDPOINT)\Z")  # where a secret is, not the secret


def secret_variables(environment: Mapping[str, str]) -> list[str]:
    """The variables that hold a key, or a part of one."""
    return [
        name
        for name in environment
        if name.upper().startswith(_FAMILIES) and _SECRET.search(name.upper()) and not _PLACE.search(name.upper())
    ]


def drop_secrets(environment: MutableMapping[str, str]) -> None:
    """Remove them, after the store has read them."""
    for name in secret_variables(environment):
        del environment[name]
