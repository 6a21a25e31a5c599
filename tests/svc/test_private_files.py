"""Files of this user only: what an access control list of Windows says, and how a file is replaced there."""

import io
import os
import sys
from types import SimpleNamespace

import pytest

from svc import _atomic_file
from svc._atomic_file import replace, write_atomic
from svc.cli.console import prepare_output
from svc.process_safety import interpreter, private_files, windows_acl

ME = "S-1-5-21-1004336348-1177238915-682003330-1001"

LISTS = {
    "as we make it": (windows_acl.PRIVATE_FOLDER, [], []),
    "as Windows gives it back": ("O:BAG:DUD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)", [], []),
    "a profile": (f"O:{ME}D:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;FA;;;{ME})", [], []),
    "another disk": (
        "O:BAD:AI(A;OICIID;FA;;;BA)(A;OICIIOID;GA;;;CO)(A;OICIID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)",
        ["Authenticated Users", "Users"], ["Authenticated Users", "Users"],
    ),
    "everybody": ("D:(A;OICI;FA;;;WD)", ["Everyone"], ["Everyone"]),
    "everybody by SID": ("D:P(A;;FR;;;S-1-1-0)", ["Everyone"], ["Everyone"]),
    "no list": ("O:BAD:NO_ACCESS_CONTROL", ["Everyone"], ["Everyone"]),
    "nothing read": ("", ["Everyone"], ["Everyone"]),
    "an empty list lets nobody in": ("D:P", [], []),
    "everybody is kept out": (f"D:(D;;FA;;;WD)(A;;FA;;;{ME})", [], []),
    "a colleague": ("D:P(A;;FR;;;S-1-5-21-1-2-3-1107)(A;;FA;;;SY)", ["S-1-5-21-1-2-3-1107"], []),
    "a condition": ('D:(XA;;FR;;;AU;(@User.Title=="PM"))', ["Authenticated Users"], ["Authenticated Users"]),
    "auditing is no access": (f"D:P(A;;FA;;;{ME})S:AI(AU;SAFA;FA;;;WD)", [], []),
    "no right": ("D:(A;;0x0;;;WD)", [], []),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_who_a_list_lets_in(name):
    sddl, others, groups = LISTS[name]
    assert windows_acl.others(sddl, ME) == others
    assert windows_acl.groups_of_everybody(sddl) == groups


def test_a_long_list_is_read_in_linear_time():
    assert windows_acl.others("D:" + "(" * 100_000 + "A;;FA;;;WD" + ")" * 100_000, ME) == ["Everyone"]


@pytest.fixture
def windows(monkeypatch):
    """``os.name`` as on Windows, for the code of atomic files only."""
    monkeypatch.setattr(_atomic_file, "os", SimpleNamespace(**{**vars(os), "name": "nt"}))


class _Busy:
    """A path that others have open for some attempts."""

    def __init__(self, path, attempts):
        self._path = path
        self.attempts = attempts

    def replace(self, target):
        if self.attempts:
            self.attempts -= 1
            raise PermissionError(13, "Access is denied")
        self._path.replace(target)


def test_a_file_that_others_read_is_replaced_when_they_have_closed_it(windows, tmp_path):
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    replace(_Busy(tmp_path / "new", 3), tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"


def test_a_file_that_stays_open_is_an_error_and_nothing_is_lost(windows, tmp_path, monkeypatch):
    monkeypatch.setattr(_atomic_file, "REPLACE_SECONDS", 0.05)
    (tmp_path / "old").write_text("old")
    with pytest.raises(PermissionError, match="Access is denied"):
        replace(_Busy(tmp_path / "new", 1_000), tmp_path / "old")
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.posix("there the first refusal is final")
def test_elsewhere_a_refusal_is_final(tmp_path):
    busy = _Busy(tmp_path / "new", 2)
    with pytest.raises(PermissionError):
        replace(busy, tmp_path / "old")
    assert busy.attempts == 1


def test_a_private_file_is_private_before_it_has_content(tmp_path, monkeypatch):
    sizes = []
    usual = private_files.make_private_file
    monkeypatch.setattr(_atomic_file, "make_private_file", lambda path: (sizes.append(path.name), usual(path)))
    write_atomic(tmp_path / "key", b"secret")
    assert len(sizes) == 1
    assert (tmp_path / "key").read_bytes() == b"secret"


def test_a_service_in_a_virtual_environment_of_windows_is_the_process_that_was_started(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "executable", r"C:\venv\Scripts\python.exe")
    monkeypatch.setattr(sys, "_base_executable", r"C:\Python\python.exe")
    program, environment = interpreter()
    assert program == r"C:\Python\python.exe"
    assert environment["__PYVENV_LAUNCHER__"] == r"C:\venv\Scripts\python.exe"


def test_elsewhere_the_interpreter_is_the_one_that_runs():
    program, environment = interpreter()
    assert program == sys.executable
    assert "__PYVENV_LAUNCHER__" not in environment


@pytest.mark.parametrize(
    ("encoding", "chosen", "is_terminal", "written"),
    [
        pytest.param("cp1252", "", False, "→ ü".encode(), id="a pipe of Windows"),
        pytest.param("cp437", "", True, rb"\u2192 " + "ü".encode("cp437"), id="an old terminal"),
        pytest.param("ascii", "ascii", False, rb"\u2192 \xfc", id="PYTHONIOENCODING"),
        pytest.param("utf-8", "", False, "→ ü".encode(), id="UTF-8"),
    ],
)
def test_any_text_can_be_printed(monkeypatch, encoding, chosen, is_terminal, written):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    stream.isatty = lambda: is_terminal
    monkeypatch.setenv("PYTHONIOENCODING", chosen)
    monkeypatch.setattr(sys, "stdout", stream)
    prepare_output()
    stream.write("→ ü")
    stream.flush()
    assert raw.getvalue() == written
