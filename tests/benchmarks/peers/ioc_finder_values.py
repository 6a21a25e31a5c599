"""ioc-finder over a list of texts (JSON on stdin): for each the type and value of what it found, our names of types."""

from __future__ import annotations

import json
import sys

from ioc_finder import find_iocs

TYPES = {
    "domains": "domain",
    "urls": "url",
    "ipv4s": "ipv4",
    "ipv6s": "ipv6",
    "email_addresses": "email",
    "md5s": "md5",
    "sha1s": "sha1",
    "sha256s": "sha256",
    "cves": "cve",
}

found = [find_iocs(text) for text in json.load(sys.stdin)]
values = [[f"{name} {value}" for key, name in TYPES.items() for value in one.get(key, ())] for one in found]
json.dump(values, sys.stdout)
