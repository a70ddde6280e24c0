"""Fetching and reading feeds."""
