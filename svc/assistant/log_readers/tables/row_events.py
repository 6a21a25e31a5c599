"""Make events of a table's records: which kind of event a record is, and its fields under Sigma's names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from svc.assistant.log_readers.tables.kinds import plain_name
from svc.assistant.log_readers.tables.mapping import ColumnMapping, address_of
from svc.assistant.log_readers.tables.outcome import outcome_of_words
from svc.assistant.log_readers.tables.records import TableRecord
from svc.assistant.log_readers.web_server import add_request, add_target
from svc.assistant.sigma.event import Event

MAX_FIELDS = 200
_ACTIVITY = "activity"  # in kinds.toml: an event without one of Sigma's categories
LOGIN = re.compile(
    r"log(?:ged|s)?[-_ .]?[io]n(?:\b|_|[A-Z]|failed|success|s\b)|sign[-_ .]?(?:ed)?[-_ .]?in|authenticat|password"
    r"|session[._ ]start|\bssh\b|\bvpn\b|\bauth\b|\bmfa\b",
    re.IGNORECASE,
)
_LOGIN_NAME = re.compile(r"log[-_ ]?[io]n|sign[-_ ]?in", re.IGNORECASE)
LOGOUT = re.compile(r"log(?:ged)?[-_ .]?(?:out|off)|sign[-_ .]?(?:ed)?[-_ .]?out", re.IGNORECASE)
_WINDOWS = re.compile(r"\\|\.exe\b|\b(?:cmd|powershell|vssadmin|rundll32|schtasks|reg|wmic|certutil)\b", re.IGNORECASE)
_ENDPOINTS = {
    "source_address": ("SourceIp", "src_ip"), "source_port": ("SourcePort", "src_port"),
    "destination_address": ("DestinationIp", "dst_ip"), "destination_port": ("DestinationPort", "dst_port"),
    "destination_host": ("DestinationHostname",), "protocol": ("Protocol",), "action": ("Action",), "user": ("User",),
    "image": ("Image",), "command": ("CommandLine",),
}  # fmt: skip
_FIELDS: dict[str, Mapping[str, tuple[str, ...]]] = {
    "authentication": {
        "user": ("TargetUserName",), "user_domain": ("TargetDomainName",), "source_address": ("IpAddress",),
        "source_host": ("WorkstationName",), "logon_type": ("LogonType",), "reason": ("Reason",),
        "country": ("Country",), "action": ("Action",),
    },
    "process_creation": {
        "image": ("Image",), "command": ("CommandLine",), "parent_image": ("ParentImage",), "user": ("User",),
        "parent_command": ("ParentCommandLine",), "process_id": ("ProcessId",), "hashes": ("Hashes",),
        "parent_process_id": ("ParentProcessId",),
    },
    "network_connection": _ENDPOINTS,
    "firewall": _ENDPOINTS,
    "dns_query": {"query": ("QueryName", "query"), "query_type": ("record_type",), "source_address": ("SourceIp",),
                  "image": ("Image",)},
    "webserver": {"source_address": ("c-ip",), "method": ("cs-method",), "http_status": ("sc-status",),
                  "agent": ("cs-user-agent",), "user": ("cs-username",), "host": ("cs-host",)},
    "proxy": {"source_address": ("c-ip",), "method": ("cs-method",), "http_status": ("sc-status",), "url": ("c-uri",),
              "agent": ("c-useragent",), "user": ("cs-username",)},
    "alert": {"alert": ("Alert",), "severity": ("Severity",), **_ENDPOINTS},
    "file_event": {"file": ("TargetFilename",), "image": ("Image",), "user": ("User",), "hashes": ("Hashes",)},
    "registry_set": {"registry": ("TargetObject",), "details": ("Details",), "image": ("Image",)},
    "": {"action": ("Action",), "user": ("User",), "source_address": ("SourceIp",), "file": ("TargetFilename",),
         "destination_address": ("DestinationIp",)},
}  # fmt: skip
"""The fields that get the value of a role, by category."""
_PROCESS = (("command",), ("image", "parent_image"), ("image", "process_id"))
_WEB_HOST = re.compile(r"(?:https?|ftp)://(?:[^/@\s]{0,200}@)?([^/:\s]{1,255})|([^/:\s]{1,255}):\d+", re.IGNORECASE)


class RowEvents:
    """Makes the events of one table. ``is_usable`` is False if its columns describe no events."""

    def __init__(self, mapping: ColumnMapping, sample: Sequence[Mapping[str, str]]) -> None:
        self._mapping = mapping
        self._kind = mapping.kind
        self._when = [(rule.column, re.compile(rule.matches), rule) for rule in (self._kind.when if self._kind else ())]
        self._shapes: dict[frozenset[str], str] = {}
        actions = [action for record in sample if (action := mapping.value(record, "action"))]
        self._are_named = any(LOGIN.search(action) for action in actions)
        is_outcome = mapping.columns.get("action") == mapping.columns.get("outcome")  # its values are outcomes
        self._has_actions = bool(actions) and (self._are_named or not is_outcome)
        self._is_login_table = any(_LOGIN_NAME.search(name) for record in sample[:1] for name in record)
        commands = " ".join(mapping.value(record, role) for record in sample for role in ("image", "command"))
        self._system = "windows" if _WINDOWS.search(commands) else "linux"
        self.is_usable = self._kind is not None or any(self._shape(record) != "-" for record in sample)

    def event(self, record: TableRecord) -> Event | None:
        """Return the event of a record; None if it has nothing that an event has."""
        mapping, values = self._mapping, record.values
        mapping.learn(values)
        category, outcome = self._category(values)
        if category == "-":
            return None
        fields = dict(list(values.items())[:MAX_FIELDS])
        for role, names in _FIELDS[category].items():
            if value := mapping.value(values, role):
                if role.endswith("_address"):
                    value = address_of(value) or value
                for name in names:
                    fields[name] = value
        outcome = outcome or self._outcome(values)
        if outcome:
            fields["Outcome"] = outcome
        product, service = (self._kind.product, self._kind.service) if self._kind else ("", "")
        if category == "process_creation":
            product = self._complete_process(fields, product)
        elif category in ("webserver", "proxy"):
            _complete_request(fields, mapping.value(values, "url"), is_proxy=category == "proxy")
        elif category == "alert" and self._kind is not None:
            level = fields.get("Severity", "").partition(".")[0].partition("\n")[0]
            fields["Severity"] = self._kind.severities.get(level, level)
        if category == "firewall":
            product = product or "firewall"
        return Event(
            number=record.number,
            offset=record.offset,
            time=mapping.clock(time) if (time := mapping.value(values, "time")) else "",
            product=product,
            service=service,
            category=category,
            host=mapping.value(values, "host").partition("\n")[0],
            event_id=None,
            fields=fields,
            excerpt=record.excerpt,
        )

    def _category(self, values: Mapping[str, str]) -> tuple[str, str]:
        """Return the category of a record and the outcome that it implies; "-" if it is no event."""
        for column, shape, rule in self._when:
            value = next((cell for name, cell in values.items() if plain_name(name) == column), "")
            if value and shape.search(value):
                return rule.category, rule.outcome
        if self._kind is not None and self._kind.category:
            return self._kind.category.replace(_ACTIVITY, ""), ""
        shape_found = self._shape(values)
        if shape_found == "authentication" and self._has_actions and self._are_named:
            action = self._mapping.value(values, "action")
            is_login = LOGIN.search(action) and not LOGOUT.search(action) and self._outcome(values)
            return ("authentication", "") if is_login else ("", "")
        if shape_found == "-" and self._kind is not None:
            shape_found = ""
        return shape_found, ""

    def _shape(self, values: Mapping[str, str]) -> str:
        """Return the category that the columns of a record describe; "-" for none."""
        columns = frozenset(values)
        shape = self._shapes.get(columns)
        if shape is None:
            if len(self._shapes) > 1_000:
                self._shapes.clear()
            shape = self._shapes[columns] = self._shape_of(values)
        return shape

    def _shape_of(self, values: Mapping[str, str]) -> str:
        mapping = self._mapping
        present = {role for role in (*mapping.columns, *mapping.joined) if mapping.value(values, role)}
        is_placed = "time" in present or bool(present & {"source_address", "host"})
        if is_placed and any(present.issuperset(roles) for roles in _PROCESS):
            return "process_creation"
        if "url" in present and present & {"method", "http_status", "agent"}:
            return "webserver" if not mapping.value(values, "url").lower().startswith("http") else "proxy"
        if self._kind is None and present >= {"alert", "severity", "time"}:
            return "alert"
        if present >= {"query", "time"} and present & {"source_address", "source_host", "host", "query_type"}:
            return "dns_query"
        if present >= {"source_address", "destination_address"} and present & {"destination_port", "time"}:
            return "firewall" if present & {"outcome", "action"} else "network_connection"
        if "user" in present and self._tells_logins(present):
            return "authentication"
        if present >= {"time", "action"} and present & {"user", "host", "source_address"}:
            return ""
        return "-"

    def _tells_logins(self, present: set[str]) -> bool:
        """Whether a table with users is one of logins: outcomes or names say so, and a time or source is there."""
        if not present & {"time", "source_address", "source_host"}:
            return False
        if self._has_actions:
            return self._are_named
        return "outcome" in present or self._is_login_table

    def _outcome(self, values: Mapping[str, str]) -> str:
        cell = self._mapping.value(values, "outcome")
        found = self._mapping.outcome(cell) if cell else ""
        return found or outcome_of_words(self._mapping.value(values, "action"))

    def _complete_process(self, fields: dict[str, str], product: str) -> str:
        """Add the program of a bare command line or name as rules expect it, and return the system."""
        image, command = fields.get("Image", ""), fields.get("CommandLine", "")
        if not product:
            seen = f"{image} {command}"
            product = "linux" if image.startswith("/") else "windows" if _WINDOWS.search(seen) else self._system
        slash = "\\" if product == "windows" else "/"
        if not image and command:
            image = command[1:].partition('"')[0] if command.startswith('"') else command.partition(" ")[0]
            if product == "windows" and "." not in image.rpartition("\\")[2]:
                image += ".exe"
        for name, path in (("Image", image), ("ParentImage", fields.get("ParentImage", ""))):
            if path:
                fields[name] = path if "\\" in path or "/" in path else slash + path
        return product


def _complete_request(fields: dict[str, str], url: str, *, is_proxy: bool) -> None:
    if url.partition(" ")[0].isupper() and " " in url:
        add_request(fields, url)
    elif url and not is_proxy:
        add_target(fields, url)
    if is_proxy and (host := _WEB_HOST.match(url)) is not None:
        fields["cs-host"] = host[1] or host[2]
