"""What an audit log's event says was done, as plain lower-case words, whatever the product calls it.

Products name the same action differently: ``UserCredentialDestruction``, ``api_key.created``, ``DELETE`` of an object
of type ``policy_set``, the setting ``Two-factor`` from ``Enabled`` to ``Disabled``. Rules for audit logs of any product
look at these words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import msgspec

MAX_FIELDS = 400
MAX_ITEMS = 20  # of a list of changed settings
MAX_VALUE_CHARS = 200
MAX_CHARS = 1_000
MAX_OBJECT_CHARS = 20_000

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JOINED = (
    (" 2 fa ", " mfa "), (" 2 sv ", " mfa "), (" 2 step ", " mfa "), (" two factor ", " mfa "),
    (" two step ", " mfa "), (" multi factor ", " mfa "), (" multifactor ", " mfa "), (" 2fa ", " mfa "),
    (" tfa ", " mfa "),
    (" single sign on ", " sso "), (" o auth ", " oauth "), (" service token ", " api token "),
    (" apikey ", " api key "), (" administrator ", " admin "), (" administrators ", " admins "),
    (" turned off ", " disabled "), (" turn off ", " disable "), (" switched off ", " disabled "),
    (" super user ", " superuser "), (" superadmin ", " super admin "), (" un enroll ", " unenroll "),
    (" saml 2 ", " saml "), (" web hook ", " webhook "),
)  # fmt: skip
"""Spellings of the same word."""
_ACTIONS = (
    "action", "eventtype", "event", "eventname", "operation", "operationname", "activity", "activityname", "actionname",
    "type", "name", "verb", "method", "requestmethod", "actiontype", "auditevent",
)  # fmt: skip
_OBJECTS = frozenset(
    {
        "resourcetype", "objecttype", "entitytype", "targettype", "sourcetype", "itemtype", "resourcekind", "object",
        "entity", "category", "subcategory", "setting", "settingname", "property", "field", "label", "sourcelabel",
        "actionlabel", "feature", "policyname", "page", "taskdisplayname", "summary", "description",
        "actiondescription",
        "primarydescription", "activitydescription", "changedescription", "operationdetail", "displaymessage", "note",
        "custommessage", "resourcename", "metadataname", "rolename", "resourceaction",
    }
)  # fmt: skip
"""The last part of the names of fields that say what was changed."""
_STRUCTURED = ("{", "[", "<")
_ACTORS = ("actor", "createdby", "author", "initiatedby", "initiator", "useridentity", "auth", "session")
"""Whose role is not what was changed."""
_EXPLAINED = ("eventtype", "ruletype")
"""What has a description that is the same for all of its events."""
_TYPE_PARENTS = ("resource", "object", "entity", "target", "item")
_ROLES = frozenset({"role", "newrole", "newroles", "roles", "accesslevel", "permission", "newpermission", "orgaccess"})
_PAIRS = (
    ("newvalue", "oldvalue"), ("newvalue", "previousvalue"), ("new", "old"), ("after", "before"), ("to", "from"),
    ("newrole", "oldrole"), ("newrole", "previousrole"), ("newroles", "oldroles"), ("newpermission", "oldpermission"),
    ("permission", "oldpermission"), ("newrepopermission", "oldrepopermission"), ("postaction", "preaction"),
    ("current", "previous"), ("newstate", "oldstate"), ("newsettings", "oldsettings"), ("value", "oldvalue"),
    ("role", "previousrole"), ("value", "old"),
)  # fmt: skip
"""The last part of the names of fields with the value after and before a change, as products call them."""
_OBJECT_PAIRS = tuple(pair for pair in _PAIRS if not {"to", "value", "role", "permission"}.intersection(pair))
"""The names of objects with the settings after and before a change; ``to`` and ``from`` are ends of other things."""
_NAMES_BESIDE = (
    "name",
    "displayname",
    "property",
    "propertyname",
    "field",
    "fieldname",
    "key",
    "setting",
    "settingname",
)
"""The last part of the names of fields that name the setting, beside the values before and after a change."""
_NEW_NAMES = frozenset(new for new, _ in _PAIRS)
_OLD_NAMES = frozenset(old for _, old in _PAIRS)
_OLD = re.compile(r"(?:previous|prior|old)_?(?=\w\w)", re.IGNORECASE)
"""How the name of a field with the value before a change begins, when the setting's name follows."""
_LOG_NAME = re.compile(
    r"(?:\w{1,40}[ _.-]?)?(?:audit|activity|admin)[ _-]?(?:logs?|events?|trail|settings)", re.IGNORECASE
)
"""A value that names the log or a page, not what was done."""
_CHANGES = re.compile(r"\bfrom\s{1,3}['\"]?([\w -]{1,40}?)['\"]?\s{1,3}to\s{1,3}['\"]?([\w -]{1,40})", re.IGNORECASE)
_TEXTS = ("action", "target", "change_description", "operation_detail", "description", "primaryDescription", "note")
ON = frozenset({"true", "on", "enabled", "required", "yes", "1", "enforced", "mandatory", "always", "active", "strict"})
"""What a setting is called that is turned on."""
OFF = frozenset(
    {
        "false",
        "off",
        "disabled",
        "optional",
        "no",
        "0",
        "none",
        "never",
        "inactive",
        "not_required",
        "not required",
        "enabledforreportingbutnotenforced",
        "report_only",
        "",
    }
)
"""What a setting is called that is turned off."""


class Change(NamedTuple):
    """The values before and after a change, and what its field calls the setting, if it does."""

    before: str
    after: str
    name: str = ""


class _Name(NamedTuple):
    """What the name of a field says: whether its value names the action or a role, and which fields have it before."""

    plain: str
    is_action: bool
    is_role: bool
    before: tuple[str, ...]
    after: tuple[str, ...]
    setting: str


_OPEN = re.compile(
    r"anyone|public|(?<!not[_ ])allow|\bopen\b|everyone|external|all[_ ]users|low\b|guest|unlimited", re.IGNORECASE
)
_CLOSED = re.compile(
    r"den(?:y|ied)|not[_ ]?allowed|private|team[_ ]?only|only[_ ]?me|internal|restrict|block|member|invited|company"
    r"|admins?[_ ]?(?:only|and|guest)|collaborators|high\b|strong|require|enforce|(?<!un)limited",
    re.IGNORECASE,
)


def is_closing(before: str, after: str) -> bool:
    """Whether a change replaced an open setting by a restricted one, whatever the setting."""
    return bool(_OPEN.search(before)) and bool(_CLOSED.search(after)) and not _CLOSED.search(before)


def action_words(fields: Mapping[str, str]) -> str | None:
    """Return the words between spaces, also the first and the last; None if the event has no action."""
    if not fields.get("Action"):
        return None
    found = [fields["Action"]]
    roles: list[str] = []
    for name, value in islice(fields.items(), MAX_FIELDS):
        known = _known(name)
        if known.is_action and value[:1] not in _STRUCTURED and not _LOG_NAME.fullmatch(value[:MAX_VALUE_CHARS]):
            found.append(value)
        elif known.is_role and value[:1] not in _STRUCTURED:
            roles.append(f"role {value}")
    for before, after, _ in changes(fields):
        if is_closing(before, after):
            continue
        found.append(f"to {'enabled' if _is(after, ON) else 'disabled' if _is(after, OFF) else after}")
    return plain_words("\n".join(value[:MAX_VALUE_CHARS] for value in dict.fromkeys((*found, *roles))))


def changes(fields: Mapping[str, str]) -> Iterator[Change]:
    """Yield the values before and after each change that an event records."""
    plain: dict[str, str] = {}
    for name, value in islice(fields.items(), MAX_FIELDS):
        known = _known(name)
        if not (known.before or known.after):
            continue
        plain = plain or {_known(other).plain: value for other, value in islice(fields.items(), MAX_FIELDS)}
        setting = known.setting or _named_beside(known.plain, plain)
        for old in known.before:
            before = plain.get(old)
            if before is not None and before != value:
                yield from _each_of(before, value, setting)
        after = next((plain[new] for new in known.after if new in plain), None)
        if after is not None and after != value:
            yield from _each_of(value, after, setting)
    for name in _TEXTS:
        for found in _CHANGES.finditer(fields.get(name, "")[:MAX_VALUE_CHARS]):
            yield Change(found[1], found[2])


def without_values(text: str) -> str:
    """Return a text without the values before and after a change that it states."""
    return _CHANGES.sub(" ", text)


def _named_beside(field: str, plain: Mapping[str, str]) -> str:
    """Return what names the setting in the same object as its values, such as ``ModifiedProperties.Name``."""
    parent, dot, _ = field.rpartition(".")
    return next((plain[f"{parent}.{one}"] for one in _NAMES_BESIDE if dot and f"{parent}.{one}" in plain), "")


def _each_of(before: str, after: str, name: str) -> Iterator[Change]:
    """Yield the changes of a list of settings, whose names and values have a line each, or the one change."""
    old, new, names = before.split("\n"), after.split("\n"), name.split("\n")
    if 1 < len(old) == len(new) == len(names):
        for was, is_now, setting in zip(old[:MAX_ITEMS], new[:MAX_ITEMS], names[:MAX_ITEMS], strict=True):
            if was != is_now:
                yield from _differences(was, is_now, setting)
    else:
        yield from _differences(before, after, name)


def _differences(before: str, after: str, name: str) -> Iterator[Change]:
    """Yield the values themselves, or the members that differ if both are objects."""
    if before.startswith("{") and after.startswith("{"):
        old, new = _members(before), _members(after)
        if old and new:
            differ = ((name, value) for name, value in new.items() if old.get(name, value) != value)
            yield from (Change(old[name], value, name) for name, value in differ)
            return
    yield Change(before[:MAX_VALUE_CHARS], after[:MAX_VALUE_CHARS], name)


@lru_cache(maxsize=100)
def _members(text: str) -> dict[str, str]:
    """Return the simple members of an object in JSON; none if it is not one or too long."""
    if len(text) > MAX_OBJECT_CHARS:
        return {}
    try:
        found = msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError:
        return {}
    simple = ((name, value) for name, value in islice(found.items(), MAX_FIELDS) if isinstance(value, str | bool | int))
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in simple}


@lru_cache(maxsize=5_000)
def _known(name: str) -> _Name:
    plain = name.lower().replace("_", "").removesuffix(".tag").rstrip(".")
    parent, dot, last = plain.rpartition(".")
    is_of_object = last in ("type", "action") and parent.endswith(_TYPE_PARENTS)
    before = (
        *(f"{parent}{dot}{old}" for new, old in _PAIRS if last == new),
        *(f"{parent[: -len(new)]}{old}.{last}" for new, old in _OBJECT_PAIRS if _ends_with(parent, new)),
    )
    old = _OLD.match(last) if last not in _OLD_NAMES else None
    setting = _OLD.sub("", name.rpartition(".")[2]) if old else name.rpartition(".")[2]
    return _Name(
        plain=plain,
        is_action=(last in _OBJECTS and not parent.endswith(_EXPLAINED))
        or is_of_object
        or (last in _ACTIONS and not parent),
        is_role=last in _ROLES and not parent.endswith(_ACTORS),
        before=before,
        after=(f"{parent}{dot}new{last[old.end() :]}", f"{parent}{dot}{last[old.end() :]}") if old else (),
        setting=setting if old or setting.lower().replace("_", "") not in _NEW_NAMES else "",
    )


def _ends_with(parent: str, name: str) -> bool:
    return parent == name or parent.endswith(f".{name}")


def _is(value: str, words: frozenset[str]) -> bool:
    return value.strip().lower() in words


@lru_cache(maxsize=10_000)
def plain_words(text: str) -> str:
    """Return the words of a text in lower case, in one spelling, between spaces, also the first and the last."""
    joined = " ".join(word.lower() for word in _WORDS.findall(text[: MAX_CHARS * 2]))[:MAX_CHARS]
    words = f" {joined} "
    for spelling, word in _JOINED:
        words = words.replace(spelling, word)
    return words
