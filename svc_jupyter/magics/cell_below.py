"""``--cell``: the answer as a Markdown cell of its own, below the cell that asked.

A kernel cannot write cells, a front end can. The answer is displayed as always; under our MIME type its metadata say
``"place": "cell_below"``. A front end that knows the word does this when such a display comes from the kernel while the
cell runs, never when it opens a saved notebook:

1. It takes the cell whose metadata say ``{"svc": {"answer_of": ID}}``, ID being the asking cell's id; where there is
   none, it makes a Markdown cell below the asking one. So asking again replaces the answer and never piles up.
2. Its source becomes the display's ``text/markdown``, which is safe to render, its metadata ``{"svc": {"answer_of": ID,
   "turn": TURN}}``, with the turn from the display's metadata.
3. It takes the display out of the asking cell's outputs.

Everywhere else, in a batch run, an export or another front end, the display is the answer, and nothing is lost.
"""

from __future__ import annotations

from svc_jupyter.answers.answer import MIME_TYPE, Answer

PLACE = "cell_below"


def show(answer: Answer) -> None:
    """Display the answer for the cell below."""
    from IPython.display import display

    display(answer, metadata={MIME_TYPE: {"place": PLACE}})
