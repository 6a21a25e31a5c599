"""Read the parts of an OpenAI-style message: texts, and files whose content comes with them. Pure."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Meta

from svc.errors import InvalidRequestError

_DEFAULT_NAMES = {
    "image/png": "image.png",
    "image/jpeg": "image.jpg",
    "image/gif": "image.gif",
    "image/webp": "image.webp",
}


class ImageUrl(msgspec.Struct, kw_only=True):
    """An image as a ``data:`` URL."""

    url: str


class FileData(msgspec.Struct, kw_only=True):
    """A file: its name, and its content as a ``data:`` URL or in base64."""

    filename: str | None = None
    file_data: str | None = None
    file_id: str | None = None


class ChatPart(msgspec.Struct, kw_only=True):
    """One part of a message's content."""

    type: Annotated[str, Meta(extra_json_schema={"enum": ["file", "image_url", "text"]})]
    text: str = ""
    image_url: ImageUrl | None = None
    file: FileData | None = None


class ChatFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a message, which becomes a file of the session."""

    name: str
    content: bytes
    mime_type: str = ""


def read_parts(parts: Sequence[ChatPart], where: str, *, may_have_files: bool) -> tuple[str, list[ChatFile]]:
    """Return the text of the parts, and their files.

    Raises:
        InvalidRequestError: A part is of another type, or its content does not come with it; ``param`` names the part.
    """
    texts: list[str] = []
    files: list[ChatFile] = []
    for index, part in enumerate(parts):
        place = f"{where}.content[{index}]"
        if part.type == "text":
            texts.append(part.text)
        elif part.type == "image_url" and part.image_url is not None and may_have_files:
            files.append(_from_data_url(part.image_url.url, f"{place}.image_url.url", ""))
        elif part.type == "file" and part.file is not None and may_have_files:
            files.append(_from_file(part.file, f"{place}.file"))
        else:
            raise InvalidRequestError(
                f"{place} is of type {part.type[:40]!r}; a user's message may have text, file and image_url parts, "
                "other messages text",
                param=place,
            )
    return "\n".join(texts), files


def _from_file(file: FileData, where: str) -> ChatFile:
    if not file.file_data:
        raise InvalidRequestError(
            f"{where}.file_data is missing: send the content with the message, or attach the file to a session",
            param=f"{where}.file_data",
        )
    if file.file_data.startswith("data:"):
        return _from_data_url(file.file_data, f"{where}.file_data", file.filename or "")
    return ChatFile(name=file.filename or "file", content=_decoded(file.file_data, f"{where}.file_data"))


def _from_data_url(url: str, where: str, name: str) -> ChatFile:
    """The file of a ``data:`` URL (RFC 2397)."""
    scheme, _, rest = url.partition(":")
    head, comma, data = rest.partition(",")
    if scheme != "data" or not comma:
        raise InvalidRequestError(
            f"{where} must be a data: URL, which holds the content; nothing is fetched from other addresses",
            param=where,
        )
    mime_type, *options = head.split(";")
    content = _decoded(data, where) if "base64" in options else unquote_to_bytes(data)
    return ChatFile(name=name or _DEFAULT_NAMES.get(mime_type, "file"), content=content, mime_type=mime_type)


def _decoded(data: str, where: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequestError(f"{where} is not valid base64", param=where) from error
