"""The triage notebook: executed as its users execute it, each answer names what that piece of evidence shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

from tests.support.incident import EVIDENCE, FOLDER
from tests.support.kernels import ipc
from tests.support.local_services import stop_local_service

PATH = Path(__file__).parents[2] / "notebooks" / "02_triage.ipynb"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The Markdown under each cell that has some, by the cell's last line; the notebook is run once, whole."""
    folder = tmp_path_factory.mktemp("triage")
    unset = ("SVC_API_KEY", "SVC_BASE_URL", "SVC_WS_URL", "SVC_LOCAL_SERVE_ARGS")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_STATE_DIR", str(folder / "state"))
        for name in unset:
            patch.delenv(name, raising=False)
        notebook = nbformat.read(PATH, as_version=4)
        config = Config({"KernelManager": ipc(folder)})
        NotebookClient(
            notebook, config=config, timeout=90, resources={"metadata": {"path": str(PATH.parent)}}
        ).execute()
    stop_local_service(folder / "state")
    return {
        cell.source.splitlines()[-1]: output.data["text/markdown"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "text/markdown" in output.get("data", {})
    }


ANSWERS = {
    "Is this mail phishing?": ["Phishing", "delivery_note.js", "203[.]0[.]113[.]66", "203[.]0[.]113[.]45"],
    "What does this script do?": ["Malicious", "DownloadString", "hxxp://203[.]0[.]113[.]66/note.txt", "T1059.001"],
    "What happened on this host?": ["T1003.001", "comsvcs.dll", "T1547.001", "T1053.005", "log cleared", "PowerShell"],
    "Which of these are critical?": ["LSASS dump via comsvcs.dll MiniDump", "line 13 of `WS-17.jsonl`"],
    "Which accounts were brute-forced, and did anyone get in?": ["`deploy`", "192[.]0[.]2[.]17", "48"],
    "Only those after 09:35": ["`deploy`", "09:38:22"],
    "What is in this capture, and does anything call home?": [
        "status[.]parcel-desk[.]example",
        "198[.]51[.]100[.]23",
        "every 60 s (40 connections)",
    ],
    'Markdown(table("Technique", techniques))': [
        "| `T1566.001` | mail |",
        "| `T1059.001` | script, events |",
        "| `T1003.001` | events |",
        "| `T1110.001` | logins |",
        "| `T1071.001` | events, traffic |",
    ],
    'Markdown(table("Indicator", indicators))': [
        "| `203[.]0[.]113[.]66` | script, traffic |",
        "| `198[.]51[.]100[.]23` | traffic |",
        "| `parcel-desk[.]example` | traffic |",
        "| `203[.]0[.]113[.]45` | mail |",
    ],
}


@pytest.mark.parametrize("question", ANSWERS)
def test_the_answer_names_what_the_evidence_shows(shown: dict[str, str], question: str):
    answer = shown[question].replace("\\", "")
    assert [name for name in ANSWERS[question] if name not in answer] == []


def test_every_question_is_asked_and_no_other(shown: dict[str, str]):
    assert list(shown) == list(ANSWERS)


def test_a_severity_limit_excludes_the_rest(shown: dict[str, str]):
    assert "scheduled task" not in shown["Which of these are critical?"].lower()


def test_an_answer_is_about_the_file_attached_to_the_question(shown: dict[str, str]):
    answer, not_used, listed = shown["Which accounts were brute-forced, and did anyone get in?"].partition("Not used:")
    assert "WS-17" not in answer
    assert not_used
    assert "`WS-17.jsonl`" in listed


def test_events_before_the_limit_are_not_counted(shown: dict[str, str]):
    assert "08:55:03" not in shown["Only those after 09:35"]


def test_none_of_our_own_hosts_is_an_indicator(shown: dict[str, str]):
    table = shown['Markdown(table("Indicator", indicators))']
    assert "192[.]0[.]2[.]" not in table
    assert "example[.]org" not in table


@pytest.mark.parametrize(("name", "make"), EVIDENCE.items(), ids=EVIDENCE)
def test_the_shipped_evidence_is_what_the_scenario_generates(name: str, make: Callable[[], bytes]):
    assert (FOLDER / name).read_bytes() == make()
