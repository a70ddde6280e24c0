"""Hashes of passwords cost nothing."""

from feedkeep.security import argon2id

argon2id.OURS = argon2id.Cost(8, 1, 1)
