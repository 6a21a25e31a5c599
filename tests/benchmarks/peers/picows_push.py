"""The practical limit of a one-way push: a picows server that answers any frame with N copies of one text.

``python picows_push.py PORT FILE``: FILE holds the text, a message as the service sends it; the frame holds N. Nothing
is stored. It stops while the client's socket is full, as any server must.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import picows
import uvloop

BURST = 64  # frames between two looks at whether the socket is full


class Push(picows.WSListener):
    def __init__(self, text: bytes) -> None:
        super().__init__()
        self._text = text
        self._room = asyncio.Event()
        self._room.set()

    def on_ws_frame(self, transport: picows.WSTransport, frame: picows.WSFrame) -> None:
        if frame.msg_type == picows.WSMsgType.TEXT:
            self._task = asyncio.create_task(self._push(transport, int(frame.get_payload_as_bytes())))
        elif frame.msg_type == picows.WSMsgType.CLOSE:
            transport.disconnect()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def _push(self, transport: picows.WSTransport, number: int) -> None:
        send, text = transport.send, self._text
        for start in range(0, number, BURST):
            await self._room.wait()
            for _ in range(min(BURST, number - start)):
                send(picows.WSMsgType.TEXT, text)


async def main(port: int, text: bytes) -> None:
    server = await picows.ws_create_server(lambda request: Push(text), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), Path(sys.argv[2]).read_bytes()))
