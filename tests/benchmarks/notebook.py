"""Notebook latencies compared with a peer: run by hand, `python -m tests.benchmarks.notebook [ROUNDS]`.

- `%load_ext svc_jupyter` over bare IPython, beside jupysql's `%load_ext sql` (installed into a temporary environment).
- Enter to the first INFO on screen, in a running kernel with its service up; beside an empty cell of the same kernel.
- ■ to the end of the cell, during a turn that waits.

Rounds are interleaved; medians and the range are printed, and ratios. Target: a tenth of jupysql's time.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from tests.support import ASSISTANTS
from tests.support.kernels import Kernel
from tests.support.local_services import stop_local_service

LOAD = """
import time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
started = time.perf_counter()
{line}
print(time.perf_counter() - started)
"""


def load_seconds(python: Path, extension: str | None) -> float:
    line = f"shell.run_line_magic('load_ext', {extension!r})" if extension else "pass"
    done = subprocess.run([python, "-c", LOAD.format(line=line)], capture_output=True, text=True, check=True, cwd="/")
    return float(done.stdout.splitlines()[-1])


def peer_python(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "jupysql", "ipython", "setuptools<81"], check=True)
    return python


def show(name: str, seconds: list[float]) -> float:
    median = statistics.median(seconds)
    spread = f"{min(seconds) * 1000:.1f} to {max(seconds) * 1000:.1f}"
    print(f"{name:44} {median * 1000:8.1f} ms   ({spread}, {len(seconds)} rounds)")
    return median


def measure_loading(rounds: int, folder: Path) -> None:
    own, peer = Path(sys.executable), peer_python(folder / "peer")
    times: dict[str, list[float]] = {"bare": [], "svc_jupyter": [], "jupysql": []}
    for _ in range(rounds):
        times["bare"].append(load_seconds(own, None))
        times["svc_jupyter"].append(load_seconds(own, "svc_jupyter"))
        times["jupysql"].append(load_seconds(peer, "sql"))
    bare = show("bare IPython, nothing loaded", times["bare"])
    ours = show("%load_ext svc_jupyter", times["svc_jupyter"]) - bare
    theirs = show("%load_ext sql (jupysql)", times["jupysql"]) - bare
    print(f"{'ratio over bare, ours to jupysql':44} {ours / theirs:8.3f}      (target: 0.1 at most)")


def measure_asking(rounds: int, folder: Path) -> None:
    os.environ["SVC_STATE_DIR"] = str(folder / "state")
    os.environ["SVC_LOCAL_SERVE_ARGS"] = "--assistant scripted_assistants:Scripted"
    os.environ["PYTHONPATH"] = str(ASSISTANTS)
    empty, first, interrupted, awaited = [], [], [], []
    with Kernel(folder / "kernel") as kernel:
        kernel.run("%svc echo warm")
        for _ in range(rounds):
            started = time.perf_counter()
            kernel.run("pass")
            empty.append(time.perf_counter() - started)
            seen_at: list[float] = []

            def stop(seen_at: list[float] = seen_at) -> None:
                seen_at.append(time.perf_counter())
                kernel.interrupt()

            started = time.perf_counter()
            kernel.run("%svc wait", when=lambda seen: "waiting" in seen.shown(), then=stop)
            interrupted.append(time.perf_counter() - seen_at[0])
            first.append(seen_at[0] - started)
            question = "from svc_jupyter import session\nawait session.ask('wait')"
            kernel.run(question, when=lambda seen: "waiting" in seen.shown(), then=stop)
            awaited.append(time.perf_counter() - seen_at[1])
    base = show("empty cell, Enter to idle", empty)
    print(f"{'first INFO over an empty cell':44} {show('Enter to first INFO', first) / base:8.1f} times")
    show("■ to the end of the cell", interrupted)
    show("■ to the end of a cell that awaits", awaited)


def main() -> None:
    rounds = int(sys.argv[1]) if sys.argv[1:] else 9
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as name:
        measure_loading(rounds, Path(name))
        try:
            measure_asking(rounds, Path(name))
        finally:
            stop_local_service(Path(name) / "state")


if __name__ == "__main__":
    main()
