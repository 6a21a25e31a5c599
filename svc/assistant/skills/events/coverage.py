"""Say what was looked for in a log and what no rule covers, by the log sources of its events."""

from __future__ import annotations

from collections import Counter

from svc.assistant.findings import ATTACK_STRINGS, UNJUDGED
from svc.assistant.sigma.engine import RuleEngine
from svc.assistant.sigma.event import Event

MAX_NAMED = 3  # log sources in one sentence
_CATEGORIES = {
    "firewall": "firewall logs", "network_connection": "logs of connections", "dns_query": "DNS logs",
    "proxy": "proxy logs", "webserver": "web server logs", "application": "logs of applications",
    "file_transfer": "file transfers", "alert": "other products' alerts",
    "process_creation": "process creations", "file_event": "file events", "registry_set": "registry events",
}  # fmt: skip
_PRODUCTS = {
    "okta": "Okta logs", "azure": "Entra logs", "m365": "Microsoft 365 audit logs", "gcp": "GCP audit logs",
    "google_workspace.admin": "Google Workspace logs", "kubernetes": "Kubernetes audit logs",
    "github": "GitHub audit logs",
    "zeek": "Zeek logs", "suricata": "Suricata logs", "duo": "Duo logs", "cisco": "Cisco logs", "aws": "AWS logs",
    "slack": "Slack logs", "zoom": "Zoom logs", "gitlab": "GitLab audit logs", "atlassian": "Atlassian audit logs",
    "box": "Box events", "dropbox": "Dropbox events", "salesforce": "Salesforce logs", "onepassword": "1Password logs",
    "zscaler": "Zscaler logs", "netskope": "Netskope logs",
}  # fmt: skip
_Source = tuple[str, str, str]


class Coverages:
    """Counts events by log source: product, service and category."""

    def __init__(self) -> None:
        self._sources: Counter[_Source] = Counter()

    def add(self, event: Event) -> None:
        """Count an event."""
        self._sources[event.product, event.service, event.category] += 1

    def looked_for(self, applicable: int, rules: int) -> str:
        """Return what the tool looked for, in the order of importance."""
        products = {product for product, _, _ in self._sources}
        services = {service for _, service, _ in self._sources}
        categories = {category for _, _, category in self._sources}
        parts = [f"what {applicable:,} of {rules:,} detection rules describe"] if applicable else []
        for is_there, what in (
            ("authentication" in categories or "security" in services, "password attacks and unusual logins"),
            (bool(categories & {"firewall", "network_connection"}), "port scans and repeated denials"),
            (bool(categories & {"firewall", "network_connection", "proxy", "dns_query"}), "beaconing"),
            ("webserver" in categories, "attacks on a web server"),
            ("proxy" in categories, "rarely requested hosts"),
            ("cloudtrail" in services, "risky AWS calls"),
            ("linux" in products, "changes of accounts, services and settings"),
            (bool(categories & {"alert", "scan"}), "other products' alerts"),
            ("process_creation" in categories, "rare programs"),
            ("dns_query" in categories, "rare DNS names"),
        ):
            if is_there:
                parts.append(what)
        if categories == {"application"}:
            parts[:1] = [f"{ATTACK_STRINGS} ({applicable:,} of {rules:,} detection rules)"]
        return ", ".join([*parts, "gaps in the log"]) if parts else UNJUDGED

    def not_covered(self, engine: RuleEngine) -> str:
        """Return the log sources to which no rule applies; "" if there are none."""
        covered = engine.covered()
        uncovered: Counter[str] = Counter()
        for source, count in self._sources.items():
            if source not in covered and source[2] != "scan":
                uncovered[_name(source)] += count
        if not uncovered:
            return ""
        named = [name for name, _ in uncovered.most_common(MAX_NAMED)]
        more = f" and {len(uncovered) - MAX_NAMED:,} other kinds" if len(uncovered) > MAX_NAMED else ""
        return f"no detection rule covers {', '.join(named)}{more}"


def _name(source: _Source) -> str:
    product, service, category = source
    if category == "authentication":
        return _PRODUCTS.get(service) or _PRODUCTS.get(
            product, f"logins of {product}" if product not in ("", "windows", "linux") else "logins"
        )
    if category in _CATEGORIES:
        return _CATEGORIES[category]
    return _PRODUCTS.get(service) or _PRODUCTS.get(product, f"{service or product or 'these'} events")
