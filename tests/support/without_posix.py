"""A plug-in of pytest: the whole suite as on a platform without POSIX, as far as Linux can simulate it.

    SVC_WORKERS=spawn python -m pytest -p tests.support.without_posix

Tests about a mechanism of POSIX have the mark ``posix`` and are skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_FOLDER = str(Path(__file__).resolve().parent / "posix_blocked")


def _block() -> None:
    sys.path.insert(0, _FOLDER)
    try:
        import posix_block  # type: ignore[import-not-found]  # from the folder that subprocesses get
    finally:
        sys.path.remove(_FOLDER)
    posix_block.block()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is about POSIX itself."""
    for item in items:
        for mark in item.iter_markers("posix"):
            item.add_marker(pytest.mark.skip(reason=f"about POSIX: {mark.args[0]}"))


_block()
