"""What Tab completes in ``svc chat``: commands, and paths after ``/attach``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document


class ChatCompleter(Completer):
    """Completes a line that begins with a slash; questions are the user's own.

    Args:
        commands: Their names, with the slash.
    """

    def __init__(self, commands: Iterable[str]) -> None:
        self._commands = tuple(commands)
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield what can take the place of the word before the cursor."""
        text = document.text_before_cursor
        command, space, rest = text.partition(" ")
        if not space:
            names = (name for name in self._commands if text.startswith("/") and name.startswith(text))
            yield from (Completion(name, -len(text)) for name in names)
        elif command == "/attach":
            yield from self._paths.get_completions(Document(rest.lstrip()), complete_event)
