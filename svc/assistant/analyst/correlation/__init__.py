"""What several inputs of a question have in common, its story with one timeline, and how it is drawn."""
