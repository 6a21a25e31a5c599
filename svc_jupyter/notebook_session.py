"""``session.ask`` for cells that are Python: the kernel's one session, awaited at a cell's top level.

It is the session that ``%svc`` asks in, with the same settings, live area and errors. An interrupt of the cell cancels
the turn, and a cancelled task does. Facts: docs/notebook.md, "Running a stream inside a cell", point 4.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython

from svc_jupyter import attachments
from svc_jupyter.errors import AskError
from svc_jupyter.turn_end import reporting_outcome

if TYPE_CHECKING:
    from svc_jupyter.answers.answer import Answer
    from svc_jupyter.magics.magics import SvcMagics

Attached = Sequence[str | os.PathLike[str]] | Mapping[str, object]


class NotebookSession:
    """``from svc_jupyter import session``: usable in every notebook and in IPython."""

    async def ask(
        self,
        question: str,
        *,
        attach: Attached = (),
        new: bool = False,
        model: str | None = None,
        timeout_seconds: float | None = None,
    ) -> Answer:
        """Ask, and show the steps below the cell; the answer shows itself where it is the cell's last value.

        ``attach`` names files, or maps names to values (DataFrame, list, dict, bytes, str, path). Several questions at
        once wait for each other: they share the session. Raises AskError; AskCancelled after an interrupt.
        """
        magics = _magics()
        files = _files(attach)
        ask_options, limit = magics.ask_options(is_new=new, model=model), timeout_seconds or magics.timeout
        area = magics.area()
        area.tick()
        with reporting_outcome(area):
            if getattr(magics.shell, "kernel", None) is None:  # a terminal's interrupt reaches no coroutine that waits
                return magics.kernel.ask(question, files, ask_options, area, limit)
            return await magics.kernel.ask_here(question, files, ask_options, area, limit)


def _files(attach: Attached) -> list[attachments.Attachment]:
    if isinstance(attach, Mapping):
        return [attachments.from_value(name, value) for name, value in attach.items()]
    if isinstance(attach, str):
        raise AskError(f"attach takes several: attach=[{attach!r}] for a file, attach={{'name': value}} for a value.")
    names = [os.fspath(path) for path in attach]
    return attachments.find([f"./{name}" if name.startswith("{") else name for name in names], {})


def _magics() -> SvcMagics:
    """The loaded extension; it is loaded where it is not."""
    shell = get_ipython()
    if shell is None:
        raise AskError("session.ask is for notebooks and IPython. Elsewhere: svc.Svc().create_session().query(...)")
    shell.extension_manager.load_extension("svc_jupyter")
    magics: SvcMagics = shell.magics_manager.registry["SvcMagics"]
    return magics
