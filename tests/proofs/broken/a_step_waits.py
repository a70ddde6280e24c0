"""A newer version; on SQLite, the last step of its schema waits until the test closes a pipe.

It waits a second for a database in use, instead of five.
"""

import os
from pathlib import Path
from typing import Any

import apsw
from further_steps import EACH, with_further

from feedkeep.store import migrate
from feedkeep.store.migrate import Migration
from feedkeep.store.sqlite import connection, lock

_WAITING = """
-- A step that takes as long as the test wants.

SELECT wait_for_the_test();
"""

_newer, _open_file = with_further(*EACH), connection.open_file


def migrations(kind: str) -> list[Migration]:
    steps = _newer(kind)
    if kind == "sqlite":
        steps.append(Migration(steps[-1].number + 1, "waiting.sql", _WAITING))
    return steps


def open_file(*what: Any, **how: Any) -> apsw.Connection:
    opened = _open_file(*what, **how)
    opened.create_scalar_function("wait_for_the_test", _wait, 0)
    return opened


def _wait(*_: object) -> str:
    return Path(os.environ["PIPE_OF_THE_TEST"]).read_text()


migrate.migrations = migrations
connection.open_file = open_file
lock.PATIENCE_SECONDS = 1.0
