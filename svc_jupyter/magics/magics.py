"""``%svc`` and ``%%svc``: parse, ask once, show. Reads options and the user's variables; ``kernel.py`` runs the turn.

Facts: docs/notebook.md, "What a cell shows and raises". The SDK is imported with the first question.
"""

from __future__ import annotations

import sys
import time
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from traitlets import Bool, CFloat, Int, List, Unicode

from svc_jupyter.magics.options import OPTIONS, braced_names, fill, parse

if TYPE_CHECKING:
    from svc_jupyter.answers.answer import Answer
    from svc_jupyter.kernel.kernel import KernelSession
    from svc_jupyter.magics.commands import Command
    from svc_jupyter.magics.live_output import LiveArea
    from svc_jupyter.magics.options import CommandLine
    from svc_jupyter.question import AskOptions

Method = Callable[..., None]


def _with_options(method: Method) -> Method:
    """The magic's help, made from the table of options."""
    for option in reversed(OPTIONS):
        form = {"metavar": option.metavar} if option.metavar else {"action": "store_true"}
        method = argument(option.name, help=option.help, **form)(method)
    documented: Method = magic_arguments(name="svc")(method)
    return documented


@magics_class
class SvcMagics(Magics):
    """Ask the security analyst from a cell. Settings: ``%config SvcMagics.NAME = VALUE``, or ipython_config.py."""

    base_url = Unicode(
        None, allow_none=True, help="Address of the service; None: SVC_BASE_URL, else the local one. Its key: %svc key."
    ).tag(config=True)
    model = Unicode(None, allow_none=True, help="Model of new sessions: stable, experimental or an id.").tag(
        config=True
    )
    language = Unicode("en", help="Language of new sessions, a BCP 47 tag.").tag(config=True)
    ttl = Int(86_400, help="Seconds that a session lives without use, 300 to 2,592,000.").tag(config=True)
    log_session = Bool(
        default_value=True, help="Whether the service may keep new sessions on disk, where the key leaves it."
    ).tag(config=True)
    timeout = CFloat(None, allow_none=True, help="Seconds after which a turn is cancelled; None: no limit.").tag(
        config=True
    )
    allow_tools = List(
        Unicode(), help="Tools of this kernel (@svc_jupyter.tool) that are called without asking, by name."
    ).tag(config=True)
    live_lines = Int(8, min=1, help="Steps that the live area shows while a turn runs.").tag(config=True)

    _kernel: KernelSession | None = None

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.front_end_settings: dict[str, object] = {}  # what a front end set, where the user has not

    @_with_options
    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def svc(self, line: str, cell: str | None = None, local_ns: Mapping[str, object] | None = None) -> None:
        """Ask a security question, with the evidence attached.

        The question is the cell below %%svc, or the rest of the %svc line, to the letter: braces, quotes, $ and
        backslashes are text. Options stand before it; -- ends them.

            %%svc --attach /var/log/auth.log --into answer
            Which accounts were brute-forced, and did anyone get in?

            %svc what does this do? powershell -enc SQBFAFgA
            %svc --attach {frame} which of these logins are unusual?
            %svc --fill is {address} in the log?

        Each kernel has one session: a question knows the ones before. Interrupting the cell cancels the turn.

        A line that is one of these, whole, is a command; any other is a question:

            %svc session [show]             %svc session rename NAME      %svc files
            %svc session list               %svc session extend [2h]      %svc history [NUMBER]
            %svc session new [NAME]         %svc session delete           %svc model [NAME]
            %svc session resume ID            %svc panel                  %svc key [delete]

        In Python: from svc_jupyter import session; answer = await session.ask("...", attach=["auth.log"])
        """
        if cell is None and (command := _command(line)) is not None:
            self._run(command)
            return
        ask = parse(line, cell)
        if ask.is_help:
            self._help()
            return
        answer = self._answer(ask, ChainMap(dict(local_ns or {}), self.shell.user_ns))
        _show(answer, in_cell_below=ask.is_cell)
        if ask.into is not None:
            self.shell.push({ask.into: answer})

    @property
    def kernel(self) -> KernelSession:
        """What asks; made with the first question."""
        from svc_jupyter.kernel.kernel import KernelSession

        if self._kernel is None:
            self._kernel = KernelSession(_kernel_id(self.shell))
        return self._kernel

    @property
    def known_kernel(self) -> KernelSession | None:
        """What asks, where it was made already."""
        return self._kernel

    def close(self) -> None:
        """Close idle connections; the session lives on."""
        if self._kernel is not None:
            self._kernel.close()

    @property
    def is_batch(self) -> bool:
        """Whether nobody can answer a prompt: nbclient, papermill, nbval."""
        kernel = getattr(self.shell, "kernel", None)
        return kernel is not None and not getattr(kernel, "_allow_stdin", True)

    def area(self) -> LiveArea:
        """A live area below the cell that runs."""
        from svc_jupyter.magics.live_output import BatchScreen, LiveArea, NotebookScreen, TerminalScreen

        if getattr(self.shell, "kernel", None) is None:
            return LiveArea(TerminalScreen(), max_lines=self.live_lines, clock=time.monotonic)
        screen = BatchScreen() if self.is_batch else NotebookScreen()
        return LiveArea(screen, max_lines=self.live_lines, clock=time.monotonic)

    def ask_options(self, *, is_new: bool = False, model: str | None = None, answers: str | None = None) -> AskOptions:
        """What the settings say, and the question."""
        from svc_jupyter.kernel_tools.tools import Consent
        from svc_jupyter.question import AskOptions

        return AskOptions(
            is_new=is_new,
            model=model,
            default_model=self.model,
            language=self.language,
            ttl=self.ttl,
            log_session=self.log_session,
            base_url=self.base_url,
            answers=answers,
            caller=f"In [{len(self.shell.history_manager.input_hist_parsed) - 1}]",  # execution_count may be the next
            consent=Consent(can_ask=not self.is_batch, names=tuple(self.allow_tools)),
        )

    def _answer(self, ask: CommandLine, names: Mapping[str, object]) -> Answer:
        """Find what is named, then ask; every way in which that can fail is one line."""
        from svc_jupyter import attachments
        from svc_jupyter.turn_end import reporting_outcome

        question = ask.question
        if ask.is_filled:
            question = fill(question, {name: attachments.text_of(name, names) for name in braced_names(question)})
        files = attachments.find(ask.attach, names)
        ask_options = self.ask_options(is_new=ask.is_new, model=ask.model, answers=ask.answers)
        if ask.is_filled:
            ask_options = replace(ask_options, as_written=ask.question)
        area = self.area()
        area.tick()
        with reporting_outcome(area):
            return self.kernel.ask(question, files, ask_options, area, ask.timeout_seconds or self.timeout)

    def _run(self, command: Command) -> None:
        from IPython.display import display

        if command.words == "panel":
            from svc_jupyter.panel.widget import ChatPanel  # widgets are loaded with the first panel

            display(ChatPanel())
            return

        from svc import SvcError
        from svc_jupyter.errors import AskError
        from svc_jupyter.magics.session_commands import SessionCommands

        commands = SessionCommands(self.kernel, self.ask_options(), print, can_type=not self.is_batch)
        try:
            shown = commands.run(command)
        except SvcError as error:
            raise AskError(str(error)) from None
        if command.words == "model" and command.value:
            self.model = command.value  # new sessions are answered by it, too
        if isinstance(shown, str):
            print(shown)
        else:
            display(shown)

    def _help(self) -> None:
        from svc_jupyter.magics.commands import help_lines

        print(self.svc.__doc__)
        print("\n".join(["Commands:", *(f"  {line}" for line in help_lines())]))


def _command(line: str) -> Command | None:
    from svc_jupyter.magics.commands import parse as parse_command

    return parse_command(line)


def _show(answer: Answer, *, in_cell_below: bool) -> None:
    from IPython.display import display

    from svc_jupyter.magics import cell_below

    if in_cell_below:
        cell_below.show(answer)
    else:
        display(answer)
    for picture in answer.pictures:
        display(picture)


def _kernel_id(shell: object) -> str | None:
    """The kernel's connection file, which a restart keeps; None where nothing can restart."""
    if getattr(shell, "kernel", None) is None or "ipykernel.kernelapp" not in sys.modules:
        return None
    app = sys.modules["ipykernel.kernelapp"].IPKernelApp
    return str(Path(app.instance().abs_connection_file)) if app.initialized() else None
