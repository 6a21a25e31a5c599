"""The system's certificates, read once by the tests' HTTP clients: reading them takes a client 20 ms."""

from __future__ import annotations

import os
import ssl
from functools import cache

import httpx2


def shared_context(
    verify: ssl.SSLContext | str | bool = True,
    cert: object = None,
    trust_env: bool = True,  # as httpx2 calls it
) -> ssl.SSLContext:
    """What ``httpx2.create_ssl_context`` returns, made once for what the environment says about certificates."""
    if verify is not True or cert is not None:
        return httpx2.create_ssl_context(verify, cert, trust_env)
    return _read(trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _read(trust_env: bool, *_environment: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=trust_env)
