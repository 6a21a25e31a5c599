"""Files and folders that only this user may open: by their mode, and on Windows by their access control list."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from svc.process_safety import windows_acl

_OF_OTHERS = stat.S_IWGRP | stat.S_IRWXO  # a group may read a team's file; nobody else may read or change it


def make_private_folder(folder: Path) -> None:
    """Create the folder if it is missing, and let nobody else into it.

    Raises:
        OSError: It cannot be created, or its file system or owner does not let it be private.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32":
        _restrict(folder, windows_acl.PRIVATE_FOLDER)


def make_private_file(file: Path) -> None:
    """Let nobody else open the file, which exists. Raises OSError."""
    file.chmod(0o600)
    if sys.platform == "win32":
        _restrict(file, windows_acl.PRIVATE_FILE)


def has_owners() -> bool:
    """Whether files have an owner and a mode as POSIX has them."""
    return hasattr(os, "getuid")


def problem_with(file: Path, status: os.stat_result) -> str:
    """Why others can read a secret in this file; "" if only its owner, the system and perhaps a group can open it."""
    if sys.platform == "win32":
        groups = windows_acl.groups_of_everybody(windows_acl.read(file))
        advice = f'Run: icacls "{file}" /inheritance:r /grant:r "%USERNAME%:F"'
        return f"{', '.join(groups)} can open it. {advice}" if groups else ""
    if not has_owners():
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user."
    return f"others can read or change it. Run: chmod 600 {file}" if status.st_mode & _OF_OTHERS else ""


if sys.platform == "win32":

    def _restrict(path: Path, sddl: str) -> None:
        windows_acl.replace(path, sddl)
        found = windows_acl.others(windows_acl.read(path), windows_acl.user_sid())
        if found:  # a file system without access control, or a network share with its own
            raise PermissionError(
                13, f"its file system lets {', '.join(found)} open it; use a folder on NTFS", str(path)
            )
