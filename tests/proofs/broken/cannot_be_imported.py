"""A program that does not get as far as to break anything."""

msg = "no such thing"
raise ImportError(msg)
