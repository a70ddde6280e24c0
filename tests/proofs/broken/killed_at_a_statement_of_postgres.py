"""Each statement of a script for PostgreSQL is counted, and one kills the process."""

import re
from typing import Any

from broken.killed_at_a_statement import strike
from feedkeep.store.postgres.connections import Connection

_execute = Connection.execute


async def execute(self: Connection, script: str, *what: Any, **how: Any) -> Any:
    without_comments = re.sub("--.*", "", script)
    for statement in filter(str.strip, without_comments.split(";")):
        strike()
        done = await _execute(self, statement, *what, **how)
    return done


Connection.execute = execute
