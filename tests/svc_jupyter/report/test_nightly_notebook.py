"""The third example: a sweep on its pinned answers, with the network cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.made_keys import UNKNOWN_KEY
from tests.support.reports import Ran, run_report

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
PATH = NOTEBOOKS / "03_nightly_host_report.ipynb"
CUT = {"SVC_API_KEY": UNKNOWN_KEY, "SVC_BASE_URL": "http://127.0.0.1:9", "SVC_WS_URL": ""}


def report(*arguments: str, **environment: str) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return run_report(*arguments, folder=NOTEBOOKS)


def test_its_sweep_runs_on_pinned_answers_and_every_host_has_its_verdict(tmp_path: Path):
    out = tmp_path / "out"
    done = report(
        *(
            "run",
            PATH.name,
            "--sweep",
            "evidence/hosts.csv",
            "--answers",
            "pin",
            "--out",
            str(out),
            "--to",
            "html,ipynb",
        ),
        **CUT,
    )

    assert done.returncode == 0, done.stderr
    cases = {case["name"]: case for case in json.loads((out / "run.json").read_text())["cases"]}
    assert cases["web-3"]["verdict"].startswith("Yes: compromised account: deploy")
    assert "T1003.001" in cases["WS-17"]["verdict"]
    assert len(cases["web-3"]["answers"]) == 3
    same = report("diff", str(out), str(out), "--fail-on-change")
    assert same.returncode == 0, same.stderr
    assert "Answers: 0 changed, 0 new, 0 gone, 6 same. Findings: 0 added, 0 removed." in same.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param(["-p", "host=web-9"], "pin missed", id="a changed parameter is a miss, never a silent call"),
        pytest.param(["--answers-store", "nowhere"], "pin missed", id="no store"),
    ],
)
def test_a_miss_has_its_own_exit_code(arguments: list[str], status: str, tmp_path: Path):
    done = report("run", PATH.name, "--answers", "pin", "--out", str(tmp_path / "out"), *arguments, **CUT)

    assert done.returncode == 4
    assert f"{status}: AnswerMissingError: no stored answer" in done.stderr
