"""Read the history of Chrome, Edge and other Chromium browsers (``History``) and of Firefox (``places.sqlite``). Pure.

One row for each visit and each download, in UTC. Chromium's times are microseconds since 1601, Firefox's since 1970.
Sources: Chromium's ``history_database.cc``, ``visit_database.cc``, ``download_database.cc``; Firefox's
``nsPlacesTables.h``.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import unquote

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import (
    MAX_TEXT_CHARS,
    Artefact,
    HostNote,
    Item,
    TraceKind,
    from_unix,
    from_webkit,
)
from svc.assistant.log_readers.host.sqlite_tables import SIGNATURE, Database, Value
from svc.assistant.log_readers.lines import Unread

MAX_BYTES = 200 * 1024 * 1024
MAX_ROWS = 300_000
_CHROMIUM = (b"CREATE TABLE urls(", b"CREATE TABLE urls (")
_FIREFOX = b"moz_historyvisits"
_FIREFOX_DOWNLOADS = b"moz_downloads"
_DANGERS = {
    1: "dangerous file",
    2: "dangerous URL",
    3: "dangerous content",
    4: "may be dangerous",
    5: "uncommon content",
    7: "dangerous host",
    8: "potentially unwanted",
}
_STATES = {0: "in progress", 1: "complete", 2: "cancelled", 4: "interrupted"}
_TABLES = frozenset({"visits", "moz_places", "moz_downloads"})
_TYPED, _RELOAD = 1, 8
_FIREFOX_DOWNLOAD = 7  # the type of a visit
_ANNOTATIONS = {"downloads/destinationfileuri": "file", "downloads/metadata": "meta"}


def is_browser_history(head: bytes) -> bool:
    """Whether a SQLite database has the tables of a browser's history."""
    if not head.startswith(SIGNATURE):
        return False
    is_chromium = any(mark in head for mark in _CHROMIUM) and b"visits" in head
    return is_chromium or _FIREFOX in head or _FIREFOX_DOWNLOADS in head


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield visits and downloads, the oldest first."""
    data = content.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        yield Gap(
            text=f"the database has more than {MAX_BYTES:,} bytes; only its first part was read", in_headline=True
        )
        yield Unread(1)
    database = Database(data[:MAX_BYTES])
    if not database.is_valid:
        yield Gap(text="the database's header is damaged; nothing was read")
        yield Unread(1)
        return
    if not database.tables.keys() & _TABLES:
        named = ", ".join(sorted(database.tables)[:8]) or "none"
        yield Gap(
            text=f"the database is no history of Chrome, Edge or Firefox (its tables: {named}); other databases "
            "are not read"
        )
        yield Unread(1)
        return
    rows: list[Artefact] = []
    if "urls" in database.tables and "visits" in database.tables:
        yield HostNote("browser", "Chrome, Edge or another Chromium browser")
        rows += _first(_chromium(database))
    if "moz_places" in database.tables or "moz_downloads" in database.tables:
        yield HostNote("browser", "Firefox")
        rows += _first(_firefox(database))
    is_cut = len(rows) > MAX_ROWS
    rows.sort(key=lambda row: row.time)
    for number, row in enumerate(rows[:MAX_ROWS], start=1):
        row.number = number
        yield row
    yield from _gaps(database, is_cut=is_cut)


def _first(rows: Iterator[Artefact]) -> list[Artefact]:
    return heapq.nsmallest(MAX_ROWS + 1, rows, key=lambda row: row.time)


def _gaps(database: Database, *, is_cut: bool) -> Iterator[Item]:
    if is_cut or database.broken.is_cut:
        yield Gap(text=f"only the first {MAX_ROWS:,} visits and downloads were read", in_headline=True)
        yield Unread(1)
    if database.missing_pages:
        yield Gap(
            text=f"the file is cut off: {database.missing_pages:,} pages of the database are missing", in_headline=True
        )
        yield Unread(database.missing_pages)
    if database.broken.count:
        yield Gap(text=f"{database.broken.count:,} pages or records of the database are damaged; the others were read")
        yield Unread(database.broken.count)
    if database.has_write_ahead_log:
        yield Gap(
            text="the newest rows may be in the write-ahead log (a file named like this one with -wal), which "
            "was not read"
        )
    yield Gap(text="deleted history was not recovered; private windows leave no history")


def _chromium(database: Database) -> Iterator[Artefact]:
    urls = {row.get("id"): (_text(row.get("url")), _text(row.get("title"))) for row in database.rows("urls")}
    for row in database.rows("visits"):
        url, title = urls.get(row.get("url"), ("", ""))
        transition = _number(row.get("transition")) & 0xFF
        how = {_TYPED: "typed", _RELOAD: "reloaded"}.get(transition, "")
        yield _visit(url or "(address no longer stored)", title, from_webkit(_number(row.get("visit_time"))), how)
    chains: dict[Value, list[str]] = {}
    for row in sorted(database.rows("downloads_url_chains"), key=lambda one: _number(one.get("chain_index"))):
        chains.setdefault(row.get("id"), []).append(_text(row.get("url")))
    for row in database.rows("downloads"):
        chain = chains.get(row.get("id")) or [_text(row.get("url") or row.get("tab_url"))]
        start = _number(row.get("start_time"))
        target = _text(row.get("target_path") or row.get("current_path") or row.get("full_path"))
        danger = _DANGERS.get(_number(row.get("danger_type")), "")
        state = _STATES.get(_number(row.get("state")), "")
        size = _number(row.get("total_bytes") or row.get("received_bytes"))
        yield _download(
            target,
            chain[-1],
            from_webkit(start) if start > 10**14 else from_unix(start),
            _text(row.get("referrer")),
            ", ".join(
                filter(
                    None,
                    [state, f"{size:,} bytes" if size > 0 else "", f"browser's warning: {danger}" if danger else ""],
                )
            ),
        )


def _firefox(database: Database) -> Iterator[Artefact]:
    places = {row.get("id"): (_text(row.get("url")), _text(row.get("title"))) for row in database.rows("moz_places")}
    for row in database.rows("moz_historyvisits"):
        url, title = places.get(row.get("place_id"), ("", ""))
        if _number(row.get("visit_type")) == _FIREFOX_DOWNLOAD:
            continue  # its annotation has the path of the file
        how = "typed" if _number(row.get("visit_type")) == 2 else ""
        yield _visit(
            url or "(address no longer stored)", title, from_unix(_number(row.get("visit_date")) / 1_000_000), how
        )
    for row in database.rows("moz_downloads"):
        saved = unquote(_text(row.get("target")).removeprefix("file://"))
        time = from_unix(_number(row.get("starttime")) / 1_000_000)
        yield _download(saved or _text(row.get("name")), _text(row.get("source")), time, _text(row.get("referrer")), "")
    names = {
        row.get("id"): _ANNOTATIONS.get(_text(row.get("name")).lower(), "")
        for row in database.rows("moz_anno_attributes")
    }
    saved_as: dict[Value, dict[str, str]] = {}
    for row in database.rows("moz_annos"):
        if kind := names.get(row.get("anno_attribute_id")):
            added = from_unix(_number(row.get("dateadded")) / 1_000_000)
            saved_as.setdefault(row.get("place_id"), {}).update({kind: _text(row.get("content")), "time": added})
    for place, told in saved_as.items():
        if "file" in told:
            url = places.get(place, ("", ""))[0]
            yield _download(
                unquote(told["file"].removeprefix("file://")), url, told["time"], "", _size(told.get("meta", ""))
            )


def _size(metadata: str) -> str:
    try:
        size = json.loads(metadata).get("fileSize")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return f"{size:,} bytes" if isinstance(size, int) else ""


def _visit(url: str, title: str, time: str, how: str) -> Artefact:
    return Artefact(
        number=0,
        activity=TraceKind.VISIT,
        what=url,
        where=title,
        detail=how,
        time=time,
        time_means="visited",
        excerpt=url,
    )


def _download(target: str, url: str, time: str, referrer: str, detail: str) -> Artefact:
    return Artefact(
        number=0,
        activity=TraceKind.DOWNLOAD,
        what=target or url,
        source=url,
        where=referrer,
        detail=detail,
        time=time,
        time_means="download started",
        excerpt=f"{target} from {url}",
    )


def _text(value: Value) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")[:MAX_TEXT_CHARS]
    return "" if value is None else str(value)[:MAX_TEXT_CHARS]


def _number(value: Value) -> int:
    return int(value) if isinstance(value, int) or (isinstance(value, float) and abs(value) < 1e18) else 0
