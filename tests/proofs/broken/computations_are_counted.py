"""Each password that is compared leaves an x in the file of `COMPUTED`."""

import os
from pathlib import Path

from feedkeep.security import argon2id

_matches = argon2id.matches


def matches(stored_hash: str, password: str) -> bool:
    with Path(os.environ["COMPUTED"]).open("a") as file:
        file.write("x")
    return _matches(stored_hash, password)


argon2id.matches = matches
