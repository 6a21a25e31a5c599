"""The comm target ``svc_jupyter``, over which JupyterLab reaches the kernel's session.

The front end registers it by a silent request: docs/panel.md, "Opening a channel".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from comm import get_comm_manager
from IPython.core.getipython import get_ipython

from svc_jupyter.extension import loaded_extension
from svc_jupyter.panel import front_end_settings
from svc_jupyter.panel.busy_kernel import BusyKernel
from svc_jupyter.panel.channel import PanelChannel
from svc_jupyter.trusted_imports import trusted

if TYPE_CHECKING:
    from comm.base_comm import BaseComm, MessageType
    from IPython.core.interactiveshell import InteractiveShell

    from svc_jupyter.panel.outbox import Json

TARGET = "svc_jupyter"
_busy_kernels: WeakKeyDictionary[InteractiveShell, BusyKernel] = WeakKeyDictionary()


def register() -> None:
    """Load the extension if necessary and register the target. May be repeated."""
    busy_kernel()
    get_comm_manager().register_target(TARGET, opened)


def channel(send: Callable[[Json], None]) -> PanelChannel:
    """Create a channel to the kernel's session that sends its messages with ``send``."""
    extension = loaded_extension()
    return PanelChannel(extension.kernel, extension.ask_options, send, partial(front_end_settings.apply, extension))


def publish(comm: BaseComm, content: Json) -> None:
    """Send a message that is not a reply to any request. Why: docs/panel.md, "Subshells and busy kernels"."""
    kernel = getattr(get_ipython(), "kernel", None)
    session, socket = getattr(kernel, "session", None), getattr(kernel, "iopub_socket", None)
    if session is None or socket is None:  # not ipykernel
        comm.send(content)
    else:
        message = {"data": content, "comm_id": comm.comm_id}
        session.send(socket, "comm_msg", message, ident=getattr(comm, "topic", None))


def route_freely(comm: BaseComm) -> None:
    """Undo the effect of a reply, so that the page's messages go to the subshell that the page names."""
    vars(comm).pop("_reply_subshell_id", None)


def busy_kernel() -> BusyKernel:
    """Return what keeps this kernel shown as busy while a cell runs."""
    shell = loaded_extension().shell
    if shell not in _busy_kernels:
        _busy_kernels[shell] = BusyKernel(shell)
    return _busy_kernels[shell]


def opened(comm: BaseComm, _: MessageType) -> None:
    """Connect a comm that a page opened to a new channel."""
    with trusted():
        opened = channel(partial(publish, comm))
        busy = busy_kernel()

    def receive(message: MessageType) -> None:
        route_freely(comm)
        busy.message_was_read()
        opened.receive(message["content"]["data"], message.get("buffers") or ())

    comm.on_msg(receive)
    comm.on_close(lambda _: opened.close())
