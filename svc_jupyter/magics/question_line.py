"""Take a ``%svc`` line as it stands. IPython would look up help for ``before`` in ``%svc what did I ask before?``.

A line that begins with ``%svc`` and a space is a question to its end: a last ``?`` or backslash belongs to it.
``%svc?`` is still the magic's help. Facts: ``IPython.core.inputtransformer2`` (HelpEnd, EscapedCommand).
"""

from __future__ import annotations

import re
import tokenize

from IPython.core.inputtransformer2 import TokenTransformBase

_QUESTION = re.compile(r"%svc[ \t]+(?=\S)")
_NOT_YET_CODE = (tokenize.INDENT, tokenize.DEDENT)


class QuestionLine(TokenTransformBase):
    """Goes before IPython's own transformers, which start at the same place of the line."""

    priority = -1

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> QuestionLine | None:
        """The first logical line that is a question; a ``%svc`` inside a string is none."""
        for line in tokens_by_line:
            token = next((token for token in line if token.type not in _NOT_YET_CODE), None)
            if token is not None and _QUESTION.match(token.line, token.start[1]):
                return cls(token.start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """The lines with this one as a call, its question to the letter."""
        line = lines[self.start_line]
        question = _QUESTION.sub("", line[self.start_col :], count=1).rstrip("\r\n")
        call = f"{line[: self.start_col]}get_ipython().run_line_magic('svc', {question!r})\n"
        return [*lines[: self.start_line], call, *lines[self.start_line + 1 :]]
