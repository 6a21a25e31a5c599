"""Jobs on a dask cluster of two workers under nannies: the same findings, live; whatever dies costs its own jobs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

import dask
import msgspec
import psutil
import pytest
import trustme

from svc.assistant.findings import Coverage, Finding, Gap, InputKind, Progress, ToolFailure
from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.skills.cvss.findings import CvssBroken
from svc.assistant.turn import ToolCluster
from svc.assistant.workers.cluster import dask_cluster
from svc.assistant.workers.cluster.dask_cluster import DaskCluster
from svc.assistant.workers.cluster.program import own_program
from svc.assistant.workers.payer import STOP, TURN_END, StopRequest
from svc.assistant.workers.pool import Job, JobEnd, Limits, Workers
from svc.errors import ConfigError, UnavailableError
from tests.support.dask_processes import dask_scheduler, dask_workers, stop_machine
from tests.support.evidence_kinds import KINDS
from tests.support.live import free_port, wait_until
from tests.support.part_logs import SHAPES, log_of

LOGINS = "svc.assistant.skills.logins.tool:inspect"
EVENTS = "svc.assistant.skills.events.tool:inspect"
PRELOAD = ("svc.assistant.skills.events.tool", "svc.assistant.skills.logins.tool")
PART = 20_000
TOOLS = """
import os, signal, time
from pathlib import Path
import psutil
from svc.assistant import knowledge
from svc.assistant.findings import Coverage, Finding, Gap, Progress
from svc.assistant.skills.cvss.findings import AllowedRow, CvssBroken

def found(title, number=1):
    return Finding(title=title, facts=CvssBroken(vector="", version="3.1", problems=["a"], lowest_score=None,
        at_fault=[AllowedRow("AC", "L, H")], highest_score=2.5, count=number))

def whereabouts(text, *, source):
    chain = [psutil.Process()]
    while (parent := chain[-1].parent()) is not None:
        chain.append(parent)
    yield Progress(text=" ".join(str(one.pid) for one in chain))
    yield Progress(text=repr(dict(os.environ)))
    try:
        environment = [one.environ() for one in chain[:3]]
    except psutil.AccessDenied:
        environment = []
    yield Progress(text=repr(environment))

def killed(text, *, source):
    yield found("before")
    yield Progress(text="started")
    os.kill(os.getpid(), signal.SIGSEGV)

def raises(text, *, source):
    yield found("before")
    raise ValueError("bad")

def endless(text, *, source):
    yield found("before")
    yield Progress(text=str(os.getpid()))
    while True:
        sum(range(1000))

def waits(text, *, source, marker):
    for number in range(300):
        yield found(str(number), number)
    yield Progress(text=str(os.getpid()))
    while not Path(marker).exists():
        time.sleep(0.02)
    for number in range(300, 600):
        yield found(str(number), number)
    yield Coverage(read_as="log", unit="line", understood=1, total=1, looked_for="x")

def kills_its_machine(text, *, source):
    next(one for one in psutil.Process().parents() if "dask worker" in " ".join(one.parent().cmdline())).kill()
    time.sleep(60)
    yield found("never")

def changes(text, *, source, marker):
    yield found(str(os.getpid()))
    yield Progress(text=str(os.getpid()))
    while not Path(marker).exists():
        time.sleep(0.02)

def slowly_counted(lines, *, source):
    for number, line in enumerate(lines, start=1):
        time.sleep(0.001)
        if number % 500 == 1:
            yield Progress(text=f"line {number}")
    yield found(str(number))
    yield Coverage(read_as="log", unit="line", understood=number, total=number, looked_for="x")

def table(text, *, source):
    yield found(knowledge.read("facts.toml").decode())

def flood(text, *, source):
    for number in range(4_000):
        yield found("x" * 5_000, number)
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("tools")
    (folder / "remote_tools.py").write_text(TOOLS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dask_scheduler(tmp_path_factory.mktemp("scheduler")) as address:
        yield address


def started(address: str, tools: Path, count: int = 2, options: Sequence[str] = ()):
    root = Path(__file__).parents[5]
    return dask_workers(address, tools, count, options, PYTHONPATH=f"{root}:{tools}", CLUSTER_SECRET="hush-1234")


@pytest.fixture(scope="module")
def machines(scheduler: str, tools: Path):
    with started(scheduler, tools) as processes:
        yield processes


def files_in(tmp_path: Path) -> Path:
    folder = tmp_path / "service.db.files"
    folder.mkdir(exist_ok=True)
    return folder


def cluster_of(address: str, tmp_path: Path, patience: float = 30.0) -> DaskCluster:
    scheme, _, place = address.partition("://")
    url = f"{'dask' if scheme == 'tcp' else 'dask+tls'}://{place}"
    return DaskCluster(
        ToolCluster(address=url, folder=files_in(tmp_path), at_once=2, patience_seconds=patience), preload=PRELOAD
    )


@pytest.fixture
async def remote(scheduler: str, machines, tmp_path: Path) -> AsyncIterator[Workers]:
    workers = Workers(slots=1, limits=Limits(part_bytes=PART))
    workers.set_cluster(cluster_of(scheduler, tmp_path))
    await wait_for_workers(scheduler, 2)
    await workers.start()
    yield workers
    await workers.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1.0)


async def wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    client = await Client(address, asynchronous=True, set_as_default=False)
    await client.wait_for_workers(count, timeout=90)
    await client.close()


@pytest.fixture
async def local() -> AsyncIterator[Workers]:
    workers = Workers(slots=1, limits=Limits(part_bytes=PART), preload=PRELOAD)
    await workers.start()
    yield workers
    await workers.close()


def job_of(tool: str, tmp_path: Path, content: bytes = b"x\n", *, kind: InputKind = InputKind.TEXT, **options: str):
    path = files_in(tmp_path) / hashlib.sha256(content + tool.encode()).hexdigest()[:32]
    path.write_bytes(content)
    return Job(
        tool=tool if "." in tool else f"remote_tools:{tool}",
        input=kind, name="evidence", source=path, content=hashlib.sha256(content).hexdigest(), facts=(CvssBroken,),
        options=options,
    )  # fmt: skip


async def run(workers: Workers, job: Job) -> list[object]:
    return [item async for item in workers.run(job)]


def kept(items: Sequence[object]) -> list[object]:
    return [item for item in items if not isinstance(item, Progress)]


def read_as(name: str, content: bytes, tmp_path: Path) -> Job:
    is_auth = name == "auth.log"
    job = job_of(
        LOGINS if is_auth else EVENTS, tmp_path, content, kind=InputKind.LINES if is_auth else InputKind.BINARY
    )
    [facts] = [skill.facts for skill in SKILLS if skill.tool == job.tool]
    return msgspec.structs.replace(job, name=name, facts=facts, looks_for_instructions=True)


async def findings(workers: Workers, jobs: Sequence[Job]) -> list[list[bytes]]:
    found: list[list[bytes]] = [[] for _ in jobs]
    async for index, item in workers.run_all(jobs):
        if item is not None and not isinstance(item, Progress | JobEnd):
            found[index].append(msgspec.msgpack.encode(item))
    return found


async def check_equal(remote: Workers, local: Workers, jobs: Sequence[Job]) -> None:
    here, there = await findings(local, jobs), await findings(remote, jobs)
    assert all(here)
    assert there == here


async def test_findings_are_those_of_a_local_run_byte_by_byte(remote, local, tmp_path):
    jobs = [read_as(name, log_of(name, 300, seed=1), tmp_path) for name in ("auth.log", "conn.log", "winlogbeat.jsonl")]
    assert jobs[0].source.stat().st_size > PART  # the second part is read by another process
    await check_equal(remote, local, jobs)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_findings_of_all_shapes_in_parts_are_those_of_a_local_run(remote, local, tmp_path):
    await check_equal(remote, local, [read_as(name, log_of(name, 400, seed=2), tmp_path) for name in SHAPES])


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_held", [False, True])
async def test_findings_of_many_kinds_are_those_of_a_local_run(is_held, remote, local, tmp_path):
    kinds = [kind for kind in KINDS.values() if kind.held is is_held]
    await check_equal(remote, local, [read_as(*kind.evidence(), tmp_path) for kind in kinds])


@pytest.mark.parametrize("tool", ["killed", "raises"])
async def test_a_process_that_dies_is_reported_as_here(tool, remote, local, tmp_path):
    job = job_of(tool, tmp_path)
    there = kept(await run(remote, job))
    assert [type(item) for item in there] == [Finding, Finding]
    assert there == kept(await run(local, job))
    assert isinstance(there[1].facts, ToolFailure)


async def test_a_job_runs_under_the_dask_worker_and_knows_no_secret(remote, machines, tmp_path):
    places, here, environment = [item.text for item in await run(remote, job_of("whereabouts", tmp_path))]
    assert {str(one.pid) for one in machines} & set(places.split())
    assert here == "{}"
    assert "hush" not in environment


async def test_what_is_not_on_disk_is_read_on_this_machine(remote, machines, tmp_path):
    job = msgspec.structs.replace(job_of("whereabouts", tmp_path), source=b"secret")
    places, *_ = [item.text for item in await run(remote, job)]
    assert not {str(one.pid) for one in machines} & set(places.split())


async def test_a_closed_job_leaves_no_process(remote, tmp_path):
    async with aclosing(remote.run(job_of("endless", tmp_path))) as items:
        async for item in items:
            if isinstance(item, Progress) and item.text.isdigit():
                break
    wait_until(lambda: not psutil.pid_exists(int(item.text)), "the process to be gone", 30)
    assert remote.load.busy == 0
    assert kept(await run(remote, job_of("killed", tmp_path)))  # the machine is free again


async def test_a_job_whose_turn_ends_before_it_is_placed_is_not_begun(remote, tmp_path):
    token = TURN_END.set(asyncio.get_running_loop().time() + 1)
    hogs = [asyncio.create_task(run(remote, job_of("endless", tmp_path, bytes([n])))) for n in range(2)]
    await asyncio.sleep(0)
    [failed] = kept(await run(remote, job_of("killed", tmp_path)))
    TURN_END.reset(token)
    assert "before it began" in failed.why
    for hog in hogs:
        hog.cancel()
    await asyncio.gather(*hogs, return_exceptions=True)


async def test_a_stopped_job_reports_what_it_read(remote, tmp_path):
    request = StopRequest()
    token = STOP.set(request)
    items = []
    remote._limits = Limits()  # not in parts, which this tool does not know
    job = job_of("slowly_counted", tmp_path, (b"x" * 99 + b"\n") * 12_000, kind=InputKind.LINES)
    async for item in remote.run(job):
        items.append(item)
        if isinstance(item, Progress) and item.text == "line 501":
            request.request()
    STOP.reset(token)
    finding, coverage, gap = kept(items)
    assert 500 < int(finding.title) < 12_000
    assert isinstance(coverage, Coverage)
    assert isinstance(gap, Gap)
    assert "the question was cancelled" in gap.text


async def test_the_users_own_tables_are_used_there(remote, tmp_path, monkeypatch):
    own = tmp_path / "own"
    own.mkdir()
    (own / "facts.toml").write_text("own = 1")
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(own))
    [found] = kept(await run(remote, job_of("table", tmp_path)))
    assert found.title == "own = 1"
    (own / "facts.toml").write_text("own = 22")
    [found] = kept(await run(remote, job_of("table", tmp_path)))
    assert found.title == "own = 22"


async def test_a_job_that_finds_much_waits_for_who_takes_it(remote, tmp_path):
    count = 0
    async for item in remote.run(job_of("flood", tmp_path)):
        count += isinstance(item, Finding)
        if count == 1:
            await asyncio.sleep(0.5)
    assert count == 4_000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.unlink(), "has no file"),
        (lambda path: path.write_bytes(b"y\n"), "has another content there"),
        (lambda path: path.write_bytes(b"x"), "has 1 bytes there instead of 2"),
    ],
)
async def test_another_file_than_the_attached_one_is_not_read(change, reason, remote, tmp_path, monkeypatch):
    from svc.assistant.workers import pool

    job = job_of("raises", tmp_path)
    monkeypatch.setattr(pool, "size_of", lambda _: 2)
    change(job.source)
    [failed] = kept(await run(remote, job))
    assert isinstance(failed.facts, ToolFailure)
    assert reason in failed.facts.reason


async def test_a_machine_with_another_program_runs_no_job(remote, tmp_path, monkeypatch):
    other = msgspec.structs.replace(own_program(), version="0.0.1")
    monkeypatch.setattr(dask_cluster, "own_program", lambda: other)
    [failed] = kept(await run(remote, job_of("raises", tmp_path)))
    assert f"it has svc {own_program().version} instead of 0.0.1" in failed.facts.reason


async def test_a_cluster_with_another_program_is_refused_at_the_start(scheduler, machines, tmp_path, monkeypatch):
    await wait_for_workers(scheduler, 2)
    other = msgspec.structs.replace(own_program(), libraries={**own_program().libraries, "evtx": "0.1"})
    monkeypatch.setattr(dask_cluster, "own_program", lambda: other)
    cluster = cluster_of(scheduler, tmp_path)
    with pytest.raises(ConfigError, match=r"its worker tcp://\S+ has evtx \S+ instead of 0\.1\. Install the same"):
        await cluster.start(lambda _: None)
    await cluster.close()


async def test_a_job_waits_for_a_scheduler_that_is_away_and_is_refused_then(tmp_path, tools, quick):
    port = free_port()
    workers = Workers(slots=1)
    workers.set_cluster(cluster_of(f"tcp://127.0.0.1:{port}", tmp_path, patience=0.1))
    with dask_scheduler(tmp_path, "--port", str(port)):
        await workers.start()
    with pytest.raises(UnavailableError, match="is out of reach, so attached files cannot be read"):
        await run(workers, job_of("raises", tmp_path))
    await workers.close()


@pytest.mark.slow
async def test_a_service_waits_at_its_start_for_a_scheduler(tmp_path, quick):
    cluster = cluster_of(f"tcp://127.0.0.1:{free_port()}", tmp_path)
    starting = asyncio.create_task(cluster.start(lambda _: None))
    while not cluster.waiting_for.endswith("out of reach"):
        await asyncio.sleep(0.05)
    assert not starting.done()
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await cluster.close()


async def with_a_loss(workers: Workers, job: Job, lose: Callable[[psutil.Process], None]) -> list[object]:
    """Run a job, and lose its machine once it has yielded half of its findings."""
    items: list[object] = []
    marker = Path(job.options["marker"])
    async for item in workers.run(job):
        items.append(item)
        if isinstance(item, Progress) and item.text.isdigit() and not marker.exists():
            reading = psutil.Process(int(item.text))
            lose(reading)
            wait_until(lambda: not reading.is_running(), "the process to end with its machine", 30)  # noqa: B023
            marker.touch()
    return items


@pytest.mark.slow
async def test_a_dask_worker_that_dies_costs_no_finding_and_doubles_none(remote, machines, tmp_path):
    def lose(reading: psutil.Process) -> None:
        nannies = {one.pid for one in machines}
        [worker] = [one for one in reading.parents() if one.ppid() in nannies]
        worker.kill()  # its nanny starts another

    items = await with_a_loss(remote, job_of("waits", tmp_path, marker=str(tmp_path / "lost")), lose)
    assert [item.title for item in items if isinstance(item, Finding)] == [str(number) for number in range(600)]
    assert isinstance(items[-1], Coverage)
    assert any("; it is read again" in item.text for item in items if isinstance(item, Progress))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("tool", ["waits", "changes"])
async def test_a_machine_that_goes_away_costs_no_finding_unless_the_second_finds_other_things(tool, tmp_path, tools):
    job = job_of(tool, tmp_path, marker=str(tmp_path / "lost"))
    workers = Workers(slots=1)
    with dask_scheduler(tmp_path) as scheduler, started(scheduler, tools) as machines:

        def lose(reading: psutil.Process) -> None:
            ancestors = {one.pid for one in reading.parents()}
            [lost] = [one for one in machines if one.pid in ancestors]
            stop_machine(lost)

        await wait_for_workers(scheduler, 2)
        workers.set_cluster(cluster_of(scheduler, tmp_path))
        await workers.start()
        items = kept(await with_a_loss(workers, job, lose))
        await workers.close()
    if tool == "waits":
        assert [item.title for item in items[:-1]] == [str(number) for number in range(600)]
        return
    first, failed = items
    assert first.title.isdigit()
    assert "found other things" in failed.facts.reason


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_job_that_kills_its_machines_is_given_up(remote, tmp_path):
    [failed] = kept(await run(remote, job_of("kills_its_machine", tmp_path)))
    assert isinstance(failed.facts, ToolFailure)
    assert "was lost" in failed.facts.reason


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_cluster_with_tls_runs_jobs_of_who_has_a_certificate(tmp_path, tools, quick):
    authority, mine = trustme.CA(), trustme.CA()
    paths = {name: str(tmp_path / f"{name}.pem") for name in ("ca", "cert", "key", "others_cert", "others_key")}
    authority.cert_pem.write_to_path(paths["ca"])
    for issuer, name in ((authority, ""), (mine, "others_")):
        certificate = issuer.issue_cert("127.0.0.1", "localhost")
        certificate.private_key_pem.write_to_path(paths[f"{name}key"])
        certificate.cert_chain_pems[0].write_to_path(paths[f"{name}cert"])
    options = ("--tls-ca-file", paths["ca"], "--tls-cert", paths["cert"], "--tls-key", paths["key"])
    with dask_scheduler(tmp_path, "--port", "0", "--protocol", "tls", *options) as scheduler:
        assert scheduler.startswith("tls://")
        with started(scheduler, tools, 1, options):
            mutual = {"distributed.comm.tls.ca-file": paths["ca"]}
            own = {"distributed.comm.tls.client.cert": paths["cert"], "distributed.comm.tls.client.key": paths["key"]}
            with dask.config.set({**mutual, **own, "distributed.comm.require-encryption": True}):
                await wait_for_workers(scheduler, 1)
                workers = Workers(slots=1)
                workers.set_cluster(cluster_of(scheduler, tmp_path))
                await workers.start()
                assert len(kept(await run(workers, job_of("raises", tmp_path)))) == 2
                await workers.close()
            others = {
                "distributed.comm.tls.client.cert": paths["others_cert"],
                "distributed.comm.tls.client.key": paths["others_key"],
            }
            with dask.config.set({**mutual, **others}):
                refused = cluster_of(scheduler, tmp_path)
                starting = asyncio.create_task(refused.start(lambda _: None))
                while not refused.waiting_for.endswith("out of reach"):
                    await asyncio.sleep(0.05)
                    assert not starting.done()
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)
                await refused.close()
