"""The example notebooks, which are outside this folder, become pages of the tutorials, with the outputs they have."""

from __future__ import annotations

import json
from pathlib import Path

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", _copy)
    return {"parallel_read_safe": True}


def _copy(app: Sphinx) -> None:
    source, target = Path(app.srcdir).parent / "notebooks", Path(app.srcdir) / "tutorials"
    for path in source.glob("*.ipynb"):
        notebook = json.loads(path.read_text("utf-8"))
        notebook["metadata"]["language_info"]["pygments_lexer"] = "ipython3"  # without a kernel nobody else says it
        _write_changed(target / path.name, json.dumps(notebook, ensure_ascii=False).encode())


def _write_changed(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:  # a new date would build the page again
        path.write_bytes(content)
