"""The loaded extension as the panel sees it: the kernel's session and the settings, without importing the magics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from IPython.core.getipython import get_ipython

from svc_jupyter.errors import AskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from svc_jupyter.kernel.kernel import KernelSession
    from svc_jupyter.question import AskOptions


class Extension(Protocol):
    """What ``%load_ext svc_jupyter`` registers with IPython; ``SvcMagics`` is one."""

    front_end_settings: dict[str, object]
    """Settings that a front end made and the user did not change since."""

    shell: InteractiveShell

    @property
    def is_batch(self) -> bool:
        """Whether nobody can answer a prompt: nbclient, papermill, nbval."""
        ...

    @property
    def kernel(self) -> KernelSession:
        """The session of this kernel; created with the first question."""
        ...

    def ask_options(self, *, is_new: bool = False, model: str | None = None, answers: str | None = None) -> AskOptions:
        """Return the options that the settings give a question."""
        ...

    def trait_defaults(self, name: str) -> object:
        """Return the default of a setting."""
        ...

    @property
    def config(self) -> Mapping[str, Mapping[str, object]]:
        """What the user's configuration files and command line say, by class."""
        ...


def loaded_extension() -> Extension:
    """Return the extension; load it if it is not loaded yet.

    Raises:
        AskError: This is not IPython.
    """
    shell = get_ipython()
    if shell is None:
        raise AskError("the chat panel is for notebooks: there is no IPython here.")
    if "SvcMagics" not in shell.magics_manager.registry:
        shell.extension_manager.load_extension("svc_jupyter")
        shell.extension_manager.loaded.discard("svc_jupyter")  # so that a cell's %load_ext prints no message
    extension: Extension = shell.magics_manager.registry["SvcMagics"]
    return extension
