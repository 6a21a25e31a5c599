"""Parse the lines around which a container runtime writes what its programs printed. Pure.

Forms: Docker's json-file driver (``{"log":…,"stream":…,"time":…}``, also with the members that Fluent Bit adds), CRI's
(``TIME stdout F LINE``; containerd, CRI-O), ``docker compose logs`` (``web-1  | LINE``), and what ``docker logs
--timestamps`` and ``kubectl logs --timestamps`` put before each line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from svc.assistant.log_readers.json_objects import object_of
from svc.assistant.log_readers.lines import split_lines

LINE_SHARE = 0.8  # of the first lines that must have the form
HEAD_LINES = 200
MAX_NAME_CHARS = 100
DOCKER, CRI, COMPOSE, STAMPED = "Docker's json-file", "CRI", "docker compose", "lines with their time"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)"
_CRI = re.compile(
    rf"(?P<time>{_TIME}) (?P<stream>stdout|stderr) (?P<tag>[PF])(?::\S{{0,20}})? ?(?P<text>.*)", re.DOTALL
)
_COMPOSE = re.compile(
    rf"(?P<name>[\w.-]{{1,80}}?[-_]\d{{1,4}}) {{1,80}}\| (?:(?P<time>{_TIME}) )?(?P<text>.*)", re.DOTALL
)
_STAMPED = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(?:Z|[+-]\d\d:\d\d)) (?P<text>.*)", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[\d;]{0,20}m")
_TIMES = ("time", "@timestamp", "timestamp", "date")


class ContainerLine(NamedTuple):
    """What a program printed: its line, the stream, the runtime's time, and the container's name if it is stated.

    ``is_part``: the line goes on in the stream's next one.
    """

    text: str
    stream: str
    time: str
    container: str
    is_part: bool


def container_line(line: str, form: str) -> ContainerLine | None:
    """Return what a line holds; None if it does not have this form."""
    if form == DOCKER:
        return _docker(line)
    if form == CRI:
        found = _CRI.match(line)
        return found and ContainerLine(found["text"], found["stream"], found["time"], "", found["tag"] == "P")
    found = (_COMPOSE if form == COMPOSE else _STAMPED).match(_COLOUR.sub("", line))
    if found is None:
        return None
    name = found["name"] if form == COMPOSE else ""
    return ContainerLine(found["text"], "", found["time"] or "", name, is_part=False)


def form_of_lines(text: str) -> str:
    """Return the form of a file's first lines; "" if most have none of these."""
    lines = [line for line in split_lines(text.lstrip("\ufeff"))[:HEAD_LINES] if line.strip()]
    if len(lines) > 1 and not text.endswith("\n"):
        lines.pop()  # it may be cut
    for form in (DOCKER, CRI, COMPOSE, STAMPED):
        if lines and sum(container_line(line, form) is not None for line in lines) >= LINE_SHARE * len(lines):
            return form
    return ""


def _docker(line: str) -> ContainerLine | None:
    if not line.startswith("{") or '"log"' not in line:
        return None
    found = object_of(line)
    if not isinstance(found, dict) or not isinstance(text := found.get("log"), str):
        return None
    pod = found.get("kubernetes")
    stream = found.get("stream")
    if stream not in ("stdout", "stderr") and not isinstance(pod, dict):
        return None
    time = next((value for name in _TIMES if isinstance(value := found.get(name), str)), "")
    names = [pod.get(name) for name in ("pod_name", "container_name")] if isinstance(pod, dict) else []
    name = "/".join(one for one in names if isinstance(one, str))
    is_part = stream is not None and not isinstance(pod, dict) and not text.endswith("\n")
    return ContainerLine(text, str(stream or ""), time, name[:MAX_NAME_CHARS], is_part)
