"""Records that a question asks for: which they are, and what they hold."""
