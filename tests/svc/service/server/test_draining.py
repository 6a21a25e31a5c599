"""SIGTERM under load: not ready at once, served for a while, then every client comes back elsewhere without a loss."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import httpx2
import pytest

from svc import AsyncSvc
from svc.messages import Message
from tests.support.live import ProcessService, free_port, live_process, wait_until
from tests.support.wire_client import ask, kinds, opened, register, until_closed


def status(service: ProcessService, path: str, **headers: str) -> int:
    try:
        return httpx2.get(f"{service.base_url}{path}", headers=headers, timeout=30, trust_env=False).status_code
    except httpx2.TransportError:
        return 0


async def test_after_sigterm_it_is_not_ready_and_serves_until_the_drain_is_over(tmp_path: Path):
    with live_process(tmp_path, "Echo", SVC_DRAIN_SECONDS="3") as service:
        session_id = register(service)
        before = [status(service, path) for path in ("/live", "/ready", "/health")]
        async with opened(service, session_id) as socket:
            service.process.terminate()
            await asyncio.to_thread(wait_until, lambda: status(service, "/ready") == 503, "it is not ready")
            during = [status(service, path) for path in ("/live", "/health")]
            turn = await ask(socket, "asked while it drains")
            new = register(service)
            await until_closed(socket)
        code = await asyncio.to_thread(service.process.wait, 20)

    assert before == [200, 200, 200]
    assert during == [200, 200]
    assert kinds(turn)[-2:] == ["result", "info"]
    assert new
    assert (socket.close_code, code) == (1001, 0)


def test_probes_need_no_known_host(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        assert status(service, "/live", host="10.1.2.3") == 200
        assert status(service, "/ready", host="10.1.2.3") == 200
        assert status(service, "/health", host="10.1.2.3") == 400
        assert status(service, "/ready?key=svc_" + "a" * 49) == 400


@pytest.mark.slow
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_it_without_waiting(tmp_path: Path, second: signal.Signals):
    with live_process(tmp_path, "Slow", SVC_DRAIN_SECONDS="600", SVC_STOP_SECONDS="600") as service:
        session_id = register(service)
        async with opened(service, session_id) as socket:
            await socket.send('{"message_type": "query", "content": "one"}')
            await socket.recv()
            service.process.terminate()
            await asyncio.to_thread(wait_until, lambda: status(service, "/ready") == 503, "it is not ready")
            service.process.send_signal(second)
            code = await asyncio.to_thread(service.process.wait, 20)

    assert code == 0


async def test_streams_are_closed_one_after_the_other(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        session_id = register(service)

        async def closed_at() -> float:
            async with opened(service, session_id) as socket:
                ready.append(1)
                await until_closed(socket)
            assert socket.close_code == 1001
            return time.monotonic()

        ready: list[int] = []
        streams = [asyncio.create_task(closed_at()) for _ in range(8)]
        while len(ready) < len(streams):
            await asyncio.sleep(0.01)
        service.process.terminate()
        times = sorted(await asyncio.gather(*streams))
        await asyncio.to_thread(service.process.wait, 20)

    assert times[-1] - times[0] >= 1.0  # the service itself waits between them


async def test_a_client_goes_through_a_restart_without_losing_or_doubling_anything(tmp_path: Path):
    port = free_port()
    service = ProcessService(tmp_path, "Steady", port=port, SVC_DRAIN_SECONDS="0.5", SVC_STOP_SECONDS="0.5")
    started = [service]
    seen: list[Message] = []

    def restart() -> None:
        assert service.terminate() == 0
        started.append(ProcessService(tmp_path, "Steady", port=port))

    try:
        async with AsyncSvc(service.key, service.base_url) as client:
            session = await client.create_session()
            restarting = None
            async for message in session.stream("60"):
                seen.append(message)
                if len(seen) == 5:
                    restarting = asyncio.create_task(asyncio.to_thread(restart))
            assert restarting is not None
            await restarting
            history = await session.history()
    finally:
        for one in started:
            one.process.kill()
            one.process.wait(60)

    assert [m.id for m in history if m.message_type != "query"] == [m.id for m in seen]
    assert [m.seq for m in history] == list(range(1, len(history) + 1))
    assert [m.message_type for m in seen].count("result") == 1
