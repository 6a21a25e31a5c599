"""Find encoded parts whose context states the encoding: a command's option, a call, a data URL.

Such a part need not be plausible: three letters after ``-enc`` are decoded like three hundred. It must still decode to
what its context states; otherwise it is left to the search in ``tool.py``.

Facts: PowerShell's ``about_PowerShell_exe`` (-EncodedCommand: Base64 of UTF-16LE; any unambiguous
prefix of the option, and -ec), .NET's ``Convert.FromBase64String``, coreutils' ``base64``, HTML's ``atob``, RFC 2397.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.decode.decoders import base64_text
from svc.assistant.skills.decode.plausibility import file_type, text_of
from svc.assistant.skills.decode.readings import Reading

MAX_DECLARED = 100  # in one text
_BLOB = r"([A-Za-z0-9+/]{2,}={0,2})(?![A-Za-z0-9+/=])"
_OPTION = re.compile(rf"(?<![\w-])[-/\u2013\u2014](e[a-z]{{0,13}})[ \t:]+[\"']?{_BLOB}", re.IGNORECASE)
_SHELL = re.compile(r"\b(?:powershell|pwsh)\b", re.IGNORECASE)
_SHELL_REACH = 400  # characters before the option, in which its program must be
_CALLS = (
    re.compile(rf"\bFromBase64String\s{{0,8}}\(\s{{0,8}}[\"']{_BLOB}", re.IGNORECASE),
    re.compile(rf"\batob\s{{0,8}}\(\s{{0,8}}[\"'`]{_BLOB}"),
    re.compile(rf"\b(?:echo|printf)\s{{1,8}}(?:-\w{{1,3}}\s{{1,8}})?[\"']?{_BLOB}[\"']?\s{{0,8}}\|\s{{0,8}}base64\s{{1,8}}-(?:d|D|-decode)\b"),
    re.compile(rf"\bbase64\s{{1,8}}-(?:d|D|-decode)\s{{0,8}}<<<\s{{0,8}}[\"']?{_BLOB}"),
    re.compile(rf"\bdata:[\w/+.;=-]{{0,80}};base64,{_BLOB}", re.IGNORECASE), )  # fmt: skip


class DeclaredPart(msgspec.Struct, frozen=True):
    """An encoded part, its position in the text, and the stated reading; ``encoding``: of its text, if stated."""

    text: str
    start: int
    reading: Reading
    encoding: str = ""

    @property
    def decoded(self) -> str:
        """The text in its stated encoding."""
        return self.reading.data.decode(self.encoding, "replace")


def declared_parts(text: str) -> Iterator[DeclaredPart]:
    """Yield the parts in the order of the text, at most MAX_DECLARED."""
    found = sorted((*_commands(text), *_called(text)), key=lambda part: part.start)
    yield from found[:MAX_DECLARED]


def _commands(text: str) -> Iterator[DeclaredPart]:
    for match in _OPTION.finditer(text):
        option = match[1].lower()
        is_option = "encodedcommand".startswith(option) or option == "ec"
        if not is_option or not _SHELL.search(text, max(0, match.start() - _SHELL_REACH), match.start()):
            continue
        for reading in base64_text(b"", match[2]):
            if _reads_as(reading.data, "utf-16-le"):
                yield DeclaredPart(match[2], match.start(2), reading, "utf-16-le")


def _reads_as(data: bytes, encoding: str) -> bool:
    try:
        return data.decode(encoding).replace("\r", "").replace("\n", "").replace("\t", "").isprintable()
    except UnicodeDecodeError:
        return False


def _called(text: str) -> Iterator[DeclaredPart]:
    for pattern in _CALLS:
        for match in pattern.finditer(text):
            for reading in base64_text(b"", match[1]):
                if _reads_as(reading.data, "utf-8") or text_of(reading.data) or file_type(reading.data):
                    yield DeclaredPart(match[1], match.start(1), reading)
