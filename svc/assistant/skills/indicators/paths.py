"""Decide where a file path or a registry key ends, since both may contain spaces. Pure; linear patterns.

A part with spaces continues as long as a separator follows. The last part takes further words only if a file name
extension, or capitals at the end of a line, show that they belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = r"(?:[^\\/:*?\"'<>|\r\n\t“”]|<[^<>\\\r\n]{1,40}>|(?<=\w)'(?=\w))"
_STOP_WORDS = re.compile(
    r"(?i)(?<=\S) (?:and|to|the|was|were|is|are|with|from|into|onto|in|on|at|of|for|then|by|as|or|which"
    r"|that|has|had|using|via|over|/\w+|-\w+|--\w+|->|=>|&&|>>?|\|) "
)
_WINDOWS = re.compile(
    rf"(?<![A-Za-z0-9])(?:[A-Za-z]:\\{{1,2}}|\\\\(?![.?\\]){_PART}{{1,60}}?\\{{1,2}}"
    rf"|%[A-Za-z_()0-9]{{2,30}}%\\{{1,2}}|\$env:\w{{2,30}}\\{{1,2}}|\\\\[?.]\\(?!pipe)(?:[A-Za-z]:\\)?)"
    rf"(?P<folders>(?:{_PART}{{1,80}}\\{{1,2}}){{0,30}})(?P<last>(?:[^\\/:*?\"'<>|\r\n\t“”]|<\w{{1,30}}>){{0,120}})",
    re.IGNORECASE,
)
_NAME_WITH_ENDING = re.compile(r"[^\s,;)\]]{0,300}?[^\s,;)\].]\.[A-Za-z0-9]{1,12}(?=$|[\s\"',;)\]>.:]|…)(?!\.\w)")
_SPACED_NAME = re.compile(
    r"(?:[\w.+~$@#%!()&-]{1,60} ){1,4}[\w.+~$@#%!()&-]{1,60}?\.[A-Za-z0-9]{2,5}(?=$|[\s\"',;)\]>.])"
)
_UNIX = re.compile(
    r"(?<![A-Za-z0-9/\\.])[A-Za-z]:/(?:[\w.+@~$#%-]{1,80}(?: \(x86\)| Files(?: \(x86\))?)?/){0,20}[\w.+@~$#%-]{1,120}"
    r"|(?<![\w:/.~%=&?-])(?:~|/(?:etc|usr|var|tmp|home|opt|s?bin|root|dev|proc|lib(?:32|64)?|Library"
    r"|Applications|System|Users|private|mnt|srv|run|boot|media|sys|Volumes|data))"
    r"(?:/(?:[\w.+@%~$#-]|\\ |(?<=[A-Z][a-z]{2}) (?=[A-Z][a-z]+(?: [A-Z][a-z]+)?/)"
    r"|(?<=[A-Za-z]{3}) (?=[A-Z][a-z]+/))+)+/?"
)
_REGISTRY = re.compile(
    r"(?<![A-Za-z0-9])<?(?P<root>HKEY_(?:LOCAL_MACHINE|CURRENT_USER|CLASSES_ROOT|USERS|CURRENT_CONFIG"
    r"|PERFORMANCE_DATA|DYN_DATA)|HK(?:LM|CU|CR|CC|U))>?:?"
    r"(?P<rest>\\[^\r\n\t\"“”|]{1,400})",
    re.IGNORECASE,
)
_REGISTRY_ROOT = re.compile(r"(?i)\s?<?\b(?:HKEY_[A-Z_]+|HKLM|HKCU|HKCR|HKCC|HKU)\b>?:?\\")
_WORD = re.compile(r"\S+")


def windows_paths(text: str) -> Iterator[tuple[int, str]]:
    """Yield the position and the text of each Windows, UNC or %VARIABLE% path, double backslashes as single ones."""
    match = _WINDOWS.search(text)
    while match:
        start, end = match.start(), match.end("folders")
        stop = _STOP_WORDS.search(text, match.start("folders"), end)
        raw = text[start : stop.start()] if stop else text[start:end] + _last_name(match["last"])
        path = re.sub(r"(?<=.)\\\\", r"\\", raw).rstrip(" .,;)]")
        if len(path) > 3:
            yield start, path
        match = _WINDOWS.search(text, start + max(len(raw), 2))


def _last_name(text: str) -> str:
    for pattern in (_NAME_WITH_ENDING, _SPACED_NAME):
        match = pattern.match(text)
        if match and not _STOP_WORDS.search(match[0]):
            return match[0]
    word = re.match(r"[^\s,;)\]]+", text)
    return word[0] if word else ""


def unix_paths(text: str) -> Iterator[tuple[int, str]]:
    """Yield the position and the text of each path below a well-known top directory or the home directory."""
    for match in _UNIX.finditer(text):
        path = match[0].rstrip(".,;:-%")
        if path.count("/") >= 2 or path.startswith("~") or path[1:3] == ":/":
            yield match.start(), path


def registry_keys(text: str) -> Iterator[tuple[int, str]]:
    """Yield the position and the text of each registry key or value; ``<HKLM>`` and ``HKLM:`` become ``HKLM``."""
    match = _REGISTRY.search(text)
    while match:
        rest = match["rest"]
        following = _REGISTRY_ROOT.search(rest, 1)
        end = match.start("rest") + (following.start() if following else len(rest))
        rest = re.split(r" {2,}", rest[: following.start()] if following else rest)[0]
        folders, separator, last = re.sub(r"\\{2,}", r"\\", rest).rpartition("\\")
        stop = _STOP_WORDS.search(folders + separator)
        key = folders[: stop.start()] if stop else folders + separator + _key_name(last)
        key = key.rstrip(" .,;:)]\\'`")
        if key.count("<") == key.count(">") and len(key) > 1:
            yield match.start(), match["root"].upper() + key
        match = _REGISTRY.search(text, end)


def _key_name(text: str) -> str:
    """The last part of a key: its first word, and the capitalised words that follow."""
    kept = []
    for index, word in enumerate(_WORD.findall(text)):
        if index and not (word[0].isupper() or word[0].isdigit()):
            break
        kept.append(word)
        if word[-1] in ",;:.)":
            break
    return " ".join(kept[:4]) if kept else ""
