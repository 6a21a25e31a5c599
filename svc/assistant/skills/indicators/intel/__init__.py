"""Threat intelligence: lists of indicators, STIX bundles, MISP events, OpenIOC, Sigma and YARA rules."""
