"""Import nbformat without what no notebook needs.

nbformat imports jsonschema, which imports ``rfc3987_syntax`` if it is installed (JupyterLab brings it); that builds
a grammar of international addresses for 1.2 processor seconds, each time. No schema of notebooks has such an address.
"""

from __future__ import annotations

import importlib
import sys

_UNUSED = "rfc3987_syntax"


def import_nbformat() -> None:
    """Import it; only for a process of our own, since others may want to check such addresses."""
    if _UNUSED in sys.modules or "jsonschema" in sys.modules:
        return
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # the import system's word for "not there"
    try:
        importlib.import_module("nbformat")
    finally:
        del sys.modules[_UNUSED]
