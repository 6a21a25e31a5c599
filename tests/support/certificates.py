"""The system's certificates, read once by the tests' HTTP clients: reading them takes a client 20 ms."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from functools import cache, wraps


def read_once(create: Callable[..., ssl.SSLContext]) -> Callable[..., ssl.SSLContext]:
    """``create_ssl_context`` of httpx or httpx2, called once for what the environment says about certificates."""

    @cache
    def default(trust_env: bool, *_environment: str | None) -> ssl.SSLContext:  # as it is called
        return create(trust_env=trust_env)

    @wraps(create)
    def shared(verify: object = True, cert: object = None, trust_env: bool = True) -> ssl.SSLContext:
        if verify is not True or cert is not None:
            return create(verify=verify, cert=cert, trust_env=trust_env)
        return default(trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    return shared
