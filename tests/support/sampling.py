"""Which cases of a long list always run, and which only where time is no matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], keep: int) -> list[Any]:
    """The cases for ``parametrize``: ``keep`` of them, evenly spread, always run; the others are marked ``slow``."""
    every = list(cases)
    kept = {round(index * (len(every) - 1) / max(1, keep - 1)) for index in range(keep)}
    return [case if index in kept else _slow(case) for index, case in enumerate(every)]


def _slow(case: Any) -> Any:
    mark = pytest.mark.slow
    if hasattr(case, "marks"):  # a pytest.param with an id or marks of its own
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, mark])
    return pytest.param(*case, marks=mark) if isinstance(case, tuple) else pytest.param(case, marks=mark)
