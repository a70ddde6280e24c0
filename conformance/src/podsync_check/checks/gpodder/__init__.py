"""Checks of gpodder.net's API alone."""
