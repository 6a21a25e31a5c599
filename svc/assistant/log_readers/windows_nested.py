"""Read one Windows event structured like its XML (System, EventData, UserData), in the JSON of various programs.

Attributes are ``{"#attributes": {…}}`` (the library evtx), ``"@Name"`` (xmltodict, EvtxECmd), ``Name_attributes``
next to the element, or plain members.
"""

from __future__ import annotations

from datetime import UTC, datetime

from svc.assistant.log_readers.windows import MAX_FIELDS, Header, add_field, utc, windows_event
from svc.assistant.sigma.event import Event

MAX_DEPTH = 6  # of UserData; Windows' own has three levels


def nested_event(body: dict[str, object], *, number: int, is_own_number: bool = False) -> Event | None:
    """Return the event whose ``Event`` element is ``body``; None if it has no System element.

    ``number`` is the line's; with ``is_own_number`` the record's own number goes before it.
    """
    system = body.get("System")
    if not isinstance(system, dict):
        return None
    record = whole_number(system.get("EventRecordID")) if is_own_number else None
    header = Header(
        number=record if record else number,
        event_id=whole_number(system.get("EventID")),
        channel=_text(system.get("Channel")),
        provider=_attribute(system, "Provider", "Name"),
        host=_text(system.get("Computer")),
        time=utc(_attribute(system, "TimeCreated", "SystemTime"), is_utc=True),
    )
    fields: dict[str, str] = {}
    add_data(fields, body.get("EventData"))
    add_user_data(fields, body.get("UserData"))
    return windows_event(header, fields)


def whole_number(value: object) -> int | None:
    """Return ``4624`` from a number, a text, or an element with attributes."""
    if type(value) is int:  # as in most records
        return value if 0 <= value < 2**63 else None
    if isinstance(value, dict):
        value = value.get("#text", value.get("Value", value.get("_")))
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if 0 <= number < 2**63 else None


def _text(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("#text")
    return value if isinstance(value, str) else ""


def _attribute(system: dict[str, object], element: str, name: str) -> str:
    value = system.get(element)
    if isinstance(value, dict) and isinstance(own := value.get("#attributes"), dict):
        found = own.get(name)
        if isinstance(found, str):  # as the library evtx has it
            return found
    beside = system.get(f"{element}_attributes")
    for place in (value.get("#attributes") if isinstance(value, dict) else None, value, beside):
        if isinstance(place, dict):
            for key in (name, f"@{name}"):
                found = place.get(key)
                if isinstance(found, str):
                    return found
                if isinstance(found, int | float) and not isinstance(found, bool):  # Velociraptor: seconds since 1970
                    return _stamp(found)
    return value if isinstance(value, str) else ""


def _stamp(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""


def add_data(fields: dict[str, str], data: object) -> None:
    """Add the fields of EventData: by name, as a list of named values, or as unnamed values (``Data``)."""
    if isinstance(data, str):
        add_field(fields, "Data", data)
    if not isinstance(data, dict):
        return
    for name, value in data.items():
        if name == "Data":
            _add_values(fields, value)
        elif name[:1] not in "#@" and not name.endswith("_attributes"):
            add_field(fields, name, value if type(value) is str else _leaf(value))


def _leaf(value: object) -> object:
    """Return the value of an element; for a list its values, one per line."""
    if isinstance(value, dict):
        value = value.get("#text")
    if isinstance(value, list):
        return "\n".join(str(item) for item in value[:MAX_FIELDS] if item is not None)
    return None if isinstance(value, dict) else value


def _add_values(fields: dict[str, str], value: object) -> None:
    if isinstance(value, dict):
        named = value.get("@Name", value.get("Name"))
        if isinstance(named, str):
            add_field(fields, named, _leaf({"#text": value.get("#text", value.get("Value"))}))
            return
        value = value.get("#text")
    if not isinstance(value, list):
        add_field(fields, "Data", value)
        return
    unnamed = [item for item in value if not isinstance(item, dict)]
    for item in value[:MAX_FIELDS]:
        if isinstance(item, dict):
            _add_values(fields, item)
    if unnamed:
        add_field(fields, "Data", _leaf(unnamed))


def add_user_data(fields: dict[str, str], data: object, depth: int = 0) -> None:
    """Add every leaf of UserData by its own name; the first of equal names is kept."""
    if not isinstance(data, dict) or depth > MAX_DEPTH:
        return
    for name, value in data.items():
        if name[:1] in "#@" or name.endswith("_attributes"):
            continue
        if isinstance(value, dict) and "#text" not in value:
            add_user_data(fields, value, depth + 1)
        elif name not in fields:
            add_field(fields, name, _leaf(value))
