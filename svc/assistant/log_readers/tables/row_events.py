"""Make events of a table's records: which kind of event a record is, and its fields under Sigma's names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from svc.assistant.log_readers.messages.program_messages import describe
from svc.assistant.log_readers.tables.declared import Systems, as_windows, without_devices
from svc.assistant.log_readers.tables.excerpts import Excerpts
from svc.assistant.log_readers.tables.kinds import Field, Kind, When, plain_name
from svc.assistant.log_readers.tables.mapping import ColumnMapping, address_of
from svc.assistant.log_readers.tables.outcome import outcome_of_words
from svc.assistant.log_readers.tables.records import TableRecord
from svc.assistant.log_readers.tables.windows_rows import WindowsRows, verdict_of
from svc.assistant.log_readers.web_server import add_request, add_target
from svc.assistant.log_readers.windows import category_of
from svc.assistant.sigma.event import Event

MAX_FIELDS = 300
MAX_LAYOUTS = 1_000  # different sets of columns that are remembered
MAX_ID_DIGITS = 10
_ACTIVITY = "activity"  # in ``sources/``: an event without one of Sigma's categories
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
    "application": {"message": ("message",), "user": ("User",), "source_address": ("SourceIp",)},
    "": {"action": ("Action",), "user": ("User",), "source_address": ("SourceIp",), "file": ("TargetFilename",),
         "destination_address": ("DestinationIp",), "target": ("Target",)},
}  # fmt: skip
"""The fields that get the value of a role, by category."""
_FIELDS |= dict.fromkeys(("file_access", "file_change", "file_delete", "file_rename"), _FIELDS["file_event"])
_FIELDS |= dict.fromkeys(("registry_add", "registry_delete", "registry_event"), _FIELDS["registry_set"])
CATEGORIES = frozenset(
    [*filter(None, _FIELDS), _ACTIVITY, "antivirus", "application", "create_remote_thread", "create_stream_hash",
     "database", "driver_load", "image_load", "pipe_created", "process_access", "process_tampering", "ps_module",
     "ps_script", "raw_access_thread", "wmi_event"]
)  # fmt: skip
"""What a definition may give as a category: Sigma's, and our own."""
MEMBERS = ".*"  # at the end of a field's name: all members of its column
OWN_ROLES = ("registry", "details", "target")  # roles without common names
_PROCESS = (("command",), ("image", "parent_image"), ("image", "process_id"))
_WEB_HOST = re.compile(
    r"(?:https?|ftp)://(?:[^/@\s]{0,200}@)?([^/:\s]{1,255})|([^/:\s]{1,255})(?::\d+|/|\Z)", re.IGNORECASE
)


class RowsSoFar(NamedTuple):
    """What the records after the sample have shown, for the next part of the table."""

    columns: list[str]
    shapes: dict[frozenset[str], str]
    windows: set[tuple[str, str, str]]


_NO_RULE = When(column="", matches="")


class _Condition:
    """A ``when`` of a kind, compiled."""

    def __init__(self, rule: When) -> None:
        self.rule = rule
        self._wanted = [(name, re.compile(shape)) for name, shape in ((rule.column, rule.matches), *rule.also.items())]
        self._others = [(name, re.compile(shape)) for name, shape in rule.unless.items()]

    def fits(self, mapping: ColumnMapping, values: Mapping[str, str]) -> bool:
        """Whether a record is what the condition describes."""
        return all(shape.search(mapping.named(values, name)) for name, shape in self._wanted) and not any(
            shape.search(mapping.named(values, name)) for name, shape in self._others
        )


class _FieldRule:
    """A field of a kind, compiled."""

    def __init__(self, name: str, rule: Field) -> None:
        self.name = name
        self._rule = rule
        self._part = re.compile(rule.part) if rule.part else None

    def value(self, mapping: ColumnMapping, values: Mapping[str, str]) -> str:
        """Return a record's value of the field; "" if it has none."""
        rule = self._rule
        found = [cell for column in rule.columns if (cell := mapping.named(values, column))]
        text = "" if not found else found[0] if rule.joined is None else rule.joined.join(found)
        if self._part is not None:
            match = self._part.search(text)
            text = (match[1] or "") if match else ""
        return rule.values.get(text, rule.values.get("*", text)) if text else ""


class _RoleColumns:
    """Where records with the same columns have what: most records of a table are alike."""

    def __init__(self, mapping: ColumnMapping, columns: Collection[str]) -> None:
        self._mapping = mapping
        self._columns = frozenset(columns)
        self._only: dict[str, str | None] = {}
        self._placed: dict[str, list[tuple[str, tuple[str, ...], bool]]] = {}

    def _only_column(self, role: str) -> str | None:
        """Return the only column of a role that these records have; "" if there is none, None if there are several."""
        if role not in self._only:
            found = [name for name in self._mapping.columns.get(role, ()) if name in self._columns]
            is_several = role in self._mapping.joined or len(found) > 1
            self._only[role] = None if is_several else "".join(found)
        return self._only[role]

    def value(self, values: Mapping[str, str], role: str) -> str:
        """Return what the mapping's ``value`` returns for such a record."""
        column = self._only[role] if role in self._only else self._only_column(role)
        if column is None:
            return self._mapping.value(values, role)
        return values[column] if column else ""

    def placed_roles(self, category: str) -> list[tuple[str, tuple[str, ...], bool]]:
        """Return the roles of a category that may have a value, with their fields, and whether they are addresses."""
        found = self._placed.get(category)
        if found is None:
            found = self._placed[category] = [
                (role, names, role.endswith("_address"))
                for role, names in _FIELDS.get(category, _FIELDS[""]).items()
                if self._only_column(role) != ""
            ]
        return found


class RowEvents:
    """Makes the events of one table. ``is_usable`` is False if its columns describe no events."""

    def __init__(self, mapping: ColumnMapping, sample: Sequence[Mapping[str, str]]) -> None:
        self._mapping = mapping
        self._excerpts = Excerpts(mapping)
        self._kind = mapping.kind
        self._conditions = [_Condition(rule) for rule in (self._kind.when if self._kind else ())]
        rules = self._kind.field_rules() if self._kind else {}
        self._field_rules = [_FieldRule(*item) for item in rules.items() if not item[0].endswith(MEMBERS)]
        self._members = {
            column: name.removesuffix(MEMBERS)
            for name, rule in rules.items()
            if name.endswith(MEMBERS)
            for column in rule.columns
        }
        self._when_fields = {id(one.rule): _fields_of(one.rule) for one in self._conditions}
        self._systems = Systems(self._kind) if self._kind is not None and self._kind.systems else None
        self._windows = WindowsRows(self._kind, mapping) if self._kind is not None and self._kind.is_windows else None
        self._shapes: dict[frozenset[str], str] = {}
        self._layouts: dict[tuple[str, ...], _RoleColumns] = {}
        self.is_left_out: bool = False
        actions = [action for record in sample if (action := mapping.value(record, "action"))]
        self._are_named = any(LOGIN.search(action) for action in actions)
        is_outcome = mapping.columns.get("action") == mapping.columns.get("outcome")  # its values are outcomes
        self._has_actions = bool(actions) and (self._are_named or not is_outcome)
        self._is_login_table = any(_LOGIN_NAME.search(name) for record in sample[:1] for name in record)
        commands = " ".join(mapping.value(record, role) for record in sample for role in ("image", "command"))
        self._system = "windows" if _WINDOWS.search(commands) else "linux"
        self.is_usable: bool = self._kind is not None or any(self._shape(record) != "-" for record in sample)

    def event(self, record: TableRecord) -> Event | None:
        """Return the event of a record; None if it has no part of an event, or if its kind leaves it out.

        ``is_left_out`` then says which.
        """
        mapping, values = self._mapping, record.values
        layout = self._layouts.get(tuple(values)) or self._new_layout(values)
        if self._windows is not None and (found := self._windows.event(record)) is not None:
            return found
        rule = _NO_RULE
        for one in self._conditions:
            if one.fits(mapping, values):
                rule = one.rule
                break
        self.is_left_out = rule.skip
        category = "-" if rule.skip or self._is_foreign(values) else self._category(values, rule)
        if category == "-":
            return None
        fields = self._fields(values, category, layout)
        if outcome := rule.outcome or (self._outcome(values) if category else mapping.outcome(values)):
            fields["Outcome"] = outcome
        product, service = self._log_source(values, rule)
        if category == "process_creation":
            product = self._complete_process(fields, product)
            _complete_user(fields, mapping.value(values, "user_domain"))
        elif category == "firewall":
            product = product or "firewall"
        if self._members:
            self._rename_members(fields)
        for field in (*self._field_rules, *self._when_fields.get(id(rule), ())):
            if value := field.value(mapping, values):
                fields[field.name] = as_windows(field.name, value)
        if product == "windows":
            without_devices(fields)
        event = Event(
            number=record.number,
            offset=record.offset,
            time=mapping.time(values),
            product=product,
            service=service,
            category=category,
            host=layout.value(values, "host").partition("\n")[0],
            event_id=rule.event_id if rule.event_id is not None else self._event_id(values),
            fields=fields | rule.sets if rule.sets else fields,
            excerpt=self._excerpts.arranged(record.excerpt, values),
            verdict=verdict_of(self._kind, mapping, values) if category == "alert" else None,
        )
        if category == "application" and self._kind is None:
            describe(event)
        return event

    def so_far(self) -> RowsSoFar:
        """Return what the records after the sample have shown, for ``go_on``."""
        return RowsSoFar(self._mapping.learned, self._shapes, self._windows.seen if self._windows else set())

    def go_on(self, earlier: RowsSoFar) -> None:
        """Go on with what the parts before have shown."""
        self._mapping.learn(dict.fromkeys(earlier.columns, ""))
        self._shapes |= earlier.shapes
        if self._windows is not None:
            self._windows.seen |= earlier.windows

    def _is_foreign(self, values: Mapping[str, str]) -> bool:
        """Return whether a record among those of a known kind has no column with a meaning: it was not understood."""
        if self._kind is None:
            return False
        mapping = self._mapping
        for role in mapping.columns:
            if mapping.value(values, role):
                return False
        is_joined = any(mapping.value(values, role) for role in mapping.joined)
        return not is_joined and bool(mapping.columns or mapping.joined)

    def _rename_members(self, fields: dict[str, str]) -> None:
        """Add the members of columns whose name differs from the product's: ``requestparameters.userName``."""
        for name, value in list(fields.items()):
            column, dot, member = name.partition(".")
            if dot and (own := self._members.get(plain_name(column))) is not None:
                fields.setdefault(f"{own}.{member}", value)

    @property
    def kind(self) -> Kind | None:
        """The product whose export it is."""
        return self._kind

    def _log_source(self, values: Mapping[str, str], rule: When) -> tuple[str, str]:
        """Return Sigma's product and service of a record."""
        if self._kind is None:
            return rule.product, rule.service
        product = rule.product or self._kind.product
        if self._systems is not None and not rule.product:
            named = {column: self._mapping.named(values, column) for column in self._systems.columns}
            product = self._systems.product(named)
        return product, rule.service or self._kind.service

    def _fields(self, values: Mapping[str, str], category: str, layout: _RoleColumns) -> dict[str, str]:
        """Return the record's own fields, and those of its roles under Sigma's names."""
        mapping = self._mapping
        fields = dict(values) if len(values) <= MAX_FIELDS else dict(islice(values.items(), MAX_FIELDS))
        for prefix, name in (self._kind.prefixes if self._kind else {}).items():
            nested = [column for column in fields if column[: len(prefix)].lower() == prefix]
            fields |= {name + column[len(prefix) :]: fields[column] for column in nested}
        if "@" in (user := layout.value(values, "user")):
            domain = user.rpartition("@")[2]
            fields |= {"UserDomain": f"@{domain}", "UserSubdomains": f".{domain}"}  # rules look for other domains
        for role, names, is_address in layout.placed_roles(category):
            if value := layout.value(values, role):
                if is_address:
                    value = address_of(value) or value
                elif role == "query":
                    value = value.rstrip(".") or value  # the root's dot, which rules for DNS names do not expect
                for name in names:
                    fields[name] = value
        if category in ("webserver", "proxy"):
            _complete_request(fields, mapping.value(values, "url"), is_proxy=category == "proxy")
        elif category == "alert" and self._kind is not None:
            level = fields.get("Severity", "").partition(".")[0].partition("\n")[0]
            fields["Severity"] = self._kind.severities.get(level, self._kind.severities.get("*", level))
        return fields

    def _new_layout(self, values: Mapping[str, str]) -> _RoleColumns:
        """Return where records with these columns have what, after the mapping has learned columns that are new."""
        known = len(self._mapping.learned)
        self._mapping.learn(values)
        if known != len(self._mapping.learned) or len(self._layouts) >= MAX_LAYOUTS:
            self._layouts.clear()
        layout = self._layouts[tuple(values)] = _RoleColumns(self._mapping, values)
        return layout

    def _event_id(self, values: Mapping[str, str]) -> int | None:
        """Return the event's ID if the kind names a column for it."""
        if self._kind is None or "event_id" not in self._kind.columns:
            return None
        cell = self._mapping.value(values, "event_id").strip()
        return int(cell) if cell.isdecimal() and len(cell) < MAX_ID_DIGITS else None

    def _category(self, values: Mapping[str, str], rule: When) -> str:
        """Return the category of a record; "-" if it is no event."""
        if rule.event_id is not None:
            return rule.category or category_of(rule.service, rule.event_id)
        if self._kind is not None and (found := rule.category or self._kind.category):
            return found.replace(_ACTIVITY, "")
        shape_found = self._shape(values)
        if shape_found == "authentication" and self._has_actions and self._are_named:
            action = self._mapping.value(values, "action")
            is_login = LOGIN.search(action) and not LOGOUT.search(action) and self._outcome(values)
            return "authentication" if is_login else ""
        return "" if shape_found == "-" and self._kind is not None else shape_found

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
        return "application" if self._kind is None and present >= {"time", "message", "severity"} else "-"

    def _tells_logins(self, present: set[str]) -> bool:
        """Whether a table with users is one of logins: outcomes or names say so, and a time or source is there."""
        if not present & {"time", "source_address", "source_host"}:
            return False
        if self._has_actions:
            return self._are_named
        return "outcome" in present or self._is_login_table

    def _outcome(self, values: Mapping[str, str]) -> str:
        return self._mapping.outcome(values) or outcome_of_words(self._mapping.value(values, "action"))

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


def _fields_of(rule: When) -> list[_FieldRule]:
    return [_FieldRule(name, Field(columns=columns)) for name, columns in rule.fields.items()]


def _complete_user(fields: dict[str, str], domain: str) -> None:
    user = fields.get("User", "")
    if user and domain and not set(user) & {"\\", "@"}:
        fields["User"] = f"{domain}\\{user}"


def _complete_request(fields: dict[str, str], url: str, *, is_proxy: bool) -> None:
    if url.partition(" ")[0].isupper() and " " in url:
        add_request(fields, url)
    elif url and not is_proxy:
        add_target(fields, url)
    if is_proxy and (host := _WEB_HOST.match(url)) is not None:
        fields["cs-host"] = host[1] or host[2]
