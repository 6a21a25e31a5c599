"""Write the reference pages that follow from the code into ``reference/generated`` before each build.

They are not in git: nobody can forget to write them again. Each module has a function ``page``.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from reference_pages import command_line, magics, python, rules, settings, typescript

PAGES = {
    "command_line": command_line.page,
    "magics": magics.page,
    "python": python.page,
    "rules": rules.page,
    "settings": settings.page,
    "typescript": typescript.page,
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", _write)
    app.add_directive("public-object", python.PublicObject)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path, text = folder / f"{name}.md", page()
        if not path.exists() or path.read_text("utf-8") != text:  # a new date would build the page again
            path.write_text(text, "utf-8")
