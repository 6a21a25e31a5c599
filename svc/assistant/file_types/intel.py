"""Recognise threat intelligence by its content: STIX, MISP, OpenIOC, Sigma and YARA rules, lists. Pure."""

from __future__ import annotations

import re

from svc.untrusted.defang import plain, refang

INTEL_LABELS = frozenset({"stix", "misp", "openioc", "sigmarule", "yararule"})
LIST_LABEL = "indicatorlist"
HEAD_CHARS = 16_384
MAX_LINES = 200  # of a list, by which it is recognised
LEAST_SHARE = 0.8  # of a list's lines that are one indicator each
VALUE_COLUMNS = frozenset(
    ["indicator", "indicators", "ioc", "iocs", "iocvalue", "indicatorvalue", "observable", "observablevalue"]
)
"""Names of columns, in lower case without punctuation, that make a table a list of indicators."""

_STIX = re.compile(r'"type"\s{0,9}:\s{0,9}"bundle"|"id"\s{0,9}:\s{0,9}"bundle--')
_MISP = re.compile(r'\A\s{0,99}[\[{]\s{0,99}(?:\{\s{0,99})?"(?:Event|response)"\s{0,99}:')
_MISP_FIELD = re.compile(r'"(?:Attribute|threat_level_id|orgc_id|Orgc|analysis|distribution)"\s{0,9}:')
_OPENIOC = re.compile(r"<(?:ioc|OpenIOC)\s[^>]{0,999}(?:openioc|mandiant)", re.IGNORECASE)
_SIGMA_SOURCE = re.compile(r"^(?:logsource|correlation):", re.MULTILINE)
_SIGMA_TITLE = re.compile(r"^(?:title|detection|id):", re.MULTILINE)
_YARA = re.compile(r"^(?:private |global )*rule[ \t]+\w{1,128}[ \t]*(?::[\w \t]{1,200})?\s{0,20}\{", re.MULTILINE)
_YARA_CONDITION = re.compile(r"\bcondition[ \t]{0,20}:")
_ONE = re.compile(
    r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2}|:\d{1,5})?|[0-9A-Fa-f]{32,128}|(?:[a-z]{2,6}://)?[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}"
    r"(?:[:/]\S*)?|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}|[0-9A-Fa-f:]{3,39}(?:/\d{1,3})?|HK[A-Z_]{2,20}\\.*",
    re.IGNORECASE,
)


def intel_label(text: str) -> str:
    """The label of a text that holds threat intelligence; "" for any other."""
    head = text[:HEAD_CHARS]
    if head[:1] in ("{", "["):
        if _STIX.search(head):
            return "stix"
        return "misp" if _MISP.match(head) and _MISP_FIELD.search(head) else ""
    if head.startswith("<"):
        return "openioc" if _OPENIOC.search(head[:4_096]) else ""
    if _SIGMA_SOURCE.search(head) and _SIGMA_TITLE.search(head):
        return "sigmarule"
    if _YARA.search(head) and _YARA_CONDITION.search(text[: 4 * HEAD_CHARS]):
        return "yararule"
    return LIST_LABEL if _is_list(head) else ""


def plain_name(name: str) -> str:
    """A column's name in lower case, without punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


def _is_list(head: str) -> bool:
    lines = [line.strip() for line in head.split("\n")[:MAX_LINES]]
    lines = [
        line
        for line in lines[: None if len(head) < HEAD_CHARS else -1]
        if line and not line.startswith(("#", "//", ";"))
    ]
    if len(lines) < 2:
        return False
    names = {plain_name(name) for name in re.split(r"[,;\t]", lines[0])}
    if names & VALUE_COLUMNS and len(names) > 1:
        return True
    values = [plain(refang(line.split("#", 1)[0].strip().strip("\"',"))) for line in lines]
    ones = sum(_ONE.fullmatch(value) is not None for value in values[1:])
    return ones >= max(1, LEAST_SHARE * (len(values) - 1)) and " " not in values[0]
