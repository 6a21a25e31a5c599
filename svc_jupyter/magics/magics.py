"""The magics ``%svc`` and ``%%svc``, and their settings. ``kernel/kernel.py`` runs the questions.

Rules: docs/notebook.md, "What a cell shows and raises". The SDK is imported with the first question, so that
``%load_ext`` stays fast.
"""

from __future__ import annotations

import os
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

from svc_jupyter.answers import shown_here
from svc_jupyter.magics.options import OPTIONS, braced_names, fill, parse
from svc_jupyter.trusted_imports import trusted

if TYPE_CHECKING:
    from svc_jupyter.answers.answer import Answer
    from svc_jupyter.kernel.kernel import KernelSession
    from svc_jupyter.magics.commands import Command
    from svc_jupyter.magics.live_output import LiveArea
    from svc_jupyter.magics.options import CommandLine
    from svc_jupyter.question import AskOptions

Method = Callable[..., None]


def _with_options(method: Method) -> Method:
    """Document the magic from the table of options."""
    for option in reversed(OPTIONS):
        form = {"metavar": option.metavar} if option.metavar else {"action": "store_true"}
        method = argument(option.name, help=option.help, **form)(method)
    documented: Method = magic_arguments(name="svc")(method)
    return documented


@magics_class
class SvcMagics(Magics):
    """Ask the security analyst from a cell. Settings: ``%config SvcMagics.NAME = VALUE``, or ipython_config.py."""

    base_url: Unicode[str | None, str | bytes | None] = Unicode(
        None,
        allow_none=True,
        help="Address of the service. None: SVC_BASE_URL, or the local service. Enter its key with %svc key.",
    ).tag(config=True)
    model: Unicode[str | None, str | bytes | None] = Unicode(
        None, allow_none=True, help="Model of new sessions: stable, experimental or a model's ID."
    ).tag(config=True)
    language: Unicode[str, str | bytes] = Unicode(
        "en", help="Language of a question whose words do not show one (BCP 47 tag)."
    ).tag(config=True)
    ttl: Int[int, int] = Int(86_400, help="Lifetime of unused sessions in seconds, 300 to 2,592,000.").tag(config=True)
    log_session: Bool[bool, bool | int] = Bool(
        default_value=True, help="Whether the service logs new sessions, if the API key allows a choice."
    ).tag(config=True)
    timeout: CFloat[float | None, float | int | str | None] = CFloat(
        None, allow_none=True, help="Time limit of a question in seconds; None: no limit."
    ).tag(config=True)
    allow_tools: List[str] = List(
        Unicode(), help="Names of tools (@svc_jupyter.tool) that may be called without confirmation."
    ).tag(config=True)
    live_lines: Int[int, int] = Int(8, min=1, help="Progress lines shown while a question runs.").tag(config=True)

    _kernel: KernelSession | None = None

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.front_end_settings: dict[str, object] = {}  # set by a front end and not by the user
        self.shell.events.register("post_run_cell", shown_here.clear)

    @_with_options
    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def svc(self, line: str, cell: str | None = None, local_ns: Mapping[str, object] | None = None) -> Answer | None:
        """Ask a security question, with the evidence attached.

        The question is the cell below %%svc, or the rest of the %svc line. It is sent verbatim: braces, quotes, $ and
        backslashes have no special meaning. Options come first; -- ends them.

            %%svc --attach /var/log/auth.log --into answer
            Which accounts were brute-forced, and did anyone get in?

            answer = %svc what does this do? powershell -enc SQBFAFgA
            %svc --attach {frame} which of these logins are unusual?
            %svc --fill is {address} in the log?

        Each kernel has one session, so follow-up questions have context. A question with --attach is about these files
        only; one without means the latest, and --all asks about all. Interrupting the cell cancels the question.

        A line is a command if all of it matches one of these; otherwise it is a question:

            %svc session [show]             %svc session rename NAME      %svc files [remove NAME]
            %svc session list [TEXT]        %svc session extend [2h]      %svc history [NUMBER] [--show]
            %svc session new [NAME]         %svc session delete           %svc model [NAME]
            %svc session resume [ID]        %svc panel                    %svc key [delete]

        In Python: from svc_jupyter import session; answer = await session.ask("...", attach=["auth.log"])
        """
        with trusted():
            return self._ask_or_run(line, cell, local_ns)

    def _ask_or_run(self, line: str, cell: str | None, local_ns: Mapping[str, object] | None) -> Answer | None:
        if cell is None and not line.strip():
            self._help()
            return None
        if cell is None and (command := _command(line)) is not None:
            self._run(command)
            return None
        command_line = parse(line, cell)
        if command_line.is_help:
            self._help()
            return None
        from svc_jupyter.turn_end import AskInterrupted

        try:
            answer = self._answer(command_line, ChainMap(dict(local_ns or {}), self.shell.user_ns))
        except AskInterrupted as interrupted:
            if interrupted.partial_answer is not None:
                self._keep_and_show(interrupted.partial_answer, command_line)
            raise
        self._keep_and_show(answer, command_line)
        return answer

    def _keep_and_show(self, answer: Answer, command_line: CommandLine) -> None:
        _show(answer, in_cell_below=command_line.is_cell)
        if command_line.into is not None:
            self.shell.push({command_line.into: answer})
        shown_here.add(answer)

    @property
    def kernel(self) -> KernelSession:
        """The session of this kernel; created with the first question."""
        from svc_jupyter.kernel.kernel import KernelSession
        from svc_jupyter.kernel.notebook_path import find_notebook

        if self._kernel is None:
            notebook = None if self.is_batch else find_notebook(os.environ, self.shell.user_ns)
            self._kernel = KernelSession(_kernel_id(self.shell), notebook)
        return self._kernel

    @property
    def known_kernel(self) -> KernelSession | None:
        """The session of this kernel, or None before the first question."""
        return self._kernel

    def close(self) -> None:
        """Close idle connections; the session continues."""
        self.shell.events.unregister("post_run_cell", shown_here.clear)
        if self._kernel is not None:
            self._kernel.close()

    @property
    def is_batch(self) -> bool:
        """Whether nobody can answer a prompt: nbclient, papermill, nbval."""
        kernel = getattr(self.shell, "kernel", None)
        return kernel is not None and not getattr(kernel, "_allow_stdin", True)

    def area(self) -> LiveArea:
        """Return a live area below the running cell."""
        from svc_jupyter.magics.live_output import BatchScreen, LiveArea, NotebookScreen, TerminalScreen

        if getattr(self.shell, "kernel", None) is None:
            return LiveArea(TerminalScreen(), max_lines=self.live_lines, clock=time.monotonic)
        screen = BatchScreen() if self.is_batch else NotebookScreen()
        return LiveArea(screen, max_lines=self.live_lines, clock=time.monotonic)

    def ask_options(self, *, is_new: bool = False, model: str | None = None, answers: str | None = None) -> AskOptions:
        """Return the options that the settings and these arguments give a question."""
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

    def _answer(self, command_line: CommandLine, names: Mapping[str, object]) -> Answer:
        """Resolve files and variables, then ask."""
        from svc_jupyter import attachments
        from svc_jupyter.turn_end import reporting_outcome

        question = command_line.question
        if command_line.is_filled:
            question = fill(question, {name: attachments.text_of(name, names) for name in braced_names(question)})
        files = attachments.find(command_line.attach, names)
        ask_options = self.ask_options(
            is_new=command_line.is_new, model=command_line.model, answers=command_line.answers
        )
        ask_options = replace(
            ask_options,
            is_about_all=command_line.is_about_all,
            as_written=command_line.question if command_line.is_filled else None,
        )
        area = self.area()
        area.tick()
        with reporting_outcome(area):
            return self.kernel.ask(question, files, ask_options, area, command_line.timeout_seconds or self.timeout)

    def _run(self, command: Command) -> None:
        from IPython.display import display

        if command.words == "help":
            self._help()
            return
        if command.words == "panel":
            from svc_jupyter.panel.widget import ChatPanel  # ipywidgets is imported with the first panel

            display(ChatPanel())
            return

        from svc import SvcError
        from svc_jupyter.answers.answer import Answer
        from svc_jupyter.errors import AskError
        from svc_jupyter.magics.session_commands import SessionCommands

        commands = SessionCommands(self.kernel, self.ask_options(), _print, can_prompt=not self.is_batch)
        try:
            shown = commands.run(command)
        except SvcError as error:
            raise AskError(str(error)) from None
        if command.words == "model" and command.value:
            self.model = command.value  # also used by later sessions
        if isinstance(shown, str):
            _print(shown)
        elif isinstance(shown, Answer):
            _show(shown, in_cell_below=False)
        else:
            display(shown)

    def _help(self) -> None:
        from svc_jupyter.magics.commands import help_lines

        print(self.svc.__doc__)
        print("\n".join(["Commands:", *(f"  {line}" for line in help_lines())]))


def _print(text: str) -> None:
    from svc.untrusted.characters import printable

    print(printable(text))


def _command(line: str) -> Command | None:
    """The command that the line is, or None for a question. Raises AskError if it looks like a mistyped command."""
    from svc_jupyter.errors import AskError
    from svc_jupyter.magics.commands import did_you_mean
    from svc_jupyter.magics.commands import parse as parse_command

    command = parse_command(line)
    if command is None and (meant := did_you_mean(line)) is not None:
        raise AskError(f"no such command. Did you mean {meant}? To ask it as a question: %svc -- {line.strip()}")
    return command


def _show(answer: Answer, *, in_cell_below: bool) -> None:
    from IPython.display import display

    from svc_jupyter.magics import cell_below

    if in_cell_below:
        cell_below.show(answer)
    else:
        display(answer)
    if answer.pictures:
        display(answer.pictures[0])
    if answer.pictures[1:]:
        from svc_jupyter.answers.more_pictures import MorePictures

        display(MorePictures(answer.pictures[1:]))


def _kernel_id(shell: object) -> str | None:
    """Return the path of the kernel's connection file, which survives a restart; None outside of ipykernel."""
    if getattr(shell, "kernel", None) is None or "ipykernel.kernelapp" not in sys.modules:
        return None
    app = sys.modules["ipykernel.kernelapp"].IPKernelApp
    return str(Path(app.instance().abs_connection_file)) if app.initialized() else None
