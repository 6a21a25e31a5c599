"""Who did what to whom, from where, by the fields of the events that a rule matched.

The fields of Windows' events are those of Microsoft's "Advanced security audit policy" reference: ``Subject…`` is the
account that acted, ``Target…`` the one that it was done to; of a group, ``Target…`` is the group and ``Member…`` the
account that was added or removed.
"""

from __future__ import annotations

from svc.assistant.sigma.event import Event

MAX_ACTORS = 20  # accounts, addresses, actions and targets, each
MAX_SIDS = 1_000  # whose names are kept

_FIELDS = {
    "": ("User", "SourceIp", "Action", "Target"),
    "authentication": ("TargetUserName", "IpAddress"),
    "proxy": ("cs-username", "c-ip"),
}
"""By the category of an event: the fields that hold the account, the address, the action and its target."""
_TARGET_FIELDS = (
    "target.alternateId", "targetResources.userPrincipalName", "targetResources.displayName",
    "parameters.USER_EMAIL", "parameters.GROUP_EMAIL", "parameters.doc_title", "requestParameters.userName",
    "requestParameters.bucketName", "requestParameters.groupName", "requestParameters.roleName",
    "resource.labels.bucket_name", "objectRef.name", "entity.user.email", "entity.channel.name", "entity.file.name",
    "requestParams.targetUserName", "requestParams.targetGroupName", "AuditKeyValues.target_name", "source.login",
    "source.item_name", "resource.email", "details.target_details", "user_name", "user", "repo",
)  # fmt: skip
"""Where audit logs name what an action was done to, if the reader of the log did not; the most particular first."""
_OF_ACCOUNTS = (4720, 4722, 4723, 4724, 4725, 4726, 4738, 4740, 4741, 4742, 4743, 4767)
_OF_MEMBERS = (4728, 4729, 4732, 4733, 4746, 4747, 4751, 4752, 4756, 4757, 4761, 4762)
_OF_WINDOWS: dict[int, tuple[str, ...]] = {
    **dict.fromkeys(_OF_ACCOUNTS, ("TargetUserName",)),
    **dict.fromkeys(_OF_MEMBERS, ("MemberName", "TargetUserName")),
    **dict.fromkeys((4727, 4731, 4754, 4730, 4734, 4758), ("TargetUserName",)),  # groups made and deleted
    4697: ("ServiceName",),
    4698: ("TaskName",),
    4699: ("TaskName",),
    4700: ("TaskName",),
    4701: ("TaskName",),
    4702: ("TaskName",),
    4781: ("OldTargetUserName", "NewTargetUserName"),
    4688: (),
    4719: (),
    1102: (),
}
"""Of Windows' security log: the events whose ``SubjectUserName`` acted, and the fields of what it was done to."""
_NO_VALUE = ("", "-", "None")


class Actors:
    """Who did what from where, in logs of services and Windows' security log; other events are ignored."""

    def __init__(self) -> None:
        self.accounts: dict[str, None] = {}
        self.addresses: dict[str, None] = {}
        self.actions: dict[str, None] = {}
        self.targets: dict[str, None] = {}

    def add(self, event: Event) -> None:
        """Note the actor of an event that is an action, a login or a request of an account."""
        fields = event.fields
        if event.service == "security" and event.event_id in _OF_WINDOWS:
            self._add_of_windows(event, _OF_WINDOWS[event.event_id])
            return
        names = _FIELDS.get(event.category, ())
        if not event.category and "Action" not in fields:
            return
        for found, name in zip((self.accounts, self.addresses, self.actions, self.targets), names, strict=False):
            _note(found, fields.get(name, "") if name != "Target" else _target_of(event))

    def _add_of_windows(self, event: Event, targets: tuple[str, ...]) -> None:
        _note(self.accounts, event.fields.get("SubjectUserName", ""))
        for name in targets:
            value = event.fields.get(name, "")
            if name == "MemberName" and value in _NO_VALUE:
                value = event.fields.get("MemberSid", "")
            _note(self.targets, value)


class SidNames:
    """The names of accounts by their security identifiers, as the events of the log itself state both."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def add(self, event: Event) -> None:
        """Note the account that an event names with its identifier."""
        if event.event_id not in _OF_ACCOUNTS or len(self._names) >= MAX_SIDS:
            return
        sid, name = event.fields.get("TargetSid", ""), event.fields.get("TargetUserName", "")
        if sid not in _NO_VALUE and name not in _NO_VALUE:
            self._names.setdefault(sid, name)

    def name(self, target: str) -> str:
        """The name of a known identifier; anything else stays as it is."""
        return self._names.get(target, target)


def _target_of(event: Event) -> str:
    fields = event.fields
    if found := fields.get("Target", ""):
        return found
    actor = fields.get("User", "")
    held = (fields.get(name, "") for name in _TARGET_FIELDS)
    return next((value for value in held if value and value != actor), "")


def _note(found: dict[str, None], value: str) -> None:
    value = value.partition("\n")[0]
    if value not in _NO_VALUE and len(found) < MAX_ACTORS:
        found[value] = None
