"""Answers that the magics displayed in the running cell. They also return them, so ``answer = %svc …`` works.

IPython displays what the last line of a cell returns; an answer that the cell has already shown is not shown again.
"""

from __future__ import annotations

_shown: list[object] = []


def add(answer: object) -> None:
    """Remember an answer that was just displayed."""
    _shown.append(answer)


def take(answer: object) -> bool:
    """Whether this very answer was displayed in this cell and not asked for since."""
    for index, one in enumerate(_shown):
        if one is answer:
            del _shown[index]
            return True
    return False


def clear(*_: object) -> None:
    """Forget all; the next cell displays an answer whenever it is asked to."""
    _shown.clear()
