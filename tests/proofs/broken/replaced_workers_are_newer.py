"""A worker that starts once a file is there belongs to a newer version than the other processes."""

import multiprocessing
import os
from pathlib import Path

from further_steps import EACH, with_further

from feedkeep.store import migrate

_older, _newer = migrate.migrations, with_further(*EACH)


def migrations(kind: str) -> list[migrate.Migration]:
    is_replaced = Path(os.environ["REPLACED_IF"]).exists()
    is_worker = multiprocessing.parent_process() is not None
    return (_newer if is_replaced and is_worker else _older)(kind)


migrate.migrations = migrations
