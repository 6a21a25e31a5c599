"""Which service to talk to: the argument, then the environment, then the local service. Reads the environment, does no I/O.

Never looks for the local service (``svc.local`` does). Facts: the wire page, "Addresses and authentication" and "Around it".
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

DEFAULT_BASE_URL = "http://127.0.0.1:8460"  # where `svc serve` listens by default
DEFAULT_WS_URL = "ws://127.0.0.1:8460"


def state_folder() -> Path:
    """Where this user's local service and notebooks keep their state: ``SVC_STATE_DIR``, else the system's place for it.

    The folder may not exist yet.
    """
    return Path(os.environ.get("SVC_STATE_DIR") or platformdirs.user_state_dir("svc", appauthor=False))
