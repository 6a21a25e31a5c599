"""Links to files outside of this folder lead to the repository on GitHub; pictures are copied from there."""

from __future__ import annotations

import posixpath
import re

from sphinx.application import Sphinx

REPOSITORY = "https://github.com/svc-jupyter/svc-jupyter/blob/main/"
_LINK = re.compile(r"\]\((\.\./[^)\s]+)\)")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", _rewrite)
    return {"parallel_read_safe": True}


def _rewrite(_app: Sphinx, docname: str, source: list[str]) -> None:
    folder = posixpath.dirname(f"docs/{docname}")

    def absolute(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        return link[0] if path.startswith("docs/") or path.endswith(".png") else f"]({REPOSITORY}{path})"

    source[0] = _LINK.sub(absolute, source[0])
