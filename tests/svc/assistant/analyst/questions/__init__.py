"""What questions ask, by their form."""
