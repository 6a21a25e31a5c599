"""Recognize a complaint about the form of the last answer, and nothing else: its question is asked again. Pure.

Programs that read data send one if an answer does not fit: instructor ("Correct your JSON ONLY RESPONSE, based on the
following errors"), pydantic-ai ("Fix the errors and try again."), LangChain and guardrails. What it quotes is neither
evidence nor a question.
"""

from __future__ import annotations

import re

import msgspec

from svc.assistant.turn import Exchange, Turn

_END_CHARS = 600  # at each end of a message, where programs say what to do
_ANSWER = r"(?:json|responses?|answers?|outputs?|repl(?:y|ies)|completions?|objects?|results?)"
_FAULT = re.compile(
    rf"\byour (?:\w+ ){{0,4}}{_ANSWER}\b|\b(?:last|previous|prior|above|given|returned) (?:\w+ ){{0,2}}{_ANSWER}\b"
    rf"|\b{_ANSWER} (?:that )?you (?:\w+ )?(?:gave|returned|sent|provided|produced)\b"
    r"|\bvalidation (?:errors?|feedback|failed|failure)\b|\bcompletion did not satisfy\b"
    rf"|\b(?:that|this|it|{_ANSWER}) (?:is|was) (?:not|n't|no) (?:\w+ )?(?:valid )?json\b"
    rf"|\bfailed to parse\b|\bcould not (?:be )?parsed?\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:fix|correct|repair|retry|redo|regenerate|recall|resend|amend)\b|\btry again\b|\bonce more\b"
    r"|\b(?:return|respond|reply|answer|output|send)\b[^.\n]{0,40}\b(?:only|valid|again|conform\w*|match\w*)\b",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"\bjson\b|\bschema\b|\bvalidation\b|\bpars(?:e|ed|ing|er)\b|\bformat\b|\bconstraints?\b"
    r"|\brequired (?:field|key)s?\b"
    r"|\bmissing (?:field|key|property)\b",
    re.IGNORECASE,
)


def asked_again(turn: Turn) -> Turn:
    """The turn whose question a complaint about the last answer's form asks again; the same turn otherwise."""
    history = turn.history
    prompt = turn.prompt
    while history and is_correction(prompt):
        prompt, history = history[-1].prompt, history[:-1]
    if prompt == turn.prompt:
        return turn
    files = _files_of(turn.history[len(history)])
    now = tuple(
        msgspec.structs.replace(
            file, is_new=file.is_new or file.name in files, is_meant=file.is_meant or file.name in files
        )
        for file in turn.files
    )
    return msgspec.structs.replace(turn, prompt=prompt, history=history, files=now)


def is_correction(prompt: str) -> bool:
    """Whether a message says that the last answer has the wrong form, and asks nothing else."""
    ends = prompt if len(prompt) <= 2 * _END_CHARS else f"{prompt[:_END_CHARS]}\n{prompt[-_END_CHARS:]}"
    return all(words.search(ends) for words in (_FAULT, _AGAIN, _FORM))


def _files_of(exchange: Exchange) -> frozenset[str]:
    return frozenset(exchange.files)
