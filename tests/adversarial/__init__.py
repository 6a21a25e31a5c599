"""Hostile text in every field of evidence and messages, shown in every place where a person reads it.

A payload is judged by what the page then holds and asks for: no script, handler, command or request, and no link to
elsewhere. What the places are is in ``test_jupyterlab``, ``test_pages`` and ``test_terminal``.
"""
