"""The first example: executed as its users execute it, and its answers are right."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

from svc_jupyter.answers.answer import MIME_TYPE
from tests.support.kernels import ipc

PATH = Path(__file__).parents[2] / "notebooks" / "01_ask.ipynb"


@pytest.fixture
def answers(local_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[NotebookNode]:
    """The answers in order; the notebook is run whole, as README's first command runs it."""
    monkeypatch.delenv("SVC_ANSWERS", raising=False)
    notebook = nbformat.read(PATH, as_version=4)
    NotebookClient(
        notebook, config=Config({"KernelManager": ipc(tmp_path)}), resources={"metadata": {"path": str(PATH.parent)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output for output in outputs if MIME_TYPE in output.get("data", {})]


def test_each_question_is_asked_and_gets_its_answer(answers: list[NotebookNode]):
    who, indicators, decoded, score, before = (answer.data["text/markdown"] for answer in answers)

    assert "1,201" in who
    assert "`deploy`" in who
    assert "203[.]0[.]113[.]77" in who
    for indicator in ("hxxps://login[.]notice-desk[.]top/track?id=771", "198[.]51[.]100[.]23", "CVE-2017-11882"):
        assert indicator in indicators
    assert "DownloadString('http://198.51.100.23/a.ps1')" in decoded
    assert "9.8" in score
    assert "Which accounts were brute-forced, and did anyone get in?" in before
    assert [answer.metadata[MIME_TYPE]["is_stored"] for answer in answers] == [False] * 5
    assert {path.name for path in PATH.parent.glob("*.log")} == set()
