"""What a decoder gives: a possible reading of a layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec


class Reading(msgspec.Struct, frozen=True):
    """What a decoder makes of its input.

    ``is_cut`` if there was more than MAX_LAYER_BYTES; ``rarity`` of a guess from 0 to 1.
    """

    name: str
    data: bytes
    is_strict: bool = True
    is_cut: bool = False
    rarity: float = 0.0


Decoder = Callable[[bytes, str | None], Iterator[Reading]]
