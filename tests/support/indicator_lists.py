"""Lists of different indicators of nine types, one per line, and what must be found in them."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

Truth = set[tuple[str, str]]
"""Type and value of each indicator, as findings name them."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ENDINGS = ("com", "net", "org", "info", "ru", "cn", "biz", "io")
_HASHES = {"md5": 32, "sha1": 40, "sha256": 64}


def indicator_list(count: int, seed: int = 1) -> tuple[str, Truth]:
    """The text of a list of ``count`` indicators, and the indicators. A seed gives the same list again."""
    draw = random.Random(seed)  # test data
    makers = _makers(draw)
    kinds = list(makers)
    found: dict[tuple[str, str], None] = {}
    while len(found) < count:
        kind = kinds[len(found) % len(kinds)]
        found[kind, makers[kind]()] = None
    return "".join(f"{value}\n" for _, value in found), set(found)


def _makers(draw: random.Random) -> dict[str, Callable[[], str]]:
    def word(length: int) -> str:
        return "".join(draw.choices(_LETTERS, k=length))

    def host(length: int) -> str:
        return f"{word(length)}.{draw.choice(_ENDINGS)}"

    def digits(count: int) -> str:
        return f"{draw.getrandbits(4 * count):0{count}x}"

    def address() -> str:
        rest = (draw.randrange(256), draw.randrange(256), draw.randrange(1, 255))
        return ".".join(map(str, (draw.choice((23, 45, 91, 101, 185)), *rest)))

    return {
        "ipv4": address,
        "domain": lambda: host(9),
        "url": lambda: f"http://{host(8)}/{word(5)}/{word(6)}",
        **{kind: partial(digits, count) for kind, count in _HASHES.items()},
        "email": lambda: f"{word(7)}@{host(8)}",
        "cve": lambda: f"CVE-{draw.randrange(1999, 2026)}-{draw.randrange(1_000, 999_999)}",
        "file_name": lambda: f"{word(10)}.exe",
    }
