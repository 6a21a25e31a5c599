"""Whether the changes that an audit log's event states make something safer or weaker, whatever the product.

A setting has a direction by its name: what requires, restricts or protects is safer when it is on; what shares, opens
or exempts is safer when it is off. Values before and after decide first, then the new value alone, then the action's
verb. A change whose direction the event does not state is not safer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from math import inf

from svc.assistant.sigma.action_words import (
    MAX_FIELDS,
    MAX_VALUE_CHARS,
    OFF,
    ON,
    Change,
    changes,
    is_closing,
    plain_words,
    without_values,
)

SAFE_LENGTH = 14
"""Characters that a password must have so that a policy is strict whatever it was before."""
SAFE_RETENTION_DAYS = 90
"""How long logs must be kept so that they are long enough whatever it was before (PCI DSS 4.0, 10.5.1: at hand)."""

_FLIPS = re.compile(
    r" (?:disabl(?:e|ed|es|ing)|deactivat(?:e|ed|es)|remov(?:e|ed|es|al)|revok(?:e|ed|es)|stop(?:ped)?|suspend(?:ed)?) "
)
"""Words that reverse what a name says; deletion is left out, because it can be destruction."""
_GUARDS = re.compile(
    r" (?:require|required|requires|requirement|enforce|enforced|enforcement"
    r"|restrict|restricted|restriction|restrictions"
    r"|block|blocked|prevent|deny|disallow|mandatory|limit|limited|only|privatized) "
)
"""Words that make a setting a protection, whatever it is about."""
_EXCEPTIONS = re.compile(
    r" (?:bypass\w{0,4}|exempt\w{0,4}|exclu\w{1,6}|skip\w{0,4}|ignor\w{1,3}|suppress\w{0,4}|mute\w{0,2}|without"
    r"|insecure"
    r"|less secure|legacy|weak\w{0,4}|override\w{0,2}|reset\w{0,2}|recover\w{0,2}|backup codes?|impersonat\w{1,3}) "
)
"""Words of exceptions to a protection, and of what attackers do to one."""
_PROTECTIONS = re.compile(
    r" (?:mfa|sso|saml|conditional access|encrypt\w{0,4}|protect\w{0,4}|audit\w{0,3}|logging|secur\w{1,4}|passcode"
    r"|password"
    r"|waiting room|scan\w{0,4}|firewall|waf|allowlists?|expir\w{1,5}|sign out|alert\w{0,3}|detections?|approv\w{1,4}"
    r"|tamper|dlp|versioning|https|magic dns|verification|throttling|captcha|real time|strong) "
)
_OPENINGS = re.compile(
    r" (?:public\w{0,5}|extern\w{1,4}|guests?|shar\w{1,4}|anonymous\w{0,2}|allow\w{0,3}|export\w{0,4}|downloads?"
    r"|forward\w{0,4}|reuse|fork\w{0,4}|visibility|anyone|everyone|invit\w{1,6}|unauthenticated|plaintext"
    r"|remote support|trusted|delegat\w{1,4}) "
)
_ALLOWLISTS = re.compile(r" (?:ip )?(?:allow|access|allowed) (?:ip )?(?:lists?|addresses) ")
_VERBS = re.compile(
    r" (?:enabl(?:e|ed|es)|activat(?:e|ed|es)|disabl(?:e|ed|es)|deactivat(?:e|ed|es)|turned on|enforced|removed|revoked"
    r"|privatized|not required) "
)
_UNSTATED = re.compile(r" (?:updat|chang|toggl|edit|modif)\w{0,4} ")
"""Verbs that do not say in which direction."""
_MAKES = re.compile(r" (?:(?:creat|delet|destroy|regist|generat|rotat|reset)\w{0,4}|add|adds|added) ")
"""Verbs of what makes or destroys a thing, or takes it away: the state of the thing is no change of a setting."""
_REMOVED = re.compile(r" (?:delet\w{1,3}|remov\w{1,3}|revok\w{1,3}) ")
_LOOPHOLES = re.compile(r" (?:exclusions?|exceptions?|exemptions?|suppressions?|bypass(?:es)?|bypass codes?) ")
"""What is an exception to a protection, so that its removal restores the protection."""
_GENERIC = frozenset(
    {
        "enabled",
        "enable",
        "state",
        "status",
        "active",
        "value",
        "newvalue",
        "new",
        "values",
        "settingvalue",
        "isenabled",
    }
)
"""The last part of the names of fields with a new value, when the event's action names the setting."""
_NAMED_BY = {"values": ("keys", "key"), "value": ("key", "settingname", "setting", "name", "property")}
"""The last part of the names of fields with a value, and of those beside them with the setting's name."""
_NOT_SET = re.compile(
    r"(?:^|\.)(?:actor|client|context|response|useridentity|auth|session|initiated_?by|user|device|result|outcome)\."
    r"|^(?:readonly|managementevent|isglobaladmin|success|verbose|flagged|involve_non_team_member|numerics)$",
    re.IGNORECASE,
)
"""Fields that describe the actor, the request or the answer."""
_CLOSED = frozenset(
    {"private", "restricted", "denied", "deny", "internal", "team_only", "only_me", "not_allowed", "blocked"}
)
_OPENED = frozenset({"public", "anyone", "everyone", "allowed", "allow", "unrestricted", "any", "any_role", "external"})
_REACH = re.compile(r"(?:visibility|privacy|sharing|access_?level|new_?value|state|policy_?type)$", re.IGNORECASE)
"""Fields whose value says who may see something."""
_BOOKKEEPING = re.compile(r" (?:at|time|date|timestamp|version|id|etag|name|modified|revision|description|by) $")
_SHORTER = re.compile(
    r" (?:sessions?|timeout|time out|idle|inactivity|lifetime|expiry|expiration|expires|duration|max age|attempts) "
)
_LONGER = re.compile(
    r" (?:minimum|min) (?:password )?(?:length|characters) | password (?:minimum |min )?(?:length|history) "
    r"| (?:required )?(?:approvals|reviewers) | approving review count "
    r"| (?:log|logs|audit|backups?|snapshots?|version|history|recovery) (?:\w{1,20} )?retention "
)
_RETENTION = re.compile(r" retention (?:in )?days ")
_RECORDS = re.compile(r" (?:logs?|logging|audit|backups?|snapshots?|trails?) ")
"""What is evidence or a way back, so that keeping it longer is safer; of messages that is not so."""
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([a-z]{0,12})")
_SECONDS = {
    "s": 1,
    "second": 1,
    "minute": 60,
    "min": 60,
    "m": 60,
    "hour": 3_600,
    "h": 3_600,
    "day": 86_400,
    "d": 86_400,
}
_SECONDS |= {"week": 604_800, "month": 2_592_000, "year": 31_536_000}
_ENDLESS = frozenset({"never", "unlimited", "no limit", "indefinite", "forever"})
_SETTINGS = (
    "Action",
    "Target",
    "action",
    "setting",
    "category",
    "subcategory",
    "property",
    "operation_detail",
    "source_label",
    "event_type",
    "SETTING_NAME",
)
_SETTING_ENDS = (".property", "setting_name", ".change")


def is_safer(fields: Mapping[str, str], *, is_about_settings: bool = True) -> bool:
    """Whether an event states what was changed, and everything of it makes something safer.

    New values alone and verbs count only for rules about settings: what makes or removes something has other values.
    """
    stated = [found for change in changes(fields) if (found := _of_change(change, fields)) is not None]
    if stated or not is_about_settings:
        return bool(stated) and all(stated)
    action = _words(fields.get("Action") or fields.get("eventName", ""))
    if _MAKES.search(action):
        return bool(_REMOVED.search(action) and _LOOPHOLES.search(action))
    stated = list(_of_new_values(fields))
    return all(stated) if stated else _turns_safer(action)


def is_looser(fields: Mapping[str, str]) -> bool:
    """Whether an event states that a session or key lives longer, or that a minimum was lowered.

    Switches do not count: rules look for what is turned off, and what is opened is often ordinary work.
    """
    return any(_is_looser(change, fields) for change in changes(fields))


def _is_looser(change: Change, fields: Mapping[str, str]) -> bool:
    if not _amount(_clean(change.before)) or not _amount(_clean(change.after)):
        return False
    return is_safer_value(_name_of_change(change, fields), change.after, change.before)


def polarity(name: str) -> int:
    """Return 1 if a setting of this name is safer when it is on, -1 if when it is off, 0 if the name does not say."""
    words = _words(name)
    flip = -1 if len(_FLIPS.findall(words.replace(" ", "  "))) % 2 else 1
    if _EXCEPTIONS.search(words):
        return -flip
    if _GUARDS.search(words):
        return flip
    protects, opens = bool(_PROTECTIONS.search(words)), bool(_OPENINGS.search(words))
    return 0 if protects == opens else flip if protects else -flip


def is_safer_value(name: str, before: str, after: str) -> bool:
    """Whether a value of a setting of this name is safer than the one before."""
    if is_closing(before, after):
        return True
    old, new = _clean(before), _clean(after)
    if new in ON and old in OFF:
        return polarity(name) > 0
    if new in OFF and old in ON:
        return polarity(name) < 0
    was, is_now = _amount(old), _amount(new)
    if was is None or is_now is None or was == is_now:
        return False
    words = _words(name)
    if _LONGER.search(words):
        return is_now > was
    return bool(_SHORTER.search(words)) and is_now < was


def _of_change(change: Change, fields: Mapping[str, str]) -> bool | None:
    """Whether one change is safer; None if it is only bookkeeping."""
    if change.name and _BOOKKEEPING.search(_words(change.name)) and not polarity(change.name):
        return None
    return is_safer_value(_name_of_change(change, fields), change.before, change.after)


def _name_of_change(change: Change, fields: Mapping[str, str]) -> str:
    """Return the most particular words with a direction: of the changed field, of one that names it, of the event."""
    beside = (value[:MAX_VALUE_CHARS] for name, value in fields.items() if name.lower().endswith(_SETTING_ENDS))
    known = (name for name in (change.name, *beside) if polarity(name) or _is_measured(name))
    return next(known, f"{_setting(fields)} {change.name}")


def _is_measured(name: str) -> bool:
    words = _words(name)
    return bool(_LONGER.search(words) or _SHORTER.search(words))


def _of_new_values(fields: Mapping[str, str]) -> Iterator[bool]:
    """Yield for each new value without the one before, whose setting has a direction, whether it is the safer one."""
    for name, value in islice(fields.items(), MAX_FIELDS):
        new = _clean(value)
        if name in ("Action", "Target", "Outcome", "User") or _NOT_SET.search(name[:MAX_VALUE_CHARS]):
            continue
        if new in _OPENED:
            yield False
        elif new in _CLOSED:
            if _REACH.search(name):
                yield True
        elif new.isdigit():
            words = _words(name.rpartition(".")[2])
            if _RETENTION.search(words):
                if _RECORDS.search(_words(f"{_setting(fields)} {name}")):
                    yield int(new[:9]) >= SAFE_RETENTION_DAYS
            elif _LONGER.search(words):
                yield int(new[:9]) >= SAFE_LENGTH
        elif new in ON or (new and new in OFF):
            sign = polarity(_name_of(name, fields))
            if sign:
                yield (sign > 0) == (new in ON)


def _name_of(field: str, fields: Mapping[str, str]) -> str:
    """Return the words that name a setting: of its field, of the field beside it, or of the event."""
    parent, dot, last = field.rpartition(".")
    for end, names in _NAMED_BY.items():
        if last.lower().endswith(end):
            start = f"{parent}{dot}{last[: -len(end)]}".lower()
            beside = {name.lower(): value for name, value in islice(fields.items(), MAX_FIELDS)}
            named = next((beside[f"{start}{one}"] for one in names if f"{start}{one}" in beside), "")
            if named:
                return named
    return _setting(fields) if last.lower().replace("_", "") in _GENERIC else last


def _turns_safer(action: str) -> bool:
    """Whether an action's verb turns a protection on or an opening off."""
    if _UNSTATED.search(action) or not _VERBS.search(action) or " not required " in action:
        return False
    return polarity(action) > 0 and not _EXCEPTIONS.search(action)


def _amount(value: str) -> float | None:
    """Return a number, or a length of time in seconds; None if it is neither."""
    if value in _ENDLESS:
        return inf
    found = _AMOUNT.fullmatch(value)
    if found is None:
        return None
    unit = found[2]
    factor = _SECONDS.get(unit) or _SECONDS.get(unit.removesuffix("s")) if unit else 1
    return float(found[1]) * factor if factor and float(found[1]) else None


def _clean(value: str) -> str:
    return value[:MAX_VALUE_CHARS].strip().strip("'\"[]").lower()


def _words(text: str) -> str:
    return _ALLOWLISTS.sub(" allowlist ", plain_words(text[:MAX_VALUE_CHARS]))


def _setting(fields: Mapping[str, str]) -> str:
    """Return the words that name the changed setting, without the values."""
    own = (value for name, value in fields.items() if name in _SETTINGS or name.lower().endswith(_SETTING_ENDS))
    return " ".join(dict.fromkeys(without_values(value[:MAX_VALUE_CHARS]) for value in own))
