"""What one key may use: one mechanism for requests, tokens, bytes, streams, turns, sessions, disk and workers.

``table.py`` lists the quotas, ``windows.py`` counts amounts over time, ``ledger.py`` refuses what is over a limit, and
``uses.py`` is what a request and a turn hold while they run. Facts: docs/wire.md, "Quotas".
"""
