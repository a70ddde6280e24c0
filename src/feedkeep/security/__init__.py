"""Secrets: hashing passwords, making tokens, slowing down guessing."""
