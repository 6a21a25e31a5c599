"""Compiled templates, kept for as long as the process: nbconvert's take longer to compile than a page to lay out."""

from __future__ import annotations

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket


class CompiledTemplates(BytecodeCache):
    """The templates of one kind of exporter. A template whose file has changed is compiled again."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket with the template's code, if it was compiled before."""
        code = self._code.get(bucket.key)
        if code is not None:
            bucket.bytecode_from_string(code)  # compares the digest of the template's text

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template that was just compiled."""
        self._code[bucket.key] = bucket.bytecode_to_string()
