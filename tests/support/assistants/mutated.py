"""Services without one of their guards, to show that the checks of a history notice: ``--assistant mutated:NAME``.

The assistant is made before the modules of the store on PostgreSQL are imported; they run with the changed text.
"""

from __future__ import annotations

import importlib
import sys

from scripted import Ticking

APPENDS = "svc.service.store.postgres.appends"
STATEMENTS = "svc.service.store.postgres.statements"
IMPORTERS = ("svc.service.store.postgres.store", "svc.service.store.postgres.shared")


def change(name: str, *changes: tuple[str, str]) -> None:
    """Run a module again with other text in the place of what it has."""
    assert not set(IMPORTERS) & set(sys.modules), "too late: the store has been imported"
    module = importlib.import_module(name)
    source = module.__spec__.loader.get_source(name)
    for old, new in changes:
        assert source.count(old) == 1, f"{name} has {old!r} {source.count(old)} times: change the mutation with it"
        source = source.replace(old, new)
    exec(compile(source, module.__file__, "exec"), module.__dict__)


class WithoutFence(Ticking):
    """An append is accepted from a service that has lost the turn, and its look afterwards does not see that either."""

    def __init__(self) -> None:
        change(
            APPENDS,
            ("AND s.fence = job.fence\n", "\n"),
            ("(session[0], session[1]) != (row.turn.number, row.turn.fence)", "session[0] != row.turn.number"),
        )


class WithoutSeq(Ticking):
    """An append is accepted wherever the session is."""

    def __init__(self) -> None:
        change(APPENDS, ("\n    AND s.last_seq = job.after_seq\n", "\n"))


class WithoutLook(Ticking):
    """An append whose answer was lost is sent again without a look whether it is stored."""

    def __init__(self) -> None:
        change(APPENDS, ("known = len(ids) if ids == ours[: len(ids)] else 0", "known = 0"))


class WithoutSkipLocked(Ticking):
    """Turns without a living owner are read without locking them."""

    def __init__(self) -> None:
        change(STATEMENTS, ("LIMIT $2 FOR UPDATE OF s SKIP LOCKED", "LIMIT $2"))
