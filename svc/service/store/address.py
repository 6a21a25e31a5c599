"""The address of the service's database: a SQLite file, or PostgreSQL. Pure; a password is never part of its text.

A password comes from ``SVC_DATABASE_URL``, ``PGPASSWORD`` or a file (``SVC_DATABASE_PASSWORD_FILE``, ``PGPASSFILE``),
never from an option: other users of the machine see a process's options.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from svc.errors import ConfigError

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
_SECRETS = frozenset({"password", "sslpassword"})
_LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})


class PostgresAddress:
    """A ``postgresql://`` URL. Its text and its representation hide the user and what may be secret."""

    def __init__(self, url: str) -> None:
        """Raises ConfigError, which does not repeat the URL."""
        try:
            parts = urlsplit(url)
            query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        except ValueError:
            raise ConfigError(
                "the database URL is not valid; it must be like postgresql://USER@HOST:5432/DATABASE?sslmode=verify-full"
            ) from None
        user, _, hosts = parts.netloc.rpartition("@")
        self.url: str = url
        self.has_password: bool = ":" in user or not _SECRETS.isdisjoint(query)
        self.password: str | None = None  # from the environment or a file; None is that of the URL or of PGPASSFILE
        self._label = f"postgresql://{hosts or query.get('host', 'localhost')}{parts.path}"
        self.has_mode: bool = "target_session_attrs" in query
        names = [host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host for host in hosts.split(",")]
        is_local = all(name in _LOCAL_HOSTS for name in names if name) and not _is_elsewhere(query.get("host", ""))
        if not is_local and "sslmode" not in query:
            raise ConfigError(
                f"{self._label} is on another machine, and the URL does not say how the connection is protected. Add "
                "?sslmode=verify-full (TLS with the server's name checked), or ?sslmode=disable on a network of its own"
            )

    def take_password(self, environment: MutableMapping[str, str]) -> None:
        """Move a password out of the environment, which processes that read files inherit."""
        environment.pop("SVC_DATABASE_URL", None)
        given = environment.pop("PGPASSWORD", None)
        if self.password is None and not self.has_password:
            self.password = given

    def __str__(self) -> str:
        return self._label

    def __repr__(self) -> str:
        return f"PostgresAddress({self._label!r})"


def _is_elsewhere(host: str) -> bool:
    """Whether a ``host`` parameter names another machine; a path is the folder of a socket."""
    return any(one and not one.startswith("/") and one not in _LOCAL_HOSTS for one in host.split(","))


def url_of(database: Path | PostgresAddress) -> str:
    """The address as one may show it."""
    return f"{SQLITE}{database}" if isinstance(database, Path) else str(database)


def parse_address(address: str, *, is_visible: bool = False) -> Path | PostgresAddress:
    """The database of ``sqlite:///PATH`` (an absolute path has four slashes) or ``postgresql://…``; raises ConfigError.

    Args:
        address: The URL.
        is_visible: Whether it comes from the command line, where it may have no password.
    """
    if address.startswith(POSTGRES):
        found = PostgresAddress(address)
        if is_visible and found.has_password:
            raise ConfigError(
                "--database has a password, which other users of this machine see in the list of processes. Set the "
                "whole URL as SVC_DATABASE_URL instead, or leave the password out and name a file with PGPASSFILE. "
                "Change the password if others use this machine"
            )
        return found
    path = address.removeprefix(SQLITE)
    if path == address or not path:
        shown = address if "@" not in address else "…"  # no password of a mistyped URL
        raise ConfigError(
            f"--database {shown} is not valid; it must be sqlite:///PATH (such as sqlite:////var/lib/svc.db) or "
            "postgresql://USER@HOST/DATABASE"
        )
    return Path(path).resolve()  # two names of one database have one lock and one folder of files
