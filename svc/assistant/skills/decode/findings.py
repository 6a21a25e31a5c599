"""What findings about encoded data hold."""

from __future__ import annotations

from svc.assistant.findings import Facts


class DecodedPart(Facts, frozen=True, kw_only=True, tag="decoded"):
    """An encoded part of the input, decoded through all its layers."""

    chain: int
    """Number of the part, from 1; its layers have the same."""
    layers: int
    path: str
    """The encodings, the outermost first: ``hex, Base64, gzip``."""
    text: str
    """The beginning of the result; "" if it is not text."""
    form: str
    """``text``, a file type, or "unknown binary data"."""
    size: int
    """Bytes of the whole result."""
    plausibility: float
    """How much the result looks meaningful, from 0 to 1."""
    is_cut: bool
    """Whether a layer unpacks to more than was kept."""
    sha256: str


class DecodeLayer(Facts, frozen=True, kw_only=True, tag="decode_layer"):
    """One layer of an encoded part, and what came out of it."""

    chain: int
    """Number of the part, from 1."""
    depth: int
    """Number of the layer, from 1 for the outermost."""
    encoding: str
    size: int
    """Bytes of the layer's content."""
    is_text: bool
    preview: str
    """The beginning of the content; hex if it is not text."""
    plausibility: float
    """How much the content looks meaningful, from 0 to 1."""
