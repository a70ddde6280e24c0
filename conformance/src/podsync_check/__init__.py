"""Score podcast sync servers by the consequences for their users."""

__version__ = "1.0.0"
