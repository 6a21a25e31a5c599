"""Which notebook a kernel runs for, as its front end says; a kernel cannot know it otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_JUPYTER = "JPY_SESSION_NAME"  # set by Jupyter Server for the kernels that it starts
_VS_CODE = "__vsc_ipynb_file__"  # a variable that VS Code sets in the user's namespace
_ENDING = ".ipynb"


def find_notebook(environment: Mapping[str, str], names: Mapping[str, object]) -> Path | None:
    """Return the path of the notebook, or None if the front end does not say.

    Args:
        environment: The kernel's environment.
        names: The user's namespace.
    """
    for value in (names.get(_VS_CODE), environment.get(_JUPYTER)):
        if isinstance(value, str) and value.endswith(_ENDING) and "\0" not in value:
            path = Path(value)
            return path if path.is_absolute() else Path.cwd() / path.name  # it is relative to a folder of the server
    return None
