"""The value of ``--files``: a folder, or a place in an object store. Pure; it never has a key in it.

Facts: docs/how_to/postgresql.md, "Attached files in an object store".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, cast, get_args

import msgspec

from svc.errors import ConfigError

Scheme = Literal["s3", "gs", "az"]
_FILE = "file://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_PREFIX = re.compile(r"[\w.=+-]+(?:/[\w.=+-]+)*", re.ASCII)
EXAMPLES = "file:///PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX"


class ObjectAddress(msgspec.Struct, frozen=True):
    """Where attached files are in an object store: Amazon's (``s3``), Google's (``gs``) or Azure's (``az``)."""

    scheme: Scheme
    bucket: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}{'/' if self.prefix else ''}{self.prefix}"


def parse_files(value: str) -> Path | ObjectAddress:
    """The folder or object store that ``--files`` names; raises ConfigError, which repeats no key of a mistyped one."""
    if value.startswith(f"{_FILE}/") and len(value) > len(_FILE) + 1:
        return Path(value.removeprefix(_FILE)).resolve()
    scheme, separator, rest = value.partition("://")
    if not separator or scheme not in get_args(Scheme):
        shown = f"{scheme[:20]}://…" if separator else value if re.fullmatch(r"[\w./-]{1,200}", value) else "…"
        raise ConfigError(f"--files {shown} is not valid; it must be {EXAMPLES}")
    if "@" in rest or "?" in rest or "#" in rest:
        raise ConfigError(
            f"--files {scheme}://… has more than a bucket and a prefix. It takes no keys and no options: keys come "
            "from the environment or from the machine's identity. If this was a key, change it: other users of this "
            "machine see the options of a process"
        )
    bucket, _, prefix = rest.partition("/")
    prefix = prefix.rstrip("/")
    if not _BUCKET.fullmatch(bucket):
        raise ConfigError(f"--files {scheme}://{bucket[:80]} names no bucket; it must be {EXAMPLES}")
    if prefix and (not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/"))):
        raise ConfigError(
            f"the prefix of --files {scheme}://{bucket}/… may have letters, digits and . _ = + - in each part, and no "
            "empty part"
        )
    return ObjectAddress(cast("Scheme", scheme), bucket, prefix)
