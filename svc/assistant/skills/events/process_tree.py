"""Build process trees from Sysmon 1 and Security 4688: parents by GUID, otherwise by process ID and time.

Sysmon and Security often both log a start: the same ID, program and host within SAME_SECONDS are one process. A parent
that started before the log begins is a node without a record.
"""

from __future__ import annotations

from collections.abc import Iterator

from svc.assistant.findings import Finding, Severity
from svc.assistant.sigma.engine import Rule
from svc.assistant.sigma.event import Event, seconds_of, without_fields
from svc.assistant.skills.asked.evidence import Place, account_of, base_name
from svc.assistant.skills.events.findings import ProcessNode, ProcessTree
from svc.assistant.skills.events.matches.rule_hits import RANK

MAX_PROCESSES = 50_000  # in one log; later ones are counted but not kept
MAX_TREES = 10  # reported, the most severe first
UNFLAGGED_TREES = 4  # if no rule matched a process: the largest
MAX_NODES = 60  # of one tree: flagged processes with their ancestors and children
MAX_DEPTH = 40
MAX_COMMAND_CHARS = 500
SAME_SECONDS = 2.0
_WITHOUT_PROCESS_IDS = frozenset({"sudo", "cron"})  # their lines name commands
_NO_GUIDS = ("", "-", "{00000000-0000-0000-0000-000000000000}", "00000000-0000-0000-0000-000000000000")


class Process:
    """One process; ``event`` is None for a parent that the log names but whose start it does not contain."""

    event: Event | None
    host: str
    image: str
    pid: str
    user: str

    __slots__ = ("children", "command", "event", "host", "image", "parent", "pid", "rules", "user", "worst")

    def __init__(self, host: str, pid: str, image: str, command: str, user: str, event: Event | None) -> None:
        self.host, self.pid, self.image, self.user, self.event = host, pid, image, user, event
        self.command: str = command[:MAX_COMMAND_CHARS]
        self.parent: Process | None = None
        self.children: list[Process] = []
        self.rules: dict[str, None] = {}
        self.worst: int = RANK[Severity.INFO]

    @property
    def seconds(self) -> float | None:
        """When it started."""
        return seconds_of(self.event.time) if self.event else None


class ProcessTreeBuilder:
    """Builds the trees; needs the events in chronological order."""

    def __init__(self) -> None:
        self.count: int = 0
        self._by_guid: dict[str, Process] = {}
        self._by_pid: dict[tuple[str, str], Process] = {}
        self._by_event: dict[tuple[int, str], Process] = {}
        self._roots: list[Process] = []

    def add(self, event: Event) -> None:
        """Add a node if the event is the start of a process."""
        if event.category != "process_creation" or event.service in _WITHOUT_PROCESS_IDS:
            return
        fields = event.fields
        host, pid, image = event.host.partition(".")[0].lower(), fields.get("ProcessId", ""), fields.get("Image", "")
        known = self._by_pid.get((host, pid))
        if known is not None and _is_same(known, event, image):
            self._by_event[_key(event)] = known
            self._name(fields.get("ProcessGuid", ""), known)
            return
        self.count += 1
        if len(self._by_event) >= MAX_PROCESSES:
            return
        user = fields.get("User", "") or account_of(event, "Subject")
        process = Process(host, pid, image, fields.get("CommandLine", ""), user, without_fields(event))
        self._attach(process, self._parent(host, fields))
        self._by_pid[host, pid] = process
        self._by_event[_key(event)] = process
        self._name(fields.get("ProcessGuid", ""), process)

    def _name(self, guid: str, process: Process) -> None:
        if guid not in _NO_GUIDS:
            self._by_guid[guid.strip("{}").lower()] = process

    def _parent(self, host: str, fields: dict[str, str]) -> Process | None:
        guid = fields.get("ParentProcessGuid", "")
        known = self._by_guid.get(guid.strip("{}").lower()) if guid not in _NO_GUIDS else None
        if known is not None:
            return known
        pid, image = fields.get("ParentProcessId", ""), fields.get("ParentImage", "")
        if not (pid or image) or image == "-":
            return None
        known = self._by_pid.get((host, pid))
        if known is not None and (not image or base_name(known.image) == base_name(image)):
            return known
        parent = Process(host, pid, image, fields.get("ParentCommandLine", ""), fields.get("ParentUser", ""), None)
        self._by_pid[host, pid] = parent
        self._name(guid, parent)
        self._roots.append(parent)
        return parent

    def _attach(self, process: Process, parent: Process | None) -> None:
        depth, above = 0, parent
        while above is not None and depth <= MAX_DEPTH:
            depth, above = depth + 1, above.parent
        if parent is None or depth > MAX_DEPTH:
            self._roots.append(process)
            return
        process.parent = parent
        parent.children.append(process)

    def mark(self, event: Event, rule: Rule) -> None:
        """Flag the process of an event that a rule matched."""
        process = self._by_event.get(_key(event)) or self._by_other_event_guid(event)
        if process is not None:
            process.rules[rule.title] = None
            process.worst = min(process.worst, RANK[rule.severity])

    def _by_other_event_guid(self, event: Event) -> Process | None:
        """Return the process that caused an event of another kind."""
        for field in ("ProcessGuid", "SourceProcessGUID", "SourceProcessGuid"):
            guid = event.fields.get(field, "")
            if guid not in _NO_GUIDS:
                return self._by_guid.get(guid.strip("{}").lower())
        return None

    def findings(self, place: Place) -> Iterator[Finding[ProcessTree]]:
        """Yield the trees with the most severe processes; if none is flagged, the largest few."""
        scored = []
        for root in self._roots:
            nodes = list(_walk(root))
            worst = min(process.worst for _, process in nodes)
            flagged = sum(1 for _, process in nodes if process.rules)
            scored.append((worst, -flagged, -len(nodes), root, nodes))
        scored.sort(key=lambda item: item[:3])
        flagged_trees = [item for item in scored if item[1]]
        for *_, root, nodes in (flagged_trees or scored[:UNFLAGGED_TREES])[:MAX_TREES]:
            yield _tree(root, nodes, place)


def _key(event: Event) -> tuple[int, str]:
    """A record, and the process in it: a record of an export may list several."""
    return event.number, event.fields.get("ProcessId", "")


def _is_same(known: Process, event: Event, image: str) -> bool:
    if known.event is None or known.event.event_id == event.event_id or base_name(known.image) != base_name(image):
        return False
    here, there = seconds_of(event.time), known.seconds
    return here is not None and there is not None and abs(here - there) <= SAME_SECONDS


def _walk(root: Process) -> Iterator[tuple[int, Process]]:
    """Yield every process of a tree with its depth, parents first."""
    waiting = [(0, root)]
    while waiting:
        depth, process = waiting.pop()
        yield depth, process
        waiting += [(depth + 1, child) for child in reversed(process.children)]


def _tree(root: Process, nodes: list[tuple[int, Process]], place: Place) -> Finding[ProcessTree]:
    worst = min(process.worst for _, process in nodes)
    flagged = sorted((p for _, p in nodes if p.rules and p.event), key=lambda process: process.worst)
    return Finding(
        title=f"{len(nodes):,} processes under {base_name(root.image) or 'an unnamed process'} on {root.host}",
        severity=list(Severity)[worst],
        evidence=tuple(place.evidence(p.event) for p in flagged[:3] if p.event),
        facts=ProcessTree(
            host=root.host,
            processes=len(nodes),
            flagged=sum(1 for _, process in nodes if process.rules),
            nodes=[
                ProcessNode(
                    depth=depth,
                    pid=process.pid,
                    image=process.image,
                    command=process.command,
                    user=process.user,
                    time=process.event.time if process.event else "",
                    record=process.event.number if process.event else None,
                    severity=list(Severity)[process.worst],
                    rules=list(process.rules)[:3],
                )
                for depth, process in _chosen(nodes)
            ],
        ),
    )


def _chosen(nodes: list[tuple[int, Process]]) -> list[tuple[int, Process]]:
    """Return all nodes if they are few; otherwise the flagged ones with their ancestors and children, in order."""
    if len(nodes) <= MAX_NODES:
        return nodes
    wanted: set[int] = set()
    for process in sorted((p for _, p in nodes if p.rules), key=lambda process: process.worst):
        line: Process | None = process
        while line is not None:
            wanted.add(id(line))
            line = line.parent
        if len(wanted) >= MAX_NODES:
            break
        wanted.update(id(child) for child in process.children[:5])
    chosen = [item for item in nodes if id(item[1]) in wanted] or nodes
    return chosen[:MAX_NODES]
