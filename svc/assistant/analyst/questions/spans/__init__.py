"""Questions about the time between two records."""
