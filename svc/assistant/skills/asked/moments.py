"""Keep the earliest and the latest of many records, for a question for the time between two of them."""

from __future__ import annotations

from bisect import insort

from svc.assistant.sigma.event import Event, without_fields

KEPT = 50  # of the earliest, and of the latest
MAX_LABELS = 5_000


class Moments:
    """The earliest and the latest records with a time; their excerpts are kept, their fields are not."""

    def __init__(self) -> None:
        self._earliest: list[_Entry] = []
        self._latest: list[_Entry] = []
        self._count = 0

    def add(self, event: Event, label: str = "") -> None:
        """Keep a record with a label if it is among the earliest or the latest; one without a time is not."""
        if not event.time:
            return
        self._count += 1
        is_early = len(self._earliest) < KEPT or event.time < self._earliest[-1][0]
        is_late = len(self._latest) < KEPT or event.time >= self._latest[0][0]
        if not (is_early or is_late):
            return
        entry = (event.time, self._count, without_fields(event), label)
        if is_early:
            insort(self._earliest, entry, key=_order)
            del self._earliest[KEPT:]
        if is_late:
            insort(self._latest, entry, key=_order)
            del self._latest[: max(0, len(self._latest) - KEPT)]

    @property
    def labelled(self) -> list[tuple[Event, str]]:
        """The records in the order of their times, each once, with their labels."""
        found = {entry[1]: entry for entry in (*self._earliest, *self._latest)}
        return [(event, label) for *_, event, label in sorted(found.values(), key=_order)]


class FirstMoments:
    """The first record of each different label, as ``Moments`` keeps all records."""

    def __init__(self) -> None:
        self._first: dict[str, Event] = {}

    def add(self, event: Event, label: str = "") -> None:
        """Keep a record if it is the first with its label."""
        known = self._first.get(label)
        is_new = known is None and len(self._first) < MAX_LABELS
        if label and event.time and (is_new or (known is not None and event.time < known.time)):
            self._first[label] = without_fields(event)

    @property
    def labelled(self) -> list[tuple[Event, str]]:
        """The records in the order of their times, with their labels."""
        return sorted(((event, label) for label, event in self._first.items()), key=lambda one: one[0].time)[:KEPT]


_Entry = tuple[str, int, Event, str]


def _order(entry: _Entry) -> tuple[str, int]:
    return entry[:2]
