"""Pairs of evidence and questions: ``open.toml`` and ``held.toml``."""
