"""``await session.ask(…)``: ask in the kernel's session from Python code in a cell.

It uses the same session, settings, live area and errors as ``%svc``. Interrupting the cell, or cancelling the task,
cancels the turn; how: docs/notebook.md, "Running a stream inside a cell", point 4.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython

from svc_jupyter import attachments
from svc_jupyter.errors import AskError
from svc_jupyter.trusted_imports import trusted
from svc_jupyter.turn_end import AskCancelled, AskInterrupted, reporting_outcome

if TYPE_CHECKING:
    from svc_jupyter.answers.answer import Answer
    from svc_jupyter.magics.magics import SvcMagics
    from svc_jupyter.question import AskOptions

Attached = Sequence[str | os.PathLike[str]] | Mapping[str, object]


class NotebookSession:
    """The kernel's session for Python code: ``from svc_jupyter import session``."""

    async def ask(
        self,
        question: str,
        *,
        attach: Attached = (),
        all_files: bool = False,
        new: bool = False,
        model: str | None = None,
        timeout_seconds: float | None = None,
    ) -> Answer:
        """Ask a question and show its progress below the cell. Concurrent questions run one after the other.

        Args:
            question: The question.
            attach: Paths of files, or names with values: DataFrame, list, dict, bytes, str or path.
            all_files: Ask about all files of the session, not only those of ``attach``.
            new: Ask in a new session.
            model: As ``--model``; a different model than the session's starts a new session.
            timeout_seconds: Cancel the turn after this time; None uses the setting ``timeout``.

        Returns:
            The answer. As a cell's last value it displays itself.

        Raises:
            AskError: There is no answer; its text says why.
            AskCancelled: The cell was interrupted, or the task cancelled.
        """
        with trusted():
            magics = _magics()
            ask_options = replace(magics.ask_options(is_new=new, model=model), is_about_all=all_files)
            try:
                return await self._ask(magics, question, attach, ask_options, timeout_seconds or magics.timeout)
            except (AskInterrupted, AskCancelled) as interrupted:
                self._show_partial(interrupted.partial_answer)
                raise

    async def _ask(
        self, magics: SvcMagics, question: str, attach: Attached, ask_options: AskOptions, limit: float | None
    ) -> Answer:
        files = _files(attach)
        area = magics.area()
        area.tick()
        with reporting_outcome(area):
            if (
                getattr(magics.shell, "kernel", None) is None
            ):  # in a terminal, an interrupt does not reach a waiting coroutine
                return magics.kernel.ask(question, files, ask_options, area, limit)
            return await magics.kernel.ask_async(question, files, ask_options, area, limit)

    def _show_partial(self, answer: Answer | None) -> None:
        if answer is not None:
            from IPython.display import display

            display(answer)


def _files(attach: Attached) -> list[attachments.Attached]:
    if isinstance(attach, Mapping):
        return [attachments.from_variable(name, value) for name, value in attach.items()]
    if isinstance(attach, str):
        raise AskError(
            f"attach takes a list or a dict: attach=[{attach!r}] for a file, attach={{'name': value}} for a value."
        )
    names = [os.fspath(path) for path in attach]
    return attachments.find([f"./{name}" if name.startswith("{") else name for name in names], {})


def _magics() -> SvcMagics:
    """Return the extension; load it if it is not loaded yet."""
    shell = get_ipython()
    if shell is None:
        raise AskError(
            "session.ask works in notebooks and IPython. Elsewhere, use svc.Svc().create_session().query(...)"
        )
    shell.extension_manager.load_extension("svc_jupyter")
    magics: SvcMagics = shell.magics_manager.registry["SvcMagics"]
    return magics
