"""Each password that is compared leaves an x in the file of `COMPUTED`."""

import os
from pathlib import Path

from feedkeep.security import passwords

_matches = passwords._matches


def matches(stored_hash: str, password: str) -> bool:
    with Path(os.environ["COMPUTED"]).open("a") as file:
        file.write("x")
    return _matches(stored_hash, password)


passwords._matches = matches
