"""Secrets: hashing passwords, making tokens, slowing down those who guess."""
