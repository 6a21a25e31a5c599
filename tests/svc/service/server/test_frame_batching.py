"""The transport that gathers writes: svc/service/gathering.py."""

from __future__ import annotations

import asyncio

from svc.service.server.frame_batching import FULL_BYTES, CoalescingTransport


class Recording(asyncio.Transport):
    """The system's side: what was written, and whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[bytes | str] = []
        self.unsent = 0
        self.is_aborted = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.events.append(bytes(data))

    def close(self) -> None:
        self.events.append("closed")

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.is_aborted.set()

    def is_closing(self) -> bool:
        return "closed" in self.events


def gathering() -> tuple[Recording, CoalescingTransport]:
    system = Recording()
    return system, CoalescingTransport(system, asyncio.get_running_loop(), close_seconds=0.01)


async def test_writes_of_one_loop_iteration_are_sent_together_in_order():
    system, transport = gathering()
    for part in (b"a", b"b", b"c"):
        transport.write(part)
    assert system.events == []
    await asyncio.sleep(0)
    transport.write(b"d")
    await asyncio.sleep(0)
    assert system.events == [b"abc", b"d"]


async def test_accepted_data_is_written_before_the_transport_closes():
    system, transport = gathering()
    transport.write(b"last words")
    transport.close()
    await asyncio.sleep(0)
    assert system.events == [b"last words", "closed"]


async def test_a_full_buffer_is_written_at_once_to_apply_back_pressure():
    system, transport = gathering()
    transport.write(bytes(FULL_BYTES - 1))
    assert system.events == []
    transport.write(b"x")
    assert system.events == [bytes(FULL_BYTES - 1) + b"x"]


async def test_data_after_the_close_is_dropped():
    system, transport = gathering()
    transport.close()
    transport.write(b"too late")
    await asyncio.sleep(0)
    assert system.events == ["closed"]


async def test_data_that_the_peer_does_not_read_is_dropped_at_the_end():
    system, transport = gathering()
    system.unsent = 7
    transport.close()
    await asyncio.wait_for(system.is_aborted.wait(), 5)
