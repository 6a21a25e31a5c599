"""Keep a ``%svc`` line verbatim. IPython would show the help of ``before`` for ``%svc what did I ask before?``.

In a line that begins with ``%svc`` and a space, a final ``?`` or backslash belongs to the question; ``%svc?`` still
shows the magic's help. API: ``IPython.core.inputtransformer2`` (HelpEnd, EscapedCommand).
"""

from __future__ import annotations

import re
import tokenize

from IPython.core.inputtransformer2 import TokenTransformBase

_QUESTION = re.compile(r"%svc[ \t]+(?=\S)")
_NOT_YET_CODE = (tokenize.INDENT, tokenize.DEDENT)


class QuestionLine(TokenTransformBase):
    """Runs before IPython's own transformers, which start at the same column."""

    priority = -1

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> QuestionLine | None:
        """Find the first logical line that is a question; a ``%svc`` inside a string is not."""
        for line in tokens_by_line:
            token = next((token for token in line if token.type not in _NOT_YET_CODE), None)
            if token is not None and _QUESTION.match(token.line, token.start[1]):
                return cls(token.start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """Replace the line by a call with the verbatim question."""
        line = lines[self.start_line]
        question = _QUESTION.sub("", line[self.start_col :], count=1).rstrip("\r\n")
        call = f"{line[: self.start_col]}get_ipython().run_line_magic('svc', {question!r})\n"
        return [*lines[: self.start_line], call, *lines[self.start_line + 1 :]]
