"""Look for the indicators of a list in other files."""
