"""Checks specific to gpodder.net's API."""
