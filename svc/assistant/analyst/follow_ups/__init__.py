"""Further questions of a session, answered from the findings it already has, or from a search of its files.

``known`` is what the session found, ``reading`` what a question asks, ``things`` the accounts, addresses and figures in
findings, ``replies`` writes the answer, ``search`` looks for a value in a file, ``conversation`` decides between them.
"""
