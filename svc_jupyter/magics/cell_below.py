"""``--cell``: insert the answer as a Markdown cell below the asking cell.

A kernel cannot insert cells, but a front end can. The answer is displayed as usual, with ``"place": "cell_below"`` in
the metadata of our MIME type. A front end that supports it does the following when the kernel sends such a display
while the cell runs, but not when it opens a saved notebook:

1. It finds the cell with the metadata ``{"svc": {"answer_of": ID}}``, where ID is the asking cell's, or inserts a
   Markdown cell below the asking one. So asking again replaces the answer.
2. It sets the cell's source to the display's ``text/markdown``, which is safe to render, and its metadata to
   ``{"svc": {"answer_of": ID, "turn": TURN}}``, with the turn of the display's metadata.
3. It removes the display from the asking cell's outputs.

Elsewhere (batch runs, exports, other front ends) the display stays.
"""

from __future__ import annotations

from svc_jupyter.answers.answer import MIME_TYPE, Answer

PLACE = "cell_below"


def show(answer: Answer) -> None:
    """Display the answer and ask the front end to move it to a cell below."""
    from IPython.display import display

    display(answer, metadata={MIME_TYPE: {"place": PLACE}})
