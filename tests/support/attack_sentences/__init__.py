"""Sentences that report an attack, with their techniques, and sentences that do not, in two halves; own wording.

The weights of ``knowledge/reported_behaviour.toml`` were fitted with the open half; the held half was written before
and first looked at afterwards. ``generated_reports`` and ``generated_harmless`` combine words at random but repeatably.
``docstrings`` are those of Python's own library, which every machine has.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

Half = Literal["open", "held"]
_FOLDER = Path(__file__).parent
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_MODULES = (
    "ast",
    "asyncio/*",
    "base64",
    "cgi",
    "codecs",
    "collections/*",
    "concurrent/futures/*",
    "configparser",
    "contextlib",
    "ctypes/util",
    "dbm/*",
    "difflib",
    "email/*",
    "ftplib",
    "getpass",
    "hashlib",
    "hmac",
    "http/*",
    "imaplib",
    "importlib/*",
    "inspect",
    "json/*",
    "logging/*",
    "mailbox",
    "multiprocessing/*",
    "netrc",
    "optparse",
    "os",
    "pathlib",
    "pickle",
    "platform",
    "poplib",
    "queue",
    "secrets",
    "shelve",
    "shutil",
    "smtplib",
    "socket",
    "socketserver",
    "sqlite3/*",
    "ssl",
    "statistics",
    "subprocess",
    "tarfile",
    "tempfile",
    "threading",
    "trace",
    "unittest/*",
    "urllib/*",
    "uuid",
    "venv/*",
    "webbrowser",
    "xml/*/*",
    "xmlrpc/*",
    "zipfile",
)


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def words(name: str) -> list[str]:
    """Words of a list: ``ordinary`` ones, and ordinary ones that are ``containing`` others."""
    return " ".join(_lines(f"{name}_words")).split()


def harmless(half: Half) -> list[str]:
    """Sentences of encyclopedias, news, business and daily life."""
    return _lines(f"harmless_{half}")


def manual(half: Half) -> list[str]:
    """Sentences of manuals, changelogs, advice and descriptions of defences, rich in the words of techniques."""
    return _lines(f"manual_{half}")


def notes(half: Half) -> list[str]:
    """Notes of daily work in lower case without a full stop: chat, tickets, commits, minutes, policies, runbooks."""
    return _lines(f"notes_{half}")


def fields(half: Half) -> list[str]:
    """Notes and documentation of many trades, first in lower case, then as whole sentences; both halves rich in the
    words of techniques. At first sight .40 of the open and .42 of the held half had a technique."""
    return _lines(f"fields_{half}")


def registers(half: Half) -> list[str]:
    """Sentences of many registers, from product pages to tickets and option lists, all with the words of techniques.

    At first sight .18 of the open and .16 of the held half had a technique.
    """
    return _lines(f"registers_{half}")


def dense() -> list[str]:
    """Sentences of manuals, policies and product pages, each dense with words of security; never used for a fit."""
    return _lines("dense_held")


def reported(half: Half) -> list[tuple[str, str]]:
    """``(technique, sentence)`` of reports."""
    return _labelled(f"reported_{half}")


def prose_reported(half: Half) -> list[tuple[str, str]]:
    """``(technique, sentence)`` of reports in prose.

    At first sight .83 of the open and .80 of the held half had their technique among the first five.
    """
    return _labelled(f"prose_reported_{half}")


def everyday(half: Half) -> list[str]:
    """Sentences of software, HR, medicine, kitchens, server rooms, logs, marketing, policies, novels and law."""
    return _lines(f"everyday_{half}")


def varied_reported(half: Half) -> list[tuple[str, str]]:
    """``(technique, sentence)`` of reports in varied wording, many in the passive and without an attacker's name."""
    return _labelled(f"varied_reported_{half}")


def varied_harmless(half: Half) -> list[str]:
    """Sentences of many registers that have the words of techniques, with definitions and descriptions of defences.

    At first sight .07 of the open and .10 of the held half had a technique. The open half was used for a fit.
    """
    return _lines(f"varied_harmless_{half}")


def incident_reported(half: Half) -> list[tuple[str, str]]:
    """``(technique, sentence)`` of incident reports, half of them without an attacker's name.

    At first sight .72 of the open and .75 of the held half had their technique among the first five.
    """
    return _labelled(f"incident_reported_{half}")


def _labelled(name: str) -> list[tuple[str, str]]:
    return [(line[: line.index(" | ")], line[line.index(" | ") + 3 :]) for line in _lines(name)]


def docstrings(count: int) -> list[str]:
    """Whole sentences of the docstrings of Python's library, evenly chosen."""
    library = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for name in _MODULES for path in library.glob(f"{name}.py"))
    found = list(dict.fromkeys(sentence for path in paths for sentence in _sentences_in(path)))
    return found[:: max(1, len(found) // count)][:count]


def _sentences_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            for paragraph in text.split("\n\n"):
                for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
                    if 5 <= len(sentence.split()) <= 40 and sentence[0].isupper() and sentence.endswith("."):
                        yield sentence


_PEOPLE = (
    "The mayor",
    "My sister",
    "A farmer",
    "The orchestra",
    "Her neighbour",
    "The goalkeeper",
    "A young doctor",
    "The abbot",
    "Our guide",
    "The prime minister",
    "The crew",
    "A retired teacher",
)
_DID = (
    "moved {thing} to another {place}",
    "collected {thing} for {others}",
    "sent {thing} to {others}",
    "hid {thing} in the {place}",
    "deleted {thing} from the list of the {place}",
    "opened {thing} and read it to {others}",
    "changed {thing} after the visit to the {place}",
    "created {thing} for {others}",
    "ran to the {place} with {thing}",
    "asked {others} for {thing}",
    "copied {thing} by hand in the {place}",
    "captured {thing} near the {place}",
    "discovered {thing} behind the {place}",
    "exploited {others} to get {thing}",
)
_THINGS = (
    "the letters",
    "an old map",
    "three paintings",
    "the documents",
    "a secret recipe",
    "the keys",
    "some photographs",
    "the message",
    "a box of tools",
    "the certificate",
    "an account of the voyage",
    "the password of the secret club",
)
_PLACES = ("museum", "village", "castle", "kitchen", "harbour", "theatre", "library", "garden", "church", "stadium")
_OTHERS = (
    "the children",
    "his friends",
    "the king",
    "their guests",
    "the police",
    "two students",
    "the villagers",
    "her brother",
)
_TIMES = (
    "in 1923",
    "last summer",
    "on Sunday",
    "during the war",
    "after dinner",
    "before the election",
    "at dawn",
    "for many years",
)

_ACTORS = (
    "The actor",
    "The attackers",
    "The intruders",
    "The malware",
    "The backdoor",
    "This ransomware",
    "The implant",
    "APT41",
    "The dropper",
    "The trojan",
    "BrassLoader",
    "The threat actor",
)
_ACTS = (
    ("T1105", "downloads {a} tool from {a} remote server"),
    ("T1105", "used curl to fetch the next payload from its C2 server"),
    ("T1003.001", "dumped the memory of LSASS"),
    ("T1547.001", "adds a Run key to the registry"),
    ("T1053.005", "creates a scheduled task"),
    ("T1070.004", "deletes its own files from disk"),
    ("T1082", "collects the OS version and the host name"),
    ("T1057", "lists running processes"),
    ("T1041", "exfiltrated the stolen files over the C2 channel"),
    ("T1055", "injects code into another process"),
    ("T1027", "encodes its strings with Base64 and XOR"),
    ("T1140", "decrypts the embedded payload"),
    ("T1113", "takes screenshots of the desktop"),
    ("T1056.001", "logs keystrokes"),
    ("T1021.001", "moved laterally over RDP"),
    ("T1047", "used WMI to run commands on other hosts"),
    ("T1562.001", "disabled Windows Defender"),
    ("T1490", "removed the shadow copies with vssadmin"),
    ("T1486", "encrypted the files of the victim"),
    ("T1059.001", "launched PowerShell"),
    ("T1083", "enumerates files and directories"),
    ("T1016", "runs ipconfig to collect the network configuration"),
    ("T1112", "modified a registry value"),
    ("T1071.001", "communicates with its C2 server over HTTPS"),
)
_ENDS = (
    "",
    " during the intrusion",
    " on the compromised host",
    " before it contacts its operators",
    " in memory",
    " several times",
)


def generated_harmless(half: Half, count: int) -> list[str]:
    """Sentences about people and things, with verbs that the lexicon has."""
    chosen = random.Random(f"harmless {half}")
    return [f"{chosen.choice(_PEOPLE)} {_filled(chosen)} {chosen.choice(_TIMES)}." for _ in range(count)]


def _filled(chosen: random.Random) -> str:
    return chosen.choice(_DID).format(
        thing=chosen.choice(_THINGS), place=chosen.choice(_PLACES), others=chosen.choice(_OTHERS)
    )


def generated_reports(half: Half, count: int) -> list[tuple[str, str]]:
    """``(technique, sentence)``, an attacker with an action."""
    chosen = random.Random(f"reports {half}")
    found = []
    for _ in range(count):
        technique, act = chosen.choice(_ACTS)
        found.append((technique, f"{chosen.choice(_ACTORS)} {act.format(a='a')}{chosen.choice(_ENDS)}."))
    return found
