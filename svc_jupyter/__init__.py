"""Ask security questions from a notebook: ``%load_ext svc_jupyter``, then ``%%svc`` above a question.

Loading registers the magics and completion only; the SDK is imported with the first question.

- ``session`` asks from Python code: ``await session.ask("...")``.
- ``ChatPanel()`` shows the chat below a cell.
- ``@tool`` offers a function to the model; ``tools`` are the offered functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from svc_jupyter.kernel_tools.tools import tool, tools
    from svc_jupyter.notebook_session import NotebookSession
    from svc_jupyter.panel.widget import ChatPanel

    session: NotebookSession

__all__ = ["ChatPanel", "load_ipython_extension", "session", "tool", "tools", "unload_ipython_extension"]

_MATCHER = "svc"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics and completion (``%load_ext``). Does nothing if a panel has already loaded them.

    Args:
        shell: The shell in which ``%load_ext`` runs.
    """
    from svc_jupyter.trusted_imports import install, trusted

    install()
    with trusted():
        from svc_jupyter.magics.completion import matcher
        from svc_jupyter.magics.magics import SvcMagics
        from svc_jupyter.magics.question_line import QuestionLine

    if "SvcMagics" in shell.magics_manager.registry:
        return
    shell.register_magics(SvcMagics)
    shell.input_transformer_manager.token_transformers.append(QuestionLine)
    shell.Completer.custom_matchers.append(matcher(shell, lambda: shell.magics_manager.registry.get("SvcMagics")))
    _register_comm_target(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Unregister the magics and completion (``%unload_ext``). The kernel's session continues on the service.

    Args:
        shell: The shell in which ``%unload_ext`` runs.
    """
    from svc_jupyter.magics.question_line import QuestionLine

    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("svc", None)
    if (magics := shell.magics_manager.registry.pop("SvcMagics", None)) is not None:
        shell.configurables.remove(magics)  # otherwise %config would set the removed one
        magics.close()
    transformers = shell.input_transformer_manager.token_transformers
    if QuestionLine in transformers:
        transformers.remove(QuestionLine)
    matchers = shell.Completer.custom_matchers
    matchers[:] = [known for known in matchers if getattr(known, "matcher_identifier", "") != _MATCHER]


def _register_comm_target(shell: InteractiveShell) -> None:
    """Register the comm target, so that a page can open a comm while a cell runs: it is opened in a subshell."""
    if getattr(shell, "kernel", None) is None:
        return
    from comm import get_comm_manager

    def open_panel(comm: object, message: object) -> None:
        from svc_jupyter.trusted_imports import trusted

        with trusted():
            from svc_jupyter.panel import comm_target as panel_target  # imported with the first panel

        panel_target.opened(comm, message)  # type: ignore[arg-type]

    get_comm_manager().register_target("svc_jupyter", open_panel)


def __getattr__(name: str) -> object:
    from svc_jupyter.trusted_imports import install, trusted

    install()
    with trusted():
        return _lazy(name)


def _lazy(name: str) -> object:
    if name == "ChatPanel":
        from svc_jupyter.panel.widget import ChatPanel

        return ChatPanel
    if name in ("tool", "tools"):
        from svc_jupyter.kernel_tools import tools as kernel_tools

        return getattr(kernel_tools, name)
    if name != "session":
        raise AttributeError(f"module 'svc_jupyter' has no attribute {name!r}")
    from svc_jupyter.notebook_session import NotebookSession

    value = globals()["session"] = NotebookSession()
    return value
