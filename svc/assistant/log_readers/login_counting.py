"""Count failed logins and decide what is an attack: shared by sshd and Linux logs and by Windows logons.

An attack is 5 failures within 10 minutes (fail2ban's defaults), or, without an accepted login between them, 20 failures
at any pace or failures for 5 accounts. The same numbers count with logins between them if these are few. Which log
lines or events describe the same attempt is decided before counting, by each log's own code; what an attack and a login
after failures mean is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeVar

from svc.assistant.findings import Severity

BURST = 5  # failures: fail2ban's maxretry
BURST_SECONDS = 600.0  # fail2ban's findtime
MANY = 20  # failures at any pace: low and slow
SPRAYED_ACCOUNTS = 5
SPRAYED_TRIES = 5.0  # failures per account up to which many accounts are sprayed rather than brute-forced
FAILURES_PER_LOGIN = 3  # more are too many for people
DOUBTFUL_STREAK = 3  # consecutive failures before a success; people mistype once or twice
KNOWN_LOGINS = 3  # earlier logins of an account from a source after which its failures are taken for mistyped ones
MANY_FAILURES = 100
DISTRIBUTED_SOURCES = 20  # with too few failures each for an attack, but MANY_FAILURES together
FAST_PER_MINUTE = 10.0
OTHERS = "(all others)"  # stands for every name beyond the limit of names counted separately
NO_ACCOUNT = "(not named)"
MAX_NAMES = 50  # in one finding's lists

WHY_COMPROMISED = "A source that guessed passwords logged in: treat the account as compromised."
WHY_DOUBTFUL = "A few failures, then a success, from a source with no other attack activity: ask the user."
WHY_KNOWN = "The account had logged in from this source before: a mistyped or changed password is likely. Ask the user."
WHY_MISTYPED = "One or two failures before a success look like a mistyped password."
WHY_KEY = "The source guessed passwords and then used a key, which cannot be guessed: a known user, or a planted key."
WHY_TARGET = "Many sources guess this account's password, and this one logged in after a failure: ask the user."

TallyT = TypeVar("TallyT", bound="LoginTally")


class LoginPattern(StrEnum):
    """What the failed logins of one source look like."""

    BRUTE_FORCE = "brute force"
    SPRAYING = "password spraying"
    FEW = "few failures"


TECHNIQUES: dict[LoginPattern, tuple[str, ...]] = {
    LoginPattern.BRUTE_FORCE: ("T1110.001",),
    LoginPattern.SPRAYING: ("T1110.003",),
    LoginPattern.FEW: (),
}


class LoginTally:
    """Failed logins of one source, or of one account.

    ``others`` counts failures by the accounts that a source tried, or by the sources that tried an account.
    ``entered`` holds those of them that logged in after failures.
    A name is None if the log gives none.
    """

    __slots__ = (
        "attempts", "entered", "failures", "is_burst", "is_wide", "longest", "others", "recent", "streak",
        "streak_others", "successes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.failures: int = 0
        self.attempts: int = 0
        self.streak: int = 0
        self.longest: int = 0
        self.successes: int = 0
        self.is_burst: bool = False
        self.is_wide: bool = False
        self.streak_others: tuple[str | None, ...] = ()
        self.others: dict[str | None, int] = {}
        self.entered: frozenset[str] = frozenset()  # small: there may be 100,000 tallies
        self.recent: list[float] = []

    @property
    def is_many(self) -> bool:
        """Whether there are too many failures for a person, at any pace."""
        return self.longest >= MANY or (self.failures >= MANY and self._has_few_successes)

    @property
    def _has_few_successes(self) -> bool:
        """Whether there are too few accepted logins for a person who mistypes now and then."""
        return self.failures + self.attempts > FAILURES_PER_LOGIN * self.successes

    @property
    def is_brute_forced(self) -> bool:
        """Whether an account with these failures was the target of a brute-force attack."""
        return self.is_burst or self.is_many

    @property
    def is_attack(self) -> bool:
        """Whether a source with these failures is more than a person who mistypes."""
        if self.is_burst or self.is_wide or self.is_many:
            return True
        is_much = self.failures + self.attempts >= MANY or len(self.others) >= SPRAYED_ACCOUNTS
        return is_much and self._has_few_successes

    @property
    def pattern(self) -> LoginPattern:
        """The kind of attack, or FEW."""
        if not self.is_attack:
            return LoginPattern.FEW
        is_wide = len(self.others) >= SPRAYED_ACCOUNTS
        is_sprayed = is_wide and self.failures + self.attempts <= SPRAYED_TRIES * len(self.others)
        return LoginPattern.SPRAYING if is_sprayed else LoginPattern.BRUTE_FORCE

    def ranked_others(self) -> list[tuple[str | None, int]]:
        """The accounts of a source or the sources of an account, most failures first."""
        return sorted(self.others.items(), key=lambda item: (-item[1], item[0] or ""))

    def add_failures(self, seconds: float | None, count: int = 1) -> None:
        """Count failures at one moment; ``seconds`` is None if the log states no time."""
        self.failures += count
        self.streak += count
        if self.streak > self.longest:
            self.longest = self.streak
        if self.is_burst:
            return
        if seconds is None:
            self.is_burst = count >= BURST
            return
        recent = self.recent
        if count == 1:
            recent.append(seconds)
        else:
            recent += [seconds] * min(count, BURST)
        if len(recent) < BURST:
            return
        del recent[:-BURST]
        self.is_burst = abs(recent[-1] - recent[0]) <= BURST_SECONDS

    def add_other(self, name: str | None, count: int = 1) -> None:
        """Count failures for an account of this source, or for a source of this account."""
        self.others[name] = self.others.get(name, 0) + count
        if not self.is_wide and count and name not in self.streak_others:
            self.streak_others = (*self.streak_others, name)
            self.is_wide = len(self.streak_others) >= SPRAYED_ACCOUNTS

    def add_success(self, count: int = 1) -> None:
        """Count accepted logins, which end a streak of failures."""
        self.successes += count
        self.streak = 0
        self.streak_others = ()

    def add_entered(self, name: str) -> None:
        """Remember a login after failures."""
        self.entered |= {name}

    def merge(self, other: LoginTally) -> None:
        """Add the counts of the same source under another name; the order of the failures is lost."""
        self.failures += other.failures
        self.attempts += other.attempts
        self.successes += other.successes
        self.is_burst |= other.is_burst
        self.is_wide |= other.is_wide
        self.longest = max(self.longest, other.longest)
        self.entered |= other.entered
        for name, count in other.others.items():
            self.add_other(name, count)

    def entered_names(self) -> list[str]:
        """The first names of ``entered`` in alphabetical order."""
        return sorted(self.entered)[:MAX_NAMES]

    def rate_per_minute(self, first: float | None, last: float | None) -> float | None:
        """Failures per minute between two times in seconds; None unless the times differ."""
        if first is None or last is None or last <= first:
            return None
        return round(self.failures / (last - first) * 60, 2)


def source_severity(tally: LoginTally, per_minute: float | None) -> Severity:
    """Return how much failures matter that led to no login: hosts on the Internet have them every day."""
    if not tally.is_attack:
        return Severity.INFO
    is_loud = tally.failures >= MANY_FAILURES or (per_minute or 0.0) >= FAST_PER_MINUTE
    return Severity.MEDIUM if is_loud else Severity.LOW


def success_severity(
    streak: int, *, is_attack: bool, is_key: bool = False, is_target: bool = False, earlier: int = 0
) -> tuple[Severity, str]:
    """Return how much a login after failures matters, and why.

    Args:
        streak: Consecutive failures of the source before the login.
        is_attack: Whether the source attacks.
        is_key: Whether the login needed no password.
        is_target: Whether several sources guessed passwords of the account.
        earlier: Logins of the account from this source before.
    """
    if is_attack and earlier >= KNOWN_LOGINS and streak < MANY:
        return Severity.MEDIUM, WHY_KNOWN
    if is_attack and is_key:
        return Severity.HIGH, WHY_KEY
    if is_attack:
        return Severity.CRITICAL if streak >= DOUBTFUL_STREAK else Severity.HIGH, WHY_COMPROMISED
    if streak >= DOUBTFUL_STREAK:
        return Severity.MEDIUM, WHY_DOUBTFUL
    if is_target and not earlier and not is_key:
        return Severity.MEDIUM, WHY_TARGET
    return Severity.LOW, WHY_MISTYPED


def tally_for(
    tallies: dict[str | None, TallyT], name: str | None, make: Callable[[str | None], TallyT], *, limit: int
) -> TallyT:
    """Return the tally of ``name``; beyond ``limit`` names the common one of OTHERS."""
    tally = tallies.get(name)
    if tally is None:
        if len(tallies) >= limit:
            name = OTHERS
        tally = tallies.setdefault(name, make(name))
    return tally


def ranked(tallies: Mapping[str | None, TallyT], *, limit: int) -> list[tuple[str | None, TallyT]]:
    """Return the names with failures or attempts, most failures first."""
    tried = [(name, tally) for name, tally in tallies.items() if tally.failures or tally.attempts]
    return sorted(tried, key=lambda item: (-item[1].failures, -item[1].attempts, item[0] or ""))[:limit]
