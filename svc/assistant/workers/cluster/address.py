"""The address of a cluster as ``svc serve --tools`` has it."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from svc.errors import ConfigError

_SCHEMES = {"dask": "tcp", "dask+tls": "tls"}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ClusterAddress(msgspec.Struct, frozen=True):
    """Where a scheduler listens, as dask writes it: ``tcp://HOST:PORT`` or ``tls://HOST:PORT``."""

    url: str

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Read ``dask://HOST:PORT`` or ``dask+tls://HOST:PORT``; raises ConfigError."""
        try:
            parts = urlsplit(text)
            is_valid = parts.scheme in _SCHEMES and parts.hostname and parts.port and "@" not in parts.netloc
        except ValueError:  # a port that is no number
            is_valid = False
        if not is_valid or parts.path.strip("/") or parts.query or parts.fragment:
            raise ConfigError(f"--tools {text} is not valid; write dask://HOST:PORT, or dask+tls://HOST:PORT with TLS")
        return cls(f"{_SCHEMES[parts.scheme]}://{parts.netloc}")

    @property
    def is_exposed(self) -> bool:
        """Whether findings and names cross a network unencrypted."""
        return self.url.startswith("tcp:") and urlsplit(self.url).hostname not in _LOOPBACK
