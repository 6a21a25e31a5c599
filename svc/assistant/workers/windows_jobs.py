"""Windows job objects: limit the memory of a process, let it start no other, and end it with the service.

Only imported on Windows. See "Job Objects" in Microsoft's documentation of Win32.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

assert sys.platform == "win32"

_LIMIT_ACTIVE_PROCESS = 0x0000_0008
_LIMIT_PROCESS_MEMORY = 0x0000_0100
_DIE_ON_UNHANDLED_EXCEPTION = 0x0000_0400  # without a dialog or a dump
_KILL_ON_JOB_CLOSE = 0x0000_2000
_EXTENDED_LIMIT_INFORMATION = 9


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD)
_kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_kernel.CloseHandle.argtypes = (wintypes.HANDLE,)


class JobObject:
    """A job object for one process.

    Args:
        memory_bytes: What the process may allocate; beyond that an allocation fails.

    Raises:
        OSError: The system refuses it.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._handle = _kernel.CreateJobObjectW(None, None)
        if not self._handle:
            raise ctypes.WinError(ctypes.get_last_error())
        limits = _ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = (
            _LIMIT_PROCESS_MEMORY | _LIMIT_ACTIVE_PROCESS | _KILL_ON_JOB_CLOSE | _DIE_ON_UNHANDLED_EXCEPTION
        )
        limits.BasicLimitInformation.ActiveProcessLimit = 1
        limits.ProcessMemoryLimit = memory_bytes
        self._check(
            _kernel.SetInformationJobObject(
                self._handle, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
            )
        )

    def add(self, process_handle: int) -> None:
        """Put a process into the job. Raises OSError."""
        self._check(_kernel.AssignProcessToJobObject(self._handle, process_handle))

    def close(self) -> None:
        """Close the job, which ends its process."""
        if self._handle:
            _kernel.CloseHandle(self._handle)
            self._handle = None

    def _check(self, is_done: int) -> None:
        if not is_done:
            error = ctypes.WinError(ctypes.get_last_error())
            self.close()
            raise error
