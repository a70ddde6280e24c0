"""Score podcast sync servers by the consequences for their users."""

__version__ = "0.1.0"
