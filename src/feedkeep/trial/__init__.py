"""Service of `feedkeep try`: the real one, on a temporary database."""
