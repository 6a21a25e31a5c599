"""Keys of the right form that no service knows."""

from svc._proof import key_checksum


def made_key(words: str) -> str:
    """A key of the right form that begins with these letters and digits."""
    body = words.ljust(43, "A")
    return f"svc_{body}{key_checksum(body)}"


UNKNOWN_KEY = made_key("UNKNOWN")
