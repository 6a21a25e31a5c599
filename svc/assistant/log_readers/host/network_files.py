"""Read files that say how a host's network works: the hosts file, iptables-save, and nft's list of rules. Pure.

Formats: hosts(5), iptables-save(8), nft(8).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, TraceKind

HOST = re.compile(r"\s{0,20}(?P<address>[0-9A-Fa-f.:]{2,45}(?:%\w{1,16})?)[ \t]{1,60}(?P<names>[^\s#].{0,2000})")
_HOST_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")
TABLE = re.compile(r"\*(?:filter|nat|mangle|raw|security)\s{0,5}")
CHAIN = re.compile(r":(?P<chain>[\w.-]{1,64}) (?P<policy>ACCEPT|DROP|REJECT|-)(?: \[\d{1,20}:\d{1,20}\])?\s{0,5}")
RULE = re.compile(r"(?:\[\d{1,20}:\d{1,20}\] )?-[AI] (?P<chain>[\w.-]{1,64})(?P<rule>(?: .{0,2000})?)")
NFT_TABLE = re.compile(r"table (?:(?:ip|ip6|inet|arp|bridge|netdev) )?[\w.-]{1,64} \{.{0,80}")
_NFT_CHAIN = re.compile(r"chain (?P<chain>[\w.-]{1,64}) \{.{0,80}")
_NFT_HOOK = re.compile(
    r"type (?P<type>\w{1,10}) hook (?P<hook>\w{1,12})(?: device \S{1,40})? priority [^;]{1,40};"
    r"(?:\s{0,5}policy (?P<policy>accept|drop);)?.{0,40}"
)
_NFT_OTHER = re.compile(r"(?:set|map|flowtable|counter|quota|limit|ct \w+|quota) [\w.-]{1,64} \{.{0,400}")
_JUMPS = re.compile(r" -[jg] (\S{1,64})")
_MATCHES = re.compile(r" -(?:[spdio]|-(?:src|dst|dport|sport|in-interface|ctstate|state|match-set|protocol)|m)\b")
OPEN = "accepts everything that no rule refuses, and no rule refuses anything"


def hosts_rows(line: str) -> list[Artefact]:
    """Return an entry for each name of a line; none for another line."""
    found = HOST.fullmatch(line)
    names = found["names"].partition("#")[0].split() if found else []
    if found is None or not names or not all(map(_HOST_NAME.fullmatch, names)):
        return []
    try:
        address = ipaddress.ip_address(found["address"].partition("%")[0])
    except ValueError:
        return []
    if address.is_loopback or address.is_unspecified:
        kind = "the host itself or nowhere"
    else:
        kind = "an address inside" if address.is_private and not address.is_global else "an address outside"
    return [
        Artefact(
            number=0,
            activity=TraceKind.NAME,
            what=name,
            source=found["address"],
            detail=f"leads to {kind}",
            excerpt=" ".join(line.split()),
        )
        for name in names
    ]


class _Chain:
    """A chain that decides about packets: its policy's row and whether any rule refuses."""

    def __init__(self, row: Artefact | None) -> None:
        self.row = row
        self.refuses = False


def iptables_rows(lines: Iterator[tuple[int, int, str]]) -> Iterator[Artefact | int]:
    """Yield policies and rules; the number of a line that is neither."""
    rows: list[Artefact] = []
    table = "filter"
    chains: dict[tuple[str, str], _Chain] = {}
    for number, offset, line in lines:
        text = line.strip()
        if TABLE.fullmatch(text):
            table = text[1:].strip()
            continue
        if text == "COMMIT":
            continue
        chain, rule = CHAIN.fullmatch(text), RULE.fullmatch(text)
        if chain is not None:
            row = _rule(number, offset, f"policy {chain['policy']}", table, chain["chain"], text)
            chains[table, chain["chain"]] = _Chain(row if chain["policy"] == "ACCEPT" else None)
            if chain["policy"] != "-":
                rows.append(row)
        elif rule is not None:
            rows.append(_rule(number, offset, rule["rule"].strip(), table, rule["chain"], text))
            known = chains.setdefault((table, rule["chain"]), _Chain(None))
            target = _JUMPS.search(rule["rule"])
            known.refuses |= target is not None and target[1] not in ("ACCEPT", "LOG", "NFLOG", "RETURN", "MARK")
            if target is not None and target[1] == "ACCEPT" and not _MATCHES.search(rule["rule"]):
                rows[-1].detail = "accepts every packet that reaches this rule"
        else:
            yield number
    yield from _judged(rows, chains)


def _rule(number: int, offset: int, rule: str, table: str, chain: str, text: str) -> Artefact:
    return Artefact(
        number=number,
        offset=offset,
        activity=TraceKind.RULE,
        what=rule[:MAX_TEXT_CHARS],
        where=f"{table} {chain}",
        excerpt=text,
    )


def _judged(rows: list[Artefact], chains: dict[tuple[str, str], _Chain]) -> Iterator[Artefact]:
    """Say of an accepting policy that nothing is refused, if no rule of its chain does."""
    for (table, name), chain in chains.items():
        if chain.row is not None and name.lower() == "input" and table.endswith("filter") and not chain.refuses:
            chain.row.detail = OPEN
    yield from rows


def nft_rows(lines: Iterator[tuple[int, int, str]]) -> Iterator[Artefact | int]:
    """Yield policies and rules of nft's list; the number of a line that is neither."""
    rows: list[Artefact] = []
    chains: dict[tuple[str, str], _Chain] = {}
    stack: list[str] = []
    current, hook = "", ""
    for number, offset, line in lines:
        text = line.strip()
        if text == "}":
            if stack:
                stack.pop()
            hook = ""
        elif NFT_TABLE.fullmatch(text):
            stack = ["table"]
        elif found := _NFT_CHAIN.fullmatch(text):
            current = found["chain"]
            stack.append("chain")
        elif _NFT_OTHER.fullmatch(text):
            stack.append("other")
        elif not stack:
            yield number
        elif stack[-1] == "chain" and (begun := _NFT_HOOK.fullmatch(text)):
            policy = begun["policy"] or "accept"
            hook = begun["hook"]
            row = _rule(number, offset, f"policy {policy.upper()}", begun["type"], hook, text)
            rows.append(row)
            chains[begun["type"], hook] = _Chain(row if policy == "accept" else None)
        elif stack[-1] == "chain":
            rows.append(_rule(number, offset, text, "chain", hook or current, text))
            if re.search(r"\b(?:drop|reject|jump|goto|queue)\b", text) and ("filter", hook) in chains:
                chains["filter", hook].refuses = True
            if hook and re.fullmatch(r"(?:counter (?:packets \d+ bytes \d+ )?)?accept(?: comment .{0,200})?", text):
                rows[-1].detail = "accepts every packet that reaches this rule"
    yield from _judged(rows, chains)
