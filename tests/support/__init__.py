"""Shared test support: live services, scripted assistants, kernels and evidence generators."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The checkout."""

WIRE = ROOT / "tests" / "wire"
"""Golden transcripts and cases that Python and TypeScript read."""

ASSISTANTS = Path(__file__).parent / "assistants"
"""On PYTHONPATH, ``--assistant scripted:Echo`` names an assistant as a user names theirs."""

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
"""Whether a test can give a file to another user."""
