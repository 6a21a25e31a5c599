"""The command does not wait for what no notebook needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
from svc_jupyter.report.quick_import import import_nbformat
import_nbformat()
import nbformat
nbformat.validate(nbformat.v4.new_notebook())
print("imported")
import rfc3987_syntax
"""


def test_the_grammar_of_addresses_is_not_built_and_can_be_had_later(tmp_path: Path):
    (tmp_path / "rfc3987_syntax.py").write_text("print('built')\ndef is_valid_syntax(*_): return True")

    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "imported\nbuilt\n"
