"""The comm target ``svc_jupyter``: by it the JupyterLab plugin reaches the kernel's session (``panel_channel.py``).

A front end runs ``import svc_jupyter.panel.comm_target as _t; _t.register()`` silently, then opens comms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from comm import get_comm_manager
from IPython.core.getipython import get_ipython

from svc_jupyter.extension import loaded_extension
from svc_jupyter.panel import front_end_settings
from svc_jupyter.panel.channel import PanelChannel

if TYPE_CHECKING:
    from comm.base_comm import BaseComm, MessageType

    from svc_jupyter.panel.outbox import Json

TARGET = "svc_jupyter"


def register() -> None:
    """Load the extension where it is not loaded, and take comms from now on. Twice is as once."""
    loaded_extension()
    get_comm_manager().register_target(TARGET, opened)


def channel(send: Callable[[Json], None]) -> PanelChannel:
    """A channel to the kernel's session as the extension has it, for whoever carries its messages."""
    extension = loaded_extension()
    return PanelChannel(extension.kernel, extension.ask_options, send, partial(front_end_settings.apply, extension))


def publish(comm: BaseComm, content: Json) -> None:
    """Send on the comm as nobody's answer: from ipykernel 7.4 on, what a page says next goes to the subshell of the
    request that the kernel last answered, and a thread's answers count as the running cell's (``route_freely``).
    """
    kernel = getattr(get_ipython(), "kernel", None)
    session, socket = getattr(kernel, "session", None), getattr(kernel, "iopub_socket", None)
    if session is None or socket is None:  # another kernel than ipykernel
        comm.send(content)
    else:
        message = {"data": content, "comm_id": comm.comm_id}
        session.send(socket, "comm_msg", message, ident=getattr(comm, "topic", None))


def route_freely(comm: BaseComm) -> None:
    """Forget what was answered on the comm: what a page says goes to the subshell that the page names."""
    vars(comm).pop("_reply_subshell_id", None)


def opened(comm: BaseComm, _: MessageType) -> None:
    """What a page's comm is joined to."""
    opened = channel(partial(publish, comm))

    def receive(message: MessageType) -> None:
        route_freely(comm)
        opened.receive(message["content"]["data"], message.get("buffers") or ())

    comm.on_msg(receive)
    comm.on_close(lambda _: opened.close())
