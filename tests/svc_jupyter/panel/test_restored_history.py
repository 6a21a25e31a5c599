"""A service that was restored counts from a smaller ``seq`` again: nothing on screen is replaced or shown twice."""

from __future__ import annotations

from svc.messages import Message, MessageType, State
from svc_jupyter.panel.widget import _Transcript


def turn(first_seq: int, question: str, answer: str, at: float) -> list[Message]:
    made = [
        Message(message_type=MessageType.QUERY, content=question),
        Message(message_type=MessageType.RESULT, content=answer),
        Message(message_type=MessageType.INFO, content="done", state=State.END),
    ]
    for place, message in enumerate(made):
        message.seq, message.turn, message.created_at = first_seq + place, f"t{question}", at + place
    return made


def shown(transcript: _Transcript) -> str:
    return str(transcript._bundle())


def test_a_transcript_keeps_the_answers_that_the_service_lost():
    transcript = _Transcript("svc", lambda: True)
    kept, lost, new = turn(1, "kept?", "first", 100), turn(4, "lost?", "second", 200), turn(4, "new?", "third", 300)
    for message in (*kept, *lost, *new):
        transcript.on_message("s", message)
    text = shown(transcript)

    assert [word for word in ("first", "second", "third") if word not in text] == []
    assert text.index("first") < text.index("second") < text.index("third")


def test_a_history_that_is_read_again_adds_nothing():
    transcript = _Transcript("svc", lambda: True)
    kept, new = turn(1, "kept?", "first", 100), turn(4, "new?", "third", 300)
    for message in (*kept, *new):
        transcript.on_message("s", message)
    before = shown(transcript)
    transcript.read([*kept, *new])

    assert shown(transcript) == before
