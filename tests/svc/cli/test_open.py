"""``svc open``: the file that it writes, the browser that it calls, and where no secret is to be found."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
import time
from pathlib import Path

import httpx2

from svc.cli.open import write_form


def run_open(folder: Path, browser: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BROWSER": browser, "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, "-m", "svc.cli.main", "open"], env=environment, capture_output=True, text=True, timeout=60
    )


def test_the_browser_is_given_a_file_that_posts_a_code_and_no_key(local_state: Path, tmp_path: Path):
    seen = tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {shlex.quote(str(seen))}\n', encoding="utf-8")
    script.chmod(0o700)

    done = run_open(local_state, f"{script} %s")

    assert (done.returncode, done.stderr) == (0, "")
    address = seen.read_text(encoding="utf-8")
    assert address.startswith("file://")
    form = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    key = (local_state / "key").read_text(encoding="utf-8").strip()
    code = re.search(r'name="code" value="([^"]+)"', form)[1]
    assert key not in form + address + done.stdout
    assert code not in address + done.stdout

    target = re.search(r'action="([^"]+)"', form)[1]
    first, second = (httpx2.post(target, data={"code": code}, headers={"origin": "null"}) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 401)
    assert "svc_" not in first.text + second.text
    confirmation = re.search(r'name="confirmation" value="([^"]+)"', first.text)[1]
    page = httpx2.post(target, data={"confirmation": confirmation}, headers={"origin": target.rstrip("/")})
    assert key not in page.text
    assert "svc_" in page.text


def test_without_a_browser_the_file_to_open_is_shown(local_state: Path):
    done = run_open(local_state, "/nonexistent/browser %s")

    assert done.returncode == 0
    file = Path(done.stdout.rsplit(": ", 1)[1].strip())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.parent == local_state


def test_files_whose_code_has_run_out_are_removed(tmp_path: Path):
    old = write_form(tmp_path, "http://127.0.0.1:1/", "a")
    young = write_form(tmp_path, "http://127.0.0.1:1/", "b")
    os.utime(old, (time.time() - 61, time.time() - 61))

    new = write_form(tmp_path, "http://127.0.0.1:1/", "c")

    assert sorted(tmp_path.iterdir()) == sorted([young, new])


def test_an_address_stays_text_in_the_file(tmp_path: Path):
    file = write_form(tmp_path, 'http://127.0.0.1:1/"><script>x</script>/', "a")

    assert "<script>x" not in file.read_text(encoding="utf-8")
