"""Secrets: hash passwords, create tokens, slow down guessing."""
