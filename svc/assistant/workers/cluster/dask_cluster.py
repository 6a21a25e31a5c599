"""The cluster as the pool sees it: connect to dask's scheduler, compare programs, and place jobs.

The scheduler chooses the machine and counts the job as one of its tasks, so that a shared or growing cluster works as
its owner set it up; it never sees a file, a question or a finding. A job is never run here because the cluster is
away: it waits, and is then refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc.assistant import knowledge
from svc.assistant.turn import ToolCluster
from svc.assistant.workers.cluster import task
from svc.assistant.workers.cluster.address import ClusterAddress
from svc.assistant.workers.cluster.program import Program, own_program
from svc.assistant.workers.cluster.remote_process import RemoteProcess
from svc.assistant.workers.cluster.tables import TooManyTablesError, pack
from svc.assistant.workers.job import Job
from svc.assistant.workers.part_runs import JobRun
from svc.assistant.workers.payer import until_end
from svc.assistant.workers.places import ProcessLostError
from svc.assistant.workers.seen_frames import SeenFrames
from svc.errors import ConfigError, UnavailableError

if TYPE_CHECKING:
    from distributed import Client, Future

log: logging.Logger = logging.getLogger("svc.cluster")
CONNECT_SECONDS = 10.0  # for one attempt
RETRY_SECONDS = 1.0
RETRY_AFTER_SECONDS = 30.0
SLOTS_SECONDS = 2.0  # between two looks at how many threads the cluster has
LOG_SECONDS = 60.0  # between two lines about a scheduler that is away
_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "bokeh")


class _SchedulerLostError(Exception):
    """The scheduler went away while it had the job."""


class DaskCluster:
    """A dask cluster.

    Args:
        cluster: Its address, the folder of attached files, and its limits.
        preload: Modules that a worker process has imported before its job.

    Raises:
        ConfigError: The address is not valid, or dask is not installed.
    """

    def __init__(self, cluster: ToolCluster, *, preload: tuple[str, ...] = ()) -> None:
        address = ClusterAddress.parse(cluster.address)
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            raise ConfigError(
                'a cluster needs the extra "dask", which is not installed: pip install "svc-jupyter[dask]"'
            ) from error
        self._address = address.url
        self._folder = cluster.folder.absolute()
        self._slots = cluster.at_once
        self._patience_seconds = cluster.patience_seconds
        self._preload = preload
        self._is_exposed = address.is_exposed
        self._topic = f"svc-jobs-{secrets.token_hex(16)}"
        self._announced: dict[str, asyncio.Future[dict[str, str]]] = {}
        self._client: Client | None = None
        self._connecting = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self._is_away = False

    @property
    def waiting_for(self) -> str:
        """What a job waits for, in words."""
        if self._is_away:
            return f"waiting for the dask scheduler at {self._address}, which is out of reach"
        return f"waiting for a worker of the dask cluster at {self._address}"

    def takes(self, job: Job) -> bool:
        """Whether the job's input is an attached file in the folder, and its content is known."""
        return isinstance(job.source, Path) and bool(job.content) and job.source.absolute().is_relative_to(self._folder)

    async def start(self, on_slots: Callable[[int], None]) -> None:
        """Connect, however long that takes, and compare the machines with this one; raises ConfigError."""
        if self._is_exposed:
            log.warning("the connection to the dask cluster is not encrypted", extra={"address": self._address})
        client = await self._connected(None)
        await self._check(client)
        if self._slots:
            on_slots(self._slots)
        else:
            self._looking = asyncio.create_task(self._look(on_slots))

    async def close(self) -> None:
        """Disconnect."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        if self._client is not None:
            await _close(self._client)

    async def take(self, run: JobRun, seen: SeenFrames) -> RemoteProcess | None:
        """A process for the job; None if the turn ended before there was one.

        Raises:
            UnavailableError: The scheduler is out of reach.
            ProcessLostError: The machine that was chosen cannot run the job.
        """
        placing = asyncio.create_task(self._place(run, seen))
        ending = asyncio.create_task(until_end())
        try:
            await asyncio.wait((placing, ending), return_when=asyncio.FIRST_COMPLETED)
            return placing.result() if placing.done() else None
        finally:
            ending.cancel()
            if placing.cancel():
                await asyncio.gather(placing, return_exceptions=True)

    async def _place(self, run: JobRun, seen: SeenFrames) -> RemoteProcess:
        tables = await asyncio.to_thread(_own_tables)
        program = await asyncio.to_thread(own_program)
        while True:
            client = await self._connected(self._patience_seconds)
            try:
                return await self._placed(client, program, run, lambda comm, machine, end: RemoteProcess(
                    comm, machine, folder=str(self._folder), file=self._name(run.job), tables=tables, seen=seen,
                    on_end=end,
                ))  # fmt: skip
            except _SchedulerLostError:
                await asyncio.sleep(RETRY_SECONDS)

    def _name(self, job: Job) -> str:
        assert isinstance(job.source, Path)
        return job.source.absolute().relative_to(self._folder).as_posix()

    async def _placed(
        self,
        client: Client,
        program: Program,
        run: JobRun,
        made: Callable[[Any, str, Callable[[], None]], RemoteProcess],
    ) -> RemoteProcess:
        """Submit the task of a job, and connect to the dask worker where it begins."""
        ticket = secrets.token_hex(16)
        announced: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._announced[ticket] = announced
        client.subscribe_topic(self._topic, self._on_event)  # each time: a new scheduler knows no topics
        future = client.submit(
            task.serve_job, ticket, self._topic, program, self._preload, key=f"svc-job-{ticket}", pure=False
        )
        ended = asyncio.create_task(_end_of(future))
        try:
            await asyncio.wait((announced, ended), return_when=asyncio.FIRST_COMPLETED)
            if not announced.done():
                raise ended.result()
            told = announced.result()
            machine = f"the dask worker {told['address']}"
            if told["problem"]:
                raise ProcessLostError(f"{machine} cannot run the job: {told['problem']}")
            comm = await _connect(client, told["address"], machine)
            try:
                await comm.write({"op": task.OPERATION, "ticket": ticket, "reply": False})
            except BaseException as error:
                comm.abort()
                if isinstance(error, OSError):
                    raise ProcessLostError(f"the connection to {machine} was lost") from error
                raise
        except BaseException:
            future.release()
            raise
        finally:
            del self._announced[ticket]
            ended.cancel()
        return made(comm, machine, future.release)

    def _on_event(self, event: tuple[float, dict[str, str]]) -> None:
        told = event[1]
        announced = self._announced.get(told["ticket"])
        if announced is not None and not announced.done():  # else its turn ended, or the task was run again by dask
            announced.set_result(told)

    async def _connected(self, patience_seconds: float | None) -> Client:
        """A client that is connected.

        Args:
            patience_seconds: How long to wait for a scheduler that is out of reach; None is without end.

        Raises:
            UnavailableError: It is out of reach.
        """
        loop = asyncio.get_running_loop()
        asked_at, logged_at = loop.time(), -LOG_SECONDS
        deadline = None if patience_seconds is None else asked_at + patience_seconds
        async with self._connecting:
            if self._is_away and deadline is not None and loop.time() > max(deadline, asked_at + RETRY_SECONDS):
                raise self._away()  # others have tried for so long
            while True:
                if self._client is not None and self._client.status == "running":
                    self._is_away = False
                    return self._client
                problem = await self._reconnect()
                if not problem:
                    continue
                self._is_away = True
                if loop.time() - logged_at >= LOG_SECONDS:
                    log.warning("waiting for the dask scheduler", extra={"address": self._address, "reason": problem})
                    logged_at = loop.time()
                if deadline is not None and loop.time() >= deadline:
                    raise self._away()
                await asyncio.sleep(RETRY_SECONDS)

    def _away(self) -> UnavailableError:
        return UnavailableError(
            f"the dask scheduler at {self._address} is out of reach, so attached files cannot be read; the operator "
            "must check the cluster",
            retry_after=RETRY_AFTER_SECONDS,
        )

    async def _reconnect(self) -> str:
        """Connect again; returns why that was not possible, else ""."""
        from distributed import Client

        _join_logs()
        if self._client is not None:
            await _close(self._client)
            self._client = None
        try:
            self._client = await Client(
                self._address, asynchronous=True, timeout=CONNECT_SECONDS, set_as_default=False, name="svc"
            )
        except (OSError, TimeoutError) as error:
            return " ".join(str(error).split()) or type(error).__name__
        except (ValueError, TypeError, RuntimeError, ImportError) as error:  # of dask's configuration, such as TLS
            raise ConfigError(f"the dask cluster at {self._address} cannot be used: {error}") from error
        return ""

    async def _check(self, client: Client) -> None:
        """Raise ConfigError if a machine of the cluster has another program, or not our folder."""
        own = await asyncio.to_thread(own_program)
        probe = self._folder / f".svc-cluster-{secrets.token_hex(8)}"
        text = secrets.token_hex(16)
        try:
            await asyncio.to_thread(probe.write_text, text, "ascii")
            found: dict[str, Any] = await client.run(task.describe, str(probe), text, on_error="return")
        except Exception as error:  # of any type: dask raises what a worker raised
            raise self._unusable(f"a worker answered: {_one_line(error)}") from error
        finally:
            await asyncio.to_thread(probe.unlink, missing_ok=True)
        for worker, described in found.items():
            if isinstance(described, BaseException):
                raise self._unusable(f"its worker {worker} answered: {_one_line(described)}")
            program, has_probe = described
            if difference := own.difference(program):
                raise self._unusable(
                    f"its worker {worker} has {difference}. Install the same svc-jupyter[dask], with the same "
                    "extras, on each machine"
                )
            if not has_probe:
                raise self._unusable(
                    f"its worker {worker} does not have the folder of attached files {self._folder}. Mount it at the "
                    "same path on each machine, readable for the user of the worker, or choose another with --files"
                )
        log.info("connected to the dask cluster", extra={"address": self._address, "workers": len(found)})

    def _unusable(self, reason: str) -> ConfigError:
        return ConfigError(f"the dask cluster at {self._address} cannot be used: {reason}")

    async def _look(self, on_slots: Callable[[int], None]) -> None:
        """Follow the number of threads that the cluster has."""
        while True:
            client = self._client
            if client is not None and client.status == "running":
                with contextlib.suppress(OSError, TimeoutError):
                    threads: dict[str, int] = await client.nthreads()
                    on_slots(sum(threads.values()))
            await asyncio.sleep(SLOTS_SECONDS)


def _own_tables() -> Any:  # noqa: ANN401
    try:
        return pack(knowledge.user_folder())
    except TooManyTablesError as error:
        raise UnavailableError(f"{error}. The operator must remove some") from error


async def _connect(client: Client, address: str, machine: str) -> Any:  # noqa: ANN401  # dask's type
    from distributed.comm import connect

    try:
        return await connect(address, timeout=CONNECT_SECONDS, deserialize=False, **client.connection_args)
    except OSError as error:
        raise ProcessLostError(f"{machine} cannot be reached from the service ({_one_line(error)})") from error


async def _end_of(future: Future) -> Exception:
    """What to raise if a task ended before it announced itself."""
    try:
        await future
    except asyncio.CancelledError:
        return _SchedulerLostError()
    except Exception as error:  # noqa: BLE001  # whatever dask or the task raised
        if type(error).__name__ == "FutureCancelledError":
            return _SchedulerLostError()
        return ProcessLostError(f"the dask cluster could not run it: {_one_line(error)}")
    return ProcessLostError("the dask cluster ended the task of the job before it began")


async def _close(client: Client) -> None:
    closing: Coroutine[Any, Any, None] = client.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CONNECT_SECONDS):
            await closing


def _join_logs() -> None:
    """Let what dask logs be lines of the service's log, from warnings on."""
    handlers = logging.getLogger("svc").handlers
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = (list(handlers) if "." not in name else []), "." in name
        logger.setLevel("WARNING")


def _one_line(error: BaseException) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else f"{text[:300]}…"
