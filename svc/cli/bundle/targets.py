"""The machines that a bundle can be for: what pip calls their wheels, and what requirements say about them."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping

import msgspec
from packaging.markers import default_environment

_MANYLINUX = range(39, 4, -1)  # glibc 2.39 to 2.5: a wheel for an older one runs on a newer one
_MACOS = range(15, 10, -1)
THIS = "this machine"


class _Platform(msgspec.Struct, frozen=True):
    """``tags`` are those of wheels; the others are the values of the markers in requirements."""

    tags: tuple[str, ...]
    sys_platform: str
    platform_system: str
    os_name: str
    platform_machine: str


def _linux(machine: str) -> _Platform:
    tags = (f"manylinux_2_{minor}_{machine}" for minor in _MANYLINUX)
    old = (f"manylinux{year}_{machine}" for year in ("2014", "2010", "1"))
    return _Platform((*tags, *old, f"linux_{machine}"), "linux", "Linux", "posix", machine)


def _macos(machine: str) -> _Platform:
    tags = (f"macosx_{major}_0_{kind}" for major in _MACOS for kind in (machine, "universal2"))
    return _Platform(tuple(tags), "darwin", "Darwin", "posix", machine)


PLATFORMS = {
    "linux-x86_64": _linux("x86_64"),
    "linux-aarch64": _linux("aarch64"),
    "macos-arm64": _macos("arm64"),
    "macos-x86_64": _macos("x86_64"),
    "windows-amd64": _Platform(("win_amd64",), "win32", "Windows", "nt", "AMD64"),
}


class Target(msgspec.Struct, frozen=True):
    """A version of Python, such as 3.12, on a platform: a key of ``PLATFORMS``, or ``THIS``."""

    python: str
    platform: str

    @property
    def is_this(self) -> bool:
        """Whether it is the Python that runs."""
        return self == this_target()

    def pip_options(self) -> list[str]:
        """Return the options by which pip chooses wheels for it; nothing can be compiled for another machine."""
        tags = () if self.platform == THIS else PLATFORMS[self.platform].tags
        options = ["--only-binary=:all:", "--implementation=cp", f"--python-version={self.python}"]
        return [*options, *(f"--platform={tag}" for tag in tags)]

    def markers(self) -> dict[str, str]:
        """Return what requirements such as ``sys_platform == 'win32'`` are compared with."""
        ours: Mapping[str, object] = default_environment()
        values = {name: str(value) for name, value in ours.items()}
        if not self.is_this:
            full = f"{self.python}.0"
            values |= {"python_version": self.python, "python_full_version": full, "implementation_version": full}
            values |= {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
        if self.platform != THIS:
            values |= msgspec.to_builtins(PLATFORMS[self.platform])
            del values["tags"]
            values |= {"platform_release": "", "platform_version": ""}
        return values

    def platform_facts(self) -> dict[str, str]:
        """Return what the installer compares with the machine that it runs on."""
        markers = self.markers()
        return {"sys_platform": markers["sys_platform"], "machine": markers["platform_machine"]}


def this_target() -> Target:
    """Return the Python that runs, on this machine."""
    return Target(f"{sys.version_info.major}.{sys.version_info.minor}", THIS)


def label(target: Target) -> str:
    """Return the target in words."""
    name = f"{platform.system()} {platform.machine()}" if target.platform == THIS else target.platform
    return f"Python {target.python} on {name}"
