"""What is known of a log after a part of it, as bytes for the process that reads the next part.

Only a worker makes such bytes, and only a worker of the same job opens them: each is as confined as the other, and the
service passes them on unopened. So pickle may be used here, and nowhere else.
"""

from __future__ import annotations

import pickle
import sys
from typing import cast

import msgspec

from svc.assistant.instruction_text.scan import Scanner
from svc.assistant.log_readers.parts import Part
from svc.assistant.workers.frames import PartPlan

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LEVEL = 1  # a state shrinks to a tenth at the least cost


class PartState(msgspec.Struct):
    """What the tool, the readers and the search for instructions know."""

    carried: dict[str, object]
    tool: object
    scanner: Scanner | None

    def packed(self) -> bytes:
        """Return it as bytes."""
        return zstd.compress(pickle.dumps((self.carried, self.tool, self.scanner), pickle.HIGHEST_PROTOCOL), _LEVEL)


def unpacked(data: bytes) -> PartState:
    """Return the state that a worker of the same job packed."""
    found = pickle.loads(zstd.decompress(data))  # noqa: S301 - see above
    return PartState(*cast("tuple[dict[str, object], object, Scanner | None]", found))


def part_for(plan: PartPlan | None, earlier: PartState | None) -> Part:
    """Return the part that a job reads: by default the whole log."""
    if plan is None:
        return Part()
    if earlier is None:
        return Part(plan.size)
    return Part(plan.start + plan.size, earlier.carried, earlier.tool)
