"""Identify a file by its first bytes: MIME type and label. Does no I/O and never trusts a name alone.

Asks the table of signatures first (``signatures.py``), then the content of text, then puremagic. The name only decides
between types of text that the content does not tell apart. Labels are short words: ``evtx``, ``authlog``, ``eml``.
"""

from __future__ import annotations

import json
import re

import puremagic

from svc.assistant.file_types import host_forms
from svc.assistant.file_types.intel import LIST_LABEL, intel_label
from svc.assistant.file_types.logs import TextKind, text_kind
from svc.assistant.file_types.packed import PACKED_LABELS, start_of_packed
from svc.assistant.file_types.signatures import NamedContent, is_windows_program, signature, starts_as, table
from svc.assistant.log_readers.applications.journal_export import is_journal_export
from svc.assistant.log_readers.cloudtrail import is_cloudtrail
from svc.assistant.log_readers.container_logs import is_container_log
from svc.assistant.log_readers.lines import split_lines
from svc.assistant.log_readers.syslog import is_journal
from svc.assistant.log_readers.tables.reader import is_event_table, is_known_export
from svc.assistant.log_readers.windows_csv import is_event_csv
from svc.assistant.log_readers.windows_text import is_event_text

HEAD_BYTES = 65_536  # of a file, as much as ``identify`` needs
TEXT_LABELS = frozenset(
    [
        "txt",
        "log",
        "authlog",
        "eml",
        "json",
        "jsonl",
        "winevents",
        "weblog",
        "auditlog",
        "syslog",
        "applog",
        "journal",
        "cloudtrail",
        "eventtable",
        "csv",
        "tsv",
        "xml",
        "html",
        "svg",
        "markdown",
        "yaml",
        "toml",
        "ini",
        "pem",
        "python",
        "javascript",
        "powershell",
        "shell",
        "batch",
        "vba",
        "rtf",
        *host_forms.TEXT_LABELS,
        "stix",
        "misp",
        "openioc",
        "sigmarule",
        "yararule",
        "indicatorlist",
    ]
)
_PACKED_LOGS = frozenset(
    [
        "evtx",
        "winevents",
        "weblog",
        "auditlog",
        "syslog",
        "applog",
        "journal",
        "cloudtrail",
        "eventtable",
        "authlog",
        "parquet",
    ]
)
_INTEL_MIMES = {"stix": "application/json", "misp": "application/json", "openioc": "text/xml"}
_MAY_BE_TABLE = frozenset(
    ["txt", "log", "authlog", "json", "jsonl", "csv", "tsv", "ini", "syslog", "applog", "markdown", "yaml"]
)
_LEAST_CONFIDENCE = 0.4  # of puremagic: four bytes of magic
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
CUT_CHARS = 1_024  # a JSON document that breaks this close to the end of the head continues after it
MIN_ZEROS = 16  # in a row, in a text: fewer may be of a binary format
MIN_TEXT_BYTES = 64  # beside the zeros
_ZEROS = re.compile(rb"\x00{16,}")
_LOG_ENDINGS = frozenset(["log", "txt", "csv", "json", "jsonl"])
_OCTETS = "application/octet-stream"
_CONTROL_SHARE = 0.02  # a log may carry a stray control byte; a binary has many

_Kind = tuple[str, str]


def identify(head: bytes, name: str = "") -> tuple[str, str]:
    """Return MIME type and label of the file that starts with ``head``; ``name``, as the user called it, is a hint.

    An empty file is labelled ``empty``; an unknown one is ``("application/octet-stream", "unknown")``.
    """
    found = _unpacked_kind(head[:HEAD_BYTES], name)
    return (found[0], _packed_log(head[:HEAD_BYTES], found[1], name)) if found[1] in PACKED_LABELS else found


def _unpacked_kind(head: bytes, name: str) -> _Kind:
    """Return the type of a file as it is, compressed or not."""
    if not head:
        return "application/x-empty", "empty"
    if is_journal_export(head):
        return "application/vnd.fdo.journal", "eventtable"
    if label := host_forms.binary_label(head):
        return f"application/x-{label.replace('_', '-')}", label
    if (known := _by_magic(head)) is not None:
        return known
    if MIN_ZEROS * b"\x00" in head:
        if not head.strip(b"\x00"):  # the readers skip zeros up to the first text
            is_log = len(head) >= HEAD_BYTES and _ending(name) in _LOG_ENDINGS
            return ("text/plain", "log") if is_log else (_OCTETS, "unknown")
        head = _without_zeros(head)
    if (text := decode_text(head)) is not None:
        if label := host_forms.text_label(head, name):
            return "text/plain", label
        kind = _kind_of_text(text, _ending(name))
        return (kind[0], _table_label(head) or kind[1]) if kind[1] in _MAY_BE_TABLE else kind
    return _by_puremagic(head) or ("application/octet-stream", "unknown")


def _without_zeros(head: bytes) -> bytes:
    """Text without the runs of zeros that a crash, or another program that emptied the file, left in it."""
    without = _ZEROS.sub(b"", head)
    return without if len(without) >= MIN_TEXT_BYTES and decode_text(without) is not None else head


def _packed_log(head: bytes, label: str, name: str) -> str:
    """Return the label of a log that is compressed as one file, which its tool reads so; otherwise ``label``."""
    inner = start_of_packed(head, label, HEAD_BYTES)
    found = _unpacked_kind(inner, name.rpartition(".")[0])[1]
    return found if found in _PACKED_LOGS else label


def _table_label(head: bytes) -> str:
    """``winevents`` for Windows events as CSV, ``eventtable`` for any other table of events; "" if it has neither."""
    if is_journal(head):
        return ""
    if is_container_log(head) or is_known_export(head):
        return "eventtable"
    if is_event_csv(head) or is_event_text(head):
        return "winevents"
    return "eventtable" if is_event_table(head) else ""


def decode_text(head: bytes) -> str | None:
    """Return ``head`` as text, or None if it is binary. Broken UTF-8 in a text becomes U+FFFD."""
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return head.decode(encoding, errors="replace")
    if (wide := _without_bom(head)) is not None:
        return wide
    if b"\x00" in head[:512] or len(_CONTROL.findall(head)) > _CONTROL_SHARE * len(head):
        return None
    text = head.decode("utf-8", errors="replace")
    if text.count("\ufffd") > 0.3 * len(text):
        return None
    return text


def _without_bom(head: bytes) -> str | None:
    """Decode UTF-16 without a byte order mark: every second byte of mostly ASCII text is zero."""
    even, odd = head[0:1024:2], head[1:1024:2]
    if len(odd) < 8:
        return None
    for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros.count(0) > 0.9 * len(zeros) and b"\x00" not in others and not _CONTROL.search(others):
            return head.decode(encoding, errors="replace")
    return None


def _by_magic(head: bytes) -> _Kind | None:
    if starts_as(head, "zip"):
        return _zip_kind(head) or ("application/zip", "zip")
    if starts_as(head, "ole"):
        return _named_inside(head.replace(b"\x00", b""), table().ole_streams) or ("application/x-ole-storage", "ole")
    if starts_as(head, "mz") and (program := _dos_or_windows_program(head)) is not None:
        return program
    if _DER.match(head) and int.from_bytes(head[2:4], "big") + 4 >= len(head):
        return "application/pkix-cert", "der"
    for row in table().signatures:
        if head.startswith(bytes.fromhex(row.hex), row.offset):
            return row.mime_type, row.label
    return None


_DER = re.compile(rb"\x30\x82..(?:\x30[\x81\x82]|\x02\x01\x00)", re.DOTALL)
"""A sequence that begins with another one (a certificate, a request) or with the version of a private key."""


_ZIP_HEADER_BYTES = 30  # of a local file header; name, extra field and content follow


def _zip_kind(head: bytes) -> _Kind | None:
    """The type of a ZIP by the beginnings of its own entries' names, not by what is stored in its members."""
    at, mark = 0, signature("zip")
    while head.startswith(mark, at) and at + _ZIP_HEADER_BYTES <= len(head):
        begin = at + _ZIP_HEADER_BYTES
        for entry in table().zip_entries:
            if head.startswith(entry.entry.encode(), begin):
                return entry.mime_type, entry.label
        is_streamed = head[at + 6] & 8  # the sizes follow the content
        packed = int.from_bytes(head[at + 18 : at + 22], "little")
        names = int.from_bytes(head[at + 26 : at + 28], "little") + int.from_bytes(head[at + 28 : at + 30], "little")
        at = begin + names + packed if packed or not is_streamed else head.find(mark, begin + names)
    return None


def _named_inside(head: bytes, entries: list[NamedContent]) -> _Kind | None:
    return next(((entry.mime_type, entry.label) for entry in entries if entry.entry.encode() in head), None)


def _dos_or_windows_program(head: bytes) -> _Kind | None:
    """A PE, or a DOS program if its header is binary; text may begin with MZ, too."""
    if is_windows_program(head):
        return "application/vnd.microsoft.portable-executable", "pebin"
    return ("application/x-dosexec", "dosmbr") if b"\x00" in head[:64] else None


_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")
_MAIL_FIELD = re.compile(r"(?:From |[A-Za-z][A-Za-z0-9-]{1,60}:(?: |\t|$))")
_MAIL_NAMES = frozenset(
    [
        "received",
        "return-path",
        "delivered-to",
        "from",
        "to",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "dkim-signature",
        "arc-seal",
        "x-mailer",
        "reply-to",
        "authentication-results",
        "content-type",
    ]
)
_MARKUP = (
    (
        re.compile(
            r"(?:<\?xml[^>]{0,200}\?>\s{0,20})?(?:<!--(?:[^<]|<(?!!--)){0,2000}?-->\s{0,20})?"
            r"(?:<!DOCTYPE svg[^>]{0,400}>\s{0,20})?<svg[\s>]",
            re.S | re.I,
        ),
        "image/svg+xml",
        "svg",
    ),
    (re.compile(r"<(?:!doctype html|html|head|body)\b", re.I), "text/html", "html"),
    (re.compile(r"<\?xml\s|<[A-Za-z_][\w:.-]*(?:\s+[\w:.-]+\s*=\s*[\"'][^<]*)?/?>"), "text/xml", "xml"),
)
_SCRIPTS = (
    (re.compile(r"#!.{0,200}\bpython"), "text/python", "python"),
    (re.compile(r"#!.{0,200}\b(?:node|deno|bun)\b"), "text/javascript", "javascript"),
    (re.compile(r"#!.{0,200}\b(?:pwsh|powershell)\b"), "text/plain", "powershell"),
    (re.compile(r"#!.{0,200}\b(?:ba|da|z|k)?sh\b"), "text/x-shellscript", "shell"),
    (re.compile(r"@echo off\b", re.I), "text/plain", "batch"),
    (re.compile(r"Attribute VB_|Option Explicit\b|(?:Private |Public )?Sub \w+\(", re.I), "text/plain", "vba"),
    (
        re.compile(
            r"(?:powershell(?:\.exe)?\s+-|\$\w+\s*=\s*New-Object\b|(?:Set|Get|New|Invoke|Import)-[A-Z]\w+\s)", re.I
        ),
        "text/plain",
        "powershell",
    ),
)


def _kind_of_text(text: str, ending: str) -> _Kind:
    body = text.lstrip("\ufeff \t\r\n")
    if _PEM.match(body) or (body.find("-----BEGIN ") in range(4_096) and _PEM.search(body)):
        return ("message/rfc822", "eml") if _is_mail_head(body) else ("application/x-pem-file", "pem")
    if (kind := text_kind(body)) is not TextKind.OTHER:
        return "text/plain", kind.value
    if (label := intel_label(body)) and not (
        label == LIST_LABEL and ending not in ("", "txt", "csv", "tsv", "ioc", "list")
    ):
        return _INTEL_MIMES.get(label, "text/plain"), label
    return _json(body) or _markup(body) or _mail(body) or _script(body) or _table(body, ending) or _by_ending(ending)


_JSON_START = re.compile(r'[\[{]\s*(?:["{\[\d\]}-]|true|false|null)')


_LOGIN_ENTRY = re.compile(
    r'"MESSAGE"\s*:\s*"(?:Failed|Accepted) \S+ for |pam_\w+\([\w.-]+:auth\): authentication failure'
)
_EVENT_CHARS = 8_192  # of a text in JSON: its first records
_EVENT_ID = re.compile(r'"(?:EventID|EventId|event_id|winlog\.event_id|Id)"\s*:\s*["{\d]')
_EVENT_LOG = re.compile(
    r'"(?:Channel|LogName|log_name|channel|winlog\.channel|SourceName|ProviderName|provider_name|source_name)"\s*:'
)


def _json(body: str) -> _Kind | None:
    """JSON, or events in JSON: CloudTrail's, the journal's, or Windows' (an event ID with the name of a log)."""
    kind = _json_form(body)
    if kind is None:
        return None
    head = body[:_EVENT_CHARS].encode(errors="replace")
    if is_cloudtrail(head):
        return kind[0], "cloudtrail"
    if is_journal(head):
        return kind[0], "authlog" if _LOGIN_ENTRY.search(body) else "journal"
    is_event = _EVENT_ID.search(body) is not None and _EVENT_LOG.search(body) is not None
    return (kind[0], "winevents") if is_event else kind


def _json_form(body: str) -> _Kind | None:
    if not body.startswith(("{", "[")):
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(body)
    except RecursionError:
        return "application/json", "json"
    except json.JSONDecodeError as error:
        # a document that continues after the head breaks at its end; with any other error it is not JSON
        is_at_end = error.pos >= len(body) - CUT_CHARS or error.msg.startswith("Unterminated string")
        is_cut = is_at_end and len(body) > CUT_CHARS and _JSON_START.match(body)
        return ("application/json", "json") if is_cut else None
    rest = body[end:].lstrip()
    if rest.startswith("{") and body.startswith("{"):
        return "application/jsonl", "jsonl"
    return ("application/json", "json") if not rest else None


_EVENT_XML = re.compile(r"<Event xmlns=[\"']http://schemas\.microsoft\.com/win/2004/08/events/event")


def _markup(body: str) -> _Kind | None:
    if body.startswith("<") and _EVENT_XML.search(body):
        return "text/xml", "winevents"
    return next(((mime_type, label) for shape, mime_type, label in _MARKUP if shape.match(body)), None)


def _mail(body: str) -> _Kind | None:
    names = set()
    for line in split_lines(body)[:60]:
        if not line.strip():
            break
        if line[0] in " \t":
            continue
        if not _MAIL_FIELD.match(line):
            return None
        names.add(line.split(":", 1)[0].lower())
    return ("message/rfc822", "eml") if len(names & _MAIL_NAMES) >= 2 else None


def _is_mail_head(body: str) -> bool:
    """Whether a text begins with a mail's fields, whatever lines are between them."""
    lines = split_lines(body.partition("\n\n")[0])[:60]
    fields = [line.split(":", 1)[0].lower() for line in lines if _MAIL_FIELD.match(line)]
    is_mail = len(_MAIL_NAMES.intersection(fields)) >= 2 and not _ONLY_MAIL.isdisjoint(fields)
    return is_mail and _MAIL_FIELD.match(lines[0]) is not None


_ONLY_MAIL = frozenset(["received", "return-path", "delivered-to", "from", "message-id"])


def _script(body: str) -> _Kind | None:
    start = body[:2_000]
    return next(((mime_type, label) for shape, mime_type, label in _SCRIPTS if shape.match(start)), None)


_SEPARATORS = ((",", "text/csv", "csv"), (";", "text/csv", "csv"), ("\t", "text/tab-separated-values", "tsv"))


def _table(body: str, ending: str) -> _Kind | None:
    """Rows with the same number (at least 2) of commas, semicolons or tabs, if the first row looks like names."""
    if ending not in ("", "csv", "tsv", "txt"):
        return None
    rows = [row for row in split_lines(body)[:20] if row.strip()]
    rows = rows[:-1] if len(rows) == 20 else rows
    if len(rows) < 2 or not re.match(r"[\"\w]", rows[0]):
        return None
    for separator, mime_type, label in _SEPARATORS:
        counts = {_without_quoted(row).count(separator) for row in rows}
        if len(counts) == 1 and counts.pop() >= 2:
            return mime_type, label
    return None


def _without_quoted(row: str) -> str:
    return re.sub(r'"(?:[^"]|"")*"', "", row)


def _ending(name: str) -> str:
    return name.rsplit(".", 1)[1].lower() if "." in name else ""


def _by_ending(ending: str) -> _Kind:
    known = table().text_endings.get(ending)
    return (known.mime_type, known.label) if known else ("text/plain", "txt")


def _by_puremagic(head: bytes) -> _Kind | None:
    try:
        best = puremagic.magic_string(head)[0]
    except (puremagic.PureError, ValueError, IndexError):
        return None
    if best.confidence < _LEAST_CONFIDENCE or not best.mime_type:
        return None
    return best.mime_type, best.extension.lstrip(".") or "unknown"
