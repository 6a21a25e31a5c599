"""Duration of a sweep compared with peers: run by hand, `python -m tests.benchmarks.reports [ROUNDS]`.

16 cases of one notebook, each with its result written, as whole processes:

- light: three cells that compute nothing much; `svc report run --jobs 2` beside papermill in a loop
- waiting: a cell that waits two seconds, as for a service; `--jobs 8` beside papermill in a loop
- dask: both again on a LocalCluster of as many workers
- overhead: the light sweep with `--jobs 1` beside nbclient in a loop, by case

Rounds are interleaved; medians and the range are printed, and ratios. Targets: light 0.45 of papermill's time, waiting
0.25, overhead 1.1 of nbclient's. Peers: `pip install -r tests/benchmarks/peers/reports.txt distributed`.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat

CASES = 16
SVC = str(Path(sys.executable).with_name("svc"))
LIGHT = ["import json", "text = json.dumps({'n': n})", "print(text)"]
WAITING = ["import time", "time.sleep(2)", "print(n)"]
PAPERMILL = f"""
import sys, papermill
for n in range({CASES}):
    papermill.execute_notebook(sys.argv[1], f"{{sys.argv[2]}}/{{n}}.ipynb", {{"n": n}}, progress_bar=False)
"""
NBCLIENT = f"""
import sys, nbformat, nbclient
for n in range({CASES}):
    notebook = nbformat.read(sys.argv[1], 4)
    nbclient.NotebookClient(notebook).execute()
    nbformat.write(notebook, f"{{sys.argv[2]}}/{{n}}.ipynb")
"""


def write_inputs(folder: Path, cells: list[str]) -> None:
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    notebook.metadata.kernelspec.language = "python"
    defaults = nbformat.v4.new_code_cell("n = 0", metadata={"tags": ["parameters"]})
    notebook.cells = [defaults, *map(nbformat.v4.new_code_cell, cells)]
    folder.mkdir()
    nbformat.write(notebook, folder / "work.ipynb")
    (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(CASES)))


def sweep(folder: Path, *options: str) -> float:
    command = [SVC, "report", "run", "work.ipynb", "--sweep", "cases.csv", "--to", "ipynb", *options]
    return timed(folder, lambda out: [*command, "--out", out], "cases")


def script(folder: Path, code: str) -> float:
    return timed(folder, lambda out: [sys.executable, "-c", code, "work.ipynb", out], ".")


def timed(folder: Path, command: Callable[[str], list[str]], made_in: str) -> float:
    """Seconds of the whole process; every case must have written its notebook."""
    with tempfile.TemporaryDirectory() as out:
        started = time.perf_counter()
        subprocess.run(command(out), cwd=folder, check=True, capture_output=True)
        seconds = time.perf_counter() - started
        made = len(list(Path(out, made_in).glob("*.ipynb")))
    if made != CASES:
        raise RuntimeError(f"{made} of {CASES} notebooks were written")
    return seconds


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local:
        yield local.scheduler_address.replace("tcp", "dask")


def show(times: dict[str, list[float]], of: str) -> None:
    base = statistics.median(times[of])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
        print(f"{name:34} {median:6.2f} s  {median / CASES:5.2f} a case  {median / base:5.2f} of {of}  ({spread})")


def measure(folder: Path, jobs: int, rounds: int) -> dict[str, list[float]]:
    ways: dict[str, Callable[[str], float]] = {
        "papermill": lambda _: script(folder, PAPERMILL),
        f"svc report run --jobs {jobs}": lambda _: sweep(folder, "--jobs", str(jobs)),
        f"svc on dask, {jobs} workers": lambda address: sweep(folder, "--executor", address),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    with cluster(jobs) as address:
        for _ in range(rounds):
            for name, way in ways.items():
                times[name].append(way(address))
    return times


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {rounds} rounds")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder / "light", LIGHT)
        write_inputs(folder / "waiting", WAITING)
        for kind, jobs in (("light", 2), ("waiting", 8)):
            print(f"{CASES} {kind} cases")
            show(measure(folder / kind, jobs, rounds), "papermill")
        print("overhead, one at a time")
        one: dict[str, list[float]] = {"nbclient": [], "svc report run --jobs 1": []}
        for _ in range(rounds):
            one["nbclient"].append(script(folder / "light", NBCLIENT))
            one["svc report run --jobs 1"].append(sweep(folder / "light", "--jobs", "1"))
        show(one, "nbclient")


if __name__ == "__main__":
    main()
