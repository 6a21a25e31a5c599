"""Access control lists of Windows: who may open a file, and how to let nobody do so but this user and the system.

The lists are handled in Windows' own text form (SDDL), as ``os.mkdir`` of Python 3.13 does. The calls are only made on
Windows; reading the text form is pure.
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

PRIVATE_FOLDER = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)"  # system, administrators, owner; inherited
PRIVATE_FILE = "D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;OW)"
_ENTRY = re.compile(r"\(((?:[^();]*;){5}[^();]*)")  # six fields; a seventh may be a condition with parentheses
_ALLOWING = ("A", "OA", "XA", "ZA")
_PRIVILEGED = frozenset({"SY", "BA", "OW", "CO", "LA", "S-1-5-18", "S-1-5-32-544", "S-1-3-4", "S-1-3-0"})
_EVERYBODY = {
    "WD": "Everyone", "S-1-1-0": "Everyone", "AU": "Authenticated Users", "S-1-5-11": "Authenticated Users",
    "BU": "Users", "S-1-5-32-545": "Users", "BG": "Guests", "S-1-5-32-546": "Guests", "AN": "Anonymous",
    "S-1-5-7": "Anonymous", "IU": "Interactive", "S-1-5-4": "Interactive", "NU": "Network", "S-1-5-2": "Network",
    "DU": "Domain Users", "DG": "Domain Guests",
}  # fmt: skip


def trustees(sddl: str) -> frozenset[str]:
    """Whom a discretionary list lets in, by the short names and SIDs of SDDL; a file without a list is open to WD."""
    _, is_there, entries = sddl.partition("D:")
    entries = entries.partition("S:")[0] if not entries.startswith("(") else entries
    if not is_there or "NO_ACCESS_CONTROL" in entries:
        return frozenset({"WD"})
    found = set()
    for entry in _ENTRY.findall(entries):
        fields = entry.split(";")
        if fields[0] in _ALLOWING and fields[2] not in ("", "0x0"):
            found.add(fields[5])
    return frozenset(found)


def others(sddl: str, user_sid: str) -> list[str]:
    """Who is let in besides this user, the system and the administrators."""
    return sorted(_EVERYBODY.get(name, name) for name in trustees(sddl) - _PRIVILEGED - {user_sid})


def groups_of_everybody(sddl: str) -> list[str]:
    """Which groups that everybody belongs to are let in."""
    return sorted({_EVERYBODY[name] for name in trustees(sddl) if name in _EVERYBODY})


if sys.platform == "win32":
    from ctypes import wintypes

    _FILE_OBJECT = 1
    _OWNER, _DACL, _PROTECTED = 0x1, 0x4, 0x8000_0000
    _REVISION = 1
    _TOKEN_QUERY, _TOKEN_USER = 0x8, 1
    _advapi = ctypes.WinDLL("advapi32", use_last_error=True)
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _POINTER = ctypes.POINTER(ctypes.c_void_p)
    _advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW.argtypes = (
        wintypes.LPCWSTR, wintypes.DWORD, _POINTER, ctypes.c_void_p,
    )  # fmt: skip
    _advapi.GetSecurityDescriptorDacl.argtypes = (
        ctypes.c_void_p, ctypes.POINTER(wintypes.BOOL), _POINTER, ctypes.POINTER(wintypes.BOOL),
    )  # fmt: skip
    _advapi.SetNamedSecurityInfoW.argtypes = (
        wintypes.LPWSTR, ctypes.c_int, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
        ctypes.c_void_p,
    )  # fmt: skip
    _advapi.GetNamedSecurityInfoW.argtypes = (
        wintypes.LPWSTR, ctypes.c_int, wintypes.DWORD, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER,
    )  # fmt: skip
    _advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW.argtypes = (
        ctypes.c_void_p, wintypes.DWORD, wintypes.DWORD, _POINTER, ctypes.c_void_p,
    )  # fmt: skip
    _advapi.ConvertSidToStringSidW.argtypes = (ctypes.c_void_p, _POINTER)
    _advapi.OpenProcessToken.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.POINTER(wintypes.HANDLE))
    _advapi.GetTokenInformation.argtypes = (
        wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD, ctypes.POINTER(wintypes.DWORD),
    )  # fmt: skip
    _kernel.GetCurrentProcess.restype = wintypes.HANDLE
    _kernel.LocalFree.argtypes = (ctypes.c_void_p,)
    _kernel.CloseHandle.argtypes = (wintypes.HANDLE,)

    def read(path: Path) -> str:
        """The owner and the list of a file, as SDDL. Raises OSError."""
        descriptor, text = ctypes.c_void_p(), ctypes.c_void_p()
        code = _advapi.GetNamedSecurityInfoW(
            str(path), _FILE_OBJECT, _OWNER | _DACL, None, None, None, None, ctypes.byref(descriptor)
        )
        if code:
            raise ctypes.WinError(code)
        try:
            _check(
                _advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW(
                    descriptor, _REVISION, _OWNER | _DACL, ctypes.byref(text), None
                )
            )
            return ctypes.wstring_at(text.value or 0)
        finally:
            _kernel.LocalFree(text)
            _kernel.LocalFree(descriptor)

    def replace(path: Path, sddl: str) -> None:
        """Give a file this list, which inherits nothing from its folder. Raises OSError."""
        descriptor, dacl = ctypes.c_void_p(), ctypes.c_void_p()
        flag, other = wintypes.BOOL(), wintypes.BOOL()
        _check(
            _advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW(
                sddl, _REVISION, ctypes.byref(descriptor), None
            )
        )
        try:
            _check(
                _advapi.GetSecurityDescriptorDacl(
                    descriptor, ctypes.byref(flag), ctypes.byref(dacl), ctypes.byref(other)
                )
            )
            code = _advapi.SetNamedSecurityInfoW(str(path), _FILE_OBJECT, _DACL | _PROTECTED, None, None, dacl, None)
            if code:
                raise ctypes.WinError(code)
        finally:
            _kernel.LocalFree(descriptor)

    def user_sid() -> str:
        """The SID of this process's user. Raises OSError."""
        token, size, text = wintypes.HANDLE(), wintypes.DWORD(), ctypes.c_void_p()
        _check(_advapi.OpenProcessToken(_kernel.GetCurrentProcess(), _TOKEN_QUERY, ctypes.byref(token)))
        try:
            _advapi.GetTokenInformation(token, _TOKEN_USER, None, 0, ctypes.byref(size))
            buffer = ctypes.create_string_buffer(size.value)
            _check(_advapi.GetTokenInformation(token, _TOKEN_USER, buffer, size, ctypes.byref(size)))
            sid = ctypes.cast(buffer, _POINTER)[0]  # the first member of TOKEN_USER
            _check(_advapi.ConvertSidToStringSidW(sid, ctypes.byref(text)))
            return ctypes.wstring_at(text.value or 0)
        finally:
            _kernel.LocalFree(text)
            _kernel.CloseHandle(token)

    def _check(is_done: int) -> None:
        if not is_done:
            raise ctypes.WinError(ctypes.get_last_error())
