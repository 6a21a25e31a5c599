"""Recognise host artefacts by their first bytes; the name decides only for a plain history of commands. Pure."""

from __future__ import annotations

from collections.abc import Callable

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.log_readers.host.browser import is_browser_history
from svc.assistant.log_readers.host.commands import is_shell_history
from svc.assistant.log_readers.host.configuration import CONFIG_FILES, config_label
from svc.assistant.log_readers.host.listings import is_listing
from svc.assistant.log_readers.host.mft import is_mft
from svc.assistant.log_readers.host.prefetch import is_prefetch
from svc.assistant.log_readers.host.registry_text import is_registry_text
from svc.assistant.log_readers.host.schedules import is_crontab, is_unit
from svc.assistant.log_readers.host.task_xml import is_task
from svc.assistant.log_readers.host.transcript import is_transcript
from svc.assistant.log_readers.host.unified_log import is_unified_log
from svc.assistant.log_readers.host.usn import is_journal
from svc.assistant.log_readers.host.utmp import is_utmp

HEAD_BYTES = 65_536
_ESE = b"\xef\xcd\xab\x89"
_SRUM = "{D10CA2FE-6FCF-4F6D-848E-B2E99266FA89}".encode("utf-16-le"), b"{D10CA2FE-6FCF-4F6D-848E-B2E99266FA89}"
_CUSTOM = bytes.fromhex("0114020000000000c000000000000046")  # the class of the shortcuts in a list
_DESTINATIONS = "DestList".encode("utf-16-le")

BINARY_LABELS = ("registry_hive", "prefetch", "browserhistory", "jumplist", "srum", "mft", "usnjournal", "utmp")
TEXT_LABELS = (
    "pstranscript", "taskxml", "unifiedlog", "systemdunit", "crontab", "registryexport", "listing", "shellhistory",
    *CONFIG_FILES,
)  # fmt: skip
LABELS = frozenset(BINARY_LABELS + TEXT_LABELS)


def _is_jump_list(head: bytes) -> bool:
    if starts_as(head, "ole"):
        return _DESTINATIONS in head
    version, categories = int.from_bytes(head[:4], "little"), int.from_bytes(head[4:8], "little")
    return version == 2 and categories < 100 and head[8:12] == bytes(4) and (len(head) == 12 or _CUSTOM in head[:400])


def _is_srum(head: bytes) -> bool:
    return head[4:8] == _ESE and any(mark in head for mark in _SRUM)


_BINARY: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("registry_hive", lambda head: starts_as(head, "registry_hive")),
    ("prefetch", is_prefetch),
    ("browserhistory", is_browser_history),
    ("jumplist", _is_jump_list),
    ("srum", _is_srum),
    ("mft", is_mft),
    ("usnjournal", is_journal),
    ("utmp", is_utmp),
)
_TEXT: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("pstranscript", is_transcript),
    ("taskxml", is_task),
    ("unifiedlog", is_unified_log),
    ("systemdunit", is_unit),
    ("crontab", is_crontab),
    ("registryexport", is_registry_text),
    ("listing", is_listing),
)


def binary_label(head: bytes) -> str:
    """The label of a binary artefact; "" for other files."""
    return next((label for label, matches in _BINARY if matches(head[:HEAD_BYTES])), "")


def text_label(head: bytes, name: str = "") -> str:
    """The label of an artefact that is text; "" for other texts."""
    head = head[:HEAD_BYTES]
    found = next((label for label, matches in _TEXT if matches(head)), "")
    return found or config_label(head, name) or ("shellhistory" if is_shell_history(head, name) else "")
