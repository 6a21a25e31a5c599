"""Decide from a cell whether something succeeded: words, codes, booleans and HTTP statuses of many products."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

SUCCESS = "success"
FAILURE = "failure"
MAX_CELL_CHARS = 200

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BAD = (
    "fail", "unsuccess", "den", "reject", "invalid", "incorrect", "block", "drop", "discard", "refus", "unauthor",
    "forbid", "wrong", "bad", "lock", "expired", "abort", "cancel", "fraud", "timeout", "reset", "unknown", "notfound",
)  # fmt: skip
_GOOD = ("success", "succe", "accept", "allow", "pass", "grant", "permit", "approv", "authenticated", "valid", "built")
_EXACT = {
    "ok": SUCCESS, "yes": SUCCESS, "y": SUCCESS, "true": SUCCESS, "t": SUCCESS, "s_ok": SUCCESS, "0x0": SUCCESS,
    "no": FAILURE, "n": FAILURE, "false": FAILURE, "f": FAILURE, "error": FAILURE, "err": FAILURE, "nok": FAILURE,
    "sf": SUCCESS, "s1": SUCCESS, "s2": SUCCESS, "s3": SUCCESS, "rsto": SUCCESS, "rstr": SUCCESS,
    "s0": FAILURE, "rej": FAILURE, "sh": FAILURE, "shr": FAILURE, "rstos0": FAILURE, "rstrh": FAILURE,
}  # fmt: skip
"""Whole cells; the last two rows are Zeek's states of connections: established, or never answered."""
_NEGATIVE_NAMES = ("fail", "error", "denied", "blocked", "rejected")
_CODE_NAMES = ("code", "resulttype", "errno", "exit", "return", "rc")

Outcome = Callable[[str], str]
"""Returns SUCCESS, FAILURE or "" for a cell."""


@lru_cache(maxsize=4_096)
def outcome_of_words(cell: str) -> str:
    """Return what the words of a cell say (``LogonFailed``, ``access-denied``, ``Success``); "" if nothing."""
    text = cell.strip()[:MAX_CELL_CHARS]
    if (exact := _EXACT.get(text.lower())) is not None:
        return exact
    words = [word.lower() for word in _WORDS.findall(text)]
    if any(word.startswith(_BAD) or word == "not" for word in words):
        return FAILURE
    return SUCCESS if any(word.startswith(_GOOD) or word == "ok" for word in words) else ""


def outcome_reader(name: str, sample: Iterable[str]) -> tuple[Outcome, str]:
    """Return how to read a column, and what to state about that.

    Args:
        name: The column's name, in lower case, letters and digits only.
        sample: Some of its values.
    """
    values = {value.strip().lower() for value in sample if value.strip()}
    is_negative = any(word in name for word in _NEGATIVE_NAMES) and not any(word in name for word in _CODE_NAMES)
    if values and all(value.removeprefix("-").isdecimal() for value in values):
        return _numbers(name, {int(value) for value in values if len(value) < 10}, is_negative=is_negative)
    if is_negative and values <= {"true", "false", "yes", "no", "t", "f", "y", "n"}:
        return _negated, "true means failure"
    return outcome_of_words, ""


def _numbers(name: str, values: set[int], *, is_negative: bool) -> tuple[Outcome, str]:
    if values and all(100 <= value < 600 for value in values):
        return _http_status, "HTTP status"
    is_code = is_negative or any(word in name for word in _CODE_NAMES) or not values <= {0, 1}
    return (_zero_is_success, "0 means success") if is_code else (_one_is_success, "1 means success")


def _negated(cell: str) -> str:
    return {SUCCESS: FAILURE, FAILURE: SUCCESS}.get(outcome_of_words(cell), "")


def _http_status(cell: str) -> str:
    return (SUCCESS if cell.strip()[:1] in ("1", "2", "3") else FAILURE) if cell.strip() else ""


def _zero_is_success(cell: str) -> str:
    text = cell.strip()
    return "" if not text else SUCCESS if text.lstrip("-").strip("0") == "" else FAILURE


def _one_is_success(cell: str) -> str:
    return {"1": SUCCESS, "0": FAILURE}.get(cell.strip(), "")
