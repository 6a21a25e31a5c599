"""Read firewalls' messages in syslog: netfilter (iptables, UFW), Cisco ASA, pf (filterlog), Palo Alto Networks.

A message becomes the fields of Sigma's firewall category (``src_ip``, ``dst_port``, …), also under Sysmon's names, with
``Action`` as written and ``Outcome`` (success: allowed, failure: denied) if the message tells.
"""

from __future__ import annotations

import re

import msgspec

MAX_CHARS = 4_096
_PAIR = re.compile(r"\b(SRC|DST|PROTO|SPT|DPT|IN|OUT|PHYSIN)=(\S*)")
_PAIR_NAMES = {"SRC": "src_ip", "DST": "dst_ip", "PROTO": "protocol", "SPT": "src_port", "DPT": "dst_port"}
_NETFILTER_ACTION = re.compile(r"BLOCK|DROP|DENY|DENIED|REJECT|ALLOW|ACCEPT|PERMIT|PASS|AUDIT|LIMIT", re.IGNORECASE)
_ALLOWED = frozenset(["allow", "accept", "permit", "permitted", "pass", "built", "allowed", "alert"])
_DENIED = frozenset(
    ["block", "drop", "deny", "denied", "reject", "rejected", "limit", "reset-both", "reset-client", "reset-server",
     "drop-icmp", "block-url", "teardown-denied"]
)  # fmt: skip
_ASA = re.compile(r"%(?:ASA|FTD|PIX)-(?:\w{1,20}-)?(\d)-(\d{6}): ?(.*)", re.DOTALL)
_ASA_ENDS = re.compile(r"[\w.-]{1,64}[:/]([0-9A-Fa-f.:]{3,45})[/(](\d{1,5})\)?|(?<= )([0-9A-Fa-f.:]{3,45})/(\d{1,5})\b")
_ASA_PROTOCOL = re.compile(r"\b(tcp|udp|icmp)\b", re.IGNORECASE)
_ASA_DENIED = frozenset(["106001", "106006", "106007", "106010", "106014", "106015", "106021", "106023", "710003"])
_ASA_BUILT = frozenset(["302013", "302015"])
_ASA_LOGIN = re.compile(
    r"(?:Login (?P<word>denied|permitted) from (?P<source>[0-9A-Fa-f.:]{3,45})/\d+"
    r".{0,80}? for user \"(?P<user>[^\"]{0,80})\""
    r"|AAA user authentication (?P<result>Rejected|Successful)\b.{0,120}?user = (?P<name>\S{1,80})"
    r"(?:.{0,40}?user IP = (?P<address>[0-9A-Fa-f.:]{3,45}))?)"
)
_ASA_ACCEPTED = frozenset(["113004", "113012", "611101"])
_ASA_REFUSED = frozenset(["113005", "113014", "113015", "113016", "611102"])
_ASA_BEGUN = frozenset(["113039", "716001", "716038", "722022", "722033", "722051", "734001"])
_ASA_OVER = frozenset(["113019", "716002", "722023", "722037", "716058", "602304"])
_ASA_USER = re.compile(r"\bUser(?:name)?(?: =)? <?([^\s,<>:]{1,120})>?", re.IGNORECASE)
_ASA_FROM = re.compile(r"\bIP(?: address)?(?: =)? <?([0-9A-Fa-f.:]{3,45})>?(?![\w.])", re.IGNORECASE)
_ASA_GIVEN = re.compile(r"\bIPv4 Address <([0-9.]{7,15})>")
_ASA_DURATION = re.compile(r"\bDuration: (?:(\d{1,4})d[: ]?)?(\d{1,3})h:(\d{1,2})m:(\d{1,2})s")
_ASA_BYTES = re.compile(r"\bBytes (xmt|rcv): (\d{1,15})")
_ASA_COMMAND = re.compile(
    r"User '(?P<user>[^']{1,80})'(?:, running '(?P<way>[^']{0,40})' from IP (?P<source>[0-9A-Fa-f.:]{3,45}))?,?"
    r" executed (?:the |cmd: )?'?(?P<command>[^']{1,400})'?"
)
_FILTERLOG_V4, _FILTERLOG_V6 = (16, 18, 19, 20, 21), (12, 15, 16, 17, 18)  # protocol, source, destination, their ports
_PALO_ALTO = re.compile(r"\d,\d{4}/\d\d/\d\d \d\d:\d\d:\d\d,[^,]{0,40},(TRAFFIC|THREAT|CONFIG|SYSTEM|GLOBALPROTECT),")
_PALO_ALTO_TYPES = (",TRAFFIC,", ",THREAT,", ",CONFIG,", ",SYSTEM,", ",GLOBALPROTECT,")
_PALO_ALTO_LOGIN = re.compile(
    r"(?:(?P<failed>failed authentication|authentication failed)|authenticated) for user ?:? ?'(?P<user>[^']{0,80})'"
    r"(?:.{0,200}?From: ?(?P<source>[0-9A-Fa-f.:]{3,45}))?",
    re.IGNORECASE,
)
_PALO_ALTO_THREAT, _PALO_ALTO_SEVERITY, _PALO_ALTO_ACTION = 32, 34, 30


class FirewallMessage(msgspec.Struct, frozen=True):
    """What a message tells: Sigma's category (``firewall``, ``authentication``, ``alert``), product and fields."""

    category: str
    product: str
    fields: dict[str, str]


def firewall_message(program: str, message: str) -> FirewallMessage | None:
    """Return what a syslog message of a firewall tells; None for any other message."""
    text = message[:MAX_CHARS]
    if "SRC=" in text and "DST=" in text:
        return _netfilter(text)
    if (found := _ASA.search(f"{program}: {text}" if program.startswith("%") else text)) is not None:
        return _asa(found[2], found[3])
    if program == "filterlog":
        return _filterlog(text.split(","))
    if any(kind in text[:80] for kind in _PALO_ALTO_TYPES):
        start = _PALO_ALTO.search(text)
        return None if start is None else _palo_alto(start[1], text[start.start() :].split(","))
    return None


def netfilter_action(text: str) -> str:
    """Return the action that the prefix of a netfilter message names (``[UFW BLOCK]``); "" if none."""
    found = _NETFILTER_ACTION.search(text[: max(text.find("IN="), 0)])
    return found[0].lower() if found is not None else ""


def _netfilter(text: str) -> FirewallMessage | None:
    values = {_PAIR_NAMES[name]: value for name, value in _PAIR.findall(text) if name in _PAIR_NAMES and value}
    if "src_ip" not in values:
        return None
    return FirewallMessage("firewall", "netfilter", _complete(values, netfilter_action(text)))


def _complete(values: dict[str, str], action: str) -> dict[str, str]:
    names = {"src_ip": "SourceIp", "dst_ip": "DestinationIp", "src_port": "SourcePort", "dst_port": "DestinationPort"}
    fields = values | {names[name]: value for name, value in values.items() if name in names}
    if action:
        fields["Action"] = action
        word = action.lower()
        if word in _ALLOWED or word in _DENIED:
            fields["Outcome"] = "success" if word in _ALLOWED else "failure"
    return fields


def _asa(number: str, text: str) -> FirewallMessage | None:
    if (command := _ASA_COMMAND.match(text)) is not None:
        fields = {"User": command["user"], "CommandLine": command["command"], "Action": "command"}
        return FirewallMessage("", "cisco", fields | ({"SourceIp": command["source"]} if command["source"] else {}))
    login = _ASA_LOGIN.match(text)
    if login is not None:
        is_in = (login["word"] or login["result"]).lower() in ("permitted", "successful")
        fields = {
            "TargetUserName": (login["user"] or login["name"] or "").rstrip(":"),
            "IpAddress": login["source"] or login["address"] or "",
            "Outcome": "success" if is_in else "failure",
        }
        return FirewallMessage("authentication", "cisco", fields)
    if (session := _asa_session(number, text)) is not None:
        return session
    if number == "106100":
        action = "permit" if "permitted" in text[:200] else "deny"
    elif number in _ASA_DENIED:
        action = "deny"
    elif number in _ASA_BUILT:
        action = "built"
    else:
        return None
    ends = [(found[1] or found[3], found[2] or found[4]) for found in _ASA_ENDS.finditer(text.replace("->", " "))]
    if len(ends) < 2:
        return None
    ends = list(dict.fromkeys(ends))
    if number in _ASA_BUILT and " outbound " in f" {text.lower()}":
        ends.reverse()  # the first end is the outside one, regardless of who opened the connection
    source, destination = ends[0], ends[1] if len(ends) > 1 else ends[0]
    protocol = _ASA_PROTOCOL.search(text)
    values = {
        "src_ip": source[0], "src_port": source[1], "dst_ip": destination[0], "dst_port": destination[1],
        "protocol": protocol[0].lower() if protocol else "",
    }  # fmt: skip
    return FirewallMessage("firewall", "cisco", _complete(values, action))


def _asa_session(number: str, text: str) -> FirewallMessage | None:
    """The begin and the end of a VPN session, and what the server of the accounts said."""
    if number not in _ASA_ACCEPTED | _ASA_REFUSED | _ASA_BEGUN | _ASA_OVER:
        return None
    user, source, given = _ASA_USER.search(text), _ASA_FROM.search(text), _ASA_GIVEN.search(text)
    if user is None:
        return None
    address = source[1] if source else ""
    if number in _ASA_OVER:
        fields = {"User": user[1], "SourceIp": address, "Action": "VPN session ended"}
        if (lasted := _ASA_DURATION.search(text)) is not None:
            days, hours, minutes, seconds = (int(one or 0) for one in lasted.groups())
            fields["duration"] = str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
        fields |= {"sentbytes" if way == "xmt" else "receivedbytes": count for way, count in _ASA_BYTES.findall(text)}
        return FirewallMessage("", "cisco", fields)
    fields = {
        "TargetUserName": user[1], "IpAddress": address,
        "Outcome": "failure" if number in _ASA_REFUSED else "success",
        "Action": "VPN session begun" if number in _ASA_BEGUN else "VPN login",
    }  # fmt: skip
    return FirewallMessage("authentication", "cisco", fields | ({"AssignedIp": given[1]} if given else {}))


def _filterlog(cells: list[str]) -> FirewallMessage | None:
    if len(cells) < 17:
        return None
    places = _FILTERLOG_V4 if cells[8] == "4" else _FILTERLOG_V6
    names = ("protocol", "src_ip", "dst_ip", "src_port", "dst_port")
    values = {name: cells[place] for name, place in zip(names, places, strict=True) if place < len(cells)}
    if not values.get("dst_port", "").isdecimal():
        values.pop("src_port", None)
        values.pop("dst_port", None)
    return FirewallMessage("firewall", "pfsense", _complete(values, cells[6]))


def _palo_alto(kind: str, cells: list[str]) -> FirewallMessage | None:
    if kind in ("CONFIG", "SYSTEM", "GLOBALPROTECT"):
        return _palo_alto_management(kind, cells)
    if len(cells) <= _PALO_ALTO_ACTION:
        return None
    values = {
        "src_ip": cells[7], "dst_ip": cells[8], "src_port": cells[24], "dst_port": cells[25], "protocol": cells[29],
        "User": cells[12],
    }  # fmt: skip
    fields = _complete({name: value for name, value in values.items() if value}, cells[_PALO_ALTO_ACTION])
    if kind == "TRAFFIC":
        return FirewallMessage("firewall", "paloalto", fields)
    if len(cells) > _PALO_ALTO_SEVERITY:
        fields |= {"Alert": cells[_PALO_ALTO_THREAT], "Severity": cells[_PALO_ALTO_SEVERITY]}
    return FirewallMessage("alert", "paloalto", fields)


def _palo_alto_management(kind: str, cells: list[str]) -> FirewallMessage | None:
    """What an administrator changed, the system says, or a VPN user did."""
    if kind == "CONFIG" and len(cells) > _CONFIG_PATH:
        source, _, command, user, way, result, path = cells[7 : _CONFIG_PATH + 1]
        fields = {"SourceIp": source, "Action": command, "User": user, "Client": way, "Path": path}
        outcome = {"succeeded": "success", "failed": "failure", "unauthorized": "failure"}.get(result.lower(), "")
        return FirewallMessage("", "paloalto", fields | ({"Outcome": outcome} if outcome else {}))
    if kind == "SYSTEM":
        text = ",".join(cells[14:])
        login = _PALO_ALTO_LOGIN.search(text)
        if login is None:
            return None
        fields = {"TargetUserName": login["user"], "IpAddress": login["source"] or ""}
        fields["Outcome"] = "failure" if login["failed"] else "success"
        return FirewallMessage("authentication", "paloalto", fields)
    if kind == "GLOBALPROTECT" and len(cells) > _VPN_STATUS and cells[_VPN_STAGE] == "login":
        fields = {"TargetUserName": cells[12], "IpAddress": cells[15], "Country": cells[13]}
        fields["Outcome"] = "success" if cells[_VPN_STATUS] == "success" else "failure"
        return FirewallMessage("authentication", "paloalto", fields)
    return None


_CONFIG_PATH = 13
_VPN_STAGE, _VPN_STATUS = 9, 28
