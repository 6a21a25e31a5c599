"""How long another route of a web application takes while 20 questions run: ``python -m tests.benchmarks.web_app``.

The application (``tests/support/web_app.py``) and its server are one process, the service with the embedded analyst is
another. Ends with 1 if a request to the other route took longer than LIMIT_MS, or no question was running then.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import httpx2
import uvicorn

from tests.support.live import ProcessService, free_port
from tests.support.web_app import web_app

LIMIT_MS = 50
QUESTIONS = 20
LOG = "\n".join(
    f"Mar  3 04:{n // 60 % 60:02}:{n % 60:02} gate sshd[{n}]: Failed password for root from 203.0.113.{n % 200} port "
    f"{40_000 + n % 20_000} ssh2"
    for n in range(2_000)
)


async def measure(base_url: str) -> tuple[list[float], int]:
    """The seconds of each request to the other route, and how many questions were answered."""
    async with httpx2.AsyncClient(base_url=base_url, timeout=120, trust_env=False) as web:
        await web.get("/ping")  # the connection, and what is imported late
        prompt = f"Did anyone get in?\n\n{LOG[:5_000]}"
        asked = [asyncio.create_task(web.get("/ask", params={"prompt": prompt})) for _ in range(QUESTIONS)]
        await asyncio.sleep(0)
        seconds: list[float] = []
        while not all(task.done() for task in asked):
            began = time.perf_counter()
            await web.get("/ping")
            seconds.append(time.perf_counter() - began)
            await asyncio.sleep(0.005)
        responses = await asyncio.gather(*asked)
        return seconds, sum(response.status_code == 200 for response in responses)


async def run(key: str, service_url: str) -> tuple[list[float], int]:
    """Serve the application in a thread and measure it from this one."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(web_app(key, service_url), port=port, log_level="warning"))
    serving = asyncio.create_task(asyncio.to_thread(server.run))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        return await measure(f"http://127.0.0.1:{port}")
    finally:
        server.should_exit = True
        await serving


def main() -> int:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
        service = ProcessService(Path(folder), "svc.assistant.analyst:Analyst", PYTHONPATH=path)
        try:
            seconds, answered = asyncio.run(run(service.key, service.base_url))
        finally:
            service.terminate()
    ordered = sorted(second * 1_000 for second in seconds)
    if not ordered:
        print("no request was made while questions ran")
        return 1
    middle, most = ordered[len(ordered) // 2], ordered[-1]
    print(f"{answered} of {QUESTIONS} questions answered; {len(ordered)} requests meanwhile: "
          f"median {middle:.1f} ms, longest {most:.1f} ms (limit {LIMIT_MS} ms)")  # fmt: skip
    return int(most > LIMIT_MS or answered < QUESTIONS)


if __name__ == "__main__":
    sys.exit(main())
