"""Run YARA rules over files."""
