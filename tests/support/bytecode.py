"""Bytecode of the checkout where ``PYTHONDONTWRITEBYTECODE`` is set, as it is in many containers.

A run starts hundreds of processes. Without bytecode each would compile the package again, which takes longer than all
else that a service does at its start; and pytest would rewrite the assertions of all files in each of its processes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def keep_bytecode(folder: Path) -> None:
    """Write bytecode to this folder, and not beside the sources: in this process and in those that it starts."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(folder)
