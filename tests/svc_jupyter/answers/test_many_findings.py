"""No finding is missing, however many there are: through a real service, the SDK and an answer's table."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode

from svc import Svc, TurnTimeoutError
from svc.session import InteractiveSession
from svc_jupyter.answers.answer import Answer
from svc_jupyter.answers.store import prune
from svc_jupyter.errors import AskError
from tests.support.indicator_lists import indicator_list
from tests.support.kernels import execute, notebook_of
from tests.support.live import ProcessService, live_process, wait_until
from tests.support.made_keys import UNKNOWN_KEY

ANALYST = "svc.assistant.analyst:Analyst"
MANY = 8_000  # more than one message takes, so that they are in a file
HASHES = ("md5", "sha1", "sha256")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessService]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "tmp").mkdir()
    with live_process(folder, ANALYST, TMPDIR=str(folder / "tmp")) as started:
        yield started


@pytest.fixture
def client(service: ProcessService) -> Iterator[Svc]:
    with Svc(service.key, service.base_url) as made:
        yield made


def ask(session: InteractiveSession, question: str) -> Answer:
    messages = tuple(session.query(question, timeout_seconds=1_000).messages)
    return Answer(messages, "svc-1.1", session.session_id, read_file=session.read_file)


def files_of(service: ProcessService) -> set[Path]:
    """The files in the service's folder for files and in its folder for temporary ones."""
    folder = service.database.with_name(f"{service.database.name}.files")
    return {path for path in (*folder.rglob("*"), *service.database.with_name("tmp").rglob("*")) if path.is_file()}


def found(answer: Answer) -> set[tuple[str, str]]:
    return {(str(row["type"]), str(row["value"])) for row in answer.findings}


def said(answer: Answer) -> int:
    """The number of indicators in the headline."""
    match = re.match(r"\*\*([\d,]+) indicators", answer.raw)
    assert match is not None, answer.raw[:300]
    return int(match[1].replace(",", ""))


@pytest.mark.parametrize("is_logged", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "count", [1_000, MANY, pytest.param(1_000_000, marks=[pytest.mark.long, pytest.mark.timeout(1_800)])]
)
def test_every_indicator_is_in_the_findings(client: Svc, count: int, is_logged: bool):
    text, truth = indicator_list(count)
    session = client.create_session(log_session=is_logged)
    session.attach_file("list.txt", text)

    answer = ask(session, "Extract all indicators from list.txt")

    assert truth - found(answer) == set()
    assert len(answer.findings) == len(answer.indicators) == said(answer)
    assert "Incomplete" not in answer.raw
    assert "omitted" not in answer.raw


@pytest.mark.parametrize("count", [MANY, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_follow_up_counts_all_earlier_findings(client: Svc, count: int):
    text, truth = indicator_list(count, seed=2)
    session = client.create_session()
    session.attach_file("list.txt", text)
    ask(session, "Extract all indicators from list.txt")

    answer = ask(session, "only the hashes")

    hashes = {(kind, value) for kind, value in truth if kind in HASHES}
    assert found(answer) == hashes
    assert f"**{len(hashes):,} of " in answer.raw
    again = ask(session, "how many of these are SHA-256 hashes?")
    count = sum(kind == "sha256" for kind, _ in truth)
    assert f"**{count:,} of {len(hashes):,} findings**" in again.raw


@pytest.mark.slow
def test_a_follow_up_says_what_it_cannot_read_any_more(client: Svc):
    text, _ = indicator_list(MANY, seed=3)
    session = client.create_session()
    session.attach_file("list.txt", text)
    first = ask(session, "Extract all indicators from list.txt")
    made = next(file for file in session.refresh().files if file.content_type_label == "svc_findings")
    session.detach_file(made)

    with pytest.raises(AskError, match=r"findings of this answer are in a file of session .* cannot be read"):
        len(first.findings)
    second = ask(session, "only the hashes")
    assert re.search(r"\*\*Incomplete:\*\* [\d,]+ more earlier findings cannot be read", second.raw)


def test_findings_of_an_unlogged_session_touch_no_disk(client: Svc, service: ProcessService):
    text, _ = indicator_list(MANY, seed=4)
    session = client.create_session(log_session=False)
    session.attach_file("list.txt", text)
    before = files_of(service)
    answer = ask(session, "Extract all indicators from list.txt")
    assert len(answer.findings) > MANY
    assert files_of(service) == before


@pytest.mark.slow
def test_a_cancelled_question_leaves_only_the_findings_of_its_partial_answer(client: Svc, service: ProcessService):
    text, _ = indicator_list(20_000, seed=5)
    session = client.create_session()
    session.attach_file("list.txt", text)
    before = files_of(service)
    with pytest.raises(TurnTimeoutError):
        session.query("Extract all indicators from list.txt", timeout_seconds=0.3)
    wait_until(lambda: session.refresh().state != "running_agent", "the turn's end")
    made = [file for file in session.refresh().files if file.content_type_label == "svc_findings"]
    assert len(files_of(service) - before) == len(made) <= sum(one.is_partial_answer for one in session.history())


@pytest.mark.slow
def test_a_cells_answer_reads_all_findings_from_the_session_or_the_store(
    local_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text, truth = indicator_list(5_000, seed=6)
    key = UNKNOWN_KEY
    (tmp_path / "list.txt").write_text(f"{text}https://example.org/{key}\n")
    notebook = notebook_of(
        "%%svc --attach list.txt --into answer\nExtract all indicators from list.txt",
        "print(len(answer.findings), len(answer.indicators), sorted(row['value'] for row in answer.findings)[100:103])",
        f"print('keys', sum('{key}' in row['value'] for row in answer.findings))",
    )
    monkeypatch.setenv("SVC_ANSWERS", "replay")
    asked = printed(execute(notebook, tmp_path))
    monkeypatch.setenv("SVC_API_KEY", key)
    monkeypatch.setenv("SVC_BASE_URL", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setenv("SVC_ANSWERS", "pin")
    pinned = printed(execute(notebook, tmp_path))

    stored = next((tmp_path / ".answers").rglob("*.findings.jsonl.gz"))
    assert int(asked[0].split()[0]) > len(truth)
    assert pinned[0] == asked[0]
    assert (asked[1], pinned[1]) == ("keys 1", "keys 0")
    assert key.encode() not in gzip.decompress(stored.read_bytes())
    assert [*prune(tmp_path / ".answers", unused_since=time.time() + 60)]
    assert not stored.exists()


def printed(notebook: NotebookNode) -> list[str]:
    return [one.text.strip() for cell in notebook.cells for one in cell.outputs if one.get("name") == "stdout"]
