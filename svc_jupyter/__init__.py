"""Ask from a notebook cell: ``%load_ext svc_jupyter``, then ``%%svc`` over a question. Uses svc's public names only.

Loading registers the magics and imports nothing else; the SDK is imported with the first question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%load_ext svc_jupyter`` calls."""
    from svc_jupyter.magics import SvcMagics
    from svc_jupyter.question_line import QuestionLine

    shell.register_magics(SvcMagics)
    transformers = shell.input_transformer_manager.token_transformers
    if QuestionLine not in transformers:
        transformers.append(QuestionLine)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%unload_ext svc_jupyter`` calls; the kernel's session lives on."""
    from svc_jupyter.question_line import QuestionLine

    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("svc", None)
    transformers = shell.input_transformer_manager.token_transformers
    if QuestionLine in transformers:
        transformers.remove(QuestionLine)
