"""autodoc2's parser of our docstrings: reStructuredText with Google's sections (Args, Returns, Raises).

An indented block after a blank line is code, as in our docstrings; reStructuredText would take it for a quotation.
"""

from __future__ import annotations

import ast
import re
import textwrap

from docutils import nodes
from docutils.parsers.rst import Parser as RSTParser
from sphinx.ext.napoleon import Config, GoogleDocstring

_CONFIG = Config(napoleon_use_rtype=False)
_BLOCK = re.compile(r"(?<=\n\n)((?: {4}.*\n|\n(?= {4}))+)")


class Parser(RSTParser):
    """Mark code, turn the sections into field lists, and parse the text as reStructuredText."""

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the docstring into the document."""
        text = _BLOCK.sub(_as_code, f"{inputstring}\n")
        super().parse(str(GoogleDocstring(text, _CONFIG)), document)


def _as_code(block: re.Match[str]) -> str:
    language = "python" if _is_python(textwrap.dedent(block[1])) else "text"
    return f".. code-block:: {language}\n\n{block[1]}\n"


def _is_python(text: str) -> bool:
    try:
        compile(text, "", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return True
