"""Inputs that nobody meant to attach: empty, cut, renamed, mixed. Each with what an answer about it must say.

``says`` is a pattern for the text above the details; ``never`` one that must not be in it: an answer that reassures
although nothing, or not all, was examined.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import msgspec

from tests.support.bundles import failures, windows
from tests.support.collections import crypto_zipped, zipped
from tests.support.wording_evidence import PNG

REASSURES = (
    r"\*\*No (?:sign|attack|password attack|brute|detections?|accepted|login)|nothing (?:suspicious|dangerous)"
    r"|\bclean\b"
)
NOT_EXAMINED = r"not examined|not read|could not be read|cannot tell|empty|no record|nothing (?:to|could)"


class Unexpected(msgspec.Struct, frozen=True, kw_only=True):
    """An input, a question about it, and what the answer must and must not say."""

    case: str
    name: str
    content: bytes
    question: str = "did anyone get in?"
    says: str = NOT_EXAMINED
    never: str = REASSURES
    is_answered: bool = False
    """Whether the question may count as answered."""


_LINE = "Nov 23 03:05:12 bastion sshd[820]: Accepted password for lena from 203.0.113.61 port 40200 ssh2\n"
_FAILED = "Nov 23 02:11:01 bastion sshd[801]: Failed password for root from 203.0.113.61 port 40100 ssh2\n"
_TRAIL = {
    "eventTime": "2026-11-22T01:00:00Z", "eventSource": "iam.amazonaws.com", "eventName": "CreateUser",
    "userIdentity": {"type": "IAMUser", "userName": "ivo"}, "sourceIPAddress": "203.0.113.64", "awsRegion": "us-east-1",
    "requestParameters": {"userName": "bot"},
}  # fmt: skip
_WINDOWS = windows(*failures("ida", "203.0.113.80", 12))
_NOISE = bytes((number * 197 + number // 7) % 256 for number in range(6_000))


def unexpected_inputs() -> Iterator[Unexpected]:
    """Thirty inputs."""
    yield Unexpected(case="empty", name="auth.log", content=b"")
    yield Unexpected(case="only white space", name="auth.log", content=b"\n\n   \n\t\n")
    yield Unexpected(case="header alone", name="signins.csv", content=b"Date,User,Username,IP address,Status\r\n")
    yield Unexpected(
        case="cut JSON",
        name="cloudtrail.json",
        content=json.dumps({"Records": [_TRAIL] * 3}).encode()[:-120],
        question="who created a user?",
        says=r"ivo|cut|not (?:all|valid|examined)|truncated|in part",
        is_answered=True,
    )
    yield Unexpected(
        case="cut JSON lines",
        name="trail.jsonl",
        content=(json.dumps(_TRAIL) + "\n").encode() * 2 + b'{"eventTime": "2026-11',
        question="how many records?",
        says=r"\b2\b",
        is_answered=True,
    )
    yield Unexpected(
        case="cut gzip",
        name="auth.log.gz",
        content=gzip.compress((_FAILED * 400 + _LINE).encode(), mtime=0)[:-40],
        says=r"cut|truncated|damaged|incomplete|part|not examined|ends",
    )
    yield Unexpected(case="gzip of nothing", name="auth.log.gz", content=gzip.compress(b"", mtime=0))
    yield Unexpected(
        case="cut EVTX",
        name="security.evtx",
        content=_WINDOWS[: len(_WINDOWS) // 2],
        says=r"part|damaged|cut|truncated|not examined|could not|cannot tell|failed log",
    )
    yield Unexpected(case="EVTX header alone", name="security.evtx", content=_WINDOWS[:4096])
    yield Unexpected(
        case="log named as an image",
        name="holiday.png",
        content=(_FAILED * 3 + _LINE).encode(),
        says="lena",
        never=r"\*\*No (?:login|accepted)",
        is_answered=True,
    )
    yield Unexpected(case="image named as a log", name="auth.log", content=PNG)
    yield Unexpected(case="noise named as a log", name="secure.log", content=_NOISE)
    yield Unexpected(
        case="UTF-16 log",
        name="auth.log",
        content=(_FAILED * 3 + _LINE).encode("utf-16"),
        says="lena",
        never=r"\*\*No (?:login|accepted)",
        is_answered=True,
    )
    yield Unexpected(
        case="mixed line ends",
        name="auth.log",
        content=(_FAILED + _FAILED.replace("\n", "\r\n") + _FAILED.replace("\n", "\r") + _LINE).encode(),
        says="lena",
        never=r"\*\*No (?:login|accepted)",
        is_answered=True,
    )
    yield Unexpected(
        case="NUL bytes in lines",
        name="auth.log",
        content=_FAILED.encode() + b"\0\0\0\0\n" + _LINE.encode() + b"\0" * 64,
    )
    yield Unexpected(case="one huge line", name="auth.log", content=b"A" * 3_000_000, says=NOT_EXAMINED)
    yield Unexpected(
        case="huge line among lines",
        name="auth.log",
        content=_FAILED.encode() + b"B" * 2_000_000 + b"\n" + _LINE.encode(),
        says="lena",
        never=r"\*\*No (?:login|accepted)",
        is_answered=True,
    )
    yield Unexpected(
        case="two formats",
        name="mixed.log",
        content=(_FAILED * 2 + _LINE).encode() + (json.dumps(_TRAIL) + "\n").encode() * 3,
        says=r"lena",
        never=r"\*\*No (?:login|accepted)",
        is_answered=True,
    )
    yield Unexpected(
        case="zip in zip",
        name="case.zip",
        content=zipped([("inner.zip", zipped([("auth.log", (_FAILED * 3 + _LINE).encode())]))]),
        says="lena",
        never=r"\*\*No (?:login|accepted)",
        is_answered=True,
    )
    yield Unexpected(
        case="zip with a password",
        name="case.zip",
        content=crypto_zipped([("auth.log", _LINE.encode())], b"k9#Lm2"),
        says=r"password|encrypted|not examined",
    )
    yield Unexpected(
        case="cut zip",
        name="case.zip",
        content=zipped([("auth.log", (_FAILED * 300 + _LINE).encode())])[:-60],
        says=r"damaged|cut|not examined|part|truncated|lena|cannot",
    )
    yield Unexpected(case="empty zip", name="case.zip", content=zipped([]))
    yield Unexpected(
        case="unknown log",
        name="app.log",
        content="".join(
            f"[{number:05}] <core/worker.{number % 4}> job=J{number} state=READY~DONE took {number * 3}ms\n"
            for number in range(60)
        ).encode(),
    )
    yield Unexpected(
        case="unknown columns",
        name="export.csv",
        content=b"zeta,omikron,rho\n" + b"".join(f"{n},q{n % 5},{n * 7}\n".encode() for n in range(40)),
    )
    yield Unexpected(
        case="table of another subject",
        name="inventory.csv",
        content=b"article,price,stock\n" + b"".join(f"screw {n},{n}.50,{n * 3}\n".encode() for n in range(20)),
    )
    yield Unexpected(
        case="times in the future",
        name="trail.jsonl",
        content="".join(
            json.dumps(_TRAIL | {"eventTime": f"2091-01-0{number + 1}T00:00:00Z"}) + "\n" for number in range(3)
        ).encode(),
        question="when was a user created?",
        says=r"2091",
        never=r"\*\*No (?:login|accepted)",
        is_answered=True,
    )
    yield Unexpected(
        case="HTML error page",
        name="auth.log",
        content=b"<!DOCTYPE html><html><head><title>403 Forbidden</title></head><body><h1>Forbidden</h1></body></html>",
    )
    yield Unexpected(
        case="prose",
        name="auth.log",
        content=b"Dear team,\n\nplease find the log of last night attached. It was quiet.\n\nKind regards\nAnna\n",
    )
    yield Unexpected(
        case="other language's JSON",
        name="events.json",
        content='{"ereignisse": [{"zeit": "gestern", "was": "Tür geöffnet"}]}'.encode(),
    )
    yield Unexpected(case="list of numbers", name="events.json", content=b"[1, 2, 3, 4, 5, 6, 7, 8, 9]")
