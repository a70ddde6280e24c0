"""Protocols of podcast apps: their requests, and readers of the replies."""
