"""``python -m svc`` is the command ``svc``: for when the folder of scripts is not on the path."""

from __future__ import annotations

from svc.cli.main import main

if __name__ == "__main__":
    main()
